//! Jobs of block I/O on this machine: the job loop over one of the engines, with its targets open and its buffers mapped.

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use assay_workload::FileOperation;
use assay_workload::arrival::Arrivals;
use assay_workload::fill::{Filler, PlacedPattern};
use assay_workload::ops::{OpSource, SiteSpec};
use assay_workload::pattern::OpKind;
use assay_workload::plan::{PlannedJob, ThreadSlice};
use assay_workload::rng::derive_seed;
use assay_workload::target::ActiveRange;

use crate::buffers::MappedBuffers;
use crate::clock::RealClock;
use crate::engines::psync::PsyncEngine;
use crate::engines::{self, AnyEngine, EngineEntry, NativeEngine};
use crate::file_calls::{FileCalls, NamedPlaces};
use crate::flow::Flows;
use crate::job_loop::{JobLoop, LoopParts, LoopSpec, PassHook, Slots};
use crate::kind::{
    Intervals, JobKind, JobRunner, Pending, PhaseContext, PreparedJobs, Say, ThisMachine, ThreadEnd,
    ThreadIndex, Waits,
};
use crate::preparation::Preparation;
use crate::recorder::{Recorder, Shared};
use crate::seam::{Clock as _, EngineError};
use crate::targets::{self, Held, LayOut, OpenTargets, target_error};
use crate::tracing::{IoTrace, TraceSink, TracedThread};
use crate::validate::engine::ValidatedEngine;
use crate::validate::{TargetJournal, Validation, WrittenBlocks};

/// Block I/O through the engines of this crate.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    /// Where every I/O is written down.
    pub trace: Option<Arc<TraceSink>>,
    /// What the phase may write to, open.
    pub held: Held,
    /// Files that are laid out and then used by their names: given up before anything is measured.
    pub laying_out: Arc<Mutex<Held>>,
    /// Where the names are that jobs use.
    pub places: NamedPlaces,
    /// What the run has written with headers.
    pub validation: Arc<Validation>,
    /// Where it can be seen what is being done before the start.
    pub preparation: Arc<Preparation>,
    /// Called when all that is read lies there, before anything is measured.
    pub laid_out: LaidOut,
}

/// What is to be done when the files of a phase are laid out.
#[derive(Clone, Default)]
pub struct LaidOut(Option<Arc<dyn Fn() + Send + Sync>>);

impl LaidOut {
    /// `done` is called once a phase.
    pub fn new(done: impl Fn() + Send + Sync + 'static) -> Self {
        LaidOut(Some(Arc::new(done)))
    }

    fn tell(&self) {
        if let Some(done) = &self.0 {
            done();
        }
    }
}

impl fmt::Debug for LaidOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LaidOut")
    }
}

impl JobKind<ThisMachine> for Blocks {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.is_blocks() && engine_of(job).is_some()
    }

    /// Lays out what is to be read and does not exist yet.
    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        jobs: &[usize],
        say: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        self.validation.prepare(context.plan, context.phase)?;
        let own = |job: &PlannedJob| jobs.iter().any(|&own| std::ptr::eq(context.job(own), job));
        let go_on = || !context.stopped();
        let mut held = std::mem::take(&mut *self.laying_out.lock().unwrap_or_else(PoisonError::into_inner));
        held.extend(self.held.iter().map(|(index, file)| (*index, Arc::clone(file))));
        let (held_now, validation, preparation) = (&held, &self.validation, &self.preparation);
        let layout = LayOut { plan: context.plan, held: held_now, validation, preparation };
        for file in layout.phase(context.phase, &own, &go_on)? {
            say("layout", file.to_string());
        }
        drop(held);
        self.laid_out.tell();
        let planned = context.planned().jobs.iter().enumerate();
        let shared = planned.map(|(index, job)| {
            let threads = if jobs.contains(&index) { job.slices.len() } else { 0 };
            (0..threads).map(|_| Shared::new()).collect()
        });
        let shared: Vec<Vec<_>> = shared.collect();
        let slots = shared.iter().map(|threads| threads.iter().map(|_| OnceLock::new()).collect()).collect();
        let flows = Flows::of(context.planned());
        Ok(Box::new(PreparedBlocks { context, shared, slots, flows, blocks: self }))
    }
}

