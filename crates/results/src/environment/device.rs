//! Block devices and what lies under them.

use serde::{Deserialize, Serialize};

/// What sort of block device it is, as far as the kernel's names tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A whole device that this kernel's driver talks to.
    Disk,
    /// A partition; [`BlockDevice::below`] names the disk.
    Partition,
    /// A loop device over a file.
    Loop,
    /// Device mapper: logical volumes, encryption, multipath.
    DeviceMapper,
    /// Software RAID.
    Md,
    /// Compressed memory.
    Zram,
    /// Anything else.
    #[default]
    Other,
}

/// How a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// NVMe over PCI Express.
    NvmePcie,
    /// NVMe over TCP.
    NvmeTcp,
    /// NVMe over RDMA.
    NvmeRdma,
    /// NVMe over Fibre Channel.
    NvmeFc,
    /// Serial (or parallel) ATA.
    Sata,
    /// Serial attached SCSI.
    Sas,
    /// Fibre Channel.
    FibreChannel,
    /// SCSI over IP.
    Iscsi,
    /// SCSI by some other way.
    Scsi,
    /// A USB bridge.
    Usb,
    /// A paravirtual disk: virtio-blk or virtio-scsi.
    Virtio,
    /// A Xen virtual disk.
    Xen,
    /// A Hyper-V virtual disk.
    Vmbus,
    /// An SD card or eMMC.
    Mmc,
    /// A network block device: nbd, rbd, drbd.
    Network,
    /// Memory of this machine: zram, brd, pmem.
    Memory,
}

/// One block device of a chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BlockDevice {
    /// Kernel name: `sda1`, `nvme0n1`, `dm-0`.
    pub name: String,
    /// Device number, `MAJOR:MINOR`.
    pub number: Option<String>,
    /// What sort of device.
    pub kind: DeviceKind,
    /// Names of the devices directly below it; for a loop device those that hold its backing file.
    pub below: Vec<String>,
    /// Capacity.
    pub size_bytes: Option<u64>,
    /// Where a partition starts on its disk.
    pub start_bytes: Option<u64>,
    /// How it is attached.
    pub transport: Option<Transport>,
    /// Model as the device reports it.
    pub model: Option<String>,
    /// Vendor as the device reports it.
    pub vendor: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// Whether the kernel treats it as a rotating disk.
    pub rotational: Option<bool>,
    /// Whether it refuses writes.
    pub read_only: Option<bool>,
    /// Request queue settings; a partition shares those of its disk.
    pub queue: RequestQueue,
    /// What a loop device stands on.
    pub loop_backing: Option<LoopBacking>,
    /// What a zram device does with its data.
    pub zram: Option<ZramDevice>,
    /// Device-mapper name, such as `vg0-data`.
    pub mapper_name: Option<String>,
    /// Device-mapper subsystem, from its uuid: `LVM`, `CRYPT`, `mpath`.
    pub mapper_subsystem: Option<String>,
    /// Software RAID facts.
    pub raid: Option<RaidArray>,
}

impl BlockDevice {
    /// Whether `name` lies directly below this device.
    pub(crate) fn stands_on(&self, name: &str) -> bool {
        self.below.iter().any(|below| below == name)
    }
}

/// `/sys/block/NAME/queue`: how the kernel treats requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RequestQueue {
    /// I/O scheduler in use, such as `none` or `mq-deadline`.
    pub scheduler: Option<String>,
    /// Requests the queue holds before it makes callers wait.
    pub nr_requests: Option<u64>,
    /// `true` for "write back": data may be lost at power failure until it is flushed. The kernel can be told
    /// otherwise than the device does.
    pub write_back_cache: Option<bool>,
    /// Whether writes can bypass the cache one by one.
    pub fua: Option<bool>,
    /// Smallest addressable unit.
    pub logical_block_bytes: Option<u64>,
    /// Unit the device writes without read-modify-write.
    pub physical_block_bytes: Option<u64>,
    /// Preferred smallest request, as a RAID chunk.
    pub minimum_io_bytes: Option<u64>,
    /// Preferred request size, as a RAID stripe.
    pub optimal_io_bytes: Option<u64>,
    /// Largest request the kernel sends.
    pub max_request_bytes: Option<u64>,
    /// Largest request the hardware takes.
    pub max_hardware_request_bytes: Option<u64>,
    /// Read ahead.
    pub read_ahead_bytes: Option<u64>,
    /// Largest discard; 0 means that discard is not supported.
    pub max_discard_bytes: Option<u64>,
    /// Whether it can be mapped into memory directly.
    pub dax: Option<bool>,
    /// Whether completions can be polled for.
    pub io_poll: Option<bool>,
    /// Whether the kernel counts I/O on this device; without it the device's counters stand still.
    pub iostats: Option<bool>,
    /// Merging of requests: 0 allowed, 1 simple only, 2 off.
    pub nomerges: Option<u64>,
    /// Write-back throttling's latency target; 0 is off.
    pub wbt_latency_target_us: Option<u64>,
    /// Zoned model: `none`, `host-aware`, `host-managed`.
    pub zoned: Option<String>,
}

/// What a loop device stands on. Its page cache is a lower cache when [`LoopBacking::direct_io`] is off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LoopBacking {
    /// The backing file.
    pub file: String,
    /// Type of the file system holding it, when it could be found.
    pub fs_type: Option<String>,
    /// Where in the file the device starts.
    pub offset_bytes: Option<u64>,
    /// Whether the loop driver bypasses the page cache.
    pub direct_io: Option<bool>,
}

/// What a zram device does with its data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ZramDevice {
    /// Compression algorithm in use.
    pub compression: Option<String>,
}

/// Software RAID facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RaidArray {
    /// Level: `raid0`, `raid1`, `raid5`.
    pub level: Option<String>,
    /// Member count.
    pub members: Option<u64>,
    /// Chunk size.
    pub chunk_bytes: Option<u64>,
    /// Whether members are missing.
    pub degraded: Option<bool>,
    /// What the array does in the background: `idle`, `resync`, `check`.
    pub sync_action: Option<String>,
}
