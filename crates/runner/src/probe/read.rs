//! One reading at a time, past the page cache or through it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, OFlags, fadvise};

use crate::failure::Failure;

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
    /// # Errors
    /// [`Failure::Failed`] naming the target, with what to do where it takes no direct I/O.
    pub(super) fn open(path: &Path, direct: bool, bytes_max: u64) -> Result<Self, Failure> {
        let open = |flags: OFlags| OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
        let wanted = if direct { OFlags::DIRECT } else { OFlags::empty() };
        let file = open(wanted | OFlags::NOATIME).or_else(|_| open(wanted)).map_err(|error| {
            let hint = if direct && error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) {
                ": it takes no direct I/O; --buffered probes the page cache"
            } else {
                ""
            };
            Failure::failed(format!("cannot open {}: {error}{hint}", path.display()))
        })?;
        // Read ahead would bring in what nobody asked for.
        let _ = fadvise(&file, 0, None, Advice::Random);
        let buffer = vec![0; bytes_max as usize + ALIGN];
        let from = buffer.as_ptr().align_offset(ALIGN);
        Ok(Reader { file, path: path.to_owned(), buffer, from })
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// # Errors
    /// [`Failure::Failed`] naming target and place.
    pub(super) fn read(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), Failure> {
        let part = &mut self.buffer[self.from..][..length_bytes as usize];
        self.file.read_exact_at(part, offset_bytes).map_err(|error| {
            Failure::failed(format!("reading {} at {offset_bytes}: {error}", self.path.display()))
        })
    }
}
