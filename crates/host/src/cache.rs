//! Dropping what the page cache holds.
//!
//! The kernel drops only clean pages that nobody has mapped, and reports neither: a drop that did nothing
//! looks like one that worked. A caller that can ask for residency (cachestat(2) or mincore(2), which need unsafe
//! code) supplies a [`Residency`], and the report then says what stayed.

use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;

use rustix::fs::{Advice, fadvise, fdatasync};

use crate::root::HostRoot;

/// Tells how much of a file is in the page cache.
pub trait Residency {
    /// Bytes of the range that are resident; `None` when that cannot be known.
    ///
    /// # Errors
    /// What the system says when it should know and fails.
    fn resident_bytes(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<Option<u64>>;
}

/// For callers that cannot ask: nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResidencyUnknown;

impl Residency for ResidencyUnknown {
    fn resident_bytes(&self, _: &File, _: u64, _: u64) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// What a drop did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropReport {
    /// Resident before; `None` when unknown.
    pub before_bytes: Option<u64>,
    /// Resident afterwards; `None` when unknown, which is not the same as 0.
    pub after_bytes: Option<u64>,
}

/// Writes the dirty pages of a range back and asks the kernel to drop it from the page cache. A length of 0
/// means "to the end". Works on regular files and on block devices.
///
/// # Errors
/// What fdatasync(2), posix_fadvise(2) or the residency says.
pub fn drop_range(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    residency: &dyn Residency,
) -> io::Result<DropReport> {
    let before_bytes = residency.resident_bytes(file, offset_bytes, length_bytes)?;
    fdatasync(file)?;
    fadvise(file, offset_bytes, NonZeroU64::new(length_bytes), Advice::DontNeed)?;
    let after_bytes = residency.resident_bytes(file, offset_bytes, length_bytes)?;
    Ok(DropReport { before_bytes, after_bytes })
}

/// Writes a whole file back and asks the kernel to drop it from the page cache.
///
/// # Errors
/// As [`drop_range`].
pub fn drop_file(file: &File, residency: &dyn Residency) -> io::Result<DropReport> {
    drop_range(file, 0, 0, residency)
}

/// Writes everything back and drops the page cache, directory entries and inodes of the whole machine. Needs
/// root, and a
/// `/proc/sys` that is not read-only as it is in most containers.
///
/// # Errors
/// What writing to `/proc/sys/vm/drop_caches` says.
pub fn drop_everything(root: &HostRoot) -> io::Result<()> {
    if root.is_real() {
        rustix::fs::sync();
    }
    fs::write(root.locate("/proc/sys/vm/drop_caches"), "3\n")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Write;

    use super::*;
    use crate::testing::FakeHost;

    #[test]
    fn a_written_file_can_be_dropped_and_read_again() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&[9; 100_000]).expect("written");
        let report = drop_file(&file, &ResidencyUnknown).expect("dropped");
        assert_eq!(report, DropReport::default());
        let mut byte = [0];
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut byte, 99_999).expect("read");
        assert_eq!(byte, [9]);
    }

    #[test]
    fn residency_is_asked_before_and_after() {
        struct Falling(Cell<u64>);
        impl Residency for Falling {
            fn resident_bytes(&self, _: &File, _: u64, _: u64) -> io::Result<Option<u64>> {
                self.0.set(self.0.get() - 1);
                Ok(Some(self.0.get()))
            }
        }
        let file = tempfile::tempfile().expect("a file");
        let report = drop_range(&file, 0, 4096, &Falling(Cell::new(9))).expect("dropped");
        assert_eq!(report, DropReport { before_bytes: Some(8), after_bytes: Some(7) });
    }

    #[test]
    fn a_pipe_cannot_be_dropped() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(drop_file(&file, &ResidencyUnknown).is_err());
    }

    #[test]
    fn dropping_everything_writes_to_the_kernels_file() {
        let host = FakeHost::new();
        assert!(drop_everything(&host.root()).is_err());
        host.write("/proc/sys/vm/drop_caches", "0\n");
        drop_everything(&host.root()).expect("written");
        assert_eq!(host.root().text("/proc/sys/vm/drop_caches").as_deref(), Some("3"));
    }
}