/// The block jobs of a phase.
struct PreparedBlocks<'p> {
    context: PhaseContext<'p>,
    /// By job and thread; jobs of other kinds have none.
    shared: Vec<Vec<Arc<Shared>>>,
    /// Likewise, of the threads that have been made.
    slots: Vec<Vec<OnceLock<Slots>>>,
    flows: Flows,
    blocks: &'p Blocks,
}

impl PreparedJobs<ThisMachine> for PreparedBlocks<'_> {
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals> {
        Arc::clone(&self.shared[at.job][at.thread]) as Arc<dyn Intervals>
    }

    fn waits(&self, at: ThreadIndex, until_ns: u64) -> Option<Waits> {
        let slots = self.slots[at.job][at.thread].get()?;
        slots.oldest(until_ns).map(|io| Waits::For(io.into()))
    }

    fn thread(&self, at: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        let job = self.context.job(at.job);
        let thread = BlockThread { prepared: self, at, job, slice: &job.slices[at.thread] };
        if let Some(operation) = job.file_operation {
            return thread.calling(operation);
        }
        let entry = engine_of(job).ok_or_else(|| EngineError::Unsupported {
            engine: "the local driver",
            what: format!("run jobs of engine {}", job.engine_name(self.context.planned().carried_by)),
        })?;
        (entry.runner)(&thread)
    }
}

fn engine_of(job: &PlannedJob) -> Option<&'static EngineEntry> {
    engines::of(job.engine.kind()?)
}

/// What may be done for one I/O at most: it, a flush behind it, and a read of what it wrote.
const CALLS_PER_IO: u64 = 3;

/// What the loop of one thread is made from.
pub(crate) struct BlockThread<'a> {
    prepared: &'a PreparedBlocks<'a>,
    at: ThreadIndex,
    job: &'a PlannedJob,
    slice: &'a ThreadSlice,
}

