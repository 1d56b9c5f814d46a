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
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, StatxFlags};
use rustix::io::Errno;

use crate::HostRoot;
use crate::claim::{is_claimed, locked_by_another};
use crate::guard::find_signatures;
use crate::node::NodeLocation;
use crate::workdir::{
    Doubt, LEDGER_FILE, Ledger, MARKER_FILE, Ownership, Standing, TAG_FILE, Windows, is_claimed_directory,
    ownership_in, ownership_of, standing, standing_of,
};

/// Depth at which a tree is given up: each level holds an open file.
const MAX_DEPTH: usize = 200;

/// Why something in a directory of ours stays.
const FOREIGN: &str = "Assay did not make it";
const IN_USE: &str = "a running Assay uses it; stop it or wait for its end";
const LINKED: &str = "it has another name (hard link); remove it yourself if you do not need it";
const NOT_OWN: &str = "it belongs to another user, or others can write to it or to its directory; remove it yourself if you do not need it";
const CHANGED: &str = "Assay made it, and it was changed since, or the run that wrote it was killed; remove it yourself if you do not need it";
const CHANGED_BY_A_JOB: &str = "Assay made it, and it was changed since, or the run that wrote it was killed; --destroy-data with its path removes it";

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

impl CleanupReport {
    fn count(&mut self, removed: &Stat) {
        if FileType::from_raw_mode(removed.st_mode) == FileType::Directory {
            self.directories += 1;
            return;
        }
        self.files += 1;
        self.bytes += u64::try_from(removed.st_size).unwrap_or(0);
        self.allocated_bytes += u64::try_from(removed.st_blocks).unwrap_or(0) * 512;
    }
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
    #[error("kept {path}: {doubt}; remove it yourself if you do not need it")]
    Doubtful {
        /// The path asked for.
        path: PathBuf,
        /// Why not.
        doubt: Doubt,
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

impl CleanupError {
    /// What stays.
    pub fn path(&self) -> &Path {
        match self {
            CleanupError::NotOurs { path }
            | CleanupError::Doubtful { path, .. }
            | CleanupError::InUse { path }
            | CleanupError::Io { path, .. } => path,
        }
    }
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

/// Removes what Assay made at `place`: in directories of ours there ([`find`]), and files that jobs left directly in it; or the file
/// that `place` is. One report for each directory, and one for the files. `named`: files that jobs left, which go although they are not
/// as Assay left them.
///
/// # Errors
/// What looking at `place`, or at what is named, says.
pub fn at(place: &Path, named: &[PathBuf]) -> io::Result<Vec<Result<CleanupReport, CleanupError>>> {
    let named = named.iter().map(fs::canonicalize).collect::<io::Result<Vec<PathBuf>>>()?;
    let canonical = fs::canonicalize(place)?;
    if !canonical.is_dir() {
        let (above, name) = directory_and_name(&canonical)?;
        let mut report = CleanupReport { path: canonical.clone(), ..CleanupReport::default() };
        match left_file(above.as_fd(), &name, &canonical, &named) {
            Some(Ok(stat)) => report.count(&stat),
            Some(Err(error)) => report.kept.push((canonical, error.to_string())),
            None => report.kept.push((canonical, FOREIGN.to_owned())),
        }
        report.removed = report.kept.is_empty();
        return Ok(vec![Ok(report)]);
    }
    let found = find(&canonical)?;
    let ours = found.first() == Some(&canonical);
    let mut reports: Vec<_> = found.iter().map(|directory| remove(directory)).collect();
    if !ours {
        let left = left_by_jobs(&canonical, &named)?;
        let something = left.files + left.directories > 0 || !left.kept.is_empty();
        reports.extend(something.then_some(Ok(left)));
    }
    Ok(reports)
}

/// Removes a file that a run of this process made and has claimed, if nobody changed it since; or a directory that a job made, if
/// nothing is in it.
///
/// # Errors
/// Why it stays.
pub fn take_back(path: &Path) -> io::Result<()> {
    let (above, name) = directory_and_name(path)?;
    let file = open_file(above.as_fd(), &name)?;
    if is_claimed_directory(&file) {
        return Ok(rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR)?);
    }
    match ownership_of(&file, path)? {
        Ownership::Ours => unlink(above.as_fd(), &name, &file),
        _ => Err(io::Error::other(FOREIGN)),
    }
}

fn directory_and_name(path: &Path) -> io::Result<(OwnedFd, CString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((rustix::fs::open(above, directory_flags(), Mode::empty())?, CString::new(name.as_bytes())?))
}

/// Removes one file that is none of a directory's, if it says of itself that Assay made it and nothing uses it. `None`: it does
/// not say so.
fn left_file(
    above: BorrowedFd<'_>,
    name: &CString,
    path: &Path,
    named: &[PathBuf],
) -> Option<io::Result<Stat>> {
    let stat = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return left_directory(above, name, stat),
        _ => return None,
    }
    let file = open_file(above, name).ok()?;
    let known = ownership_of(&file, path).ok().filter(|known| *known != Ownership::Foreign)?;
    let removed = || {
        match removable(&file, known).and_then(|()| without_signature(&file)) {
            Err(error) if matches!(known, Ownership::Ours | Ownership::Changed) && !is_claimed(&file) => {
                if !named.iter().any(|named| named == path) {
                    let changed = known == Ownership::Changed;
                    return Err(if changed { io::Error::other(CHANGED_BY_A_JOB) } else { error });
                }
            }
            other => other?,
        }
        if not_of_this_user(&file, above)? {
            return Err(io::Error::other(NOT_OWN));
        }
        unlink(above, name, &file)?;
        Ok(stat)
    };
    Some(removed())
}

/// The same of a directory that a job made (fio's `dircreate`): it goes if nothing is in it.
fn left_directory(above: BorrowedFd<'_>, name: &CString, stat: Stat) -> Option<io::Result<Stat>> {
    let directory = open_file(above, name).ok().filter(is_claimed_directory)?;
    let removed = || {
        if not_of_this_user(&directory, above)? {
            return Err(io::Error::other(NOT_OWN));
        }
        rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR)?;
        Ok(stat)
    };
    Some(removed())
}

