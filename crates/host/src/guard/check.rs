//! The decision.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::permit::{Consent, Permit, PermitKind};
use super::{Class, DeviceUse, FileUse, Refusal, examine, file_use, parent_file_system};
use crate::mounts::MountTable;
use crate::node::{Node, NodeKind};
use crate::root::HostRoot;

/// Decides whether Assay may write to `path`, an absolute path or one relative to the working directory.
///
/// # Errors
/// A [`Refusal`] that says why not and what to do.
pub fn check_write(root: &HostRoot, path: &Path, consent: &Consent) -> Result<Permit, Refusal> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (node, class) = examine(root, &path)
        .map_err(|error| Refusal::Unknown { path: path.clone(), reason: error.to_string() })?;
    let Some(node) = node else {
        return match class {
            Class::DanglingLink => Err(Refusal::DanglingLink { path }),
            _ => new_file(root, &path),
        };
    };
    match class {
        Class::AssayDirectory | Class::Directory => directory(root, &node),
        Class::AssayFile if !consent.names(&node.path) => {
            let permit = file(root, &node, PermitKind::OwnFile)?;
            // Random data does not look like a file system; what does was made of it.
            match super::device::signature_of_file(&root.locate(&node.path)) {
                Some(signature) => Err(Refusal::SignedFile { path: node.path, signature: signature.name }),
                None => Ok(permit),
            }
        }
        Class::AssayFile | Class::ChangedFile | Class::ForeignFile if consent.names(&node.path) => {
            file(root, &node, PermitKind::NamedFile)
        }
        Class::AssayFile | Class::ChangedFile => {
            file(root, &node, PermitKind::NamedFile)?;
            Err(Refusal::ChangedFile { path: node.path })
        }
        Class::ForeignFile => {
            // A use that no consent covers is the better thing to say first.
            file(root, &node, PermitKind::NamedFile)?;
            Err(Refusal::ForeignFile { path: node.path })
        }
        Class::BlockDevice(device) => {
            let named = consent.names(&node.path);
            unused(&node, &device, named && consent.covers_content())?;
            if named {
                Ok(Permit::for_node(PermitKind::NamedDevice, &node).under(consent, device.sequence))
            } else {
                Err(Refusal::DeviceWithoutConsent { path: node.path })
            }
        }
        Class::CharDevice { harmless: true } => Ok(Permit::for_node(PermitKind::Discard, &node)),
        Class::CharDevice { harmless: false } | Class::Special | Class::Missing | Class::DanglingLink => {
            Err(Refusal::NotATarget { path: node.path })
        }
    }
}

/// Decides whether `path` may be read as a target: an interface of the kernel (`/proc`, `/sys`) stores nothing, and reading it may
/// do something.
///
/// # Errors
/// A [`Refusal`] that says why not and what to do.
pub fn check_read(root: &HostRoot, path: &Path) -> Result<Option<Permit>, Refusal> {
    let unknown =
        |error: std::io::Error| Refusal::Unknown { path: path.to_owned(), reason: error.to_string() };
    let path = std::path::absolute(path).map_err(unknown)?;
    let Some(node) = Node::look_up(root, &path).map_err(unknown)? else { return Ok(None) };
    if let NodeKind::File | NodeKind::Directory = node.kind {
        on_storage(root, &node)?;
    }
    Ok(Some(Permit::for_node(PermitKind::Reading, &node)))
}

/// Refuses what overlaps the device `number`, as it may be written through another one: in use, but for what carries it.
///
/// # Errors
/// A [`Refusal`] that says by what.
pub fn check_unused(root: &HostRoot, number: &str) -> Result<(), Refusal> {
    let name = crate::devices::name_of_number(root, number).unwrap_or_default();
    match Node::look_up(root, &Path::new("/dev").join(&name)) {
        Ok(Some(node)) if node.number.as_deref() == Some(number) => {
            unused(&node, &DeviceUse::read(root, &node), true)
        }
        // A device without its node: nothing can be asked of it.
        _ => Err(Refusal::Unknown {
            path: Path::new("/dev").join(name),
            reason: format!("it is no node of device {number}"),
        }),
    }
}

/// Opens what was permitted, for writing too where that was, before each use: never another file or device, whatever has the name
/// meanwhile, and only if it may still be written. Nothing is made.
///
/// # Errors
/// [`Refusal::Changed`] where the name leads elsewhere, and every other refusal of [`check_write`].
pub fn open_again(root: &HostRoot, permit: &Permit) -> Result<File, Refusal> {
    let path = || permit.path().to_owned();
    match Node::look_up(root, permit.path()).map_err(|error| permit.unknown(&error))? {
        None => return Err(permit.changed("gone".to_owned())),
        Some(node) => permit.is_for(&node)?,
    }
    let exclusive = if permit.exclusive() { OFlags::EXCL } else { OFlags::empty() };
    let flags = exclusive | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    if permit.kind() == PermitKind::NamedDevice {
        // A busy device is said to be what it is: mounted, held, swap.
        let now = check_write(root, permit.path(), &permit.consent(root))?;
        if now.sequence() != permit.sequence() {
            return Err(permit.changed("another disk with its number".to_owned()));
        }
    }
    let mut options = OpenOptions::new();
    let writing = permit.kind() != PermitKind::Reading;
    options.read(true).write(writing).custom_flags(flags.bits() as i32);
    let file = super::device::open_unless_busy(&root.locate(permit.path()), &options)
        .map_err(|error| Refusal::Unknown { path: path(), reason: format!("cannot open it: {error}") })?;
    permit.verify(&file)?;
    if let PermitKind::OwnFile | PermitKind::NamedFile = permit.kind() {
        let node = Node::look_up(root, permit.path()).ok().flatten();
        node.map_or(Ok(()), |node| self::file(root, &node, permit.kind()).map(drop))?;
    }
    Ok(file)
}

