use assay_results::environment::{BlockDevice, Resolution};

use super::*;
use crate::mounts::MountTable;
use crate::testing::FakeHost;

/// Follows the mount that holds `path`.
fn chain_of(host: &FakeHost, path: &str) -> (Vec<BlockDevice>, Resolution) {
    let root = host.root();
    let mounts = MountTable::read(&root);
    let mut chain = Chain::new(&root, &mounts);
    chain.follow_mount(mounts.holding(Path::new(path)).expect("a mount"));
    chain.finish()
}

fn names(devices: &[BlockDevice]) -> Vec<&str> {
    devices.iter().map(|d| d.name.as_str()).collect()
}

fn reason(resolution: &Resolution) -> &str {
    match resolution {
        Resolution::Resolved => "",
        Resolution::NotResolvable { reason } => reason,
    }
}

#[test]
fn a_partition_leads_to_its_disk_and_shares_its_queue() {
    let host = FakeHost::new();
    host.disk("sda", "8:0", 1_000_000);
    host.partition("sda", "sda1", "8:1");
    host.write("/sys/block/sda/queue/scheduler", "none [mq-deadline]\n");
    host.write("/sys/block/sda/queue/write_cache", "write back\n");
    host.write("/sys/block/sda/queue/rotational", "1\n");
    host.write("/sys/block/sda/queue/iostats", "0\n");
    host.write("/sys/block/sda/queue/max_sectors_kb", "1280\n");
    host.mounts(&[("8:1", "/", "ext4", "/dev/sda1", "rw")]);
    let (devices, resolution) = chain_of(&host, "/data");
    assert_eq!(names(&devices), ["sda1", "sda"]);
    assert_eq!(resolution, Resolution::Resolved);
    assert_eq!(devices[0].below, ["sda"]);
    assert_eq!(devices[0].start_bytes, Some(2048 * 512));
    assert_eq!(devices[0].queue, devices[1].queue);
    assert_eq!(devices[1].queue.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(devices[1].queue.write_back_cache, Some(true));
    assert_eq!(devices[1].queue.max_request_bytes, Some(1280 * 1024));
    assert_eq!((devices[1].rotational, devices[1].queue.iostats), (Some(true), Some(false)));
    assert_eq!(devices[1].size_bytes, Some(512_000_000));
}

#[test]
fn a_logical_volume_on_raid_is_listed_upper_first_even_where_ways_meet() {
    let host = FakeHost::new();
    for (name, number) in
        [("sda", "8:0"), ("sdb", "8:16"), ("md0", "9:0"), ("dm-0", "253:0"), ("dm-1", "253:1")]
    {
        host.disk(name, number, 100);
    }
    host.write("/sys/block/md0/md/level", "raid1\n");
    host.write("/sys/block/md0/md/degraded", "1\n");
    host.mkdir("/sys/block/md0/slaves/sda");
    host.mkdir("/sys/block/md0/slaves/sdb");
    // dm-1 stands on dm-0 and on md0, dm-0 on md0: md0 must come after both.
    host.mkdir("/sys/block/dm-1/slaves/dm-0");
    host.mkdir("/sys/block/dm-1/slaves/md0");
    host.mkdir("/sys/block/dm-0/slaves/md0");
    host.write("/sys/block/dm-1/dm/name", "vg-data\n");
    host.write("/sys/block/dm-1/dm/uuid", "LVM-abcdef\n");
    host.mounts(&[("253:1", "/data", "xfs", "/dev/mapper/vg-data", "rw")]);
    let (devices, resolution) = chain_of(&host, "/data");
    assert_eq!(names(&devices), ["dm-1", "dm-0", "md0", "sda", "sdb"]);
    assert_eq!(resolution, Resolution::Resolved);
    assert_eq!(devices[0].mapper_subsystem.as_deref(), Some("LVM"));
    assert_eq!(devices[2].raid.as_ref().and_then(|r| r.degraded), Some(true));
}

#[test]
fn a_loop_device_leads_through_its_backing_file() {
    let host = FakeHost::new();
    host.disk("vda", "254:0", 100);
    host.disk("loop3", "7:3", 50);
    host.write("/sys/block/loop3/loop/backing_file", "/images/a\\040b.img\n");
    host.write("/sys/block/loop3/loop/dio", "0\n");
    host.write("/images/a b.img", "x");
    host.mounts(&[
        ("254:0", "/", "ext4", "/dev/vda", "rw"),
        ("7:3", "/mnt", "btrfs", "/dev/loop3", "rw,compress=zstd:3"),
    ]);
    let (devices, resolution) = chain_of(&host, "/mnt/file");
    assert_eq!(names(&devices), ["loop3", "vda"]);
    assert_eq!(resolution, Resolution::Resolved);
    let backing = devices[0].loop_backing.as_ref().expect("a loop device");
    assert_eq!((backing.file.as_str(), backing.direct_io), ("/images/a b.img", Some(false)));
    assert_eq!((backing.fs_type.as_deref(), &devices[0].below[..]), (Some("ext4"), &["vda".to_owned()][..]));
}

#[test]
fn a_loop_device_on_tmpfs_is_not_resolved_but_listed() {
    let host = FakeHost::new();
    host.disk("loop0", "7:0", 50);
    host.write("/sys/block/loop0/loop/backing_file", "/dev/shm/x.img\n");
    host.write("/dev/shm/x.img", "x");
    host.mounts(&[("0:20", "/dev/shm", "tmpfs", "tmpfs", "rw"), ("7:0", "/mnt", "ext4", "/dev/loop0", "rw")]);
    let (devices, resolution) = chain_of(&host, "/mnt");
    assert_eq!(names(&devices), ["loop0"]);
    assert!(reason(&resolution).contains("tmpfs keeps its data in memory"), "{resolution:?}");
}

#[test]
fn btrfs_names_all_its_members() {
    let host = FakeHost::new();
    host.disk("sda", "8:0", 100);
    host.disk("sdb", "8:16", 100);
    host.disk("sdc", "8:32", 100);
    host.mkdir("/sys/fs/btrfs/features");
    host.mkdir("/sys/fs/btrfs/1234-aa/devices/sda");
    host.mkdir("/sys/fs/btrfs/1234-aa/devices/sdc");
    host.mounts(&[("0:44", "/pool", "btrfs", "/dev/sda", "rw,subvol=/")]);
    let (devices, resolution) = chain_of(&host, "/pool/f");
    assert_eq!(names(&devices), ["sda", "sdc"]);
    assert_eq!(resolution, Resolution::Resolved);
}

#[test]
fn an_overlay_leads_to_the_file_system_of_its_upper_directory() {
    let host = FakeHost::new();
    host.disk("vda", "254:0", 100);
    host.mkdir("/var/upper");
    host.mounts(&[
        ("254:0", "/", "ext4", "/dev/vda", "rw"),
        ("0:50", "/merged", "overlay", "overlay", "rw,lowerdir=/l,upperdir=/var/upper,workdir=/w"),
    ]);
    assert_eq!(names(&chain_of(&host, "/merged/f").0), ["vda"]);
}

#[test]
fn an_overlay_inside_a_container_says_why_it_cannot_be_followed() {
    let host = FakeHost::new();
    host.mkdir("/var/upper");
    host.mounts(&[("0:50", "/", "overlay", "overlay", "rw,upperdir=/var/upper,workdir=/w")]);
    assert!(reason(&chain_of(&host, "/f").1).contains("upper directory"));
    host.mounts(&[("0:50", "/", "overlay", "overlay", "rw,upperdir=/host/only,workdir=/w")]);
    assert!(reason(&chain_of(&host, "/f").1).contains("/host/only"));
}

#[test]
fn network_and_fuse_file_systems_say_why() {
    let host = FakeHost::new();
    for (kind, word) in [("nfs4", "other hosts"), ("fuse.sshfs", "process"), ("virtiofs", "machine below")] {
        host.mounts(&[("0:60", "/far", kind, "server:/export", "rw")]);
        let (devices, resolution) = chain_of(&host, "/far/x");
        assert!(devices.is_empty());
        assert!(reason(&resolution).contains(word), "{kind}: {resolution:?}");
    }
}

#[test]
fn transports() {
    let host = FakeHost::new();
    host.disk("nvme0n1", "259:0", 100);
    host.write("/sys/block/nvme0n1/device/transport", "pcie\n");
    host.write("/sys/block/nvme0n1/device/model", "FAST 9000   \n");
    host.write("/sys/block/nvme0n1/device/firmware_rev", "1.2\n");
    host.disk("sdb", "8:16", 100);
    host.mkdir("/sys/devices/pci0/ata3/host2/target2:0:0/2:0:0:0");
    host.symlink("/sys/block/sdb/device", "/sys/devices/pci0/ata3/host2/target2:0:0/2:0:0:0");
    host.disk("zram0", "252:0", 100);
    host.write("/sys/block/zram0/comp_algorithm", "lzo [lz4] zstd\n");
    let read = |name| read_block_device(&host.root(), name).expect("a device");
    let nvme = read("nvme0n1");
    assert_eq!(nvme.transport, Some(Transport::NvmePcie));
    assert_eq!((nvme.model.as_deref(), nvme.firmware.as_deref()), (Some("FAST 9000"), Some("1.2")));
    assert_eq!(read("sdb").transport, Some(Transport::Sata));
    assert_eq!(read("sdb").kind, DeviceKind::Disk);
    let zram = read("zram0");
    assert_eq!(zram.zram.and_then(|z| z.compression).as_deref(), Some("lz4"));
    assert_eq!(zram.transport, Some(Transport::Memory));
    assert!(read_block_device(&host.root(), "sdz").is_none());
}

#[test]
fn multipath_nvme_takes_its_transport_from_a_controller() {
    let host = FakeHost::new();
    host.disk("nvme1n1", "259:5", 100);
    host.write("/sys/block/nvme1n1/device/nvme1/transport", "tcp\n");
    let device = read_block_device(&host.root(), "nvme1n1").expect("a device");
    assert_eq!(device.transport, Some(Transport::NvmeTcp));
}

#[test]
fn empty_devices_are_not_listed() {
    let host = FakeHost::new();
    host.disk("sda", "8:0", 100);
    host.disk("loop0", "7:0", 0);
    assert_eq!(list_block_devices(&host.root()), ["sda"]);
}
