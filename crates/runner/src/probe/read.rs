//! One reading at a time, past the page cache or through it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, OFlags, fadvise};

use crate::error::RunError;

/// What O_DIRECT wants addresses to be multiples of, on every device there is.
const ALIGN: usize = 4096;

/// An open target and a buffer.
#[derive(Debug)]
pub(super) struct Reader {
    file: File,
    path: PathBuf,
    buffer: Vec<u8>,
    /// Where in the buffer an aligned address is.
    from: usize,
}

impl Reader {
    /// Opens a target for readings of `bytes_max` bytes at most, `direct` past the page cache.
    ///
    /// # Errors
    /// [`RunError::Io`], or [`RunError::NoDirectIo`] where it takes no direct I/O.
    pub(super) fn open(path: &Path, direct: bool, bytes_max: u64) -> Result<Self, RunError> {
        let open = |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
        let wanted = if direct { OFlags::DIRECT } else { OFlags::empty() };
        let file = open(wanted | OFlags::NOATIME).or_else(|_| open(wanted)).map_err(|source| {
            let path = path.to_owned();
            match source.raw_os_error() {
                Some(errno) if direct && errno == rustix::io::Errno::INVAL.raw_os_error() => {
                    RunError::NoDirectIo { path, source }
                }
                _ => RunError::Io { path, source },
            }
        })?;
        // Read ahead would bring in what nobody asked for.
        let _ = fadvise(&file, 0, None, Advice::Random);
        let buffer = vec![0; bytes_max as usize + ALIGN];
        let from = buffer.as_ptr().align_offset(ALIGN);
        Ok(Reader { file, path: path.to_owned(), buffer, from })
    }

    /// The open target.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Reads `length_bytes` at `offset_bytes`.
    ///
    /// # Errors
    /// [`RunError::Read`] naming target and place.
    pub(super) fn read(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), RunError> {
        let part = &mut self.buffer[self.from..][..length_bytes as usize];
        self.file.read_exact_at(part, offset_bytes).map_err(|source| RunError::Read {
            path: self.path.clone(),
            offset_bytes,
            source,
        })
    }
}
