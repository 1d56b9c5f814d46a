//! Running a phase for real: one thread per job thread, and a sampler that takes their intervals away.

use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_results::{RunEvent, interval::IntervalKey};
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

/// Time between everybody being ready and the start, so that threads are waiting when it comes.
const START_AHEAD_NS: u64 = 2_000_000;

/// Called about once a period with the sink, on the thread that runs the phase.
pub type Tick<'a> = dyn FnMut(&mut dyn FnMut(RunEvent)) + 'a;

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

/// What every thread waits for before the start.
#[derive(Debug)]
struct Gate {
    ready: Barrier,
    go: Barrier,
    start_ns: AtomicU64,
    cancelled: AtomicBool,
}

/// One job thread from the outside.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) job: usize,
    pub(crate) shared: Arc<dyn Intervals>,
    handle: JoinHandle<Result<ThreadEnd, EngineError>>,
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
    sink: &mut dyn FnMut(RunEvent),
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
    sink: &mut dyn FnMut(RunEvent),
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
    sink: &mut dyn FnMut(RunEvent),
    tick: &mut Tick<'_>,
) -> Result<PhaseEnd, EngineError> {
    let mut note = |id: &str, text: String| {
        sink(RunEvent::Note { phase: Some(phase as u32), id: id.to_owned(), text });
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
    let threads: usize = plan.phases[phase].jobs.iter().map(|job| job.slices.len()).sum();
    let gate = Arc::new(Gate {
        ready: Barrier::new(threads + 1),
        go: Barrier::new(threads + 1),
        start_ns: AtomicU64::new(0),
        cancelled: AtomicBool::new(false),
    });
    let mut endings = Endings::new(&plan.phases[phase], &options.stop, options.interval);
    let running = spawn_all(plan, phase, options, &endings, (&trees, trace), &gate)?;
    gate.ready.wait();
    let start_ns = clock.now_ns() + START_AHEAD_NS;
    gate.start_ns.store(start_ns, Ordering::SeqCst);
    let process_before = outcome::process_cpu();
    gate.go.wait();
    tick(sink);
    let mut sampler = Sampler::new(&running, phase as u32, start_ns, measured_starts(plan, phase, start_ns));
    while running.iter().any(|thread| !thread.handle.is_finished()) {
        sampler.wait(options.interval, &|| {
            endings.look(running.iter().map(|thread| (thread.job, thread.handle.is_finished())));
            running.iter().all(|thread| thread.handle.is_finished())
        });
        sampler.collect(&running, &mut watched(&mut endings, sink));
        tick(sink);
    }
    sampler.collect(&running, sink);
    sampler.finish(sink);
    endings.tell(phase, &plan.phases[phase], sink);
    for text in trees.take_notes() {
        sink(RunEvent::Note { phase: Some(phase as u32), id: "tree".to_owned(), text });
    }
    let process_cpu = outcome::process_cpu().since(process_before);
    finish_jobs(plan, phase, start_ns, running, process_cpu, sink)
}

/// Passes events on, and lets the intervals among them end jobs.
fn watched(endings: &mut Endings, sink: &mut dyn FnMut(RunEvent)) -> impl FnMut(RunEvent) {
    move |event| {
        if let RunEvent::Interval(interval) = &event {
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
) -> Result<Vec<Running>, EngineError> {
    let mut running = Vec::new();
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
                gate: Arc::clone(gate),
                shared,
                tree,
                options: PhaseOptions { stop: endings.flag(job_index), ..options.clone() },
                trace: trace.cloned(),
            };
            let handle = std::thread::Builder::new()
                .name(format!("assay-{job_index}.{thread}"))
                .spawn(move || context.run())
                .map_err(|source| EngineError::Setup { engine: "driver", what: "a job thread", source })?;
            running.push(Running { job: job_index, shared: intervals, handle });
        }
    }
    Ok(running)
}

