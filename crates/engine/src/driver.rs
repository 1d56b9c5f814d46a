//! Running a phase for real: one thread per job thread, and a sampler that takes their intervals away.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use assay_results::HostEvent;
use assay_workload::plan::{Plan, PlannedPhase};

use crate::clock::RealClock;
use crate::ending::Endings;
use crate::kind::{self, JobKind, PhaseContext, PreparedJobs, PreparedPhase, ThisMachine, ThreadIndex};
use crate::outcome::{self, ThreadCpu, ThreadEnd};
use crate::recorder::Intervals;
use crate::sampler::Sampler;
use crate::seam::{Clock, EngineError};
use crate::watchdog::Watchdog;

mod gate;
mod start;

use gate::{Gate, GatePass};
pub use start::CommonStart;

/// How long behind the end of an interval the sampler comes, so that threads have published it.
const LAG: Duration = Duration::from_millis(5);
/// How often it looks whether everybody has finished.
const POLL: Duration = Duration::from_millis(2);
/// How long after its time a job is interrupted ([`PreparedJobs::interrupt`]): what it has outstanding may complete until then.
pub const OVERTIME: Duration = Duration::from_secs(30);

/// Called about once a period with the sink, on the thread that runs the phase.
pub type Tick<'a> = dyn FnMut(&mut dyn FnMut(HostEvent)) + 'a;

/// How a phase is run.
#[derive(Clone)]
pub struct PhaseOptions<'k> {
    /// Length of a reporting period.
    pub interval: Duration,
    /// Set to end the phase early.
    pub stop: Arc<AtomicBool>,
    /// What can run as a job; the first that takes a job has it.
    pub kinds: &'k [&'k dyn JobKind<ThisMachine>],
    /// Says when to start; `None`: as soon as all threads are ready.
    pub start: Option<&'k CommonStart>,
    /// Told when the phase is over but for threads whose I/Os hang. [`run_phase`] waits for them all the same: a caller that does not
    /// want to goes on without it, and without what it returns.
    pub given_up: &'k dyn Fn(PhaseEnd),
}

impl std::fmt::Debug for PhaseOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PhaseOptions").field("interval", &self.interval).finish_non_exhaustive()
    }
}

/// How a phase ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseEnd {
    /// The first job that failed, and why.
    pub error: Option<String>,
}

/// How a job thread ended; `None`: the phase was called off before it started.
type Ended = Result<Option<ThreadEnd>, EngineError>;
type Handle<'s> = ScopedJoinHandle<'s, Ended>;

/// One job thread from the outside.
#[derive(Debug)]
struct Running<'s> {
    at: ThreadIndex,
    intervals: Arc<dyn Intervals>,
    handle: Handle<'s>,
}

impl Running<'_> {
    fn ended(&self) -> bool {
        self.handle.is_finished()
    }
}

/// What ends a phase, apart from its jobs' own limits.
struct Minding<'a> {
    endings: Endings,
    gate: &'a Gate,
    start: Option<&'a CommonStart>,
    given_up: &'a dyn Fn(PhaseEnd),
}

/// Runs phase `phase` of `plan`. Events go to `sink` on the calling thread, intervals among them; `tick` is called about
/// once a period.
///
/// # Errors
/// [`EngineError`] if a job could not be prepared or a thread not be set up; nothing was measured then.
pub fn run_phase(
    plan: &Plan,
    phase: usize,
    options: &PhaseOptions<'_>,
    sink: &mut dyn FnMut(HostEvent),
    tick: &mut Tick<'_>,
) -> Result<PhaseEnd, EngineError> {
    let planned = &plan.phases[phase];
    let endings = Endings::new(planned, &options.stop, options.interval);
    let stops: Vec<Arc<AtomicBool>> = (0..planned.jobs.len()).map(|job| endings.flag(job)).collect();
    let interval_ns = options.interval.as_nanos() as u64;
    let context = PhaseContext { plan, phase, interval_ns, stop: &options.stop, stops: &stops };
    let of_job = kind::kinds_of(options.kinds, planned).map_err(|job| EngineError::Unsupported {
        engine: "the local driver",
        what: format!("run jobs of engine {}", job.engine_name(planned.carried_by)),
    })?;
    let mut say = |id: &str, text| sink(note(phase, id, text));
    let Some(prepared) = PreparedPhase::new(options.kinds, of_job, context, &mut say)? else {
        return Ok(PhaseEnd::default());
    };
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let spawn = |seat| ThreadStart::spawn(seat, scope);
        let _guard = EndIfPanicking(&gate, &stops);
        let running = spawn_all(planned, &prepared, &gate, &spawn)?;
        let minding = Minding { endings, gate: &gate, start: options.start, given_up: options.given_up };
        measure(context, &prepared, running, minding, sink, tick)
    })
}

