//! Runs the phases of a plan on a simulated array: the engine crate's job loop, in virtual time.

mod watch;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_engine::buffers::MappedBuffers;
use assay_engine::job_loop::{JobLoop, LoopEnd, LoopParts, LoopSpec};
use assay_engine::recorder::{Recorder, Shared, Taken};
use assay_engine::{Clock, EngineError, QueueFull};
use assay_results::interval::{Interval, IntervalKey, JobCounts};
use assay_results::{HostEvent, JobOutcome};
use assay_workload::arrival::ArrivalSource;
use assay_workload::content::{Content, Refresh};
use assay_workload::fill::Filler;
use assay_workload::ops::{Generator, SiteSpec};
use assay_workload::plan::{Plan, PlannedJob};
use assay_workload::rng::derive_seed;
use assay_workload::target::ActiveRange;

use self::watch::Watch;
use crate::driver::{DriverError, Pending, Stepper};
use crate::{Driver, Model, ModelError, Observations, SimClock, SimEngine, Simulation, VolumeId};

/// Buffers carry nothing, so the smallest will do whatever the block size.
const BUFFER_BYTES: usize = 4096;

/// Why a plan could not be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The model makes no sense.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// There is no phase of that index.
    #[error("the plan has no phase {0}")]
    NoPhase(usize),
    /// A job cannot be simulated.
    #[error("job '{job}' cannot be simulated: {why}")]
    Unsupported {
        /// Its name.
        job: String,
        /// Why.
        why: &'static str,
    },
    /// Buffers could not be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The simulation stopped.
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// A plan on a simulated array. The state of the array lasts from phase to phase: what one wrote, the next finds cached.
#[derive(Debug)]
pub struct PlanSimulation {
    simulation: Simulation,
    volumes: Vec<VolumeId>,
    notes: Vec<String>,
}

/// How a job thread of either kind is stepped.
#[derive(Debug)]
enum Machine {
    Closed(JobLoop<SimEngine, SimClock, false>),
    Open(JobLoop<SimEngine, SimClock, true>),
}

/// A job thread, with where its intervals go.
struct Thread<'a, 's> {
    machine: Machine,
    job: usize,
    thread: usize,
    shared: Arc<Shared>,
    seen: Option<u32>,
    /// Whether something but its limits and the stop of everything can end a job of its phase.
    watched: bool,
    collector: &'a RefCell<Collector<'s>>,
}

impl Stepper for Thread<'_, '_> {
    fn step(&mut self) -> Result<Pending, EngineError> {
        let pending = match &mut self.machine {
            Machine::Closed(machine) => machine.step(),
            Machine::Open(machine) => machine.step(),
        }?;
        let current = self.shared.current();
        if current != self.seen {
            self.seen = current;
            self.collector.borrow_mut().collect(self.job, self.thread, current, self.shared.take());
        }
        if self.watched {
            return Ok(self.collector.borrow_mut().watch.stepped(self.job, self.thread, pending));
        }
        Ok(pending)
    }
}

impl Thread<'_, '_> {
    fn into_end(self) -> (usize, LoopEnd) {
        let end = match self.machine {
            Machine::Closed(machine) => machine.into_end(),
            Machine::Open(machine) => machine.into_end(),
        };
        (self.job, end)
    }
}

/// One job's intervals while its threads fill them.
#[derive(Debug, Default)]
struct JobIntervals {
    open: BTreeMap<u32, (u64, u64, JobCounts)>,
    /// The interval each thread is in; `None`: it has ended.
    threads: Vec<Option<u32>>,
    measured_start_ns: u64,
}

/// Adds the intervals of threads up per job and passes them on when all threads are past them.
struct Collector<'s> {
    phase: u32,
    start_ns: u64,
    jobs: Vec<JobIntervals>,
    watch: Watch,
    sink: &'s mut dyn FnMut(HostEvent),
}

impl Collector<'_> {
    fn collect(&mut self, job: usize, thread: usize, current: Option<u32>, taken: Vec<Taken>) {
        let intervals = &mut self.jobs[job];
        for taken in taken {
            let fresh = || (taken.start_ns, taken.end_ns, JobCounts::default());
            let (start, end, counts) = intervals.open.entry(taken.index).or_insert_with(fresh);
            *start = taken.start_ns.min(*start);
            *end = taken.end_ns.max(*end);
            counts.merge(&taken.counts);
        }
        intervals.threads[thread] = current;
        let oldest = intervals.threads.iter().flatten().min().copied().unwrap_or(u32::MAX);
        while let Some(entry) = intervals.open.first_entry().filter(|entry| *entry.key() < oldest) {
            let (index, (start, end, counts)) = entry.remove_entry();
            let key = IntervalKey {
                phase: self.phase,
                job: job as u32,
                index,
                ramp: start < intervals.measured_start_ns,
                start_ns: start.saturating_sub(self.start_ns),
                length_ns: end.saturating_sub(start),
            };
            let interval = Interval { key, counts };
            self.watch.feed(&interval);
            (self.sink)(HostEvent::Interval(Box::new(interval)));
        }
    }
}

