//! Plans carried out through this crate alone, without a command line.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_host::HostRoot;
use assay_results::environment::AssayVersion;
use assay_results::{RunEnd, RunEvent};
use assay_runner::{Observer, Request, RunError, Site, Watch, Work, carry_out, plan};
use assay_workload::job::{EngineKind, Limits};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::{Carrier, PlannedEngine};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Job, Phase, Workload};

fn site(store: &Path) -> Site {
    Site {
        host: HostRoot::real(),
        store: Some(store.to_owned()),
        engine_choices: None,
        version: AssayVersion { version: "0".to_owned(), commit: None },
        stop: Arc::default(),
    }
}

/// Writes on a file of 1 MiB, until `limits`.
fn writes(limits: Limits) -> Workload {
    let job = Job {
        engine: EngineKind::Psync,
        limits,
        ..Job::new("w", &["data"], AccessPattern::new(Mix::WRITE, 4096, Placement::random_map()))
    };
    Workload {
        name: "alone".to_owned(),
        seed: Some(7),
        hosts: Vec::new(),
        targets: vec![Target {
            name: "data".to_owned(),
            path: "data.bin".to_owned(),
            kind: Some(TargetKind::File),
            size: Some(Bytes(1 << 20)),
        }],
        phases: vec![Phase::measure("write", vec![job])],
    }
}

fn request(workload: Workload, directory: &Path) -> Request {
    Request { watch: Watch::Nothing, ..Request::new(Work::Asked(workload), directory) }
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
    let forever = Limits { time: Some(Nanos::from_secs(600)), ..Limits::default() };
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