/// If the receiver of events panics, it stops the threads, so that the panic does not wait for their limits.
struct EndIfPanicking<'a>(&'a Gate, &'a [Arc<AtomicBool>]);

impl Drop for EndIfPanicking<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.call_off(None);
            self.1.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
        }
    }
}

fn note(phase: usize, id: &str, text: String) -> HostEvent {
    HostEvent::Note { phase: Some(phase as u32), id: id.to_owned(), text }
}

/// From the common start of all threads to the outcomes of their jobs.
fn measure(
    context: PhaseContext<'_>,
    prepared: &PreparedPhase<'_, ThisMachine>,
    running: Vec<Running<'_>>,
    minding: Minding<'_>,
    sink: &mut dyn FnMut(HostEvent),
    tick: &mut Tick<'_>,
) -> Result<PhaseEnd, EngineError> {
    let Minding { mut endings, gate, start, given_up } = minding;
    let (planned, phase) = (context.planned(), context.phase);
    let mut interrupts = Interrupts::new(context, prepared);
    if !gate.wait_ready(running.len(), &mut || interrupts.look(0)) {
        let ended = join_all(running, planned.jobs.len(), gate);
        return ended.map(|_| PhaseEnd { error: Some("a job thread ended before the start".to_owned()) });
    }
    let Some(start_ns) = start::wait_for(start, context.stop) else {
        gate.call_off(None);
        return join_all(running, planned.jobs.len(), gate).map(|_| PhaseEnd::default());
    };
    let process_before = outcome::process_cpu();
    gate.open(start_ns);
    if start.is_some() {
        sink(HostEvent::Started { phase: phase as u32, at_ns: start_ns });
    }
    tick(sink);
    let threads = running.iter().map(|thread| (thread.at.job, Arc::clone(&thread.intervals))).collect();
    let mut sampler = Sampler::new(threads, phase, start_ns, measured_starts(planned, start_ns));
    let interval = Duration::from_nanos(context.interval_ns);
    let clock = RealClock::new();
    let mut next_wake = Instant::now() + LAG;
    let mut watchdog = Watchdog::new(context, start_ns);
    while running.iter().any(|thread| !thread.ended()) {
        next_wake += interval;
        wait(next_wake, interval, &mut || {
            endings.look(running.iter().map(|thread| (thread.at.job, thread.ended())));
            interrupts.look(clock.now_ns().saturating_sub(start_ns));
            running.iter().all(Running::ended)
        });
        sampler.collect(&mut watched(&mut endings, sink));
        tick(sink);
        if let Some(error) = look_for_hung(&mut watchdog, prepared, &running, sink) {
            sampler.finish(sink);
            // What was stopped did not fail.
            given_up(PhaseEnd { error: (!context.stopped()).then_some(error) });
            break;
        }
    }
    sampler.collect(sink);
    sampler.finish(sink);
    endings.tell(phase, planned, sink);
    prepared.finish(&mut |id, text| sink(note(phase, id, text)));
    let process_cpu = outcome::process_cpu().since(process_before);
    let ends = join_all(running, planned.jobs.len(), gate)?;
    Ok(finish_jobs((context, prepared), start_ns, &ends, process_cpu, sink))
}

