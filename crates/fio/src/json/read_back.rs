//! What verify= reads back counts among the reads of its job, as fio has it.

use assay_results::Run;
use assay_results::foreign::pool_ops;
use assay_results::run::{JobResult, OpResult, PhaseResult};
use assay_workload::PhaseKind;

/// The name of reads that follow each write at once.
const REREAD: &str = "reread";

/// A job with what was read back of it among its reads: at once, or in the phase behind its own. The seconds in which it read; `None`:
/// nothing was read back.
pub(super) fn counted(run: &Run, phase: &PhaseResult, job: &JobResult) -> Option<(OpResult, f64)> {
    let behind = run.phases.iter().find(|other| {
        other.kind == PhaseKind::Verify
            && other.plan_phase == phase.plan_phase + 1
            && (other.repeat, other.point.as_str()) == (phase.repeat, phase.point.as_str())
    });
    let behind = behind.and_then(|phase| phase.jobs.iter().find(|other| other.name == job.name));
    let of_phase = behind.and_then(|job| Some((job.read.as_ref()?, job.measured_s)));
    let at_once = job.ops.get(REREAD).map(|op| (op, job.measured_s));
    let own = job.read.as_ref().map(|op| (op, job.measured_s));
    if of_phase.is_none() && at_once.is_none() {
        return None;
    }
    // What was read at once was read in the time of the job.
    let during = if own.is_some() || at_once.is_some() { job.measured_s } else { 0.0 };
    let seconds = during + of_phase.map_or(0.0, |(_, seconds)| seconds);
    let parts: Vec<&OpResult> = [own, at_once, of_phase].into_iter().flatten().map(|(op, _)| op).collect();
    Some((together(&parts, seconds), seconds))
}

/// With `verify_only`: what was read counts as writes that took no time, as in fio, which goes through them without doing any.
pub(super) fn not_written(job: &JobResult) -> Option<OpResult> {
    let reads = job.read.as_ref().filter(|_| job.write.is_none())?;
    Some(OpResult { ios: reads.ios, bytes: reads.bytes, ..OpResult::default() })
}

/// Several results of one operation as one.
pub(super) fn together(parts: &[&OpResult], seconds: f64) -> OpResult {
    let pooled = pool_ops(parts, seconds).unwrap_or_default();
    let per_s = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    OpResult { iops: per_s(pooled.ios), bytes_per_s: per_s(pooled.bytes), ..pooled }
}
