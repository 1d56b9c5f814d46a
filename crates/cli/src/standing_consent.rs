//! Consent that holds for a whole script: `ASSAY_CONSENT`, and the file `.assay-consent` of the directory it is run in.
//!
//! Each entry names one device or file, as `--destroy-data` does. `--really` is never part of it: what a device carries is
//! given up on a command line only.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::failure::Failure;

/// Names of targets, separated by colons or line ends.
pub(crate) const VARIABLE: &str = "ASSAY_CONSENT";
/// A name a line; `#` begins a comment.
pub(crate) const FILE: &str = ".assay-consent";
/// A longer file is no list of names.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// The targets that the environment and the file in `directory` name.
///
/// # Errors
/// An entry that names no single target, or a file that others may have written.
pub(crate) fn targets(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    if let Some(value) = std::env::var_os(VARIABLE) {
        let value = value.into_string().map_err(|_| Failure::usage(format!("{VARIABLE} is not UTF-8")))?;
        for entry in value.split([':', '\n']).map(str::trim).filter(|entry| !entry.is_empty()) {
            if !Path::new(entry).is_absolute() {
                let message = format!("{VARIABLE}: '{entry}' is not absolute; the whole path names a target");
                return Err(Failure::usage(message));
            }
            all.push(named(entry, VARIABLE)?);
        }
    }
    if let Some(text) = file_of(&directory.join(FILE))? {
        for (number, line) in (1..).zip(text.lines()) {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if !entry.is_empty() {
                all.push(directory.join(named(entry, &format!("{FILE}:{number}"))?));
            }
        }
    }
    Ok(all)
}

/// One target, by its own name.
fn named(entry: &str, place: &str) -> Result<PathBuf, Failure> {
    if entry.contains(['*', '?', '[', '{']) {
        let message = format!("{place}: '{entry}' is a pattern; consent names each target");
        return Err(Failure::usage(message));
    }
    let path = PathBuf::from(entry);
    if path.is_dir() {
        let message =
            format!("{place}: {entry} is a directory; consent names a device or a file, not what is in it");
        return Err(Failure::usage(message));
    }
    Ok(path)
}

/// The text of the file, if there is one that only its user can have written.
fn file_of(path: &Path) -> Result<Option<String>, Failure> {
    let shown = path.display();
    // A link may lead to a file that was written for another directory.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()).map_err(std::io::Error::from) {
        Ok(descriptor) => File::from(descriptor),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(Failure::usage(format!("{shown} is a link; consent is a file of its directory")));
        }
        Err(error) => return Err(Failure::usage(format!("{shown}: {error}"))),
    };
    let meta = file.metadata().map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if !meta.is_file() || meta.nlink() != 1 {
        return Err(Failure::usage(format!("{shown} is not a file of one name")));
    }
    if ![0, rustix::process::geteuid().as_raw()].contains(&meta.uid()) || meta.mode() & 0o022 != 0 {
        let message = format!("{shown}: other users may have written it (owner: you, mode 0644 or less)");
        return Err(Failure::usage(message));
    }
    let mut text = String::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::usage(format!("{shown} is larger than 64 KiB; that is no list of names")));
    }
    Ok(Some(text))
}
