//! Which storage a path is on, in words that stay the same from run to run.

use std::path::Path;

use crate::devices::{mount_of, name_of_path, read_block_device};
use crate::mounts::MountTable;
use crate::root::HostRoot;

/// The kernel, and the device or the file system below `path`, which need not exist yet. `None` where neither is known.
///
/// Device numbers are left out: they change with the order of mounting.
pub fn storage_identity(root: &HostRoot, path: &Path) -> Option<String> {
    let kernel = root.nonempty_text("/proc/sys/kernel/osrelease")?;
    let canonical = path.ancestors().find_map(|existing| root.canonicalize(existing).ok())?;
    if let Some(name) = name_of_path(root, &canonical.to_string_lossy()) {
        let model = read_block_device(root, &name).and_then(|device| device.model).unwrap_or_default();
        return Some(format!("linux {kernel}; device {name}; {model}"));
    }
    let mounts = MountTable::read(root);
    let mount = mount_of(root, &mounts, &canonical)?;
    let at = mount.mount_point.display();
    Some(format!("linux {kernel}; {} of {} at {at}", mount.fs_type, mount.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    #[test]
    fn files_of_a_file_system_share_its_identity() {
        let host = FakeHost::new();
        host.write("/proc/sys/kernel/osrelease", "6.12.0\n");
        host.mkdir("/mnt/data/a");
        host.mounts(&[
            ("0:30", "/", "ext4", "/dev/sda1", "rw"),
            ("0:31", "/mnt/data", "nfs4", "nas:/data", "rw"),
        ]);
        let of = |path: &str| storage_identity(&host.root(), Path::new(path));
        let data = Some("linux 6.12.0; nfs4 of nas:/data at /mnt/data".to_owned());
        assert_eq!((of("/mnt/data/a"), of("/mnt/data/not/there/yet")), (data.clone(), data));
        assert_eq!(of("/mnt"), Some("linux 6.12.0; ext4 of /dev/sda1 at /".to_owned()));
    }
}
