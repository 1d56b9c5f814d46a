//! Who uses a block device.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::openers::{Opener, opener_of};
use super::signature::{Signature, find_signatures};
use super::tools;
use crate::devices::{SECTOR_BYTES, disk_of_partition, name_of_number, name_of_path, partitions_of};
use crate::mounts::{Mount, MountTable, unescape};
use crate::node::Node;
use crate::root::HostRoot;

const BUSY_RETRIES: u32 = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(30);

/// What is known about the use of a block device, its partitions included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceUse {
    /// Kernel name; empty when the kernel does not know the number.
    pub name: String,
    /// `MAJOR:MINOR`.
    pub number: String,
    /// Which disk it is: another one that gets the number later has another (Linux 5.15).
    pub sequence: Option<u64>,
    /// Mount points of the device or of one of its partitions.
    pub mounted: Vec<PathBuf>,
    /// Devices and file systems built on it, on one of its partitions or on the disk it is a partition of:
    /// `dm-0`, `md0`, `btrfs UUID`.
    pub holders: Vec<String>,
    /// Its partitions.
    pub partitions: Vec<String>,
    /// Whether it, or a partition, is swap space.
    pub swap: bool,
    /// Its size; 0 for one that is not set up, or has no medium.
    pub size_bytes: u64,
    /// Whether the kernel refuses writes to it.
    pub read_only: bool,
    /// Whether an exclusive open failed: something in the kernel claims it.
    pub busy: bool,
    /// A process that has it, one of its partitions or the disk that it is a partition of open.
    pub open_in: Option<Opener>,
    /// Signatures on it.
    pub signatures: Vec<Signature>,
    /// Why it cannot be told whether there are more.
    pub unrecognised: Option<String>,
    /// Why it could not be read, when it could not.
    pub unreadable: Option<String>,
}

impl DeviceUse {
    /// Gathers all of it; opens the device for reading, exclusively.
    pub(super) fn read(root: &HostRoot, node: &Node) -> Self {
        let number = node.number.clone().unwrap_or_default();
        let name = name_of_number(root, &number).unwrap_or_default();
        let mut found = Self { name, number, ..Self::default() };
        found.partitions = partitions_of(root, &found.name);
        let own: Vec<String> = std::iter::once(found.name.clone()).chain(found.partitions.clone()).collect();
        let disk = disk_of_partition(root, &found.name);
        let whole = disk.as_ref().unwrap_or(&found.name);
        found.sequence = root.number(format!("/sys/class/block/{whole}/diskseq"));
        found.mounted = mount_points(root, &own);
        found.holders = holders(root, &own);
        if let Some(disk) = &disk {
            found.holders.extend(root.names(format!("/sys/class/block/{disk}/holders")));
        }
        found.swap = swaps(root)
            .iter()
            .filter_map(|path| name_of_path(root, &path.to_string_lossy()))
            .any(|name| own.contains(&name));
        let size = root.number(format!("/sys/class/block/{}/size", found.name));
        found.size_bytes = size.map_or(0, |sectors: u64| sectors * SECTOR_BYTES);
        found.read_only = root.flag(format!("/sys/class/block/{}/ro", found.name)).unwrap_or(false);
        found.open_in = opener_of(root, &numbers(root, own.iter().chain(&disk)));
        let located = root.locate(&node.path);
        match open_exclusively(&located) {
            Ok(device) => match read_signatures(&device) {
                Ok(signatures) if signatures.is_empty() && root.is_real() && found.size_bytes > 0 => {
                    match tools::recognised(&located, found.size_bytes) {
                        Ok(signatures) => found.signatures = signatures,
                        Err(why) => found.unrecognised = Some(why),
                    }
                }
                Ok(signatures) => found.signatures = signatures,
                Err(error) => found.unreadable = Some(error.to_string()),
            },
            Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) => found.busy = true,
            Err(error) => found.unreadable = Some(error.to_string()),
        }
        found
    }
}

