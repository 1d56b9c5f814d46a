//! The limits of this process: memory and file descriptors that a plan takes are asked for before anything is made.

use std::collections::BTreeMap;

use assay_host::{HostRoot, environment};
use assay_workload::Plan;
use assay_workload::plan::{PlannedJob, PlannedPhase, ThreadSlice};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::RunError;

/// What a thread takes of addresses beside its buffers: its stack, and the alignment of its buffers to huge pages.
const THREAD_ADDRESS_BYTES: u64 = 4 << 20;
/// What a run takes beside its threads: counters, the journal, the result.
const RUN_ADDRESS_BYTES: u64 = 64 << 20;
/// Descriptors of a run beside its targets: standard streams, what is stored, counters of the kernel.
const RUN_DESCRIPTORS: u64 = 32;
/// Descriptors of a thread beside its targets: those of its engine.
const THREAD_DESCRIPTORS: u64 = 2;
/// What a thread of a job on trees opens at once: a file to read and one to write, and the directories above them.
const TREE_THREAD_DESCRIPTORS: u64 = 4;

/// A descriptor is held for each target, beside those of each thread: more than the usual 1024 may be wanted.
pub(crate) fn as_many_files_as_allowed() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Descriptors that a plan takes at most.
fn descriptors(plan: &Plan) -> u64 {
    let of_job = |job: &PlannedJob| -> u64 {
        let threads = job.slices.len() as u64;
        let sites = |slice: &ThreadSlice| if job.by_name().is_some() { 1 } else { slice.sites.len() as u64 };
        let open = job.slices.iter().map(sites).sum::<u64>();
        open + threads * if job.tree.is_some() { TREE_THREAD_DESCRIPTORS } else { THREAD_DESCRIPTORS }
    };
    let of_phase = |phase: &PlannedPhase| phase.jobs.iter().map(of_job).sum::<u64>();
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let mut of_targets: BTreeMap<u32, u64> = BTreeMap::new();
    for job in jobs {
        let each = match job.by_name() {
            // A target is claimed by one descriptor and held by another.
            None => 2,
            // It is open while it is laid out.
            Some(operation) => u64::from(operation.needs_file()),
        };
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            let known = of_targets.entry(site.target).or_default();
            *known = each.max(*known);
        }
    }
    let targets = of_targets.values().sum::<u64>();
    RUN_DESCRIPTORS + targets + plan.phases.iter().map(of_phase).max().unwrap_or(0)
}

/// Asks whether this process may open as many files as the plan takes, and raises its own limit as far as it may.
///
/// # Errors
/// [`RunError::Descriptors`] with how many are wanted and how many are allowed.
pub fn check_descriptors(plan: &Plan) -> Result<(), RunError> {
    as_many_files_as_allowed();
    let wanted = descriptors(plan);
    match getrlimit(Resource::Nofile).current {
        Some(allowed) if wanted > allowed => Err(RunError::Descriptors { wanted, allowed }),
        _ => Ok(()),
    }
}

/// Asks whether there is memory for the plan's buffers, before the kernel ends us for taking it.
///
/// # Errors
/// [`RunError::Memory`] and [`RunError::AddressSpace`] with how much is wanted and how much is there.
pub fn check_memory(plan: &Plan, host: &HostRoot) -> Result<(), RunError> {
    let wanted_bytes = plan.memory_bytes_max();
    if let Some(available_bytes) = environment::memory(host).available_bytes
        && wanted_bytes > available_bytes
    {
        return Err(RunError::Memory { wanted_bytes, available_bytes });
    }
    let threads = |phase: &PlannedPhase| phase.jobs.iter().map(|job| job.slices.len() as u64).sum();
    let threads: u64 = plan.phases.iter().map(threads).max().unwrap_or(0);
    let wanted_bytes = wanted_bytes.saturating_add(threads * THREAD_ADDRESS_BYTES + RUN_ADDRESS_BYTES);
    let limit_bytes = getrlimit(Resource::As).current.unwrap_or(u64::MAX);
    let available_bytes = limit_bytes.saturating_sub(used_address_bytes(host));
    if wanted_bytes > available_bytes {
        return Err(RunError::AddressSpace { wanted_bytes, available_bytes, limit_bytes });
    }
    Ok(())
}

/// Addresses that this process has in use; 0 where the kernel does not tell.
fn used_address_bytes(host: &HostRoot) -> u64 {
    let pages = host.text("/proc/self/statm");
    let pages = pages.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use assay_workload::job::{Limits, Phase};
    use assay_workload::lun;
    use assay_workload::pattern::{AccessPattern, Mix, Placement};

    use super::*;

    #[test]
    fn descriptors_are_counted_of_the_phase_that_takes_most() {
        let phase = |threads| {
            let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
            let job = lun::job("j", pattern, 1, Limits { passes: Some(1), ..Limits::default() });
            Phase::measure("p", vec![job.with(|job| job.threads = threads)])
        };
        let plan = lun::plan(1, 1 << 30, vec![phase(1), phase(100), phase(10)]).unwrap();
        assert_eq!(descriptors(&plan), RUN_DESCRIPTORS + 2 + 100 * (1 + THREAD_DESCRIPTORS));
    }
}
