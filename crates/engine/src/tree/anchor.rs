//! The directory a tree stands in, and system calls below it.
//!
//! Everything is done relative to the open anchor. Paths are resolved by the kernel without following a symbolic link or
//! leaving the anchor or its mount (openat2, Linux 5.6); where that call is unavailable, directory by directory. So
//! nothing outside is touched, whatever happens to the tree meanwhile.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assay_host::workdir::{TreeWork, WorkDir, is_assay_dir};
use assay_workload::tree::{TreeLayout, TreeWorkload};
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, Statx, Timestamps};
use rustix::io::Errno;

use crate::seam::EngineError;
use crate::targets::target_error;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);

const DIRECTORY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How often a resolution that something else disturbed is begun again.
const RESOLVE_TRIES: u32 = 16;

/// Why a directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum AnchorError {
    /// It exists, and nobody allowed it.
    #[error(
        "{0} was not made by Assay: name a directory that does not exist yet, or allow what is in this one to be \
         destroyed with --destroy-data {0}"
    )]
    Foreign(PathBuf),
    /// It exists, and no consent makes it a place for databases.
    #[error(
        "{0} was not made by Assay: databases go into a directory that does not exist yet, or that Assay made"
    )]
    NotForDatabases(PathBuf),
    /// It is a link or a file.
    #[error("{0} is not a directory")]
    NotADirectory(PathBuf),
    /// The directory above it does not exist.
    #[error("{0} cannot be made: the directory above it does not exist")]
    NoParent(PathBuf),
    /// The system refused to look.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a tree may stand in.
#[derive(Debug, PartialEq, Eq)]
enum AnchorKind {
    /// A tagged directory.
    Ours,
    /// It does not exist: it will be made and tagged.
    New,
    /// Made by another program, and named in a consent.
    Named,
}

/// Directories that may be used although Assay did not make them: those that had the names when they were named, whatever has
/// them later.
#[derive(Debug, Clone, Default)]
pub struct NamedDirectories(Vec<(u64, u64)>);

impl NamedDirectories {
    /// What stands at these paths now.
    pub fn at<P: AsRef<Path>>(paths: &[P]) -> Self {
        let found = paths.iter().filter_map(|path| fs::metadata(path).ok());
        NamedDirectories(found.map(|meta| (meta.dev(), meta.ino())).collect())
    }

    fn cover(&self, meta: &fs::Metadata) -> bool {
        self.0.contains(&(meta.dev(), meta.ino()))
    }
}

fn place(path: &Path, named: &NamedDirectories) -> Result<AnchorKind, AnchorError> {
    let io_error = |source| AnchorError::Io { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.parent().is_some_and(|parent| parent.as_os_str().is_empty() || parent.is_dir()) {
                Ok(AnchorKind::New)
            } else {
                Err(AnchorError::NoParent(path.to_owned()))
            }
        }
        Err(error) => Err(io_error(error)),
        Ok(_) if is_assay_dir(path) => Ok(AnchorKind::Ours),
        Ok(_) => {
            let meta = fs::metadata(path).map_err(io_error)?;
            if !meta.is_dir() {
                return Err(AnchorError::NotADirectory(path.to_owned()));
            }
            if named.cover(&meta) {
                return Ok(AnchorKind::Named);
            }
            Err(AnchorError::Foreign(path.to_owned()))
        }
    }
}

/// Whether a tree may be made and removed in `path`: a directory that is new, that Assay made, or that is one of `named`.
///
/// # Errors
/// [`AnchorError`], with what to do.
pub fn check_anchor(path: &Path, named: &NamedDirectories) -> Result<(), AnchorError> {
    place(path, named).map(|_| ())
}

/// An open anchor.
#[derive(Debug)]
pub(super) struct Anchor {
    path: PathBuf,
    directory: OwnedFd,
    /// Whether the kernel resolves paths for us.
    openat2: bool,
    /// Keeps `assay cleanup` away.
    ours: Option<WorkDir>,
    /// In a directory of ours whose foreign content was not allowed to be destroyed: tells what is of the tree.
    work: Option<TreeWork>,
    /// Everything with a name of the tree may go.
    named: bool,
}

