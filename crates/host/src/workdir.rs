//! Directories and files that Assay made and may therefore overwrite and remove.
//!
//! A directory of ours carries two files: `CACHEDIR.TAG`, by which backup programs leave it out (the Cache
//! Directory Tagging Specification, bford.info/cachedir), and `.assay-dir`, which says that it is ours. Only
//! both together make it so. A single file that Assay makes elsewhere can be marked by an extended attribute,
//! which names the inode: a copy of a marked file is not ours.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::cleanup::{self, CleanupError, CleanupReport};

/// Name of the cache directory tag.
pub const TAG_FILE: &str = "CACHEDIR.TAG";
/// The first line of a cache directory tag, fixed by its specification.
pub const TAG_SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55";
/// Name of our own marker.
pub const MARKER_FILE: &str = ".assay-dir";

const MARKER_SCHEMA: &str = "assay.dir/1";
const FILE_ATTRIBUTE: &str = "user.assay";

const TAG_TEXT: &str = "\
# This directory was made by Assay, a storage benchmark. Its content is test data without worth.
# `assay cleanup` removes it. About this file: https://bford.info/cachedir/
";

/// What our marker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Format of the marker: `assay.dir/1`.
    pub schema: String,
    /// Version of Assay that made the directory.
    pub version: String,
    /// What it was made for, such as `quick`.
    pub purpose: String,
}