/// Has the watchdog look at what threads have outstanding: why the phase should end without them, if it should.
fn look_for_hung(
    watchdog: &mut Watchdog<'_>,
    prepared: &PreparedPhase<'_, ThisMachine>,
    running: &[Running<'_>],
    sink: &mut dyn FnMut(HostEvent),
) -> Option<String> {
    // Read first: what is handed over meanwhile is younger than nothing.
    let now_ns = RealClock::new().now_ns();
    let waits = |at: ThreadIndex| prepared.with(at.job)?.waits(at, now_ns);
    let threads = running.iter().filter(|thread| !thread.ended());
    let threads: Vec<_> = threads.map(|thread| (thread.at, waits(thread.at))).collect();
    watchdog.look(now_ns, &threads, sink)
}

/// Wakes the threads of jobs that are to end, once a job.
struct Interrupts<'a> {
    context: PhaseContext<'a>,
    prepared: &'a PreparedPhase<'a, ThisMachine>,
    told: Vec<bool>,
}

impl<'a> Interrupts<'a> {
    fn new(context: PhaseContext<'a>, prepared: &'a PreparedPhase<'a, ThisMachine>) -> Self {
        Interrupts { context, prepared, told: vec![false; context.stops.len()] }
    }

    /// `elapsed_ns` since the start of the phase.
    fn look(&mut self, elapsed_ns: u64) {
        for (job, told) in self.told.iter_mut().enumerate().filter(|(_, told)| !**told) {
            let planned = self.context.job(job);
            let time = planned.end.time.map(|time| time.0.saturating_add(OVERTIME.as_nanos() as u64));
            let until =
                time.map(|time| time.saturating_add(planned.start_delay.0).saturating_add(planned.ramp.0));
            let over = until.is_some_and(|until| elapsed_ns > until);
            // Before the start the flags of single jobs are not looked at yet.
            if over || self.context.stopped() || self.context.stops[job].load(Ordering::Relaxed) {
                *told = true;
                self.prepared.with(job).into_iter().for_each(|jobs| jobs.interrupt(job));
            }
        }
    }
}

/// Sleeps until the next interval should be there, or `done`.
fn wait(next_wake: Instant, interval: Duration, done: &mut dyn FnMut() -> bool) {
    loop {
        let left = next_wake.saturating_duration_since(Instant::now());
        if left.is_zero() || done() {
            return;
        }
        std::thread::sleep(left.min(POLL.max(interval / 50)));
    }
}

/// Passes events on, and lets the intervals among them end jobs.
fn watched(endings: &mut Endings, sink: &mut dyn FnMut(HostEvent)) -> impl FnMut(HostEvent) {
    move |event| {
        if let HostEvent::Interval(interval) = &event {
            endings.feed(interval);
        }
        sink(event);
    }
}

/// When the measured part of each job starts.
fn measured_starts(planned: &PlannedPhase, start_ns: u64) -> Vec<u64> {
    let jobs = planned.jobs.iter();
    jobs.map(|job| start_ns + job.start_delay.0 + job.ramp.0).collect()
}

fn spawn_all<'s>(
    planned: &PlannedPhase,
    prepared: &'s PreparedPhase<'_, ThisMachine>,
    gate: &'s Gate,
    spawn: &dyn Fn(ThreadStart<'s>) -> std::io::Result<Handle<'s>>,
) -> Result<Vec<Running<'s>>, EngineError> {
    let mut running: Vec<Running<'s>> = Vec::new();
    for (job_index, job) in planned.jobs.iter().enumerate() {
        for thread in 0..job.slices.len() {
            let Some(jobs) = prepared.with(job_index) else { continue };
            let at = ThreadIndex { job: job_index, thread };
            match spawn(ThreadStart { jobs, at, number: running.len(), gate }) {
                Ok(handle) => {
                    running.push(Running { at, intervals: jobs.intervals(at), handle });
                }
                Err(source) => {
                    gate.call_off(None);
                    // Whatever else went wrong meanwhile: this is what the phase failed by.
                    let _ = join_all(running, planned.jobs.len(), gate);
                    return Err(EngineError::Setup {
                        engine: "driver",
                        what: "a job thread (limited by ulimit -u and -v)",
                        source,
                    });
                }
            }
        }
    }
    Ok(running)
}

