//! Block devices from sysfs: what each is, and what lies below it.

use std::path::Path;

use assay_results::environment::{
    BlockDevice, DeviceKind, LoopBacking, RaidArray, RequestQueue, Transport, ZramDevice,
};

use crate::mounts::unescape;
use crate::root::{HostRoot, chosen};

mod chain;

pub(crate) use chain::{Chain, mount_of};

/// Size of the unit in which sysfs counts, whatever the device's own block size.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Names of all whole block devices (no partitions), sorted; loop and RAM devices of size 0 are left out.
pub fn list_block_devices(root: &HostRoot) -> Vec<String> {
    let mut names = root.names("/sys/block");
    names.retain(|name| root.number(format!("/sys/block/{name}/size")).unwrap_or(0_u64) > 0);
    names
}

/// What sysfs says of the block device with a kernel name. `None` when there is no such device.
pub fn read_block_device(root: &HostRoot, name: &str) -> Option<BlockDevice> {
    let class = format!("/sys/class/block/{name}");
    let number = root.nonempty_text(format!("{class}/dev"))?;
    let disk = disk_of_partition(root, name);
    // A partition has no queue and no device directory of its own.
    let whole = format!("/sys/class/block/{}", disk.as_deref().unwrap_or(name));
    let kind = kind_of(root, name, disk.is_some());
    let below = match &disk {
        Some(disk) => vec![disk.clone()],
        None => root.names(format!("{class}/slaves")),
    };
    let mapper_uuid = root.nonempty_text(format!("{class}/dm/uuid"));
    let loop_backing = loop_backing(root, &class);
    Some(BlockDevice {
        name: name.to_owned(),
        number: Some(number),
        kind,
        below,
        size_bytes: root.number(format!("{class}/size")).map(|sectors: u64| sectors * SECTOR_BYTES),
        start_bytes: root.number(format!("{class}/start")).map(|sectors: u64| sectors * SECTOR_BYTES),
        transport: transport(root, disk.as_deref().unwrap_or(name), &whole),
        model: root.nonempty_text(format!("{whole}/device/model")),
        vendor: root.nonempty_text(format!("{whole}/device/vendor")).filter(|v| !v.starts_with("0x")),
        firmware: ["firmware_rev", "rev", "fwrev"]
            .iter()
            .find_map(|file| root.nonempty_text(format!("{whole}/device/{file}"))),
        rotational: root.flag(format!("{whole}/queue/rotational")),
        read_only: root.flag(format!("{class}/ro")),
        queue: request_queue(root, &format!("{whole}/queue")),
        loop_backing,
        zram: (kind == DeviceKind::Zram).then(|| ZramDevice {
            compression: root.text(format!("{class}/comp_algorithm")).and_then(|list| chosen(&list)),
        }),
        mapper_name: root.nonempty_text(format!("{class}/dm/name")),
        mapper_subsystem: mapper_uuid.and_then(|uuid| uuid.split('-').next().map(str::to_owned)),
        raid: raid(root, &class),
    })
}

/// The kernel name of the device with this `MAJOR:MINOR`.
pub(crate) fn name_of_number(root: &HostRoot, number: &str) -> Option<String> {
    // The link is there on every kernel; the scan serves trees that were recorded without links.
    let linked = root
        .canonicalize(Path::new(&format!("/sys/dev/block/{number}")))
        .ok()
        .and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    linked.or_else(|| {
        root.names("/sys/class/block")
            .into_iter()
            .find(|name| root.text(format!("/sys/class/block/{name}/dev")).as_deref() == Some(number))
    })
}

/// The kernel name behind a device path such as `/dev/disk/by-id/..` or `/dev/mapper/..`.
pub(crate) fn name_of_path(root: &HostRoot, path: &str) -> Option<String> {
    let node = crate::node::Node::look_up(root, Path::new(path)).ok().flatten()?;
    name_of_number(root, node.number.as_deref()?)
}

/// The disk that a partition is on; `None` for whole devices.
pub(crate) fn disk_of_partition(root: &HostRoot, name: &str) -> Option<String> {
    if !root.exists(format!("/sys/class/block/{name}/partition")) {
        return None;
    }
    root.names("/sys/block")
        .into_iter()
        .find(|disk| root.exists(format!("/sys/block/{disk}/{name}/partition")))
}

/// The partitions of a whole device.
pub(crate) fn partitions_of(root: &HostRoot, name: &str) -> Vec<String> {
    let place = format!("/sys/block/{name}");
    let mut names = root.names(&place);
    names.retain(|entry| root.exists(format!("{place}/{entry}/partition")));
    names
}

fn kind_of(root: &HostRoot, name: &str, is_partition: bool) -> DeviceKind {
    let class = format!("/sys/class/block/{name}");
    if is_partition {
        DeviceKind::Partition
    } else if name.starts_with("loop") {
        DeviceKind::Loop
    } else if name.starts_with("zram") {
        DeviceKind::Zram
    } else if root.exists(format!("{class}/dm")) {
        DeviceKind::DeviceMapper
    } else if root.exists(format!("{class}/md")) {
        DeviceKind::Md
    } else if root.exists(format!("{class}/device")) {
        DeviceKind::Disk
    } else {
        DeviceKind::Other
    }
}

