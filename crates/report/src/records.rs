//! A run as flat records: one per job and operation, with its conditions beside it.

use assay_results::Run;
use assay_results::run::{JobResult, OpResult, PhaseResult};

/// One operation of one job.
#[derive(Debug, Clone, Copy)]
pub struct Record<'r> {
    /// Its phase.
    pub phase: &'r PhaseResult,
    /// Its job.
    pub job: &'r JobResult,
    /// `read`, `write`, `trim`, one on files or directories, `flush`, or `total` for everything that was asked for.
    pub operation: &'r str,
    /// What it did.
    pub op: &'r OpResult,
}

/// All of them, in the order of the run; each job ends with its total.
pub fn records(run: &Run) -> Vec<Record<'_>> {
    run.phases
        .iter()
        .flat_map(|phase| phase.jobs.iter().flat_map(move |job| records_of(phase, job)))
        .collect()
}

fn records_of<'r>(phase: &'r PhaseResult, job: &'r JobResult) -> impl Iterator<Item = Record<'r>> {
    let total = std::iter::once(("total", &job.total));
    job.operations().chain(total).map(move |(operation, op)| Record { phase, job, operation, op })
}
