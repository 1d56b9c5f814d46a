//! Plans carried out through this crate alone, without a command line.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_engine::kind::{Intervals, Pending, Say, ThreadEnd};
use assay_engine::recorder::Shared;
use assay_engine::{EngineError, JobKind, JobRunner, PhaseContext, PreparedJobs, ThisMachine, ThreadIndex};
use assay_results::{RunEnd, RunEvent};
use assay_runner::{Kinds, Observer, Request, RunError, Watch, Work, carry_out, plan, simulate};
use assay_sim::Model;
use assay_workload::Workload;
use assay_workload::application::Application;
use assay_workload::host::Host;
use assay_workload::job::{Job, Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::{Carrier, PlannedEngine, PlannedJob};
use assay_workload::units::Nanos;

mod support;
#[path = "../../sim/tests/support/ticking.rs"]
mod ticking;

use support::{site, writes};
use ticking::Ticking;

fn request(workload: Workload, directory: &Path) -> Request {
    support::request(workload, Watch::Nothing, directory)
}

#[test]
fn a_plan_is_carried_out_and_kept_without_a_command_line() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let mut events = Vec::new();
    struct Names<'a>(&'a mut Vec<RunEvent>);
    impl Observer for Names<'_> {
        fn event(&mut self, event: &RunEvent) {
            self.0.push(event.clone());
        }
    }
    let request = request(writes(Limits { passes: Some(1), ..Limits::default() }), place.path());
    let done = carry_out(request, &site(store.path()), &mut Names(&mut events)).expect("carried out");
    let finished = done.expect("begun").finished;
    assert_eq!((finished.end, finished.store_error), (RunEnd::Completed, None));
    assert_eq!(finished.run.phases[0].jobs[0].total.ios, 256);
    assert!(finished.directory.starts_with(store.path()) && finished.directory.join("run.json").exists());
    assert!(matches!(events.first(), Some(RunEvent::RunStarted { .. })));
    assert!(matches!(events.last(), Some(RunEvent::RunFinished { .. })));
}

#[test]
fn of_two_requests_in_one_process_one_can_be_stopped() {
    let place = [tempfile::tempdir().expect("one"), tempfile::tempdir().expect("two")];
    let store = tempfile::tempdir().expect("a store");
    let sites = [site(store.path()), site(store.path())];
    /// Stops a run as soon as it has begun to measure.
    struct Stopping(Arc<AtomicBool>);
    impl Observer for Stopping {
        fn event(&mut self, event: &RunEvent) {
            if matches!(event, RunEvent::PhaseStarted { .. }) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
    let forever = Limits { time: Some(Nanos::from_secs(120)), ..Limits::default() };
    let bounded = Limits { passes: Some(20), ..Limits::default() };
    let ends = std::thread::scope(|scope| {
        let stopped = scope.spawn(|| {
            let mut observer = Stopping(Arc::clone(&sites[0].stop));
            carry_out(request(writes(forever), place[0].path()), &sites[0], &mut observer)
        });
        let other = scope.spawn(|| carry_out(request(writes(bounded), place[1].path()), &sites[1], &mut ()));
        [stopped, other].map(|run| run.join().expect("no panic").expect("carried out").expect("begun"))
    });
    assert_eq!(ends.each_ref().map(|done| done.finished.end), [RunEnd::Interrupted, RunEnd::Completed]);
    assert_eq!(ends[1].finished.run.phases[0].jobs[0].total.ios, 20 * 256);
}

#[test]
fn an_observer_can_refuse_before_anything_is_written() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    struct No;
    impl Observer for No {
        fn event(&mut self, _: &RunEvent) {
            panic!("nothing happens");
        }
        fn before_writing(&mut self, plan: &assay_workload::Plan) -> bool {
            assert_eq!(plan.targets[0].size_bytes, 1 << 20);
            false
        }
    }
    let request = request(writes(Limits::default()), place.path());
    assert!(carry_out(request, &site(store.path()), &mut No).expect("no error").is_none());
    assert_eq!(std::fs::read_dir(place.path()).expect("the place").count(), 0);
    assert_eq!(std::fs::read_dir(store.path()).expect("the store").count(), 0);
}

#[test]
fn what_cannot_be_is_an_error_of_its_own_kind() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let file = place.path().join("data.bin");
    std::fs::write(&file, b"somebody's").expect("a file");
    let refused = carry_out(request(writes(Limits::default()), place.path()), &site(store.path()), &mut ());
    let error = refused.expect_err("not ours");
    assert!(matches!(error, RunError::Refused(_)) && error.is_request(), "{error}");
    assert_eq!(std::fs::read(&file).expect("still there"), b"somebody's");

    let fio = Request { carrier: Carrier::Fio, ..request(writes(Limits::default()), place.path()) };
    let planned = plan(&fio, &site(store.path())).expect("a plan");
    assert!(planned.uses(Carrier::Fio) && planned.phases[0].jobs[0].engine == PlannedEngine::Psync);
    assert!(matches!(carry_out(fio, &site(store.path()), &mut ()), Err(RunError::NoFio)));
}

