//! Consent that holds for a whole script: `ASSAY_CONSENT`, and the file `.assay-consent` of the directory it is run in.
//!
//! Each entry names one device or file, as `--destroy-data` does. `--really` is never part of it: what a device carries is
//! given up on a command line only.
//!
//! A file that came with a clone or out of an archive is consent that nobody gave here. So its first line says which directory it was
//! written for, by what no archive can know: the inode and the birth time that the file system gave it.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assay_host::workdir::Identity;
use assay_workload::Plan;
use rustix::fs::{Mode, OFlags};

use crate::context::Context;
use crate::failure::Failure;

/// Names of targets, separated by colons or line ends.
pub(crate) const VARIABLE: &str = "ASSAY_CONSENT";
/// A name a line; `#` begins a comment.
pub(crate) const FILE: &str = ".assay-consent";
/// What the first line of the file begins with.
const HEAD: &str = "assay.consent/1";
/// A longer file is no list of names.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A target that may be written over.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) path: PathBuf,
    /// The variable, or the file with the line.
    place: String,
}

/// The targets that the environment and the file in `directory` name.
///
/// # Errors
/// An entry that names no single target, a file that others may have written, or one that was not written for this directory.
pub(crate) fn targets(directory: &Path) -> Result<Vec<Standing>, Failure> {
    let mut all = Vec::new();
    if let Some(value) = std::env::var_os(VARIABLE) {
        let value = value.into_string().map_err(|_| Failure::usage(format!("{VARIABLE} is not UTF-8")))?;
        for entry in value.split([':', '\n']).map(str::trim).filter(|entry| !entry.is_empty()) {
            if !Path::new(entry).is_absolute() {
                let message = format!("{VARIABLE}: '{entry}' is not absolute; the whole path names a target");
                return Err(Failure::usage(message));
            }
            all.push(Standing { path: named(entry, VARIABLE)?, place: VARIABLE.to_owned() });
        }
    }
    if let Some(text) = file_of(&directory.join(FILE))? {
        all.extend(of_file(&text, directory)?);
    }
    Ok(all)
}

fn of_file(text: &str, directory: &Path) -> Result<Vec<Standing>, Failure> {
    let mut all = Vec::new();
    let is_head = |line: &str| line.starts_with(HEAD);
    for (number, line) in (1..).zip(text.lines()) {
        let entry = line.split('#').next().unwrap_or_default().trim();
        if entry.is_empty() || number == 1 && is_head(entry) {
            continue;
        }
        let place = format!("{FILE}:{number}");
        all.push(Standing { path: directory.join(named(entry, &place)?), place });
    }
    let expected = if all.is_empty() { String::new() } else { head(directory)? };
    if all.is_empty() || text.lines().next().map(str::trim_end) == Some(expected.as_str()) {
        return Ok(all);
    }
    Err(Failure::usage(format!(
        "{FILE} was not written for this directory; a clone or an archive may have brought it (if what it names may be \
         written over, make this its first line: {expected})"
    )))
}

/// The first line of a file that was written for this directory.
fn head(directory: &Path) -> Result<String, Failure> {
    let of = Identity::of_path(directory).map_err(|error| Failure::usage(format!("{FILE}: {error}")))?;
    // Without it an archive may happen to be unpacked into a directory with the inode that it names.
    let born_ns = of.born_ns.ok_or_else(|| {
        let message = format!("{FILE}: this file system keeps no birth times, which tell it from a copy");
        Failure::usage(format!("{message} (use {VARIABLE})"))
    })?;
    Ok(format!("{HEAD} inode={} born_ns={born_ns}", of.inode))
}

/// Says what consents to writing over a target of a plan.
pub(crate) fn say(standing: &[Standing], plan: &Plan, context: &Context) {
    let canonical = |path: &Path| context.host.canonicalize(path).ok();
    let named: Vec<_> = standing.iter().filter_map(|one| Some((canonical(&one.path)?, one))).collect();
    for (index, target) in plan.targets.iter().enumerate() {
        let Some(path) = canonical(target.path.as_ref()) else { continue };
        let Some((_, standing)) = named.iter().find(|(named, _)| *named == path) else { continue };
        if matches!(assay_runner::overwrites(plan, index, &context.host), Ok(Some(_))) {
            context.warn(&format!("{}: written over with the consent of {}", target.path, standing.place));
        }
    }
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
