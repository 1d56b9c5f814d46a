//! How Assay knows a file that it made.
//!
//! A mark proves the inode and what Assay left in it: size and time of the last change. While Assay writes, the mark says so
//! instead; it keeps saying so if Assay is killed. Nothing then tells what Assay wrote from what somebody put in its place later,
//! so such a file is ours only in a directory of ours.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Statx, XattrFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::identity::{Identity, wanted};
use super::ledger::{self, Ledger};
use crate::claim::is_claimed;

pub(super) const FILE_ATTRIBUTE: &str = "user.assay";

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Assay made it, and nobody else changed it.
    Ours,
    /// Assay made it, and somebody changed it since.
    Changed,
    /// Assay made it, and it has further names (hard links): one of them may be somebody's way to keep it.
    Linked,
    /// Nothing says that Assay made it.
    Foreign,
}

/// What Assay left in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seal {
    bytes: u64,
    modified_ns: i64,
}

impl From<&Statx> for Seal {
    fn from(stat: &Statx) -> Self {
        let (seconds, ns) = (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec);
        Seal {
            bytes: stat.stx_size,
            modified_ns: seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(ns)),
        }
    }
}

/// Marks an open file as made by Assay, with what is in it now. `Ok(false)` where the file system has no extended
/// attributes: then writing over the file later needs consent, unless [`claim_file`] could write it down.
///
/// # Errors
/// What fsetxattr(2) says otherwise.
pub fn mark_file(file: &File) -> io::Result<bool> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?;
    set_mark(file, &stat, Some(Seal::from(&stat)))
}

fn set_mark(file: &File, stat: &Statx, seal: Option<Seal>) -> io::Result<bool> {
    let value = file_mark(&Identity::from(stat), seal);
    match rustix::fs::fsetxattr(file, FILE_ATTRIBUTE, value.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Marks a file that was made or written at `path` just now, or writes it down in the ledger of the directory where that is
/// one of ours.
///
/// # Errors
/// What the system says; that there are no extended attributes outside our directories is no error.
pub fn claim_file(file: &File, path: &Path) -> io::Result<()> {
    claim(file, path, Sealed::AtMost(u64::MAX))
}

/// Whether a mark says what is in a file, which is ours up to a length, or that it is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sealed {
    AtMost(u64),
    Writing,
}

fn claim(file: &File, path: &Path, sealed: Sealed) -> io::Result<()> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?;
    let now = Seal::from(&stat);
    let seal = match sealed {
        Sealed::AtMost(bytes_max) => Some(Seal { bytes: now.bytes.min(bytes_max), ..now }),
        Sealed::Writing => None,
    };
    if set_mark(file, &stat, seal)? {
        return Ok(());
    }
    let (directory, Some(name)) = (above(path), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    if super::is_assay_dir(&fs::canonicalize(directory)?) {
        ledger::enter_file(directory, name, Identity::from(&stat), seal)?;
    }
    Ok(())
}

/// Marks an open directory as made by Assay. `Ok(false)` where the file system has no extended attributes.
///
/// # Errors
/// What fsetxattr(2) says otherwise.
pub fn claim_directory(directory: &File) -> io::Result<bool> {
    let stat = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, wanted())?;
    // What is in it has marks of its own.
    let value = mark_head(&Identity::from(&stat));
    match rustix::fs::fsetxattr(directory, FILE_ATTRIBUTE, value.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether Assay made an open directory, as its mark says.
pub(crate) fn is_claimed_directory(directory: &File) -> bool {
    let Ok(stat) = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, wanted()) else { return false };
    let is_directory = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory;
    is_directory && mark_of(directory) == mark_head(&Identity::from(&stat)).as_bytes()
}

/// Whether Assay made the directory at this path, as its mark says. A link to it is none.
pub fn is_own_directory(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    opened.is_ok_and(|directory| is_claimed_directory(&File::from(directory)))
}

/// A file of ours that is being written: its mark says so until this is dropped, then what was left in it.
#[derive(Debug)]
pub struct Writing {
    file: Arc<File>,
    path: PathBuf,
    /// How long the file may be when Assay is done; `None`: any length is its own.
    bytes_max: Option<u64>,
}

impl Writing {
    /// Before the first write. `None`: Assay did not make the file, or what it made was changed and `consent` does not cover
    /// that.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(file: Arc<File>, path: &Path, consent: bool) -> io::Result<Option<Self>> {
        match ownership_of(&file, path)? {
            Ownership::Ours => {}
            Ownership::Changed if consent => {}
            Ownership::Changed | Ownership::Linked | Ownership::Foreign => return Ok(None),
        }
        claim(&file, path, Sealed::Writing)?;
        Ok(Some(Writing { file, path: path.to_owned(), bytes_max: None }))
    }

    /// Assay writes nothing behind this many bytes: where the file is longer in the end than that and than it is now, something else wrote
    /// into it meanwhile, and it counts as changed since.
    pub fn up_to(&mut self, bytes: u64) {
        let now = self.file.metadata().map_or(0, |meta| meta.len());
        self.bytes_max = self.bytes_max.max(Some(bytes.max(now)));
    }

    /// Whether it is the same file, perhaps opened otherwise.
    pub fn is_of(&self, file: &File) -> bool {
        let identity = |file: &File| Identity::of_open(file.as_fd()).ok();
        identity(file).is_some() && identity(file) == identity(&self.file)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // Left unsealed, it counts as cut short by a kill.
        let _ = claim(&self.file, &self.path, Sealed::AtMost(self.bytes_max.unwrap_or(u64::MAX)));
    }
}

