//! One entry of `jobs`.

use assay_results::Interval;
use assay_results::Run;
use assay_results::run::{JobResult, OpResult, PhaseResult};
use assay_workload::pattern::OpKind;

use crate::errno;

use super::document::{Json, Object};
use super::operation::{Detail, Details, Neighbours, latency, operation, response, runtime_ms, sync};
use super::options::Options;
use super::read_back;
use super::samples::samples;
use super::shares::{batch_levels, depth_levels, latency_tables};
use super::steady::steady;
use crate::log_value::submits;
use crate::reporting::{JobReporting, Unified};
use assay_results::foreign::{planned_of, pool_ops};

/// Where a job stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReportedPhase<'r> {
    pub(super) run: &'r Run,
    pub(super) phase: &'r PhaseResult,
    /// How it is to be reported.
    pub(super) how: &'r JobReporting,
    /// When its phase began, as far as the run tells: milliseconds since 1970.
    pub(super) start_ms: u64,
    /// The stored reporting periods of the run.
    pub(super) intervals: &'r [Interval],
    /// With the counts of all buckets.
    pub(super) plus: bool,
}

impl<'r> ReportedPhase<'r> {
    fn detail(&self, wanted: bool) -> Detail<'r> {
        let percentiles = if wanted { &self.how.percentiles[..] } else { &[] };
        Detail { percentiles, bins: self.plus }
    }

    /// What of each latency is written.
    fn details(&self) -> Details<'r> {
        Details {
            slat: self.detail(self.how.slat_percentiles),
            clat: self.detail(self.how.clat_percentiles),
            lat: self.detail(self.how.lat_percentiles),
        }
    }
}

/// The operations that fio lists.
fn listed(job: &JobResult) -> [(OpKind, Option<&OpResult>); 3] {
    [
        (OpKind::Read, job.read.as_ref()),
        (OpKind::Write, job.write.as_ref()),
        (OpKind::Trim, job.trim.as_ref()),
    ]
}

/// Reads, writes and trims together, with the distributions that only they carry.
fn whole(job: &JobResult) -> OpResult {
    let parts: Vec<&OpResult> = listed(job).into_iter().filter_map(|(_, op)| op).collect();
    let total = &job.total;
    match pool_ops(&parts, job.measured_s) {
        Some(pooled) if pooled.ios == total.ios => {
            OpResult { iops: total.iops, bytes_per_s: total.bytes_per_s, ..pooled }
        }
        _ => total.clone(),
    }
}

pub(super) fn job(place: &ReportedPhase<'_>, job: &JobResult, options: &Options) -> Object {
    let how = place.how;
    let (_, planned) = planned_of(place.run, place.phase, job);
    let tolerated = planned.iter().map(|planned| planned.errors_tolerated).fold(0, u64::saturating_add);
    let first_error = job.errors_by_kind.first().map_or(0, |(kind, _)| errno::number_of(kind));
    let mut option_object = Object::new();
    options.iter().for_each(|(name, value)| option_object.put(name.as_str(), value.as_str()));
    let mut object = Object::new()
        .with("jobname", how.name.as_str())
        .with("groupid", how.group)
        .with("job_start", place.start_ms)
        .with("error", if job.errors > tolerated { first_error } else { 0 })
        .with("eta", 0_u64)
        .with("elapsed", place.run.elapsed_s.max(0.0).ceil() as u64)
        .with("job options", option_object);
    let read_back = how.read_back.then(|| read_back::counted(place.run, place.phase, job)).flatten();
    let (reads, read_s) = match &read_back {
        Some((reads, seconds)) => (Some(reads), *seconds),
        None => (job.read.as_ref(), job.measured_s),
    };
    let dry = how.verify_only.then(|| read_back::not_written(job)).flatten();
    let submits = planned.first().is_none_or(|planned| submits(planned));
    let done = |kind: Option<OpKind>, op: Option<&OpResult>| {
        let samples = samples(place.phase, job, kind, place.intervals);
        let group_bytes_per_s = group_bytes_per_s(place.phase, kind);
        let short = OpKind::DATA.into_iter().filter(|one| kind.is_none_or(|kind| kind == *one));
        let short_ios = short.map(|kind| short_ios(job, kind)).fold(0, u64::saturating_add);
        let beside = Neighbours { group_bytes_per_s, short_ios, submits };
        let seconds = match kind {
            Some(OpKind::Read) => read_s,
            Some(OpKind::Write) if dry.is_some() => 0.0,
            _ => job.measured_s,
        };
        operation(op, seconds, &samples, &beside, &place.details())
    };
    if how.unified != Unified::Mixed {
        for (kind, op) in listed(job) {
            let op = match kind {
                OpKind::Read => reads,
                OpKind::Write => dry.as_ref().or(op),
                _ => op,
            };
            object.put(kind.name(), done(Some(kind), op));
        }
    }
    let all = whole(job);
    let total = || done(None, (all.ios > 0).then_some(&all));
    if how.unified == Unified::Mixed {
        object.put("mixed", total());
    }
    let flushes = place.detail(how.clat_percentiles || how.lat_percentiles);
    object.put("sync", sync(job.flush.as_ref(), flushes));
    if how.unified == Unified::Both {
        object.put("mixed", total());
    }
    put_processor(&mut object, job);
    put_shares(&mut object, job);
    if tolerated > 0 || job.errors > 0 {
        object.put("total_err", job.errors);
        object.put("first_error", first_error);
    }
    put_limits(&mut object, job, how);
    let description = description(place.phase);
    if !description.is_empty() {
        object.put("desc", description);
    }
    if let Some(found) = steady(job, how, planned.first().and_then(|planned| planned.end.time)) {
        object.put("steadystate", found);
    }
    object.with("assay", extra(place, job))
}

