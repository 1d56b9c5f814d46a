//! Running a phase for real: one thread per job thread, and a sampler that takes their intervals away.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_results::{HostEvent, interval::IntervalKey};
use assay_workload::arrival::ArrivalSource;
use assay_workload::fill::Filler;
use assay_workload::job::EngineKind;
use assay_workload::ops::{Generator, SiteSpec};
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Plan, PlannedJob};
use assay_workload::rng::derive_seed;
use assay_workload::target::ActiveRange;

use crate::aio::AioEngine;
use crate::buffers::MappedBuffers;
use crate::clock::RealClock;
use crate::ending::Endings;
use crate::job_loop::{JobLoop, LoopEnd, LoopParts, LoopSpec, PassHook, Pending};
use crate::null::NullEngine;
use crate::outcome::{self, ThreadCpu, ThreadEnd};
use crate::posix_aio::PosixAioEngine;
use crate::psync::PsyncEngine;
use crate::recorder::{Intervals, Recorder, Shared};
use crate::sampler::Sampler;
use crate::seam::{Clock, Engine, EngineError};
use crate::targets::{self, OpenTargets};
use crate::tracing::{AnyEngine, TraceSink, TracedEngine};
use crate::tree::{ThreadOptions, TreeThread, Trees};
use crate::uring::UringEngine;

mod gate;

use gate::{Gate, GatePass};

/// Time between everybody being ready and the start, so that threads are waiting when it comes.
const START_AHEAD_NS: u64 = 2_000_000;

/// Called about once a period with the sink, on the thread that runs the phase.
pub type Tick<'a> = dyn FnMut(&mut dyn FnMut(HostEvent)) + 'a;

/// How a phase is run.
#[derive(Debug, Clone)]
pub struct PhaseOptions {
    /// Length of a reporting period.
    pub interval: Duration,
    /// Set to end the phase early.
    pub stop: Arc<AtomicBool>,
    /// Use another engine where a job's cannot be set up and the choice was ours.
    pub fall_back: bool,
}

/// How a phase ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PhaseEnd {
    /// The first job that failed, and why; empty: none.
    pub error: String,
}

/// How a job thread ended; `None`: the phase was called off before it started.
type Ended = Result<Option<ThreadEnd>, EngineError>;
type Handle = JoinHandle<Ended>;

/// One job thread from the outside.
#[derive(Debug)]
struct Running {
    job: usize,
    shared: Arc<dyn Intervals>,
    handle: Handle,
}

/// Runs phase `phase` of `plan`. Events go to `sink` on the calling thread, intervals among them; `tick` is called about
/// once a period.
///
/// # Errors
/// [`EngineError`] if a target or an engine could not be set up; nothing was measured then.
pub fn run_phase(
    plan: &Arc<Plan>,
    phase: usize,
    options: &PhaseOptions,
    sink: &mut dyn FnMut(HostEvent),
    tick: &mut Tick<'_>,
) -> Result<PhaseEnd, EngineError> {
    run_phase_naming(plan, phase, options, &[], sink, tick)
}

/// As [`run_phase`]; trees of files may also stand in the directories `named`, which Assay did not make.
///
/// # Errors
/// As [`run_phase`].
pub fn run_phase_naming(
    plan: &Arc<Plan>,
    phase: usize,
    options: &PhaseOptions,
    named: &[PathBuf],
    sink: &mut dyn FnMut(HostEvent),
    tick: &mut Tick<'_>,
) -> Result<PhaseEnd, EngineError> {
    run_phase_traced(plan, phase, options, (named, None), sink, tick)
}

