//! What a path names, without opening it.

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};

use crate::root::HostRoot;

/// The sorts of node that matter to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File,
    Directory,
    Block,
    Char,
    Socket,
    Fifo,
    Other,
}

/// What a path names, links followed.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Canonical, as the (stand-in) machine sees it.
    pub(crate) path: PathBuf,
    pub(crate) kind: NodeKind,
    /// Length of a file; 0 for devices.
    pub(crate) len_bytes: u64,
    /// Device and inode of the node itself.
    pub(crate) identity: (u64, u64),
    /// `MAJOR:MINOR` of the device a device node stands for.
    pub(crate) number: Option<String>,
}

impl Node {
    /// Looks a path up; `Ok(None)` when nothing is there.
    pub(crate) fn look_up(root: &HostRoot, path: &Path) -> io::Result<Option<Self>> {
        let canonical = match root.canonicalize(path) {
            Ok(canonical) => canonical,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let located = root.locate(&canonical);
        let metadata = fs::metadata(&located)?;
        let kind = metadata.file_type();
        let (kind, number) = if kind.is_block_device() {
            (NodeKind::Block, Some(number_text(metadata.rdev())))
        } else if kind.is_char_device() {
            (NodeKind::Char, Some(number_text(metadata.rdev())))
        } else if kind.is_dir() {
            (NodeKind::Directory, None)
        } else if kind.is_socket() {
            (NodeKind::Socket, None)
        } else if kind.is_fifo() {
            (NodeKind::Fifo, None)
        } else if kind.is_file() {
            match stand_in_device(root, &canonical) {
                Some(number) => (NodeKind::Block, Some(number)),
                None => (NodeKind::File, None),
            }
        } else {
            (NodeKind::Other, None)
        };
        Ok(Some(Self {
            path: canonical,
            kind,
            len_bytes: metadata.len(),
            identity: (metadata.dev(), metadata.ino()),
            number,
        }))
    }
}

/// Whether an error means that nothing is there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `MAJOR:MINOR` of a raw device number.
pub(crate) fn number_text(raw: u64) -> String {
    format!("{}:{}", rustix::fs::major(raw), rustix::fs::minor(raw))
}

/// The kernel's mount id of a path (5.8 and later), on the real machine only.
pub(crate) fn mount_id(root: &HostRoot, path: &Path) -> Option<u64> {
    if !root.is_real() {
        return None;
    }
    let stat = rustix::fs::statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id)
}

/// Where a node lives: its file system, and the mount through which it was reached.
///
/// A bind mount within one file system has the same device number; the mount id (5.8 and later) tells it
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeLocation {
    device: (u32, u32),
    mount_id: Option<u64>,
}

impl NodeLocation {
    /// Of an open file.
    pub(crate) fn of_open(file: BorrowedFd<'_>) -> io::Result<Self> {
        let flags = AtFlags::EMPTY_PATH;
        Ok(Self::from(rustix::fs::statx(file, c"", flags, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?))
    }
}

impl From<Statx> for NodeLocation {
    fn from(stat: Statx) -> Self {
        let known = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        Self { device: (stat.stx_dev_major, stat.stx_dev_minor), mount_id: known.then_some(stat.stx_mnt_id) }
    }
}

/// In a stand-in root, the device number that an ordinary file below `/dev` stands for.
fn stand_in_device(root: &HostRoot, path: &Path) -> Option<String> {
    if root.is_real() || !path.starts_with("/dev") {
        return None;
    }
    let name = path.file_name()?.to_str()?;
    root.nonempty_text(format!("/sys/class/block/{name}/dev"))
}
