//! The machine's disks: its own, one with settings, and those that may be tested. A disk that is not empty is not touched unless
//! it is named.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use assay_vm::disk::{EXCHANGE, EXCHANGE_PARTITION};
use assay_vm::fat;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// The label of file systems that the suite made.
const LABEL: &[u8] = b"assay-data";
/// What is looked at of a disk, at its start and at its end, to see whether it is empty.
const LOOKED_AT: u64 = 1 << 20;
/// Kernel names of what is no disk.
const OTHERS: &[&str] = &["loop", "ram", "sr", "fd", "zram", "dm-", "md", "nbd"];

/// A disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Disk {
    /// Its kernel name: `vda`.
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Whether the machine was started from it.
    pub(super) is_own: bool,
    /// Whether it holds settings.
    is_exchange: bool,
}

/// All disks, by name. `own` is the GUID of the one that the machine was started from.
pub(super) fn all(own: &[u8; 16]) -> Vec<Disk> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut disks: Vec<Disk> = names
        .filter(|name| !OTHERS.iter().any(|other| name.starts_with(other)))
        .filter_map(|name| {
            let sectors = fs::read_to_string(format!("/sys/block/{name}/size")).ok()?;
            let bytes = sectors.trim().parse::<u64>().ok()? * 512;
            let mut header = [0; 16];
            let read =
                File::open(format!("/dev/{name}")).and_then(|disk| disk.read_exact_at(&mut header, 512 + 56));
            let is_own = read.is_ok() && header == *own;
            let mut disk = Disk { name, bytes, is_own, is_exchange: false };
            disk.is_exchange = !is_own && disk.file(super::settings::FILE, 1).is_some();
            (bytes > 0).then_some(disk)
        })
        .collect();
    disks.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    disks
}

impl Disk {
    fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// Where its file system for files to and fro is: a partition of the machine's own disk, the whole of another.
    fn exchange(&self) -> String {
        let dash = if self.name.ends_with(|last: char| last.is_ascii_digit()) { "p" } else { "" };
        if self.is_own { format!("{}{dash}{EXCHANGE_PARTITION}", self.path()) } else { self.path() }
    }

    /// A file of that file system, and where it was found.
    pub(super) fn file(&self, name: &str, bytes_max: u64) -> Option<(String, Vec<u8>)> {
        let place = self.exchange();
        let text = fat::read(ReadOnly(File::open(&place).ok()?), EXCHANGE, name, bytes_max)?;
        Some((format!("{name} on {place}"), text))
    }

    /// Writes files into that file system of the machine's own disk.
    pub(super) fn put(&self, files: &[(String, &[u8])]) -> io::Result<String> {
        let place = self.exchange();
        let mut device = OpenOptions::new().read(true).write(true).open(&place)?;
        fat::put(&mut device, files)?;
        device.sync_all()?;
        Ok(place)
    }

    fn is_empty(&self) -> io::Result<bool> {
        let device = File::open(self.path())?;
        let mut seen = vec![0; LOOKED_AT.min(self.bytes) as usize];
        for at in [0, self.bytes.saturating_sub(LOOKED_AT)] {
            device.read_exact_at(&mut seen, at)?;
            if seen.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether it holds a file system that the suite made (ext4: magic and label of the superblock).
    fn is_ours(&self) -> bool {
        let mut block = [0; 1024];
        let read = File::open(self.path()).and_then(|device| device.read_exact_at(&mut block, 1024));
        read.is_ok() && block[56..58] == [0x53, 0xef] && block[120..].starts_with(LABEL)
    }
}

/// A device that is only read, whatever is asked of it.
struct ReadOnly(File);

impl io::Read for ReadOnly {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl io::Seek for ReadOnly {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl io::Write for ReadOnly {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        Ok(from.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The disk that the suite is to use, with a file system at `place`: the largest of those that are empty or were used before.
///
/// # Errors
/// There is none, and why.
pub(super) fn prepare(disks: &[Disk], destroy: &[String], place: &str) -> Result<String, String> {
    let mut others: Vec<&Disk> = disks.iter().filter(|disk| !disk.is_own && !disk.is_exchange).collect();
    others.sort_by_key(|disk| std::cmp::Reverse(disk.bytes));
    let named = |disk: &&&Disk| destroy.contains(&disk.name);
    let fit = others
        .iter()
        .find(named)
        .or_else(|| others.iter().find(|disk| disk.is_ours() || disk.is_empty().unwrap_or(false)));
    let Some(disk) = fit else {
        let names: Vec<&str> = others.iter().map(|disk| disk.name.as_str()).collect();
        return Err(match &names[..] {
            [] => "there is no disk but the machine's own: attach an empty one".to_owned(),
            names => format!(
                "no disk is empty: {} hold data; destroy={} formats that one",
                names.join(", "),
                names[0]
            ),
        });
    };
    if !disk.is_ours() {
        format(disk)?;
    }
    let mounted = mount(disk.path(), place, "ext4", MountFlags::NOATIME, None::<&std::ffi::CStr>);
    mounted.map_err(|error| format!("{} could not be mounted: {error}", disk.path()))?;
    Ok(format!("{} ({})", disk.path(), assay_workload::units::Bytes(disk.bytes)))
}

fn format(disk: &Disk) -> Result<(), String> {
    let mut mke2fs = Command::new("/sbin/mke2fs");
    let label = String::from_utf8_lossy(LABEL).into_owned();
    mke2fs.args(["-q", "-F", "-t", "ext4", "-L", &label, "-E", "lazy_itable_init=0,nodiscard", &disk.path()]);
    let output = mke2fs.stdin(Stdio::null()).output().map_err(|error| format!("mke2fs: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or("it said nothing");
    if output.status.success() { Ok(()) } else { Err(format!("mke2fs of {}: {last}", disk.path())) }
}

/// Takes the file system away.
pub(super) fn release(place: &str) {
    let _ = unmount(Path::new(place), UnmountFlags::empty());
}
