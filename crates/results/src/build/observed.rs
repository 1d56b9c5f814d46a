//! The run of a command that Assay only watched: what the kernel counted for it, put into the same shape as a run of
//! Assay's own, so that the same checks judge it.
//!
//! What such a command asked for is known from `/proc/PID/io` where it uses read(2), write(2) and their kin. What it
//! hands to libaio or io_uring, or does through mapped files, is not counted there as calls: then only the bytes are known
//! that the kernel moved for it, and neither the number of its operations nor what it asked for. Pattern, outstanding
//! I/Os, durability and latencies are never known from outside; a result that the command wrote itself ([`adopt`]) may
//! bring them. What other processes did on the same devices is not its own, so nothing here counts their requests.

mod parts;

use assay_workload::host::HostId;
use assay_workload::job::Job;
use assay_workload::pattern::{AccessPattern, Mix, OpKind};
use assay_workload::plan::{
    End, PATTERN_UNKNOWN, Pace, PlannedEngine, PlannedJob, PlannedPhase, PlannedSite, PlannedTarget,
    ThreadSlice,
};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Plan, SweepPoint};

use parts::{Part, STRAY_SHARE_MAX, parts_of};

use super::truth::{RequestedBytes, spread_cached_share};
use super::{BuildError, RunBuilder};
use crate::checks;
use crate::counters::{Counters, ProcessCounters};
use crate::environment::{Environment, FileSystem, TargetEnvironment};
use crate::event::{HostEvent, JobOutcome, RunEnd, RunEvent};
use crate::evidence::Remark;
use crate::interval::{Interval, IntervalKey, JobCounts};
use crate::run::{JobResult, Metric, OpResult, Run, SeriesPoint};

/// Share of what the kernel moved for a process that it must have asked for by read and write for its calls to stand for
/// its operations.
const CALLS_SHARE_MIN: f64 = 0.8;
/// A page is charged as written as a whole, and a short write may touch two.
const CHARGED_BYTES_PER_WRITE: u64 = 2 * 4096;
/// Reads or writes below this share of the traffic are not what the command is about: its program, its configuration, its
/// own log.
const TRAFFIC_SHARE_MIN: f64 = 0.05;
/// What a program reads in its first second is mostly itself: reads, or writes, that end with it are left out as well.
const START_NS: u64 = 1_000_000_000;
/// Less than this a program may read by calls, or write, before it does anything: headers of libraries, settings, messages.
const OWN_BYTES_MAX: u64 = 1 << 20;
/// Files named in a sentence at most.
const JUDGED_NAMED_MAX: usize = 3;
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
    pub producer: (String, Option<String>),
    /// What the run is called.
    pub name: String,
    /// What did the I/O: the program's name.
    pub program: String,
    /// Where.
    pub environment: Environment,
    /// What it worked on.
    pub targets: Vec<PlannedTarget>,
    /// Targets that were named and that nothing was seen to open.
    pub missed: Vec<MissedTarget>,
    /// Whether all of them were opened with O_DIRECT.
    pub direct: bool,
    /// Whether some descriptors were opened with O_DIRECT and others not.
    pub partly_direct: bool,
    /// Whether some were opened for reading, and some for writing. Calls of the other kind went elsewhere: to a pipe, a
    /// terminal, `/dev/null`.
    pub opened_for: (bool, bool),
    /// Most threads seen in it.
    pub threads: u32,
    /// What its threads had of the CPUs; `None`: the kernel did not say.
    pub cpu: Option<CpuWait>,
    /// Two readings before it was started, nothing of it between them.
    pub before: [Counters; 2],
    /// Readings from its start to its end, each process tree as one process.
    pub during: Vec<Counters>,
    /// Two readings after its end.
    pub after: [Counters; 2],
    /// How it ended.
    pub ended: CommandEnd,
    /// Processes that it started and that still ran then: their names.
    pub left_running: Vec<String>,
}

/// What the threads of a command had of the CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CpuWait {
    /// Time in which they were ready to run and had none, all together.
    pub run_queue_ns: u64,
    /// CPU and run-queue wait of the busiest as a share of the time.
    pub busiest_thread_share: f64,
    /// Most that were at work at a time: neither a shell that waits for its children nor a helper that sleeps.
    pub threads_at_work: u32,
}

