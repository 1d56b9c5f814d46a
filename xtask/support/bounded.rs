//! Programs that tests start, each with an end: a wait that takes too long fails and names what was waited for, and what
//! was started does not outlive a test that failed. Not a crate: a test includes it as it does `skip.rs`.
#![expect(dead_code, reason = "each test includes all of it and uses a part")]

use std::io::{self, Read};
use std::ops::{Deref, DerefMut};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a program of a test may take; what one does in seconds takes minutes on a machine that stands still at times.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);
/// A killed program that waits for a device does not end before the device answers.
const AFTER_KILL: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(2);

/// `Command`'s own ways to start a program, with an end.
pub(crate) trait Bounded {
    /// As `spawn`: in a process group of its own, which is killed when the value goes before its end was seen.
    fn start(&mut self) -> io::Result<Started>;
    /// As `output`, with no input.
    fn output_in_time(&mut self) -> io::Result<Output>;
    /// As `status`.
    fn status_in_time(&mut self) -> io::Result<ExitStatus>;
}

impl Bounded for Command {
    fn start(&mut self) -> io::Result<Started> {
        let what = format!("{self:?}");
        Ok(Started { child: self.process_group(0).spawn()?, what, ended: false })
    }

    #[track_caller]
    fn output_in_time(&mut self) -> io::Result<Output> {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.start()?.wait_with_output()
    }

    #[track_caller]
    fn status_in_time(&mut self) -> io::Result<ExitStatus> {
        self.start()?.wait()
    }
}

/// A program that a test started: a `Child` whose waits have an end.
#[derive(Debug)]
pub(crate) struct Started {
    child: Child,
    /// The command, for a message.
    what: String,
    ended: bool,
}

impl Deref for Started {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Started {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Started {
    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.wait_within(PATIENCE)
    }

    /// Waits for its end and for that of what it says.
    #[track_caller]
    pub(crate) fn wait_with_output(self) -> io::Result<Output> {
        self.output_within(PATIENCE)
    }

    /// Kills it and what it started, and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.ended = self.ended || matches!(self.child.try_wait(), Ok(Some(_)));
        if !self.ended {
            self.kill_group();
            self.ended = matches!(end_of(&mut self.child, AFTER_KILL), Ok(Some(_)));
        }
    }

    #[track_caller]
    pub(crate) fn wait_within(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        drop(self.child.stdin.take());
        let Some(status) = end_of(&mut self.child, patience)? else {
            self.kill();
            return Err(too_long(&format!(
                "waited {} s for the end of {}",
                patience.as_secs_f64(),
                self.what
            )));
        };
        self.ended = true;
        Ok(status)
    }

    #[track_caller]
    pub(crate) fn output_within(mut self, patience: Duration) -> io::Result<Output> {
        let begun = Instant::now();
        let (out, err) = (self.child.stdout.take().map(said), self.child.stderr.take().map(said));
        let status = self.wait_within(patience)?;
        // Its end is not that of what it says where a program that it started has the same output.
        let left = || patience.saturating_sub(begun.elapsed()).max(AFTER_KILL.min(patience));
        let text =
            |said: Option<Receiver<Vec<u8>>>| said.map_or(Ok(Vec::new()), |said| said.recv_timeout(left()));
        let (Ok(stdout), Ok(stderr)) = (text(out), text(err)) else {
            self.kill_group();
            return Err(too_long(&format!(
                "{}: {status}, but its output is still open elsewhere",
                self.what
            )));
        };
        Ok(Output { status, stdout, stderr })
    }

    fn kill_group(&self) {
        let group = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
        // What an ended program left running goes with a test that failed: it would hold the test's own output open.
        if std::thread::panicking() {
            self.kill_group();
        }
    }
}

/// Fails the test, but does not abort all of them where this one fails already.
#[track_caller]
fn too_long(what: &str) -> io::Error {
    assert!(std::thread::panicking(), "{what}");
    io::Error::new(io::ErrorKind::TimedOut, what)
}

/// Waits for a thread that may not end; `what` is what it does.
#[track_caller]
pub(crate) fn join<T>(thread: JoinHandle<T>, what: &str) -> std::thread::Result<T> {
    let begun = Instant::now();
    while !thread.is_finished() {
        assert!(begun.elapsed() < PATIENCE, "waited {} s for {what}", PATIENCE.as_secs());
        std::thread::sleep(STEP);
    }
    thread.join()
}

/// Sets a flag when it goes, also where a test fails: threads of a scope that wait for it would keep the failure from
/// being seen.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads to the end on a thread of its own: the end may never come.
fn said(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (to, read) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = to.send(bytes);
    });
    read
}

fn end_of(child: &mut Child, patience: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || begun.elapsed() >= patience {
            return Ok(status);
        }
        std::thread::sleep(STEP);
    }
}
