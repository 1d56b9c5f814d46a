//! Devices: small ones over files of this world. Each case names the device and gives every consent there is.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Scene, assert_refused, tool};
use crate::bounded::{Bounded as _, Started};
use crate::skip;
use crate::world::{is_root, path_text, wait_for};

const HEAD_BYTES: u64 = 4 << 20;

/// A loop device over an image; detached with the value.
struct Loop(String);

impl Loop {
    fn over(image: &Path) -> Option<Self> {
        let attached = tool("losetup", &["--find", "--show", path_text(image)]);
        if attached.is_none() {
            skip::declare("losetup", "no loop device could be attached");
        }
        attached.map(Loop)
    }

    fn node(&self) -> String {
        self.0.clone()
    }

    /// Two partitions, entered by hand: not every kernel reads tables.
    fn split(&self) -> Option<[String; 2]> {
        tool("addpart", &[&self.0, "1", "2048", "40960"])?;
        tool("addpart", &[&self.0, "2", "49152", "40960"])?;
        let nodes = [1, 2].map(|number| format!("{}p{number}", self.0));
        wait_for("the partitions", || nodes.iter().all(|node| Path::new(node).exists()));
        Some(nodes)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        for number in ["1", "2"] {
            tool("delpart", &[&self.0, number]);
        }
        tool("losetup", &["--detach", &self.0]);
    }
}

/// What keeps a device in use, until it is dropped.
enum Use {
    Mount(PathBuf),
    Swap(String),
    Process(Started),
    Device(#[expect(dead_code, reason = "it is detached when it is dropped")] Loop),
}

impl Drop for Use {
    fn drop(&mut self) {
        match self {
            Use::Mount(at) => drop(tool("umount", &[path_text(at)])),
            Use::Swap(device) => drop(tool("swapoff", &[device])),
            Use::Process(child) => {
                child.kill();
                let _ = child.wait();
            }
            Use::Device(_) => {}
        }
    }
}

/// A process that has `path` open for reading.
fn opened(path: &str) -> Option<Use> {
    let child = Command::new("sleep").arg("60").stdin(Stdio::from(File::open(path).ok()?)).start();
    child.ok().map(Use::Process)
}

fn mounted(device: &str, at: &Path) -> Option<Use> {
    fs::create_dir_all(at).ok()?;
    tool("mkfs.ext4", &["-q", "-F", device])?;
    tool("mount", &["-o", "ro", device, path_text(at)])?;
    Some(Use::Mount(at.to_owned()))
}

/// Mounted where only another mount namespace sees it.
fn mounted_elsewhere(device: &str, at: &Path) -> Option<Use> {
    fs::create_dir_all(at).ok()?;
    tool("mkfs.ext4", &["-q", "-F", device])?;
    let script = "mount -o ro \"$0\" \"$1\" && echo there && exec sleep 60";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, device]).arg(at).stdout(Stdio::piped());
    let mut child = command.start().ok()?;
    let mut said = [0; 5];
    let read = child.stdout.take().and_then(|mut out| out.read_exact(&mut said).ok());
    let held = Use::Process(child);
    read.map(|()| held)
}

fn swapped(device: &str) -> Option<Use> {
    tool("mkswap", &[device])?;
    tool("swapon", &[device])?;
    Some(Use::Swap(device.to_owned()))
}

/// What is in an image: its first bytes, and when anything was last written to it.
fn content(image: &Path) -> (Vec<u8>, i64, i64) {
    let meta = fs::metadata(image).expect("metadata");
    (head(image, HEAD_BYTES.min(meta.len())), meta.mtime(), meta.mtime_nsec())
}

/// The first page of a device on which the kernel may swap meanwhile, which it does behind that page; a job begins there.
fn first_page(device: &str) -> (Vec<u8>, i64, i64) {
    (head(Path::new(device), 4096), 0, 0)
}

fn head(path: &Path, bytes: u64) -> Vec<u8> {
    let file = File::open(path).expect("it opens");
    let mut head = vec![0; bytes as usize];
    file.read_exact_at(&mut head, 0).expect("readable");
    head
}

fn image(scene: &Scene, mib: u64) -> PathBuf {
    let path = scene.world.path().join("image");
    let _ = fs::remove_file(&path);
    File::create(&path).and_then(|file| file.set_len(mib << 20)).expect("an image");
    path
}

/// Runs a job that writes to `target` with this consent; what is wrong with the refusal, if anything.
fn refused(scene: &Scene, image: &Path, target: &str, more: &[&str], why: &str) -> Option<String> {
    scene.job("device.fio", target);
    tool("sync", &["-f", path_text(image)]);
    let swapped = fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.contains("/dev/loop"));
    let look = || if swapped { first_page(target) } else { content(image) };
    let before = look();
    let words = [&["run", "device.fio", "--destroy-data", target], more].concat();
    let said = scene.refused(&words, why).or_else(|| {
        let named = scene.world.assay(&words).err;
        (!named.contains(target)).then(|| format!("{target} is not named: {named}"))
    });
    let same = look() == before;
    (said.is_some() || !same).then(|| format!("{target} (same: {same}) {why}: {}", said.unwrap_or_default()))
}