/// As [`run_phase_naming`]; every I/O is written down where there is a trace.
///
/// # Errors
/// As [`run_phase`].
pub fn run_phase_traced(
    plan: &Arc<Plan>,
    phase: usize,
    options: &PhaseOptions,
    (named, trace): (&[PathBuf], Option<&Arc<TraceSink>>),
    sink: &mut dyn FnMut(HostEvent),
    tick: &mut Tick<'_>,
) -> Result<PhaseEnd, EngineError> {
    let mut note = |id: &str, text: String| {
        sink(HostEvent::Note { phase: Some(phase as u32), id: id.to_owned(), text });
    };
    let go_on = || !options.stop.load(Ordering::Relaxed);
    for file in targets::lay_out(plan, phase, &go_on)? {
        let bytes = assay_workload::units::Bytes(file.bytes);
        note("layout", format!("laid out {} with {bytes}", file.path));
    }
    if !go_on() {
        return Ok(PhaseEnd::default());
    }
    let trees = Trees::prepare(plan, phase, named, &go_on, &mut |text| note("tree", text))?;
    let clock = RealClock::new();
    let thread_count: usize = plan.phases[phase].jobs.iter().map(|job| job.slices.len()).sum();
    let gate = Arc::new(Gate::default());
    let mut endings = Endings::new(&plan.phases[phase], &options.stop, options.interval);
    let running = spawn_all(plan, phase, options, &endings, (&trees, trace), &gate, &ThreadContext::spawn)?;
    if !gate.wait_ready(thread_count) {
        let ended = join_all(running, plan.phases[phase].jobs.len(), &gate);
        return ended.map(|_| PhaseEnd { error: "a job thread ended before the start".to_owned() });
    }
    let process_before = outcome::process_cpu();
    let start_ns = clock.now_ns() + START_AHEAD_NS;
    gate.open(start_ns);
    tick(sink);
    let threads = running.iter().map(|thread| (thread.job, Arc::clone(&thread.shared))).collect();
    let mut sampler = Sampler::new(threads, phase as u32, start_ns, measured_starts(plan, phase, start_ns));
    while running.iter().any(|thread| !thread.handle.is_finished()) {
        sampler.wait(options.interval, &|| {
            endings.look(running.iter().map(|thread| (thread.job, thread.handle.is_finished())));
            running.iter().all(|thread| thread.handle.is_finished())
        });
        sampler.collect(&mut watched(&mut endings, sink));
        tick(sink);
    }
    sampler.collect(sink);
    sampler.finish(sink);
    endings.tell(phase, &plan.phases[phase], sink);
    for text in trees.take_notes() {
        sink(HostEvent::Note { phase: Some(phase as u32), id: "tree".to_owned(), text });
    }
    let process_cpu = outcome::process_cpu().since(process_before);
    let ends = join_all(running, plan.phases[phase].jobs.len(), &gate)?;
    Ok(finish_jobs(plan, phase, start_ns, &ends, process_cpu, sink))
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

fn measured_starts(plan: &Plan, phase: usize, start_ns: u64) -> Vec<u64> {
    let jobs = plan.phases[phase].jobs.iter();
    jobs.map(|job| start_ns + job.job.start_delay.0 + job.job.ramp.0).collect()
}

fn spawn_all(
    plan: &Arc<Plan>,
    phase: usize,
    options: &PhaseOptions,
    endings: &Endings,
    (trees, trace): (&Trees, Option<&Arc<TraceSink>>),
    gate: &Arc<Gate>,
    spawn: &dyn Fn(ThreadContext) -> std::io::Result<Handle>,
) -> Result<Vec<Running>, EngineError> {
    let mut running: Vec<Running> = Vec::new();
    for (job_index, job) in plan.phases[phase].jobs.iter().enumerate() {
        for thread in 0..job.slices.len() {
            let shared = Shared::new();
            let tree = trees.thread(job_index, thread);
            let intervals: Arc<dyn Intervals> = match &tree {
                Some(tree) => tree.intervals(),
                None => Arc::clone(&shared) as Arc<dyn Intervals>,
            };
            let context = ThreadContext {
                plan: Arc::clone(plan),
                phase,
                job: job_index,
                thread,
                number: running.len(),
                gate: Arc::clone(gate),
                shared,
                tree,
                options: PhaseOptions { stop: endings.flag(job_index), ..options.clone() },
                trace: trace.cloned(),
            };
            match spawn(context) {
                Ok(handle) => running.push(Running { job: job_index, shared: intervals, handle }),
                Err(source) => {
                    gate.call_off(None);
                    // Whatever else went wrong meanwhile: this is what the phase failed by.
                    let _ = join_all(running, plan.phases[phase].jobs.len(), gate);
                    return Err(EngineError::Setup { engine: "driver", what: "a job thread", source });
                }
            }
        }
    }
    Ok(running)
}

/// Waits for all threads: what they ended with, by job.
///
/// # Errors
/// What one of them failed by; of several the one that called the phase off.
fn join_all(running: Vec<Running>, jobs: usize, gate: &Gate) -> Result<Vec<Vec<ThreadEnd>>, EngineError> {
    let mut ends: Vec<Vec<ThreadEnd>> = (0..jobs).map(|_| Vec::new()).collect();
    let (mut cause, mut panicked) = (None, None);
    for (number, thread) in running.into_iter().enumerate() {
        match thread.handle.join() {
            Ok(Ok(end)) => ends[thread.job].extend(end),
            Ok(Err(error)) if cause.is_none() || gate.called_off_by() == Some(number) => cause = Some(error),
            Ok(Err(_)) => {}
            Err(panic) => panicked = Some(panic),
        }
    }
    if let Some(panic) = panicked {
        std::panic::resume_unwind(panic);
    }
    cause.map_or(Ok(ends), Err)
}

fn finish_jobs(
    plan: &Plan,
    phase: usize,
    start_ns: u64,
    ends: &[Vec<ThreadEnd>],
    process_cpu: ThreadCpu,
    sink: &mut dyn FnMut(HostEvent),
) -> PhaseEnd {
    let jobs = &plan.phases[phase].jobs;
    let extra = process_cpu.minus(ends.iter().flatten().map(|end| end.cpu));
    let starts = measured_starts(plan, phase, start_ns);
    let mut error = String::new();
    for (index, (job, ends)) in jobs.iter().zip(ends).enumerate() {
        let (result, failed) = outcome::of_job(job, ends, starts[index], start_ns, extra, jobs.len());
        if error.is_empty() {
            error = failed;
        }
        sink(HostEvent::JobFinished { phase: phase as u32, job: index as u32, outcome: Box::new(result) });
    }
    PhaseEnd { error }
}

/// Everything a job thread is told.
struct ThreadContext {
    plan: Arc<Plan>,
    phase: usize,
    job: usize,
    /// Of the job.
    thread: usize,
    /// Of the phase.
    number: usize,
    gate: Arc<Gate>,
    shared: Arc<Shared>,
    tree: Option<TreeThread>,
    options: PhaseOptions,
    trace: Option<Arc<TraceSink>>,
}

impl ThreadContext {
    fn planned(&self) -> &PlannedJob {
        &self.plan.phases[self.phase].jobs[self.job]
    }

    fn spawn(self) -> std::io::Result<Handle> {
        let name = format!("assay-{}.{}", self.job, self.thread);
        std::thread::Builder::new().name(name).spawn(move || self.run())
    }

    fn run(&self) -> Ended {
        let mut pass = GatePass::new(&self.gate, self.number);
        let job = self.planned();
        if let Some(tree) = &self.tree {
            let options =
                ThreadOptions { interval: self.options.interval, stop: Arc::clone(&self.options.stop) };
            return tree.run(job, self.thread, options, &mut || pass.pass());
        }
        let (depth, options) = (job.job.outstanding_per_thread, job.job.engine_options);
        match job.engine {
            EngineKind::Null => self.with(NullEngine::new(depth), String::new(), &mut pass),
            EngineKind::PosixAio => self.with(PosixAioEngine::new(depth), String::new(), &mut pass),
            EngineKind::Psync => self.with(PsyncEngine::new(depth), String::new(), &mut pass),
            EngineKind::Libaio => match AioEngine::new(depth) {
                Ok(engine) => self.with(engine, String::new(), &mut pass),
                Err(error) => self.fall_back(error, &mut pass),
            },
            EngineKind::IoUring | EngineKind::Auto => match UringEngine::new(depth, options) {
                Ok(engine) => self.with(engine, String::new(), &mut pass),
                Err(error) => self.fall_back(error, &mut pass),
            },
            EngineKind::Fio | EngineKind::Sim => Err(EngineError::Unsupported {
                engine: "the local driver",
                what: format!("run jobs of engine {}", job.engine.name()),
            }),
        }
    }

    /// psync instead, where the choice of the engine was ours; the result says so.
    fn fall_back(&self, error: EngineError, pass: &mut GatePass<'_>) -> Ended {
        if self.planned().engine_reason.is_empty() || !self.options.fall_back {
            return Err(error);
        }
        let engine = PsyncEngine::new(self.planned().job.outstanding_per_thread);
        self.with(engine, format!("psync instead: {error}"), pass)
    }

    fn with<E: Engine + outcome::Notes + 'static>(
        &self,
        engine: E,
        fallback: String,
        pass: &mut GatePass<'_>,
    ) -> Ended {
        match &self.trace {
            Some(trace) => self.paced(self.traced(Box::new(engine), trace), fallback, pass),
            None => self.paced(engine, fallback, pass),
        }
    }

    fn traced(&self, engine: Box<dyn AnyEngine>, trace: &Arc<TraceSink>) -> TracedEngine {
        let job = self.planned();
        let threads = self.plan.phases[self.phase].jobs.iter().map(|job| job.slices.len()).sum();
        let targets = job.slices[self.thread].sites.iter().map(|site| site.target).collect();
        TracedEngine::new(engine, trace, threads, job.job.outstanding_per_thread, targets)
    }

    fn paced<E: Engine + outcome::Notes>(
        &self,
        engine: E,
        fallback: String,
        pass: &mut GatePass<'_>,
    ) -> Ended {
        if self.planned().slices[self.thread].rate_per_s.is_some() {
            self.drive::<E, true>(engine, fallback, pass)
        } else {
            self.drive::<E, false>(engine, fallback, pass)
        }
    }

    fn drive<E: Engine + outcome::Notes, const OPEN: bool>(
        &self,
        engine: E,
        fallback: String,
        pass: &mut GatePass<'_>,
    ) -> Ended {
        let job = self.planned();
        let slice = &job.slices[self.thread];
        let open = targets::open_for(&self.plan, job, self.thread)?;
        let depth = job.job.outstanding_per_thread;
        let mut buffers = MappedBuffers::new(depth, job.job.pattern.max_block_bytes() as usize)?;
        let mut filler = Filler::new(&job.job.content, derive_seed(slice.seed, 2));
        if job.job.content.verify {
            filler = filler.sealing(job.job.pattern.align(), self.plan.seed);
        }
        if job.job.pattern.mix.share(OpKind::Write) > 0.0 {
            for slot in 0..depth {
                // SAFETY: no I/O is outstanding yet.
                filler.fill(unsafe { buffers.slice_mut(slot, usize::MAX) });
            }
        }
        // Declared behind the buffers: on every way out, the engine is gone before they are unmapped.
        let mut engine = engine;
        engine.prepare(&open.table, &buffers)?;
        if job.job.invalidate {
            // Refused on what has no page cache; then there is nothing to forget either.
            open.fds().for_each(|fd| drop(targets::invalidate(fd)));
        }
        let source = Box::new(self.generator());
        let Some(start_ns) = pass.pass() else { return Ok(None) };
        let spec = LoopSpec::of(job, start_ns);
        let schedule = spec.schedule(self.options.interval.as_nanos() as u64);
        let arrivals = slice
            .rate_per_s
            .map(|rate| ArrivalSource::new(job.job.arrival, rate, derive_seed(slice.seed, 3)));
        let parts = LoopParts {
            engine,
            clock: RealClock::new(),
            arrivals,
            recorder: Recorder::new(Arc::clone(&self.shared), schedule),
            buffers,
            filler,
            spec,
            stop: Arc::clone(&self.options.stop),
            pass_hook: pass_hook(job, &open),
        };
        run_loop::<E, OPEN>(JobLoop::new(parts, source), &open, job, fallback).map(Some)
    }

    fn generator(&self) -> Generator {
        let job = self.planned();
        let slice = &job.slices[self.thread];
        let sites = slice.sites.iter().enumerate().map(|(index, site)| SiteSpec {
            target: index as u16,
            range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
        });
        let sites: Vec<SiteSpec> = sites.collect();
        let made =
            Generator::new(&job.job.pattern, &sites, job.job.selection, slice.seed, slice.ios, slice.bytes);
        if drops_pages(job) { made.with_passes() } else { made }
    }
}

