//! Control groups of a process: where their files are, and the limits that hold.

use std::path::{Path, PathBuf};

use assay_results::environment::{CgroupDeviceLimit, CgroupLimits, CgroupVersion};

use crate::mounts::MountTable;
use crate::root::HostRoot;

/// Limits above this are the kernel's way to write "none" (version 1 rounds the largest number down to a
/// page).
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// A group in one hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    mount_point: PathBuf,
    /// Below the mount point; empty for its root.
    below: PathBuf,
    /// As `/proc/self/cgroup` says.
    path: String,
}

impl Group {
    /// The group's own directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.mount_point.join(&self.below)
    }

    /// The group's directory and those of all groups above it that can be seen.
    pub(crate) fn and_above(&self) -> impl Iterator<Item = PathBuf> {
        self.below.ancestors().map(|below| self.mount_point.join(below))
    }
}

/// The groups this process is in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// The unified hierarchy, when it has controllers that matter here.
    pub(crate) unified: Option<Group>,
    pub(crate) cpu: Option<Group>,
    cpuacct: Option<Group>,
    cpuset: Option<Group>,
    memory: Option<Group>,
    pub(crate) blkio: Option<Group>,
}

impl Groups {
    /// Finds them through `/proc/self/cgroup` and the mount table.
    pub(crate) fn of_self(root: &HostRoot) -> Self {
        let mounts = MountTable::read(root);
        let memberships = root.text("/proc/self/cgroup").unwrap_or_default();
        let v1 = |controller: &str| {
            let path = memberships.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                controllers.split(',').any(|c| c == controller).then_some(path)
            })?;
            let mount =
                mounts.iter().find(|m| m.fs_type == "cgroup" && m.options.contains_key(controller))?;
            Some(group(root, &mount.mount_point, &mount.root, path))
        };
        let unified = memberships.lines().find_map(|line| line.strip_prefix("0::")).and_then(|path| {
            let mount = mounts.iter().find(|m| m.fs_type == "cgroup2")?;
            let group = group(root, &mount.mount_point, &mount.root, path);
            // On a hybrid system the unified hierarchy is mounted without the controllers that matter here.
            let controllers = root.text(mount.mount_point.join("cgroup.controllers"))?;
            let matters = |word| ["cpu", "memory", "io"].contains(&word);
            controllers.split_whitespace().any(matters).then_some(group)
        });
        Self {
            unified,
            cpu: v1("cpu"),
            cpuacct: v1("cpuacct"),
            cpuset: v1("cpuset"),
            memory: v1("memory"),
            blkio: v1("blkio"),
        }
    }

    /// Directory of a version 1 controller's group.
    pub(crate) fn v1_directory(&self, controller: &str) -> Option<PathBuf> {
        let group = match controller {
            "cpu" => &self.cpu,
            "cpuacct" => &self.cpuacct,
            "memory" => &self.memory,
            "blkio" => &self.blkio,
            _ => &None,
        };
        group.as_ref().map(Group::directory)
    }
}

/// Places a membership path below a mount. Inside a container the path may be the host's, of which the mount
/// shows only the last part, or nothing that matches: then the mount's root is the group.
fn group(root: &HostRoot, mount_point: &Path, mount_root: &str, path: &str) -> Group {
    let inner = if mount_root == "/" { Some(path) } else { path.strip_prefix(mount_root) };
    let below = PathBuf::from(inner.unwrap_or("").trim_start_matches('/'));
    let plain = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let below = if plain && root.exists(mount_point.join(&below)) { below } else { PathBuf::new() };
    Group { mount_point: mount_point.to_owned(), below, path: path.to_owned() }
}

/// The limits that hold for this process.
pub(crate) fn limits(root: &HostRoot) -> CgroupLimits {
    let groups = Groups::of_self(root);
    let mut limits = CgroupLimits::default();
    if let Some(group) = &groups.unified {
        limits.version = Some(CgroupVersion::V2);
        limits.path = Some(group.path.clone());
        for directory in group.and_above() {
            unified_limits(root, &directory, &mut limits);
        }
        limits.cpu_set = root.nonempty_text(group.directory().join("cpuset.cpus.effective"));
    }
    let first = groups.memory.as_ref().or(groups.cpu.as_ref()).or(groups.blkio.as_ref());
    if let (None, Some(group)) = (limits.version, first) {
        limits.version = Some(CgroupVersion::V1);
        limits.path = Some(group.path.clone());
    }
    // A hybrid system may have some controllers in either place.
    v1_limits(root, &groups, &mut limits);
    limits
}