/// How a device of two partitions is used, what is named, and what is said.
type InUse = (&'static str, fn(&Loop, &[String; 2], &Path) -> Option<(String, Vec<Use>)>, &'static str);

const IN_USE: &[InUse] = &[
    ("mounted", |disk, _, at| Some((disk.node(), vec![mounted(&disk.node(), at)?])), "is mounted at"),
    (
        "a partition mounted",
        |disk, [one, _], at| Some((disk.node(), vec![mounted(one, at)?])),
        "is mounted at",
    ),
    (
        "the partition mounted",
        |_, [one, _], at| Some((one.clone(), vec![mounted(one, at)?])),
        "is mounted at",
    ),
    (
        "mounted in another namespace",
        |_, [one, _], at| Some((one.clone(), vec![mounted_elsewhere(one, at)?])),
        "is mounted at",
    ),
    ("swap", |_, [_, two], _| Some((two.clone(), vec![swapped(two)?])), "is swap space"),
    ("swap on a partition", |disk, [_, two], _| Some((disk.node(), vec![swapped(two)?])), "is swap space"),
    ("open", |disk, _, _| Some((disk.node(), vec![opened(&disk.node())?])), "is open in process"),
    (
        "its disk open",
        |disk, [one, _], _| Some((one.clone(), vec![opened(&disk.node())?])),
        "is open in process",
    ),
    ("a partition open", |disk, [one, _], _| Some((disk.node(), vec![opened(one)?])), "is open in process"),
    ("a loop over it", |disk, _, _| over(&disk.node(), &disk.node()), "is the backing file of"),
    ("a loop over a partition", |disk, [one, _], _| over(&disk.node(), one), "is the backing file of"),
    ("a loop over its disk", |disk, [one, _], _| over(one, &disk.node()), "is the backing file of"),
    (
        "over what is mounted",
        |_, [one, _], at| {
            let upper = Loop::over(Path::new(one))?;
            Some((upper.node(), vec![mounted(one, at)?, Use::Device(upper)]))
        },
        "stands on what is in use",
    ),
    (
        "over a disk of which a partition is swap",
        |disk, [_, two], _| {
            let upper = Loop::over(Path::new(&disk.0))?;
            Some((upper.node(), vec![swapped(two)?, Use::Device(upper)]))
        },
        "stands on what is in use",
    ),
    (
        "on the same device as another",
        |disk, _, _| {
            let (upper, other) = (Loop::over(Path::new(&disk.0))?, Loop::over(Path::new(&disk.0))?);
            Some((upper.node(), vec![Use::Device(other), Use::Device(upper)]))
        },
        "stands on the same file as",
    ),
];

fn over(named: &str, below: &str) -> Option<(String, Vec<Use>)> {
    Some((named.to_owned(), vec![Use::Device(Loop::over(Path::new(below))?)]))
}

#[test]
fn a_device_in_use_is_never_written_to() {
    if !is_root() {
        return skip::declare("losetup", "loop devices take root");
    }
    let scene = Scene::new();
    let cases = IN_USE.iter().map(|(how, set_up, why)| {
        let image = image(&scene, 64);
        let disk = Loop::over(&image)?;
        let parts = disk.split();
        let at = scene.world.path().join("mnt");
        let Some((target, held)) = parts.and_then(|parts| set_up(&disk, &parts, &at)) else {
            skip::declare("losetup", how);
            return None;
        };
        let said = refused(&scene, &image, &target, &["--really"], why).map(|said| format!("{how}: {said}"));
        drop(held);
        said
    });
    assert_refused(cases);
}

/// A mapping of the device mapper, as LVM and LUKS make them; removed with the value.
struct Mapping(String);

impl Drop for Mapping {
    fn drop(&mut self) {
        tool("dmsetup", &["remove", &self.0]);
    }
}

#[test]
fn a_device_below_a_mapping_and_what_its_disk_is_mapped_to_are_never_written_to() {
    if !is_root() {
        return skip::declare("losetup", "loop devices take root");
    }
    let scene = Scene::new();
    let image = image(&scene, 64);
    let Some(disk) = Loop::over(&image) else { return };
    let name = format!("assay-test-{}", std::process::id());
    let table = format!("0 65536 linear {} 0", disk.0);
    if tool("dmsetup", &["create", &name, "--table", &table]).is_none() {
        return skip::declare("device-mapper", "dmsetup makes no mapping");
    }
    let mapping = Mapping(name.clone());
    let upper = format!("/dev/mapper/{name}");
    let below = refused(&scene, &image, &disk.0, &["--really"], "is in use by");
    let at = scene.world.path().join("mnt");
    let held = mounted(&upper, &at);
    let cases = [below, refused(&scene, &image, &upper, &["--really"], "is mounted at")];
    drop((held, mapping));
    assert_refused(cases.into_iter());
}

