//! Removing what Assay left, and nothing else.
//!
//! Only directories with both tags are removed ([`crate::workdir`]). Everything is opened relative to the
//! directory above it, never through a symbolic link, and a directory on another mount is left where it is,
//! so that nothing outside can be reached however the tree changes meanwhile. The tags go last: an
//! interrupted cleanup can be repeated.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::node::Place;
use crate::workdir::{MARKER_FILE, TAG_FILE, is_assay_dir, open_marker};

/// Depth at which a tree is given up: each level holds an open file.
const MAX_DEPTH: usize = 200;

/// What a cleanup did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// The directory.
    pub path: PathBuf,
    /// Whether it is gone.
    pub removed: bool,
    /// Files removed, links and other nodes included, our tags excluded.
    pub files: u64,
    /// Directories removed, the upper one included.
    pub directories: u64,
    /// Lengths of the removed files.
    pub bytes: u64,
    /// Space the removed files occupied.
    pub allocated_bytes: u64,
    /// What was left, and why.
    pub kept: Vec<(PathBuf, String)>,
}

/// Why nothing was removed.
#[derive(Debug, thiserror::Error)]
pub enum CleanupError {
    /// The tags are not there.
    #[error("{path} was not made by Assay (it lacks {TAG_FILE} or {MARKER_FILE}); nothing was removed")]
    NotOurs {
        /// The path asked for.
        path: PathBuf,
    },
    /// An Assay works in it.
    #[error("{path} is in use by a running Assay; stop it or wait for its end")]
    InUse {
        /// The path asked for.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot clean up {path}: {source}")]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Directories of ours at `place`: itself, or else those directly in it, sorted.
///
/// # Errors
/// What reading the directory says.
pub fn find(place: &Path) -> io::Result<Vec<PathBuf>> {
    let canonical = fs::canonicalize(place)?;
    if is_assay_dir(&canonical) {
        return Ok(vec![canonical]);
    }
    let mut found: Vec<PathBuf> = fs::read_dir(&canonical)?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_assay_dir(path))
        .collect();
    found.sort();
    Ok(found)
}

/// Removes a directory of ours with everything in it.
///
/// # Errors
/// [`CleanupError`]; entries that could not be removed are no error but listed in [`CleanupReport::kept`].
pub fn remove(path: &Path) -> Result<CleanupReport, CleanupError> {
    let io_error = |source: io::Error| CleanupError::Io { path: path.to_owned(), source };
    if !is_assay_dir(path) {
        return Err(CleanupError::NotOurs { path: path.to_owned() });
    }
    let directory =
        rustix::fs::open(path, directory_flags(), Mode::empty()).map_err(|e| io_error(e.into()))?;
    let marker = open_marker(path).map_err(io_error)?;
    // Other errors mean a file system without locks, which cannot tell.
    if rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(CleanupError::InUse { path: path.to_owned() });
    }
    let place = Place::of_open(directory.as_fd()).map_err(io_error)?;
    let mut work =
        Removal { place, report: CleanupReport { path: path.to_owned(), ..CleanupReport::default() } };
    // Checked again through the open directory: the path may have changed its meaning since.
    if !holds_tags(directory.as_fd(), &marker).map_err(io_error)? {
        return Err(CleanupError::NotOurs { path: path.to_owned() });
    }
    work.empty(directory.as_fd(), path, 0);
    let mut report = work.report;
    if report.kept.is_empty() {
        for tag in [MARKER_FILE, TAG_FILE] {
            rustix::fs::unlinkat(&directory, tag, AtFlags::empty()).map_err(|e| io_error(e.into()))?;
        }
        fs::remove_dir(path).map_err(io_error)?;
        report.directories += 1;
        report.removed = true;
    }
    Ok(report)
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Whether the open directory is the one whose marker was opened by path, and has the tag.
fn holds_tags(directory: BorrowedFd<'_>, marker: &File) -> io::Result<bool> {
    let by_directory = rustix::fs::statat(directory, MARKER_FILE, AtFlags::SYMLINK_NOFOLLOW)?;
    let by_path = rustix::fs::fstat(marker)?;
    let tag = rustix::fs::statat(directory, TAG_FILE, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((by_directory.st_dev, by_directory.st_ino) == (by_path.st_dev, by_path.st_ino)
        && FileType::from_raw_mode(tag.st_mode) == FileType::RegularFile)
}

struct Removal {
    place: Place,
    report: CleanupReport,
}

impl Removal {
    /// Removes everything in an open directory, but at the top not our tags.
    fn empty(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize) {
        let names = match names_in(directory) {
            Ok(names) => names,
            Err(error) => return self.keep(path.to_owned(), &error),
        };
        for name in names {
            let is_tag =
                depth == 0 && [MARKER_FILE, TAG_FILE].iter().any(|tag| name.as_bytes() == tag.as_bytes());
            if !is_tag {
                let path = path.join(OsStr::from_bytes(name.as_bytes()));
                if let Err(error) = self.entry(directory, &name, &path, depth) {
                    self.keep(path, &error);
                }
            }
        }
    }

    fn entry(&mut self, above: BorrowedFd<'_>, name: &CString, path: &Path, depth: usize) -> io::Result<()> {
        let stat = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            rustix::fs::unlinkat(above, name, AtFlags::empty())?;
            self.report.files += 1;
            self.report.bytes += u64::try_from(stat.st_size).unwrap_or(0);
            self.report.allocated_bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
            return Ok(());
        }
        if depth + 1 > MAX_DEPTH {
            return Err(io::Error::other(format!("more than {MAX_DEPTH} levels deep")));
        }
        let inner = rustix::fs::openat(above, name, directory_flags(), Mode::empty())?;
        if Place::of_open(inner.as_fd())? != self.place {
            return Err(io::Error::other("another file system is mounted there"));
        }
        let kept_before = self.report.kept.len();
        self.empty(inner.as_fd(), path, depth + 1);
        if self.report.kept.len() == kept_before {
            rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?;
            self.report.directories += 1;
        }
        Ok(())
    }

    fn keep(&mut self, path: PathBuf, error: &io::Error) {
        self.report.kept.push((path, error.to_string()));
    }
}

/// Names in an open directory, without `.` and `..`. They are read before the first is removed: reading on
/// while entries vanish may skip some on some file systems.
fn names_in(directory: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_bytes() != b"." && name.to_bytes() != b".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::workdir::WorkDir;

    fn made(parent: &Path, name: &str) -> PathBuf {
        let path = parent.join(name);
        drop(WorkDir::create(&path, "1", "test").expect("made"));
        path
    }

    #[test]
    fn everything_inside_goes_and_is_counted() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = made(parent.path(), "assay-quick");
        fs::create_dir_all(path.join("a/b")).expect("directories");
        fs::write(path.join("a/b/file"), vec![1; 10_000]).expect("file");
        fs::write(path.join("top"), "12345").expect("file");
        let report = remove(&path).expect("removed");
        assert!(report.removed && !path.exists());
        assert_eq!((report.files, report.directories, report.bytes), (2, 3, 10_005));
        assert!(report.kept.is_empty());
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let parent = tempfile::tempdir().expect("a directory");
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).expect("directory");
        fs::write(outside.join("precious"), "x").expect("file");
        let path = made(parent.path(), "assay-run");
        symlink(&outside, path.join("link")).expect("link");
        symlink(outside.join("precious"), path.join("link2")).expect("link");
        let report = remove(&path).expect("removed");
        assert_eq!(report.files, 2);
        assert!(outside.join("precious").exists());
    }

    #[test]
    fn what_is_not_ours_stays() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = made(parent.path(), "assay-run");
        let link = parent.path().join("link");
        symlink(&path, &link).expect("link");
        assert!(matches!(remove(&link), Err(CleanupError::NotOurs { .. })));
        assert!(matches!(remove(parent.path()), Err(CleanupError::NotOurs { .. })));
        fs::remove_file(path.join(TAG_FILE)).expect("removed");
        assert!(matches!(remove(&path), Err(CleanupError::NotOurs { .. })));
        assert!(path.join(MARKER_FILE).exists());
    }

    #[test]
    fn a_directory_in_use_stays_until_its_user_lets_go() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("assay-run");
        let work = WorkDir::create(&path, "1", "test").expect("made");
        assert!(matches!(remove(&path), Err(CleanupError::InUse { .. })));
        assert!(work.remove().expect("removed").removed);
    }

    #[test]
    fn directories_are_found_at_and_directly_below_a_place() {
        let parent = tempfile::tempdir().expect("a directory");
        let root = fs::canonicalize(parent.path()).expect("canonical");
        let (one, two) = (made(&root, "assay-quick"), made(&root, "assay-run"));
        fs::create_dir(root.join("assay-fake")).expect("directory");
        symlink(&one, root.join("link")).expect("link");
        fs::create_dir(root.join("deep")).expect("directory");
        made(&root.join("deep"), "assay-too-deep");
        assert_eq!(find(&root).expect("found"), [one.clone(), two]);
        assert_eq!(find(&one).expect("found"), [one]);
        assert!(find(&root.join("nothing")).is_err());
    }
}
