use std::fs;

use super::*;
use crate::testing::FakeHost;

fn staged() -> FakeHost {
    let host = FakeHost::new();
    host.write("/proc/sys/kernel/osrelease", "6.8.0-1-generic\n");
    host.write("/proc/sys/kernel/io_uring_disabled", "0\n");
    host.write("/proc/sys/fs/aio-max-nr", "65536\n");
    host.write("/proc/sys/fs/aio-nr", "0\n");
    host.write("/proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n");
    host.write(
        "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n\
         Max open files            1024                 524288               files\n\
         Max locked memory         65536                unlimited            bytes\n",
    );
    host
}

fn offer(host: &FakeHost, engine: &str) -> Offer {
    let inventory = collect(&host.root(), None);
    inventory.engines.into_iter().find(|offer| offer.engine == engine).expect("listed").offer
}

fn reason(offer: &Offer) -> &str {
    match offer {
        Offer::Usable => "",
        Offer::Limited { reason, .. } | Offer::Unusable { reason, .. } => reason,
    }
}

#[test]
fn an_open_kernel_offers_the_engines() {
    let host = staged();
    for engine in ["io_uring", "libaio", "psync", "null"] {
        assert_eq!(offer(&host, engine), Offer::Usable, "{engine}");
    }
    assert!(matches!(offer(&host, "fio"), Offer::Unusable { .. }));
}

#[test]
fn io_uring_that_is_switched_off() {
    let host = staged();
    host.write("/proc/sys/kernel/io_uring_disabled", "2\n");
    assert!(matches!(offer(&host, "io_uring"), Offer::Unusable { .. }));
    host.write("/proc/sys/kernel/io_uring_disabled", "1\n");
    host.write("/proc/sys/kernel/io_uring_group", "-1\n");
    assert!(reason(&offer(&host, "io_uring")).contains("CAP_SYS_ADMIN"));
    host.write("/proc/self/status", "CapEff:\t000001ffffffffff\n");
    assert_eq!(offer(&host, "io_uring"), Offer::Usable);
}

#[test]
fn io_uring_on_old_kernels_and_behind_filters() {
    let host = staged();
    host.write("/proc/sys/kernel/osrelease", "4.18.0-553.el8\n");
    assert!(matches!(offer(&host, "io_uring"), Offer::Unusable { .. }));
    host.write("/proc/sys/kernel/osrelease", "5.4.0\n");
    assert!(reason(&offer(&host, "io_uring")).contains("5.6"));
    host.write("/proc/sys/kernel/osrelease", "5.10.0\n");
    assert!(reason(&offer(&host, "io_uring")).contains("locked memory"));
    host.write("/proc/sys/kernel/osrelease", "6.8.0\n");
    host.write("/proc/self/status", "Seccomp:\t2\n");
    assert!(matches!(offer(&host, "io_uring"), Offer::Limited { .. }));
}

#[test]
fn libaio_without_requests() {
    let host = staged();
    host.write("/proc/sys/fs/aio-nr", "65000\n");
    assert!(reason(&offer(&host, "libaio")).contains("536 of 65536"));
    fs::remove_file(host.path("/proc/sys/fs/aio-max-nr")).expect("removed");
    assert!(matches!(offer(&host, "libaio"), Offer::Unusable { .. }));
}

#[test]
fn limits_and_privileges() {
    let host = staged();
    host.write("/proc/self/status", "Uid:\t1000\t0\t0\t0\nCapEff:\t0000000000204000\nSeccomp:\t2\n");
    let inventory = collect(&host.root(), None);
    assert_eq!(inventory.limits.open_files, Some(Limit { soft: Some(1024), hard: Some(524_288) }));
    assert_eq!(inventory.limits.locked_memory_bytes, Some(Limit { soft: Some(65536), hard: None }));
    assert_eq!(inventory.limits.processes, None);
    let privileges = inventory.privileges;
    assert_eq!(privileges.effective_uid, Some(0));
    assert_eq!((privileges.sys_admin, privileges.ipc_lock), (Some(true), Some(true)));
    assert_eq!((privileges.sys_nice, privileges.seccomp_filter), (Some(false), Some(true)));
    assert_eq!(privileges.drop_caches, None);
}

#[test]
fn helpers_are_found_on_the_search_path_when_they_can_run() {
    let host = staged();
    host.write("/opt/a/fio", "x");
    host.write("/opt/b/fio", "x");
    fs::set_permissions(host.path("/opt/b/fio"), fs::Permissions::from_mode(0o755)).expect("mode");
    let inventory = collect(&host.root(), Some(OsStr::new("/opt/a:relative:/opt/b")));
    let fio = inventory.helpers.iter().find(|helper| helper.name == "fio").expect("listed");
    assert_eq!(fio.path.as_deref(), Some("/opt/b/fio"));
    assert!(inventory.helpers.iter().any(|helper| helper.name == "ssh" && helper.path.is_none()));
}

#[test]
fn devices_and_places_to_measure() {
    let host = staged();
    host.disk("sda", "8:0", 100);
    host.mkdir("/data");
    host.mkdir("/run");
    host.mkdir("/sys/fs/cgroup");
    host.write("/etc/hosts", "x");
    host.mounts(&[
        ("8:0", "/data", "ext4", "/dev/sda", "rw"),
        ("8:0", "/etc/hosts", "ext4", "/dev/sda", "rw"),
        ("0:5", "/proc", "proc", "proc", "rw"),
        ("0:6", "/run", "tmpfs", "tmpfs", "rw"),
        ("0:7", "/sys/fs/cgroup", "tmpfs", "tmpfs", "rw"),
        ("8:16", "/data", "xfs", "/dev/sdb", "rw"),
    ]);
    let inventory = collect(&host.root(), None);
    assert_eq!(inventory.block_devices.len(), 1);
    let places: Vec<_> =
        inventory.file_systems.iter().map(|f| (f.mount_point.as_str(), f.fs_type.as_str())).collect();
    assert_eq!(places, [("/run", "tmpfs"), ("/data", "xfs")]);
}

#[test]
fn this_machine() {
    let inventory = collect(&HostRoot::real(), std::env::var_os("PATH").as_deref());
    assert!(inventory.limits.open_files.is_some());
    assert!(inventory.privileges.effective_uid.is_some());
    assert_eq!(inventory.engines[0].engine, "io_uring");
    serde_json::to_string(&inventory).expect("plain data");
}
