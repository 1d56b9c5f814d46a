//! What a kind of job does to the phase when it fails, panics, hangs or has nothing to do.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Condvar, Mutex};

use assay_results::JobOutcome;
use assay_results::run::Metric;
use assay_workload::operation::OpId;

use super::*;
use crate::kind::Pending;
use crate::operations::{Entry, OperationCounts};
use crate::recorder::{Recorder, Schedule};

/// What a [`Toy`]'s threads do behind three operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Fail,
    Panic,
    Hang,
    HangBeforeTheStart,
}

/// A kind that takes the jobs of no engine.
#[derive(Debug)]
struct Toy {
    then: Then,
    prepared: AtomicUsize,
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Toy {
    fn new(then: Then) -> Self {
        Toy { then, prepared: AtomicUsize::new(0), woken: Mutex::new(false), changed: Condvar::new() }
    }

    fn hang(&self) {
        let woken = self.woken.lock().unwrap();
        drop(self.changed.wait_while(woken, |woken| !*woken).unwrap());
    }
}

impl JobKind<ThisMachine> for Toy {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.engine == PlannedEngine::Foreign
    }

    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        jobs: &[usize],
        _: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        let halves = || OperationCounts::shared(&[Entry::Named(OpId::new(0))]);
        let of = |job: &usize| (*job, context.job(*job).slices.iter().map(|_| halves()).collect());
        Ok(Box::new(PreparedToy { toy: self, shared: jobs.iter().map(of).collect() }))
    }
}

struct PreparedToy<'p> {
    toy: &'p Toy,
    shared: BTreeMap<usize, Vec<Arc<Shared<OperationCounts>>>>,
}

impl PreparedJobs<ThisMachine> for PreparedToy<'_> {
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals> {
        Arc::clone(&self.shared[&at.job][at.thread]) as Arc<dyn Intervals>
    }

    fn thread(&self, at: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        if self.toy.then == Then::HangBeforeTheStart {
            self.toy.hang();
        }
        let schedule = Schedule { start_ns: 0, measured_start_ns: 0, interval_ns: 50_000_000 };
        let recorder = Recorder::new(Arc::clone(&self.shared[&at.job][at.thread]), schedule);
        Ok(Box::new(ToyRunner { toy: self.toy, recorder }))
    }

    fn figures(&self, job: usize) -> BTreeMap<String, Metric> {
        let metric = Metric { value: job as f64, unit: "jobs".to_owned(), n: 1, interval: None, basis: None };
        BTreeMap::from([("place".to_owned(), metric)])
    }

    fn interrupt(&self, _: usize) {
        *self.toy.woken.lock().unwrap() = true;
        self.toy.changed.notify_all();
    }
}

struct ToyRunner<'p> {
    toy: &'p Toy,
    recorder: Recorder<OperationCounts>,
}

impl JobRunner for ToyRunner<'_> {
    fn arm(&mut self, start_ns: u64) {
        self.recorder.shift(start_ns);
    }

    fn step(&mut self) -> Result<Pending, EngineError> {
        (0..3).for_each(|_| self.recorder.requested(0, 1000, None, 1));
        match self.toy.then {
            Then::Fail => Err(EngineError::Kind { kind: "toy", why: "the server has gone away".to_owned() }),
            Then::Panic => panic!("planted"),
            Then::Hang | Then::HangBeforeTheStart => {
                self.toy.hang();
                Ok(Pending::Done)
            }
        }
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        self.recorder.finish(RealClock::new().now_ns());
        ThreadEnd { engine: "toy", errors_by_name: vec![("57P01".to_owned(), 1)], ..ThreadEnd::default() }
    }
}