/// A target that was named and that nothing was seen to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissedTarget {
    /// Its path.
    pub path: String,
    /// Whether that means that it was not opened: other files of the command were seen.
    pub known: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// With exit status 0.
    Success,
    /// With another exit status.
    Status(i32),
    /// By a signal.
    Signal(i32),
}

impl CommandEnd {
    fn of_run(self) -> RunEnd {
        if self == CommandEnd::Success { RunEnd::Completed } else { RunEnd::Failed }
    }

    /// What is to be said of it; `None`: nothing.
    fn words(self, after_s: f64) -> Option<String> {
        let how = match self {
            CommandEnd::Success => return None,
            CommandEnd::Status(status) => format!("the command ended with exit status {status}"),
            CommandEnd::Signal(signal) => {
                let name = signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
                format!("signal {signal}{name} ended the command")
            }
        };
        Some(format!("{how} after {after_s:.1} s: these are the figures of what it did until then"))
    }
}

/// Names of the signals that end programs and have the same number on every Linux.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// How reads, or writes, of a command are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Its calls of read, write and their kin say how many there were and of how many bytes.
    Calls,
    /// The kernel moved bytes for it that it did not ask for by calls: only they are known.
    Bytes,
    /// Too small a share of the traffic to be judged.
    LeftOut,
}

/// How much a command read, or wrote, between two readings.
#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    calls: u64,
    called_bytes: u64,
    moved_bytes: u64,
}

impl Traffic {
    fn bytes(&self) -> u64 {
        self.called_bytes.max(self.moved_bytes)
    }
}

/// How its reads and its writes are known.
#[derive(Debug, Clone, Copy)]
struct Basis {
    read: Known,
    write: Known,
}

/// The run, judged.
///
/// # Errors
/// None that a caller can cause: an observation always has a start.
pub fn run_of(observation: &Observation) -> Result<Run, BuildError> {
    let devices = bottom_names(&observation.environment);
    let whole = whole(&observation.during);
    let [read, write] = traffic(&whole, observation.opened_for);
    let mut basis =
        Basis::of(read, write, traffic(&behind_start(&observation.during), observation.opened_for));
    if observation.targets.is_empty() {
        // Where no file was seen open, what was fetched is the program itself.
        basis.read = Known::LeftOut;
    }
    if ended_unseen(observation, &whole) {
        basis.leave_out_loading(read, write);
    }
    let mut builder = RunBuilder::new();
    let parts = parts_of(observation, basis);
    events(observation, basis, &parts).iter().for_each(|event| builder.feed(event));
    let mut run = builder.finish()?;
    leave_out_programs(&mut run, &whole);
    forget_what_is_not_known(&mut run, basis, [read, write]);
    run.phases
        .iter_mut()
        .flat_map(|phase| &mut phase.jobs)
        .for_each(|job| job.partly_direct = observation.partly_direct);
    say_how_known(&mut run, observation, basis, [read, write]);
    if parts.len() > 1 {
        let text = "reads and writes were not side by side: each are given over the time that they took";
        remark(&mut run, "observed", text.to_owned());
    }
    if basis.read == Known::LeftOut && basis.write == Known::LeftOut {
        let text = match left_running(&observation.left_running) {
            Some(left) => format!("{NO_TRAFFIC}: {left}"),
            // Those that were named have a remark of their own.
            None if !observation.missed.is_empty() => NO_TRAFFIC.to_owned(),
            None => format!("{NO_TRAFFIC}; {NOT_NAMED}"),
        };
        remark(&mut run, checks::NOTHING_SEEN, text);
        // What the plan had to say of a job is of none that was there.
        run.phases.iter_mut().for_each(|phase| phase.jobs.clear());
    } else if let Some(text) = left_running(&observation.left_running) {
        remark(&mut run, "observed", text);
    }
    for missed in &observation.missed {
        let (id, text) = missed.words(&observation.targets);
        remark(&mut run, id, text);
    }
    if let Some(text) = observation.ended.words(whole.at_ns as f64 / 1e9) {
        remark(&mut run, checks::COMMAND_ENDED, text);
    }
    device_figures(&mut run, observation, &devices);
    checks::judge(&mut run);
    Ok(run)
}