/// Waits for all threads: what they ended with, by job. A thread that panicked behind the start ended with that.
///
/// # Errors
/// What one of them failed by before the start; of several the one that called the phase off.
fn join_all(running: Vec<Running<'_>>, jobs: usize, gate: &Gate) -> Result<Vec<Vec<ThreadEnd>>, EngineError> {
    let mut ends: Vec<Vec<ThreadEnd>> = (0..jobs).map(|_| Vec::new()).collect();
    let mut cause = None;
    for (number, thread) in running.into_iter().enumerate() {
        match thread.handle.join().unwrap_or_else(|panic| Err(EngineError::panicked(&*panic))) {
            Ok(end) => ends[thread.at.job].extend(end),
            Err(error) if gate.has_started() => ends[thread.at.job].push(ThreadEnd::failed(error)),
            Err(error) if cause.is_none() || gate.called_off_by() == Some(number) => cause = Some(error),
            Err(_) => {}
        }
    }
    cause.map_or(Ok(ends), Err)
}

fn finish_jobs(
    (context, prepared): (PhaseContext<'_>, &PreparedPhase<'_, ThisMachine>),
    start_ns: u64,
    ends: &[Vec<ThreadEnd>],
    process_cpu: ThreadCpu,
    sink: &mut dyn FnMut(HostEvent),
) -> PhaseEnd {
    let (jobs, phase) = (&context.planned().jobs, context.phase as u32);
    let extra = process_cpu.minus(ends.iter().flatten().map(|end| end.cpu));
    let starts = measured_starts(context.planned(), start_ns);
    let stopped_ns = if context.stopped() { RealClock::new().now_ns() } else { u64::MAX };
    let mut error = None;
    for (index, (job, ends)) in jobs.iter().zip(ends).enumerate() {
        // What only other hosts do is nothing that ends here.
        if job.slices.is_empty() {
            continue;
        }
        let (mut result, failed) =
            outcome::of_job(job, ends, starts[index], start_ns, stopped_ns, extra, jobs.len());
        if let Some(jobs) = prepared.with(index) {
            (result.figures, result.moments) = (jobs.figures(index), jobs.moments(index));
        }
        let failed = outcome::failed_io(context.plan, job, ends).or(failed);
        error = error.or(failed);
        sink(HostEvent::JobFinished { phase, job: index as u32, outcome: Box::new(result) });
    }
    PhaseEnd { error }
}

/// What a job thread is told.
struct ThreadStart<'s> {
    jobs: &'s dyn PreparedJobs<ThisMachine>,
    at: ThreadIndex,
    /// Of the phase.
    number: usize,
    gate: &'s Gate,
}

impl<'s> ThreadStart<'s> {
    fn spawn(self, scope: &'s Scope<'s, '_>) -> std::io::Result<Handle<'s>> {
        let name = format!("assay-{}.{}", self.at.job, self.at.thread);
        Builder::new().name(name).spawn_scoped(scope, move || self.run())
    }

    fn run(&self) -> Ended {
        let mut pass = GatePass::new(self.gate, self.number);
        let mut runner = self.jobs.thread(self.at, &ThisMachine)?;
        let Some(start_ns) = pass.pass() else { return Ok(None) };
        runner.arm(start_ns);
        let before = ThreadCpu::of_this_thread();
        let ran = catch_unwind(AssertUnwindSafe(|| runner.run()));
        let cpu = ThreadCpu::of_this_thread().since(before);
        Ok(Some(match ran {
            Ok(ran) => ThreadEnd { cpu, error: ran.err(), ..runner.end() },
            // What it left behind is in no known state: it is not asked for its end.
            Err(panic) => ThreadEnd { cpu, ..ThreadEnd::failed(EngineError::panicked(&*panic)) },
        }))
    }
}

#[cfg(test)]
mod tests;
