//! One login to another machine, by the system's ssh, and commands over it.
//!
//! The first ssh logs in, asks for what it must on the terminal, and stays as a master in the background; every command
//! is a session of it. Its socket lies in a directory of our own. The sessions are in process groups of their own, so
//! that Ctrl-C reaches them through us: what runs at the other end is then stopped, not cut off.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::shell::{SSH_VARIABLE, command_line};

/// ssh's own exit status.
const SSH_FAILED: i32 = 255;
/// How often a running ssh is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What ssh says is passed on when nothing more came for so long: it waits for the user, and did not fail.
const PASS_ON_AFTER: Duration = Duration::from_millis(400);
/// Time that a command at the other end has to stop.
const STOP_WITHIN: Duration = Duration::from_secs(60);
/// Directory names longer than this leave no room for a socket's name in a socket's address.
const SOCKET_DIRECTORY_MAX: usize = 60;

/// Options of the login. Nothing is forwarded; a machine that does not answer is noticed.
const OPTIONS: [&str; 5] = [
    "ConnectTimeout=15",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
];

/// A command over ssh that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The user wants to stop.
    #[error("stopped")]
    Stopped,
    /// What is asked for is wrong there, and why.
    #[error("{0}")]
    Refused(String),
    /// ssh or the other machine failed, and how.
    #[error("{0}")]
    Failed(String),
}

/// How a command ended that was held by its standard input.
#[derive(Debug)]
pub struct EndedCommand<T> {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// What listening to its standard error came to.
    pub stderr: T,
}

impl<T> EndedCommand<T> {
    /// Whether ssh ended and not the command.
    pub fn is_lost(&self) -> bool {
        self.status.code() == Some(SSH_FAILED)
    }
}

/// A login that commands can be run over. Dropping it logs out.
#[derive(Debug)]
pub struct Connection {
    host: String,
    program: Vec<OsString>,
    directory: PathBuf,
    stop: Arc<AtomicBool>,
}

impl Connection {
    /// Logs in with `ssh`, the words of a command. `token` makes the name of the socket's directory; what ssh says to the
    /// user goes to `pass_on`.
    ///
    /// # Errors
    /// [`LoginError`]
    pub fn open(
        host: &str,
        ssh: Vec<OsString>,
        token: u32,
        stop: &Arc<AtomicBool>,
        pass_on: &dyn Fn(&[u8]),
    ) -> Result<Self, LoginError> {
        let connection = Connection {
            host: host.to_owned(),
            program: ssh,
            directory: private_directory(token)?,
            stop: Arc::clone(stop),
        };
        let mut command = connection.ssh();
        command.args(["-M", "-N", "-f", "-o", "ControlPersist=60"]);
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        command.args(["-a", "-x", "--"]).arg(host);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = connection.spawn(&mut command)?;
        let (status, said) = connection.watch_login(&mut child, pass_on)?;
        if status.success() {
            return Ok(connection);
        }
        Err(connection.unreachable(&said, status, pass_on))
    }

    /// `[user@]host`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// A session that runs `script`.
    fn session(&self, script: &str) -> Command {
        let mut command = self.ssh();
        // Were the master gone, a session would log in by itself and ask where the user does not see it.
        command.args(["-o", "BatchMode=yes", "-o", "ControlMaster=no", "-T"]);
        command.arg("--").arg(&self.host).arg(command_line(script)).process_group(0);
        command
    }

    fn spawn(&self, command: &mut Command) -> Result<Child, LoginError> {
        command.spawn().map_err(|error| {
            let name = self.program[0].to_string_lossy();
            LoginError::Failed(format!("cannot run {name}: {error} ({SSH_VARIABLE} names another ssh)"))
        })
    }

    /// Runs `script` to its end, with `input` as its standard input, unless the user wants to stop.
    ///
    /// # Errors
    /// [`LoginError`]
    pub fn output(&self, script: &str, input: Option<File>) -> Result<Output, LoginError> {
        self.collect(script, input, |child| self.wait(child))
    }

    /// Runs `script` to its end in any case.
    ///
    /// # Errors
    /// [`LoginError::Failed`]
    pub fn output_regardless(&self, script: &str) -> Result<Output, LoginError> {
        self.collect(script, None, |child| child.wait().map_err(|error| self.broken(&error)))
    }

    fn collect(
        &self,
        script: &str,
        input: Option<File>,
        wait: impl FnOnce(&mut Child) -> Result<ExitStatus, LoginError>,
    ) -> Result<Output, LoginError> {
        let stdin = input.map_or_else(Stdio::null, Stdio::from);
        let mut command = self.session(script);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn(&mut command)?;
        let stdout = child.stdout.take().map(in_background);
        let stderr = child.stderr.take().map(in_background);
        let status = wait(&mut child)?;
        let output = Output { status, stdout: joined(stdout), stderr: joined(stderr) };
        if status.code() == Some(SSH_FAILED) {
            let why = last_line(&output.stderr);
            return Err(LoginError::Failed(format!("the connection to {} is lost: {why}", self.host)));
        }
        Ok(output)
    }