impl BlockThread<'_> {
    /// The loop over an engine of this type; over psync instead where it is unavailable and the choice was ours, which the
    /// result says.
    pub(crate) fn over<E: NativeEngine>(&self) -> Result<Box<dyn JobRunner>, EngineError> {
        let job = self.job;
        match E::open(job.outstanding_per_thread, job.engine_options) {
            Ok(engine) => self.validated(engine, None),
            Err(error) if self.job.engine_reason.is_none() => Err(error),
            Err(error) => {
                let psync = PsyncEngine::new(job.outstanding_per_thread);
                self.validated(psync, Some(format!("psync instead: {error}")))
            }
        }
    }

    /// The loop over calls on files.
    fn calling(&self, operation: FileOperation) -> Result<Box<dyn JobRunner>, EngineError> {
        let mut places = Vec::new();
        for site in self.slice.sites.iter().filter(|_| operation.is_by_name()) {
            let target = &self.prepared.context.plan.targets[site.target as usize];
            let place = self.prepared.blocks.places.get(&site.target).ok_or_else(|| {
                let missing = io::Error::other("its directory was not opened before the phase");
                target_error(&target.path, "use", missing)
            })?;
            places.push(Arc::clone(place));
        }
        self.paced(FileCalls::new(operation, places, self.job.outstanding_per_thread), None)
    }

    /// Where its I/Os are written down, if they are.
    fn trace(&self) -> Option<IoTrace> {
        let (context, job) = (&self.prepared.context, self.at.job);
        let trace = self.prepared.blocks.trace.as_ref()?;
        let wanted = |index: usize| trace.tracing.wants(context.phase, index);
        if !wanted(job) {
            return None;
        }
        let jobs = context.planned().jobs.iter().enumerate();
        let of = TracedThread {
            phase: context.phase,
            job,
            ios_max: self
                .job
                .ios_max(self.slice)
                .map(|ios| ios.saturating_mul(CALLS_PER_IO).saturating_add(64)),
            threads: jobs.filter(|(index, _)| wanted(*index)).map(|(_, job)| job.slices.len()).sum(),
            depth: self.job.outstanding_per_thread,
        };
        let targets = self.slice.sites.iter().map(|site| site.target as u16).collect();
        Some(IoTrace::new(trace, of, targets))
    }

    fn times_calls(&self) -> bool {
        let trace = self.prepared.blocks.trace.as_ref();
        trace.is_some_and(|trace| trace.tracing.times(self.prepared.context.phase, self.at.job))
    }

    fn validated<E: AnyEngine + 'static>(
        &self,
        engine: E,
        fallback: Option<String>,
    ) -> Result<Box<dyn JobRunner>, EngineError> {
        if !self.job.verifies(self.prepared.context.planned()) {
            return self.paced(engine, fallback);
        }
        let validation = &self.prepared.blocks.validation;
        let maps = self.slice.sites.iter().map(|site| validation.map(site.target)).collect();
        let depth = self.job.outstanding_per_thread;
        let engine = ValidatedEngine::new(Box::new(engine), maps, validation.run(), depth)
            .expecting_headers(self.job.content.written, validation.targets())
            .with_pattern(PlacedPattern::of(&self.job.content));
        self.paced(engine.acknowledging(self.job.acknowledges_at_completion()), fallback)
    }

    fn paced<E: AnyEngine + 'static>(
        &self,
        engine: E,
        fallback: Option<String>,
    ) -> Result<Box<dyn JobRunner>, EngineError> {
        let capabilities = engine.capabilities();
        let detail = JobLoop::<E, RealClock, false, true>::times_each_call(capabilities)
            || self.times_calls()
            || self.prepared.blocks.trace.is_some();
        Ok(match (self.slice.rate.is_some(), detail) {
            (true, true) => Box::new(self.runner::<E, true, true>(engine, fallback)?),
            (true, false) => Box::new(self.runner::<E, true, false>(engine, fallback)?),
            (false, true) => Box::new(self.runner::<E, false, true>(engine, fallback)?),
            (false, false) => Box::new(self.runner::<E, false, false>(engine, fallback)?),
        })
    }

    fn runner<E: AnyEngine, const OPEN: bool, const DETAIL: bool>(
        &self,
        engine: E,
        engine_fallback: Option<String>,
    ) -> Result<LoopRunner<E, OPEN, DETAIL>, EngineError> {
        let (context, job, slice) = (&self.prepared.context, self.job, self.slice);
        let blocks = self.prepared.blocks;
        let open =
            targets::open_for(context.plan, self.job, self.at.thread, &blocks.held, &blocks.preparation)?;
        let depth = job.outstanding_per_thread;
        let mut buffers = MappedBuffers::new(depth, job.pattern.max_block_bytes() as usize)?;
        let mut filler = Filler::new(&job.content, derive_seed(slice.seed, 2));
        if job.pattern.mix.share(OpKind::Write) > 0.0 {
            for slot in 0..depth {
                // SAFETY: no I/O is outstanding yet.
                filler.fill(unsafe { buffers.slice_mut(slot, usize::MAX) });
            }
        }
        // Declared behind the buffers: on every way out, the engine is gone before they are unmapped.
        let mut engine = engine;
        engine.prepare(&open.table, &buffers)?;
        if job.invalidate {
            // Refused on what has no page cache; then there is nothing to forget either.
            open.fds().for_each(|fd| drop(targets::invalidate(fd)));
        }
        let spec = LoopSpec { reread: job.rereads(context.planned()), ..LoopSpec::of(self.job, 0) };
        let shared = Arc::clone(&self.prepared.shared[self.at.job][self.at.thread]);
        let parts = LoopParts {
            engine,
            clock: RealClock::new(),
            arrivals: Arrivals::of(job.pace.arrival(), &job.pattern, slice),
            recorder: Recorder::new(shared, spec.schedule(context.interval_ns)),
            buffers,
            filler,
            targets: open.table.targets.clone(),
            spec,
            stop: Arc::clone(&context.stops[self.at.job]),
            pass_hook: pass_hook(self.job, &open),
        };
        let flow = job.flow.and_then(|flow| self.prepared.flows.share(flow));
        let job_loop = JobLoop::new(parts, self.operations());
        let job_loop = job_loop.in_flow(flow).traced(self.trace()).timed(self.times_calls());
        let _ = self.prepared.slots[self.at.job][self.at.thread].set(job_loop.slots().clone());
        let validation = &self.prepared.blocks.validation;
        let journals = slice.sites.iter().map(|site| validation.map(site.target)?.journal.clone()).collect();
        let flush_at_end = job.flush.at_end;
        Ok(LoopRunner { job_loop, open, journals, flush_at_end, flushed_ns: 0, engine_fallback })
    }

    /// What was written, where that is what is to be read; else what the pattern says.
    fn operations(&self) -> Box<dyn OpSource> {
        let (job, validation) = (self.job, &self.prepared.blocks.validation);
        if job.reads_what_was_written(self.prepared.context.planned()) {
            let sites = self.slice.sites.iter().enumerate().filter_map(|(index, site)| {
                let map = validation.map(site.target)?;
                let (offset_bytes, length_bytes) = map.read_range(site.offset_bytes, site.length_bytes);
                Some((map, index as u16, offset_bytes, length_bytes))
            });
            if let Some(written) = WrittenBlocks::new(sites, job.pattern.max_block_bytes()) {
                return Box::new(written);
            }
        }
        let slice = self.slice;
        let sites = slice.sites.iter().enumerate().map(|(index, site)| SiteSpec {
            target: index as u16,
            range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
        });
        let sites: Vec<SiteSpec> = sites.collect();
        job.source(&sites, slice, job.drops_pages_between_passes() || job.empties_between_passes())
    }
}

