//! A stand-in machine in a temporary directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::HostRoot;

/// A temporary tree that [`HostRoot::at`] reads.
pub(crate) struct FakeHost {
    directory: tempfile::TempDir,
}

impl FakeHost {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn root(&self) -> HostRoot {
        HostRoot::at(self.directory.path())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().locate(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("parent");
        fs::write(path, text).expect("file");
    }

    pub(crate) fn mkdir(&self, path: &str) {
        fs::create_dir_all(self.path(path)).expect("directory");
    }

    /// A link at `path` to an absolute path of the stand-in machine.
    pub(crate) fn symlink(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("parent");
        symlink(if target == "/" { PathBuf::from("/") } else { self.path(target) }, path).expect("link");
    }

    /// One line of mountinfo for each of (device number, mount point, type, source, superblock options).
    pub(crate) fn mounts(&self, mounts: &[(&str, &str, &str, &str, &str)]) {
        let lines: String = mounts
            .iter()
            .enumerate()
            .map(|(i, (device, point, kind, source, options))| {
                format!("{} 1 {device} / {point} rw,relatime shared:1 - {kind} {source} {options}\n", i + 20)
            })
            .collect();
        self.write("/proc/self/mountinfo", lines);
    }

    /// A whole disk NAME with number and capacity in sectors, and its node in `/dev`.
    pub(crate) fn disk(&self, name: &str, number: &str, sectors: u64) {
        self.write(&format!("/sys/block/{name}/dev"), number);
        self.write(&format!("/sys/block/{name}/size"), sectors.to_string());
        self.mkdir(&format!("/sys/block/{name}/slaves"));
        self.mkdir(&format!("/sys/block/{name}/holders"));
        self.symlink(&format!("/sys/class/block/{name}"), &format!("/sys/block/{name}"));
        self.write(&format!("/dev/{name}"), vec![0_u8; 64 * 1024]);
    }

    /// A partition of a disk made before.
    pub(crate) fn partition(&self, disk: &str, name: &str, number: &str) {
        let place = format!("/sys/block/{disk}/{name}");
        self.write(&format!("{place}/dev"), number);
        self.write(&format!("{place}/partition"), "1");
        self.write(&format!("{place}/start"), "2048");
        self.write(&format!("{place}/size"), "4096");
        self.mkdir(&format!("{place}/holders"));
        self.symlink(&format!("/sys/class/block/{name}"), &place);
        self.write(&format!("/dev/{name}"), vec![0_u8; 64 * 1024]);
    }
}