impl Anchor {
    /// Opens the anchor; makes and tags it where it does not exist.
    pub(super) fn open(path: &Path, named: &NamedDirectories) -> Result<Self, EngineError> {
        let shown = path.display().to_string();
        let refused = |error: String| target_error(&shown, "use", io::Error::other(error));
        let tagged = match place(path, named).map_err(|error| refused(error.to_string()))? {
            AnchorKind::Ours | AnchorKind::New => Some(path),
            AnchorKind::Named => None,
        };
        let ours = tagged.map(|ours| WorkDir::create(ours, env!("CARGO_PKG_VERSION"), "tree"));
        let ours = ours.transpose().map_err(|error| refused(error.to_string()))?;
        let canonical = fs::canonicalize(path).map_err(|source| target_error(&shown, "open", source))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let failed = |source| target_error(&shown, "open", source);
        let directory =
            rustix::fs::open(&canonical, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let directory = fs::File::from(directory);
        let named = named.cover(&directory.metadata().map_err(failed)?);
        if !ours.as_ref().map_or(named, |ours| ours.is_at(directory.as_fd())) {
            return Err(refused("its name led to another directory while it was opened".to_owned()));
        }
        let openat2 = rustix::fs::openat2(&directory, c".", DIRECTORY, Mode::empty(), BENEATH).is_ok();
        Ok(Anchor { path: canonical, directory: directory.into(), openat2, ours, work: None, named })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Notes in a directory of ours that a tree of this shape stands there, so that its files are known.
    pub(super) fn plan(&mut self, shape: &TreeWorkload) -> Result<(), EngineError> {
        let planned = self.ours.as_ref().map(|ours| ours.plan_tree(shape)).transpose();
        let noted = |source| target_error(&self.path.display().to_string(), "note the tree of", source);
        self.work = planned.map_err(noted)?;
        Ok(())
    }

    /// Whether what has a name of the tree may be written over and removed: Assay made it and nobody changed it since, or
    /// the directory was named for destruction.
    pub(super) fn may_go(&self, stat: &Statx) -> bool {
        self.named || self.work.as_ref().is_some_and(|work| work.made(stat))
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// Opens what is at `place`; a new file has permissions `mode`.
    pub(super) fn open_at(&self, place: &PathText, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // openat2 refuses permissions where nothing is made.
        let mode = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
        if self.openat2 {
            return self.resolve(place.whole(), flags, mode);
        }
        rustix::fs::openat(self.parent(place)?.as_fd(), place.name(), flags, mode)
    }

    fn resolve(&self, path: &CStr, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        let mut tries = 0;
        loop {
            tries += 1;
            match rustix::fs::openat2(&self.directory, path, flags, mode, BENEATH) {
                Err(Errno::AGAIN | Errno::INTR) if tries < RESOLVE_TRIES => {}
                done => return done,
            }
        }
    }

    /// The directory that holds `place`.
    fn parent(&self, place: &PathText) -> rustix::io::Result<Parent<'_>> {
        let Some(path) = place.parent() else { return Ok(Parent::Anchor(self.directory.as_fd())) };
        if self.openat2 {
            return self.resolve(path, DIRECTORY, Mode::empty()).map(Parent::Below);
        }
        let mut above: Option<OwnedFd> = None;
        for part in path.to_bytes().split(|byte| *byte == b'/') {
            let from = above.as_ref().map_or(self.directory.as_fd(), AsFd::as_fd);
            above = Some(rustix::fs::openat(from, part, DIRECTORY, Mode::empty())?);
        }
        Ok(above.map_or(Parent::Anchor(self.directory.as_fd()), Parent::Below))
    }

    pub(super) fn mkdir(&self, place: &PathText) -> rustix::io::Result<()> {
        rustix::fs::mkdirat(self.parent(place)?.as_fd(), place.name(), Mode::from_raw_mode(0o755))
    }

    pub(super) fn rmdir(&self, place: &PathText) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(self.parent(place)?.as_fd(), place.name(), AtFlags::REMOVEDIR)
    }

    pub(super) fn unlink(&self, place: &PathText) -> rustix::io::Result<()> {
        rustix::fs::unlinkat(self.parent(place)?.as_fd(), place.name(), AtFlags::empty())
    }

    /// Reads attributes. Reading changes nothing, so the path is walked as any program walks it.
    pub(super) fn stat(&self, place: &PathText) -> rustix::io::Result<Stat> {
        rustix::fs::statat(&self.directory, place.whole(), AtFlags::SYMLINK_NOFOLLOW)
    }

    pub(super) fn access(&self, place: &PathText) -> rustix::io::Result<()> {
        let both = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
        rustix::fs::accessat(&self.directory, place.whole(), both, AtFlags::empty())
    }

    /// Sets both times to now.
    pub(super) fn touch(&self, place: &PathText) -> rustix::io::Result<()> {
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        let parent = self.parent(place)?;
        rustix::fs::utimensat(parent.as_fd(), place.name(), &times, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Renames `from` here to `to` in `target`.
    pub(super) fn rename(&self, from: &PathText, target: &Anchor, to: &PathText) -> rustix::io::Result<()> {
        let (old, new) = (self.parent(from)?, target.parent(to)?);
        rustix::fs::renameat(old.as_fd(), from.name(), new.as_fd(), to.name())
    }
}

enum Parent<'a> {
    Anchor(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl Parent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Parent::Anchor(directory) => *directory,
            Parent::Below(directory) => directory.as_fd(),
        }
    }
}

/// The path of a file or directory below its anchor, in buffers that are used again.
#[derive(Debug)]
pub(super) struct PathText {
    whole: Vec<u8>,
    parent: Vec<u8>,
    name_at: usize,
}

impl PathText {
    pub(super) fn new() -> Self {
        PathText { whole: Vec::with_capacity(4096), parent: Vec::with_capacity(4096), name_at: 0 }
    }