/// How a phase is simulated.
#[derive(Debug, Clone)]
pub struct SimOptions {
    /// Length of a reporting period, nanoseconds of simulated time.
    pub interval_ns: u64,
    /// Set to end the phase early.
    pub stop: Arc<AtomicBool>,
}

impl Default for SimOptions {
    /// Periods of a second.
    fn default() -> Self {
        SimOptions { interval_ns: 1_000_000_000, stop: Arc::new(AtomicBool::new(false)) }
    }
}

impl PlanSimulation {
    /// The targets of `plan` as volumes of the array of `model`, at time 0; `seed` fixes everything random in the array.
    ///
    /// # Errors
    /// [`SimError::Model`] if the model makes no sense.
    pub fn new(model: &Model, plan: &Plan, seed: u64) -> Result<PlanSimulation, SimError> {
        let mut simulation = Simulation::new(model, seed)?;
        let volumes = plan.targets.iter().map(|target| simulation.add_volume(target.size_bytes)).collect();
        let notes = vec![format!("array model: {}", model.name), format!("array seed: {seed}")];
        Ok(PlanSimulation { simulation, volumes, notes })
    }

    /// The simulated time.
    pub fn clock(&self) -> SimClock {
        self.simulation.clock()
    }

    /// What the array did in the last phase.
    pub fn observe(&self) -> Observations {
        self.simulation.observe()
    }

    /// Lets `ns` pass; the array goes on writing dirty pages back.
    pub fn idle(&mut self, ns: u64) {
        self.simulation.idle(ns);
    }

    /// Runs phase `phase`; events go to `sink` in the order of simulated time. Returns the first job's error that failed,
    /// empty if none did.
    ///
    /// # Errors
    /// [`SimError`] if the phase could not be simulated at all.
    pub fn run_phase(
        &mut self,
        plan: &Plan,
        phase: usize,
        options: &SimOptions,
        sink: &mut dyn FnMut(HostEvent),
    ) -> Result<String, SimError> {
        let planned = plan.phases.get(phase).ok_or(SimError::NoPhase(phase))?;
        let start_ns = self.clock().now_ns();
        self.simulation.reset_observations();
        let intervals = planned.jobs.iter().map(|job| JobIntervals {
            open: BTreeMap::new(),
            threads: vec![Some(0); job.slices.len()],
            measured_start_ns: measured_start(job, start_ns),
        });
        let watch = Watch::new(planned, options, self.clock());
        let (watched, flags) = (watch.active(), (0..planned.jobs.len()).map(|job| watch.flag(job)));
        let flags: Vec<Arc<AtomicBool>> = flags.collect();
        let jobs = intervals.collect();
        let collector = RefCell::new(Collector { phase: phase as u32, start_ns, jobs, watch, sink });
        let mut driver = Driver::default();
        for (index, job) in planned.jobs.iter().enumerate() {
            for thread in 0..job.slices.len() {
                let engine = self.engine(job, thread)?;
                let port = engine.port();
                let shared = Shared::new();
                // There are no bytes to check.
                let spec = LoopSpec { verify: false, ..LoopSpec::of(job, start_ns) };
                let recorder = Recorder::new(Arc::clone(&shared), spec.schedule(options.interval_ns));
                let machine = self.machine(job, thread, engine, recorder, spec, &flags[index])?;
                let seen = shared.current();
                let collector = &collector;
                driver.add(port, Thread { machine, job: index, thread, shared, seen, watched, collector });
            }
        }
        let threads = driver.run(&self.simulation)?;
        let mut ends: Vec<Vec<LoopEnd>> = planned.jobs.iter().map(|_| Vec::new()).collect();
        for (job, end) in threads.into_iter().map(Thread::into_end) {
            ends[job].push(end);
        }
        let Collector { sink, watch, .. } = collector.into_inner();
        watch.tell(phase, planned, sink);
        let mut error = String::new();
        for (index, (job, ends)) in planned.jobs.iter().zip(&ends).enumerate() {
            if error.is_empty() {
                error = failure(job, ends);
            }
            let outcome = Box::new(self.outcome(job, ends, start_ns));
            sink(HostEvent::JobFinished { phase: phase as u32, job: index as u32, outcome });
        }
        Ok(error)
    }

