//! Removing what Assay left, and nothing else.
//!
//! Only directories whose tags were written for them are looked into ([`crate::workdir`]), and in them only what Assay made
//! is removed: files with its mark or in the ledger, the places of trees that were planned there, directories of ours in
//! them. Everything is opened relative to the directory above it, never through a symbolic link, and a directory on another
//! mount is left where it is, so that nothing outside can be reached however the tree changes meanwhile. The tags go last,
//! our marker after all else: an interrupted cleanup can be repeated.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use assay_workload::tree::{TreeEntry, TreeLayout};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;

use crate::claim::is_claimed;
use crate::node::NodeLocation;
use crate::workdir::{
    Doubt, Identity, LEDGER_FILE, Ledger, MARKER_FILE, Ownership, Standing, TAG_FILE, Windows, ownership_in,
    standing, standing_of,
};

/// Depth at which a tree is given up: each level holds an open file.
const MAX_DEPTH: usize = 200;

/// Why something in a directory of ours stays.
const FOREIGN: &str = "Assay did not make it";
const IN_USE: &str = "a running Assay uses it; stop it or wait for its end";
const LINKED: &str = "it has another name (hard link); remove it yourself if you do not need it";
const CHANGED: &str = "Assay made it, and it was changed since; remove it yourself if you do not need it";