fn request_queue(root: &HostRoot, queue: &str) -> RequestQueue {
    let number = |file: &str| root.number::<u64>(format!("{queue}/{file}"));
    let kib = |file: &str| number(file).map(|kib| kib * 1024);
    RequestQueue {
        scheduler: root.text(format!("{queue}/scheduler")).and_then(|list| chosen(&list)),
        nr_requests: number("nr_requests"),
        write_back_cache: root.text(format!("{queue}/write_cache")).and_then(|text| match text.as_str() {
            "write back" => Some(true),
            "write through" => Some(false),
            _ => None,
        }),
        fua: root.flag(format!("{queue}/fua")),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        minimum_io_bytes: number("minimum_io_size"),
        optimal_io_bytes: number("optimal_io_size").filter(|&bytes| bytes > 0),
        max_request_bytes: kib("max_sectors_kb"),
        max_hardware_request_bytes: kib("max_hw_sectors_kb"),
        read_ahead_bytes: kib("read_ahead_kb"),
        max_discard_bytes: number("discard_max_bytes"),
        dax: root.flag(format!("{queue}/dax")),
        io_poll: root.flag(format!("{queue}/io_poll")),
        iostats: root.flag(format!("{queue}/iostats")),
        nomerges: number("nomerges"),
        wbt_latency_target_us: number("wbt_lat_usec"),
        zoned: root.nonempty_text(format!("{queue}/zoned")),
    }
}

fn loop_backing(root: &HostRoot, class: &str) -> Option<LoopBacking> {
    let file = root.nonempty_text(format!("{class}/loop/backing_file"))?;
    Some(LoopBacking {
        // The kernel escapes the path and appends " (deleted)" to one without a name.
        file: unescape(&file).to_string_lossy().into_owned(),
        fs_type: None,
        offset_bytes: root.number(format!("{class}/loop/offset")),
        direct_io: root.flag(format!("{class}/loop/dio")),
    })
}

fn raid(root: &HostRoot, class: &str) -> Option<RaidArray> {
    let level = root.nonempty_text(format!("{class}/md/level"))?;
    Some(RaidArray {
        level: Some(level),
        members: root.number(format!("{class}/md/raid_disks")),
        chunk_bytes: root.number(format!("{class}/md/chunk_size")).filter(|&bytes: &u64| bytes > 0),
        degraded: root.number(format!("{class}/md/degraded")).map(|missing: u64| missing > 0),
        sync_action: root.nonempty_text(format!("{class}/md/sync_action")),
    })
}

fn transport(root: &HostRoot, disk: &str, whole: &str) -> Option<Transport> {
    if disk.starts_with("nvme") {
        // With native multipath `device` is the subsystem, which has no transport; its controllers have.
        let direct = root.nonempty_text(format!("{whole}/device/transport"));
        let word = direct.or_else(|| {
            let controllers = root.names(format!("{whole}/device"));
            controllers
                .iter()
                .filter(|name| name.starts_with("nvme"))
                .find_map(|controller| root.nonempty_text(format!("{whole}/device/{controller}/transport")))
        })?;
        return match word.as_str() {
            "pcie" | "apple-nvme" => Some(Transport::NvmePcie),
            "tcp" => Some(Transport::NvmeTcp),
            "rdma" => Some(Transport::NvmeRdma),
            "fc" => Some(Transport::NvmeFc),
            _ => None,
        };
    }
    if let Some(transport) = transport_by_name(disk) {
        return Some(transport);
    }
    let path = root.canonicalize(Path::new(&format!("{whole}/device"))).ok()?;
    let path = path.to_string_lossy();
    transport_by_path(&path)
}

fn transport_by_name(disk: &str) -> Option<Transport> {
    const BY_PREFIX: &[(&str, Transport)] = &[
        ("zram", Transport::Memory),
        ("ram", Transport::Memory),
        ("pmem", Transport::Memory),
        ("nbd", Transport::Network),
        ("rbd", Transport::Network),
        ("drbd", Transport::Network),
        ("xvd", Transport::Xen),
        ("mmcblk", Transport::Mmc),
    ];
    BY_PREFIX.iter().find(|(prefix, _)| disk.starts_with(prefix)).map(|&(_, transport)| transport)
}

/// Where in the device tree a disk hangs; the order matters, for a USB bridge is a SCSI host too.
fn transport_by_path(path: &str) -> Option<Transport> {
    const BY_PART: &[(&str, Transport)] = &[
        ("/usb", Transport::Usb),
        ("/session", Transport::Iscsi),
        ("/virtio", Transport::Virtio),
        ("/vbd-", Transport::Xen),
        ("/vmbus", Transport::Vmbus),
        ("/VMBUS", Transport::Vmbus),
        ("/rport-", Transport::FibreChannel),
        ("/end_device-", Transport::Sas),
        ("/ata", Transport::Sata),
        ("/host", Transport::Scsi),
    ];
    BY_PART.iter().find(|(part, _)| path.contains(part)).map(|&(_, transport)| transport)
}

#[cfg(test)]
mod tests;