#[test]
fn a_kind_of_job_that_is_passed_in_runs_for_real_and_simulated() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let ticking = Arc::new(Ticking { ticks: 12 });
    let kinds = Kinds { native: vec![ticking.clone()], simulated: vec![ticking] };
    let site = assay_runner::Site { kinds, ..site(store.path()) };
    let mut workload = writes(Limits { passes: Some(1), ..Limits::default() });
    let ticks = Job { engine: assay_workload::job::EngineKind::Psync, ..workload.phases[0].jobs[0].clone() };
    workload.phases[0].jobs.push(ticks.with(|job| job.name = "ticking".to_owned()));
    let done =
        carry_out(request(workload, place.path()), &site, &mut ()).expect("carried out").expect("begun");
    let of = |run: &assay_results::Run| -> Vec<(u64, String)> {
        run.phases[0].jobs.iter().map(|job| (job.total.ios, job.engine.as_str().to_owned())).collect()
    };
    assert_eq!(of(&done.finished.run), [(256, "psync".to_owned()), (12, "ticking".to_owned())]);
    // What it names itself: asked for, and done beside it, which counts in no total. So also for who reads the run later.
    let stored = assay_results::store::load(store.path(), &done.finished.run.id).expect("kept");
    for run in [&done.finished.run, &stored] {
        let job = &run.phases[0].jobs[1];
        let ops: Vec<_> = job.operations().map(|(name, op)| (name, op.ios, op.bytes)).collect();
        assert_eq!(ops, [("pendulum", 24, 24 * 4096), ("tick", 12, 12)]);
        assert_eq!((job.total.ios, job.total.bytes, job.read.is_none()), (12, 12, true));
        assert!(run.findings.iter().all(|finding| !finding.message.contains("cache")), "{:?}", run.findings);
    }

    let read = |name| {
        let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_independent());
        lun::job(name, pattern, 4, Limits { ios: Some(100), ..Limits::default() })
    };
    // The name of a simulated job says that it is simulated; the kind goes by how it begins.
    let planned = lun::plan(5, 1 << 30, vec![Phase::measure("m", vec![read("ticking"), read("blocks")])]);
    let model = Model::shipped("known-latency").expect("a model");
    let simulated =
        simulate(&planned.expect("a plan"), &model, Vec::new(), &site, &mut ()).expect("simulated");
    assert_eq!(of(&simulated.finished.run), [(12, "ticking".to_owned()), (100, "sim".to_owned())]);
}

/// A kind whose threads panic, or that has more operations than are counted.
#[derive(Debug)]
struct Odd {
    operations: usize,
}