/// What a cleanup did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupReport {
    /// The directory.
    pub path: PathBuf,
    /// Whether it is gone.
    pub removed: bool,
    /// Files removed, our tags and ledger excluded.
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
    /// The tags are there and are not believed.
    #[error("kept {path}: {}; remove it yourself if you do not need it", doubt.text())]
    Doubtful {
        /// The path asked for.
        path: PathBuf,
        /// Why not.
        doubt: Doubt,
    },
    /// Another user could have put the tags there, to make root remove things.
    #[error(
        "kept {path}: as root, only a directory that belongs to root and that nobody else can write to is cleaned up \
         (this one belongs to user {owner}, mode {mode:04o}); run this as its owner, or remove it yourself"
    )]
    NotRoots {
        /// The path asked for.
        path: PathBuf,
        /// User id of its owner.
        owner: u32,
        /// Its permissions.
        mode: u32,
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

/// Directories with our tags at `place`: itself, or else those directly in it, sorted. Whether the tags are to be
/// believed is for [`remove`] to say.
///
/// # Errors
/// What reading the directory says.
pub fn find(place: &Path) -> io::Result<Vec<PathBuf>> {
    let tagged = |path: &Path| standing(path) != Standing::Foreign;
    let canonical = fs::canonicalize(place)?;
    if tagged(&canonical) {
        return Ok(vec![canonical]);
    }
    let mut found: Vec<PathBuf> =
        fs::read_dir(&canonical)?.flatten().map(|entry| entry.path()).filter(|path| tagged(path)).collect();
    found.sort();
    Ok(found)
}

/// Removes what Assay made in a directory of ours, and the directory if nothing else is in it.
///
/// # Errors
/// [`CleanupError`]; entries that stay are no error but listed in [`CleanupReport::kept`].
pub fn remove(path: &Path) -> Result<CleanupReport, CleanupError> {
    let io_error = |source: io::Error| CleanupError::Io { path: path.to_owned(), source };
    if standing(path) == Standing::Foreign {
        return Err(CleanupError::NotOurs { path: path.to_owned() });
    }
    let directory =
        rustix::fs::open(path, directory_flags(), Mode::empty()).map_err(|e| io_error(e.into()))?;
    let held = Held::take(directory, path)?;
    let place = NodeLocation::of_open(held.directory.as_fd()).map_err(io_error)?;
    let mut work =
        Removal { place, report: CleanupReport { path: path.to_owned(), ..CleanupReport::default() } };
    if work.tagged(&held, path, 0) {
        fs::remove_dir(path).map_err(io_error)?;
        work.report.directories += 1;
        work.report.removed = true;
    }
    Ok(work.report)
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// A directory of ours, open and locked.
struct Held {
    directory: OwnedFd,
    /// Carries an exclusive lock.
    _marker: OwnedFd,
}

impl Held {
    /// Everything is asked of the open directory: the path may have changed its meaning since.
    fn take(directory: OwnedFd, path: &Path) -> Result<Self, CleanupError> {
        let path = || path.to_owned();
        let io_error = |errno: Errno| CleanupError::Io { path: path(), source: errno.into() };
        match standing_of(directory.as_fd()) {
            Standing::Ours(_) => {}
            Standing::Doubtful(doubt) => return Err(CleanupError::Doubtful { path: path(), doubt }),
            Standing::Foreign => return Err(CleanupError::NotOurs { path: path() }),
        }
        let stat = rustix::fs::fstat(&directory).map_err(io_error)?;
        if rustix::process::geteuid().is_root() && !is_roots(&stat) {
            let (owner, mode) = (stat.st_uid, stat.st_mode & 0o7777);
            return Err(CleanupError::NotRoots { path: path(), owner, mode });
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let marker = rustix::fs::openat(&directory, MARKER_FILE, flags, Mode::empty()).map_err(io_error)?;
        // Other errors mean a file system without locks, which cannot tell.
        if rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(CleanupError::InUse { path: path() });
        }
        Ok(Held { directory, _marker: marker })
    }
}

/// Whether nobody but root can have put anything into a directory.
fn is_roots(directory: &Stat) -> bool {
    directory.st_uid == 0 && directory.st_mode & 0o022 == 0
}

/// What may be in a directory.
struct Expected<'a> {
    /// Directly in a directory of ours: its ledger.
    ledger: Option<&'a Ledger>,
    /// The trees that the directory belongs to, with its index in each; `None` is the anchor.
    trees: Vec<(&'a TreeLayout, Option<u64>)>,
    /// When Assay worked on them.
    windows: &'a Windows,
}

impl<'a> Expected<'a> {
    fn is_tree_file(&self, above: BorrowedFd<'_>, name: &CString) -> bool {
        self.made(above, name)
            && self
                .trees
                .iter()
                .any(|(layout, at)| matches!(layout.entry(*at, name.as_bytes()), Some(TreeEntry::File(_))))
    }

    /// Whether it was made, and nobody changed it since.
    fn made(&self, above: BorrowedFd<'_>, name: &CString) -> bool {
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
        rustix::fs::statx(above, name, AtFlags::SYMLINK_NOFOLLOW, wanted)
            .is_ok_and(|stat| self.windows.made(&stat))
    }

    /// What may be in a directory below; `None`: it is no tree's.
    fn below(&self, above: BorrowedFd<'_>, name: &CString) -> Option<Expected<'a>> {
        let trees = self.trees.iter().filter_map(|(layout, at)| match layout.entry(*at, name.as_bytes()) {
            Some(TreeEntry::Directory(index)) => Some((*layout, Some(index))),
            _ => None,
        });
        let trees: Vec<_> = trees.collect();
        (!trees.is_empty() && self.made(above, name)).then_some(Expected {
            ledger: None,
            trees,
            windows: self.windows,
        })
    }
}

struct Removal {
    place: NodeLocation,
    report: CleanupReport,
}

impl Removal {
    /// Removes what is ours in a directory of ours; then, if nothing is left, its tags. Whether it is empty now.
    fn tagged(&mut self, held: &Held, path: &Path, depth: usize) -> bool {
        let directory = held.directory.as_fd();
        let kept_before = self.report.kept.len();
        let ledger = Ledger::read(directory);
        let trees = ledger.trees();
        let trees = trees.iter().map(|layout| (layout, None)).collect();
        let windows = &ledger.windows();
        self.empty(directory, path, depth, &Expected { ledger: Some(&ledger), trees, windows });
        if self.report.kept.len() > kept_before {
            return false;
        }
        // Something may have come meanwhile; then the directory stays ours, with its tags.
        match names_in(directory) {
            Ok(names) if names.iter().all(is_tag) => {}
            Ok(_) => {
                let error = io::Error::other("something was made in it meanwhile");
                self.keep(path.to_owned(), &error);
                return false;
            }
            Err(error) => {
                self.keep(path.to_owned(), &error);
                return false;
            }
        }
        for tag in [LEDGER_FILE, TAG_FILE, MARKER_FILE] {
            match rustix::fs::unlinkat(directory, tag, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => {
                    self.keep(path.join(tag), &error.into());
                    return false;
                }
            }
        }
        true
    }

    /// Removes what is ours in an open directory, but not our tags.
    fn empty(&mut self, directory: BorrowedFd<'_>, path: &Path, depth: usize, expected: &Expected<'_>) {
        let names = match names_in(directory) {
            Ok(names) => names,
            Err(error) => return self.keep(path.to_owned(), &error),
        };
        for name in names {
            if !(expected.ledger.is_some() && is_tag(&name)) {
                let path = path.join(OsStr::from_bytes(name.as_bytes()));
                if let Err(error) = self.entry(directory, &name, &path, depth, expected) {
                    self.keep(path, &error);
                }
            }
        }
    }

    fn entry(
        &mut self,
        above: BorrowedFd<'_>,
        name: &CString,
        path: &Path,
        depth: usize,
        expected: &Expected<'_>,
    ) -> io::Result<()> {
        let stat = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => return self.directory(above, name, path, depth, expected),
            FileType::RegularFile
                if expected.is_tree_file(above, name) || is_own(above, name, &stat, expected)? => {}
            _ => return Err(io::Error::other(FOREIGN)),
        }
        rustix::fs::unlinkat(above, name, AtFlags::empty())?;
        self.report.files += 1;
        self.report.bytes += u64::try_from(stat.st_size).unwrap_or(0);
        self.report.allocated_bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        Ok(())
    }

    fn directory(
        &mut self,
        above: BorrowedFd<'_>,
        name: &CString,
        path: &Path,
        depth: usize,
        expected: &Expected<'_>,
    ) -> io::Result<()> {
        if depth + 1 > MAX_DEPTH {
            return Err(io::Error::other(format!("more than {MAX_DEPTH} levels deep")));
        }
        let inner = rustix::fs::openat(above, name, directory_flags(), Mode::empty())?;
        if NodeLocation::of_open(inner.as_fd())? != self.place {
            return Err(io::Error::other("another file system is mounted there"));
        }
        let emptied = if let Standing::Ours(_) = standing_of(inner.as_fd()) {
            let held = Held::take(inner, path).map_err(io::Error::other)?;
            self.tagged(&held, path, depth + 1)
        } else {
            let below = expected.below(above, name).ok_or_else(|| io::Error::other(FOREIGN))?;
            let kept_before = self.report.kept.len();
            self.empty(inner.as_fd(), path, depth + 1, &below);
            self.report.kept.len() == kept_before
        };
        if emptied {
            rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?;
            self.report.directories += 1;
        }
        Ok(())
    }

    fn keep(&mut self, path: PathBuf, error: &io::Error) {
        self.report.kept.push((path, error.to_string()));
    }
}

/// Whether the file that `stat` is of says itself that it is ours, or the ledger does.
fn is_own(above: BorrowedFd<'_>, name: &CString, stat: &Stat, expected: &Expected<'_>) -> io::Result<bool> {
    // Should a pipe have taken the name by now, it is not waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(above, name, flags, Mode::empty())?);
    let identity = Identity::of_open(file.as_fd())?;
    match ownership_in(&file, Path::new(OsStr::from_bytes(name.as_bytes())), expected.ledger)? {
        Ownership::Changed => Err(io::Error::other(CHANGED)),
        Ownership::Linked => Err(io::Error::other(LINKED)),
        Ownership::Ours if is_claimed(&file) => Err(io::Error::other(IN_USE)),
        ownership => Ok(identity.inode == stat.st_ino && ownership == Ownership::Ours),
    }
}

fn is_tag(name: &CString) -> bool {
    [MARKER_FILE, TAG_FILE, LEDGER_FILE].iter().any(|tag| name.as_bytes() == tag.as_bytes())
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
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use assay_workload::tree::TreeWorkload;

    use super::*;
    use crate::workdir::{WorkDir, claim_file, is_assay_dir};

    fn made(parent: &Path, name: &str) -> PathBuf {
        let path = parent.join(name);
        drop(WorkDir::create(&path, "1", "test").expect("made"));
        path
    }

    fn own_file(path: &Path, content: &[u8]) {
        let mut file = File::create_new(path).expect("file");
        file.write_all(content).expect("written");
        claim_file(&file, path).expect("claimed");
    }

    #[test]
    fn everything_of_ours_goes_and_is_counted() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = made(parent.path(), "assay-quick");
        let inner = made(&path, "tree");
        own_file(&inner.join("file"), &[1; 10_000]);
        own_file(&path.join("top"), b"12345");
        let report = remove(&path).expect("removed");
        assert!(report.removed && !path.exists(), "{report:?}");
        assert_eq!((report.files, report.directories, report.bytes), (2, 2, 10_005));
        assert!(report.kept.is_empty());
    }

    #[test]
    fn a_file_with_another_name_is_kept_for_that_reason() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = made(parent.path(), "assay-run");
        own_file(&path.join("data"), b"12345");
        fs::hard_link(path.join("data"), parent.path().join("kept")).expect("a link");
        fs::write(path.join("theirs"), "x").expect("written");
        fs::hard_link(path.join("theirs"), parent.path().join("theirs")).expect("a link");
        let mut kept = remove(&path).expect("looked at").kept;
        kept.sort();
        let whys: Vec<&str> = kept.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(whys, [LINKED, FOREIGN]);
    }

    #[test]
    fn what_others_put_inside_stays() {
        let parent = tempfile::tempdir().expect("a directory");
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).expect("directory");
        fs::write(outside.join("precious"), "x").expect("file");
        let path = made(parent.path(), "assay-run");
        own_file(&path.join("data0.bin"), b"12345");
        own_file(&path.join("data1.bin"), b"12345");
        // A copy over the name, with all its attributes, is another file.
        fs::write(path.join("copy"), "own data").expect("file");
        fs::rename(path.join("copy"), path.join("data1.bin")).expect("renamed");
        own_file(&path.join("data2.bin"), b"12345");
        fs::write(path.join("data2.bin"), "mine now").expect("written");
        fs::create_dir(path.join("home")).expect("directory");
        fs::write(path.join("home/mine"), "precious").expect("file");
        symlink(&outside, path.join("link")).expect("link");
        let report = remove(&path).expect("cleaned up");
        assert!(!report.removed && report.files == 1, "{report:?}");
        let kept: Vec<_> = report.kept.iter().map(|(path, _)| path.file_name().expect("name")).collect();
        assert_eq!(kept.len(), 4, "{kept:?}");
        assert_eq!(fs::read(path.join("data2.bin")).expect("there"), b"mine now");
        assert_eq!(fs::read(path.join("home/mine")).expect("there"), b"precious");
        assert_eq!(fs::read(path.join("data1.bin")).expect("there"), b"own data");
        assert!(outside.join("precious").exists() && path.join("link").is_symlink());
        assert!(is_assay_dir(&path), "it can be cleaned up again");
    }

    #[test]
    fn a_tree_goes_by_its_layout() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("anchor");
        let work = WorkDir::create(&path, "1", "tree").expect("made");
        let shape =
            TreeWorkload { width: 2, depth: 2, files: 3, sizes: vec![(10, 1.0)], ..TreeWorkload::default() };
        drop(work.plan_tree(&shape).expect("noted"));
        let working = work.plan_tree(&shape).expect("noted once");
        let ledger = fs::read_to_string(path.join(LEDGER_FILE)).expect("a ledger");
        assert_eq!(ledger.matches("tree").count(), 1, "{ledger}");
        let leaf = path.join("vdb.1_2.dir/vdb.2_1.dir");
        fs::create_dir_all(&leaf).expect("directories");
        for file in ["vdb_f0006.file", "vdb_f0007.file"] {
            fs::write(leaf.join(file), "0123456789").expect("file");
        }
        drop((working, work));
        fs::write(leaf.join("vdb_f0005.file"), "precious").expect("of such a name");
        for foreign in ["vdb_f0001.file", "mine"] {
            fs::write(leaf.join(foreign), "precious").expect("file");
        }
        fs::create_dir(path.join("vdb.1_3.dir")).expect("directory");
        let report = remove(&path).expect("cleaned up");
        assert_eq!((report.files, report.directories, report.kept.len()), (2, 0, 4), "{report:?}");
        assert_eq!(fs::read(leaf.join("vdb_f0005.file")).expect("there"), b"precious");
        fs::remove_file(leaf.join("vdb_f0005.file")).expect("removed");
        assert_eq!(fs::read(leaf.join("mine")).expect("there"), b"precious");
        for foreign in [leaf.join("vdb_f0001.file"), leaf.join("mine")] {
            fs::remove_file(foreign).expect("removed");
        }
        fs::remove_dir(path.join("vdb.1_3.dir")).expect("removed");
        assert!(remove(&path).expect("removed").removed);
    }

    #[test]
    fn a_copy_of_a_directory_of_ours_stays() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = made(parent.path(), "assay-run");
        own_file(&path.join("data0.bin"), b"12345");
        let copy = parent.path().join("tcopy");
        let cp = std::process::Command::new("cp").arg("-a").arg(&path).arg(&copy).status();
        assert!(cp.expect("cp").success());
        assert!(matches!(remove(&copy), Err(CleanupError::Doubtful { .. })));
        assert_eq!(fs::read(copy.join("data0.bin")).expect("there"), b"12345");
        assert!(remove(&path).expect("removed").removed);
    }

    #[test]
    fn root_believes_only_what_nobody_else_can_write() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = made(parent.path(), "assay-run");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("changed");
        let root = rustix::process::geteuid().is_root();
        match remove(&path) {
            Err(CleanupError::NotRoots { .. }) => assert!(root && is_assay_dir(&path)),
            other => assert!(!root, "{other:?}"),
        }
        if root {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("changed");
            std::os::unix::fs::chown(&path, Some(65534), None).expect("given away");
            assert!(matches!(remove(&path), Err(CleanupError::NotRoots { owner: 65534, .. })));
        }
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