impl MissedTarget {
    /// The remark on it: its id and its text. `judged`: what the figures are about.
    fn words(&self, judged: &[PlannedTarget]) -> (&'static str, String) {
        let path = &self.path;
        if !self.known {
            let text = format!(
                "whether the command opened --target {path} is not known: it ended before its files could be seen"
            );
            return (checks::TARGET_UNSEEN, text);
        }
        let judged: Vec<&str> = judged.iter().take(JUDGED_NAMED_MAX).map(|one| one.path.as_str()).collect();
        let instead = match judged.as_slice() {
            [] => "nor any other data file: there is nothing to judge".to_owned(),
            files => format!("the figures are about what it did open: {}", files.join(", ")),
        };
        (checks::TARGET_NOT_OPENED, format!("the command never opened --target {path}; {instead}"))
    }
}

/// What is said where no traffic can be told to be about files.
const NO_TRAFFIC: &str = "no storage traffic of the command was seen";
const NOT_NAMED: &str = "files that are open only for a moment are not seen either: name them with --target";

/// Says how its reads and its writes are known, and what is left out.
fn say_how_known(run: &mut Run, observation: &Observation, basis: Basis, [read, write]: [Traffic; 2]) {
    let of =
        |kind| [(basis.read, "reads"), (basis.write, "writes")].into_iter().filter(move |(k, _)| *k == kind);
    if of(Known::Calls).next().is_some() {
        let threads = match observation.threads {
            1 => "1 thread".to_owned(),
            threads => format!("up to {threads} threads"),
        };
        let text = format!(
            "operations are calls of read and write, of {threads}; block sizes, access pattern, outstanding I/Os and \
             latencies are not known from outside"
        );
        remark(run, "observed", text);
    }
    for (_, name) in of(Known::Bytes) {
        let text = format!(
            "{name}: only the bytes that the kernel moved for the command are known: it does not count per process what is \
             asked for through libaio, io_uring or mapped files, and calls on pipes are counted like those on files; \
             operations and block size are not known"
        );
        remark(run, "observed", text);
    }
    for (known, name, traffic) in [(basis.read, "reads", read), (basis.write, "writes", write)] {
        if known == Known::LeftOut && traffic.bytes() > 0 {
            let share = traffic.bytes() as f64 / (read.bytes() + write.bytes()) as f64;
            let when = if share < TRAFFIC_SHARE_MIN { "" } else { ", almost all in its first second" };
            let text = format!(
                "{name} of {} ({:.1} % of the traffic{when}) are left out: the command's own files",
                Bytes(traffic.bytes()),
                100.0 * share
            );
            remark(run, "observed", text);
        }
    }
}

/// What is said of processes that the command left behind.
fn left_running(names: &[String]) -> Option<String> {
    let [first, others @ ..] = names else { return None };
    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    Some(format!(
        "the command ended while {first}{more}, which it had started, still ran; what is done after its end is not counted \
         (let the command wait for it)"
    ))
}

