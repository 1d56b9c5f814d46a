use super::*;
use crate::testing::FakeHost;
use crate::workdir::{WorkDir, claim_file, mark_file};

fn class(host: &FakeHost, path: &str) -> Class {
    classify(&host.root(), Path::new(path)).expect("examined")
}

fn check(host: &FakeHost, path: &str, consent: &[&str]) -> Result<Permit, Refusal> {
    let root = host.root();
    check_write(&root, Path::new(path), &Consent::naming(&root, consent))
}

/// A disk `sdb` with a partition `sdb1` and an unused disk `sdc`.
fn disks() -> FakeHost {
    let host = FakeHost::new();
    host.disk("sdb", "8:16", 128);
    host.partition("sdb", "sdb1", "8:17");
    host.disk("sdc", "8:32", 128);
    host.mounts(&[]);
    host
}

#[test]
fn an_unused_device_needs_consent_that_names_it() {
    let host = disks();
    let refused = check(&host, "/dev/sdc", &[]).expect_err("no consent");
    assert!(matches!(refused, Refusal::DeviceWithoutConsent { .. }));
    assert!(refused.to_string().ends_with("add --destroy-data /dev/sdc"), "{refused}");
    assert!(check(&host, "/dev/sdc", &["/dev/sdb", "/dev"]).is_err());
    let permit = check(&host, "/dev/sdc", &["/dev/sdc"]).expect("named");
    assert_eq!((permit.kind(), permit.exclusive()), (PermitKind::NamedDevice, true));
}

#[test]
fn links_name_what_they_lead_to() {
    let host = disks();
    host.symlink("/dev/disk/by-id/wwn-1", "/dev/sdc");
    let permit = check(&host, "/dev/sdc", &["/dev/disk/by-id/wwn-1"]).expect("named through the link");
    assert_eq!(permit.path(), Path::new("/dev/sdc"));
    assert!(check(&host, "/dev/disk/by-id/wwn-1", &["/dev/sdc"]).is_ok());
}

#[test]
fn a_mounted_device_is_refused_even_with_consent() {
    let host = disks();
    host.mounts(&[("8:17", "/data", "ext4", "/dev/sdb1", "rw")]);
    for path in ["/dev/sdb", "/dev/sdb1"] {
        let refused = check(&host, path, &[path]).expect_err("mounted");
        assert!(
            matches!(&refused, Refusal::Mounted { mount_point, .. } if mount_point == Path::new("/data"))
        );
    }
}

#[test]
fn a_mount_that_only_the_first_process_sees_counts() {
    let host = disks();
    host.write("/proc/1/mountinfo", "20 1 8:32 / /srv rw - xfs /dev/sdc rw\n");
    assert!(matches!(check(&host, "/dev/sdc", &["/dev/sdc"]), Err(Refusal::Mounted { .. })));
}

#[test]
fn members_of_a_mounted_btrfs_are_refused_all() {
    let host = disks();
    host.disk("sdd", "8:48", 128);
    host.mkdir("/sys/fs/btrfs/77-88/devices/sdc");
    host.mkdir("/sys/fs/btrfs/77-88/devices/sdd");
    host.mounts(&[("0:44", "/pool", "btrfs", "/dev/sdc", "rw")]);
    assert!(matches!(check(&host, "/dev/sdc", &["/dev/sdc"]), Err(Refusal::Mounted { .. })));
    let refused = check(&host, "/dev/sdd", &["/dev/sdd"]).expect_err("a member");
    assert!(refused.to_string().contains("btrfs 77-88"), "{refused}");
}

#[test]
fn held_devices_are_refused_and_so_are_partitions_of_a_held_disk() {
    let host = disks();
    host.mkdir("/sys/block/sdb/holders/md0");
    for path in ["/dev/sdb", "/dev/sdb1"] {
        let refused = check(&host, path, &[path]).expect_err("held");
        assert!(matches!(&refused, Refusal::Held { holder, .. } if holder == "md0"), "{refused}");
    }
    host.mkdir("/sys/block/sdc/holders/dm-3");
    assert!(matches!(check(&host, "/dev/sdc", &["/dev/sdc"]), Err(Refusal::Held { .. })));
}