fn new_file(root: &HostRoot, path: &Path) -> Result<Permit, Refusal> {
    let Some(name) = path.file_name() else { return Err(Refusal::NoParent { path: path.to_owned() }) };
    let Some((parent, fs_type)) = parent_file_system(root, path) else {
        // A missing directory below /dev is a mistyped device as well.
        return Err(if path.starts_with("/dev") {
            Refusal::NoSuchDevice { path: path.to_owned() }
        } else {
            Refusal::NoParent { path: path.to_owned() }
        });
    };
    let path = parent.join(name);
    let on_device_tree = parent.starts_with("/dev") && !parent.starts_with("/dev/shm");
    if on_device_tree || fs_type == "devtmpfs" {
        return Err(Refusal::NoSuchDevice { path });
    }
    if stores_nothing(&fs_type) {
        return Err(Refusal::NotStorage { path, fs_type });
    }
    let above = std::fs::metadata(root.locate(&parent))
        .map_err(|error| Refusal::Unknown { path: path.clone(), reason: error.to_string() })?;
    Ok(Permit::for_new_file(path, (above.dev(), above.ino())))
}

/// Refuses what is an interface to the kernel, and no consent makes it data.
fn on_storage(root: &HostRoot, node: &Node) -> Result<(), Refusal> {
    let mounts = MountTable::read(root);
    match crate::devices::mount_of(root, &mounts, &node.path) {
        Some(mount) if stores_nothing(&mount.fs_type) => {
            Err(Refusal::NotStorage { path: node.path.clone(), fs_type: mount.fs_type.clone() })
        }
        _ => Ok(()),
    }
}

fn directory(root: &HostRoot, node: &Node) -> Result<Permit, Refusal> {
    on_storage(root, node)?;
    Ok(Permit::for_node(PermitKind::IntoDirectory, node))
}

/// File systems in which a file is an interface, or memory of the device tree.
fn stores_nothing(fs_type: &str) -> bool {
    const INTERFACES: &[&str] = &[
        "proc",
        "sysfs",
        "devtmpfs",
        "devpts",
        "cgroup",
        "cgroup2",
        "debugfs",
        "tracefs",
        "securityfs",
        "configfs",
        "pstore",
        "efivarfs",
        "bpf",
        "mqueue",
        "binfmt_misc",
        "selinuxfs",
        "rpc_pipefs",
        "nsfs",
    ];
    INTERFACES.contains(&fs_type)
}

fn file(root: &HostRoot, node: &Node, kind: PermitKind) -> Result<Permit, Refusal> {
    on_storage(root, node)?;
    match file_use(root, node) {
        Some(FileUse::Swap) => Err(Refusal::Swap { path: node.path.clone() }),
        Some(FileUse::Loop(device)) => Err(Refusal::LoopBacking { path: node.path.clone(), device }),
        None => Ok(Permit::for_node(kind, node)),
    }
}

/// Refuses a device that anything uses or that carries anything recognisable, unless `really` that may go.
fn unused(node: &Node, device: &DeviceUse, really: bool) -> Result<(), Refusal> {
    let path = node.path.clone();
    if let Some(mount_point) = device.mounted.first() {
        return Err(Refusal::Mounted { path, mount_point: mount_point.clone() });
    }
    if device.swap {
        return Err(Refusal::Swap { path });
    }
    if let Some(holder) = device.holders.first() {
        return Err(Refusal::Held { path, holder: holder.clone() });
    }
    if device.busy {
        return Err(Refusal::Busy { path });
    }
    if let Some(opener) = &device.open_in {
        return Err(Refusal::Open { path, opener: opener.clone() });
    }
    if device.size_bytes == 0 {
        return Err(Refusal::NoCapacity { path });
    }
    if let Some(reason) = &device.unreadable {
        return Err(Refusal::Unknown { path, reason: reason.clone() });
    }
    if device.read_only {
        return Err(Refusal::ReadOnly { path });
    }
    if really { Ok(()) } else { empty(path, device) }
}

/// Refuses a device that carries something, or of which that cannot be told.
fn empty(path: PathBuf, device: &DeviceUse) -> Result<(), Refusal> {
    if let Some(first) = device.partitions.first() {
        return Err(Refusal::Partitioned { path, first: first.clone() });
    }
    if let Some(signature) = device.signatures.first() {
        let offset_bytes = signature.offset_bytes;
        return Err(Refusal::Signature { path, signature: signature.name.clone(), offset_bytes });
    }
    match &device.unrecognised {
        Some(reason) => Err(Refusal::Unrecognised { path, reason: reason.clone() }),
        None => Ok(()),
    }
}
