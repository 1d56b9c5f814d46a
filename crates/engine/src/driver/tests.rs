use assay_workload::job::{EndsWith, EngineKind, Job, Limits, Phase, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::{PlannedEngine, PlannedJob, SliceRate};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};

use assay_workload::units::Nanos;

use super::*;

mod kinds;
use crate::blocks::Blocks;
use crate::kind::{JobRunner, Say};
use crate::recorder::Shared;

/// A phase of jobs with two threads each, which do nothing on a file of `directory`.
fn plan(directory: &std::path::Path, engines: &[EngineKind]) -> Arc<Plan> {
    let path = directory.join("file");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let job = |(index, engine): (usize, &EngineKind)| Job {
        engine: *engine,
        threads: 2,
        limits: Limits { ios: Some(1000), ..Limits::default() },
        ..Job::new(&format!("j{index}"), &["t"], AccessPattern::new(Mix::READ, 4096, Placement::random_map()))
    };
    let workload = Workload {
        name: "w".into(),
        seed: Some(5),
        hosts: Vec::new(),
        targets: vec![Target { name: "t".into(), path: path.clone(), kind: None, size: None }],
        phases: vec![Phase::measure("p", engines.iter().enumerate().map(job).collect())],
    };
    let facts = TargetFacts {
        path,
        kind: TargetKind::File,
        existing_bytes: 1 << 20,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let inventory = Inventory {
        targets: [("t".to_owned(), facts)].into(),
        engines: vec![EngineKind::Null, EngineKind::Fio],
        ..Inventory::default()
    };
    Arc::new(resolve::plan(&workload, &inventory, 0).unwrap())
}

fn options<'k>(kinds: &'k [&'k dyn JobKind<ThisMachine>]) -> PhaseOptions<'k> {
    PhaseOptions {
        interval: Duration::from_millis(50),
        stop: Arc::new(AtomicBool::new(false)),
        kinds,
        start: None,
        given_up: &|_| {},
    }
}

/// A kind whose threads cannot be set up.
#[derive(Debug)]
struct Failing;

impl JobKind<ThisMachine> for Failing {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.engine == PlannedEngine::Foreign
    }

    fn prepare<'p>(
        &'p self,
        _: PhaseContext<'p>,
        _: &[usize],
        _: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        Ok(Box::new(Failing))
    }
}

impl PreparedJobs<ThisMachine> for Failing {
    fn intervals(&self, _: ThreadIndex) -> Arc<dyn Intervals> {
        Shared::new()
    }

    fn thread(&self, _: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        Err(EngineError::Memory(7))
    }
}

#[test]
fn the_error_is_that_of_the_thread_that_failed() {
    let directory = tempfile::tempdir().unwrap();
    for engines in [[EngineKind::Null, EngineKind::Fio], [EngineKind::Fio, EngineKind::Null]] {
        let plan = plan(directory.path(), &engines);
        let kinds: [&dyn JobKind<ThisMachine>; 2] = [&Blocks::default(), &Failing];
        let error = run_phase(&plan, 0, &options(&kinds), &mut |_| {}, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "no memory for 7 bytes of buffers");
    }
}

#[test]
fn a_job_of_no_kind_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), &[EngineKind::Null, EngineKind::Fio]);
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&Blocks::default()];
    let error = run_phase(&plan, 0, &options(&kinds), &mut |_| {}, &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "the local driver cannot run jobs of engine fio");
}

fn all_but_the_fourth<'s>(seat: ThreadStart<'s>, scope: &'s Scope<'s, '_>) -> std::io::Result<Handle<'s>> {
    match seat.number {
        3 => Err(std::io::Error::from_raw_os_error(libc::EAGAIN)),
        _ => seat.spawn(scope),
    }
}

