//! The devices under a target, followed to the bottom.

use std::path::Path;

use assay_results::environment::{BlockDevice, Resolution};

use super::{name_of_number, name_of_path, read_block_device};
use crate::mounts::{Mount, MountTable};
use crate::node::mount_id;
use crate::root::HostRoot;

/// How deep stacks may be: a loop device on a file on a logical volume on RAID on partitions is 5. Guards
/// against files that name each other.
const MAX_DEPTH: usize = 16;

/// Collects the devices under one target.
pub(crate) struct Chain<'a> {
    root: &'a HostRoot,
    mounts: &'a MountTable,
    /// Lower devices first while collecting.
    devices: Vec<BlockDevice>,
    problem: Option<String>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(root: &'a HostRoot, mounts: &'a MountTable) -> Self {
        Self { root, mounts, devices: Vec::new(), problem: None }
    }

    /// The devices, upper ones first, and whether they go down to the bottom.
    pub(crate) fn finish(mut self) -> (Vec<BlockDevice>, Resolution) {
        self.devices.reverse();
        let resolution = match self.problem {
            None if self.devices.is_empty() => {
                Resolution::NotResolvable { reason: "no block device was found below".to_owned() }
            }
            None => Resolution::Resolved,
            Some(reason) => Resolution::NotResolvable { reason },
        };
        (self.devices, resolution)
    }

    /// Follows the block device with this kernel name.
    pub(crate) fn follow_device(&mut self, name: &str) {
        self.device(name, 0);
    }

    /// Follows the file system that is mounted here.
    pub(crate) fn follow_mount(&mut self, mount: &Mount) {
        self.mount(mount, 0);
    }

    pub(crate) fn fail(&mut self, reason: String) {
        self.problem.get_or_insert(reason);
    }

    fn device(&mut self, name: &str, depth: usize) {
        if self.devices.iter().any(|device| device.name == name) {
            return;
        }
        if depth > MAX_DEPTH {
            return self.fail(format!("the devices below are stacked more than {MAX_DEPTH} deep"));
        }
        let Some(mut device) = read_block_device(self.root, name) else {
            return self.fail(format!("the kernel does not describe {name} in /sys/class/block"));
        };
        if device.loop_backing.is_some() {
            self.loop_device(&mut device, depth);
        }
        for below in device.below.iter().rev() {
            self.device(below, depth + 1);
        }
        // Pushed after what is below it: where two ways down meet, the lower device stays below both. Only
        // devices that stand on themselves can be here already.
        if !self.devices.iter().any(|known| known.name == device.name) {
            self.devices.push(device);
        }
    }

    /// Finds what holds the backing file of a loop device and names it as lying below.
    fn loop_device(&mut self, device: &mut BlockDevice, depth: usize) {
        let Some(backing) = &mut device.loop_backing else { return };
        let file = backing.file.clone();
        let Ok(path) = self.root.canonicalize(Path::new(&file)) else {
            let name = &device.name;
            return self.fail(format!("the backing file of {name} is not visible from here"));
        };
        let Some(mount) = mount_of(self.root, self.mounts, &path) else {
            return self.fail(format!("no mount holds {file}"));
        };
        let mount = mount.clone();
        backing.fs_type = Some(mount.fs_type.clone());
        device.below = self.mount(&mount, depth + 1);
    }

    /// Follows a mount; returns the names of the devices directly under the file system.
    fn mount(&mut self, mount: &Mount, depth: usize) -> Vec<String> {
        if mount.fs_type == "overlay" {
            return self.overlay(mount, depth);
        }
        if let Some(reason) = no_device_reason(&mount.fs_type) {
            self.fail(format!("{} {reason}", mount.fs_type));
            return Vec::new();
        }
        let mut names = match mount.fs_type.as_str() {
            "btrfs" => btrfs_members(self.root, mount),
            // bcachefs joins its members' paths with colons.
            "bcachefs" => mount.source.split(':').filter_map(|path| name_of_path(self.root, path)).collect(),
            _ => Vec::new(),
        };
        if names.is_empty() {
            names.extend(
                name_of_number(self.root, &mount.device).or_else(|| name_of_path(self.root, &mount.source)),
            );
        }
        if names.is_empty() {
            self.fail(format!("{} on {} names no block device", mount.fs_type, mount.source));
        }
        for name in names.iter().rev() {
            self.device(name, depth + 1);
        }
        names
    }

    /// An overlay's new and changed files live in its upper directory.
    fn overlay(&mut self, mount: &Mount, depth: usize) -> Vec<String> {
        let upper = mount.options.get("upperdir").and_then(|value| value.as_deref());
        let Some(upper) = upper else {
            self.fail("overlay without an upper directory".to_owned());
            return Vec::new();
        };
        // In a container the upper directory is a path of the host; a path of that name here is something
        // else.
        let below = self
            .root
            .canonicalize(Path::new(upper))
            .ok()
            .and_then(|path| mount_of(self.root, self.mounts, &path).cloned())
            .filter(|below| below.id != mount.id && depth < MAX_DEPTH);
        match below {
            Some(below) => self.mount(&below, depth + 1),
            None => {
                self.fail(format!("the overlay's upper directory {upper} is not visible from here"));
                Vec::new()
            }
        }
    }
}

/// The mount that holds a canonical path.
pub(crate) fn mount_of<'t>(root: &HostRoot, mounts: &'t MountTable, path: &Path) -> Option<&'t Mount> {
    mount_id(root, &root.locate(path)).and_then(|id| mounts.by_id(id)).or_else(|| mounts.holding(path))
}

/// Members of the btrfs file system that is mounted here.
fn btrfs_members(root: &HostRoot, mount: &Mount) -> Vec<String> {
    let Some(one) = name_of_path(root, &mount.source) else { return Vec::new() };
    root.names("/sys/fs/btrfs")
        .into_iter()
        .map(|uuid| root.names(format!("/sys/fs/btrfs/{uuid}/devices")))
        .find(|members| members.contains(&one))
        .unwrap_or_else(|| vec![one])
}

/// Why a type of file system has no block device of this machine below it.
fn no_device_reason(fs_type: &str) -> Option<&'static str> {
    match fs_type {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" => Some("keeps its data in memory"),
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "lustre" | "gpfs" | "glusterfs" | "afs" | "orangefs"
        | "beegfs" => Some("sends its I/O to other hosts"),
        "9p" | "virtiofs" | "vboxsf" | "vmhgfs" => Some("sends its I/O to the machine below"),
        "zfs" => Some("does not tell the kernel which devices it uses"),
        "aufs" | "unionfs" | "ecryptfs" => {
            Some("is stacked on another file system in a way the kernel does not show")
        }
        "proc" | "sysfs" | "cgroup" | "cgroup2" | "debugfs" | "tracefs" => Some("is no storage"),
        _ if fs_type == "fuse" || fs_type == "fuseblk" || fs_type.starts_with("fuse.") => {
            Some("passes its I/O through a process, which may do anything with it")
        }
        _ => None,
    }
}