/// Whether there are pages to forget between passes.
fn drops_pages(job: &PlannedJob) -> bool {
    job.job.invalidate && job.job.invalidate_each_pass && !job.direct
}

/// Forgets cached pages before each further pass, where the job asks for that.
fn pass_hook(job: &PlannedJob, open: &OpenTargets) -> Option<PassHook> {
    let fds: Vec<RawFd> = open.fds().collect();
    drops_pages(job)
        .then(|| -> PassHook { Box::new(move || fds.iter().for_each(|&fd| drop(targets::invalidate(fd)))) })
}

/// Steps until done. This is the measured phase.
fn run_loop<E: Engine + outcome::Notes, const OPEN: bool>(
    mut job_loop: JobLoop<E, RealClock, OPEN>,
    open: &OpenTargets,
    job: &PlannedJob,
    engine_fallback: String,
) -> Result<ThreadEnd, EngineError> {
    let capabilities = job_loop.engine().capabilities();
    let engine_notes = job_loop.engine().notes();
    let before = ThreadCpu::of_this_thread();
    while job_loop.step()? != Pending::Done {}
    let flushed_ns = if job.job.flush.at_end { flush_all(&open.fds().collect::<Vec<_>>())? } else { 0 };
    let cpu = ThreadCpu::of_this_thread().since(before);
    let end: LoopEnd = job_loop.into_end();
    Ok(ThreadEnd { end, cpu, flushed_ns, engine: capabilities.name, engine_notes, engine_fallback })
}

/// Makes everything durable; when that was done.
fn flush_all(fds: &[RawFd]) -> Result<u64, EngineError> {
    for &fd in fds {
        targets::fsync(fd).map_err(|source| EngineError::Call { engine: "driver", call: "fsync", source })?;
    }
    Ok(RealClock::new().now_ns())
}

/// The key of an interval of `job`.
pub(crate) fn key(phase: u32, job: u32, index: u32, ramp: bool, start_ns: u64, end_ns: u64) -> IntervalKey {
    IntervalKey { phase, job, index, ramp, start_ns, length_ns: end_ns.saturating_sub(start_ns) }
}

#[cfg(test)]
mod tests;
