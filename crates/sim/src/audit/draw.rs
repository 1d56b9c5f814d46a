//! The operations of a phase, its jobs side by side.

use assay_workload::ops::{Generator, Op, OpBlock, OpSource};
use assay_workload::plan::{Plan, PlannedJob};

use super::{generator, load_of};

/// A job's generators in turn, as far behind its share of the load as it is.
struct JobGenerators {
    generators: Vec<Generator>,
    next: usize,
    weight: f64,
    ops: u64,
    ended: bool,
}

/// Passes at least `draws` operations of a phase to `sink`: its jobs side by side, each with its share of the load, all of its
/// threads in turn, in blocks of 32. Targets are those of the plan. `None` where no job has addresses.
pub(super) fn phase(plan: &Plan, phase: usize, draws: u64, mut sink: impl FnMut(&Op)) -> Option<u64> {
    let planned = plan.phases.get(phase)?;
    let mut jobs: Vec<JobGenerators> = planned
        .jobs
        .iter()
        .filter(|job| has_addresses(job))
        .map(|job| JobGenerators {
            generators: job.slices.iter().map(|slice| generator(job, slice)).collect(),
            next: 0,
            weight: load_of(job, planned).max(1e-9),
            ops: 0,
            ended: false,
        })
        .collect();
    if jobs.is_empty() {
        return None;
    }
    let (mut block, mut ops) = (OpBlock::default(), 0);
    while ops < draws {
        let behind = |a: &&mut JobGenerators, b: &&mut JobGenerators| {
            (a.ops as f64 / a.weight).total_cmp(&(b.ops as f64 / b.weight))
        };
        let Some(job) = jobs.iter_mut().filter(|job| !job.ended).min_by(behind) else { break };
        let index = job.next % job.generators.len();
        job.next += 1;
        job.generators[index].fill(&mut block);
        job.ops += block.len as u64;
        job.ended = block.len == 0;
        ops += block.len as u64;
        block.ops[..block.len].iter().for_each(&mut sink);
    }
    Some(ops)
}

/// Whether a generator can be made of a job.
pub(super) fn has_addresses(job: &PlannedJob) -> bool {
    let block = job.pattern.max_block_bytes();
    let mut sites = job.slices.iter().flat_map(|slice| &slice.sites).peekable();
    job.is_blocks() && block > 0 && sites.peek().is_some() && sites.all(|site| site.length_bytes >= block)
}