/// Forgets cached pages, or cuts the files to nothing, before each further pass, where the job asks for that.
fn pass_hook(job: &PlannedJob, open: &OpenTargets) -> Option<PassHook> {
    let fds: Vec<RawFd> = open.fds().collect();
    let (drops, empties) = (job.drops_pages_between_passes(), job.empties_between_passes());
    if !drops && !empties {
        return None;
    }
    Some(Box::new(move || {
        for &fd in &fds {
            if empties {
                // Of a device nothing is cut.
                drop(targets::cut_to_nothing(fd));
            } else {
                drop(targets::invalidate(fd));
            }
        }
    }))
}

/// The loop of one thread, with what it works on.
struct LoopRunner<E: AnyEngine, const OPEN: bool, const DETAIL: bool> {
    // The engine goes before the files it may still use.
    job_loop: JobLoop<E, RealClock, OPEN, DETAIL>,
    open: OpenTargets,
    /// Of each of its targets, where it is kept in one.
    journals: Vec<Option<TargetJournal>>,
    flush_at_end: bool,
    flushed_ns: u64,
    engine_fallback: Option<String>,
}

impl<E: AnyEngine, const OPEN: bool, const DETAIL: bool> LoopRunner<E, OPEN, DETAIL> {
    /// One step, or all of them. The only place that the loop is compiled into, so that it is compiled once.
    #[inline(never)]
    fn steps(&mut self, all: bool) -> Result<Pending, EngineError> {
        loop {
            let pending = self.job_loop.step()?;
            if pending == Pending::Done {
                self.flush_all()?;
            }
            if pending == Pending::Done || !all {
                return Ok(pending);
            }
        }
    }

    /// Makes everything durable, if that is asked for.
    fn flush_all(&mut self) -> Result<(), EngineError> {
        if !self.flush_at_end {
            return Ok(());
        }
        for (target, fd) in self.open.fds().enumerate() {
            let journal = self.journals.get(target).and_then(Option::as_ref);
            let kept = journal.map(|journal| (journal, journal.flush_begins()));
            self.job_loop.slots().flush_begins(target as u16, RealClock::new().now_ns());
            let flushed = targets::fsync(fd);
            self.job_loop.slots().flush_ends();
            if let Some((journal, flush)) = kept {
                journal.flush_ended(flush, flushed.is_ok());
            }
            flushed.map_err(|source| EngineError::Call { engine: "driver", call: "fsync", source })?;
        }
        self.flushed_ns = RealClock::new().now_ns();
        Ok(())
    }
}

impl<E: AnyEngine, const OPEN: bool, const DETAIL: bool> JobRunner for LoopRunner<E, OPEN, DETAIL> {
    fn arm(&mut self, start_ns: u64) {
        self.job_loop.arm(start_ns);
    }

    fn step(&mut self) -> Result<Pending, EngineError> {
        self.steps(false)
    }

    /// This is the measured phase. The loop waits inside its steps.
    fn run(&mut self) -> Result<(), EngineError> {
        self.steps(true).map(drop)
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        let engine = self.job_loop.engine();
        let mut engine_notes = engine.notes();
        if self.job_loop.is_traced() {
            engine_notes.push("traced".to_owned());
        }
        ThreadEnd {
            engine: engine.capabilities().name,
            engine_notes,
            engine_fallback: self.engine_fallback,
            flushed_ns: self.flushed_ns,
            data: engine.data(),
            end: self.job_loop.into_end(),
            ..ThreadEnd::default()
        }
    }
}