/// Removes the files directly in a directory that is none of ours which say of themselves that Assay made them: what jobs left
/// there. Others are not looked at.
fn left_by_jobs(place: &Path, named: &[PathBuf]) -> io::Result<CleanupReport> {
    let mut report = CleanupReport { path: place.to_owned(), ..CleanupReport::default() };
    let directory = rustix::fs::open(place, directory_flags(), Mode::empty())?;
    for name in names_in(directory.as_fd())? {
        let path = place.join(OsStr::from_bytes(name.as_bytes()));
        match left_file(directory.as_fd(), &name, &path, named) {
            None => {}
            Some(Ok(stat)) => report.count(&stat),
            Some(Err(error)) => report.kept.push((path, error.to_string())),
        }
    }
    Ok(report)
}

/// Whether another user can have made or marked a file, or can exchange it: in a directory of ours its tags speak for it, elsewhere
/// only its owner does.
fn not_of_this_user(file: &File, above: BorrowedFd<'_>) -> io::Result<bool> {
    let user = rustix::process::geteuid().as_raw();
    let (file, above) = (rustix::fs::fstat(file)?, rustix::fs::fstat(above)?);
    let sticky = above.st_mode & 0o1000 != 0;
    let exchanged = user == 0 && !sticky && (above.st_uid != 0 || above.st_mode & 0o022 != 0);
    Ok(file.st_uid != user || file.st_mode & 0o002 != 0 || exchanged)
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
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let marker = rustix::fs::openat(&directory, MARKER_FILE, flags, Mode::empty()).map_err(io_error)?;
        // Other errors mean a file system without locks, which cannot tell.
        if rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(CleanupError::InUse { path: path() });
        }
        Ok(Held { directory, _marker: marker })
    }
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
        if ledger.is_anothers() {
            let error = io::Error::other("it is not as Assay wrote it, so nothing that it says is believed");
            self.keep(path.join(LEDGER_FILE), &error);
        }
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
            FileType::RegularFile if expected.is_tree_file(above, name) => {
                rustix::fs::unlinkat(above, name, AtFlags::empty())?;
            }
            FileType::RegularFile => {
                let file = open_file(above, name)?;
                let known =
                    ownership_in(&file, Path::new(OsStr::from_bytes(name.as_bytes())), expected.ledger)?;
                removable(&file, known)?;
                unlink(above, name, &file)?;
            }
            _ => return Err(io::Error::other(FOREIGN)),
        }
        self.report.count(&stat);
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

fn open_file(above: BorrowedFd<'_>, name: &CString) -> io::Result<File> {
    // Should a pipe have taken the name by now, it is not waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(above, name, flags, Mode::empty())?.into())
}

