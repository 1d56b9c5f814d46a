//! Directories and files that Assay made and may therefore overwrite and remove.
//!
//! A directory of ours carries two files: `CACHEDIR.TAG`, by which backup programs leave it out (the Cache
//! Directory Tagging Specification, bford.info/cachedir), and `.assay-dir`, which says that it is ours and which
//! directory it was written for: a copy of the two makes no other directory ours. What lies in such a directory is ours
//! only where Assay made it: a file carries a mark on its inode (an extended attribute), or the directory's ledger
//! (`.assay-ledger`) names it, or it has its place in a tree whose shape the ledger holds.

mod identity;
mod ledger;
mod mark;
mod windows;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use assay_workload::tree::TreeWorkload;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::cleanup::{self, CleanupError, CleanupReport};

pub use identity::Identity;
pub use ledger::LEDGER_FILE;
pub(crate) use ledger::Ledger;
pub use mark::{
    Ownership, Writing, claim_directory, claim_file, is_cut_short, is_own_directory, is_own_file,
    is_unsealed, mark_file, ownership,
};
pub(crate) use mark::{is_claimed_directory, ownership_in, ownership_of};
pub use windows::{TreeWork, Windows};

/// Name of the cache directory tag.
pub const TAG_FILE: &str = "CACHEDIR.TAG";
/// The first line of a cache directory tag, fixed by its specification.
pub const TAG_SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55";
/// Name of our own marker.
pub const MARKER_FILE: &str = ".assay-dir";

const MARKER_SCHEMA: &str = "assay.dir/1";
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
    /// The directory it was written for. Earlier versions did not say it.
    #[serde(default)]
    pub directory: Option<Identity>,
}

/// What the tags in a directory say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Assay made this very directory.
    Ours(Marker),
    /// It has both tags, but they do not say that they were written for it.
    Doubtful(Doubt),
    /// It has not both tags.
    Foreign,
}

/// Why tags are not believed; shown as a sentence without its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The marker names no directory.
    #[error("its marker does not say which directory it was made for, as those of earlier versions")]
    Unbound,
    /// The marker names another one.
    #[error("its marker was made for another directory, of which this may be a copy")]
    OtherDirectory,
    /// Another user could have put the tags there, to make root write and remove things.
    #[error(
        "it belongs to user {owner}, mode {mode:04o}, and root takes only a directory that belongs to root and that nobody \
         else can write to (its owner can use it)"
    )]
    NotRoots {
        /// User id of its owner.
        owner: u32,
        /// Its permissions.
        mode: u32,
    },
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
    /// A directory of that name exists whose tags are not believed.
    #[error("{path} exists, and {doubt}; choose another place, or remove it yourself")]
    Doubtful {
        /// The path asked for.
        path: PathBuf,
        /// Why not.
        doubt: Doubt,
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
    marker: File,
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
        let foreign = || WorkDirError::NotOurs { path: path.to_owned() };
        // Everything is asked of what is open: the name may lead elsewhere by then.
        let directory = open_directory(path).map_err(|_| foreign())?;
        match standing_of(directory.as_fd()) {
            Standing::Ours(_) => {}
            // Made now, on a file system that gives everything to all users.
            Standing::Doubtful(Doubt::NotRoots { .. }) if created => {}
            Standing::Doubtful(doubt) => return Err(WorkDirError::Doubtful { path: path.to_owned(), doubt }),
            Standing::Foreign => return Err(foreign()),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let marker = rustix::fs::openat(&directory, MARKER_FILE, flags, Mode::empty());
        let marker = File::from(marker.map_err(|errno| io_error(errno.into()))?);
        // Other errors mean a file system without locks: cleanup cannot be held off there, which is no reason
        // not to work.
        if rustix::fs::flock(&marker, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            return Err(WorkDirError::BeingRemoved { path: path.to_owned() });
        }
        let work = Self { path: fs::canonicalize(path).map_err(io_error)?, created, marker };
        let named = open_directory(&work.path).map_err(|_| foreign())?;
        if work.is_at(named.as_fd()) { Ok(work) } else { Err(foreign()) }
    }

    /// Its canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was made now; `false` when it was there already.
    pub fn created(&self) -> bool {
        self.created
    }

    /// Whether an open directory is this one: the one with the marker that is held.
    pub fn is_at(&self, directory: BorrowedFd<'_>) -> bool {
        let there = rustix::fs::statat(directory, MARKER_FILE, AtFlags::SYMLINK_NOFOLLOW);
        let held = rustix::fs::fstat(&self.marker);
        matches!((there, held), (Ok(there), Ok(held)) if (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino))
    }

    /// Notes that a tree of this shape stands in it: files and directories with its names are ours if they are made while
    /// the work lasts, and was made in earlier work.
    ///
    /// # Errors
    /// What writing the ledger says.
    pub fn plan_tree(&self, shape: &TreeWorkload) -> io::Result<TreeWork> {
        TreeWork::begin(&self.path, ledger::enter_tree(&self.path, shape)?)
    }

    /// Removes what Assay made in it, and itself if nothing else is there.
    ///
    /// # Errors
    /// What [`cleanup::remove`] says.
    pub fn remove(self) -> Result<CleanupReport, CleanupError> {
        // Closing would not do: a process that is just being started holds a copy of the descriptor until it is another program.
        let _ = rustix::fs::flock(&self.marker, FlockOperation::Unlock);
        cleanup::remove(&self.path)
    }
}

