//! The consent guard: nothing is destroyed that was not named.
//!
//! [`classify`] says what a path is; [`check_write`] decides whether Assay may write there and hands out a
//! [`Permit`], or a [`Refusal`] whose one line says what to do. Consent (`--destroy-data TARGET`) names
//! exactly one target; it covers a foreign file or an unused and empty block device. What a device carries (a signature, partitions,
//! or what cannot be told) needs `--really` besides. No consent covers a device that is mounted, held, used as swap or open in another
//! process: it has to be released by its owner's own tools first.
//!
//! Between the check and the opening of a target things can change. So a permit is for a file or device, not for a name:
//! [`open_again`] opens what was checked without making anything, compares, and asks again whether it may be written;
//! devices are opened with O_EXCL ([`Permit::exclusive`]), which the kernel refuses for a device that is in use.

use std::path::{Path, PathBuf};

use assay_workload::units::Bytes;

use crate::mounts::MountTable;
use crate::node::{Node, NodeKind};
use crate::root::HostRoot;
use crate::workdir::{self, Ownership};

mod check;
mod device;
mod openers;
mod permit;
mod refusal;
mod signature;
mod tools;

pub use check::{check_read, check_unused, check_write, open_again};
pub use device::{DeviceUse, overlapping};
pub use openers::Opener;
pub use permit::{Consent, NodeIdentity, Permit, PermitKind};
pub use refusal::Refusal;
pub use signature::{Signature, find_signatures};

/// What a path is, as far as permission to write goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// A directory that carries both of our tags.
    AssayDirectory,
    /// Any other directory.
    Directory,
    /// A file that Assay made: marked as ours, or in the ledger of a directory of ours.
    AssayFile,
    /// A file that Assay made and somebody changed since, or made something of.
    ChangedFile,
    /// A file that Assay did not make.
    ForeignFile,
    /// A block device.
    BlockDevice(Box<DeviceUse>),
    /// A character device; `harmless` for those that swallow everything.
    CharDevice {
        /// Whether writing to it changes nothing (`/dev/null` and the like).
        harmless: bool,
    },
    /// A socket, pipe or other special node.
    Special,
    /// Nothing is there.
    Missing,
    /// A symbolic link to nothing.
    DanglingLink,
}

/// Says what a path is. Symbolic links are followed.
///
/// # Errors
/// What looking it up says, other than that nothing is there.
pub fn classify(root: &HostRoot, path: &Path) -> std::io::Result<Class> {
    Ok(examine(root, path)?.1)
}

/// What would be lost with a block device, in words: model, size, what it carries. `None`: nothing is on it that is known, or it is
/// no block device.
pub fn describe_content(root: &HostRoot, path: &Path) -> Option<String> {
    let Ok((Some(node), Class::BlockDevice(device))) = examine(root, path) else { return None };
    let carried: Vec<String> = device
        .signatures
        .iter()
        .map(|signature| signature.name.to_string())
        .chain(device.partitions.iter().map(|name| format!("partition {name}")))
        .chain(device.unrecognised.iter().map(|why| format!("what cannot be told ({why})")))
        .collect();
    let model = crate::devices::read_block_device(root, &device.name).and_then(|known| known.model);
    let facts =
        model.into_iter().chain([Bytes(device.size_bytes).to_string()]).collect::<Vec<_>>().join(", ");
    (!carried.is_empty()).then(|| format!("{} ({facts}) carries {}", node.path.display(), carried.join(", ")))
}

/// The node at a path, when there is one, and its class.
fn examine(root: &HostRoot, path: &Path) -> std::io::Result<(Option<Node>, Class)> {
    let Some(node) = Node::look_up(root, path)? else {
        let dangling = root.locate(path).is_symlink();
        return Ok((None, if dangling { Class::DanglingLink } else { Class::Missing }));
    };
    let located = root.locate(&node.path);
    let class = match node.kind {
        NodeKind::Directory if workdir::is_assay_dir(&located) => Class::AssayDirectory,
        NodeKind::Directory => Class::Directory,
        NodeKind::File => match workdir::ownership(&located) {
            Ownership::Ours => Class::AssayFile,
            Ownership::Changed => Class::ChangedFile,
            Ownership::Linked | Ownership::Foreign => Class::ForeignFile,
        },
        NodeKind::Block => Class::BlockDevice(Box::new(DeviceUse::read(root, &node))),
        NodeKind::Char => Class::CharDevice { harmless: is_harmless(node.number.as_deref()) },
        NodeKind::Socket | NodeKind::Fifo | NodeKind::Other => Class::Special,
    };
    Ok((Some(node), class))
}

/// `/dev/null`, `/dev/zero`, `/dev/full`: the kernel's fixed numbers (Documentation/admin-guide/devices.txt).
fn is_harmless(number: Option<&str>) -> bool {
    matches!(number, Some("1:3" | "1:5" | "1:7"))
}

/// Where else on the machine a regular file is in use as storage: swap, or the backing of a loop device. Files are compared,
/// not their names: a hard link or a bind mount names the same file.
fn file_use(root: &HostRoot, node: &Node) -> Option<FileUse> {
    use std::os::unix::fs::MetadataExt as _;
    let is_it = |path: &Path| {
        std::fs::metadata(root.locate(path)).is_ok_and(|meta| (meta.dev(), meta.ino()) == node.identity)
    };
    if device::swaps(root).iter().any(|swap| is_it(swap)) {
        return Some(FileUse::Swap);
    }
    root.names("/sys/block").into_iter().find_map(|name| {
        let backing = root.nonempty_text(format!("/sys/block/{name}/loop/backing_file"))?;
        is_it(&crate::mounts::unescape(&backing)).then_some(FileUse::Loop(name))
    })
}

enum FileUse {
    Swap,
    Loop(String),
}

/// The type of the file system that would hold a new file at `path`.
fn parent_file_system(root: &HostRoot, path: &Path) -> Option<(PathBuf, String)> {
    let parent = path.parent()?;
    let canonical = root.canonicalize(parent).ok()?;
    let mounts = MountTable::read(root);
    let fs_type = crate::devices::mount_of(root, &mounts, &canonical).map(|mount| mount.fs_type.clone());
    Some((canonical, fs_type.unwrap_or_default()))
}

#[cfg(test)]
mod tests;
