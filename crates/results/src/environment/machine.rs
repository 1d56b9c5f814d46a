//! The machine: kernel, processors, memory, clock, limits.

use serde::{Deserialize, Serialize};

/// The machine that ran the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Machine {
    /// Host name as the kernel knows it.
    pub hostname: Option<String>,
    /// The kernel's id of this start: alike of all processes on one machine, also in containers; `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Distribution, from os-release.
    pub os: Option<String>,
    /// The suite of the virtual machine's image, where `assay vm build` made it: an id of kernel, program and plans.
    pub suite: Option<String>,
    /// Kernel release, such as `6.12.4`.
    pub kernel_release: Option<String>,
    /// Kernel build, such as `#1 SMP PREEMPT_DYNAMIC`.
    pub kernel_version: Option<String>,
    /// Processor architecture, such as `x86_64`.
    pub arch: String,
    /// Kernel command line words that change I/O or CPU cost (mitigations, isolcpus, nvme options and the
    /// like).
    pub kernel_arguments: Vec<String>,
    /// Processors.
    pub cpu: Cpu,
    /// Memory.
    pub memory: Memory,
    /// When dirty pages are written back.
    pub writeback: Writeback,
    /// What the machine runs in.
    pub virtualisation: Virtualisation,
    /// What time is read from.
    pub clock: Clock,
    /// Seconds since start.
    pub uptime_s: Option<u64>,
}

/// Processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cpu {
    /// Model name.
    pub model: Option<String>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Physical cores of all sockets.
    pub cores: Option<u32>,
    /// Logical processors that are online.
    pub online: Option<u32>,
    /// Logical processors this process may run on.
    pub allowed: Option<u32>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Whether two hardware threads share a core.
    pub smt: Option<bool>,
    /// Frequency governors in use, each once.
    pub governors: Vec<String>,
    /// Whether the clock may rise above the nominal rate.
    pub turbo: Option<Turbo>,
}

/// State of frequency boost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Turbo {
    /// Allowed.
    On,
    /// Switched off.
    Off,
}

/// Memory, at the time of recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Memory {
    /// Usable memory of the machine.
    pub total_bytes: Option<u64>,
    /// What could be allocated without swapping.
    pub available_bytes: Option<u64>,
    /// Page cache.
    pub cached_bytes: Option<u64>,
    /// Swap space.
    pub swap_total_bytes: Option<u64>,
    /// Huge pages.
    pub huge_pages: HugePages,
}

/// Huge pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HugePages {
    /// Size of the default huge page.
    pub page_bytes: Option<u64>,
    /// Reserved pages of that size.
    pub total: Option<u64>,
    /// Of them, free ones.
    pub free: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent: Option<String>,
}

/// When the kernel writes dirty pages back (`/proc/sys/vm`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Writeback {
    /// Share of available memory at which writers are throttled, in percent; 0 when the byte limit is used.
    pub dirty_percent: Option<u64>,
    /// The same as an absolute size; 0 when the percentage is used.
    pub dirty_bytes: Option<u64>,
    /// Share at which background write-back starts, in percent.
    pub background_percent: Option<u64>,
    /// The same as an absolute size.
    pub background_bytes: Option<u64>,
    /// Age at which dirty data is written.
    pub expire_ms: Option<u64>,
    /// Tendency to swap, 0 to 200.
    pub swappiness: Option<u64>,
}

/// What the machine runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Virtualisation {
    /// Whether a hypervisor is below; `None` when nothing gives a hint either way.
    pub virtual_machine: Option<bool>,
    /// Its name: `kvm`, `xen`, `vmware`, `hyper-v`, or the firmware's vendor.
    pub hypervisor: Option<String>,
    /// Firmware's vendor and product, as clouds set them.
    pub platform: Option<String>,
    /// Container runtime around the process: `docker`, `podman`, `kubernetes`, `lxc`.
    pub container: Option<String>,
}

/// What time is read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Clock {
    /// Clock source in use: `tsc`, `kvm-clock`, `hpet`.
    pub source: Option<String>,
    /// The ones the kernel offers.
    pub available: Vec<String>,
    /// Whether the processor's counter ticks evenly through frequency changes and sleep.
    pub invariant_tsc: Option<bool>,
}

/// Which control group interface holds the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CgroupVersion {
    /// One hierarchy a controller.
    V1,
    /// The unified hierarchy.
    V2,
}

/// Limits that hold for this process: the tightest of its group and of all groups above it.
///
/// `None` means that no limit was found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CgroupLimits {
    /// Interface that was read; `None` when no control group could be found.
    pub version: Option<CgroupVersion>,
    /// Path of the group within its hierarchy.
    pub path: Option<String>,
    /// CPU quota in processors: 1.5 is one and a half.
    pub cpu_quota_cpus: Option<f64>,
    /// Length of the period over which the quota is counted.
    pub cpu_period_us: Option<u64>,
    /// Processors the group may use, as the kernel lists them: `0-3,8`.
    pub cpu_set: Option<String>,
    /// Memory limit; it bounds the page cache too.
    pub memory_bytes: Option<u64>,
    /// Memory above which the group is slowed down (version 2).
    pub memory_high_bytes: Option<u64>,
    /// Limits on devices.
    pub devices: Vec<CgroupDeviceLimit>,
}

/// A limit on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CgroupDeviceLimit {
    /// `MAJOR:MINOR` of the device.
    pub device: String,
    /// Bytes read a second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written a second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads a second.
    pub read_iops: Option<u64>,
    /// Writes a second.
    pub write_iops: Option<u64>,
}