impl JobKind<ThisMachine> for Odd {
    fn takes(&self, job: &PlannedJob) -> bool {
        job.name == "odd"
    }
    fn operations(&self, _: &PlannedJob) -> Vec<String> {
        (0..self.operations).map(|number| format!("op{number}")).collect()
    }
    fn prepare<'p>(
        &'p self,
        _: PhaseContext<'p>,
        _: &[usize],
        _: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        Ok(Box::new(Odd { operations: 0 }))
    }
}

impl PreparedJobs<ThisMachine> for Odd {
    fn intervals(&self, _: ThreadIndex) -> Arc<dyn Intervals> {
        Shared::new()
    }
    fn thread(&self, _: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        Ok(Box::new(Odd { operations: 0 }))
    }
}

impl JobRunner for Odd {
    fn arm(&mut self, _: u64) {}
    fn step(&mut self) -> Result<Pending, EngineError> {
        panic!("planted")
    }
    fn end(self: Box<Self>) -> ThreadEnd {
        ThreadEnd::default()
    }
}

/// The workload of these tests with another job, `odd`, beside its own.
fn with_odd(limits: Limits) -> Workload {
    let mut workload = writes(limits);
    let odd = workload.phases[0].jobs[0].clone();
    workload.phases[0].jobs.push(odd.with(|job| job.name = "odd".to_owned()));
    workload
}

fn odd_site(operations: usize, store: &Path) -> assay_runner::Site {
    let kinds = Kinds { native: vec![Arc::new(Odd { operations })], simulated: Vec::new() };
    assay_runner::Site { kinds, ..site(store) }
}

#[test]
fn a_kind_that_panics_is_a_run_that_failed() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let request = request(with_odd(Limits { passes: Some(1), ..Limits::default() }), place.path());
    let done = carry_out(request, &odd_site(2, store.path()), &mut ()).expect("carried out").expect("begun");
    let finished = done.finished;
    assert_eq!(finished.end, RunEnd::Failed);
    assert_eq!(finished.error.as_deref(), Some("job 'odd' stopped: internal error: planted"));
    assert_eq!(finished.run.phases[0].jobs[0].total.ios, 256, "the other job has its result");
}

#[test]
fn the_operations_of_a_kind_are_in_its_plan_and_no_more_than_are_counted() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let request = request(with_odd(Limits::default()), place.path());
    let planned = plan(&request, &odd_site(2, store.path())).expect("a plan");
    assert_eq!(planned.phases[0].jobs[1].operations, ["op0", "op1"]);
    let error = plan(&request, &odd_site(200, store.path())).expect_err("too many");
    assert_eq!(error.to_string(), "job 'odd' has 200 operations of its own; 128 are possible");
}

#[test]
fn a_plan_from_elsewhere_is_looked_at_and_the_array_model_is_no_carrier() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let asked = request(writes(Limits::default()), place.path());
    let planned = plan(&asked, &site(store.path())).expect("a plan");
    let refused = |change: fn(&mut assay_workload::Plan)| {
        let mut planned = planned.clone();
        change(&mut planned);
        let request = Request { work: Work::Planned(planned), ..asked.clone() };
        let error = carry_out(request, &site(store.path()), &mut ()).expect_err("refused");
        assert!(error.is_request(), "{error}");
        error.to_string()
    };
    let problem = refused(|plan| plan.phases[0].jobs[0].slices[0].sites[0].target = 3);
    let place_of = "the plan cannot be carried out: phases[0].jobs[0].slices[0]";
    assert_eq!(problem, format!("{place_of}: target 3, which its host does not have"));
    let no_io = "the plan is for the array model, which does no I/O; plans are carried out by Assay's engines or by fio";
    assert_eq!(refused(|plan| plan.phases[0].carried_by = Carrier::Simulated), no_io);
    let simulated = Request { carrier: Carrier::Simulated, ..asked.clone() };
    let error = carry_out(simulated, &site(store.path()), &mut ()).expect_err("refused");
    assert_eq!(error.to_string(), no_io);
    assert_eq!(std::fs::read_dir(place.path()).expect("the place").count(), 0);
}