/// What stands on a device: bytes at an offset, from its end where that is negative.
const CARRIED: &[(&str, i64, &[u8])] = &[
    ("LVM physical volume", 512, b"LABELONE\x01\0\0\0\0\0\0\0"),
    ("LUKS", 0, b"LUKS\xba\xbe\0\x02"),
    ("md RAID", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("md RAID", -64 * 1024, &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("MBR partition table", 510, &[0x55, 0xaa]),
    ("GPT partition table", -512, b"EFI PART"),
    ("BSD disk label", 512, &[0x57, 0x45, 0x56, 0x82]),
    ("Amiga partition table", 3 * 512, b"RDSK"),
    ("SPDK blobstore", 0, b"SPDKBLOB"),
    ("ZFS", 132 * 1024, &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0]),
    ("SQLite", 0, b"SQLite format 3\0"),
    (
        "bcachefs",
        4096 + 24,
        &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef],
    ),
    ("qcow2", 0, b"QFI\xfb"),
    ("VMDK", 0, b"KDMV"),
    ("VHD", -512, b"conectix"),
    ("VDI", 0x40, &[0x7f, 0x10, 0xda, 0xbe]),
    ("tar", 257, b"ustar"),
];

#[test]
fn a_device_that_carries_something_takes_really() {
    if !is_root() {
        return skip::declare("losetup", "loop devices take root");
    }
    let scene = Scene::new();
    let cases = CARRIED.iter().map(|(name, offset, bytes)| {
        let image = image(&scene, 16);
        let file = File::options().write(true).open(&image).expect("an image");
        let at = if *offset < 0 { (16 << 20) + offset } else { *offset } as u64;
        file.write_all_at(bytes, at).expect("written");
        let device = Loop::over(&image)?;
        refused(&scene, &image, &device.0, &[], name).map(|said| format!("{name} at {offset}: {said}"))
    });
    assert_refused(cases);
}

/// File systems of which the start is gone: the tool that makes them, its words, MiB, and what is found.
const RESCUED: &[(&str, &[&str], u64, &str)] = &[
    ("mkfs.ext4", &["-q", "-F"], 64, "ext"),
    ("mkfs.xfs", &["-q", "-f"], 320, "xfs"),
    ("mkfs.btrfs", &["-q", "-f"], 128, "btrfs"),
];

#[test]
fn a_file_system_whose_start_is_gone_is_still_one() {
    if !is_root() {
        return skip::declare("losetup", "loop devices take root");
    }
    let scene = Scene::new();
    let cases = RESCUED.iter().map(|(program, words, mib, name)| {
        let image = image(&scene, *mib);
        if tool(program, &[words, &[path_text(&image)] as &[&str]].concat()).is_none() {
            skip::declare(if *name == "ext" { "losetup" } else { name }, program);
            return None;
        }
        let file = File::options().write(true).open(&image).expect("an image");
        file.write_all_at(&vec![0; 1 << 20], 0).expect("written");
        let device = Loop::over(&image)?;
        refused(&scene, &image, &device.0, &[], name).map(|said| format!("{program}: {said}"))
    });
    assert_refused(cases);
}

#[test]
fn a_file_system_whose_partition_table_is_gone_is_still_one() {
    if !is_root() {
        return skip::declare("losetup", "loop devices take root");
    }
    let scene = Scene::new();
    let cases = ["offset=1048576", "offset=32256"].iter().map(|offset| {
        let image = image(&scene, 64);
        if tool("mkfs.ext4", &["-q", "-F", "-E", offset, path_text(&image), "32M"]).is_none() {
            skip::declare("losetup", "mkfs.ext4");
            return None;
        }
        let device = Loop::over(&image)?;
        refused(&scene, &image, &device.0, &[], "ext").map(|said| format!("{offset}: {said}"))
    });
    assert_refused(cases);
}

#[test]
fn the_file_of_a_device_is_refused_by_every_name() {
    if !is_root() {
        return skip::declare("losetup", "loop devices take root");
    }
    let scene = Scene::new();
    let image = image(&scene, 16);
    let Some(_device) = Loop::over(&image) else { return };
    let root = scene.world.path();
    fs::hard_link(&image, root.join("other")).expect("linked");
    let (bound, file) = (root.join("bound"), root.join("file"));
    fs::create_dir(&bound).expect("made");
    fs::write(&file, "").expect("made");
    let _mounts = [(root, &bound), (&*image, &file)].map(|(from, to)| {
        tool("mount", &["--bind", path_text(from), path_text(to)]).expect("mounted");
        Use::Mount(to.clone())
    });
    let names = [image.clone(), root.join("other"), bound.join("image"), bound.join("other"), file];
    let cases = names
        .iter()
        .map(|name| refused(&scene, &image, path_text(name), &["--really"], "is the backing file of"));
    assert_refused(cases);
}
