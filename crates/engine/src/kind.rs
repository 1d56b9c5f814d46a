//! The seam for kinds of jobs: what runs as a job (block I/O, a tree of files, an application) implements it. The code that
//! runs phases (the driver on this machine, the simulator in virtual time) knows nothing else of it.
//!
//! A [`JobKind`] says which jobs it takes and prepares all of a phase together; each thread gets a [`JobRunner`] of its own
//! before the common start. Kinds are generic over the [`Machine`] they run on: one that needs nothing but its clock runs on
//! every machine, one that needs real files only on this one, and the compiler knows which.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_results::run::{Metric, Moment};
use assay_workload::operation::OpId;
use assay_workload::plan::{Plan, PlannedJob, PlannedPhase};

use crate::clock::RealClock;
pub use crate::in_flight::Waits;
pub use crate::job_loop::Pending;
pub use crate::outcome::ThreadEnd;
pub use crate::recorder::Intervals;
use crate::seam::{Clock, EngineError};

/// The longest sleep between two steps, so that a stop is noticed.
const NAP_NS: u64 = 20_000_000;

/// What jobs run on.
pub trait Machine {
    /// Its clock.
    type Clock: Clock + Debug + 'static;
    /// The clock of all jobs.
    fn clock(&self) -> Self::Clock;
}

/// The machine this program runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    type Clock = RealClock;

    fn clock(&self) -> RealClock {
        RealClock::new()
    }
}

/// A thread of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadIndex {
    /// Index of its job in the phase.
    pub job: usize,
    /// Index of its slice in the job.
    pub thread: usize,
}

/// The phase that jobs are prepared for.
#[derive(Debug, Clone, Copy)]
pub struct PhaseContext<'p> {
    /// The plan.
    pub plan: &'p Plan,
    /// Which of its phases.
    pub phase: usize,
    /// Length of a reporting period.
    pub interval_ns: u64,
    /// Ends everything early. For [`JobKind::prepare`], through [`PhaseContext::stopped`].
    pub stop: &'p AtomicBool,
    /// What ends each job early: the flag that its threads obey. It is set with `stop`, and also by what ends this job alone
    /// (another job's end, a steady state).
    pub stops: &'p [Arc<AtomicBool>],
}

impl<'p> PhaseContext<'p> {
    /// The phase.
    pub fn planned(&self) -> &'p PlannedPhase {
        &self.plan.phases[self.phase]
    }

    /// A job of the phase.
    pub fn job(&self, job: usize) -> &'p PlannedJob {
        &self.planned().jobs[job]
    }

    /// Whether what takes long is to be given up.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Takes notes: an identifier and a sentence.
pub type Say<'s> = dyn FnMut(&'static str, String) + 's;

/// What can run as a job.
pub trait JobKind<M: Machine>: Debug + Sync {
    /// Whether `job` is of this kind.
    fn takes(&self, job: &PlannedJob) -> bool;

    /// The names of the operations of `job` beside read, write, trim and flush, by their numbers; see [`name_operations`].
    fn operations(&self, _job: &PlannedJob) -> Vec<String> {
        Vec::new()
    }

    /// Makes everything ready that the jobs `jobs` of the phase share, and that takes long. `jobs` are indices of the phase's
    /// jobs, those of this kind that have threads here; a kind without any is not asked. It gives up once the context is
    /// stopped.
    ///
    /// # Errors
    /// [`EngineError`] if they cannot be run; nothing is measured then.
    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        jobs: &[usize],
        say: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<M> + 'p>, EngineError>;
}

/// All jobs of one kind in a phase.
pub trait PreparedJobs<M: Machine>: Sync {
    /// Where a thread's intervals come from.
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals>;

    /// What a thread that has been made waits for: what it handed over first, at `until_ns` or before. `None`: nothing, or this
    /// kind does not keep it.
    fn waits(&self, _at: ThreadIndex, _until_ns: u64) -> Option<Waits> {
        None
    }

    /// What a thread does: made on that thread, before the common start.
    ///
    /// # Errors
    /// [`EngineError`] if it cannot be had; no thread starts then.
    fn thread(&self, at: ThreadIndex, machine: &M) -> Result<Box<dyn JobRunner + '_>, EngineError>;

    /// Wakes the threads of job `job`, wherever they wait, also in [`PreparedJobs::thread`]: the job is to end now. Called once
    /// a job, on another thread, when its stop flag is set or when its time has been over for
    /// [`crate::driver::OVERTIME`]. The phase ends only when all threads have returned, so a kind whose steps wait for what may
    /// never come (a reply of a server) closes here what they wait for.
    fn interrupt(&self, _job: usize) {}

    /// Tells what is to be said of the jobs once all their threads have ended.
    fn finish(&self, _say: &mut Say<'_>) {}

    /// The figures of job `job` beside what its operations count, by name. Asked for after [`PreparedJobs::finish`].
    fn figures(&self, _job: usize) -> BTreeMap<String, Metric> {
        BTreeMap::new()
    }

    /// What happened while job `job` ran, in order. Asked for after [`PreparedJobs::finish`].
    fn moments(&self, _job: usize) -> Vec<Moment> {
        Vec::new()
    }
}

/// What one job thread does, as a step machine.
pub trait JobRunner {
    /// The phase starts at `start_ns` of the machine's clock. Called once, before the first step.
    fn arm(&mut self, start_ns: u64);