/// What all jobs side by side moved a second, of one kind or of all.
fn group_bytes_per_s(phase: &PhaseResult, kind: Option<OpKind>) -> f64 {
    let of = |job: &JobResult| {
        let ops = listed(job).into_iter().filter(|entry| kind.is_none_or(|kind| entry.0 == kind));
        ops.filter_map(|entry| entry.1).map(|op| op.bytes_per_s).sum::<f64>()
    };
    phase.jobs.iter().map(of).sum()
}

/// Per cent of one processor per thread, as fio has it.
fn put_processor(object: &mut Object, job: &JobResult) {
    let threads = u64::from(job.evidence.threads.max(1));
    let runtime = runtime_ms(job.measured_s).saturating_mul(threads);
    let percent = |ns: u64| ns as f64 / 1e6 * 100.0 / runtime as f64;
    object.put("job_runtime", runtime);
    object.put("usr_cpu", percent(job.evidence.cpu_user_ns));
    object.put("sys_cpu", percent(job.evidence.cpu_system_ns));
    object.put("ctx", job.evidence.waits.saturating_add(job.evidence.preempted));
    object.put("majf", 0_u64);
    object.put("minf", 0_u64);
}

fn put_shares(object: &mut Object, job: &JobResult) {
    let threads = f64::from(job.evidence.threads.max(1));
    let calls = job.evidence.submit_calls;
    let batch = if calls > 0 { job.total.ios as f64 / calls as f64 } else { 0.0 };
    object.put("iodepth_level", depth_levels(job.outstanding_io_mean / threads));
    object.put("iodepth_submit", batch_levels(batch));
    object.put("iodepth_complete", batch_levels(0.0));
    for (name, table) in latency_tables(&job.completion_histogram()) {
        object.put(name, table);
    }
}

/// I/Os of a kind that moved less than was asked for.
fn short_ios(job: &JobResult, kind: OpKind) -> u64 {
    match kind {
        OpKind::Read => job.evidence.short.reads,
        OpKind::Write => job.evidence.short.writes,
        _ => 0,
    }
}

/// fio's search for a depth that keeps a latency: where it is not asked for, fio says these with 0.
fn put_limits(object: &mut Object, job: &JobResult, how: &JobReporting) {
    let threads = u64::from(job.evidence.threads.max(1));
    let search = how.search.as_ref();
    object.put("latency_depth", (job.outstanding_io / threads).max(1));
    object.put("latency_target", search.map_or(0, |search| search.target_us.saturating_mul(1000)));
    object.put("latency_percentile", search.map_or(100.0, |search| search.percentile));
    object.put("latency_window", search.map_or(0, |search| search.window_us));
}

/// The point of a sweep and the repetition, where there are any.
fn description(phase: &PhaseResult) -> String {
    let mut parts: Vec<String> = phase.point.as_option().into_iter().map(str::to_owned).collect();
    if phase.repeat > 0 {
        parts.push(format!("repeat={}", phase.repeat));
    }
    parts.join(" ")
}

fn extra(place: &ReportedPhase<'_>, job: &JobResult) -> Object {
    let (phase, detail) = (place.phase, place.detail(true));
    let mut responses = Object::new();
    for (kind, op) in listed(job) {
        if op.is_some_and(|op| op.response_ns.is_some()) {
            responses.put(kind.name(), response(op, detail));
        }
    }
    let responses = if responses.0.is_empty() { Json::Null } else { responses.into() };
    let lateness = job.lateness_ns.map_or(Json::Null, |lateness| latency(&lateness, None, detail).into());
    Object::new()
        .with("phase", phase.name.as_str())
        .with("point", phase.point.as_str())
        .with("repeat", u64::from(phase.repeat))
        .with("pattern", job.pattern.as_str())
        .with("durability", job.durability.as_str())
        .with("engine", job.engine.as_str())
        .with("workers", u64::from(job.workers))
        .with("clones", u64::from(job.evidence.threads.max(1)))
        .with("outstanding_io", job.outstanding_io)
        .with("outstanding_io_mean", job.outstanding_io_mean)
        .with("measured_s", job.measured_s)
        .with("response_ns", responses)
        .with("lateness_ns", lateness)
}
