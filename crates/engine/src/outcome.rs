//! From what threads report at their end to the outcome of a job.

use std::collections::BTreeMap;

use assay_results::data::DataChecks;
use assay_results::event::which_io;
use assay_results::{JobOutcome, ShortTransfers};
use assay_workload::Plan;
use assay_workload::plan::PlannedJob;

use crate::clock::RealClock;
pub use crate::errno::errno_name;
use crate::errno::errno_words;
use crate::job_loop::LoopEnd;
use crate::seam::{Clock as _, EngineError, QueueFull};

/// CPU time, nanoseconds, and how often the processor was given away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// In user space.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// Voluntary context switches: the thread waited.
    pub waits: u64,
    /// Involuntary context switches: the kernel gave the CPU to another task.
    pub preempted: u64,
    /// Time spent ready to run, waiting for a processor; 0 where the kernel does not account it.
    pub run_queue_ns: u64,
}

fn usage(who: libc::c_int) -> ThreadCpu {
    // SAFETY: all-zero is a valid rusage, and getrusage fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ThreadCpu {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        waits: usage.ru_nvcsw as u64,
        preempted: usage.ru_nivcsw as u64,
        run_queue_ns: 0,
    }
}

/// The calling thread's time on a processor and on the run queue, nanoseconds (Documentation/scheduler/sched-stats.rst).
const RUN_QUEUE: &str = "/proc/thread-self/schedstat";

