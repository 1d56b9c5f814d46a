//! One run of the program: its input, its output as it comes, its end and what it cost.

use std::io::{Read as _, Write as _};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::FioError;
use super::split::Splitter;

/// What comes from a running fio.
#[derive(Debug, Clone, PartialEq)]
pub enum FioOutput {
    /// A JSON document of it.
    Document(String),
    /// Its output has ended, and so has it, or is about to; its counters can still be read. [`FioOutput::Ended`] is
    /// next.
    Closed,
    /// It has ended; nothing comes after this.
    Ended(FioEnd),
    /// Nothing within the time.
    Nothing,
}

/// How fio ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FioEnd {
    /// Its exit status; `None`: a signal ended it.
    pub status: Option<i32>,
    /// User CPU of all its threads and kernel workers, start and end of the program included, nanoseconds.
    pub user_ns: u64,
    /// System CPU of the same.
    pub system_ns: u64,
    /// What it said beside its documents, on both of its outputs.
    pub said: String,
}

/// A running fio. Dropping it kills it.
#[derive(Debug)]
pub struct FioRun {
    child: Child,
    output: Receiver<Vec<u8>>,
    errors: Option<JoinHandle<Vec<u8>>>,
    splitter: Splitter,
    ready: std::collections::VecDeque<String>,
    closed: bool,
    end: Option<FioEnd>,
}

impl FioRun {
    /// Starts the program at `path` with these arguments; `input` is what it reads from its standard input. It inherits the
    /// descriptors `kept`, whose locks last until it has ended, too.
    ///
    /// It does not hear the terminal's signals, which are for Assay to pass on, and ends when Assay ends.
    ///
    /// # Errors
    /// [`FioError::Start`].
    pub fn start(path: &Path, arguments: &[&str], input: &str, kept: Vec<RawFd>) -> Result<FioRun, FioError> {
        let mut command = Command::new(path);
        command.args(arguments).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: prctl and fcntl are async-signal-safe and touch nothing of this process; the list was made before.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                for fd in &kept {
                    libc::fcntl(*fd, libc::F_SETFD, 0);
                }
                Ok(())
            });
        }
        let failed = |source| FioError::Start { path: path.to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (sender, output) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || pass_on(stdout, &sender));
        }
        let errors = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut said = Vec::new();
                let _ = stderr.read_to_end(&mut said);
                said
            })
        });
        if let Some(mut stdin) = child.stdin.take() {
            let input = input.to_owned();
            // A program that reads nothing must not keep us waiting.
            std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        }
        let splitter = Splitter::default();
        Ok(FioRun { child, output, errors, splitter, ready: Default::default(), closed: false, end: None })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to stop: it reports what it has measured until then.
    pub fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    fn signal(&self, signal: libc::c_int) {
        if self.end.is_none() {
            // SAFETY: the child has not been reaped, so that the id is still its own.
            unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        }
    }

    /// What comes next, waiting for at most `time`.
    pub fn next(&mut self, time: Duration) -> FioOutput {
        if let Some(document) = self.ready.pop_front() {
            return FioOutput::Document(document);
        }
        if let Some(end) = &self.end {
            return FioOutput::Ended(end.clone());
        }
        match self.output.recv_timeout(time) {
            Ok(bytes) => {
                self.ready.extend(self.splitter.feed(&bytes));
                self.ready.pop_front().map_or(FioOutput::Nothing, FioOutput::Document)
            }
            Err(RecvTimeoutError::Timeout) => FioOutput::Nothing,
            Err(RecvTimeoutError::Disconnected) if self.closed => FioOutput::Ended(self.reap()),
            Err(RecvTimeoutError::Disconnected) => {
                self.closed = true;
                FioOutput::Closed
            }
        }
    }

    /// Waits for its end, which its closed output has announced.
    fn reap(&mut self) -> FioEnd {
        let mut status = 0;
        // SAFETY: an all-zero rusage is a valid one.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            let id = self.child.id() as libc::pid_t;
            // SAFETY: both pointers are to live variables of the right types.
            let waited = unsafe { libc::wait4(id, &raw mut status, 0, &raw mut usage) };
            let interrupted = || std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
            if waited >= 0 || !interrupted() {
                break;
            }
        }
        let mut said = std::mem::take(&mut self.splitter.said);
        said.extend(self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default());
        let end = FioEnd {
            status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            said: String::from_utf8_lossy(&said).trim().to_owned(),
        };
        self.end = Some(end.clone());
        end
    }
}

impl Drop for FioRun {
    fn drop(&mut self) {
        if self.end.is_none() {
            self.signal(libc::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

fn pass_on(mut stdout: std::process::ChildStdout, sender: &Sender<Vec<u8>>) {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stdout.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) if sender.send(buffer[..length].to_vec()).is_err() => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    let (seconds, micros) = (time.tv_sec.max(0) as u64, time.tv_usec.max(0) as u64);
    seconds * 1_000_000_000 + micros * 1000
}
