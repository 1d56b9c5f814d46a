//! The mount table, from `/proc/PID/mountinfo` (proc(5)).

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::root::HostRoot;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's id of the mount, unique while it lasts.
    pub id: u64,
    /// `MAJOR:MINOR` of the file system; major 0 when it is not on one block device.
    pub device: String,
    /// The directory of the file system that is mounted.
    pub root: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Type of the file system.
    pub fs_type: String,
    /// Mount source.
    pub source: String,
    /// Options of the superblock and of the mount, merged; `ro` when either says so.
    pub options: BTreeMap<String, Option<String>>,
}

/// All mounts a process sees, in mounting order.
#[derive(Clone, Debug, Default)]
pub struct MountTable {
    mounts: Vec<Mount>,
}

impl MountTable {
    /// The table of this process; empty when it cannot be read.
    pub fn read(root: &HostRoot) -> Self {
        Self::parse(&root.text("/proc/self/mountinfo").unwrap_or_default())
    }

    /// The table of another process, whose mounts may be unknown to ours. `None` when it cannot be read.
    pub fn read_of(root: &HostRoot, pid: u32) -> Option<Self> {
        root.nonempty_text(format!("/proc/{pid}/mountinfo")).map(|text| Self::parse(&text))
    }

    /// The tables of every mount namespace that a process is in: this process's first, then one of each other.
    pub(crate) fn all(root: &HostRoot) -> Vec<Self> {
        let namespace = |pid: &str| std::fs::read_link(root.locate(format!("/proc/{pid}/ns/mnt"))).ok();
        let mut known: Vec<_> = namespace("self").into_iter().collect();
        let mut tables = vec![Self::read(root)];
        for pid in root.names("/proc").iter().filter_map(|name| name.parse::<u32>().ok()) {
            // The first process counts in any case: stand-in machines and containers do not tell its namespace.
            let other = match namespace(&pid.to_string()) {
                Some(namespace) if known.contains(&namespace) => false,
                Some(namespace) => {
                    known.push(namespace);
                    true
                }
                None => pid == 1,
            };
            tables.extend(other.then(|| Self::read_of(root, pid)).flatten());
        }
        tables
    }

    fn parse(text: &str) -> Self {
        Self { mounts: text.lines().filter_map(parse_line).collect() }
    }

    /// All mounts, in mounting order.
    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter()
    }

    /// The mount with the kernel's id.
    pub fn by_id(&self, id: u64) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// The mount that holds a canonical path: the deepest mount point above it, the latest of equals.
    ///
    /// Where the kernel tells the mount id of an open file, [`MountTable::by_id`] is exact; this is not when
    /// one mount hides another.
    pub fn holding(&self, path: &Path) -> Option<&Mount> {
        self.mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.components().count())
    }

    /// Where the device with this `MAJOR:MINOR` is mounted.
    pub fn of_device<'a>(&'a self, number: &'a str) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |mount| mount.device == number)
    }
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_line(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let id = left.next()?.parse().ok()?;
    let device = left.nth(1)?.to_owned();
    let root = unescape(left.next()?).to_string_lossy().into_owned();
    let mount_point = unescape(left.next()?);
    let per_mount = left.next()?;
    let mut right = right.split(' ');
    let fs_type = right.next()?.to_owned();
    let source = unescape(right.next()?).to_string_lossy().into_owned();
    let options = merge_options(right.next().unwrap_or(""), per_mount);
    Some(Mount { id, device, root, mount_point, fs_type, source, options })
}

fn merge_options(superblock: &str, per_mount: &str) -> BTreeMap<String, Option<String>> {
    let mut options = BTreeMap::new();
    for word in superblock.split(',').chain(per_mount.split(',')).filter(|word| !word.is_empty()) {
        match word.split_once('=') {
            Some((name, value)) => {
                let value = unescape(value).to_string_lossy().into_owned();
                options.insert(name.to_owned(), Some(value));
            }
            None => {
                options.insert(word.to_owned(), None);
            }
        }
    }
    if options.contains_key("ro") {
        options.remove("rw");
    }
    options
}

/// Undoes the kernel's `\040` escapes of space, tab, newline and backslash.
pub(crate) fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                plain.push(byte);
                at += 4;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 8:1 /sub /mnt/a\\040b ro,noatime shared:5 master:2 - xfs /dev/sda1 rw,attr2,inode64
41 27 0:50 / /mnt rw - tmpfs tmpfs rw,size=64k
42 27 8:2 / /mnt rw - ext4 /dev/sda2 rw,barrier=0";

    #[test]
    fn fields_escapes_and_optional_fields() {
        let table = MountTable::parse(TABLE);
        let mount = table.by_id(40).expect("mount 40");
        assert_eq!(mount.mount_point, Path::new("/mnt/a b"));
        assert_eq!((mount.fs_type.as_str(), mount.root.as_str()), ("xfs", "/sub"));
        assert_eq!(mount.options.get("attr2"), Some(&None));
        assert!(mount.options.contains_key("ro") && !mount.options.contains_key("rw"));
    }

    #[test]
    fn the_deepest_and_then_the_latest_mount_holds_a_path() {
        let table = MountTable::parse(TABLE);
        let id = |path: &str| table.holding(Path::new(path)).map(|m| m.id);
        assert_eq!(id("/mnt/a b/file"), Some(40));
        assert_eq!(id("/mnt/a bc"), Some(42));
        assert_eq!(id("/home"), Some(27));
    }

    #[test]
    fn a_broken_line_is_left_out() {
        assert_eq!(MountTable::parse("27 1 254:0 / /\nnonsense").iter().count(), 0);
    }

    #[test]
    fn a_backslash_that_is_no_escape_stays() {
        assert_eq!(unescape("a\\9z\\040b\\"), Path::new("a\\9z b\\"));
    }
}