    /// Does what can be done now, and says what it waits for. In virtual time a step never blocks.
    ///
    /// # Errors
    /// [`EngineError`] if it cannot go on. The thread ends then, and the phase fails; the other threads go on, and what was
    /// measured is kept.
    fn step(&mut self) -> Result<Pending, EngineError>;

    /// Steps until done, in real time. Compiled for each kind, so that it is one virtual call a thread. What waits inside its
    /// steps has nothing to wait for between them, and replaces it.
    ///
    /// # Errors
    /// As [`JobRunner::step`].
    fn run(&mut self) -> Result<(), EngineError> {
        let clock = RealClock::new();
        loop {
            match self.step()? {
                Pending::Done => return Ok(()),
                Pending::Completion => {}
                Pending::Until(at_ns) => {
                    let left_ns = at_ns.saturating_sub(clock.now_ns());
                    std::thread::sleep(Duration::from_nanos(left_ns.min(NAP_NS)));
                }
            }
        }
    }

    /// What was learnt, once it is done or a step has failed. The last interval is published by then
    /// ([`crate::recorder::Recorder::finish`]).
    fn end(self: Box<Self>) -> ThreadEnd;
}

/// The jobs of a phase, each prepared by the kind that takes it.
pub struct PreparedPhase<'p, M> {
    /// `None`: no job of that kind has threads here.
    kinds: Vec<Option<Box<dyn PreparedJobs<M> + 'p>>>,
    /// The kind of each job.
    of_job: Vec<usize>,
}

impl<M> Debug for PreparedPhase<'_, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreparedPhase").field("of_job", &self.of_job).finish_non_exhaustive()
    }
}

/// Enters in the jobs of `plan` the operations that the first of `kinds` to take each of them names. Jobs that have some
/// keep theirs.
///
/// # Errors
/// The name of a job with more operations than [`OpId`] counts, and their number.
pub fn name_operations<'p, 'k, M: Machine + 'k>(
    plan: &'p mut Plan,
    kinds: impl Iterator<Item = &'k dyn JobKind<M>> + Clone,
) -> Result<(), (&'p str, usize)> {
    for job in
        plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs).filter(|job| job.operations.is_empty())
    {
        job.operations =
            kinds.clone().find(|kind| kind.takes(job)).map_or_else(Vec::new, |kind| kind.operations(job));
    }
    let mut jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    match jobs.find(|job| job.operations.len() > usize::from(OpId::COUNT_MAX)) {
        Some(job) => Err((&job.name, job.operations.len())),
        None => Ok(()),
    }
}

/// The first of `kinds` that takes each job of a phase.
///
/// # Errors
/// The first job that none takes.
pub fn kinds_of<'j, M: Machine>(
    kinds: &[&dyn JobKind<M>],
    phase: &'j PlannedPhase,
) -> Result<Vec<usize>, &'j PlannedJob> {
    phase.jobs.iter().map(|job| kinds.iter().position(|kind| kind.takes(job)).ok_or(job)).collect()
}

impl<'p, M: Machine> PreparedPhase<'p, M> {
    /// Prepares every job of a phase that has threads by its kind, as [`kinds_of`] found them; `None`: it was stopped meanwhile.
    ///
    /// # Errors
    /// What a kind cannot prepare.
    pub fn new(
        kinds: &'p [&'p dyn JobKind<M>],
        of_job: Vec<usize>,
        context: PhaseContext<'p>,
        say: &mut Say<'_>,
    ) -> Result<Option<Self>, EngineError> {
        let mut prepared = Vec::with_capacity(kinds.len());
        for (index, kind) in kinds.iter().enumerate() {
            let own = |job: &usize| of_job[*job] == index && !context.job(*job).slices.is_empty();
            let jobs: Vec<usize> = (0..of_job.len()).filter(own).collect();
            if jobs.is_empty() {
                prepared.push(None);
                continue;
            }
            let made = catch_unwind(AssertUnwindSafe(|| kind.prepare(context, &jobs, say)));
            prepared.push(Some(made.unwrap_or_else(|panic| Err(EngineError::panicked(&*panic)))?));
            if context.stopped() {
                return Ok(None);
            }
        }
        Ok(Some(PreparedPhase { kinds: prepared, of_job }))
    }

    /// The jobs that job `job` was prepared with; `None`: it has no threads here.
    pub fn with(&self, job: usize) -> Option<&(dyn PreparedJobs<M> + 'p)> {
        self.kinds[self.of_job[job]].as_deref()
    }

    /// Tells what every kind has to say at the end.
    pub fn finish(&self, say: &mut Say<'_>) {
        self.kinds.iter().flatten().for_each(|kind| kind.finish(say));
    }
}
