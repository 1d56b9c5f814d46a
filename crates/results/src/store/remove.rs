//! Removing a run, and nothing else.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatxFlags};
use rustix::io::Errno;
use serde::Deserialize;

use super::directory::{choose, directories, has_name_of_a_run, lock};
use super::{
    DATA_JOURNAL_DRAFT, DATA_JOURNAL_FILE, DATA_JOURNAL_MAGIC, HeldDirectory, JOURNAL_FILE, PAGE_FILE,
    PLAN_FILE, RUN_FILE, RunDir, SERIES_FILE, StoreError, TAGS_FILE,
};
use crate::series::MAGIC;

/// What a run directory consists of, in the order of removal: what makes it a run goes last, so that a removal that was
/// interrupted can be repeated.
const FILES: [&str; 8] = [
    PAGE_FILE,
    TAGS_FILE,
    PLAN_FILE,
    SERIES_FILE,
    DATA_JOURNAL_DRAFT,
    DATA_JOURNAL_FILE,
    RUN_FILE,
    JOURNAL_FILE,
];

/// A run is not removed by fewer characters of its name.
const NAME_CHARS_MIN: usize = 4;

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
/// the beginning of one, `last`, or by a path that leads to it. Only files of a run go ([`super::PLAN_FILE`] and the others),
/// and only where their content says so; `is_page` says it of the page. What else is in its directory is kept and told.
///
/// # Errors
/// When there is no such run, or several; when it is a link, not a run or still going; when the system refuses.
pub fn rm(
    root: &Path,
    wanted: &str,
    is_page: &dyn Fn(&HeldDirectory, &OsStr) -> bool,
) -> Result<Removal, StoreError> {
    let name = name_in(root, wanted)?;
    let path = root.join(&name);
    let not_a_run = || StoreError::NotARunOf { wanted: path.clone(), root: root.to_owned() };
    let above = HeldDirectory::open(root).map_err(StoreError::io("open", root))?;
    let directory = match above.open_child(&name) {
        Ok(directory) => directory,
        Err(_) if kind_of(&above, &name) == Ok(FileType::Symlink) => return Err(StoreError::Link(path)),
        Err(error) => return Err(StoreError::io("remove", &path)(error)),
    };
    if place_of(&directory) != place_of(&above) {
        let mounted = io::Error::other("another file system is mounted there; umount it first");
        return Err(StoreError::io("remove", &path)(mounted));
    }
    let regular = |file: &str| kind_of(&directory, OsStr::new(file)) == Ok(FileType::RegularFile);
    let of_a_run = |file: &str| match file {
        PAGE_FILE => is_page(&directory, OsStr::new(file)),
        _ => is_of_a_run(&directory, file),
    };
    let has = |file: &str| regular(file) && of_a_run(file);
    if !has_name_of_a_run(&name) || !(has(RUN_FILE) || has(JOURNAL_FILE)) {
        return Err(not_a_run());
    }
    let _locked = lock(&directory, &path)?;
    let mut removal = Removal { path: path.clone(), ..Removal::default() };
    let names = names_in(&directory).map_err(StoreError::io("read", &path))?;
    let of_workers = names.iter().filter_map(|name| name.to_str()).filter(|name| is_of_a_worker(name));
    for file in of_workers.chain(FILES).filter(|file| regular(file)) {
        let why = if !of_a_run(file) {
            "not as Assay wrote it".to_owned()
        } else if let Err(error) = rustix::fs::unlinkat(&directory, file, AtFlags::empty()) {
            io::Error::from(error).to_string()
        } else {
            continue;
        };
        removal.kept.push((path.join(file), why));
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

/// The file system a directory is on, and the mount by which it was reached: a bind mount has the same file system.
fn place_of(directory: &HeldDirectory) -> Option<(u32, u32, u64)> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    let mount = if stat.stx_mask & StatxFlags::MNT_ID.bits() != 0 { stat.stx_mnt_id } else { 0 };
    Some((stat.stx_dev_major, stat.stx_dev_minor, mount))
}

/// Whether a name is that of a worker's journal of validated writes: [`super::data_journal_of`], or its draft.
fn is_of_a_worker(file: &str) -> bool {
    let number = file.strip_prefix(DATA_JOURNAL_FILE).and_then(|rest| rest.strip_prefix('.'));
    let number = number.map(|number| number.strip_suffix(".new").unwrap_or(number));
    number.is_some_and(|number| number.parse::<u16>().is_ok())
}

/// Whether a regular file says that it is what its name in a run directory says.
fn is_of_a_run(directory: &HeldDirectory, file: &str) -> bool {
    #[derive(Deserialize)]
    struct Schema {
        schema: String,
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::openat(directory, file, flags, Mode::empty()) else { return false };
    let mut opened = File::from(opened);
    let mut begins = |with: &[u8]| {
        let mut head = vec![0; with.len()];
        match opened.read_exact(&mut head) {
            Ok(()) => head == with,
            // A recorder that could not write, or was killed at once, leaves an empty file.
            Err(_) => opened.metadata().is_ok_and(|meta| meta.len() == 0),
        }
    };
    let schema = match file {
        SERIES_FILE => return begins(&MAGIC),
        DATA_JOURNAL_FILE | DATA_JOURNAL_DRAFT => return begins(&DATA_JOURNAL_MAGIC),
        file if is_of_a_worker(file) => return begins(&DATA_JOURNAL_MAGIC),
        // Of whatever version.
        JOURNAL_FILE => return begins(b"{\"journal\":\"assay.journal/"),
        RUN_FILE => "assay.run/",
        TAGS_FILE => "assay.tags/",
        _ => "assay.plan/",
    };
    let found = serde_json::from_reader::<_, Schema>(io::BufReader::new(opened));
    found.is_ok_and(|found| found.schema.starts_with(schema))
}

/// The name in `root` that `wanted` means.
fn name_in(root: &Path, wanted: &str) -> Result<OsString, StoreError> {
    let path = Path::new(wanted);
    let foreign = || StoreError::NotARunOf { wanted: path.to_owned(), root: root.to_owned() };
    if !wanted.contains('/') {
        let dirs = directories(root)?.into_iter();
        let exact = |dir: &RunDir| dir.id() == wanted || dir.name() == wanted;
        let dirs: Vec<RunDir> = dirs.filter(|dir| has_name_of_a_run(OsStr::new(dir.name()))).collect();
        let short = !wanted.is_empty() && wanted.chars().count() < NAME_CHARS_MIN;
        if short
            && dirs.iter().any(|dir| dir.id().starts_with(wanted) || dir.name().starts_with(wanted))
            && !dirs.iter().any(exact)
        {
            return Err(StoreError::TooShort(wanted.to_owned()));
        }
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
