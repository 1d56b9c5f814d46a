//! Pipes as input: one that somebody writes to is read to its end, one that nobody writes to is an error and no wait.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How long a pipe may be without anybody who writes to it.
const WRITER_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked whether there is more.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What is written to the pipe until its writers close it, at most `bytes_max`.
///
/// # Errors
/// Where nobody writes to it, or it cannot be read.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Opening it otherwise waits for somebody who opens it for writing.
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut pipe = OpenOptions::new().read(true).custom_flags(flags).open(path)?.take(bytes_max);
    let (mut bytes, mut part) = (Vec::new(), [0; 1 << 16]);
    let (mut has_writer, opened) = (false, Instant::now());
    loop {
        match pipe.read(&mut part) {
            // No writer: it was closed, or nobody opened it yet.
            Ok(0) if has_writer || pipe.limit() == 0 => return Ok(bytes),
            Ok(0) if opened.elapsed() > WRITER_WITHIN => {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "no process writes to this pipe"));
            }
            Ok(0) => thread::sleep(LOOK_EVERY),
            Ok(count) => {
                has_writer = true;
                bytes.extend_from_slice(&part[..count]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                has_writer = true;
                thread::sleep(LOOK_EVERY);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_pipe_is_read_to_its_end_and_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = read(&path, 100).unwrap_err();
        assert_eq!(error.to_string(), "no process writes to this pipe");
        let writer = "sleep 0.2; (echo one; sleep 0.3; echo two) > \"$0\"";
        let mut child = Command::new("sh").args(["-c", writer]).arg(&path).spawn().unwrap();
        assert_eq!(read(&path, 100).unwrap(), b"one\ntwo\n");
        assert!(child.wait().unwrap().success());
    }
}