/// Refuses what stays: all but files of ours that nothing uses.
fn removable(file: &File, known: Ownership) -> io::Result<()> {
    if let Ownership::Ours | Ownership::Changed = known
        && let Some(by) = locked_by_another(&HostRoot::real(), file)
    {
        return Err(io::Error::other(format!("it is {by}; stop it or wait for its end")));
    }
    let why = match known {
        Ownership::Foreign => FOREIGN,
        Ownership::Linked => LINKED,
        // One that is being written is not as it was left.
        Ownership::Ours | Ownership::Changed if is_claimed(file) => IN_USE,
        Ownership::Changed => CHANGED,
        Ownership::Ours => return Ok(()),
    };
    Err(io::Error::other(why))
}

/// Refuses a file of ours in which another program made a file system or the like, and whose time of change was set back (`touch -r`). The time of its inode cannot
/// be set: where it is not of the last write, the content is looked at. Not in directories of ours, where databases are Assay's.
fn without_signature(file: &File) -> io::Result<()> {
    const SEALED_WITHIN_S: i64 = 1;
    let stat = rustix::fs::fstat(file)?;
    if stat.st_ctime.saturating_sub(stat.st_mtime) <= SEALED_WITHIN_S {
        return Ok(());
    }
    let found = find_signatures(file, u64::try_from(stat.st_size).unwrap_or(0))?;
    match found.first() {
        None => Ok(()),
        Some(signature) => Err(io::Error::other(format!(
            "Assay made it, and it carries a signature of {} now; remove it yourself if you do not need it",
            signature.name
        ))),
    }
}

/// Removes an open file by its name. It first gets a name that nothing else looks for: what took the old one since it was opened
/// gets it back.
fn unlink(above: BorrowedFd<'_>, name: &CString, file: &File) -> io::Result<()> {
    let wanted = rustix::fs::fstat(file)?;
    let aside = format!(".assay-removed.{}.{}", std::process::id(), wanted.st_ino);
    let aside = CString::new(aside).map_err(io::Error::other)?;
    let rename = |from: &CString, to: &CString| {
        rustix::fs::renameat_with(above, from, above, to, RenameFlags::NOREPLACE)
    };
    match rename(name, &aside) {
        Ok(()) => {}
        // NFS and some FUSE servers cannot do it.
        Err(Errno::INVAL | Errno::NOSYS) => {
            return Ok(rustix::fs::unlinkat(above, name, AtFlags::empty())?);
        }
        Err(error) => return Err(error.into()),
    }
    let now = rustix::fs::statat(above, &aside, AtFlags::SYMLINK_NOFOLLOW)?;
    if (now.st_dev, now.st_ino) == (wanted.st_dev, wanted.st_ino) {
        return Ok(rustix::fs::unlinkat(above, &aside, AtFlags::empty())?);
    }
    rename(&aside, name)?;
    Err(io::Error::other("something else took its name meanwhile"))
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
    fn a_file_that_something_was_made_of_is_kept_whatever_its_time() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path();
        let before = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for name in ["own", "theirs"] {
            let file = File::create_new(path.join(name)).expect("file");
            file.set_len(1 << 20).and_then(|()| file.set_modified(before)).expect("made");
            claim_file(&file, &path.join(name)).expect("claimed");
        }
        let theirs = File::options().write(true).open(path.join("theirs")).expect("open");
        std::os::unix::fs::FileExt::write_all_at(&theirs, b"XFSB", 0).expect("written");
        theirs.set_modified(before).expect("set back");
        let report = at(path, &[]).expect("looked at").remove(0).expect("a report");
        assert_eq!(report.files, 1, "{report:?}");
        let [(kept, why)] = &report.kept[..] else { panic!("{report:?}") };
        assert!(kept.ends_with("theirs") && why.contains("carries a signature of xfs now"), "{why}");
        let named = at(path, &[path.join("theirs")]).expect("looked at").remove(0).expect("a report");
        assert_eq!((named.files, named.kept.len()), (1, 0), "{named:?}");
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
            Err(CleanupError::Doubtful { doubt: Doubt::NotRoots { .. }, .. }) => {
                assert!(root && !is_assay_dir(&path))
            }
            other => assert!(!root, "{other:?}"),
        }
        if root {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("changed");
            std::os::unix::fs::chown(&path, Some(65534), None).expect("given away");
            let doubt = Doubt::NotRoots { owner: 65534, mode: 0o755 };
            assert!(
                matches!(remove(&path), Err(CleanupError::Doubtful { doubt: said, .. }) if said == doubt)
            );
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
