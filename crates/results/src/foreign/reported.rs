//! What of a run other tools would report.

use assay_workload::PhaseKind;
use assay_workload::plan::{PlannedJob, PlannedPhase};

use crate::run::{JobResult, PhaseResult, Run};

/// The phases that other tools would report: those that measure; all where none does.
pub fn reported_phases(run: &Run) -> Vec<&PhaseResult> {
    let with_jobs = || run.phases.iter().filter(|phase| !phase.jobs.is_empty());
    let measuring: Vec<&PhaseResult> = with_jobs().filter(|phase| phase.kind == PhaseKind::Measure).collect();
    if measuring.is_empty() { with_jobs().collect() } else { measuring }
}

/// The planned jobs behind a reported one.
pub fn planned_of<'r>(
    run: &'r Run,
    phase: &PhaseResult,
    job: &JobResult,
) -> (Option<&'r PlannedPhase>, Vec<&'r PlannedJob>) {
    let planned = run.plan.phases.get(phase.plan_phase as usize);
    let by_index = job.evidence.plan_jobs.iter().filter_map(|index| planned?.jobs.get(*index as usize));
    let mut jobs: Vec<&PlannedJob> = by_index.collect();
    if jobs.is_empty() && job.evidence.plan_jobs.is_empty() {
        let same = |candidate: &&PlannedJob| candidate.name == job.name;
        jobs.extend(planned.iter().flat_map(|phase| &phase.jobs).filter(same));
    }
    (planned, jobs)
}