    fn engine(&mut self, job: &PlannedJob, thread: usize) -> Result<SimEngine, SimError> {
        if job.job.tree.is_some() {
            let why = "the array model has no files, only volumes";
            return Err(SimError::Unsupported { job: job.job.name.clone(), why });
        }
        let sites = job.slices[thread].sites.iter();
        let volumes: Vec<VolumeId> = sites.map(|site| self.volumes[usize::from(site.target)]).collect();
        Ok(self.simulation.engine(&volumes, job.job.outstanding_per_thread))
    }

    fn machine(
        &self,
        job: &PlannedJob,
        thread: usize,
        engine: SimEngine,
        recorder: Recorder,
        spec: LoopSpec,
        stop: &Arc<AtomicBool>,
    ) -> Result<Machine, SimError> {
        let slice = &job.slices[thread];
        let sites = slice.sites.iter().enumerate().map(|(index, site)| SiteSpec {
            target: index as u16,
            range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
        });
        let sites: Vec<SiteSpec> = sites.collect();
        let source =
            Generator::new(&job.job.pattern, &sites, job.job.selection, slice.seed, slice.ios, slice.bytes);
        let unchanged = Content { refresh: Refresh::Never, ..Content::default() };
        let arrivals = slice
            .rate_per_s
            .map(|rate| ArrivalSource::new(job.job.arrival, rate, derive_seed(slice.seed, 3)));
        let open = arrivals.is_some();
        let parts = LoopParts {
            engine,
            clock: self.clock(),
            arrivals,
            recorder,
            buffers: MappedBuffers::new(job.job.outstanding_per_thread, BUFFER_BYTES)?,
            filler: Filler::new(&unchanged, derive_seed(slice.seed, 2)),
            spec,
            stop: Arc::clone(stop),
            pass_hook: None,
        };
        Ok(if open {
            Machine::Open(JobLoop::new(parts, Box::new(source)))
        } else {
            Machine::Closed(JobLoop::new(parts, Box::new(source)))
        })
    }

    /// What a job's threads say together. Read buffers are not sampled and CPU is not counted: neither exists here.
    fn outcome(&self, job: &PlannedJob, ends: &[LoopEnd], phase_start_ns: u64) -> JobOutcome {
        let measured_start_ns = measured_start(job, phase_start_ns);
        let last = ends.iter().map(|end| end.last_completion_ns).max().unwrap_or(0);
        let planned_end = job.time.map_or(0, |time| measured_start_ns + time.0);
        // An idle tail of a rate-controlled job belongs to its time; a job that was stopped ends with its last completion.
        let open = job.slices.iter().any(|slice| slice.rate_per_s.is_some());
        let end_ns = if open && last + 1_000_000_000 > planned_end { last.max(planned_end) } else { last };
        let mut errors: BTreeMap<i32, u64> = BTreeMap::new();
        for (errno, count) in ends.iter().flat_map(|end| &end.errors) {
            *errors.entry(*errno).or_default() += count;
        }
        JobOutcome {
            engine: "sim".to_owned(),
            engine_notes: self.notes.clone(),
            direct: job.direct,
            measured_start_ns: measured_start_ns - phase_start_ns,
            measured_ns: end_ns.saturating_sub(measured_start_ns),
            errors_by_kind: errors.into_iter().map(|(errno, count)| (errno_name(errno), count)).collect(),
            submit_calls: ends.iter().map(|end| end.submit_calls).sum(),
            ..JobOutcome::default()
        }
    }
}

fn measured_start(job: &PlannedJob, phase_start_ns: u64) -> u64 {
    phase_start_ns + job.job.start_delay.0 + job.job.ramp.0
}

/// A sentence if a job gave up.
fn failure(job: &PlannedJob, ends: &[LoopEnd]) -> String {
    let fatal = ends.iter().map(|end| end.fatal_errno).find(|errno| *errno != 0);
    let full = ends.iter().any(|end| end.queue_full).then(|| QueueFull.to_string());
    let why = fatal.map(errno_name).or(full);
    why.map_or(String::new(), |why| format!("job '{}' stopped: {why}", job.job.name))
}

/// The names of the errors the simulator makes.
fn errno_name(errno: i32) -> String {
    match errno {
        5 => "EIO".to_owned(),
        22 => "EINVAL".to_owned(),
        28 => "ENOSPC".to_owned(),
        other => format!("errno {other}"),
    }
}

#[cfg(test)]
mod tests;
