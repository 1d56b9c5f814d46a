//! A kernel file that is read again and again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::root::HostRoot;

/// How much is asked for at once: most of these files fit.
const CHUNK_BYTES: usize = 8 * 1024;

/// Keeps a file of `/proc` or `/sys` open; each reading starts over at its beginning.
#[derive(Debug)]
pub(super) struct Source {
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Source {
    /// Opens the file; one that cannot be opened reads as `None` for ever.
    pub(super) fn new(root: &HostRoot, path: impl AsRef<Path>) -> Self {
        Self { file: root.open(path).ok(), buffer: Vec::new() }
    }

    /// A file that is not there.
    pub(super) fn missing() -> Self {
        Self { file: None, buffer: Vec::new() }
    }

    /// The text as of now; `None` when it cannot be read (any more).
    pub(super) fn read(&mut self) -> Option<&str> {
        let file = self.file.as_ref()?;
        let mut length = 0;
        loop {
            if self.buffer.len() < length + CHUNK_BYTES {
                self.buffer.resize(length + CHUNK_BYTES, 0);
            }
            match file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        std::str::from_utf8(&self.buffer[..length]).ok()
    }

    /// A file that holds one number.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.read()?.trim().parse().ok()
    }
}
