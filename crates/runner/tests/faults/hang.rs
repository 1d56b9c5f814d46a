//! I/Os that do not complete: they are named while the run goes on, and the run can be stopped and keeps what it has.

use std::time::Duration;

use assay_faultfs::{Fault, Op, Rule, When, missing};
use assay_results::RunEnd;
use assay_workload::job::{Caching, EngineKind, Limits, PhaseKind};
use assay_workload::pattern::{AccessPattern, Mix, Placement, Sequential};
use assay_workload::target::{Target, TargetKind};
use assay_workload::tree::TreeWorkload;
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Job, Phase, Workload};

use crate::faults::stage::{BLOCK, BLOCKS, Came, Case, FILE, cases, rule, run_all, run_of, workload};
use crate::skip;

/// From this time on an I/O hangs, and a little later the run that was stopped for it has ended.
const HUNG_AFTER_S: u64 = 5;

#[test]
fn an_io_that_hangs_is_named_and_does_not_keep_a_stopped_run_from_ending() {
    // A second after the start: what a thread does in the reporting period in which it hangs is not known.
    let hangs = |op| rule(op, Fault::Hang).when(When::Nth(if op == Op::Flush { 50 } else { 200 }));
    let paced =
        cases(|op| vec![hangs(op)]).into_iter().map(|case| Case { iops: Some(200.0), stops: true, ..case });
    for came in run_all(paced.collect()) {
        let which = came.which();
        let [injected] = &came.injected[..] else { panic!("{which}: {:?}", came.injected) };
        // Which, where, since when.
        let hung = came.hung.first().unwrap_or_else(|| panic!("{which}: not told"));
        let (name, len) = match came.case.op {
            Op::Read => ("read", BLOCK as u32),
            Op::Write => ("write", BLOCK as u32),
            Op::Flush => ("fsync", 0),
        };
        let took = Duration::from_nanos(hung.outstanding_for.0).as_secs();
        assert!((HUNG_AFTER_S..HUNG_AFTER_S + 3).contains(&took), "{which}: {hung:?}");
        assert!(
            hung.target.ends_with(FILE) && hung.job == "j" && hung.since.0 < 3_000_000_000,
            "{which}: {hung:?}"
        );
        let said: Vec<&str> = came.finished.run.remarks.iter().map(|remark| remark.text.as_str()).collect();
        let named = |text: &&&str| text.contains(&hung.which());
        assert_eq!(said.iter().filter(named).count(), 2, "{which}: seen and given up: {said:?}");
        // A flush locks its file: writes that were handed over with it hang as long.
        if came.case.op != Op::Flush || came.case.engine == EngineKind::Psync {
            let found = (&*hung.operation, hung.len_bytes, hung.offset_bytes);
            let offset = (came.case.op != Op::Flush).then_some(injected.offset);
            assert_eq!(found, (name, len, offset), "{which}");
        }
        // The run ends, and keeps what was done beside and before it.
        assert!(came.took < Duration::from_secs(12), "{which}: {:?}", came.took);
        assert_eq!(
            (came.finished.end, came.finished.store_error.as_ref()),
            (RunEnd::Interrupted, None),
            "{which}"
        );
        assert!(came.finished.directory.join("run.json").exists(), "{which}");
        let done = came.job().total.ios;
        assert!((80..BLOCKS).contains(&done), "{which}: {done}");
    }
}

/// A run that is stopped when it is told of what hangs.
fn stopped(op: Op, rules: Vec<Rule>, of: impl FnOnce(&Case) -> Workload) -> Came {
    let case = Case {
        op,
        engine: EngineKind::Psync,
        caching: Caching::Buffered,
        cached: false,
        iops: None,
        tolerates: 0,
        stops: true,
        rules,
    };
    let workload = of(&case);
    run_of(case, workload, 0)
}

