//! Runs the phases of a plan on a simulated array, in virtual time: jobs of every kind that is given, from one event heap.

mod watch;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_engine::kind::{self, Intervals, PreparedPhase, ThreadEnd};
use assay_engine::outcome::{errno_name, errors_by_kind};
use assay_engine::sampler::Sampler;
use assay_engine::{Clock as _, EngineError, JobKind, JobRunner, PhaseContext, QueueFull, ThreadIndex};
use assay_results::{HostEvent, JobOutcome};
use assay_workload::plan::{Plan, PlannedJob};

use self::watch::Watch;
use crate::driver::{DriverError, Pending, Stepper};
use crate::volumes::{SimMachine, Volumes};
use crate::{Driver, Model, ModelError, SimClock, Simulation};
use assay_results::audit::Observations;

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
    machine: SimMachine,
}

/// A job thread, with where its intervals go.
struct Thread<'a, 's> {
    runner: Box<dyn JobRunner + 'a>,
    at: ThreadIndex,
    /// Of the phase.
    number: usize,
    intervals: Arc<dyn Intervals>,
    seen: Option<u32>,
    /// Whether something but its limits and the stop of everything can end a job of its phase.
    watched: bool,
    collector: &'a RefCell<Collector<'s>>,
    /// Why it could not go on.
    failed: Option<EngineError>,
}

impl Stepper for Thread<'_, '_> {
    fn step(&mut self) -> Result<Pending, EngineError> {
        let pending = self.runner.step().unwrap_or_else(|error| {
            self.failed = Some(error);
            Pending::Done
        });
        let current = self.intervals.current();
        if current != self.seen {
            self.seen = current;
            self.collector.borrow_mut().collect(self.number);
        }
        if self.watched {
            return Ok(self.collector.borrow_mut().watch.stepped(self.number, pending));
        }
        Ok(pending)
    }
}

/// Passes intervals on as they are complete, and lets them end jobs.
struct Collector<'s> {
    sampler: Sampler,
    watch: Watch,
    sink: &'s mut dyn FnMut(HostEvent),
}

impl Collector<'_> {
    fn collect(&mut self, thread: usize) {
        let Collector { sampler, watch, sink } = self;
        sampler.collect_from(thread, &mut |event| {
            if let HostEvent::Interval(interval) = &event {
                watch.feed(interval);
            }
            sink(event);
        });
    }
}

/// How a phase is simulated.
#[derive(Debug, Clone)]
pub struct SimOptions<'k> {
    /// Length of a reporting period, nanoseconds of simulated time.
    pub interval_ns: u64,
    /// Set to end the phase early.
    pub stop: Arc<AtomicBool>,
    /// What can run as a job; the first that takes a job has it.
    pub kinds: &'k [&'k dyn JobKind<SimMachine>],
}

impl Default for SimOptions<'_> {
    /// Periods of a second, and jobs of block I/O.
    fn default() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        SimOptions { interval_ns: 1_000_000_000, stop, kinds: &[&Volumes] }
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
        Ok(PlanSimulation { machine: SimMachine::new(simulation, volumes, notes) })
    }

    /// The simulated time.
    pub fn clock(&self) -> SimClock {
        self.machine.simulation.clock()
    }

    /// What the array did in the last phase.
    pub fn observe(&self) -> Observations {
        self.machine.simulation.observe()
    }

    /// Lets `ns` pass; the array goes on writing dirty pages back.
    pub fn idle(&mut self, ns: u64) {
        self.machine.simulation.idle(ns);
    }

    /// Runs phase `phase`; events go to `sink` in the order of simulated time. Returns why the first job failed
    /// that did.
    ///
    /// # Errors
    /// [`SimError`] if the phase could not be simulated at all.
    pub fn run_phase(
        &mut self,
        plan: &Plan,
        phase: usize,
        options: &SimOptions<'_>,
        sink: &mut dyn FnMut(HostEvent),
    ) -> Result<Option<String>, SimError> {
        let planned = plan.phases.get(phase).ok_or(SimError::NoPhase(phase))?;
        let start_ns = self.clock().now_ns();
        self.machine.simulation.reset_observations();
        let watch = Watch::new(planned, options, self.clock());
        let stops: Vec<Arc<AtomicBool>> = (0..planned.jobs.len()).map(|job| watch.flag(job)).collect();
        let interval_ns = options.interval_ns;
        let context = PhaseContext { plan, phase, interval_ns, stop: &options.stop, stops: &stops };
        let of_job = kind::kinds_of(options.kinds, planned).map_err(|job| SimError::Unsupported {
            job: job.name.clone(),
            why: "the array model has no files, only volumes",
        })?;
        let mut say = |id: &str, text| sink(note(phase, id, text));
        let Some(prepared) = PreparedPhase::new(options.kinds, of_job, context, &mut say)? else {
            return Ok(None);
        };
        let collector = Collector { sampler: sampler(context, &prepared, start_ns), watch, sink };
        let collector = RefCell::new(collector);
        let threads = self.drive(context, &prepared, &collector, start_ns)?;
        let mut ends: Vec<Vec<ThreadEnd>> = planned.jobs.iter().map(|_| Vec::new()).collect();
        for thread in threads {
            ends[thread.at.job].push(ThreadEnd { error: thread.failed, ..thread.runner.end() });
            // One that failed ends its last interval only now.
            collector.borrow_mut().collect(thread.number);
        }
        let Collector { sink, watch, .. } = collector.into_inner();
        watch.tell(phase, planned, sink);
        prepared.finish(&mut |id, text| sink(note(phase, id, text)));
        let mut error = None;
        for (index, (job, ends)) in planned.jobs.iter().zip(&ends).enumerate() {
            // What only other hosts do is nothing that ends here.
            if job.slices.is_empty() {
                continue;
            }
            error = error.or_else(|| failure(job, ends));
            let outcome = Box::new(outcome(job, ends, start_ns));
            sink(HostEvent::JobFinished { phase: phase as u32, job: index as u32, outcome });
        }
        Ok(error)
    }

    /// Runs all threads to their ends.
    fn drive<'a, 's>(
        &self,
        context: PhaseContext<'_>,
        prepared: &'a PreparedPhase<'_, SimMachine>,
        collector: &'a RefCell<Collector<'s>>,
        start_ns: u64,
    ) -> Result<Vec<Thread<'a, 's>>, SimError> {
        let watched = collector.borrow().watch.active();
        let mut driver = Driver::default();
        for (number, at) in threads(context).enumerate() {
            let Some(jobs) = prepared.with(at.job) else { continue };
            let mut runner = jobs.thread(at, &self.machine)?;
            runner.arm(start_ns);
            let intervals = jobs.intervals(at);
            let seen = intervals.current();
            let thread = Thread { runner, at, number, intervals, seen, watched, collector, failed: None };
            driver.add(&self.machine.take_ports(), thread);
        }
        Ok(driver.run(&self.machine.simulation)?)
    }
}

