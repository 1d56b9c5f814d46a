//! Block devices and file systems, with what about them changes the meaning of a measurement.

use assay_results::environment::{BlockDevice, DeviceKind, FileSystem, Transport};

use super::sections::{Mark, Row, Section, row};
use crate::format;

/// Block devices, a row each.
pub fn block_devices(devices: &[BlockDevice]) -> Section {
    let rows = devices.iter().map(device).collect();
    Section { title: "Block devices".to_owned(), rows }
}

fn device(device: &BlockDevice) -> Row {
    let queue = &device.queue;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(device.model.clone().map(|model| model.trim().to_owned()).filter(|model| !model.is_empty()));
    parts.extend(device.size_bytes.map(format::bytes));
    parts.push(medium(device).to_owned());
    parts.extend(queue.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    parts.extend(queue.write_back_cache.map(|back| {
        if back { "write cache on (flushes go to the device)" } else { "no volatile write cache" }.to_owned()
    }));
    if device.read_only == Some(true) {
        parts.push("read only".to_owned());
    }
    let mut mark = Mark::Plain;
    let mut warn = |text: String| {
        parts.push(text);
        mark = Mark::Warn;
    };
    if let Some(backing) = &device.loop_backing {
        match backing.direct_io {
            Some(true) => warn(format!("a file ({}), opened directly", backing.file)),
            _ => warn(format!(
                "a file ({}) through the page cache: direct I/O on the device is served from memory below it",
                backing.file
            )),
        }
    }
    if device.kind == DeviceKind::Zram {
        warn("compressed memory: no medium behind it, and data that compresses costs less".to_owned());
    }
    if queue.iostats == Some(false) {
        warn("the kernel does not count its I/O: checks against the device are not possible".to_owned());
    }
    if device.raid.as_ref().is_some_and(|raid| raid.degraded == Some(true)) {
        warn("the array is degraded".to_owned());
    }
    row(&device.name, parts.join(", "), mark)
}

fn medium(device: &BlockDevice) -> &'static str {
    match (device.kind, device.transport, device.rotational) {
        (DeviceKind::Loop, ..) => "loop",
        (DeviceKind::Zram, ..) => "zram",
        (DeviceKind::DeviceMapper, ..) => "device mapper",
        (DeviceKind::Md, ..) => "software RAID",
        (_, Some(Transport::NvmePcie), _) => "NVMe",
        (_, Some(Transport::NvmeTcp | Transport::NvmeRdma | Transport::NvmeFc), _) => "NVMe over a network",
        (_, Some(Transport::Virtio | Transport::Xen | Transport::Vmbus), _) => "virtual",
        (_, Some(Transport::Iscsi | Transport::FibreChannel | Transport::Network), _) => "over a network",
        (_, Some(Transport::Usb), _) => "USB",
        (_, Some(Transport::Mmc), _) => "flash card",
        (_, Some(Transport::Memory), _) => "memory",
        (_, _, Some(true)) => "rotating",
        (_, _, Some(false)) => "solid state",
        (_, _, None) => "medium not known",
    }
}

/// File systems, a row each.
pub fn file_systems(systems: &[FileSystem]) -> Section {
    let rows = systems.iter().map(file_system).collect();
    Section { title: "File systems".to_owned(), rows }
}

fn file_system(system: &FileSystem) -> Row {
    let mut parts = vec![format!("{} on {}", system.fs_type, system.source)];
    if let (Some(free), Some(total)) = (system.available_bytes, system.total_bytes) {
        parts.push(format!("{} of {} free", format::bytes(free), format::bytes(total)));
    }
    let consequences = consequences(system);
    let mark = if consequences.is_empty() { Mark::Plain } else { Mark::Warn };
    parts.extend(consequences);
    row(&system.mount_point, parts.join(", "), mark)
}

/// What mount options and the kind of file system do to a measurement.
fn consequences(system: &FileSystem) -> Vec<String> {
    let mut found = Vec::new();
    let mut say = |text: &str| found.push(text.to_owned());
    match system.fs_type.as_str() {
        "tmpfs" | "ramfs" => say("memory, not storage"),
        "overlay" => say("a layer over another file system: first writes to a file copy it"),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "ceph" | "lustre" => {
            say("the server's cache is out of sight from here");
        }
        other if other.starts_with("fuse") => say("each I/O passes through a process"),
        _ => {}
    }
    if system.has_option("ro") {
        say("read only");
    }
    if system.flushes_disabled() {
        say("nobarrier: flushes do not reach the device, durable writes are not durable");
    }
    if system.has_option("sync") {
        say("sync: every write is synchronous");
    }
    if system.option("data") == Some("journal") {
        say("data=journal: every write is written twice, direct I/O is not direct");
    }
    if system.option("data") == Some("writeback") {
        say("data=writeback: not ordered with the journal");
    }
    if system.compresses == Some(true) {
        say("compresses: data that compresses costs less");
    }
    if system.has_option("dax") || system.option("dax") == Some("always") {
        say("dax: no page cache and no block layer");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_results::environment::{LoopBacking, RequestQueue};

    #[test]
    fn a_loop_device_through_the_page_cache_is_a_warning() {
        let backing =
            LoopBacking { file: "/img".to_owned(), direct_io: Some(false), ..LoopBacking::default() };
        let buffered = BlockDevice {
            name: "loop0".to_owned(),
            kind: DeviceKind::Loop,
            size_bytes: Some(1 << 30),
            loop_backing: Some(backing),
            ..BlockDevice::default()
        };
        let (_, text, mark) = device(&buffered);
        assert_eq!(mark, Mark::Warn);
        assert!(text.contains("served from memory below it"), "{text}");
    }

    #[test]
    fn a_disk_tells_scheduler_and_write_cache() {
        let disk = BlockDevice {
            name: "sda".to_owned(),
            model: Some("ST4000 ".to_owned()),
            size_bytes: Some(4 << 40),
            rotational: Some(true),
            queue: RequestQueue {
                scheduler: Some("mq-deadline".to_owned()),
                write_back_cache: Some(true),
                ..RequestQueue::default()
            },
            ..BlockDevice::default()
        };
        let expected =
            "ST4000, 4 TiB, rotating, scheduler mq-deadline, write cache on (flushes go to the device)";
        assert_eq!(device(&disk), ("sda".to_owned(), expected.to_owned(), Mark::Plain));
    }

    #[test]
    fn mount_options_of_consequence_are_told() {
        let mut system = FileSystem { fs_type: "xfs".to_owned(), ..FileSystem::default() };
        assert!(consequences(&system).is_empty());
        system.options.insert("nobarrier".to_owned(), None);
        system.options.insert("ro".to_owned(), None);
        let found = consequences(&system);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].contains("not durable"));
    }
}