#[test]
fn swap_is_refused_on_devices_and_in_files() {
    let host = disks();
    host.write("/var/swap file", "x");
    host.write(
        "/proc/swaps",
        "Filename\tType\tSize\n/dev/sdb1 partition 1 0 -2\n/var/swap\\040file file 1 0 -3\n",
    );
    assert!(matches!(check(&host, "/dev/sdb1", &["/dev/sdb1"]), Err(Refusal::Swap { .. })));
    assert!(matches!(check(&host, "/dev/sdb", &["/dev/sdb"]), Err(Refusal::Swap { .. })));
    assert!(matches!(check(&host, "/var/swap file", &["/var/swap file"]), Err(Refusal::Swap { .. })));
}

#[test]
fn signatures_and_partitions_are_refused() {
    let host = disks();
    assert!(matches!(check(&host, "/dev/sdb", &["/dev/sdb"]), Err(Refusal::Partitioned { .. })));
    let mut image = vec![0_u8; 64 * 1024];
    image[..6].copy_from_slice(b"LUKS\xba\xbe");
    host.write("/dev/sdc", &image);
    let refused = check(&host, "/dev/sdc", &["/dev/sdc"]).expect_err("encrypted");
    assert!(
        refused.to_string().contains("LUKS")
            && refused.to_string().contains("--destroy-data /dev/sdc --really")
    );
}

#[test]
fn a_device_that_is_not_set_up_is_refused() {
    let host = disks();
    host.write("/sys/block/sdc/size", "0\n");
    assert!(matches!(check(&host, "/dev/sdc", &["/dev/sdc"]), Err(Refusal::NoCapacity { .. })));
}

#[test]
fn a_read_only_device_is_refused() {
    let host = disks();
    host.write("/sys/block/sdc/ro", "1\n");
    assert!(matches!(check(&host, "/dev/sdc", &["/dev/sdc"]), Err(Refusal::ReadOnly { .. })));
}

#[test]
fn foreign_files_need_consent_and_a_directorys_consent_does_not_cover_them() {
    let host = FakeHost::new();
    host.write("/srv/db.img", "precious");
    assert_eq!(class(&host, "/srv/db.img"), Class::ForeignFile);
    assert!(matches!(check(&host, "/srv/db.img", &[]), Err(Refusal::ForeignFile { .. })));
    assert!(check(&host, "/srv/db.img", &["/srv"]).is_err());
    let permit = check(&host, "/srv/db.img", &["/srv/db.img"]).expect("named");
    assert_eq!((permit.kind(), permit.exclusive()), (PermitKind::NamedFile, false));
}

#[test]
fn our_own_files_need_none() {
    let host = FakeHost::new();
    host.mkdir("/srv");
    let work = WorkDir::create(&host.path("/srv/assay-run"), "1", "run").expect("made");
    host.write("/srv/assay-run/theirs", "x");
    let own = host.path("/srv/assay-run/file");
    claim_file(&std::fs::File::create_new(&own).expect("file"), &own).expect("claimed");
    assert_eq!(class(&host, "/srv/assay-run"), Class::AssayDirectory);
    assert_eq!(class(&host, "/srv/assay-run/file"), Class::AssayFile);
    assert_eq!(class(&host, "/srv/assay-run/theirs"), Class::ForeignFile);
    assert!(matches!(check(&host, "/srv/assay-run/theirs", &[]), Err(Refusal::ForeignFile { .. })));
    let permit = check(&host, "/srv/assay-run/file", &[]).expect("ours");
    assert_eq!(permit.kind(), PermitKind::OwnFile);
    host.write("/srv/precious", "x");
    host.symlink("/srv/assay-run/link", "/srv/precious");
    assert_eq!(class(&host, "/srv/assay-run/link"), Class::ForeignFile);
    drop(work);
}

#[test]
fn a_marked_file_is_ours_wherever_it_is() {
    let host = FakeHost::new();
    host.write("/srv/file", "x");
    let file = std::fs::File::open(host.path("/srv/file")).expect("open");
    let expected =
        if mark_file(&file).expect("marked or not") { Class::AssayFile } else { Class::ForeignFile };
    assert_eq!(class(&host, "/srv/file"), expected);
}

