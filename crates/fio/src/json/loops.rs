//! Loops that are phases of their own, because each is read back: one result, as fio has it.

use std::borrow::Cow;

use assay_results::Run;
use assay_results::run::{JobResult, OpResult, PhaseResult, SeriesPoint};

use super::read_back::together;
use crate::reporting::Reporting;

/// The run with the results of all loops of a job in those of the first.
pub(super) fn joined<'r>(run: &'r Run, reporting: &Reporting) -> Cow<'r, Run> {
    if run.phases.iter().all(|phase| reporting.first_loop(run, phase).is_none()) {
        return Cow::Borrowed(run);
    }
    let mut phases: Vec<PhaseResult> = Vec::with_capacity(run.phases.len());
    for phase in &run.phases {
        let first = reporting.first_loop(run, phase).and_then(|first| {
            let same = |earlier: &&mut PhaseResult| {
                earlier.plan_phase == first
                    && (earlier.repeat, earlier.point.as_str()) == (phase.repeat, phase.point.as_str())
            };
            phases.iter_mut().find(same)
        });
        match first {
            Some(first) => add_phase(first, phase),
            None => phases.push(phase.clone()),
        }
    }
    Cow::Owned(Run { phases, ..run.clone() })
}

fn add_phase(to: &mut PhaseResult, phase: &PhaseResult) {
    to.measured_s += phase.measured_s;
    for job in &mut to.jobs {
        if let Some(other) = phase.jobs.iter().find(|other| other.name == job.name) {
            add_job(job, other);
        }
    }
}

fn add_job(to: &mut JobResult, job: &JobResult) {
    let seconds = to.measured_s + job.measured_s;
    let both = |one: Option<&OpResult>, other: Option<&OpResult>| {
        let parts: Vec<&OpResult> = one.into_iter().chain(other).collect();
        (!parts.is_empty()).then(|| together(&parts, seconds))
    };
    to.read = both(to.read.as_ref(), job.read.as_ref());
    to.write = both(to.write.as_ref(), job.write.as_ref());
    to.trim = both(to.trim.as_ref(), job.trim.as_ref());
    to.flush = both(to.flush.as_ref(), job.flush.as_ref());
    to.total = together(&[&to.total, &job.total], seconds);
    let behind = to.measured_s;
    let later = |point: &SeriesPoint| SeriesPoint { start_s: point.start_s + behind, ..*point };
    to.series.extend(job.series.iter().map(later));
    to.measured_s = seconds;
    to.errors = to.errors.saturating_add(job.errors);
    to.errors_by_kind.extend(job.errors_by_kind.iter().cloned());
    let (sum, more) = (&mut to.evidence, &job.evidence);
    for (sum, more) in [
        (&mut sum.measured_ns, more.measured_ns),
        (&mut sum.cpu_user_ns, more.cpu_user_ns),
        (&mut sum.cpu_system_ns, more.cpu_system_ns),
        (&mut sum.submit_calls, more.submit_calls),
        (&mut sum.waits, more.waits),
        (&mut sum.preempted, more.preempted),
    ] {
        *sum = sum.saturating_add(more);
    }
}
