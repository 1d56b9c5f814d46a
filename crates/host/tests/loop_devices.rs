//! The guard, the chain and the counters on real loop devices, mounts and signatures.
//!
//! Needs root and losetup; without them each test prints that it is skipped. Only devices made here are
//! touched.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_host::counters::{Sampler, Selection};
use assay_host::guard::{Class, Consent, Permit, PermitKind, Refusal, check_write, classify, open_again};
use assay_host::workdir::{WorkDir, claim_file};
use assay_host::{HostRoot, cleanup, environment};
use assay_results::counters::Counters;
use assay_results::environment::{DeviceKind, TargetKind};

const MIB: u64 = 1 << 20;

/// Runs a command; its standard output when it succeeds.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn skip(needs: &str) {
    // Not println: the line is wanted although the test passes.
    writeln!(std::io::stdout(), "skip: needs {needs}").expect("standard output");
}

/// Looking for a free loop device claims others for a moment, which another test may do just now.
fn open_exclusively(path: &Path) -> File {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(rustix::fs::OFlags::EXCL.bits() as i32);
    for _ in 0..50 {
        if let Ok(file) = options.open(path) {
            return file;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    options.open(path).expect("an exclusive open")
}

/// A loop device over a file of its own; both go when it is dropped.
struct LoopDevice {
    directory: tempfile::TempDir,
    image: PathBuf,
    device: String,
    mounts: Vec<PathBuf>,
}

impl LoopDevice {
    /// `None`, with a printed line, when this machine cannot do it.
    fn attach() -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let image = directory.path().join("image");
        File::create(&image).and_then(|file| file.set_len(400 * MIB)).expect("an image");
        let path = image.to_str().expect("plain path");
        let Some(device) = run("losetup", &["--find", "--show", path]) else {
            skip("root and losetup");
            return None;
        };
        forget_partitions(&device);
        let image = fs::canonicalize(&image).expect("canonical");
        Some(Self { directory, image, device, mounts: Vec::new() })
    }

    /// Whether the file system could be made; prints why not.
    fn format(&self, tool: &str, arguments: &[&str]) -> bool {
        let made = run(tool, &[arguments, &[self.device.as_str()]].concat()).is_some();
        if !made {
            skip(tool);
        }
        made
    }

    fn mount(&mut self) -> PathBuf {
        let point = self.directory.path().join("mnt");
        fs::create_dir(&point).expect("mount point");
        run("mount", &[&self.device, point.to_str().expect("plain path")]).expect("mounted");
        self.mounts.push(point.clone());
        fs::canonicalize(point).expect("canonical")
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    fn check(&self) -> Result<Permit, Refusal> {
        self.check_with(false)
    }

    fn check_with(&self, really: bool) -> Result<Permit, Refusal> {
        let root = HostRoot::real();
        let consent = Consent::naming(&root, [&self.device]).really(really);
        check_write(&root, Path::new(&self.device), &consent)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) {
        let device = OpenOptions::new().write(true).open(&self.device).expect("the device");
        device.write_all_at(bytes, offset).expect("written");
        device.sync_all().expect("on the device");
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for point in &self.mounts {
            run("umount", &[point.to_str().unwrap_or_default()]);
        }
        forget_partitions(&self.device);
        run("losetup", &["-d", &self.device]);
    }
}

/// A loop device keeps the partitions that somebody added to the file it was over before, which makes it one in use.
fn forget_partitions(device: &str) {
    run("partx", &["--delete", device]);
}

#[test]
fn an_empty_device_is_permitted_to_its_name_only() {
    let Some(device) = LoopDevice::attach() else { return };
    let root = HostRoot::real();
    let refused = check_write(&root, Path::new(&device.device), &Consent::none()).expect_err("no consent");
    assert!(matches!(refused, Refusal::DeviceWithoutConsent { .. }), "{refused}");
    let permit = device.check().expect("named and unused");
    assert_eq!(permit.kind(), PermitKind::NamedDevice);
    let open = open_exclusively(permit.path());
    permit.verify(&open).expect("the same device");
    assert!(matches!(permit.verify(&File::open("/dev/null").expect("open")), Err(Refusal::Changed { .. })));
    // While it is ours, it is nobody else's.
    let refused = device.check().expect_err("claimed");
    assert!(matches!(refused, Refusal::Busy { .. }), "{refused}");
    drop(open);
    assert!(device.check().is_ok());
}

#[test]
fn another_disk_with_the_number_is_not_the_one_that_was_permitted() {
    let Some(device) = LoopDevice::attach() else { return };
    let permit = device.check().expect("named and unused");
    open_again(&HostRoot::real(), &permit).expect("the same");
    let other = device.directory.path().join("other");
    fs::copy(&device.image, &other).expect("copied");
    run("losetup", &["-d", &device.device]).expect("detached");
    if run("losetup", &[&device.device, other.to_str().expect("plain path")]).is_none() {
        return skip("root and losetup");
    }
    let refused = open_again(&HostRoot::real(), &permit).expect_err("another one");
    assert!(matches!(refused, Refusal::Changed { .. }), "{refused}");
}

#[test]
fn the_image_below_is_refused() {
    let Some(device) = LoopDevice::attach() else { return };
    let root = HostRoot::real();
    let refused =
        check_write(&root, &device.image, &Consent::naming(&root, [&device.image])).expect_err("in use");
    assert!(
        matches!(&refused, Refusal::LoopBacking { device: name, .. } if name == device.name()),
        "{refused}"
    );
}

#[test]
fn a_file_system_is_refused_mounted_or_not() {
    let Some(mut device) = LoopDevice::attach() else { return };
    if !device.format("mkfs.ext4", &["-q"]) {
        return;
    }
    let refused = device.check().expect_err("formatted");
    assert!(
        matches!(refused, Refusal::Signature { ref signature, .. } if signature == "ext2/3/4"),
        "{refused}"
    );
    let point = device.mount();
    let refused = device.check().expect_err("mounted");
    assert!(matches!(&refused, Refusal::Mounted { mount_point, .. } if *mount_point == point), "{refused}");
}

#[test]
fn signatures_that_real_tools_leave_are_recognised() {
    let tools: [(&str, &[&str], &str); 4] = [
        ("mkfs.ext4", &["-q", "-F"], "ext2/3/4"),
        ("mkfs.btrfs", &["-q", "-f"], "btrfs"),
        ("mkfs.xfs", &["-q", "-f"], "xfs"),
        ("mkswap", &[], "swap"),
    ];
    for (tool, arguments, expected) in tools {
        let Some(device) = LoopDevice::attach() else { return };
        // A tool that is missing or fails leaves nothing to recognise.
        if !device.format(tool, arguments) {
            continue;
        }
        let refused = device.check().expect_err("formatted");
        assert!(
            matches!(&refused, Refusal::Signature { signature, .. } if *signature == expected),
            "{refused}"
        );
        // The remedy that the message names does help.
        if run("wipefs", &["-a", &device.device]).is_some() {
            match device.check() {
                // Of a copy it does not know.
                Err(Refusal::Signature { signature, .. }) if signature.contains("a copy") => {}
                after => assert!(after.is_ok(), "{tool} after wipefs: {after:?}"),
            }
        }
    }
}

#[test]
fn what_only_libblkid_knows_is_refused() {
    // A romfs header, and the first label of a Sun disk: formats that the table of our own has not.
    let Some(device) = LoopDevice::attach() else { return };
    device.write_at(0, b"-rom1fs-\0\0\x01\0\0\0\0\0name\0");
    let refused = device.check().expect_err("a file system");
    assert!(matches!(&refused, Refusal::Signature { signature, .. } if signature == "romfs"), "{refused}");
    assert!(device.check_with(true).is_ok(), "consent to what it carries");
}

#[test]
fn a_copy_of_a_superblock_outlives_an_overwritten_start() {
    for (tool, arguments, expected) in [
        ("mkfs.ext4", &["-q", "-F"][..], "ext2/3/4 (a copy"),
        ("mkfs.xfs", &["-q", "-f"], "xfs (a copy"),
        ("mkfs.btrfs", &["-q", "-f"], "btrfs (a copy"),
    ] {
        let Some(device) = LoopDevice::attach() else { return };
        if !device.format(tool, arguments) {
            continue;
        }
        device.write_at(0, &vec![0; 4 << 20]);
        let refused = device.check().expect_err("a copy is left");
        assert!(
            matches!(&refused, Refusal::Signature { signature, .. } if signature.starts_with(expected)),
            "{tool}: {refused}"
        );
        assert!(device.check_with(true).is_ok(), "{tool}: consent to what it carries");
    }
}

#[test]
fn a_device_that_a_process_has_open_is_refused_whatever_was_agreed_to() {
    let Some(device) = LoopDevice::attach() else { return };
    let sleeper = |flags: &str| {
        let script = format!("exec 9{flags}'{}'; echo ready; exec sleep 60", device.device);
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("sh");
        let mut line = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(child.stdout.take().expect("piped")),
            &mut line,
        )
        .expect("ready");
        child
    };
    for flags in ["<", "<>"] {
        let mut child = sleeper(flags);
        let refused = device.check_with(true).expect_err("open elsewhere").to_string();
        child.kill().and_then(|()| child.wait()).expect("killed");
        assert!(refused.contains(&format!("is open in process {} (sleep)", child.id())), "{refused}");
        assert!(device.check().is_ok(), "not any more");
    }
}

#[test]
fn no_consent_covers_a_mounted_device() {
    let Some(mut device) = LoopDevice::attach() else { return };
    if !device.format("mkfs.ext4", &["-q"]) {
        return;
    }
    device.mount();
    assert!(matches!(device.check_with(true), Err(Refusal::Mounted { .. })));
}

#[test]
fn the_chain_leads_from_a_file_through_the_loop_device() {
    let Some(mut device) = LoopDevice::attach() else { return };
    if !device.format("mkfs.ext4", &["-q"]) {
        return;
    }
    let point = device.mount();
    let file = point.join("file");
    fs::write(&file, vec![1; 64 * 1024]).expect("written");
    let target = environment::target(&HostRoot::real(), &file);
    assert_eq!(target.kind, TargetKind::File);
    let top = target.devices.first().expect("a device");
    assert_eq!((top.name.as_str(), top.kind), (device.name(), DeviceKind::Loop));
    let backing = top.loop_backing.as_ref().expect("a loop device");
    assert_eq!(Path::new(&backing.file), device.image);
    assert_eq!(backing.direct_io, Some(false));
    let system = target.file_system.expect("a file system");
    assert_eq!((system.fs_type.as_str(), Path::new(&system.mount_point)), ("ext4", point.as_path()));
    let raw = environment::target(&HostRoot::real(), Path::new(&device.device));
    assert_eq!((raw.kind, raw.size_bytes), (TargetKind::BlockDevice, Some(400 * MIB)));
}

#[test]
fn writes_show_in_the_counters_of_the_device() {
    let Some(device) = LoopDevice::attach() else { return };
    let selection = Selection { devices: vec![device.name().to_owned()], ..Selection::default() };
    let mut sampler = Sampler::new(&HostRoot::real(), &selection);
    let before = sampler.snapshot();
    let permit = device.check().expect("unused");
    let file = OpenOptions::new().write(true).open(permit.path()).expect("open");
    file.write_all_at(&vec![5; 8 * MIB as usize], 0).expect("written");
    file.sync_all().expect("flushed");
    let span = Counters::delta(&before, &sampler.snapshot());
    let counters = span.device(device.name()).expect("sampled");
    assert_eq!(counters.write_bytes, 8 * MIB);
    assert!(counters.writes > 0 && counters.time_weighted_depth().is_some());
}

#[test]
fn cleanup_stops_at_mount_points() {
    let Some(mut device) = LoopDevice::attach() else { return };
    let base = tempfile::tempdir().expect("a directory");
    let path = base.path().join("assay-run");
    drop(WorkDir::create(&path, "1", "test").expect("made"));
    let outside = base.path().join("outside");
    fs::create_dir(&outside).expect("directory");
    fs::write(outside.join("precious"), "x").expect("file");
    // One of the same file system, which has the same device number, and one of another.
    for (name, arguments) in [
        ("bound", vec!["--bind", outside.to_str().expect("plain path")]),
        ("memory", vec!["-t", "tmpfs", "tmpfs"]),
    ] {
        let point = path.join(name);
        fs::create_dir(&point).expect("mount point");
        let all = [&arguments[..], &[point.to_str().expect("plain path")]].concat();
        if run("mount", &all).is_none() {
            return skip("the right to mount");
        }
        device.mounts.push(point);
    }
    fs::write(path.join("memory/precious"), "x").expect("file");
    fs::write(path.join("garbage"), "x").expect("file");
    let garbage = fs::File::open(path.join("garbage")).expect("the file");
    claim_file(&garbage, &path.join("garbage")).expect("marked, as a run marks what it makes");
    let report = cleanup::remove(&path).expect("a directory of ours");
    assert!(!report.removed && report.files == 1, "{report:?}");
    assert_eq!(report.kept.len(), 2, "{report:?}");
    assert!(outside.join("precious").exists() && path.join("memory/precious").exists());
    for point in device.mounts.drain(..) {
        run("umount", &[point.to_str().expect("plain path")]).expect("unmounted");
        fs::remove_dir(point).expect("the mount point, which is the test's");
    }
    assert!(cleanup::remove(&path).expect("still ours").removed);
    assert!(outside.join("precious").exists());
}

#[test]
fn a_file_on_a_mount_inside_our_directory_is_not_ours() {
    let Some(mut device) = LoopDevice::attach() else { return };
    let base = tempfile::tempdir().expect("a directory");
    let work = WorkDir::create(&base.path().join("assay-run"), "1", "test").expect("made");
    let point = work.path().join("mnt");
    fs::create_dir(&point).expect("mount point");
    if run("mount", &["-t", "tmpfs", "tmpfs", point.to_str().expect("plain path")]).is_none() {
        return skip("the right to mount");
    }
    device.mounts.push(point.clone());
    fs::write(point.join("file"), "x").expect("file");
    let own = work.path().join("file");
    claim_file(&fs::File::create_new(&own).expect("file"), &own).expect("claimed");
    let class = |path: PathBuf| classify(&HostRoot::real(), &path).expect("examined");
    assert_eq!(class(point.join("file")), Class::ForeignFile);
    assert_eq!(class(own), Class::AssayFile);
}
