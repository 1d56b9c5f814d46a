//! Files that are read: whatever has the name, no wait for what never comes.
//!
//! A pipe with a writer is read to its end, as is what stdin is; a pipe without one is an error, and so
//! is what is no file: devices, sockets, directories.

use std::fs::{File, OpenOptions};
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How long a pipe may be without anybody who writes to it.
const WRITER_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked whether there is more.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Opens what has the name for reading.
///
/// # Errors
/// Where it is nothing to read, no one writes to it, or the system refuses.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    // Opening it otherwise waits for a writer of a pipe, or for a device.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let what =
        |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a file")));
    if std::fs::metadata(path)?.file_type().is_socket() {
        return what("a socket");
    }
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let found = file.metadata()?;
    let kind = found.file_type();
    if kind.is_dir() {
        return what("a directory");
    }
    if kind.is_block_device() {
        return what("a block device");
    }
    if kind.is_char_device() && !is_stdin(found.rdev()) {
        return what("a device");
    }
    let begun = if kind.is_fifo() { first_of(&file)? } else { Vec::new() };
    rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(Box::new(Cursor::new(begun).chain(file)))
}

/// Whether a device is what stdin is, such as the terminal, or `/dev/null`.
fn is_stdin(number: u64) -> bool {
    let null = number == rustix::fs::makedev(1, 3);
    null || rustix::fs::fstat(io::stdin()).is_ok_and(|stdin| stdin.st_rdev == number)
}

/// Waits until something is written to a pipe; what was written by then.
fn first_of(mut pipe: &File) -> io::Result<Vec<u8>> {
    let (mut part, opened) = (vec![0; 1 << 16], Instant::now());
    loop {
        match pipe.read(&mut part) {
            // No writer: it was not opened yet, or it was closed with nothing in it.
            Ok(0) if opened.elapsed() > WRITER_WITHIN => {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "no process writes to this pipe"));
            }
            Ok(0) => thread::sleep(LOOK_EVERY),
            Ok(count) => {
                part.truncate(count);
                return Ok(part);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Vec::new()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        open(path)?.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

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