/// Whether a file of ours is still marked as being written. A run that holds the exclusive claim then knows that one was killed
/// over it, and that nothing is known of what is in it.
pub fn is_unsealed(file: &File, path: &Path) -> bool {
    let Ok(stat) = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted()) else { return false };
    let identity = Identity::from(&stat);
    let in_ledger = || ledger_of(path).file(path.file_name().unwrap_or_default().as_bytes(), &identity);
    let (mark, unsealed) = (mark_of(file), file_mark(&identity, None));
    stat.stx_nlink == 1 && (mark == unsealed.as_bytes() || mark.is_empty() && in_ledger() == Some(None))
}

/// Whether the file at this path was being written by a run that was killed.
pub fn is_cut_short(path: &Path) -> bool {
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    opened.is_ok_and(|file| is_unsealed(&file, path) && !is_claimed(&file))
}

/// Whether Assay made the file at this path, and nobody changed it since: [`ownership`].
pub fn is_own_file(path: &Path) -> bool {
    ownership(path) == Ownership::Ours
}

/// Whose the file at this path is: it carries its own mark, or the ledger of its directory names it. A file with further
/// names (hard links) is not Assay's to write or remove.
pub fn ownership(path: &Path) -> Ownership {
    let mut value = [0_u8; 192];
    let length = rustix::fs::getxattr(path, FILE_ATTRIBUTE, &mut value).unwrap_or(0);
    let Ok(stat) = rustix::fs::statx(CWD, path, AtFlags::empty(), wanted()) else {
        return Ownership::Foreign;
    };
    judge(&value[..length], &stat, || ledger_of(path), (path, super::is_assay_dir(above(path))))
}

/// The same of an open file.
pub(crate) fn ownership_of(file: &File, path: &Path) -> io::Result<Ownership> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?;
    Ok(judge(&mark_of(file), &stat, || ledger_of(path), (path, super::is_assay_dir(above(path)))))
}

/// The same of an open file directly in a directory with this ledger.
pub(crate) fn ownership_in(file: &File, name: &Path, ledger: Option<&Ledger>) -> io::Result<Ownership> {
    let stat = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?;
    Ok(judge(&mark_of(file), &stat, || ledger.cloned().unwrap_or_default(), (name, true)))
}

fn mark_of(file: &File) -> Vec<u8> {
    let mut value = [0_u8; 192];
    let length = rustix::fs::fgetxattr(file, FILE_ATTRIBUTE, &mut value).unwrap_or(0);
    value[..length].to_vec()
}

fn judge(
    mark: &[u8],
    stat: &Statx,
    ledger: impl FnOnce() -> Ledger,
    (path, in_ours): (&Path, bool),
) -> Ownership {
    if FileType::from_raw_mode(stat.stx_mode.into()) != FileType::RegularFile {
        return Ownership::Foreign;
    }
    match by_mark(mark, stat, ledger, (path, in_ours)) {
        Ownership::Ours | Ownership::Changed if stat.stx_nlink != 1 => Ownership::Linked,
        found => found,
    }
}

/// The same by mark and ledger alone.
fn by_mark(
    mark: &[u8],
    stat: &Statx,
    ledger: impl FnOnce() -> Ledger,
    (path, in_ours): (&Path, bool),
) -> Ownership {
    let (identity, now) = (Identity::from(stat), Seal::from(stat));
    let left = |seal: Option<Seal>| match seal {
        Some(left) if left != now => Ownership::Changed,
        _ => Ownership::Ours,
    };
    let sealed = mark == file_mark(&identity, Some(now)).as_bytes();
    if sealed || in_ours && mark == file_mark(&identity, None).as_bytes() {
        return Ownership::Ours;
    }
    if mark.starts_with(mark_head(&identity).as_bytes()) {
        return Ownership::Changed;
    }
    let name = path.file_name().unwrap_or_default().as_bytes();
    ledger().file(name, &identity).map_or(Ownership::Foreign, left)
}

/// The ledger of the directory of a path, empty where that is none of ours.
fn ledger_of(path: &Path) -> Ledger {
    let directory = above(path);
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::empty()) {
        Ok(opened) if super::is_assay_dir(directory) => Ledger::read(opened.as_fd()),
        _ => Ledger::default(),
    }
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn mark_head(identity: &Identity) -> String {
    let born = identity.born_ns.map_or("-".to_owned(), |born| born.to_string());
    format!("assay.file/3 inode={} born_ns={born} ", identity.inode)
}

fn file_mark(identity: &Identity, seal: Option<Seal>) -> String {
    let left = seal.map_or("writing".to_owned(), |seal| {
        format!("bytes={} modified_ns={}", seal.bytes, seal.modified_ns)
    });
    mark_head(identity) + &left
}
