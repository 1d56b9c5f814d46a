//! What the machine and the targets were like when a run was made.
//!
//! Filled by crate `host`, stored with each run, read by the checks and the renderers. A fact that is `None`
//! (`null` in JSON) is *not known*: the kernel does not say it, or reading it was not allowed. It never means
//! "no" or "zero". Lists are empty when nothing was found. All sizes are bytes unless the name says
//! otherwise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod device;
mod machine;
mod network;

pub use device::{BlockDevice, DeviceKind, LoopBacking, RaidArray, RequestQueue, Transport, ZramDevice};
pub use machine::{
    CgroupDeviceLimit, CgroupLimits, CgroupVersion, Clock, Cpu, HugePages, Machine, Memory, Turbo,
    Virtualisation, Writeback,
};
pub use network::NetworkPath;

/// Everything recorded about the system with a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Environment {
    /// The program that measured.
    pub assay: AssayVersion,
    /// The machine that ran it.
    pub machine: Machine,
    /// The limits of the control group that the process ran in.
    pub cgroup: CgroupLimits,
    /// One entry a target, in the order in which they were asked for.
    pub targets: Vec<TargetEnvironment>,
}

impl Environment {
    /// The entry for the target with exactly this path as it was asked for, or this canonical path.
    pub fn target(&self, path: &str) -> Option<&TargetEnvironment> {
        self.targets.iter().find(|t| t.path == path || t.canonical_path.as_deref() == Some(path))
    }
}

/// Which Assay measured. Given by the caller: a library cannot know the program it ends up in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AssayVersion {
    /// Semantic version of the program.
    pub version: String,
    /// Source commit, when the build knew it.
    pub commit: Option<String>,
}

/// What kind of node a target's path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A directory in which files are laid out.
    Directory,
    /// A block device node.
    BlockDevice,
    /// A character device node, such as `/dev/null`.
    CharDevice,
    /// Nothing is there (yet).
    #[default]
    Missing,
    /// A socket, a pipe or something stranger.
    Other,
}

/// One target: where it lives, from its path down to the lowest block device this kernel can name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TargetEnvironment {
    /// The path as it was asked for.
    pub path: String,
    /// The path without symbolic links; `None` when nothing is there.
    pub canonical_path: Option<String>,
    /// What the path is.
    pub kind: TargetKind,
    /// Size of the file or of the block device.
    pub size_bytes: Option<u64>,
    /// Which parts of a regular file hold data.
    pub extents: Option<ExtentSummary>,
    /// The file system holding the path; `None` for a block device used directly.
    pub file_system: Option<FileSystem>,
    /// What is known of the devices below.
    pub resolution: Resolution,
    /// The block devices under the target, upper ones first. Edges are in [`BlockDevice::below`]; with
    /// [`Resolution::NotResolvable`] this holds the part of the chain that could be followed.
    pub devices: Vec<BlockDevice>,
    /// The way to the server, of a target on a network; `None` for one of this host, and where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkPath>,
}

impl TargetEnvironment {
    /// The devices with nothing below them: where I/O leaves this kernel.
    pub fn bottom_devices(&self) -> impl Iterator<Item = &BlockDevice> {
        self.devices.iter().filter(|d| d.below.is_empty() && d.loop_backing.is_none())
    }

    /// The devices that nothing else in the chain stands on: what the file system or the caller uses.
    pub fn top_devices(&self) -> impl Iterator<Item = &BlockDevice> {
        self.devices.iter().filter(|d| !self.devices.iter().any(|upper| upper.stands_on(&d.name)))
    }

    /// Whether each device below is known, so that device counters can be held against our own.
    pub fn is_resolved(&self) -> bool {
        self.resolution == Resolution::Resolved
    }
}

/// Whether the block devices under a target could be named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Resolution {
    /// Down to the lowest device.
    Resolved,
    /// Not, or not to the bottom.
    NotResolvable {
        /// One clause that says why, such as "tmpfs keeps its data in memory".
        reason: String,
    },
}

impl Default for Resolution {
    fn default() -> Self {
        Self::NotResolvable { reason: "not examined".to_owned() }
    }
}

/// A mounted file system as seen from a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FileSystem {
    /// Kernel's name of the type: `ext4`, `xfs`, `btrfs`, `nfs4`, `fuse.sshfs`.
    pub fs_type: String,
    /// Mount source: a device path, an NFS export, or a label without meaning.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// The directory of the file system that is mounted there; other than `/` for bind mounts and subvolumes.
    pub mount_root: String,
    /// Mount options, of the mount and of the superblock together; `None` for an option without a value.
    /// `ro` is present when either says so.
    pub options: BTreeMap<String, Option<String>>,
    /// Total size.
    pub total_bytes: Option<u64>,
    /// Free for an unprivileged writer.
    pub available_bytes: Option<u64>,
    /// Allocation unit.
    pub block_bytes: Option<u64>,
    /// Alignment direct I/O needs for file offsets and lengths, where the kernel says (6.1 and later); 0 is
    /// the kernel's word for "no direct I/O here".
    pub direct_io_offset_align_bytes: Option<u64>,
    /// Alignment direct I/O needs for memory.
    pub direct_io_memory_align_bytes: Option<u64>,
    /// Whether data written to the target is compressed by the file system (mount option or file attribute).
    pub compresses: Option<bool>,
    /// The upper directory of an overlay: new and changed files live there.
    pub overlay_upper_dir: Option<String>,
}

impl FileSystem {
    /// Whether a mount option is present, with or without a value.
    pub fn has_option(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    /// The value of a mount option; `None` when it is absent or carries no value.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).and_then(|value| value.as_deref())
    }

    /// Whether the mount options switch flushes to the device off: `nobarrier` and `barrier=0` of ext4 and older xfs,
    /// `volatile` of overlayfs (newer kernels show `fsync=volatile`). Other file systems have no such option.
    pub fn flushes_disabled(&self) -> bool {
        let shown = self.has_option("volatile") || self.option("fsync") == Some("volatile");
        let volatile = self.fs_type == "overlay" && shown;
        volatile || self.has_option("nobarrier") || self.option("barrier") == Some("0")
    }
}

/// How much of a file (or of a range in it) is backed by data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ExtentSummary {
    /// Bytes examined.
    pub examined_bytes: u64,
    /// Bytes the file system calls data (SEEK_DATA).
    pub data_bytes: u64,
    /// Bytes in holes (SEEK_HOLE); ext4, xfs and btrfs count unwritten extents here when nothing of them is
    /// in the page cache.
    pub hole_bytes: u64,
    /// Number of separate runs of data.
    pub data_runs: u64,
    /// Bytes allocated but never written, which read as zeros without device I/O (FIEMAP), where asked.
    pub unwritten_bytes: Option<u64>,
}

#[cfg(test)]
mod tests;
