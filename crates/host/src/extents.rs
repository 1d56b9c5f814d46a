//! Which parts of a file hold data.
//!
//! Reads of holes and of allocated but never written extents return zeros without device I/O, and inflate a
//! read measurement beyond anything real. SEEK_HOLE and SEEK_DATA (lseek(2)) tell holes; unwritten extents
//! are told by FIEMAP, an ioctl that needs unsafe code and is therefore supplied through
//! [`UnwrittenExtents`].

use std::fs::File;
use std::io;

use assay_results::environment::ExtentSummary;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Tells how much of a file is allocated but was never written.
pub trait UnwrittenExtents {
    /// Bytes of unwritten extents in `length_bytes` from `offset_bytes`; `None` when the file system does not
    /// tell.
    ///
    /// # Errors
    /// What the system says when it should know and fails.
    fn unwritten_bytes(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<Option<u64>>;
}

/// A hook for callers that cannot ask: nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnwrittenUnknown;

impl UnwrittenExtents for UnwrittenUnknown {
    fn unwritten_bytes(&self, _: &File, _: u64, _: u64) -> io::Result<Option<u64>> {
        Ok(None)
    }
}

/// A run of data in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRun {
    /// Where it starts.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
}

/// Walks the runs of data in a range of a file. The file's offset is moved.
#[derive(Debug)]
pub struct DataRuns<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl<'a> DataRuns<'a> {
    /// Runs within `length_bytes` from `offset_bytes`; what lies beyond the end of the file counts as a hole.
    pub fn new(file: &'a File, offset_bytes: u64, length_bytes: u64) -> Self {
        Self { file, at: offset_bytes, end: offset_bytes.saturating_add(length_bytes) }
    }

    fn advance(&mut self) -> io::Result<Option<DataRun>> {
        if self.at >= self.end {
            return Ok(None);
        }
        let start = match seek(self.file, SeekFrom::Data(self.at)) {
            Ok(start) if start < self.end => start,
            // ENXIO: no data from here to the end of the file.
            Ok(_) | Err(Errno::NXIO) => {
                self.at = self.end;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let stop = seek(self.file, SeekFrom::Hole(start))?.min(self.end);
        if stop <= start {
            // A file that shrinks under us must not make us go round for ever.
            self.at = self.end;
            return Ok(None);
        }
        self.at = stop;
        Ok(Some(DataRun { offset_bytes: start, length_bytes: stop - start }))
    }
}

impl Iterator for DataRuns<'_> {
    type Item = io::Result<DataRun>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(run) => run.map(Ok),
            Err(error) => {
                self.at = self.end;
                Some(Err(error))
            }
        }
    }
}

/// Sums up a range of a file. The file's offset is moved.
///
/// # Errors
/// What lseek(2) says, for example on a pipe, and what `unwritten` says.
pub fn summary(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    unwritten: &dyn UnwrittenExtents,
) -> io::Result<ExtentSummary> {
    let mut found = summary_limited(file, offset_bytes, length_bytes, u64::MAX)?.unwrap_or_default();
    found.unwritten_bytes = unwritten.unwritten_bytes(file, offset_bytes, length_bytes)?;
    Ok(found)
}

/// Like [`summary`] without the hook, but `None` for a file of more than `max_runs` runs of data.
///
/// # Errors
/// What lseek(2) says.
pub fn summary_limited(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    max_runs: u64,
) -> io::Result<Option<ExtentSummary>> {
    let mut found = ExtentSummary { examined_bytes: length_bytes, ..ExtentSummary::default() };
    for run in DataRuns::new(file, offset_bytes, length_bytes) {
        found.data_bytes += run?.length_bytes;
        found.data_runs += 1;
        if found.data_runs > max_runs {
            return Ok(None);
        }
    }
    found.hole_bytes = length_bytes.saturating_sub(found.data_bytes);
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// 1 MiB of data, 6 MiB of hole, 1 MiB of data.
    fn sparse() -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(8 * MIB).expect("length");
        file.write_all_at(&vec![1; MIB as usize], 0).expect("write");
        file.write_all_at(&vec![1; MIB as usize], 7 * MIB).expect("write");
        file.sync_all().expect("sync");
        file
    }

    #[test]
    fn holes_and_data_are_told_apart() {
        let found = summary(&sparse(), 0, 8 * MIB, &UnwrittenUnknown).expect("a file");
        assert_eq!((found.data_bytes, found.hole_bytes, found.data_runs), (2 * MIB, 6 * MIB, 2));
        assert_eq!(found.unwritten_bytes, None);
    }

    #[test]
    fn a_range_counts_alone_and_beyond_the_end_is_hole() {
        let file = sparse();
        let inner = summary(&file, 2 * MIB, 4 * MIB, &UnwrittenUnknown).expect("a file");
        assert_eq!((inner.data_bytes, inner.hole_bytes), (0, 4 * MIB));
        let over = summary(&file, 7 * MIB, 4 * MIB, &UnwrittenUnknown).expect("a file");
        assert_eq!((over.data_bytes, over.hole_bytes), (MIB, 3 * MIB));
    }

    #[test]
    fn counting_stops_at_the_limit() {
        let file = sparse();
        assert_eq!(summary_limited(&file, 0, 8 * MIB, 1).expect("a file"), None);
        assert!(summary_limited(&file, 0, 8 * MIB, 2).expect("a file").is_some());
    }

    #[test]
    fn the_hook_is_asked_for_the_same_range() {
        struct Fixed;
        impl UnwrittenExtents for Fixed {
            fn unwritten_bytes(&self, _: &File, offset: u64, length: u64) -> io::Result<Option<u64>> {
                Ok(Some(offset + length))
            }
        }
        assert_eq!(summary(&sparse(), 3, 4, &Fixed).expect("a file").unwritten_bytes, Some(7));
    }

    #[test]
    fn a_pipe_has_no_extents() {
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(summary(&file, 0, 1, &UnwrittenUnknown).is_err());
    }
}
