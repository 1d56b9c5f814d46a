//! A kind of job that the product knows nothing of, for every machine.

use std::sync::Arc;

use assay_engine::kind::{Intervals, Pending, Say, ThreadEnd};
use assay_engine::operations::{Entry, OperationCounts};
use assay_engine::recorder::{Recorder, Schedule, Shared};
use assay_engine::{EngineError, JobKind, JobRunner, Machine, PhaseContext, PreparedJobs, ThreadIndex};
use assay_workload::application::Body;
use assay_workload::operation::OpId;
use assay_workload::plan::PlannedJob;

/// Between two ticks.
const EVERY_NS: u64 = 10_000_000;

/// Its operations, by number.
const OPERATIONS: [&str; 2] = ["tick", "pendulum"];

/// Jobs that count the time: a tick of a byte every 10 ms, so many in all, by one thread. Each takes two swings of the pendulum,
/// which are done beside it.
#[derive(Debug)]
pub(crate) struct Ticking {
    pub(crate) ticks: u64,
}

impl<M: Machine> JobKind<M> for Ticking {
    fn takes(&self, job: &PlannedJob) -> bool {
        match job.body() {
            Body::Application(of) => of.kind == "ticking",
            _ => job.name.starts_with("ticking"),
        }
    }

    fn operations(&self, _: &PlannedJob) -> Vec<String> {
        OPERATIONS.map(str::to_owned).into()
    }

    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        _: &[usize],
        _: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<M> + 'p>, EngineError> {
        let table = [Entry::Named(OpId::new(0)), Entry::Named(OpId::new(1))];
        let shared = OperationCounts::shared(&table);
        Ok(Box::new(Prepared { kind: self, shared, interval_ns: context.interval_ns }))
    }
}

struct Prepared<'p> {
    kind: &'p Ticking,
    shared: Arc<Shared<OperationCounts>>,
    interval_ns: u64,
}

impl<M: Machine> PreparedJobs<M> for Prepared<'_> {
    fn intervals(&self, _: ThreadIndex) -> Arc<dyn Intervals> {
        Arc::clone(&self.shared) as Arc<dyn Intervals>
    }

    fn thread(&self, _: ThreadIndex, machine: &M) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        let schedule = Schedule { start_ns: 0, measured_start_ns: 0, interval_ns: self.interval_ns };
        let recorder = Some(Recorder::new(Arc::clone(&self.shared), schedule));
        Ok(Box::new(Ticker {
            clock: machine.clock(),
            recorder,
            left: self.kind.ticks,
            due_ns: 0,
            last_ns: 0,
        }))
    }

    fn finish(&self, say: &mut Say<'_>) {
        say("ticking", format!("{} ticks", self.kind.ticks));
    }
}

struct Ticker<C> {
    clock: C,
    recorder: Option<Recorder<OperationCounts>>,
    left: u64,
    due_ns: u64,
    last_ns: u64,
}

impl<C: assay_engine::Clock> JobRunner for Ticker<C> {
    fn arm(&mut self, start_ns: u64) {
        self.due_ns = start_ns + EVERY_NS;
        self.recorder.iter_mut().for_each(|recorder| recorder.shift(start_ns));
    }

    fn step(&mut self) -> Result<Pending, EngineError> {
        let now = self.clock.now_ns();
        let Some(recorder) = self.recorder.as_mut() else { return Ok(Pending::Done) };
        if now >= recorder.boundary_ns() {
            recorder.roll(now);
        }
        if now < self.due_ns {
            return Ok(Pending::Until(self.due_ns));
        }
        recorder.requested(0, now - self.due_ns, None, 1);
        (0..2).for_each(|_| recorder.beside(1, EVERY_NS / 2, 4096));
        (self.left, self.last_ns, self.due_ns) = (self.left - 1, now, self.due_ns + EVERY_NS);
        if self.left > 0 {
            return Ok(Pending::Until(self.due_ns));
        }
        self.recorder.take().into_iter().for_each(|recorder| recorder.finish(now));
        Ok(Pending::Done)
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        let end = assay_engine::job_loop::LoopEnd { last_completion_ns: self.last_ns, ..Default::default() };
        ThreadEnd { end, engine: "ticking", ..ThreadEnd::default() }
    }
}
