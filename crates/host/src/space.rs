//! Space to write in.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assay_results::environment::Memory;
use rustix::fs::{StatFs, StatVfs, fstatfs, fstatvfs, statfs, statvfs};

use crate::environment::memory;
use crate::mounts::MountTable;
use crate::root::HostRoot;

/// Share of a file system that stays free, in percent: a full one slows down, and writes of other programs fail.
pub const RESERVE_PERCENT: u64 = 5;

/// The reserve is not larger than this, however large the file system is.
pub const RESERVE_BYTES_MAX: u64 = 4 << 30;

const RAMFS: u64 = 0x8584_58f6;
const TMPFS: u64 = 0x0102_1994;

/// Size and free space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Total size.
    pub total_bytes: u64,
    /// Free for an unprivileged writer.
    pub available_bytes: u64,
    /// Allocation unit.
    pub block_bytes: u64,
    /// Files and directories that can still be made; `None`: as many as there is space for.
    pub available_nodes: Option<u64>,
}

impl Space {
    /// Whether the file system says anything at all: some of FUSE's do not.
    pub fn is_known(&self) -> bool {
        self.total_bytes > 0
    }

    /// What must stay free.
    pub fn reserve_bytes(&self) -> u64 {
        (self.total_bytes / 100 * RESERVE_PERCENT).min(RESERVE_BYTES_MAX)
    }

    /// The most that may be written; without bounds where nothing is known.
    pub fn usable_bytes(&self) -> u64 {
        if !self.is_known() {
            return u64::MAX >> 1;
        }
        self.available_bytes.saturating_sub(self.reserve_bytes())
    }
}

/// Size and free space of the file system that holds an existing path.
///
/// # Errors
/// What statvfs(2) says.
pub fn of(path: &Path) -> std::io::Result<Space> {
    Ok(Space::new(statvfs(path)?, statfs(path)?))
}

/// The same of the file system of an open file.
///
/// # Errors
/// What fstatvfs(2) says.
pub fn of_open(file: impl AsFd) -> std::io::Result<Space> {
    Ok(Space::new(fstatvfs(&file)?, fstatfs(&file)?))
}

impl Space {
    fn new(stat: StatVfs, kind: StatFs) -> Self {
        let said = Space::said(stat);
        match kind.f_type as u64 & 0xffff_ffff {
            // The kernel ends processes when memory is short; what can be swapped out does not count, to be safe.
            RAMFS | TMPFS => said.within(memory(&HostRoot::real())),
            _ => said,
        }
    }

    /// In a file system whose data is memory: ramfs says nothing of its size, and tmpfs may have been given more than there
    /// is.
    fn within(self, memory: Memory) -> Self {
        let (Some(total), Some(available)) = (memory.total_bytes, memory.available_bytes) else {
            return self;
        };
        let said = |bytes: u64| if self.is_known() { bytes } else { u64::MAX };
        Space {
            total_bytes: said(self.total_bytes).min(total),
            available_bytes: said(self.available_bytes).min(available),
            ..self
        }
    }

    fn said(stat: StatVfs) -> Self {
        Space {
            total_bytes: stat.f_blocks.saturating_mul(stat.f_frsize),
            // Reserved blocks are left to the superuser even if that is who runs.
            available_bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
            block_bytes: stat.f_bsize,
            available_nodes: (stat.f_files > 0).then_some(stat.f_favail),
        }
    }
}

/// A file system that a path is on, or will be on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystemSpace {
    /// The same for all paths that share the free space.
    pub id: String,
    /// Its type; empty where it is not known.
    pub fs_type: String,
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// A path on it that exists.
    pub existing: PathBuf,
    /// How much of it there is.
    pub space: Space,
}

impl FileSystemSpace {
    /// Of the nearest directory to `path` that exists.
    ///
    /// # Errors
    /// What looking it up says.
    pub fn of(root: &HostRoot, mounts: &MountTable, path: &Path) -> std::io::Result<Self> {
        let existing = path.ancestors().find(|place| place.exists()).unwrap_or(Path::new("/"));
        let existing = root.canonicalize(existing)?;
        let mount = crate::devices::mount_of(root, mounts, &existing);
        let device = std::fs::metadata(root.locate(&existing))?.dev();
        let id = match mount {
            // The file systems of a pool share its space.
            Some(mount) if mount.fs_type == "zfs" => {
                mount.source.split('/').next().unwrap_or_default().to_owned()
            }
            Some(mount) => mount.device.clone(),
            None => device.to_string(),
        };
        Ok(Self {
            id,
            fs_type: mount.map_or(String::new(), |mount| mount.fs_type.clone()),
            mount_point: mount.map_or(existing.clone(), |mount| mount.mount_point.clone()),
            space: of(&root.locate(&existing))?,
            existing,
        })
    }

    /// Whether blocks are never written in place, so that writing over data takes space while the old is still there.
    pub fn copies_on_write(&self) -> bool {
        matches!(self.fs_type.as_str(), "btrfs" | "bcachefs" | "zfs")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_kept() {
        let space = Space { total_bytes: 1000, available_bytes: 80, block_bytes: 1, available_nodes: None };
        assert_eq!((space.reserve_bytes(), space.usable_bytes()), (50, 30));
        let full = Space { available_bytes: 20, ..space };
        assert_eq!(full.usable_bytes(), 0);
        let nothing = Space { total_bytes: 0, available_bytes: 0, ..space };
        assert!(!nothing.is_known() && nothing.usable_bytes() > 1 << 60);
        let memory = Memory { total_bytes: Some(1000), available_bytes: Some(70), ..Memory::default() };
        let ramfs = nothing.within(memory.clone());
        assert_eq!((ramfs.is_known(), ramfs.usable_bytes()), (true, 20));
        let tmpfs = Space { total_bytes: 5000, available_bytes: 60, ..space }.within(memory);
        assert_eq!((tmpfs.total_bytes, tmpfs.available_bytes), (1000, 60));
        let large = Space { total_bytes: 100 << 40, available_bytes: 5 << 30, ..space };
        assert_eq!(large.usable_bytes(), 1 << 30);
    }

    #[test]
    fn what_does_not_exist_yet_is_on_the_file_system_of_what_is_above() {
        let directory = tempfile::tempdir().expect("a directory");
        let (root, new) = (HostRoot::real(), directory.path().join("no/such/file"));
        let mounts = MountTable::read(&root);
        let below = FileSystemSpace::of(&root, &mounts, &new).expect("its file system");
        let above = FileSystemSpace::of(&root, &mounts, directory.path()).expect("its file system");
        assert_eq!((&below.id, &below.existing), (&above.id, &above.existing));
        assert!(below.space.total_bytes > 0 && directory.path().starts_with(&below.mount_point));
    }
}
