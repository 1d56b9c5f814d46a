//! The run of a command that Assay only watched: what the kernel counted for it, put into the same shape as a run of
//! Assay's own, so that the same checks judge it.
//!
//! What such a command asked for is known from `/proc/PID/io` where it uses read(2), write(2) and their kin; what it
//! hands to libaio or io_uring is not counted there, and then the requests that its devices completed stand for its
//! operations. Latencies are not known; a result that the command wrote itself ([`adopt`]) may bring them.

use assay_workload::Plan;
use assay_workload::job::{Caching, EngineKind, Job};
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::plan::{PlannedJob, PlannedPhase, PlannedSite, PlannedTarget, ThreadSlice};
use assay_workload::units::Nanos;

use super::truth::{Asked, spread_cached_share};
use super::{BuildError, RunBuilder};
use crate::checks;
use crate::counters::{Counters, ProcessCounters};
use crate::environment::{Environment, TargetEnvironment};
use crate::event::{JobOutcome, RunEnd, RunEvent};
use crate::evidence::Remark;
use crate::interval::{Interval, IntervalKey, JobCounts};
use crate::run::{JobResult, Metric, Run, SeriesPoint};

/// Share of what the kernel moved for a process that it must have asked for by read and write for its calls to stand for
/// its operations.
const CALLS_SHARE_MIN: f64 = 0.8;
/// How far the course of the counters may be from the figures of a result to be taken for theirs.
const COURSE_TOLERANCE: f64 = 0.2;

/// What was seen of a command.
#[derive(Debug, Clone)]
pub struct Observation {
    /// Whether the command's own figures take the place of what is counted here.
    pub own_figures: bool,
    /// The run's identifier.
    pub id: String,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// Version and commit of Assay.
    pub producer: (String, String),
    /// What the run is called.
    pub name: String,
    /// What did the I/O: the program's name.
    pub program: String,
    /// Where.
    pub environment: Environment,
    /// What it worked on.
    pub targets: Vec<PlannedTarget>,
    /// Whether all of them were opened with O_DIRECT.
    pub direct: bool,
    /// Whether some were opened for reading, and some for writing. Calls of the other kind went elsewhere: to a pipe, a
    /// terminal, `/dev/null`.
    pub opened_for: (bool, bool),
    /// Most threads seen in it.
    pub threads: u32,
    /// Two readings before it was started, nothing of it between them.
    pub before: [Counters; 2],
    /// Readings from its start to its end, each process tree as one process.
    pub during: Vec<Counters>,
    /// Two readings after its end.
    pub after: [Counters; 2],
}

/// What stands for the operations of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    /// Its calls of read, write and their kin.
    Calls,
    /// The requests that the devices completed.
    Requests,
}

/// The run, judged.
///
/// # Errors
/// None that a caller can cause: an observation always has a start.
pub fn run_of(observation: &Observation) -> Result<Run, BuildError> {
    let devices = bottom_names(&observation.environment);
    let basis = basis_of(&observation.during);
    let mut builder = RunBuilder::new();
    events(observation, basis, &devices).iter().for_each(|event| builder.feed(event));
    let mut run = builder.finish()?;
    let text = match basis {
        Basis::Calls => "operations are calls of read and write; latencies are not known from outside",
        Basis::Requests => {
            "operations are requests that the devices completed: what is handed to libaio or io_uring is not counted \
             for a process, so that what it asked for is not known"
        }
    };
    remark(&mut run, "observed", text.to_owned());
    if basis == Basis::Requests {
        run.phases.iter_mut().flat_map(|phase| &mut phase.jobs).for_each(|job| job.cached_read_share = None);
    }
    device_times(&mut run, observation, &devices);
    checks::judge(&mut run);
    Ok(run)
}

