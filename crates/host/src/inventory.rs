//! What this machine offers: engines and their preconditions, limits, privileges, helpers, devices.
//!
//! Data only; `assay doctor` shows it. Nothing is tried out here: an engine that looks usable can still be
//! refused by a filter when it is used, so the engine's own probe has the last word.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;

use assay_results::environment::{BlockDevice, CgroupLimits, FileSystem, Machine};
use serde::Serialize;

use crate::devices::{list_block_devices, read_block_device};
use crate::mounts::{Mount, MountTable};
use crate::root::HostRoot;

mod engines;
mod limits;

pub use engines::{EngineOffer, KernelSettings, Offer};
pub use limits::{Limit, Limits, Privileges};

/// Programs that some commands use.
const HELPERS: &[(&str, &str)] = &[("fio", "--engine fio, assay crosscheck"), ("ssh", "assay quick HOST")];

/// What this machine offers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inventory {
    /// The machine.
    pub machine: Machine,
    /// Limits of the control group.
    pub cgroup: CgroupLimits,
    /// Resource limits of the process.
    pub limits: Limits,
    /// What the process may do.
    pub privileges: Privileges,
    /// Kernel settings that decide about engines.
    pub kernel: KernelSettings,
    /// The engines, best first.
    pub engines: Vec<EngineOffer>,
    /// Programs that some commands use.
    pub helpers: Vec<Helper>,
    /// Whole block devices of a size other than 0.
    pub block_devices: Vec<BlockDevice>,
    /// Mounted file systems that hold data, each mount point once.
    pub file_systems: Vec<FileSystem>,
}

/// A program that some command uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Helper {
    /// Its name.
    pub name: String,
    /// What needs it.
    pub needed_for: String,
    /// Where it is; `None` when it is not on the search path.
    pub path: Option<String>,
}

/// Gathers everything. `search_path` is the value of `PATH`.
pub fn collect(root: &HostRoot, search_path: Option<&OsStr>) -> Inventory {
    let machine = crate::environment::machine(root);
    let limits = Limits::read(root);
    let privileges = Privileges::read(root);
    let kernel = KernelSettings::read(root);
    let helpers: Vec<Helper> = HELPERS
        .iter()
        .map(|&(name, needed_for)| Helper {
            name: name.to_owned(),
            needed_for: needed_for.to_owned(),
            path: find_program(root, search_path, name),
        })
        .collect();
    let fio = helpers.iter().find(|helper| helper.name == "fio").and_then(|helper| helper.path.clone());
    let engines = engines::offers(machine.kernel_release.as_deref(), &kernel, &privileges, &limits, fio);
    let devices = list_block_devices(root);
    Inventory {
        cgroup: crate::environment::cgroup_limits(root),
        block_devices: devices.iter().filter_map(|name| read_block_device(root, name)).collect(),
        file_systems: file_systems(root),
        machine,
        limits,
        privileges,
        kernel,
        engines,
        helpers,
    }
}

fn find_program(root: &HostRoot, search_path: Option<&OsStr>, name: &str) -> Option<String> {
    std::env::split_paths(search_path?).filter(|directory| directory.is_absolute()).find_map(|directory| {
        let path = directory.join(name);
        let metadata = std::fs::metadata(root.locate(&path)).ok()?;
        let runs = metadata.is_file() && metadata.permissions().mode() & 0o111 != 0;
        runs.then(|| path.to_string_lossy().into_owned())
    })
}

/// Mounts that one could measure on: those with a device, tmpfs, and what comes over the network or from
/// FUSE.
///
/// The latter are not asked for their free space: a server that is gone would hold us up for minutes.
fn file_systems(root: &HostRoot) -> Vec<FileSystem> {
    let mut found: Vec<FileSystem> = Vec::new();
    for mount in MountTable::read(root).iter() {
        let system = match reach(mount) {
            Reach::NotStorage => continue,
            Reach::Elsewhere => crate::environment::mount_facts(mount),
            // Bind mounts of single files, as containers have many, are no place to measure.
            Reach::Local if !root.locate(&mount.mount_point).is_dir() => continue,
            Reach::Local => crate::environment::file_system(root, mount, &mount.mount_point),
        };
        // A later mount hides an earlier one at the same place.
        found.retain(|earlier| earlier.mount_point != system.mount_point);
        found.push(system);
    }
    found
}

enum Reach {
    /// Answers at once.
    Local,
    /// Answers when its server does.
    Elsewhere,
    /// Holds no data.
    NotStorage,
}

fn reach(mount: &Mount) -> Reach {
    if mount.mount_point.starts_with("/sys") || mount.mount_point.starts_with("/proc") {
        return Reach::NotStorage;
    }
    match mount.fs_type.as_str() {
        "btrfs" | "bcachefs" | "zfs" | "overlay" | "tmpfs" => Reach::Local,
        "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "lustre" | "9p" | "virtiofs" => Reach::Elsewhere,
        "fuse.lxcfs" | "fuse.portal" => Reach::NotStorage,
        other if other.starts_with("fuse.") => Reach::Elsewhere,
        _ if mount.device.starts_with("0:") => Reach::NotStorage,
        _ => Reach::Local,
    }
}

#[cfg(test)]
mod tests;