fn finish_jobs(
    plan: &Plan,
    phase: usize,
    start_ns: u64,
    running: Vec<Running>,
    process_cpu: ThreadCpu,
    sink: &mut dyn FnMut(RunEvent),
) -> Result<PhaseEnd, EngineError> {
    let jobs = &plan.phases[phase].jobs;
    let mut ends: Vec<Vec<ThreadEnd>> = jobs.iter().map(|_| Vec::new()).collect();
    let mut first_error = None;
    for thread in running {
        match thread.handle.join() {
            Ok(Ok(end)) => ends[thread.job].push(end),
            Ok(Err(error)) => {
                // A thread that was only told to give up is not the cause.
                let cancelled = matches!(&error, EngineError::Unsupported { engine: "driver", .. });
                if first_error.is_none() || !cancelled {
                    first_error.get_or_insert(error);
                }
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    if let Some(error) = first_error {
        return Err(error);
    }
    let extra = process_cpu.minus(ends.iter().flatten().map(|end| end.cpu));
    let starts = measured_starts(plan, phase, start_ns);
    let mut error = String::new();
    for (index, (job, ends)) in jobs.iter().zip(&ends).enumerate() {
        let (result, failed) = outcome::of_job(job, ends, starts[index], start_ns, extra, jobs.len());
        if error.is_empty() {
            error = failed;
        }
        sink(RunEvent::JobFinished { phase: phase as u32, job: index as u32, outcome: Box::new(result) });
    }
    Ok(PhaseEnd { error })
}

/// Everything a job thread is told.
struct ThreadContext {
    plan: Arc<Plan>,
    phase: usize,
    job: usize,
    thread: usize,
    gate: Arc<Gate>,
    shared: Arc<Shared>,
    tree: Option<TreeThread>,
    options: PhaseOptions,
    trace: Option<Arc<TraceSink>>,
}

/// Passes both gates whatever happens to its owner, so that nobody waits for a thread that failed.
struct GatePass<'a> {
    gate: &'a Gate,
    passed: bool,
}

impl GatePass<'_> {
    fn pass(&mut self) -> Option<u64> {
        self.passed = true;
        self.gate.ready.wait();
        self.gate.go.wait();
        (!self.gate.cancelled.load(Ordering::SeqCst)).then(|| self.gate.start_ns.load(Ordering::SeqCst))
    }
}

impl Drop for GatePass<'_> {
    fn drop(&mut self) {
        if !self.passed {
            self.gate.cancelled.store(true, Ordering::SeqCst);
            self.gate.ready.wait();
            self.gate.go.wait();
        }
    }
}

impl ThreadContext {
    fn planned(&self) -> &PlannedJob {
        &self.plan.phases[self.phase].jobs[self.job]
    }

    fn run(&self) -> Result<ThreadEnd, EngineError> {
        let mut pass = GatePass { gate: &self.gate, passed: false };
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
    fn fall_back(&self, error: EngineError, pass: &mut GatePass<'_>) -> Result<ThreadEnd, EngineError> {
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
    ) -> Result<ThreadEnd, EngineError> {
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
    ) -> Result<ThreadEnd, EngineError> {
        if self.planned().slices[self.thread].rate_per_s.is_some() {
            self.drive::<E, true>(engine, fallback, pass)
        } else {
            self.drive::<E, false>(engine, fallback, pass)
        }
    }

    fn drive<E: Engine + outcome::Notes, const OPEN: bool>(
        &self,
        mut engine: E,
        fallback: String,
        pass: &mut GatePass<'_>,
    ) -> Result<ThreadEnd, EngineError> {
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
        engine.prepare(&open.table, &buffers)?;
        if job.job.invalidate {
            // Refused on what has no page cache; then there is nothing to forget either.
            open.fds().for_each(|fd| drop(targets::invalidate(fd)));
        }
        let source = Box::new(self.generator());
        let Some(start_ns) = pass.pass() else {
            return Err(EngineError::Unsupported {
                engine: "driver",
                what: "start: another thread failed".into(),
            });
        };
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
        run_loop::<E, OPEN>(JobLoop::new(parts, source), &open, job, fallback)
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
