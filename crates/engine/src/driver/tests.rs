use assay_workload::job::{Job, Limits, Phase, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};

use super::*;

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
        targets: vec![Target { name: "t".into(), path: path.clone(), kind: None, size: None }],
        phases: vec![Phase::measure("p", engines.iter().enumerate().map(job).collect())],
    };
    let facts = TargetFacts {
        path,
        kind: TargetKind::File,
        existing_bytes: 1 << 20,
        direct_align_bytes: None,
        engine_choice: None,
    };
    let inventory = Inventory {
        targets: [("t".to_owned(), facts)].into(),
        engines: vec![EngineKind::Null, EngineKind::Fio],
        engine_override: None,
    };
    Arc::new(resolve::plan(&workload, &inventory, 0).unwrap())
}

fn options() -> PhaseOptions {
    PhaseOptions {
        interval: Duration::from_millis(50),
        stop: Arc::new(AtomicBool::new(false)),
        fall_back: true,
    }
}

#[test]
fn the_error_is_that_of_the_thread_that_failed() {
    let directory = tempfile::tempdir().unwrap();
    for engines in [[EngineKind::Null, EngineKind::Fio], [EngineKind::Fio, EngineKind::Null]] {
        let plan = plan(directory.path(), &engines);
        let error = run_phase(&plan, 0, &options(), &mut |_| {}, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "the local driver cannot run jobs of engine fio");
    }
}

#[test]
fn a_thread_that_cannot_be_made_ends_those_that_wait_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), &[EngineKind::Null, EngineKind::Null]);
    let options = options();
    let endings = Endings::new(&plan.phases[0], &options.stop, options.interval);
    let trees = Trees::prepare(&plan, 0, &[], &|| true, &mut |_| {}).unwrap();
    let gate = Arc::new(Gate::default());
    let limited = |context: ThreadContext| match context.number {
        3 => Err(std::io::Error::from_raw_os_error(libc::EAGAIN)),
        _ => context.spawn(),
    };
    let error = spawn_all(&plan, 0, &options, &endings, (&trees, None), &gate, &limited).unwrap_err();
    assert!(
        error.to_string().starts_with("driver: a job thread: Resource temporarily unavailable"),
        "{error}"
    );
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
    assert!(!gate.wait_ready(2));
    assert_eq!(waiting.join().unwrap(), None);
    assert!(failing.join().is_err());
    assert_eq!(gate.called_off_by(), Some(1));
}