/// Names of the devices at the bottom of all targets.
fn bottom_names(environment: &Environment) -> Vec<String> {
    let mut names: Vec<String> = environment
        .targets
        .iter()
        .flat_map(TargetEnvironment::bottom_devices)
        .map(|device| device.name.clone())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Sum of a count of all process trees between two readings.
fn of_processes(delta: &Counters, field: fn(&ProcessCounters) -> Option<u64>) -> u64 {
    delta.processes.iter().filter_map(field).fold(0, u64::saturating_add)
}

fn basis_of(during: &[Counters]) -> Basis {
    let (Some(first), Some(last)) = (during.first(), during.last()) else { return Basis::Calls };
    let delta = Counters::delta(first, last);
    let called = of_processes(&delta, |p| p.asked_read_bytes) + of_processes(&delta, |p| p.asked_write_bytes);
    let moved =
        of_processes(&delta, |p| p.storage_read_bytes) + of_processes(&delta, |p| p.storage_write_bytes);
    if called as f64 >= CALLS_SHARE_MIN * moved as f64 { Basis::Calls } else { Basis::Requests }
}

/// What was done between two readings.
fn counts(delta: &Counters, basis: Basis, devices: &[String], opened_for: (bool, bool)) -> JobCounts {
    let mut counts = JobCounts::default();
    let of_devices = |field: fn(&crate::counters::DeviceCounters) -> u64| {
        devices.iter().filter_map(|name| delta.device(name)).map(field).fold(0, u64::saturating_add)
    };
    let [reads, read_bytes, writes, written_bytes] = match basis {
        Basis::Calls => [
            of_processes(delta, |p| p.asked_reads),
            of_processes(delta, |p| p.asked_read_bytes),
            of_processes(delta, |p| p.asked_writes),
            of_processes(delta, |p| p.asked_write_bytes),
        ],
        Basis::Requests => [
            of_devices(|device| device.reads),
            of_devices(|device| device.read_bytes),
            of_devices(|device| device.writes),
            of_devices(|device| device.write_bytes),
        ],
    };
    let kinds = [
        (OpKind::Read, reads, read_bytes, opened_for.0),
        (OpKind::Write, writes, written_bytes, opened_for.1),
    ];
    for (kind, ios, bytes, _) in kinds.into_iter().filter(|kind| basis == Basis::Requests || kind.3) {
        let op = counts.op_mut(kind);
        (op.ios, op.bytes) = (ios, bytes);
    }
    counts
}

/// The windows that show how the command went on: from the first in which it was at work to the last; these two not where
/// its own figures say how much it did, because it worked for a part of them only.
fn course_of(
    deltas: &[Counters],
    own_figures: bool,
    at_work: impl Fn(&Counters) -> bool,
) -> std::ops::Range<usize> {
    /// Windows of which two may be left out.
    const MANY: usize = 6;
    let first = deltas.iter().position(&at_work).unwrap_or(0);
    let end = deltas.iter().rposition(&at_work).map_or(deltas.len(), |last| last + 1);
    if own_figures && end.saturating_sub(first) >= MANY { first + 1..end - 1 } else { first..end }
}

fn events(observation: &Observation, basis: Basis, devices: &[String]) -> Vec<RunEvent> {
    let record = |record: &Counters| RunEvent::Counters { phase: 0, record: Box::new(record.clone()) };
    let (first, last) = (observation.during.first(), observation.during.last());
    let whole = first.zip(last).map(|(a, b)| Counters::delta(a, b)).unwrap_or_default();
    let mut events = vec![RunEvent::RunStarted {
        id: observation.id.clone(),
        started: observation.started.clone(),
        plan: Box::new(plan(observation, &counts(&whole, basis, devices, observation.opened_for))),
        environment: Box::new(observation.environment.clone()),
        version: observation.producer.0.clone(),
        commit: observation.producer.1.clone(),
    }];
    events.extend(observation.before.iter().map(record));
    events.push(RunEvent::PhaseStarted { phase: 0, at_ms: 0 });
    events.extend(first.map(record));
    let start_ns = first.map_or(0, |first| first.at_ns);
    let deltas: Vec<Counters> =
        observation.during.windows(2).map(|pair| Counters::delta(&pair[0], &pair[1])).collect();
    let course = course_of(&deltas, observation.own_figures, |delta| {
        counts(delta, basis, devices, observation.opened_for).ops.iter().any(|op| op.ios > 0)
    });
    for (index, (pair, delta)) in observation.during.windows(2).zip(deltas).enumerate() {
        let key = IntervalKey {
            phase: 0,
            job: 0,
            index: index as u32,
            ramp: !course.contains(&index),
            start_ns: pair[0].at_ns.saturating_sub(start_ns),
            length_ns: delta.at_ns,
        };
        events.push(RunEvent::Interval(Box::new(Interval {
            key,
            counts: counts(&delta, basis, devices, observation.opened_for),
        })));
        events.push(record(&pair[1]));
    }
    let cpu = |field: fn(&ProcessCounters) -> u64| whole.processes.iter().map(field).sum();
    let outcome = JobOutcome {
        engine: observation.program.clone(),
        direct: observation.direct,
        measured_ns: whole.at_ns,
        cpu_user_ns: cpu(|process| process.user_ns),
        cpu_system_ns: cpu(|process| process.system_ns),
        ..JobOutcome::default()
    };
    let at_ms = whole.at_ns / 1_000_000;
    events.push(RunEvent::JobFinished { phase: 0, job: 0, outcome: Box::new(outcome) });
    events.push(RunEvent::PhaseFinished { phase: 0, at_ms });
    events.extend(observation.after.iter().map(record));
    events.push(RunEvent::RunFinished { end: RunEnd::Completed, at_ms, error: String::new() });
    events
}

/// A plan that says what is known of the command: where it worked, and its mix by what it did.
fn plan(observation: &Observation, done: &JobCounts) -> Plan {
    let (reads, writes) = (done.op(OpKind::Read), done.op(OpKind::Write));
    let bytes = reads.bytes + writes.bytes;
    let mix = match bytes {
        0 => Mix::READ,
        _ => Mix::read_write((100.0 * reads.bytes as f64 / bytes as f64).round()),
    };
    // What goes through the page cache has its size by chance.
    let block = done.block_bytes_mean().unwrap_or(4096).max(if observation.direct { 512 } else { 4096 });
    let names: Vec<&str> = observation.targets.iter().map(|target| target.name.as_str()).collect();
    let pattern = AccessPattern::new(mix, block, Placement::sequential());
    let caching = if observation.direct { Caching::Direct } else { Caching::Buffered };
    let job = Job { caching, threads: observation.threads, ..Job::new(&observation.name, &names, pattern) };
    let sites: Vec<PlannedSite> = sites(&observation.targets);
    let slice = ThreadSlice { seed: 0, sites, ios: None, bytes: None, rate_per_s: None };
    let planned = PlannedJob {
        job,
        engine: EngineKind::Auto,
        engine_reason: String::new(),
        direct: observation.direct,
        time: None,
        slices: vec![slice; observation.threads.clamp(1, 4096) as usize],
    };
    Plan {
        schema: assay_workload::plan::SCHEMA.to_owned(),
        name: observation.name.clone(),
        series: String::new(),
        seed: 0,
        seed_given: false,
        targets: observation.targets.clone(),
        phases: vec![PlannedPhase {
            name: observation.name.clone(),
            kind: assay_workload::PhaseKind::Measure,
            jobs: vec![planned],
            drain_after: false,
            pause_after: Nanos(0),
            point: String::new(),
            repeat: 0,
            step: None,
            carried_by: Default::default(),
        }],
    }
}

fn sites(targets: &[PlannedTarget]) -> Vec<PlannedSite> {
    let of = |(index, target): (usize, &PlannedTarget)| PlannedSite {
        target: index as u16,
        offset_bytes: 0,
        length_bytes: target.size_bytes,
    };
    targets.iter().enumerate().map(of).collect()
}

fn remark(run: &mut Run, id: &str, text: String) {
    run.notes.push(text.clone());
    run.remarks.push(Remark { phase: None, id: id.to_owned(), text });
}

/// Mean times that the devices themselves took for a request.
fn device_times(run: &mut Run, observation: &Observation, devices: &[String]) {
    let (Some(first), Some(last)) = (observation.during.first(), observation.during.last()) else { return };
    let delta = Counters::delta(first, last);
    let Some(phase) = run.phases.first_mut() else { return };
    for name in devices {
        let Some(device) = delta.device(name) else { continue };
        let kinds =
            [("read", device.reads, device.read_time_ms), ("write", device.writes, device.write_time_ms)];
        for (kind, requests, time_ms) in kinds.into_iter().filter(|(_, requests, _)| *requests > 0) {
            let value = time_ms as f64 / requests as f64;
            let metric = Metric { value, unit: "ms".to_owned(), n: 1, interval: None };
            phase.metrics.insert(format!("{name}: mean {kind} time at the device"), metric);
        }
    }
}

/// The figures that a command wrote itself, with what was seen of it: the checks then judge them by both.
///
/// `figures` is an imported run. Its groups of jobs become one phase, because what the devices did is known of all
/// together. The observation should be of the time that the figures are about.
pub fn adopt(observed: Run, figures: Run) -> Run {
    let Run { plan: observed_plan, environment, mut phases, .. } = observed;
    let Some(mut phase) = phases.pop() else { return figures };
    let course = phase.jobs.pop();
    let mut run = Run { environment, id: observed.id, started: observed.started, ..figures };
    run.elapsed_s = run.elapsed_s.max(observed.elapsed_s);
    run.assay.version = observed.assay.version;
    run.assay.commit = observed.assay.commit;
    let groups = run.phases.len();
    let mut jobs: Vec<JobResult> = Vec::new();
    let mut planned: Vec<PlannedJob> = Vec::new();
    for (one, own) in std::mem::take(&mut run.phases).into_iter().zip(std::mem::take(&mut run.plan.phases)) {
        for mut job in one.jobs {
            let offset = planned.len() as u32;
            job.evidence.plan_jobs.iter_mut().for_each(|index| *index += offset);
            jobs.push(job);
        }
        planned.extend(own.jobs);
    }
    find_targets(&mut run, &observed_plan, &mut planned);
    if let ([job], Some(course)) = (jobs.as_mut_slice(), course.as_ref()) {
        adopt_course(job, course);
    }
    let mut asked = Asked::default();
    for job in &jobs {
        asked.read_bytes += job.read.as_ref().map_or(0, |op| op.bytes);
        asked.written_bytes += job.write.as_ref().map_or(0, |op| op.bytes);
    }
    if let Some(truth) = &mut phase.device {
        (truth.asked_read_bytes, truth.asked_written_bytes) = (asked.read_bytes, asked.written_bytes);
        spread_cached_share(truth, &asked, &mut jobs);
    }
    phase.measured_s = jobs.iter().map(|job| job.measured_s).fold(0.0, f64::max);
    phase.jobs = jobs;
    run.plan.phases = observed_plan
        .phases
        .into_iter()
        .take(1)
        .map(|own| PlannedPhase { jobs: planned.clone(), ..own })
        .collect();
    run.phases = vec![phase];
    run.remarks.retain(|known| known.id != "imported");
    run.notes = run.remarks.iter().map(|remark| remark.text.clone()).collect();
    let tool = run.assay.engine.clone();
    remark(&mut run, "judged", format!("figures are those of {tool}, conditions and checks are Assay's"));
    if groups > 1 {
        let text = "the jobs ran in several groups one after the other; what the devices did is known of all together";
        remark(&mut run, "judged-groups", text.to_owned());
    }
    checks::judge(&mut run);
    run
}

/// Takes the targets that were seen in the place of those that the figures name, where these are not there.
fn find_targets(run: &mut Run, observed: &Plan, planned: &mut [PlannedJob]) {
    let known = |target: &PlannedTarget| run.environment.target(&target.path).is_some();
    if observed.targets.is_empty() || run.plan.targets.iter().all(known) {
        for target in &mut run.plan.targets {
            if let Some(seen) = observed.targets.iter().find(|seen| seen.path == target.path) {
                *target = seen.clone();
            }
        }
        return;
    }
    run.plan.targets.clone_from(&observed.targets);
    let sites = sites(&run.plan.targets);
    for job in planned {
        job.job.targets = run.plan.targets.iter().map(|target| target.name.clone()).collect();
        job.slices.iter_mut().for_each(|slice| slice.sites.clone_from(&sites));
    }
}

/// The course over time, which a result may lack: that of the counters, where they moved the bytes of the figures.
fn adopt_course(job: &mut JobResult, course: &JobResult) {
    let same = (course.total.bytes as f64 / job.total.bytes.max(1) as f64 - 1.0).abs() <= COURSE_TOLERANCE;
    if !job.series.is_empty() || !same || course.total.iops <= 0.0 {
        return;
    }
    // Requests are not operations where neighbours were merged: their course is, not their number.
    let scale = job.total.iops / course.total.iops;
    job.series =
        course.series.iter().map(|point| SeriesPoint { iops: point.iops * scale, ..*point }).collect();
}

#[cfg(test)]
#[path = "observed/tests.rs"]
mod tests;