#[test]
fn the_backing_file_of_a_loop_device_is_refused() {
    let host = FakeHost::new();
    host.write("/images/disk.img", "x");
    host.write("/sys/block/loop4/loop/backing_file", "/images/disk.img\n");
    let refused = check(&host, "/images/disk.img", &["/images/disk.img"]).expect_err("in use");
    assert!(matches!(&refused, Refusal::LoopBacking { device, .. } if device == "loop4"));
}

#[test]
fn a_mistyped_device_does_not_become_a_file_in_memory() {
    let host = disks();
    for path in ["/dev/sdz", "/dev/disk/by-id/mistyped"] {
        assert!(matches!(check(&host, path, &[path]), Err(Refusal::NoSuchDevice { .. })), "{path}");
    }
    host.mkdir("/dev/shm");
    assert!(check(&host, "/dev/shm/file", &[]).is_ok());
}

#[test]
fn new_files_need_a_directory_that_stores_data() {
    let host = FakeHost::new();
    host.mkdir("/srv");
    host.mounts(&[("0:1", "/", "ext4", "x", "rw"), ("0:2", "/proc", "proc", "proc", "rw")]);
    let permit = check(&host, "/srv/new", &[]).expect("a new file");
    assert_eq!((permit.kind(), permit.exclusive()), (PermitKind::NewFile, true));
    assert!(matches!(check(&host, "/srv/no/new", &[]), Err(Refusal::NoParent { .. })));
    assert!(matches!(check(&host, "/proc/new", &[]), Err(Refusal::NotStorage { .. })));
    assert!(matches!(check(&host, "/proc", &[]), Err(Refusal::NotStorage { .. })));
    assert_eq!(check(&host, "/srv", &[]).expect("a directory").kind(), PermitKind::IntoDirectory);
}

#[test]
fn links_to_nothing_are_refused() {
    let host = FakeHost::new();
    host.symlink("/srv/link", "/srv/nothing");
    assert_eq!(class(&host, "/srv/link"), Class::DanglingLink);
    assert!(matches!(check(&host, "/srv/link", &["/srv/link"]), Err(Refusal::DanglingLink { .. })));
}

#[test]
fn character_devices_and_sockets() {
    let root = HostRoot::real();
    let class = |path: &Path| classify(&root, path).expect("examined");
    assert_eq!(class(Path::new("/dev/null")), Class::CharDevice { harmless: true });
    assert_eq!(class(Path::new("/dev/tty")), Class::CharDevice { harmless: false });
    let discard = check_write(&root, Path::new("/dev/null"), &Consent::none()).expect("harmless");
    assert_eq!(discard.kind(), PermitKind::Discard);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    assert_eq!(class(&path), Class::Special);
    let consent = Consent::naming(&root, [&path]);
    assert!(matches!(check_write(&root, &path, &consent), Err(Refusal::NotATarget { .. })));
}

#[test]
fn a_permit_is_for_what_was_checked_only() {
    let host = FakeHost::new();
    host.write("/srv/one", "1");
    host.write("/srv/two", "2");
    let open = |path: &str| std::fs::File::open(host.path(path)).expect("open");
    let permit = check(&host, "/srv/one", &["/srv/one"]).expect("named");
    assert!(permit.verify(&open("/srv/one")).is_ok());
    assert!(matches!(permit.verify(&open("/srv/two")), Err(Refusal::Changed { .. })));
    let new = check(&host, "/srv/new", &[]).expect("a new file");
    assert!(matches!(new.verify(&open("/srv/one")), Err(Refusal::Changed { .. })));
    host.write("/srv/new", "");
    assert!(new.verify(&open("/srv/new")).is_ok());
}

#[test]
fn an_interface_of_the_kernel_is_no_file_to_write_to() {
    let root = HostRoot::real();
    for path in ["/sys/kernel/uevent_seqnum", "/proc/sys/kernel/hostname"] {
        if Path::new(path).exists() {
            let refused = check_write(&root, Path::new(path), &Consent::naming(&root, [path]));
            assert!(matches!(refused, Err(Refusal::NotStorage { .. })), "{path}: {refused:?}");
        }
    }
}
