use assay_results::environment::{Resolution, TargetKind, Turbo};

use super::*;
use crate::testing::FakeHost;

fn staged() -> FakeHost {
    let host = FakeHost::new();
    host.write("/proc/sys/kernel/hostname", "box\n");
    host.write("/proc/sys/kernel/osrelease", "6.12.0\n");
    host.write("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Example Linux 9\"\nASSAY_SUITE=3f9c\n");
    host.write("/proc/cmdline", "root=/dev/secret quiet mitigations=off nvme.poll_queues=4\n");
    host.write(
        "/proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast   CPU 3000\nflags\t\t: fpu constant_tsc nonstop_tsc\n\nprocessor\t: 1\n",
    );
    for cpu in 0..4 {
        let place = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        host.write(&format!("{place}/physical_package_id"), "0\n");
        host.write(&format!("{place}/core_id"), format!("{}\n", cpu / 2));
        host.write(&format!("/sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor"), "powersave\n");
    }
    host.write("/sys/devices/system/cpu/online", "0-3\n");
    host.write("/sys/devices/system/cpu/smt/active", "1\n");
    host.write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    host.write("/proc/self/status", "Name:\tx\nCpus_allowed_list:\t0,2\n");
    host.write(
        "/proc/meminfo",
        "MemTotal: 1000 kB\nMemAvailable: 600 kB\nHugePages_Total: 8\nHugepagesize: 2048 kB\n",
    );
    host.write("/proc/sys/vm/dirty_expire_centisecs", "3000\n");
    host.write("/proc/uptime", "123.45 200.0\n");
    host
}

#[test]
fn the_machine() {
    let machine = machine(&staged().root());
    assert_eq!(machine.os.as_deref(), Some("Example Linux 9"));
    assert_eq!(machine.suite.as_deref(), Some("3f9c"));
    assert_eq!(machine.kernel_arguments, ["mitigations=off", "nvme.poll_queues=4"]);
    let cpu = &machine.cpu;
    assert_eq!(cpu.model.as_deref(), Some("Fast CPU 3000"));
    assert_eq!((cpu.sockets, cpu.cores, cpu.online, cpu.allowed), (Some(1), Some(2), Some(4), Some(2)));
    assert_eq!(cpu.governors, ["powersave"]);
    assert_eq!((cpu.smt, cpu.turbo), (Some(true), Some(Turbo::Off)));
    assert_eq!(machine.memory.available_bytes, Some(600 * 1024));
    assert_eq!(machine.memory.huge_pages.total, Some(8));
    assert_eq!(machine.writeback.expire_ms, Some(30_000));
    assert_eq!(machine.clock.invariant_tsc, Some(true));
    assert_eq!(machine.virtualisation.virtual_machine, Some(false));
    assert_eq!(machine.uptime_s, Some(123));
}

#[test]
fn an_empty_tree_knows_nothing_and_says_so() {
    let machine = machine(&FakeHost::new().root());
    assert_eq!(machine.kernel_release, None);
    assert_eq!(machine.cpu.online, None);
    assert_eq!(machine.virtualisation.virtual_machine, None);
}

#[test]
fn hypervisors_and_containers() {
    let host = staged();
    host.write("/sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
    host.write("/proc/1/environ", "PATH=/bin\0container=podman\0");
    let found = machine(&host.root()).virtualisation;
    assert_eq!(found.hypervisor.as_deref(), Some("vmware"));
    assert_eq!(found.virtual_machine, Some(true));
    assert_eq!(found.container.as_deref(), Some("podman"));
    host.write("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    host.write("/sys/class/dmi/id/product_name", "m5.metal\n");
    assert_eq!(machine(&host.root()).virtualisation.virtual_machine, Some(false));
}

#[test]
fn a_block_device_target() {
    let host = FakeHost::new();
    host.disk("sdb", "8:16", 2048);
    host.symlink("/dev/disk/by-id/x", "/dev/sdb");
    let target = target(&host.root(), Path::new("/dev/disk/by-id/x"));
    assert_eq!(target.kind, TargetKind::BlockDevice);
    assert_eq!(target.canonical_path.as_deref(), Some("/dev/sdb"));
    assert_eq!(target.size_bytes, Some(1 << 20));
    assert!(target.file_system.is_none() && target.is_resolved());
}

#[test]
fn a_file_target_and_a_missing_one_beside_it() {
    let host = FakeHost::new();
    host.disk("sda", "8:0", 2048);
    host.mounts(&[("8:0", "/", "ext4", "/dev/sda", "rw,barrier=0")]);
    host.write("/data/file", vec![1_u8; 8192]);
    let file = target(&host.root(), Path::new("/data/file"));
    assert_eq!((file.kind, file.size_bytes), (TargetKind::File, Some(8192)));
    assert_eq!(file.extents.map(|e| e.data_bytes), Some(8192));
    let system = file.file_system.expect("a file system");
    assert!(system.flushes_disabled());
    assert_eq!((system.fs_type.as_str(), system.compresses), ("ext4", Some(false)));
    let missing = target(&host.root(), Path::new("/data/new/file"));
    assert_eq!(missing.kind, TargetKind::Missing);
    assert_eq!(missing.devices.len(), 1);
    assert_eq!(missing.file_system.map(|f| f.mount_point).as_deref(), Some("/"));
}

#[test]
fn compression_comes_from_the_mount_options() {
    let host = FakeHost::new();
    host.mkdir("/pool");
    for (options, expected) in [
        ("rw,compress=zstd:3", true),
        ("rw,compress-force=lzo", true),
        ("rw,compress=no", false),
        ("rw", false),
    ] {
        host.mounts(&[("0:44", "/pool", "btrfs", "/dev/sda", options)]);
        let system = target(&host.root(), Path::new("/pool")).file_system.expect("a file system");
        assert_eq!(system.compresses, Some(expected), "{options}");
    }
}

#[test]
fn this_machine_and_this_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let asked = [directory.path().to_owned(), PathBuf::from("/dev/null")];
    let environment = collect(&HostRoot::real(), AssayVersion::default(), &asked);
    assert!(environment.machine.kernel_release.is_some());
    assert!(environment.machine.memory.total_bytes.is_some_and(|bytes| bytes > 1 << 20));
    let system = environment.targets[0].file_system.as_ref().expect("a mounted file system");
    assert!(system.total_bytes.is_some_and(|total| Some(total) >= system.available_bytes));
    assert_eq!(environment.targets[1].kind, TargetKind::CharDevice);
    // Either the chain goes down to a device, or it says why not.
    match &environment.targets[0].resolution {
        Resolution::Resolved => assert!(environment.targets[0].bottom_devices().count() > 0),
        Resolution::NotResolvable { reason } => assert!(!reason.is_empty()),
    }
}
