//! Removing a run, and nothing else.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::directory::{choose, directories};
use super::{HeldDirectory, JOURNAL_FILE, PAGE_FILE, PLAN_FILE, RUN_FILE, RunDir, SERIES_FILE, StoreError};

/// What a run directory consists of, in the order of removal: what makes it a run goes last, so that a removal that was
/// interrupted can be repeated.
const FILES: [&str; 5] = [PAGE_FILE, PLAN_FILE, SERIES_FILE, RUN_FILE, JOURNAL_FILE];

/// What removing a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// The run's directory.
    pub path: PathBuf,
    /// Whether the directory is gone.
    pub removed: bool,
    /// What was left in it, and why.
    pub kept: Vec<(PathBuf, String)>,
}

/// Removes the run called `wanted`, which must be one of those directly in `root`: by its id, its directory's name or
/// the beginning of one, `last`, or by a path that leads to it. Only files of a run go ([`super::PLAN_FILE`] and the others);
/// what else is in its directory is kept and told.
///
/// # Errors
/// When there is no such run, or several; when it is a link or not a run; when the system refuses.
pub fn rm(root: &Path, wanted: &str) -> Result<Removal, StoreError> {
    let name = name_in(root, wanted)?;
    let path = root.join(&name);
    let not_a_run = || StoreError::NotARunOf { wanted: path.clone(), root: root.to_owned() };
    let above = HeldDirectory::open(root).map_err(StoreError::io("open", root))?;
    let directory = match above.open_child(&name) {
        Ok(directory) => directory,
        Err(_) if kind_of(&above, &name) == Ok(FileType::Symlink) => return Err(StoreError::Link(path)),
        Err(error) => return Err(StoreError::io("remove", &path)(error)),
    };
    let regular = |file: &str| kind_of(&directory, OsStr::new(file)) == Ok(FileType::RegularFile);
    if !has_name_of_a_run(&name) || !(regular(RUN_FILE) || regular(JOURNAL_FILE)) {
        return Err(not_a_run());
    }
    let mut removal = Removal { path: path.clone(), ..Removal::default() };
    for file in FILES.into_iter().filter(|file| regular(file)) {
        if let Err(error) = rustix::fs::unlinkat(&directory, file, AtFlags::empty()) {
            removal.kept.push((path.join(file), io::Error::from(error).to_string()));
        }
    }
    for name in names_in(&directory).map_err(StoreError::io("read", &path))? {
        let path = path.join(&name);
        if !removal.kept.iter().any(|(kept, _)| *kept == path) {
            removal.kept.push((path, "not a file of a run".to_owned()));
        }
    }
    if removal.kept.is_empty() {
        rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR)
            .map_err(|error| StoreError::io("remove", &path)(error.into()))?;
        removal.removed = true;
    }
    Ok(removal)
}

/// The name in `root` that `wanted` means.
fn name_in(root: &Path, wanted: &str) -> Result<OsString, StoreError> {
    let path = Path::new(wanted);
    let foreign = || StoreError::NotARunOf { wanted: path.to_owned(), root: root.to_owned() };
    if !wanted.contains('/') {
        let dirs = directories(root)?.into_iter();
        let dirs: Vec<RunDir> = dirs.filter(|dir| has_name_of_a_run(OsStr::new(dir.name()))).collect();
        return match choose(root, dirs, wanted) {
            Ok(dir) => Ok(dir.path().file_name().unwrap_or_default().to_owned()),
            // A name of something that is there deserves more than that nothing has it.
            Err(StoreError::NotFound { .. }) if path.exists() || root.join(path).exists() => Err(foreign()),
            Err(error) => Err(error),
        };
    }
    let name = path.file_name().ok_or_else(foreign)?;
    let identity =
        |directory: &HeldDirectory| rustix::fs::fstat(directory).map(|stat| (stat.st_dev, stat.st_ino));
    let above = HeldDirectory::open_above(path).map_err(|_| foreign())?;
    let root_directory = HeldDirectory::open(root).map_err(|_| foreign())?;
    match (identity(&above), identity(&root_directory)) {
        (Ok(above), Ok(root)) if above == root => Ok(name.to_owned()),
        _ => Err(foreign()),
    }
}

/// `<utc>-<name>-<id>`.
fn has_name_of_a_run(name: &OsStr) -> bool {
    name.as_bytes().split(|byte| *byte == b'-').count() == 3
}

fn kind_of(directory: &HeldDirectory, name: &OsStr) -> Result<FileType, Errno> {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .map(|stat| FileType::from_raw_mode(stat.st_mode))
}

fn names_in(directory: &HeldDirectory) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort();
    Ok(names)
}
