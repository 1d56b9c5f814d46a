//! How Assay knows a file that it wrote.
//!
//! An extended attribute holds the inode and a digest of the content. A copy is somebody's decision to keep the file, also
//! where it copies attributes (`cp -a`): it has another inode. A file that was edited is somebody's work: it has another
//! digest. What merely looks like ours has no attribute. Where the file system has no attributes, or a tool dropped them,
//! nothing is known to be ours and `--force` is needed, which is the safe side.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::{AsFd, OwnedFd};

use assay_results::store::HeldDirectory;
use rustix::fs::{Mode, OFlags, Stat, XattrFlags};
use sha2::{Digest as _, Sha256};

use super::identity;

/// Not the attribute of test files (`user.assay`): those may be measured on, a page may not.
const ATTRIBUTE: &str = "user.assay.output";

/// A writer that makes a digest of what passes.
#[derive(Debug)]
pub(super) struct Hashed<W> {
    inner: W,
    digest: Sha256,
}

impl<W: Write> Hashed<W> {
    pub(super) fn new(inner: W) -> Self {
        Hashed { inner, digest: Sha256::new() }
    }

    pub(super) fn inner(&self) -> &W {
        &self.inner
    }

    /// The writer and the digest of what it was given.
    pub(super) fn finish(self) -> (W, String) {
        (self.inner, hex(self.digest))
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Marks a file with this digest of its content. Where that cannot be done the file will count as not written by Assay.
pub(super) fn set(file: &File, digest: &str) {
    let Ok(stat) = rustix::fs::fstat(file) else { return };
    let _ = rustix::fs::fsetxattr(file, ATTRIBUTE, of_file(&stat, digest).as_bytes(), XattrFlags::empty());
}

/// The regular file that `stat` is of; `None`: the name is another's by now.
pub(super) fn opened(directory: &HeldDirectory, name: &OsStr, stat: &Stat) -> Option<File> {
    // Should a pipe have taken the name by now, it is not waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty()).map(File::from).ok()?;
    rustix::fs::fstat(&file).is_ok_and(|open| identity(&open) == identity(stat)).then_some(file)
}

/// What a regular file begins with.
pub(super) fn beginning(
    directory: &HeldDirectory,
    name: &OsStr,
    stat: &Stat,
    bytes_max: u64,
) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    opened(directory, name, stat)?.take(bytes_max).read_to_end(&mut head).ok()?;
    Some(head)
}

/// Whether the regular file that `stat` is of carries its own mark.
pub(super) fn is_ours(directory: &HeldDirectory, name: &OsStr, stat: &Stat) -> bool {
    let Some(file) = opened(directory, name, stat) else { return false };
    let Some(found) = read(&file) else { return false };
    // Without the attribute, nothing need be read.
    digest_of(&file).is_ok_and(|digest| found == of_file(stat, &digest))
}

/// Whether a regular file has a mark, and the content that the mark was made for. Other than `is_ours` this is true of a
/// copy that kept the mark, as in a directory that was moved to another disk.
pub fn is_unedited(directory: &HeldDirectory, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::empty());
    let Ok(file) = opened.map(File::from) else { return false };
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return false;
    }
    let Some(found) = read(&file) else { return false };
    let marked = found.strip_prefix("assay.output/1 ").and_then(|rest| rest.split_once(" sha256="));
    marked.is_some_and(|(_, digest)| digest_of(&file).is_ok_and(|content| content == digest))
}

/// Marks a directory as made for outputs.
pub(super) fn set_directory(directory: &HeldDirectory) {
    let Ok(stat) = rustix::fs::fstat(directory) else { return };
    let _ = rustix::fs::fsetxattr(directory, ATTRIBUTE, of_directory(&stat).as_bytes(), XattrFlags::empty());
}

/// Whether a directory carries its own mark.
pub(super) fn is_our_directory(directory: &HeldDirectory) -> bool {
    let Ok(stat) = rustix::fs::fstat(directory) else { return false };
    read(directory).is_some_and(|found| found == of_directory(&stat))
}

fn read(file: &impl AsFd) -> Option<String> {
    let mut value = [0_u8; 256];
    let length = rustix::fs::fgetxattr(file, ATTRIBUTE, &mut value).ok()?;
    Some(String::from_utf8_lossy(&value[..length]).into_owned())
}

fn digest_of(file: &File) -> io::Result<String> {
    let mut file = File::from(OwnedFd::from(file.try_clone()?));
    let (mut digest, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(digest)),
            read => digest.update(&buffer[..read]),
        }
    }
}

fn of_file(stat: &Stat, digest: &str) -> String {
    format!("assay.output/1 inode={} sha256={digest}", stat.st_ino)
}

fn of_directory(stat: &Stat) -> String {
    format!("assay.output-directory/1 inode={}", stat.st_ino)
}