#[test]
fn an_application_is_its_kind_s_and_nothing_else() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let application = |kind: &str| Application {
        kind: kind.to_owned(),
        words: "ticks of a clock".to_owned(),
        settings: serde_json::json!({ "every_ms": 10 }).as_object().expect("a table").clone(),
    };
    let workload = |kind: &str| {
        let mut workload = writes(Limits { time: Some(Nanos::from_secs(60)), ..Limits::default() });
        workload.targets.clear();
        let job = &mut workload.phases[0].jobs[0];
        (job.threads, job.application) = (1, Some(application(kind)));
        job.targets.clear();
        workload
    };
    let ticking = Arc::new(Ticking { ticks: 12 });
    let kinds = Kinds { native: vec![ticking.clone()], simulated: vec![ticking] };
    let site = assay_runner::Site { kinds, ..site(store.path()) };
    // Another kind is not replaced by writes of blocks, and nothing is begun.
    let refused = carry_out(request(workload("mail"), place.path()), &site, &mut ()).expect_err("refused");
    assert_eq!(refused.to_string(), "job 'w' is of the kind 'mail', which nothing here carries out");
    assert_eq!(std::fs::read_dir(store.path()).expect("the store").count(), 0);
    // It needs no target, and is told by its own words.
    let planned = plan(&request(workload("ticking"), place.path()), &site).expect("a plan");
    assert!(planned.describe().contains("ticks of a clock"), "{}", planned.describe());
    let done = carry_out(request(workload("ticking"), place.path()), &site, &mut ());
    let run = done.expect("carried out").expect("begun").finished.run;
    let job = &run.phases[0].jobs[0];
    assert_eq!(
        (job.total.ios, job.pattern.as_str(), job.engine.as_str()),
        (12, "ticks of a clock", "ticking")
    );
    let stored = assay_results::store::load(store.path(), &run.id).expect("kept");
    assert_eq!(stored.plan.phases[0].jobs[0].application, Some(application("ticking")));
}

#[test]
fn a_plan_for_other_hosts_is_refused_by_what_does_all_of_a_plan() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let mut workload = writes(Limits { passes: Some(1), ..Limits::default() });
    workload.hosts = vec![Host::new("h1"), Host { system: Some("10.0.0.2".to_owned()), ..Host::new("h2") }];
    let asked = request(workload.clone(), place.path());
    let planned = plan(&asked, &site(store.path())).expect("it can be planned");
    for carrier in [Carrier::Native, Carrier::Fio] {
        let mut planned = planned.clone();
        planned.phases[0].carried_by = carrier;
        let fio = assay_engine::fio_bridge::Fio { path: "/bin/true".into(), version: "3.33".to_owned() };
        let request = Request { work: Work::Planned(planned), fio: Some(fio), ..asked.clone() };
        let error = carry_out(request, &site(store.path()), &mut ()).expect_err("refused");
        assert!(matches!(&error, RunError::OtherHosts { .. }) && error.is_request(), "{error}");
        assert!(error.to_string().starts_with("the plan is for h1, h2 (10.0.0.2): --on ssh"), "{error}");
    }
    let model = Model::shipped("known-latency").expect("a model");
    let error = simulate(&planned, &model, Vec::new(), &site(store.path()), &mut ()).expect_err("refused");
    assert!(matches!(error, RunError::OtherHosts { .. }), "{error}");
    assert_eq!(std::fs::read_dir(place.path()).expect("the place").count(), 0);
    // What a worker is given has no hosts, and is carried out.
    workload.hosts.truncate(1);
    workload.hosts[0].system = Some("localhost".to_owned());
    let done = carry_out(request(workload, place.path()), &site(store.path()), &mut ()).expect("carried out");
    assert_eq!(done.expect("begun").finished.run.phases[0].jobs[0].total.ios, 256);
}
