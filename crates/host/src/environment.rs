//! Facts about the machine and the targets, as recorded with a run.

use std::path::{Path, PathBuf};

use assay_results::environment::{AssayVersion, CgroupLimits, Environment, Machine, TargetEnvironment};

use crate::extents::{UnwrittenExtents, UnwrittenUnknown};
use crate::mounts::MountTable;
use crate::root::HostRoot;

mod cpu;
mod machine;
mod target;

pub(crate) use target::{file_system, mount_facts};

/// Gathers everything. It takes milliseconds and performs no I/O on the targets beyond looking at their nodes
/// and at the extents of regular files.
///
/// `targets` are absolute paths, or relative to the working directory; a target that does not exist yet is described
/// by the directory that would hold it.
pub fn collect(root: &HostRoot, assay: AssayVersion, targets: &[PathBuf]) -> Environment {
    collect_with(root, assay, targets, &UnwrittenUnknown)
}

/// As [`collect`]; `unwritten` tells what of a file is allocated and was never written.
pub fn collect_with(
    root: &HostRoot,
    assay: AssayVersion,
    targets: &[PathBuf],
    unwritten: &dyn UnwrittenExtents,
) -> Environment {
    let mounts = MountTable::read(root);
    Environment {
        assay,
        machine: machine(root),
        cgroup: cgroup_limits(root),
        targets: targets.iter().map(|path| target::describe(root, &mounts, path, unwritten)).collect(),
    }
}

/// The machine alone.
pub fn machine(root: &HostRoot) -> Machine {
    machine::read(root)
}

/// How much memory there is, and how much of it is free or can be had.
pub fn memory(root: &HostRoot) -> assay_results::environment::Memory {
    machine::memory(root)
}

/// The limits of the control group this process runs in.
pub fn cgroup_limits(root: &HostRoot) -> CgroupLimits {
    crate::cgroup::limits(root)
}

/// One target alone.
pub fn target(root: &HostRoot, path: &Path) -> TargetEnvironment {
    target::describe(root, &MountTable::read(root), path, &UnwrittenUnknown)
}

#[cfg(test)]
mod tests;