/// Time on the run queue; 0 where the kernel keeps no such statistics.
fn run_queue_ns() -> u64 {
    let text = std::fs::read_to_string(RUN_QUEUE).unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// CPU time of the whole process, kernel workers on its behalf included.
pub(crate) fn process_cpu() -> ThreadCpu {
    usage(libc::RUSAGE_SELF)
}

impl ThreadCpu {
    /// Of the calling thread.
    pub(crate) fn of_this_thread() -> Self {
        ThreadCpu { run_queue_ns: run_queue_ns(), ..usage(libc::RUSAGE_THREAD) }
    }

    /// What was used since `before`.
    pub(crate) fn since(self, before: ThreadCpu) -> Self {
        ThreadCpu {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            waits: self.waits.saturating_sub(before.waits),
            preempted: self.preempted.saturating_sub(before.preempted),
            run_queue_ns: self.run_queue_ns.saturating_sub(before.run_queue_ns),
        }
    }

    /// What is left when the parts are taken out.
    pub(crate) fn minus(self, parts: impl Iterator<Item = ThreadCpu>) -> Self {
        parts.fold(self, |rest, part| rest.since(part))
    }
}

/// One thread's end.
#[derive(Debug, Default)]
pub struct ThreadEnd {
    /// From the loop.
    pub end: LoopEnd,
    /// Failed operations by a name of the kind's own (an SQLSTATE, an SMTP code), beside those by errno in `end`.
    pub errors_by_name: Vec<(String, u64)>,
    /// What its steps failed by; entered by what runs the thread.
    pub error: Option<EngineError>,
    /// CPU time of the thread while it ran; counted by the driver that runs the thread.
    pub cpu: ThreadCpu,
    /// When the flush at the end was done; 0: there was none.
    pub flushed_ns: u64,
    /// The engine's name.
    pub engine: &'static str,
    /// Its choices.
    pub engine_notes: Vec<String>,
    /// Why it is not the one asked for; `None`: it is.
    pub engine_fallback: Option<String>,
    /// What validating data found.
    pub data: Option<DataChecks>,
}

impl ThreadEnd {
    /// Of a thread that failed just now and says nothing else.
    pub(crate) fn failed(error: EngineError) -> Self {
        let end = LoopEnd { last_completion_ns: RealClock::new().now_ns(), ..LoopEnd::default() };
        ThreadEnd { end, error: Some(error), ..ThreadEnd::default() }
    }

    /// The thread's CPU and run-queue wait as a share of its time since `begun_ns`, when its job started I/O; `None`
    /// without such time.
    fn busy_share(&self, begun_ns: u64) -> Option<f64> {
        let time_ns = self.end.last_completion_ns.max(self.flushed_ns).checked_sub(begun_ns)?;
        let busy_ns = self.cpu.user_ns + self.cpu.system_ns + self.cpu.run_queue_ns;
        (time_ns > 0).then(|| (busy_ns as f64 / time_ns as f64).min(1.0))
    }
}

/// The first I/O that ended a job by its failure, in a sentence.
pub(crate) fn failed_io(plan: &Plan, job: &PlannedJob, ends: &[ThreadEnd]) -> Option<String> {
    let (slice, (io, errno)) =
        job.slices.iter().zip(ends).find_map(|(slice, end)| Some((slice, end.end.fatal_io?)))?;
    let which = which_io(io.operation, io.len_bytes, io.offset_bytes, &io.path(plan, job, slice)?);
    Some(format!("job '{}' stopped: {which}: {}", job.name, errno_words(errno)))
}

/// The failed operations of a job's threads by their names, those of an errno first.
pub fn errors_by_kind(ends: &[ThreadEnd]) -> Vec<(String, u64)> {
    let mut by_errno: BTreeMap<i32, u64> = BTreeMap::new();
    for (errno, count) in ends.iter().flat_map(|end| &end.end.errors) {
        *by_errno.entry(*errno).or_default() += count;
    }
    let mut errors: Vec<(String, u64)> =
        by_errno.into_iter().map(|(errno, count)| (errno_name(errno), count)).collect();
    let unverified: u64 = ends.iter().map(|end| end.end.verify_failed).sum();
    if unverified > 0 {
        errors.push(("verify".to_owned(), unverified));
    }
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in ends.iter().flat_map(|end| &end.errors_by_name) {
        *by_name.entry(name).or_default() += count;
    }
    errors.extend(by_name.into_iter().map(|(name, count)| (name.to_owned(), count)));
    errors
}

/// Why a job stopped whose data is wrong: the first error.
fn wrong_content(ends: &[ThreadEnd]) -> String {
    let first = ends.iter().filter_map(|end| end.data.as_ref()).find_map(|data| data.errors.first());
    let where_ = first.map_or(String::new(), |error| format!(": {}", error.describe()));
    format!("a block did not hold what was written there{where_}")
}

/// The outcome of a job from its threads' ends, and a sentence if it failed. Times are on the job's clock, `stopped_ns` is when the phase was
/// asked to stop (`u64::MAX`: it was not); `extra` is CPU the process used outside its job threads, shared by `jobs` jobs.
pub(crate) fn of_job(
    job: &PlannedJob,
    ends: &[ThreadEnd],
    measured_start_ns: u64,
    phase_start_ns: u64,
    stopped_ns: u64,
    extra: ThreadCpu,
    jobs: usize,
) -> (JobOutcome, Option<String>) {
    let last = ends.iter().map(|end| end.end.last_completion_ns.max(end.flushed_ns)).max().unwrap_or(0);
    let planned_end = job.end.time.map_or(0, |time| measured_start_ns + time.0);
    // An idle tail of a rate-controlled job belongs to its time; a job that was stopped ends with its last completion.
    let open = !ends.is_empty() && job.slices.iter().any(|slice| job.slice_iops(slice).is_some());
    let idle_to_the_end = open && stopped_ns >= planned_end && last + 1_000_000_000 > planned_end;
    let end_ns = if idle_to_the_end { last.max(planned_end) } else { last };
    let begun_ns = measured_start_ns.saturating_sub(job.ramp.0);
    let share = jobs.max(1) as u64;
    let calls: u64 = ends.iter().map(|end| end.end.submit_calls).sum();
    let busy: u64 = ends.iter().map(|end| end.end.busy_sum_ns).sum();
    let fatal = ends.iter().map(|end| end.end.fatal_errno).find(|errno| *errno != 0);
    // A thread that panicked says nothing of its engine.
    let first = ends.iter().find(|end| !end.engine.is_empty());
    let full = ends.iter().find(|end| end.end.queue_full);
    let full = full.map(|end| format!("{}: {QueueFull} although a slot is free", end.engine));
    let said = |errno| match errno {
        libc::EILSEQ => wrong_content(ends),
        errno => errno_words(errno),
    };
    let failed = ends.iter().find_map(|end| end.error.as_ref()).map(EngineError::to_string);
    let error = fatal.map(said).or(full).or(failed);
    let error = error.map(|why| format!("job '{}' stopped: {why}", job.name));
    let short = |op: usize| ends.iter().map(|end| end.end.short[op]).sum();
    let mut engine_notes = first.map_or(Vec::new(), |end| end.engine_notes.clone());
    engine_notes.push(format!("clock: {}", RealClock::new().name()));
    let outcome = JobOutcome {
        engine: first.map_or("", |end| end.engine).to_owned(),
        engine_fallback: first.and_then(|end| end.engine_fallback.clone()),
        engine_notes,
        direct: job.direct,
        measured_start_ns: measured_start_ns - phase_start_ns,
        measured_ns: end_ns.saturating_sub(measured_start_ns),
        cpu_user_ns: ends.iter().map(|end| end.cpu.user_ns).sum::<u64>() + extra.user_ns / share,
        cpu_system_ns: ends.iter().map(|end| end.cpu.system_ns).sum::<u64>() + extra.system_ns / share,
        stamp_error_ns_max: ends.iter().map(|end| end.end.busy_max_ns).max().unwrap_or(0),
        stamp_error_ns_mean: if calls == 0 { 0.0 } else { busy as f64 / calls as f64 },
        errors_by_kind: errors_by_kind(ends),
        data: DataChecks::merged(ends.iter().filter_map(|end| end.data.as_ref())),
        short: ShortTransfers { reads: short(0), writes: short(1) },
        read_buffers_sampled: ends.iter().map(|end| end.end.zero_sampled).sum(),
        read_buffers_zero: ends.iter().map(|end| end.end.zero_found).sum(),
        submit_calls: calls,
        waits: ends.iter().map(|end| end.cpu.waits).sum(),
        preempted: ends.iter().map(|end| end.cpu.preempted).sum(),
        run_queue_ns: std::path::Path::new(RUN_QUEUE)
            .exists()
            .then(|| ends.iter().map(|end| end.cpu.run_queue_ns).sum()),
        figures: BTreeMap::new(),
        moments: Vec::new(),
        busiest_thread_share: ends.iter().filter_map(|end| end.busy_share(begun_ns)).reduce(f64::max),
    };
    (outcome, error)
}
