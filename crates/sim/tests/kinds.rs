//! A kind of job that nothing knows of runs for real and in virtual time, by the same code.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_engine::driver::{PhaseOptions, run_phase};
use assay_engine::kind::{Intervals, Pending, Say, ThreadEnd};
use assay_engine::recorder::{Latency, Recorder, Schedule, Shared};
use assay_engine::{
    Blocks, Clock as _, EngineError, JobKind, JobRunner, Machine, PhaseContext, PreparedJobs, ThreadIndex,
};
use assay_results::HostEvent;
use assay_sim::{Model, PlanSimulation, SimOptions, Volumes, lun};
use assay_workload::job::{Job, Limits, Phase};
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::plan::{Plan, PlannedJob};

/// Between two ticks.
const EVERY_NS: u64 = 10_000_000;

/// Jobs that count the time: a "read" of a byte every 10 ms, so many in all.
#[derive(Debug)]
struct Ticking {
    shared: Arc<Shared>,
    ticks: u64,
}

impl<M: Machine> JobKind<M> for Ticking {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.name == "ticking"
    }

    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        _: &[usize],
        _: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<M> + 'p>, EngineError> {
        Ok(Box::new(Prepared { kind: self, interval_ns: context.interval_ns }))
    }
}

struct Prepared<'p> {
    kind: &'p Ticking,
    interval_ns: u64,
}

impl<M: Machine> PreparedJobs<M> for Prepared<'_> {
    fn intervals(&self, _: ThreadIndex) -> Arc<dyn Intervals> {
        Arc::clone(&self.kind.shared) as Arc<dyn Intervals>
    }

    fn thread(&self, _: ThreadIndex, machine: &M) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        let schedule = Schedule { start_ns: 0, measured_start_ns: 0, interval_ns: self.interval_ns };
        let recorder = Some(Recorder::new(Arc::clone(&self.kind.shared), schedule));
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
    recorder: Option<Recorder>,
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
        recorder.latency(Latency::Completion, OpKind::Read as usize, now - self.due_ns, 1);
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

fn job(name: &str) -> Job {
    let limits = Limits { ios: Some(1000), ..Limits::default() };
    lun::job(name, AccessPattern::new(Mix::READ, 4096, Placement::random_independent()), 4, limits)
}

fn plan(jobs: Vec<Job>) -> Plan {
    lun::plan(5, 1 << 30, vec![Phase::measure("measure", jobs)]).unwrap()
}

/// What was seen of a phase: operations and interval ends of each job, engines, and notes.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    ios: [u64; 2],
    intervals: usize,
    engines: Vec<String>,
    notes: Vec<String>,
}

impl Seen {
    fn feed(&mut self, event: HostEvent) {
        match event {
            HostEvent::Interval(interval) => {
                self.ios[interval.key.job as usize] += interval.counts.op(OpKind::Read).ios;
                self.intervals += usize::from(interval.key.job == 0);
            }
            HostEvent::JobFinished { outcome, .. } => self.engines.push(outcome.engine.clone()),
            HostEvent::Note { id, text, .. } => self.notes.push(format!("{id}: {text}")),
            _ => {}
        }
    }
}

#[test]
fn a_kind_that_nothing_knows_of_runs_in_virtual_time_beside_block_jobs() {
    let plan = plan(vec![job("ticking"), job("blocks")]);
    let ticking = Ticking { shared: Shared::new(), ticks: 25 };
    let options =
        SimOptions { interval_ns: 100_000_000, kinds: &[&ticking, &Volumes], ..SimOptions::default() };
    let model = Model::shipped("known-latency").unwrap();
    let mut simulation = PlanSimulation::new(&model, &plan, 1).unwrap();
    let mut seen = Seen::default();
    assert_eq!(simulation.run_phase(&plan, 0, &options, &mut |event| seen.feed(event)).unwrap(), "");
    assert_eq!((seen.ios, seen.intervals), ([25, 1000], 3), "{seen:?}");
    assert_eq!(
        (seen.engines, seen.notes),
        (vec!["ticking".into(), "sim".into()], vec!["ticking: 25 ticks".into()])
    );
    assert_eq!(simulation.clock().now_ns(), 250_000_000, "to the nanosecond");
}

#[test]
fn the_same_kind_runs_for_real() {
    let plan = plan(vec![job("ticking")]);
    let ticking = Ticking { shared: Shared::new(), ticks: 8 };
    let stop = Arc::new(AtomicBool::new(false));
    let options =
        PhaseOptions { interval: Duration::from_millis(50), stop, kinds: &[&ticking, &Blocks::default()] };
    let mut seen = Seen::default();
    let end = run_phase(&plan, 0, &options, &mut |event| seen.feed(event), &mut |_| {}).unwrap();
    assert_eq!((end.error.as_str(), seen.ios), ("", [8, 0]));
    assert_eq!((seen.engines, seen.notes), (vec!["ticking".into()], vec!["ticking: 8 ticks".into()]));
}

#[test]
fn what_no_kind_takes_is_refused_by_name() {
    let plan = plan(vec![job("blocks"), job("other")]);
    let ticking = Ticking { shared: Shared::new(), ticks: 1 };
    let model = Model::shipped("known-latency").unwrap();
    let options = SimOptions { kinds: &[&ticking], ..SimOptions::default() };
    let mut simulation = PlanSimulation::new(&model, &plan, 1).unwrap();
    let error = simulation.run_phase(&plan, 0, &options, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "job 'blocks' cannot be simulated: the array model has no files, only volumes"
    );
}
