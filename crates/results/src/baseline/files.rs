//! Baselines as files.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Baseline, SCHEMA, builtins};
use crate::store::{Layout, StoreError, write_json_atomically};

/// Characters of a name at most.
const NAME_CHARS_MAX: usize = 64;

/// Why a baseline could not be saved, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// A name that cannot be a file's.
    #[error(
        "'{0}' is not a name for a baseline: letters, digits, '.', '_' and '-', beginning with a letter or digit"
    )]
    BadName(String),
    /// A name that belongs to a built-in one.
    #[error("'{0}' is built in and can be neither replaced nor removed")]
    BuiltIn(String),
    /// A name that is taken.
    #[error("there is a baseline '{0}' already")]
    Exists(String),
    /// The name is that of a link, a pipe or a directory.
    #[error("{} is not a regular file; it is neither read nor replaced: remove it yourself", .0.display())]
    NotAFile(PathBuf),
    /// No baseline of that name.
    #[error("no baseline '{wanted}'; available: {}", known.join(", "))]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn path_of(dir: &Path, name: &str) -> Result<PathBuf, BaselineError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let good = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= NAME_CHARS_MAX
        && name.chars().all(fits);
    if good { Ok(dir.join(format!("{name}.json"))) } else { Err(BaselineError::BadName(name.to_owned())) }
}

fn built_in(name: &str) -> Option<Baseline> {
    builtins().into_iter().find(|baseline| baseline.name == name)
}

/// Saves a baseline under its name in `dir`, which is made where it is missing. One of that name is replaced only if
/// `replace` says so. Answers the path.
///
/// # Errors
/// For a name that is not one, is built in or is taken, or when writing fails.
pub fn save(dir: &Path, baseline: &Baseline, replace: bool) -> Result<PathBuf, BaselineError> {
    let path = path_of(dir, &baseline.name)?;
    if built_in(&baseline.name).is_some() {
        return Err(BaselineError::BuiltIn(baseline.name.clone()));
    }
    // A link that leads nowhere has the name, too.
    if let Ok(metadata) = fs::symlink_metadata(&path) {
        if !metadata.is_file() {
            return Err(BaselineError::NotAFile(path));
        }
        if !replace {
            return Err(BaselineError::Exists(baseline.name.clone()));
        }
    }
    fs::create_dir_all(dir).map_err(StoreError::io("create", dir))?;
    write_json_atomically(&path, baseline, Layout::Pretty)?;
    Ok(path)
}

/// The built-in baselines and those saved in `dir`, by name within each. Files that are no baselines are left out.
///
/// # Errors
/// When `dir` is there but cannot be read.
pub fn list(dir: &Path) -> Result<Vec<Baseline>, BaselineError> {
    let mut all = builtins();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
        Err(error) => return Err(StoreError::io("read", dir)(error).into()),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    all.extend(paths.iter().filter_map(|path| read(path).ok()));
    Ok(all)
}

/// The baseline of that name.
///
/// # Errors
/// When there is none, or its file cannot be read.
pub fn show(dir: &Path, name: &str) -> Result<Baseline, BaselineError> {
    if let Some(baseline) = built_in(name) {
        return Ok(baseline);
    }
    let path = path_of(dir, name)?;
    let Ok(metadata) = fs::symlink_metadata(&path) else {
        let known = list(dir)?.into_iter().map(|baseline| baseline.name).collect();
        return Err(BaselineError::NotFound { wanted: name.to_owned(), known });
    };
    if !metadata.is_file() {
        return Err(BaselineError::NotAFile(path));
    }
    Ok(read(&path)?)
}

/// Removes a saved baseline.
///
/// # Errors
/// When there is none of that name, it is built in, or the file cannot be removed.
pub fn rm(dir: &Path, name: &str) -> Result<(), BaselineError> {
    if built_in(name).is_some() {
        return Err(BaselineError::BuiltIn(name.to_owned()));
    }
    let path = path_of(dir, name)?;
    show(dir, name)?;
    fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
    Ok(())
}

/// A link is not followed, and a pipe not waited for.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let mut file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read(path: &Path) -> Result<Baseline, StoreError> {
    let bytes = read_regular(path).map_err(StoreError::io("read", path))?;
    let damaged = |reason: String| StoreError::Damaged { path: path.to_owned(), reason };
    let baseline: Baseline = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if baseline.schema != SCHEMA {
        return Err(damaged(format!("schema {} is not readable by this program", baseline.schema)));
    }
    Ok(baseline)
}