/// The end of a phase of a job on the null engine and one of `toy`; outcomes and counted operations by job.
fn run(
    toy: &Toy,
    stop: bool,
) -> (Result<PhaseEnd, EngineError>, BTreeMap<u32, JobOutcome>, BTreeMap<u32, u64>) {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), &[EngineKind::Null, EngineKind::Fio]);
    let kinds: [&dyn JobKind<ThisMachine>; 2] = [toy, &Blocks::default()];
    let options = options(&kinds);
    let (mut outcomes, mut ios) = (BTreeMap::new(), BTreeMap::new());
    let mut sink = |event| match event {
        HostEvent::JobFinished { job, outcome, .. } => drop(outcomes.insert(job, *outcome)),
        HostEvent::Interval(interval) => {
            *ios.entry(interval.key.job).or_default() += interval.counts.data_ios()
        }
        _ => {}
    };
    let end = std::thread::scope(|scope| {
        let flag = Arc::clone(&options.stop);
        if stop {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                flag.store(true, Ordering::Relaxed);
            });
        }
        run_phase(&plan, 0, &options, &mut sink, &mut |_| {})
    });
    (end, outcomes, ios)
}

#[test]
fn a_job_that_fails_keeps_what_it_measured_and_the_others_theirs() {
    let (end, outcomes, ios) = run(&Toy::new(Then::Fail), false);
    let error = end.unwrap().error;
    assert_eq!(error.as_deref(), Some("job 'j1' stopped: toy: the server has gone away"));
    assert_eq!(ios, [(0, 2000), (1, 2 * 3)].into());
    assert_eq!((outcomes[&0].engine.as_str(), outcomes[&1].engine.as_str()), ("null", "toy"));
    assert!(!outcomes[&0].engine_notes.is_empty());
    // Errors have the names that the kind gives them, added up over its threads.
    assert_eq!(outcomes[&1].errors_by_kind, [("57P01".to_owned(), 2)]);
    // So have figures of the kind's own.
    assert_eq!((outcomes[&1].figures["place"].value, outcomes[&0].figures.len()), (1.0, 0));
}

#[test]
fn a_job_that_panics_is_one_that_failed() {
    let (end, outcomes, ios) = run(&Toy::new(Then::Panic), false);
    assert_eq!(end.unwrap().error.as_deref(), Some("job 'j1' stopped: internal error: planted"));
    assert_eq!((ios[&0], outcomes.len()), (2000, 2));
    assert!(outcomes[&1].measured_ns > 0);
}

#[test]
fn a_stop_wakes_a_job_that_waits_in_a_call() {
    for then in [Then::Hang, Then::HangBeforeTheStart] {
        let (end, outcomes, _) = run(&Toy::new(then), true);
        assert_eq!((end.unwrap(), outcomes.len()), (PhaseEnd::default(), 2));
    }
}

#[test]
fn a_kind_prepares_its_own_jobs_and_nothing_without_any() {
    let directory = tempfile::tempdir().unwrap();
    let toy = Toy::new(Then::Fail);
    let kinds: [&dyn JobKind<ThisMachine>; 2] = [&toy, &Blocks::default()];
    let run = |plan: &Plan| run_phase(plan, 0, &options(&kinds), &mut |_| {}, &mut |_| {}).unwrap();
    let mut both = Plan::clone(&plan(directory.path(), &[EngineKind::Null, EngineKind::Fio]));
    assert_eq!(run(&plan(directory.path(), &[EngineKind::Null; 2])), PhaseEnd::default());
    assert_eq!(toy.prepared.load(Ordering::Relaxed), 0);
    // What a job of another kind reads is not laid out for it.
    both.phases[0].jobs[1].slices.iter_mut().for_each(|slice| slice.sites[0].length_bytes = 2 << 20);
    assert!(run(&both).error.is_some());
    assert_eq!(toy.prepared.load(Ordering::Relaxed), 1);
    assert_eq!(std::fs::metadata(directory.path().join("file")).unwrap().len(), 1 << 20);
    both.phases[0].jobs[1].slices.clear();
    assert_eq!(run(&both), PhaseEnd::default());
    assert_eq!(toy.prepared.load(Ordering::Relaxed), 1);
}