    /// Runs `prepare` and then `command` for as long as we live and the user does not want to stop: what keeps it going
    /// is its open standard input, which ends with us, with the connection, and with the user's wish. `command` gets
    /// SIGTERM then and may take its time. Its standard error goes to `listen` as it comes.
    ///
    /// # Errors
    /// [`LoginError::Failed`]
    pub fn attended<T: Default + Send + 'static>(
        &self,
        prepare: &str,
        command: &str,
        listen: impl FnOnce(ChildStderr) -> T + Send + 'static,
    ) -> Result<EndedCommand<T>, LoginError> {
        let script = format!(
            "{prepare}exec 3<&0
{command} </dev/null 3<&- &
pid=$!
{{ read -r line <&3; kill -TERM \"$pid\"; }} </dev/null >/dev/null 2>&1 &
watch=$!
wait \"$pid\"
status=$?
kill \"$watch\" 2>/dev/null
exit \"$status\"
"
        );
        let mut session = self.session(&script);
        session.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn(&mut session)?;
        let mut lifeline = child.stdin.take();
        let stdout = child.stdout.take().map(in_background);
        let stderr = child.stderr.take().map(|stderr| std::thread::spawn(move || listen(stderr)));
        let mut asked = None;
        let status = loop {
            if let Some(status) = self.ended(&mut child)? {
                break status;
            }
            if self.stopped() && lifeline.take().is_some() {
                asked = Some(Instant::now());
            }
            if asked.is_some_and(|asked: Instant| asked.elapsed() > STOP_WITHIN) {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(LoginError::Failed(format!("{} does not stop; it is left alone", self.host)));
            }
            std::thread::sleep(LOOK_EVERY);
        };
        Ok(EndedCommand { status, stdout: joined(stdout), stderr: joined(stderr) })
    }

    /// Waits for a session; ends it when the user wants to stop.
    fn wait(&self, child: &mut Child) -> Result<ExitStatus, LoginError> {
        loop {
            if let Some(status) = self.ended(child)? {
                return Ok(status);
            }
            if self.stopped() {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(LoginError::Stopped);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn ended(&self, child: &mut Child) -> Result<Option<ExitStatus>, LoginError> {
        child.try_wait().map_err(|error| self.broken(&error))
    }

    fn broken(&self, error: &std::io::Error) -> LoginError {
        LoginError::Failed(format!("ssh to {}: {error}", self.host))
    }

    /// Whether the user wants to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn unreachable(&self, said: &[u8], status: ExitStatus, pass_on: &dyn Fn(&[u8])) -> LoginError {
        let text = String::from_utf8_lossy(said);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        // A changed host key comes with a page of advice that one line cannot replace.
        if lines.len() > 3 {
            pass_on(said);
        }
        let why = if lines.is_empty() { status.to_string() } else { last_line(said) };
        LoginError::Failed(format!("cannot reach {} by ssh: {why}", self.host))
    }

    /// Waits for the login. What ssh says goes to the user while it waits for him, and is the reason if it fails.
    fn watch_login(
        &self,
        child: &mut Child,
        pass_on: &dyn Fn(&[u8]),
    ) -> Result<(ExitStatus, Vec<u8>), LoginError> {
        let said = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stderr.take().map(|mut stderr| {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                while let Ok(got @ 1..) = stderr.read(&mut buffer) {
                    if let Ok(mut said) = said.lock() {
                        said.extend_from_slice(&buffer[..got]);
                    }
                }
            })
        });
        let take = || said.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default();
        let (mut pending, mut grown) = (Vec::new(), Instant::now());
        loop {
            let status = self.ended(child)?;
            // After a login, a master may keep its end of the pipe open; otherwise the pipe ends with its reason.
            if status.is_some_and(|status| !status.success()) {
                wait_a_little(reader.as_ref());
            }
            let more = take();
            if !more.is_empty() {
                pending.extend(more);
                grown = Instant::now();
            }
            if let Some(status) = status {
                return Ok((status, pending));
            }
            if !pending.is_empty() && grown.elapsed() > PASS_ON_AFTER {
                pass_on(&std::mem::take(&mut pending));
            }
            if self.stopped() {
                let _ = child.kill().and_then(|()| child.wait());
                return Err(LoginError::Stopped);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    fn ssh(&self) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]);
        let mut path = OsString::from("ControlPath=");
        path.push(self.directory.join("socket"));
        command.arg("-o").arg(path);
        command
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut command = self.ssh();
        command.args(["-O", "exit", "--"]).arg(&self.host);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
        let _ = std::fs::remove_file(self.directory.join("socket"));
        let _ = std::fs::remove_dir(&self.directory);
    }
}

/// A directory that no other user can look into, with a short name.
fn private_directory(token: u32) -> Result<PathBuf, LoginError> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let usable = |path: &PathBuf| path.is_dir() && path.as_os_str().len() < SOCKET_DIRECTORY_MAX;
    let parent = [runtime, Some(std::env::temp_dir())].into_iter().flatten().find(usable);
    let parent = parent.unwrap_or_else(|| PathBuf::from("/tmp"));
    let path = parent.join(format!("assay-ssh-{token:08x}"));
    DirBuilder::new()
        .mode(0o700)
        .create(&path)
        .map_err(|error| LoginError::Failed(format!("cannot make {}: {error}", path.display())))?;
    Ok(path)
}

fn in_background(from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || all_of(from))
}

/// Everything there is to read; what was read before an error still counts.
pub fn all_of(mut from: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    bytes
}

/// Waits for a thread to end, but not for long.
fn wait_a_little(thread: Option<&JoinHandle<()>>) {
    let start = Instant::now();
    while thread.is_some_and(|thread| !thread.is_finished()) && start.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(LOOK_EVERY);
    }
}

fn joined<T: Default>(thread: Option<JoinHandle<T>>) -> T {
    thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
}

/// The last line that says something, without ssh's name.
pub fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no reason given");
    line.strip_prefix("ssh: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_line() {
        let said = b"Warning: added.\r\nssh: connect to host x port 22: Connection refused\r\n\r\n";
        assert_eq!(last_line(said), "connect to host x port 22: Connection refused");
        assert_eq!(last_line(b""), "no reason given");
    }
}