/// It was told what hangs, twice, and the run ended without it.
fn ended_without(came: &Came, job: &str, operation: &str) {
    let which = came.which();
    let hung = came.hung.first().unwrap_or_else(|| panic!("{which}: not told"));
    assert_eq!((hung.job.as_str(), &*hung.operation), (job, operation), "{which}: {hung:?}");
    let took = Duration::from_nanos(hung.outstanding_for.0).as_secs();
    assert!((HUNG_AFTER_S..HUNG_AFTER_S + 3).contains(&took), "{which}: {hung:?}");
    let said: Vec<&str> = came.finished.run.remarks.iter().map(|remark| remark.text.as_str()).collect();
    let named = said.iter().filter(|text| text.contains(&hung.which())).count();
    assert_eq!(named, 2, "{which}: seen and given up: {said:?}");
    assert!(came.took < Duration::from_secs(12), "{which}: {:?}", came.took);
    assert_eq!(came.finished.end, RunEnd::Interrupted, "{which}");
    assert!(came.finished.directory.join("run.json").exists(), "{which}");
}

#[test]
fn a_file_that_cannot_be_laid_out_is_named_and_does_not_keep_a_stopped_run_from_ending() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    let hangs = |op| vec![rule(op, Fault::Hang)];
    // What is read does not exist yet.
    let came = stopped(Op::Read, hangs(Op::Write), workload);
    ended_without(&came, "", "write");
    let hung = &came.hung[0];
    assert!(hung.target.ends_with(FILE), "{hung:?}");
    assert_eq!((hung.offset_bytes, u64::from(hung.len_bytes)), (Some(0), BLOCK * BLOCKS), "{hung:?}");
    let came = stopped(Op::Read, hangs(Op::Flush), workload);
    ended_without(&came, "", "fsync");
}

const TREE_FILE: &str = "vdb_f0001.file";

/// Operations on a tree of two directories with two files each, by two threads.
fn on_a_tree(kind: PhaseKind, operations: &[&str]) -> Phase {
    let operations = operations.iter().map(|name| ((*name).to_owned(), 1.0)).collect();
    let shape =
        TreeWorkload { width: 2, depth: 1, files: 2, sizes: vec![(65_536, 1.0)], ..Default::default() };
    let walk = Placement::Sequential(Sequential::default());
    let job = Job::new("tree", &["t"], AccessPattern::new(Mix::READ, BLOCK, walk)).with(|job| {
        job.tree = Some(TreeWorkload { operations, ..shape });
        job.threads = 2;
        job.caching = Caching::Buffered;
        job.limits =
            Limits { time: (!kind.in_steps()).then_some(Nanos(60_000_000_000)), ..Limits::default() };
    });
    Phase { kind, ..Phase::measure("p", vec![job]) }
}

fn tree(phases: Vec<Phase>) -> Workload {
    let size = None::<Bytes>;
    let target =
        Target { name: "t".to_owned(), path: "tree".to_owned(), kind: Some(TargetKind::Directory), size };
    Workload { name: "tree".to_owned(), seed: Some(7), hosts: Vec::new(), targets: vec![target], phases }
}

#[test]
fn operations_on_trees_that_hang_are_named_and_do_not_keep_a_stopped_run_from_ending() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    let prepare = || on_a_tree(PhaseKind::Precondition, &["mkdir", "create", "write"]);
    let reads = || on_a_tree(PhaseKind::Measure, &["read"]);
    let hangs = |op| vec![Rule::new(op, Fault::Hang).of_file(TREE_FILE)];
    // While the tree is made the other thread waits for the one that hangs.
    let came = stopped(Op::Write, hangs(Op::Write), |_| tree(vec![prepare(), reads()]));
    ended_without(&came, "tree", "write");
    assert!(came.hung[0].target.ends_with(&format!("/{TREE_FILE}")), "{:?}", came.hung);
    let came = stopped(Op::Read, hangs(Op::Read), |_| tree(vec![prepare(), reads()]));
    ended_without(&came, "tree", "read");
    let job = came.finished.run.phases.last().and_then(|phase| phase.jobs.first());
    assert!(job.is_some_and(|job| job.total.ios > 0), "the others were read: {}", came.which());
}
