//! Facts about the machine and the targets, as recorded with a run.

use std::path::{Path, PathBuf};

use assay_results::environment::{AssayVersion, CgroupLimits, Environment, Machine, TargetEnvironment};

use assay_workload::Plan;

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

/// Counts the extents of files within the ranges that some job of the plan reads, in the place of those of whole files:
/// a hole outside of them is nobody's.
pub fn narrow_to_reads(
    root: &HostRoot,
    environment: &mut Environment,
    plan: &Plan,
    unwritten: &dyn UnwrittenExtents,
) {
    for (index, target) in plan.targets.iter().enumerate() {
        let ranges = read_ranges(plan, index);
        let entry = environment.targets.iter_mut().find(|entry| entry.path == target.path);
        let Some(entry) = entry.filter(|entry| entry.extents.is_some() && !ranges.is_empty()) else {
            continue;
        };
        entry.extents = target::extents_within(root, Path::new(&target.path), &ranges, unwritten);
    }
}

/// Offset and length of the ranges of a target that some job reads or trims, each byte in one of them.
fn read_ranges(plan: &Plan, target: usize) -> Vec<(u64, u64)> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let reading = jobs.filter(|planned| planned.pattern.needs_data());
    let sites = reading.flat_map(|planned| &planned.slices).flat_map(|slice| &slice.sites);
    let mut sites: Vec<(u64, u64)> = sites
        .filter(|site| site.target as usize == target)
        .map(|site| (site.offset_bytes, site.offset_bytes.saturating_add(site.length_bytes)))
        .collect();
    sites.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (start, end) in sites {
        match ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => ranges.push((start, end)),
        }
    }
    ranges.into_iter().map(|(start, end)| (start, end - start)).collect()
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