/// Why a working directory could not be had.
#[derive(Debug, thiserror::Error)]
pub enum WorkDirError {
    /// Something of that name exists and is not ours.
    #[error("{path} exists and was not made by Assay; choose another place, or remove it yourself")]
    NotOurs {
        /// The path asked for.
        path: PathBuf,
    },
    /// A cleanup is removing it at this moment.
    #[error("{path} is being removed by another Assay; wait for it to end")]
    BeingRemoved {
        /// The path asked for.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot make {path}: {source}")]
    Io {
        /// The path asked for.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// A tagged directory in use. While it lives, `assay cleanup` leaves the directory alone.
#[derive(Debug)]
pub struct WorkDir {
    path: PathBuf,
    created: bool,
    /// Carries a shared lock.
    _marker: File,
}

impl WorkDir {
    /// Makes a tagged directory, or takes one that is ours already. The parent must exist.
    ///
    /// It appears under its name with both tags in it or not at all.
    ///
    /// # Errors
    /// [`WorkDirError::NotOurs`] for anything else of that name, even an empty directory.
    pub fn create(path: &Path, version: &str, purpose: &str) -> Result<Self, WorkDirError> {
        let io_error = |source| WorkDirError::Io { path: path.to_owned(), source };
        let created = match fs::symlink_metadata(path) {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_tagged(path, version, purpose).map_err(io_error)?
            }
            Err(error) => return Err(io_error(error)),
        };
        if !is_assay_dir(path) {
            return Err(WorkDirError::NotOurs { path: path.to_owned() });
        }
        let marker = open_marker(path).map_err(io_error)?;
        // Other errors mean a file system without locks: cleanup cannot be held off there, which is no reason
        // not to work.
        if rustix::fs::flock(&marker, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            return Err(WorkDirError::BeingRemoved { path: path.to_owned() });
        }
        let path = fs::canonicalize(path).map_err(io_error)?;
        Ok(Self { path, created, _marker: marker })
    }

    /// Its canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was made now; `false` when it was there already.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Removes it with everything in it.
    ///
    /// # Errors
    /// What [`cleanup::remove`] says.
    pub fn remove(self) -> Result<CleanupReport, CleanupError> {
        let path = self.path.clone();
        drop(self);
        cleanup::remove(&path)
    }
}

/// Makes the directory beside its final name and moves it there. `Ok(false)` when somebody else was first.
fn make_tagged(path: &Path, version: &str, purpose: &str) -> io::Result<bool> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let fresh = path.with_file_name(format!(".{name}.{}", std::process::id()));
    fs::create_dir(&fresh)?;
    let done = write_tags(&fresh, version, purpose).and_then(|()| rename_to_new(&fresh, path));
    if !matches!(done, Ok(true)) {
        // Only what was made here, by name.
        drop(fs::remove_file(fresh.join(TAG_FILE)));
        drop(fs::remove_file(fresh.join(MARKER_FILE)));
        drop(fs::remove_dir(&fresh));
    }
    done
}

fn write_tags(directory: &Path, version: &str, purpose: &str) -> io::Result<()> {
    let marker =
        Marker { schema: MARKER_SCHEMA.to_owned(), version: version.to_owned(), purpose: purpose.to_owned() };
    let new = |name: &str| OpenOptions::new().write(true).create_new(true).open(directory.join(name));
    new(TAG_FILE)?.write_all(format!("{TAG_SIGNATURE}\n{TAG_TEXT}").as_bytes())?;
    let mut text = serde_json::to_string(&marker)?;
    text.push('\n');
    new(MARKER_FILE)?.write_all(text.as_bytes())
}

fn rename_to_new(from: &Path, to: &Path) -> io::Result<bool> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // NFS and some FUSE servers cannot do it; a plain rename replaces nothing but an empty directory.
        Err(Errno::INVAL | Errno::NOSYS) => fs::rename(from, to).map(|()| true),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn open_marker(directory: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(directory.join(MARKER_FILE))
}

/// The marker of a directory of ours; `None` when it is not one. Symbolic links are not followed, neither to
/// the directory nor to the tags in it.
pub fn marker_of(directory: &Path) -> Option<Marker> {
    if !fs::symlink_metadata(directory).ok()?.is_dir() {
        return None;
    }
    let regular = |name: &str| {
        let path = directory.join(name);
        // Both are small; a large one is something else.
        let metadata = fs::symlink_metadata(&path).ok()?;
        (metadata.is_file() && metadata.len() <= 64 * 1024).then(|| fs::read(&path).ok()).flatten()
    };
    if !regular(TAG_FILE)?.starts_with(TAG_SIGNATURE.as_bytes()) {
        return None;
    }
    let marker: Marker = serde_json::from_slice(&regular(MARKER_FILE)?).ok()?;
    marker.schema.starts_with("assay.dir/").then_some(marker)
}

/// Whether a directory carries both of our tags.
pub fn is_assay_dir(directory: &Path) -> bool {
    marker_of(directory).is_some()
}

/// The directory of ours that a file lies in, at any depth, on the same mount.
///
/// A file with further names (hard links) counts as nobody's: one of the names may be outside.
pub fn enclosing_assay_dir(file: &Path) -> Option<PathBuf> {
    let metadata = fs::metadata(file).ok()?;
    if metadata.is_file() && metadata.nlink() > 1 {
        return None;
    }
    let place = crate::node::Place::of_path(file).ok()?;
    file.ancestors()
        .skip(1)
        .find(|directory| is_assay_dir(directory))
        .filter(|directory| crate::node::Place::of_path(directory).is_ok_and(|above| above == place))
        .map(Path::to_owned)
}

/// Marks an open file as made by Assay. `Ok(false)` where the file system has no extended attributes: then
/// writing over the file later needs consent.
///
/// # Errors
/// What fsetxattr(2) says otherwise.
pub fn mark_file(file: &File) -> io::Result<bool> {
    let value = file_mark(file.metadata()?.ino());
    match rustix::fs::fsetxattr(file, FILE_ATTRIBUTE, value.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether a file carries the mark that [`mark_file`] left on this very inode.
pub fn is_marked_file(path: &Path) -> bool {
    let mut value = [0_u8; 64];
    let Ok(length) = rustix::fs::getxattr(path, FILE_ATTRIBUTE, &mut value) else { return false };
    fs::metadata(path).is_ok_and(|metadata| value[..length] == *file_mark(metadata.ino()).as_bytes())
}

fn file_mark(inode: u64) -> String {
    format!("assay.file/1 inode={inode}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_made_directory_carries_the_tag_exactly() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("assay-quick");
        let work = WorkDir::create(&path, "1.2.3", "quick").expect("made");
        assert!(work.created());
        let tag = fs::read_to_string(path.join(TAG_FILE)).expect("tag");
        assert_eq!(tag.lines().next(), Some("Signature: 8a477f597d28d172789f06886806bc55"));
        let marker = marker_of(&path).expect("ours");
        assert_eq!((marker.version.as_str(), marker.purpose.as_str()), ("1.2.3", "quick"));
        assert_eq!(fs::read_dir(parent.path()).expect("parent").count(), 1, "nothing is left beside it");
        assert!(!WorkDir::create(&path, "1.2.3", "quick").expect("taken again").created());
    }

    #[test]
    fn what_is_not_ours_is_refused() {
        let parent = tempfile::tempdir().expect("a directory");
        let make = |name: &str| WorkDir::create(&parent.path().join(name), "1", "run");
        fs::create_dir(parent.path().join("empty")).expect("directory");
        fs::write(parent.path().join("file"), "x").expect("file");
        symlink("nowhere", parent.path().join("dangling")).expect("link");
        make("ours").expect("made");
        symlink("ours", parent.path().join("link")).expect("link");
        for name in ["empty", "file", "dangling", "link"] {
            assert!(matches!(make(name), Err(WorkDirError::NotOurs { .. })), "{name}");
        }
        assert!(matches!(make("no/such/parent"), Err(WorkDirError::Io { .. })));
    }

    #[test]
    fn one_tag_alone_or_a_linked_tag_is_not_enough() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("d");
        drop(WorkDir::create(&path, "1", "run").expect("made"));
        let kept = parent.path().join("kept");
        fs::rename(path.join(MARKER_FILE), &kept).expect("moved");
        assert!(!is_assay_dir(&path));
        symlink(&kept, path.join(MARKER_FILE)).expect("link");
        assert!(!is_assay_dir(&path));
        fs::remove_file(path.join(MARKER_FILE)).expect("removed");
        fs::rename(&kept, path.join(MARKER_FILE)).expect("moved back");
        assert!(is_assay_dir(&path));
        fs::write(path.join(TAG_FILE), "Signature: something else\n").expect("written");
        assert!(!is_assay_dir(&path));
    }

    #[test]
    fn files_inside_are_ours_unless_they_have_another_name() {
        let parent = tempfile::tempdir().expect("a directory");
        let work = WorkDir::create(&parent.path().join("d"), "1", "run").expect("made");
        let inside = work.path().join("deep/file");
        fs::create_dir(work.path().join("deep")).expect("directory");
        fs::write(&inside, "x").expect("file");
        assert_eq!(enclosing_assay_dir(&inside).as_deref(), Some(work.path()));
        fs::hard_link(&inside, parent.path().join("outside")).expect("link");
        assert_eq!(enclosing_assay_dir(&inside), None);
    }

    #[test]
    fn a_copy_of_a_marked_file_is_not_ours() {
        let parent = tempfile::tempdir().expect("a directory");
        let (one, two) = (parent.path().join("one"), parent.path().join("two"));
        let file = File::create(&one).expect("file");
        if !mark_file(&file).expect("marked or not") {
            // The file system has no extended attributes: the file must then count as foreign.
            assert!(!is_marked_file(&one));
            return;
        }
        assert!(is_marked_file(&one));
        let mut value = [0_u8; 64];
        let length = rustix::fs::getxattr(&one, FILE_ATTRIBUTE, &mut value).expect("attribute");
        let copy = File::create(&two).expect("file");
        rustix::fs::fsetxattr(&copy, FILE_ATTRIBUTE, &value[..length], XattrFlags::empty()).expect("copied");
        assert!(!is_marked_file(&two));
    }
}