fn unified_limits(root: &HostRoot, directory: &Path, limits: &mut CgroupLimits) {
    if let Some(text) = root.text(directory.join("cpu.max")) {
        let mut words = text.split_whitespace();
        let quota = words.next().and_then(|word| word.parse::<u64>().ok());
        let period = words.next().and_then(|word| word.parse::<u64>().ok());
        quota_limit(limits, quota, period);
    }
    tighten(&mut limits.memory_bytes, root.number(directory.join("memory.max")));
    tighten(&mut limits.memory_high_bytes, root.number(directory.join("memory.high")));
    add_io_max(&root.text(directory.join(IO_MAX)).unwrap_or_default(), &mut limits.devices);
}

/// The limits on devices of version 2.
pub(crate) const IO_MAX: &str = "io.max";

/// Tightens `limits` by the text of an `io.max`: `8:0 rbps=1048576 wbps=max riops=max wiops=100`.
pub(crate) fn add_io_max(text: &str, limits: &mut Vec<CgroupDeviceLimit>) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(device) = words.next() else { continue };
        let limit = device_limit(limits, device);
        for (name, value) in words.filter_map(|word| word.split_once('=')) {
            let value = value.parse().ok();
            match name {
                "rbps" => tighten(&mut limit.read_bytes_per_s, value),
                "wbps" => tighten(&mut limit.write_bytes_per_s, value),
                "riops" => tighten(&mut limit.read_iops, value),
                "wiops" => tighten(&mut limit.write_iops, value),
                _ => {}
            }
        }
    }
}

/// A field of [`CgroupDeviceLimit`] to be tightened.
pub(crate) type LimitField = fn(&mut CgroupDeviceLimit) -> &mut Option<u64>;

/// The throttle files of version 1.
pub(crate) const BLKIO_FILES: [(&str, LimitField); 4] = [
    ("blkio.throttle.read_bps_device", |limit| &mut limit.read_bytes_per_s),
    ("blkio.throttle.write_bps_device", |limit| &mut limit.write_bytes_per_s),
    ("blkio.throttle.read_iops_device", |limit| &mut limit.read_iops),
    ("blkio.throttle.write_iops_device", |limit| &mut limit.write_iops),
];

fn v1_limits(root: &HostRoot, groups: &Groups, limits: &mut CgroupLimits) {
    for directory in groups.cpu.iter().flat_map(Group::and_above) {
        // An unlimited group has a quota of -1, which is no u64.
        let quota = root.number(directory.join("cpu.cfs_quota_us"));
        quota_limit(limits, quota, root.number(directory.join("cpu.cfs_period_us")));
    }
    for directory in groups.memory.iter().flat_map(Group::and_above) {
        tighten(&mut limits.memory_bytes, root.number(directory.join("memory.limit_in_bytes")));
    }
    for directory in groups.blkio.iter().flat_map(Group::and_above) {
        for (file, field) in BLKIO_FILES {
            add_blkio(&root.text(directory.join(file)).unwrap_or_default(), field, &mut limits.devices);
        }
    }
    if limits.cpu_set.is_none()
        && let Some(group) = &groups.cpuset
    {
        limits.cpu_set = ["cpuset.effective_cpus", "cpuset.cpus"]
            .iter()
            .find_map(|file| root.nonempty_text(group.directory().join(file)));
    }
}

/// Tightens a field of `limits` by the text of a throttle file of version 1: `8:0 1048576`.
pub(crate) fn add_blkio(text: &str, field: LimitField, limits: &mut Vec<CgroupDeviceLimit>) {
    for line in text.lines() {
        let Some((device, value)) = line.split_once(' ') else { continue };
        tighten(field(device_limit(limits, device)), value.trim().parse().ok());
    }
}

fn quota_limit(limits: &mut CgroupLimits, quota_us: Option<u64>, period_us: Option<u64>) {
    let Some((quota, period)) = quota_us.zip(period_us).filter(|&(_, period)| period > 0) else { return };
    let cpus = quota as f64 / period as f64;
    if limits.cpu_quota_cpus.is_none_or(|known| cpus < known) {
        limits.cpu_quota_cpus = Some(cpus);
        limits.cpu_period_us = Some(period);
    }
}