/// Makes the directory beside its final name and moves it there. `Ok(false)` when another process was first.
fn make_tagged(path: &Path, version: &str, purpose: &str) -> io::Result<bool> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let fresh = path.with_file_name(format!(".{name}.{}", std::process::id()));
    // Not for a group to write to, whatever the umask: `cleanup` would not believe the tags as root.
    DirBuilder::new().mode(0o755).create(&fresh)?;
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
    let marker = Marker {
        schema: MARKER_SCHEMA.to_owned(),
        version: version.to_owned(),
        purpose: purpose.to_owned(),
        directory: Some(Identity::of_path(directory)?),
    };
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

/// What the tags in a directory say. Symbolic links are not followed, neither to the directory nor to the tags in it.
pub fn standing(directory: &Path) -> Standing {
    open_directory(directory).map_or(Standing::Foreign, |directory| standing_of(directory.as_fd()))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// What the tags in an open directory say.
pub(crate) fn standing_of(directory: BorrowedFd<'_>) -> Standing {
    let tagged = || {
        let tag = read_small(directory, TAG_FILE)?;
        let marker: Marker = serde_json::from_slice(&read_small(directory, MARKER_FILE)?).ok()?;
        let ours = tag.starts_with(TAG_SIGNATURE.as_bytes()) && marker.schema.starts_with("assay.dir/");
        ours.then_some(marker)
    };
    let Some(marker) = tagged() else { return Standing::Foreign };
    match (&marker.directory, Identity::of_open(directory)) {
        (Some(written), Ok(now)) if written.is(&now) => match not_roots(directory) {
            None => Standing::Ours(marker),
            Some(doubt) => Standing::Doubtful(doubt),
        },
        (Some(_), _) => Standing::Doubtful(Doubt::OtherDirectory),
        (None, _) => Standing::Doubtful(Doubt::Unbound),
    }
}

/// For root: that others can have put something into a directory.
fn not_roots(directory: BorrowedFd<'_>) -> Option<Doubt> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let stat = rustix::fs::fstat(directory).ok()?;
    let (owner, mode) = (stat.st_uid, stat.st_mode & 0o7777);
    let safe = mode & 0o022 == 0 && (owner == 0 || owner_of_new(directory) == Some(owner));
    (!safe).then_some(Doubt::NotRoots { owner, mode })
}

/// Who owns what this user makes in a directory: a server may take root for another user, and some file systems know one owner only.
fn owner_of_new(directory: BorrowedFd<'_>) -> Option<u32> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    if let Ok(unnamed) = rustix::fs::openat(directory, c".", flags | OFlags::TMPFILE, mode) {
        return Some(rustix::fs::fstat(unnamed).ok()?.st_uid);
    }
    let name = format!(".assay-owner.{}", std::process::id());
    let new = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let made = rustix::fs::openat(directory, name.as_str(), new, mode).ok()?;
    let owner = rustix::fs::fstat(made).ok().map(|stat| stat.st_uid);
    let _ = rustix::fs::unlinkat(directory, name.as_str(), AtFlags::empty());
    owner
}

/// The content of a small regular file in an open directory.
fn read_small(directory: BorrowedFd<'_>, name: &str) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    // Both are small; a large one is something else.
    if !metadata.is_file() || metadata.len() > 64 * 1024 {
        return None;
    }
    let mut content = Vec::new();
    file.take(64 * 1024).read_to_end(&mut content).ok()?;
    Some(content)
}

/// The marker of a directory of ours; `None` when it is not one.
pub fn marker_of(directory: &Path) -> Option<Marker> {
    match standing(directory) {
        Standing::Ours(marker) => Some(marker),
        Standing::Doubtful(_) | Standing::Foreign => None,
    }
}