/// All threads of a phase.
fn threads(context: PhaseContext<'_>) -> impl Iterator<Item = ThreadIndex> + '_ {
    let jobs = context.planned().jobs.iter().enumerate();
    jobs.flat_map(|(job, planned)| (0..planned.slices.len()).map(move |thread| ThreadIndex { job, thread }))
}

fn sampler(context: PhaseContext<'_>, prepared: &PreparedPhase<'_, SimMachine>, start_ns: u64) -> Sampler {
    let intervals = |at: ThreadIndex| Some((at.job, prepared.with(at.job)?.intervals(at)));
    let threads = threads(context).filter_map(intervals).collect();
    let starts = context.planned().jobs.iter().map(|job| measured_start(job, start_ns)).collect();
    Sampler::new(threads, context.phase, start_ns, starts)
}

fn note(phase: usize, id: &str, text: String) -> HostEvent {
    HostEvent::Note { phase: Some(phase as u32), id: id.to_owned(), text }
}

/// What a job's threads say together. Read buffers are not sampled and CPU is not counted: neither exists here.
fn outcome(job: &PlannedJob, ends: &[ThreadEnd], phase_start_ns: u64) -> JobOutcome {
    let measured_start_ns = measured_start(job, phase_start_ns);
    let last = ends.iter().map(|end| end.end.last_completion_ns).max().unwrap_or(0);
    let planned_end = job.end.time.map_or(0, |time| measured_start_ns + time.0);
    // An idle tail of a rate-controlled job belongs to its time; a job that was stopped ends with its last completion.
    let open = job.slices.iter().any(|slice| job.slice_iops(slice).is_some());
    let end_ns = if open && last + 1_000_000_000 > planned_end { last.max(planned_end) } else { last };
    let first = ends.first();
    JobOutcome {
        engine: first.map_or("", |end| end.engine).to_owned(),
        engine_notes: first.map_or(Vec::new(), |end| end.engine_notes.clone()),
        direct: job.direct,
        measured_start_ns: measured_start_ns - phase_start_ns,
        measured_ns: end_ns.saturating_sub(measured_start_ns),
        errors_by_kind: errors_by_kind(ends),
        submit_calls: ends.iter().map(|end| end.end.submit_calls).sum(),
        ..JobOutcome::default()
    }
}

fn measured_start(job: &PlannedJob, phase_start_ns: u64) -> u64 {
    phase_start_ns + job.start_delay.0 + job.ramp.0
}

/// A sentence if a job gave up.
fn failure(job: &PlannedJob, ends: &[ThreadEnd]) -> Option<String> {
    let fatal = ends.iter().map(|end| end.end.fatal_errno).find(|errno| *errno != 0);
    let full = ends.iter().any(|end| end.end.queue_full).then(|| QueueFull.to_string());
    let failed = ends.iter().find_map(|end| end.error.as_ref()).map(EngineError::to_string);
    let why = fatal.map(errno_name).or(full).or(failed);
    why.map(|why| format!("job '{}' stopped: {why}", job.name))
}

#[cfg(test)]
mod tests;