fn tighten(limit: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value.filter(|&value| value < NO_LIMIT_BYTES) {
        *limit = Some(limit.map_or(value, |known| known.min(value)));
    }
}

fn device_limit<'a>(limits: &'a mut Vec<CgroupDeviceLimit>, device: &str) -> &'a mut CgroupDeviceLimit {
    let at = limits.iter().position(|limit| limit.device == device).unwrap_or_else(|| {
        limits.push(CgroupDeviceLimit { device: device.to_owned(), ..CgroupDeviceLimit::default() });
        limits.len() - 1
    });
    &mut limits[at]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::FakeHost;

    #[test]
    fn version_2_takes_the_tightest_limit_of_all_groups_above() {
        let host = FakeHost::new();
        host.mounts(&[("0:30", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw")]);
        host.write("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
        host.write("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n");
        host.write("/sys/fs/cgroup/kubepods/cpu.max", "max 100000\n");
        host.write("/sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 100000\n");
        host.write("/sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "400000 100000\n");
        host.write("/sys/fs/cgroup/kubepods/pod1/memory.max", "1048576\n");
        host.write("/sys/fs/cgroup/kubepods/pod1/c1/memory.max", "max\n");
        host.write("/sys/fs/cgroup/kubepods/pod1/c1/io.max", "8:0 rbps=1000 wbps=max riops=max wiops=10\n");
        host.write("/sys/fs/cgroup/kubepods/io.max", "8:0 rbps=500 wbps=max riops=max wiops=max\n");
        let limits = limits(&host.root());
        assert_eq!(limits.version, Some(CgroupVersion::V2));
        assert_eq!(limits.path.as_deref(), Some("/kubepods/pod1/c1"));
        assert_eq!((limits.cpu_quota_cpus, limits.memory_bytes), (Some(1.5), Some(1_048_576)));
        assert_eq!(
            limits.devices,
            [CgroupDeviceLimit {
                device: "8:0".into(),
                read_bytes_per_s: Some(500),
                write_iops: Some(10),
                ..CgroupDeviceLimit::default()
            }]
        );
    }

    #[test]
    fn version_1_beside_an_empty_unified_hierarchy() {
        let host = FakeHost::new();
        host.mounts(&[
            ("0:30", "/cg/cpu", "cgroup", "cgroup", "rw,cpu,cpuacct"),
            ("0:31", "/cg/memory", "cgroup", "cgroup", "rw,memory"),
            ("0:32", "/cg/blkio", "cgroup", "cgroup", "rw,blkio"),
            ("0:33", "/cg/unified", "cgroup2", "cgroup2", "rw"),
        ]);
        host.write("/proc/self/cgroup", "4:memory:/a/b\n3:blkio:/\n2:cpu,cpuacct:/a\n0::/\n");
        host.write("/cg/unified/cgroup.controllers", "hugetlb misc\n");
        host.write("/cg/cpu/a/cpu.cfs_quota_us", "50000\n");
        host.write("/cg/cpu/a/cpu.cfs_period_us", "100000\n");
        host.write("/cg/cpu/cpu.cfs_quota_us", "-1\n");
        host.write("/cg/cpu/cpu.cfs_period_us", "100000\n");
        host.write("/cg/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
        host.write("/cg/memory/a/memory.limit_in_bytes", "8192\n");
        host.write("/cg/blkio/blkio.throttle.read_bps_device", "7:0 1048576\n");
        let limits = limits(&host.root());
        assert_eq!(limits.version, Some(CgroupVersion::V1));
        assert_eq!((limits.cpu_quota_cpus, limits.memory_bytes), (Some(0.5), Some(8192)));
        assert_eq!(limits.devices[0].read_bytes_per_s, Some(1_048_576));
    }

    #[test]
    fn a_path_that_the_mount_does_not_show_means_the_mounts_root() {
        let host = FakeHost::new();
        host.mounts(&[("0:30", "/sys/fs/cgroup", "cgroup2", "cgroup2", "rw")]);
        host.write("/proc/self/cgroup", "0::/../outside\n");
        host.write("/sys/fs/cgroup/cgroup.controllers", "memory\n");
        host.write("/sys/fs/cgroup/memory.max", "4096\n");
        assert_eq!(limits(&host.root()).memory_bytes, Some(4096));
    }

    #[test]
    fn no_cgroup_is_no_limit() {
        assert_eq!(limits(&FakeHost::new().root()), CgroupLimits::default());
    }
}
