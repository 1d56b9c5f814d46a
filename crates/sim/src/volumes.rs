//! Jobs of block I/O on the volumes of a simulated array: the engine crate's job loop, in virtual time.

use std::cell::RefCell;
use std::sync::Arc;

use assay_engine::buffers::MappedBuffers;
use assay_engine::job_loop::{JobLoop, LoopParts, LoopSpec};
use assay_engine::kind::{Intervals, Pending, Say, ThreadEnd};
use assay_engine::recorder::{Recorder, Shared};
use assay_engine::{EngineError, JobKind, JobRunner, Machine, PhaseContext, PreparedJobs, ThreadIndex};
use assay_workload::arrival::Arrivals;
use assay_workload::content::{Content, Refresh};
use assay_workload::fill::Filler;
use assay_workload::ops::SiteSpec;
use assay_workload::plan::{PlannedJob, PlannedSite};
use assay_workload::rng::derive_seed;
use assay_workload::target::ActiveRange;

use crate::{PortId, SimClock, SimEngine, Simulation, VolumeId};

/// Buffers carry nothing, so the smallest will do whatever the block size.
const BUFFER_BYTES: usize = 4096;

/// A simulated array as the machine that jobs run on; target i of the plan is volume i.
#[derive(Debug)]
pub struct SimMachine {
    pub(crate) simulation: Simulation,
    pub(crate) volumes: Vec<VolumeId>,
    /// What every result says of the array.
    pub(crate) notes: Vec<String>,
    /// Ports of engines that were made and that no thread has got yet.
    ports: RefCell<Vec<PortId>>,
}

impl SimMachine {
    pub(crate) fn new(simulation: Simulation, volumes: Vec<VolumeId>, notes: Vec<String>) -> Self {
        SimMachine { simulation, volumes, notes, ports: RefCell::default() }
    }

    /// An engine for at most `slots` outstanding I/Os on the targets of `sites`. What the array does for it wakes the thread
    /// that asked for it.
    pub fn engine(&self, sites: &[PlannedSite], slots: u32) -> SimEngine {
        let volumes = sites.iter().map(|site| self.volumes[site.target as usize]);
        let engine = self.simulation.engine(&volumes.collect::<Vec<_>>(), slots);
        self.ports.borrow_mut().push(engine.port());
        engine
    }

    /// The ports of the engines that were made since the last call.
    pub(crate) fn take_ports(&self) -> Vec<PortId> {
        self.ports.take()
    }
}

impl Machine for SimMachine {
    type Clock = SimClock;

    fn clock(&self) -> SimClock {
        self.simulation.clock()
    }
}

/// Block I/O on a simulated array.
#[derive(Debug, Clone, Copy, Default)]
pub struct Volumes;

impl JobKind<SimMachine> for Volumes {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.is_blocks() && job.file_operation.is_none()
    }

    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        _: &[usize],
        _: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<SimMachine> + 'p>, EngineError> {
        let jobs = context.planned().jobs.iter();
        let shared = jobs.map(|job| job.slices.iter().map(|_| Shared::new()).collect()).collect();
        Ok(Box::new(PreparedVolumes { context, shared }))
    }
}

/// The block jobs of a phase.
struct PreparedVolumes<'p> {
    context: PhaseContext<'p>,
    /// By job and thread.
    shared: Vec<Vec<Arc<Shared>>>,
}

impl PreparedJobs<SimMachine> for PreparedVolumes<'_> {
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals> {
        Arc::clone(&self.shared[at.job][at.thread]) as Arc<dyn Intervals>
    }

    fn thread(&self, at: ThreadIndex, machine: &SimMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        Ok(if self.context.job(at.job).slices[at.thread].rate.is_some() {
            Box::new(self.runner::<true>(at, machine)?)
        } else {
            Box::new(self.runner::<false>(at, machine)?)
        })
    }
}

impl PreparedVolumes<'_> {
    fn runner<const OPEN: bool>(
        &self,
        at: ThreadIndex,
        machine: &SimMachine,
    ) -> Result<SimRunner<OPEN>, EngineError> {
        let planned = self.context.job(at.job);
        let (job, slice) = (planned, &planned.slices[at.thread]);
        let sites = slice.sites.iter().enumerate().map(|(index, site)| SiteSpec {
            target: index as u16,
            range: ActiveRange { offset_bytes: site.offset_bytes, length_bytes: site.length_bytes },
        });
        let sites: Vec<SiteSpec> = sites.collect();
        let source = job.source(&sites, slice, false);
        let unchanged = Content { refresh: Refresh::Never, ..Content::default() };
        let spec = LoopSpec::of(planned, 0);
        let shared = Arc::clone(&self.shared[at.job][at.thread]);
        let parts = LoopParts {
            engine: machine.engine(&slice.sites, job.outstanding_per_thread),
            clock: machine.clock(),
            arrivals: Arrivals::of(job.pace.arrival(), &job.pattern, slice),
            recorder: Recorder::new(shared, spec.schedule(self.context.interval_ns)),
            buffers: MappedBuffers::new(job.outstanding_per_thread, BUFFER_BYTES)?,
            filler: Filler::new(&unchanged, derive_seed(slice.seed, 2)),
            targets: Vec::new(),
            spec,
            stop: Arc::clone(&self.context.stops[at.job]),
            pass_hook: None,
        };
        Ok(SimRunner { job_loop: JobLoop::new(parts, source), notes: machine.notes.clone() })
    }
}

/// The loop of one thread.
struct SimRunner<const OPEN: bool> {
    job_loop: JobLoop<SimEngine, SimClock, OPEN, false>,
    notes: Vec<String>,
}

impl<const OPEN: bool> JobRunner for SimRunner<OPEN> {
    fn arm(&mut self, start_ns: u64) {
        self.job_loop.arm(start_ns);
    }

    #[inline]
    fn step(&mut self) -> Result<Pending, EngineError> {
        self.job_loop.step()
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        let end = self.job_loop.into_end();
        ThreadEnd { end, engine: "sim", engine_notes: self.notes, ..ThreadEnd::default() }
    }
}