    pub(super) fn set_file(&mut self, layout: &TreeLayout, file: u64) -> &Self {
        self.whole.clear();
        layout.push_file_path(file, &mut self.whole);
        self.split()
    }

    pub(super) fn set_directory(&mut self, layout: &TreeLayout, directory: u64) -> &Self {
        self.whole.clear();
        layout.push_directory_path(directory, &mut self.whole);
        self.split()
    }

    fn split(&mut self) -> &Self {
        self.name_at = self.whole.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        self.parent.clear();
        self.parent.extend_from_slice(&self.whole[..self.name_at.saturating_sub(1)]);
        self.whole.push(0);
        self.parent.push(0);
        self
    }

    fn whole(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.whole).unwrap_or_default()
    }

    fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.whole[self.name_at..]).unwrap_or_default()
    }

    fn parent(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.parent).ok().filter(|path| !path.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use assay_workload::tree::TreeWorkload;

    use super::*;

    fn layout() -> TreeLayout {
        let tree =
            TreeWorkload { width: 1, depth: 2, files: 2, sizes: vec![(1, 1.0)], ..TreeWorkload::default() };
        TreeLayout::new(&tree).unwrap()
    }

    #[test]
    fn foreign_directories_need_to_be_named() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("theirs");
        let none = NamedDirectories::default();
        fs::create_dir(&path).unwrap();
        assert!(matches!(check_anchor(&path, &none), Err(AnchorError::Foreign(_))));
        assert!(matches!(
            check_anchor(&path, &NamedDirectories::at(&[parent.path()])),
            Err(AnchorError::Foreign(_))
        ));
        let named = NamedDirectories::at(&[&path]);
        check_anchor(&path, &named).unwrap();
        let anchor = Anchor::open(&path, &named).unwrap();
        assert!(!is_assay_dir(anchor.path()), "it stays theirs");
        let error = Anchor::open(&path, &NamedDirectories::default()).unwrap_err().to_string();
        assert!(error.contains("--destroy-data"), "{error}");
        fs::write(parent.path().join("file"), "x").unwrap();
        assert!(matches!(
            check_anchor(&parent.path().join("file"), &none),
            Err(AnchorError::NotADirectory(_))
        ));
        assert!(matches!(check_anchor(&parent.path().join("a/b"), &none), Err(AnchorError::NoParent(_))));
    }

    #[test]
    fn another_directory_of_the_name_is_not_the_one_that_was_named() {
        let parent = tempfile::tempdir().unwrap();
        let (path, precious) = (parent.path().join("named"), parent.path().join("precious"));
        fs::create_dir(&path).unwrap();
        fs::create_dir(&precious).unwrap();
        let named = NamedDirectories::at(&[&path]);
        fs::rename(&path, parent.path().join("away")).unwrap();
        symlink(&precious, &path).unwrap();
        assert!(Anchor::open(&path, &named).is_err());
        fs::remove_file(&path).unwrap();
        fs::rename(&precious, &path).unwrap();
        assert!(Anchor::open(&path, &named).is_err());
    }

    #[test]
    fn new_anchors_are_tagged_and_ours_again() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("new");
        drop(Anchor::open(&path, &NamedDirectories::default()).unwrap());
        assert!(is_assay_dir(&path));
        drop(Anchor::open(&path, &NamedDirectories::default()).unwrap());
        fs::create_dir(path.join("inner")).unwrap();
        assert!(
            Anchor::open(&path.join("inner"), &NamedDirectories::default()).is_err(),
            "another program made it"
        );
        symlink(parent.path(), path.join("link")).unwrap();
        assert!(Anchor::open(&path.join("link"), &NamedDirectories::default()).is_err());
    }

    /// Both ways of resolving a path stay below the anchor.
    #[test]
    fn links_are_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let outside = parent.path().join("outside");
        fs::create_dir_all(outside.join("vdb.2_1.dir")).unwrap();
        fs::write(outside.join("vdb.2_1.dir/vdb_f0000.file"), "precious").unwrap();
        let mut anchor = Anchor::open(&parent.path().join("a"), &NamedDirectories::default()).unwrap();
        symlink(&outside, anchor.path().join("vdb.1_1.dir")).unwrap();
        let mut text = PathText::new();
        for openat2 in [anchor.openat2, false] {
            anchor.openat2 = openat2;
            let file = text.set_file(&layout(), 0);
            assert!(anchor.open_at(file, OFlags::RDONLY, Mode::empty()).is_err());
            assert!(anchor.unlink(file).is_err() && anchor.touch(file).is_err());
            assert!(anchor.rename(file, &anchor, file).is_err());
            let new = text.set_file(&layout(), 1);
            assert!(anchor.open_at(new, OFlags::WRONLY | OFlags::CREATE, Mode::empty()).is_err());
            assert!(anchor.rmdir(text.set_directory(&layout(), 1)).is_err());
        }
        assert_eq!(fs::read(outside.join("vdb.2_1.dir/vdb_f0000.file")).unwrap(), b"precious");
    }

    #[test]
    fn both_ways_of_resolving_do_the_same() {
        let parent = tempfile::tempdir().unwrap();
        let mut anchor = Anchor::open(&parent.path().join("a"), &NamedDirectories::default()).unwrap();
        let (mut text, mut other) = (PathText::new(), PathText::new());
        for openat2 in [anchor.openat2, false] {
            anchor.openat2 = openat2;
            for directory in 0..2 {
                anchor.mkdir(text.set_directory(&layout(), directory)).unwrap();
            }
            let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mode = Mode::from_raw_mode(0o644);
            drop(anchor.open_at(text.set_file(&layout(), 0), new, mode).unwrap());
            anchor.rename(text.set_file(&layout(), 0), &anchor, other.set_file(&layout(), 1)).unwrap();
            assert_eq!(anchor.stat(other.set_file(&layout(), 1)).unwrap().st_size, 0);
            anchor.access(&other).unwrap();
            anchor.touch(&other).unwrap();
            anchor.unlink(&other).unwrap();
            for directory in [1, 0] {
                anchor.rmdir(text.set_directory(&layout(), directory)).unwrap();
            }
        }
    }
}