/// Whether a directory carries both of our tags, and they were written for it.
pub fn is_assay_dir(directory: &Path) -> bool {
    marker_of(directory).is_some()
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
    fn files_inside_are_ours_only_where_assay_made_them() {
        let parent = tempfile::tempdir().expect("a directory");
        let work = WorkDir::create(&parent.path().join("d"), "1", "run").expect("made");
        let (made, theirs) = (work.path().join("made"), work.path().join("theirs"));
        claim_file(&File::create_new(&made).expect("file"), &made).expect("claimed");
        fs::write(&theirs, "x").expect("file");
        assert!(is_own_file(&made) && !is_own_file(&theirs));
        fs::hard_link(&made, parent.path().join("outside")).expect("link");
        assert!(!is_own_file(&made), "somebody keeps it");
    }

    #[test]
    fn a_ledger_stands_in_for_marks() {
        let parent = tempfile::tempdir().expect("a directory");
        let work = WorkDir::create(&parent.path().join("d"), "1", "run").expect("made");
        let (file, renamed) = (work.path().join("file"), work.path().join("renamed"));
        fs::write(&file, "x").expect("file");
        assert!(!is_own_file(&file));
        let identity = Identity::of_path(&file).expect("identity");
        ledger::enter_file(work.path(), "file", identity, None).expect("entered");
        assert!(is_own_file(&file));
        fs::rename(&file, &renamed).expect("renamed");
        fs::write(&file, "precious").expect("another");
        assert!(!is_own_file(&file) && !is_own_file(&renamed));
    }

    #[test]
    fn what_somebody_wrote_into_a_file_of_ours_is_theirs() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("data");
        let file = std::sync::Arc::new(File::create_new(&path).expect("file"));
        claim_file(&file, &path).expect("claimed");
        let begin = |consent| Writing::begin(file.clone(), &path, consent).expect("asked");
        let Some(writing) = begin(false) else { return };
        (&*file).write_all(b"test data").expect("written");
        drop(writing);
        assert!(is_own_file(&path));
        let past = fs::FileTimes::new().set_accessed(std::time::SystemTime::UNIX_EPOCH);
        file.set_times(past).expect("set");
        assert!(is_own_file(&path), "a time of access is nobody's work");
        fs::write(&path, "precious, all of it").expect("written by somebody");
        assert_eq!(ownership(&path), Ownership::Changed);
        assert!(begin(false).is_none(), "{:?}", fs::read_to_string(&path));
        drop(begin(true).expect("with consent"));
        assert!(is_own_file(&path));
        let mut bounded = begin(false).expect("ours");
        bounded.up_to(4);
        drop(bounded);
        assert!(is_own_file(&path), "it was that long before");
        let mut bounded = begin(false).expect("ours");
        bounded.up_to(20);
        let mut end = fs::OpenOptions::new().append(true).open(&path).expect("opened");
        end.write_all(b"appended by another program").expect("written");
        drop(bounded);
        assert_eq!(ownership(&path), Ownership::Changed);
        drop(begin(true).expect("with consent"));
        // Killed while it was written.
        assert!(!is_cut_short(&path));
        std::mem::forget(begin(false).expect("ours"));
        assert!(is_cut_short(&path));
        // Somebody's own content since cannot be told from what was being written.
        assert_eq!(ownership(&path), Ownership::Changed);
        let (run, host) = (crate::claim::Claims::default(), crate::HostRoot::real());
        run.take(&host, &path, crate::claim::Access::Exclusive).expect("free");
        assert!(is_unsealed(&file, &path) && !is_cut_short(&path), "it is being written");
    }

    #[test]
    fn tags_make_no_other_directory_ours() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("d");
        drop(WorkDir::create(&path, "1", "run").expect("made"));
        let copy = parent.path().join("copy");
        fs::create_dir(&copy).expect("directory");
        for tag in [TAG_FILE, MARKER_FILE] {
            fs::copy(path.join(tag), copy.join(tag)).expect("copied");
        }
        assert_eq!(standing(&copy), Standing::Doubtful(Doubt::OtherDirectory));
        let old = "{\"schema\":\"assay.dir/1\",\"version\":\"0.1\",\"purpose\":\"run\"}";
        fs::write(copy.join(MARKER_FILE), old).expect("written");
        assert_eq!(standing(&copy), Standing::Doubtful(Doubt::Unbound));
        assert!(matches!(WorkDir::create(&copy, "1", "run"), Err(WorkDirError::Doubtful { .. })));
        fs::rename(&path, parent.path().join("moved")).expect("renamed");
        assert!(is_assay_dir(&parent.path().join("moved")), "a name is not what it is");
    }

    #[test]
    fn a_copy_of_a_marked_file_is_not_ours() {
        let parent = tempfile::tempdir().expect("a directory");
        let (one, two) = (parent.path().join("one"), parent.path().join("two"));
        let file = File::create(&one).expect("file");
        if !mark_file(&file).expect("marked or not") {
            // The file system has no extended attributes: the file must then count as foreign.
            assert!(!is_own_file(&one));
            return;
        }
        assert!(is_own_file(&one));
        let mut value = [0_u8; 128];
        let length = rustix::fs::getxattr(&one, mark::FILE_ATTRIBUTE, &mut value).expect("attribute");
        let copy = File::create(&two).expect("file");
        rustix::fs::fsetxattr(&copy, mark::FILE_ATTRIBUTE, &value[..length], rustix::fs::XattrFlags::empty())
            .expect("copied");
        assert!(!is_own_file(&two));
    }
}