/// Takes out of the result what the plan had to say and nobody knows: nothing of it was seen.
fn forget_what_is_not_known(run: &mut Run, basis: Basis, traffic: [Traffic; 2]) {
    let known = [basis.read, basis.write];
    let Some(phase) = run.phases.first_mut() else { return };
    for job in &mut phase.jobs {
        job.outstanding_io_mean = 0.0;
        job.durability.clear();
        PATTERN_UNKNOWN.clone_into(&mut job.pattern);
        // The mean of what was asked for is no block size.
        let ops = [job.read.as_mut(), job.write.as_mut(), Some(&mut job.total)];
        ops.into_iter().flatten().for_each(|op| op.block_size = 0);
        let is_of_bytes = |op: &Option<OpResult>, known| op.is_some() && known == Known::Bytes;
        if is_of_bytes(&job.read, basis.read) || is_of_bytes(&job.write, basis.write) {
            (job.total.ios, job.total.iops) = (0, 0.0);
            job.cpu_ns_per_io = 0.0;
        }
        if basis.read != Known::Calls {
            job.cached_read_share = None;
        }
    }
    if let Some(truth) = &mut phase.device {
        let asked = |at: usize| if known[at] == Known::Bytes { 0 } else { traffic[at].called_bytes };
        (truth.asked_read_bytes, truth.asked_written_bytes) = (asked(0), asked(1));
        truth.asked_unknown = known.contains(&Known::Bytes);
        if truth.asked_unknown {
            let why = "what the command asked for is not counted apart from pipes, or not at all (libaio, io_uring, mapped files)";
            truth.unknown_because.get_or_insert_with(|| why.to_owned());
        }
    }
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

fn whole(during: &[Counters]) -> Counters {
    during.first().zip(during.last()).map(|(first, last)| Counters::delta(first, last)).unwrap_or_default()
}

/// What was read and written between two readings. Calls of a kind that no file was opened for went to a pipe, a
/// terminal, `/dev/null`.
fn traffic(delta: &Counters, opened_for: (bool, bool)) -> [Traffic; 2] {
    let called = |opened: bool, field: fn(&ProcessCounters) -> Option<u64>| {
        if opened { of_processes(delta, field) } else { 0 }
    };
    let read = Traffic {
        calls: called(opened_for.0, |p| p.asked_reads),
        called_bytes: called(opened_for.0, |p| p.asked_read_bytes),
        moved_bytes: of_processes(delta, |p| p.storage_read_bytes),
    };
    let write = Traffic {
        calls: called(opened_for.1, |p| p.asked_writes),
        called_bytes: called(opened_for.1, |p| p.asked_write_bytes),
        moved_bytes: of_processes(delta, |p| p.storage_write_bytes),
    };
    [read, write]
}

/// What was counted behind the first second; all of it where nothing was done any more, or most of the time is in it.
fn behind_start(during: &[Counters]) -> Counters {
    let all = whole(during);
    let begun = during.first().map_or(0, |first| first.at_ns) + START_NS;
    let rest = during.iter().position(|reading| reading.at_ns >= begun).map(|at| whole(&during[at..]));
    let at_work = |rest: &Counters| traffic(rest, (true, true)).iter().any(|kind| kind.bytes() > 0);
    rest.filter(|rest| rest.at_ns > all.at_ns / 2 && at_work(rest)).unwrap_or(all)
}

/// Whether a command was over before any of its files was seen: what it did may have been no more than to be loaded.
fn ended_unseen(observation: &Observation, whole: &Counters) -> bool {
    let unseen = |missed: &MissedTarget| !missed.known;
    !observation.own_figures
        && whole.at_ns < START_NS
        && observation.missed.len() >= observation.targets.len()
        && observation.missed.iter().any(unseen)
}

impl Basis {
    /// Leaves out what loading a program takes: its code is fetched without calls, and of its own files little is read by them.
    fn leave_out_loading(&mut self, read: Traffic, write: Traffic) {
        if read.called_bytes < OWN_BYTES_MAX {
            self.read = Known::LeftOut;
        }
        if write.bytes() < OWN_BYTES_MAX {
            self.write = Known::LeftOut;
        }
    }

    /// By what was done in all, and behind the start.
    fn of(read: Traffic, write: Traffic, behind_start: [Traffic; 2]) -> Self {
        let total = behind_start[0].bytes().saturating_add(behind_start[1].bytes()) as f64;
        let known = |kind: Traffic, later: Traffic, charged: u64| {
            let explained = kind.called_bytes.saturating_add(charged) as f64;
            if total == 0.0 || (later.bytes() as f64) < TRAFFIC_SHARE_MIN * total {
                Known::LeftOut
            } else if explained >= CALLS_SHARE_MIN * kind.moved_bytes as f64 {
                Known::Calls
            } else {
                Known::Bytes
            }
        };
        let charged = write.calls.saturating_mul(CHARGED_BYTES_PER_WRITE);
        Basis { read: known(read, behind_start[0], 0), write: known(write, behind_start[1], charged) }
    }
}

/// What was done between two readings.
fn counts(delta: &Counters, basis: Basis, opened_for: (bool, bool)) -> JobCounts {
    let mut counts = JobCounts::default();
    let [read, write] = traffic(delta, opened_for);
    for (kind, known, done) in [(OpKind::Read, basis.read, read), (OpKind::Write, basis.write, write)] {
        let op = counts.op_mut(kind);
        (op.ios, op.bytes) = match known {
            Known::Calls => (done.calls, done.called_bytes),
            Known::Bytes => (0, done.moved_bytes),
            Known::LeftOut => (0, 0),
        };
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

fn events(observation: &Observation, basis: Basis, parts: &[Part]) -> Vec<RunEvent> {
    let record = |record: &Counters| -> RunEvent {
        HostEvent::Counters { phase: 0, record: Box::new(record.clone()) }.into()
    };
    let first = observation.during.first();
    let whole = whole(&observation.during);
    let mut events = vec![RunEvent::RunStarted {
        id: observation.id.clone(),
        started: observation.started.clone(),
        plan: Box::new(plan(observation, &counts(&whole, basis, observation.opened_for), parts)),
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
    let done = |part: Part, delta: &Counters| part.of(counts(delta, basis, observation.opened_for));
    let courses: Vec<std::ops::Range<usize>> = parts
        .iter()
        .map(|part| {
            course_of(&deltas, observation.own_figures, |delta| {
                let (done, all) = (done(*part, delta), done(*part, &whole));
                let least = if part.0.is_none() { 0.0 } else { STRAY_SHARE_MAX };
                let mut ops = done.ops.iter().zip(&all.ops);
                ops.any(|(op, all)| {
                    (op.ios > 0 || op.bytes > 0) && op.bytes as f64 >= least * all.bytes as f64
                })
            })
        })
        .collect();
    for (index, (pair, delta)) in observation.during.windows(2).zip(&deltas).enumerate() {
        for (job, (part, course)) in parts.iter().zip(&courses).enumerate() {
            let key = IntervalKey {
                phase: 0,
                job: job as u32,
                index: index as u32,
                ramp: !course.contains(&index),
                start_ns: pair[0].at_ns.saturating_sub(start_ns),
                length_ns: delta.at_ns,
            };
            let counts = done(*part, delta);
            events.push(HostEvent::Interval(Box::new(Interval { key, counts })).into());
        }
        events.push(record(&pair[1]));
    }
    for (job, (part, course)) in parts.iter().zip(&courses).enumerate() {
        let during = match part.0 {
            None => &observation.during[..],
            Some(_) => &observation.during[course.start..=course.end],
        };
        let outcome = Box::new(outcome_of(observation, during));
        events.push(HostEvent::JobFinished { phase: 0, job: job as u32, outcome }.into());
    }
    let at_ms = whole.at_ns / 1_000_000;
    events.push(RunEvent::PhaseFinished { phase: 0, at_ms });
    events.extend(observation.after.iter().map(record));
    events.push(RunEvent::RunFinished { end: observation.ended.of_run(), at_ms, error: None });
    events
}

/// How a job ended that was at work from the first to the last of some readings.
fn outcome_of(observation: &Observation, during: &[Counters]) -> JobOutcome {
    let part = whole(during);
    let all_ns = whole(&observation.during).at_ns.max(1);
    let cpu = |field: fn(&ProcessCounters) -> u64| part.processes.iter().map(field).sum();
    let at_ns = |readings: &[Counters]| readings.first().map_or(0, |first| first.at_ns);
    // How long its threads waited for a CPU is known of all the time.
    let waited = |cpu: CpuWait| (cpu.run_queue_ns as f64 * part.at_ns as f64 / all_ns as f64) as u64;
    JobOutcome {
        engine: observation.program.clone(),
        direct: observation.direct,
        measured_start_ns: at_ns(during).saturating_sub(at_ns(&observation.during)),
        measured_ns: part.at_ns,
        run_queue_ns: observation.cpu.map(waited),
        busiest_thread_share: observation.cpu.map(|cpu| cpu.busiest_thread_share),
        cpu_user_ns: cpu(|process| process.user_ns),
        cpu_system_ns: cpu(|process| process.system_ns),
        ..JobOutcome::default()
    }
}

/// A plan that says what is known of the command: where it worked, and its mix by what it did.
fn plan(observation: &Observation, done: &JobCounts, parts: &[Part]) -> Plan {
    let jobs =
        parts.iter().map(|part| planned_job(observation, &part.of(done.clone()), part.name(observation)));
    Plan {
        schema: assay_workload::plan::SCHEMA.to_owned(),
        name: observation.name.clone(),
        series: None,
        seed: 0,
        seed_given: false,
        hosts: Vec::new(),
        targets: observation.targets.clone(),
        phases: vec![PlannedPhase {
            name: observation.name.clone(),
            kind: assay_workload::PhaseKind::Measure,
            jobs: jobs.collect(),
            drain_after: false,
            pause_after: Nanos(0),
            point: SweepPoint::default(),
            repeat: 0,
            step: None,
            carried_by: Default::default(),
            despite_failure: false,
        }],
    }
}

fn planned_job(observation: &Observation, done: &JobCounts, name: String) -> PlannedJob {
    let (reads, writes) = (done.op(OpKind::Read), done.op(OpKind::Write));
    let bytes = reads.bytes + writes.bytes;
    let mix = match bytes {
        0 => Mix::READ,
        _ => Mix::read_write((100.0 * reads.bytes as f64 / bytes as f64).round()),
    };
    let sites: Vec<PlannedSite> = sites(&observation.targets);
    let slice = ThreadSlice { host: HostId::FIRST, seed: 0, sites, ios: None, bytes: None, rate: None };
    let threads_at_work =
        observation.cpu.map_or(observation.threads, |cpu| cpu.threads_at_work.min(observation.threads));
    let mut traits = Job::new(&name, &[], AccessPattern::unknown(mix)).traits;
    traits.outstanding_per_thread = 0;
    PlannedJob {
        traits,
        engine: PlannedEngine::Foreign,
        engine_reason: None,
        direct: observation.direct,
        pace: Pace::Closed,
        end: End::default(),
        operations: Vec::new(),
        slices: vec![slice; threads_at_work.clamp(1, 4096) as usize],
    }
}

fn sites(targets: &[PlannedTarget]) -> Vec<PlannedSite> {
    let of = |(index, target): (usize, &PlannedTarget)| PlannedSite {
        target: index as u32,
        offset_bytes: 0,
        length_bytes: target.size_bytes,
    };
    targets.iter().enumerate().map(of).collect()
}

fn remark(run: &mut Run, id: &str, text: String) {
    run.notes.push(text.clone());
    run.remarks.push(Remark { phase: None, id: id.to_owned(), text });
}

/// Takes what the kernel fetched for the command from elsewhere, its program and libraries, out of what it is held to have
/// fetched from its targets: that is no more than the devices right below these read for whomever.
fn leave_out_programs(run: &mut Run, delta: &Counters) {
    let targets = &run.environment.targets;
    // A file system that compresses fetches less than it hands out.
    let whole_blocks = |fs: &FileSystem| fs.compresses != Some(true);
    if targets.is_empty()
        || !targets.iter().all(|target| target.file_system.as_ref().is_none_or(whole_blocks))
    {
        return;
    }
    let mut names: Vec<&str> =
        targets.iter().flat_map(|target| target.top_devices().map(|device| device.name.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    let read =
        names.iter().map(|name| delta.device(name).map(|device| device.read_bytes)).sum::<Option<u64>>();
    let Some(read) = read.filter(|_| targets.iter().all(|target| target.top_devices().next().is_some()))
    else {
        return;
    };
    for phase in &mut run.phases {
        let Some(truth) = &mut phase.device else { continue };
        if truth.process_read_bytes.is_some_and(|fetched| fetched > read) {
            truth.process_read_bytes = Some(read);
            spread_cached_share(truth, &mut phase.jobs);
        }
    }
}

/// What the devices did, for all processes: requests a second and the mean time they took for one.
fn device_figures(run: &mut Run, observation: &Observation, devices: &[String]) {
    let delta = whole(&observation.during);
    let seconds = delta.at_ns as f64 / 1e9;
    let Some(phase) = run.phases.first_mut().filter(|_| seconds > 0.0) else { return };
    for name in devices {
        let Some(device) = delta.device(name) else { continue };
        let kinds =
            [("read", device.reads, device.read_time_ms), ("write", device.writes, device.write_time_ms)];
        for (kind, requests, time_ms) in kinds.into_iter().filter(|(_, requests, _)| *requests > 0) {
            let mut add = |what: String, value: f64, unit: &str| {
                phase
                    .metrics
                    .insert(what, Metric { value, unit: unit.to_owned(), n: 1, interval: None, basis: None });
            };
            let rate = requests as f64 / seconds;
            add(format!("{name}: {kind} requests at the device, all processes"), rate, "per second");
            add(format!("{name}: mean {kind} time at the device"), time_ms as f64 / requests as f64, "ms");
        }
    }
}

/// The figures that a command wrote itself, with what was seen of it: the checks then judge them by both.
///
/// `figures` is an imported run. Its groups of jobs become one phase, because what the devices did is known of all
/// together. The observation should be of the time that the figures are about.
pub fn adopt(observed: Run, figures: Run) -> Run {
    let Run { plan: observed_plan, environment, mut phases, remarks, end, .. } = observed;
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
    if let Some(course) = &course {
        adopt_cpu_wait(&mut jobs, course);
    }
    let mut asked = RequestedBytes::default();
    for job in &jobs {
        asked.read_bytes += job.read.as_ref().map_or(0, |op| op.bytes);
        asked.written_bytes += job.write.as_ref().map_or(0, |op| op.bytes);
    }
    if let Some(truth) = &mut phase.device {
        (truth.asked_read_bytes, truth.asked_written_bytes) = (asked.read_bytes, asked.written_bytes);
        if std::mem::take(&mut truth.asked_unknown) {
            truth.unknown_because = None;
        }
        spread_cached_share(truth, &mut jobs);
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
    let about_targets = [checks::TARGET_NOT_OPENED, checks::TARGET_UNSEEN];
    run.remarks.extend(remarks.iter().filter(|remark| about_targets.contains(&remark.id.as_str())).cloned());
    // A command that failed may have written figures all the same.
    if end != Some(RunEnd::Completed) {
        run.end = end;
        run.remarks.extend(remarks.into_iter().filter(|remark| remark.id == checks::COMMAND_ENDED));
    }
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
        job.slices.iter_mut().for_each(|slice| slice.sites.clone_from(&sites));
    }
}

/// The course over time, which a result may lack: that of the counters, where they moved the bytes of the figures.
fn adopt_course(job: &mut JobResult, course: &JobResult) {
    let same = (course.total.bytes as f64 / job.total.bytes.max(1) as f64 - 1.0).abs() <= COURSE_TOLERANCE;
    if !job.series.is_empty() || !same || course.total.bytes_per_s <= 0.0 {
        return;
    }
    // How many operations there were is the figures' own; the counters say when their bytes moved.
    let per_byte = job.total.iops / course.total.bytes_per_s;
    let scaled = |point: &SeriesPoint| SeriesPoint { iops: point.bytes_per_s * per_byte, ..*point };
    job.series = course.series.iter().map(scaled).collect();
}

/// How long the jobs' threads waited for a CPU, which is known of all of them together.
fn adopt_cpu_wait(jobs: &mut [JobResult], course: &JobResult) {
    let seen_ns = course.evidence.measured_ns.max(1) as f64;
    let threads: f64 = jobs.iter().map(|job| f64::from(job.evidence.threads.max(1))).sum();
    for job in jobs {
        let evidence = &mut job.evidence;
        let time = (evidence.measured_ns as f64 / seen_ns).min(1.0);
        let part = time * f64::from(evidence.threads.max(1)) / threads;
        evidence.run_queue_ns = course.evidence.run_queue_ns.map(|ns| (ns as f64 * part) as u64);
        evidence.busiest_thread_share = course.evidence.busiest_thread_share;
    }
}

#[cfg(test)]
#[path = "observed/tests.rs"]
mod tests;
