//! How Assay knows a file that it made.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, XattrFlags};
use rustix::io::Errno;

use super::identity::Identity;
use super::ledger::{self, Ledger};

pub(super) const FILE_ATTRIBUTE: &str = "user.assay";

/// Marks an open file as made by Assay. `Ok(false)` where the file system has no extended attributes: then
/// writing over the file later needs consent, unless [`claim_file`] could write it down.
///
/// # Errors
/// What fsetxattr(2) says otherwise.
pub fn mark_file(file: &File) -> io::Result<bool> {
    let value = file_mark(&Identity::of_open(file.as_fd())?);
    match rustix::fs::fsetxattr(file, FILE_ATTRIBUTE, value.as_bytes(), XattrFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Marks a file that was made at `path` just now, or writes it down in the ledger of the directory where that is one of
/// ours.
///
/// # Errors
/// What the system says; that there are no extended attributes outside our directories is no error.
pub fn claim_file(file: &File, path: &Path) -> io::Result<()> {
    if mark_file(file)? {
        return Ok(());
    }
    let (directory, Some(name)) = (above(path), path.file_name().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    if super::is_assay_dir(&fs::canonicalize(directory)?) {
        ledger::enter_file(directory, name, Identity::of_open(file.as_fd())?)?;
    }
    Ok(())
}

/// Whether Assay made the file at this path: it carries its own mark, or the ledger of its directory names it. A file
/// with further names (hard links) counts as nobody's: one of the names may be somebody's way to keep it.
pub fn is_own_file(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    if !metadata.is_file() || metadata.nlink() != 1 {
        return false;
    }
    is_marked_file(path) || is_in_ledger(path)
}

/// Whether a file carries the mark that [`mark_file`] left on this very inode.
fn is_marked_file(path: &Path) -> bool {
    let mut value = [0_u8; 128];
    let Ok(length) = rustix::fs::getxattr(path, FILE_ATTRIBUTE, &mut value) else { return false };
    Identity::of_path(path).is_ok_and(|identity| value[..length] == *file_mark(&identity).as_bytes())
}

/// The same of an open file.
pub(crate) fn carries_mark(file: BorrowedFd<'_>) -> bool {
    let mut value = [0_u8; 128];
    let Ok(length) = rustix::fs::fgetxattr(file, FILE_ATTRIBUTE, &mut value) else { return false };
    Identity::of_open(file).is_ok_and(|identity| value[..length] == *file_mark(&identity).as_bytes())
}

fn is_in_ledger(path: &Path) -> bool {
    let directory = above(path);
    if !super::is_assay_dir(directory) {
        return false;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(directory, flags, Mode::empty()) else { return false };
    let name = path.file_name().unwrap_or_default().as_bytes();
    Identity::of_path(path).is_ok_and(|identity| Ledger::read(opened.as_fd()).has_file(name, &identity))
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn file_mark(identity: &Identity) -> String {
    let born = identity.born_ns.map_or("-".to_owned(), |born| born.to_string());
    format!("assay.file/2 inode={} born_ns={born}", identity.inode)
}