#[test]
fn a_thread_that_cannot_be_made_ends_those_that_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), &[EngineKind::Null, EngineKind::Null]);
    let (stop, stops) = (AtomicBool::new(false), [(), ()].map(|()| Arc::new(AtomicBool::new(false))));
    let context = PhaseContext { plan: &plan, phase: 0, interval_ns: 50_000_000, stop: &stop, stops: &stops };
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&Blocks::default()];
    let prepared = PreparedPhase::new(&kinds, vec![0, 0], context, &mut |_, _| {}).unwrap().unwrap();
    let gate = Gate::default();
    std::thread::scope(|scope| {
        let limited = |seat| all_but_the_fourth(seat, scope);
        let error = spawn_all(&plan.phases[0], &prepared, &gate, &limited).unwrap_err();
        assert!(
            error.to_string().starts_with(
                "driver: a job thread (limited by ulimit -u and -v): Resource temporarily unavailable"
            ),
            "{error}"
        );
    });
}

#[test]
fn a_thread_that_panics_before_the_start_holds_nobody_up() {
    let gate = Arc::new(Gate::default());
    let waiting = {
        let gate = Arc::clone(&gate);
        std::thread::spawn(move || GatePass::new(&gate, 0).pass())
    };
    let failing = {
        let gate = Arc::clone(&gate);
        std::thread::spawn(move || {
            let _pass = GatePass::new(&gate, 1);
            std::panic::resume_unwind(Box::new("planted"));
        })
    };
    assert!(!gate.wait_ready(2, &mut || {}));
    assert_eq!(waiting.join().unwrap(), None);
    assert!(failing.join().is_err());
    assert_eq!(gate.called_off_by(), Some(1));
}

/// The jobs that end, and the operations that are counted.
fn ended(plan: &Plan) -> (PhaseEnd, Vec<u32>, u64) {
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&Blocks::default()];
    let (mut jobs, mut ios) = (Vec::new(), 0);
    let mut sink = |event| match event {
        HostEvent::JobFinished { job, .. } => jobs.push(job),
        HostEvent::Interval(interval) => ios += interval.counts.data_ios(),
        _ => {}
    };
    let end = run_phase(plan, 0, &options(&kinds), &mut sink, &mut |_| {}).unwrap();
    (end, jobs, ios)
}

#[test]
fn what_other_hosts_do_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = Plan::clone(&plan(directory.path(), &[EngineKind::Null, EngineKind::Null]));
    plan.phases[0].jobs[0].slices.clear();
    assert_eq!(ended(&plan), (PhaseEnd::default(), vec![1], 2000));
    // Without a limit of its own it would wait for the other host's job for ever.
    let job = &mut plan.phases[0].jobs[1];
    job.end.ends_with = Some(EndsWith::Others);
    job.slices.iter_mut().for_each(|slice| slice.ios = None);
    let (end, jobs, _) = ended(&plan);
    assert_eq!((end, jobs), (PhaseEnd::default(), vec![1]));
    plan.phases[0].jobs[1].slices.clear();
    assert_eq!(ended(&plan), (PhaseEnd::default(), vec![], 0), "a phase that is all of other hosts");
}

#[test]
fn a_paced_job_that_is_stopped_has_no_idle_tail() {
    let directory = tempfile::tempdir().unwrap();
    let mut plan = Plan::clone(&plan(directory.path(), &[EngineKind::Null]));
    let job = &mut plan.phases[0].jobs[0];
    job.end.time = Some(Nanos(1_500_000_000));
    job.slices.iter_mut().for_each(|slice| slice.rate = Some(SliceRate::Iops(100.0)));
    let mut last = ThreadEnd::default();
    last.end.last_completion_ns = 730_000_000;
    let measured_ns = |stopped_ns| {
        let cpu = outcome::process_cpu();
        outcome::of_job(job, std::slice::from_ref(&last), 0, 0, stopped_ns, cpu, 1).0.measured_ns
    };
    assert_eq!(measured_ns(740_000_000), 730_000_000);
    assert_eq!(measured_ns(u64::MAX), 1_500_000_000);
}