/// `MAJOR:MINOR` of devices with these kernel names.
fn numbers<'a>(root: &HostRoot, names: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.filter_map(|name| root.nonempty_text(format!("/sys/class/block/{name}/dev"))).collect()
}

/// `MAJOR:MINOR` of a device, of its partitions and of the disk that it is a partition of: what is written to one is written to
/// another.
pub fn overlapping(root: &HostRoot, number: &str) -> Vec<String> {
    let name = name_of_number(root, number).unwrap_or_default();
    let (partitions, disk) = (partitions_of(root, &name), disk_of_partition(root, &name));
    let mut all = numbers(root, partitions.iter().chain(&disk));
    all.push(number.to_owned());
    all
}

/// For a block device O_EXCL without O_CREAT means "fail if anything in the kernel claims it" (open(2)).
///
/// A device is also claimed for a moment when somebody looks for a free loop device or scans for signatures,
/// so a busy one is asked again a few times.
fn open_exclusively(located: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_unless_busy(located, options.read(true).custom_flags(OFlags::EXCL.bits() as i32))
}

/// Opens what may be claimed by somebody for a moment only.
pub(super) fn open_unless_busy(located: &Path, options: &OpenOptions) -> io::Result<File> {
    let open = || options.open(located);
    let mut opened = open();
    for _ in 0..BUSY_RETRIES {
        match &opened {
            Err(error) if Errno::from_io_error(error) == Some(Errno::BUSY) => {
                std::thread::sleep(BUSY_PAUSE);
                opened = open();
            }
            _ => break,
        }
    }
    opened
}

/// The first signature in a file of ours; one that cannot be read shows none.
pub(super) fn signature_of_file(located: &Path) -> Option<Signature> {
    let file =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(located).ok()?;
    let size = file.metadata().ok()?.len();
    find_signatures(&file, size).ok()?.into_iter().next()
}

fn read_signatures(mut device: &File) -> io::Result<Vec<Signature>> {
    let size = device.seek(SeekFrom::End(0))?;
    let found = find_signatures(device, size);
    // What was read here would answer the first reads of a buffered measurement. Failing to drop it does no
    // harm.
    let _ = rustix::fs::fadvise(device, 0, None, rustix::fs::Advice::DontNeed);
    found
}

/// Where any of the named devices is mounted, in any mount namespace that can be looked into.
fn mount_points(root: &HostRoot, names: &[String]) -> Vec<PathBuf> {
    let is_on_one = |mount: &Mount| {
        let device = if mount.device.starts_with("0:") {
            // btrfs has a made-up number; its source tells one member.
            mount.source.starts_with("/dev/").then(|| name_of_path(root, &mount.source)).flatten()
        } else {
            name_of_number(root, &mount.device)
        };
        device.is_some_and(|name| names.contains(&name))
    };
    let mut points = Vec::new();
    for mount in MountTable::all(root).iter().flat_map(MountTable::iter) {
        if !points.contains(&mount.mount_point) && is_on_one(mount) {
            points.push(mount.mount_point.clone());
        }
    }
    points
}

fn holders(root: &HostRoot, names: &[String]) -> Vec<String> {
    let mut holders: Vec<String> = names
        .iter()
        .filter(|name| !name.is_empty())
        .flat_map(|name| root.names(format!("/sys/class/block/{name}/holders")))
        .collect();
    for uuid in root.names("/sys/fs/btrfs") {
        let members = root.names(format!("/sys/fs/btrfs/{uuid}/devices"));
        if members.iter().any(|member| names.contains(member)) {
            holders.push(format!("btrfs {uuid}"));
        }
    }
    holders
}

/// Files and devices that are swap space, canonical.
pub(super) fn swaps(root: &HostRoot) -> Vec<PathBuf> {
    let table = root.text("/proc/swaps").unwrap_or_default();
    table
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(unescape)
        .map(|path| root.canonicalize(&path).unwrap_or(path))
        .collect()
}
