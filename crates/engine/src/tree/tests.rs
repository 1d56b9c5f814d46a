use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_results::{HostEvent, JobCounts};
use assay_workload::job::{Caching, EngineKind, Job, Limits, Phase, PhaseKind, Rate, Workload};
use assay_workload::operation::Counted;
use assay_workload::pattern::{Mix, Placement, Sequential};
use assay_workload::plan::Plan;
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};
use assay_workload::tree::FileSelection;
use assay_workload::units::Nanos;

use super::*;
use crate::driver::{PhaseOptions, run_phase};
use assay_workload::pattern::AccessPattern;

const PREPARE: &[&str] = &["delete", "mkdir", "create", "write"];

fn shape() -> TreeWorkload {
    TreeWorkload { width: 2, depth: 2, files: 5, sizes: vec![(16_384, 1.0)], ..TreeWorkload::default() }
}

fn job(tree: TreeWorkload, operations: &[&str]) -> Job {
    let walk = Placement::Sequential(Sequential::default());
    let operations = operations.iter().map(|name| ((*name).to_owned(), 1.0)).collect();
    Job::new("j", &["t"], AccessPattern::new(Mix::READ, 4096, walk)).with(|job| {
        job.tree = Some(TreeWorkload { operations, ..tree });
        job.threads = 3;
        job.caching = Caching::Buffered;
    })
}

/// Plans for targets `t` and `u`, directories below `root`.
fn plan(root: &Path, kind: PhaseKind, jobs: Vec<Job>) -> Arc<Plan> {
    let target = |name: &str| Target { name: name.into(), path: name.into(), kind: None, size: None };
    let facts = |name: &str| TargetFacts {
        path: root.join(name).to_str().unwrap().to_owned(),
        kind: TargetKind::Directory,
        existing_bytes: 0,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let workload = Workload {
        name: "w".into(),
        seed: Some(5),
        hosts: Vec::new(),
        targets: vec![target("t"), target("u")],
        phases: vec![Phase { kind, ..Phase::measure("p", jobs) }],
    };
    let inventory = Inventory {
        targets: ["t", "u"].map(|name| (name.to_owned(), facts(name))).into(),
        engines: vec![EngineKind::Psync],
        ..Inventory::default()
    };
    Arc::new(resolve::plan(&workload, &inventory, 0).unwrap())
}

/// Counts of each job, and the notes.
fn run(plan: &Arc<Plan>) -> (Vec<JobCounts>, Vec<String>) {
    run_with(plan, &[])
}

fn run_with(plan: &Arc<Plan>, named: &[PathBuf]) -> (Vec<JobCounts>, Vec<String>) {
    let options = PhaseOptions {
        interval: Duration::from_millis(50),
        stop: Arc::new(AtomicBool::new(false)),
        kinds: &[&Trees { named: NamedDirectories::at(named), ..Trees::default() }],
        start: None,
        given_up: &|_| {},
    };
    let mut counts = vec![JobCounts::default(); plan.phases[0].jobs.len()];
    let mut notes = Vec::new();
    let mut sink = |event: HostEvent| match event {
        HostEvent::Interval(interval) => counts[interval.key.job as usize].merge(&interval.counts),
        HostEvent::Note { text, .. } => notes.push(text),
        _ => {}
    };
    let end = run_phase(plan, 0, &options, &mut sink, &mut |_| ()).unwrap();
    assert_eq!(end.error, None);
    (counts, notes)
}

fn one(root: &Path, kind: PhaseKind, job: Job) -> JobCounts {
    run(&plan(root, kind, vec![job])).0.remove(0)
}

/// Operations that were done, by name; those that came along have a `+` in front.
fn names(counts: &JobCounts) -> BTreeMap<String, u64> {
    let named = counts.named.iter().map(|named| {
        let along = if named.counted == Counted::InTotal { "" } else { "+" };
        let name = TreeOperation::ALL[usize::from(named.operation.number())].name();
        (format!("{along}{name}"), named.counts.ios)
    });
    let data = [("read", counts.op(OpKind::Read).ios), ("write", counts.op(OpKind::Write).ios)];
    named.chain(data.map(|(name, ios)| (name.to_owned(), ios))).filter(|entry| entry.1 > 0).collect()
}

fn of(list: &[(&str, u64)]) -> BTreeMap<String, u64> {
    list.iter().map(|(name, ios)| ((*name).to_owned(), *ios)).collect()
}

fn files_below(path: &Path) -> Vec<(String, u64)> {
    let mut list = Vec::new();
    for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_str().unwrap().to_owned();
        if entry.file_type().unwrap().is_dir() {
            let below = files_below(&entry.path()).into_iter();
            list.extend(below.map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
            list.push((format!("{name}/"), 0));
        } else if name.starts_with("vdb") {
            list.push((name, entry.metadata().unwrap().len()));
        }
    }
    list.sort();
    list
}

#[test]
fn a_tree_is_prepared_made_anew_and_removed() {
    let root = tempfile::tempdir().unwrap();
    let made = one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let fresh = [("mkdir", 6), ("create", 20), ("+open", 20), ("+close", 40), ("write", 80)];
    assert_eq!(names(&made), of(&fresh));
    assert_eq!(made.op(OpKind::Write).bytes, 20 * 16_384);
    let files = files_below(&root.path().join("t"));
    assert_eq!(files.len(), 26);
    assert!(files.contains(&("vdb.1_2.dir/vdb.2_2.dir/vdb_f0019.file".to_owned(), 16_384)), "{files:?}");
    assert_eq!(files.iter().map(|file| file.1).sum::<u64>(), 20 * 16_384);

    let again = one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let all = [&fresh[..], &[("delete", 20), ("rmdir", 6)]].concat();
    assert_eq!(names(&again), of(&all));
    let kept = one(root.path(), PhaseKind::Precondition, job(shape(), &PREPARE[1..]));
    assert_eq!(names(&kept), of(&[]), "everything is there and full");

    let removed = one(root.path(), PhaseKind::Cleanup, job(shape(), &["delete", "rmdir"]));
    assert_eq!(names(&removed), of(&[("delete", 20), ("rmdir", 6)]));
    assert_eq!(files_below(&root.path().join("t")), []);
    assert!(assay_host::workdir::is_assay_dir(&root.path().join("t")));
}

#[test]
fn what_was_cut_short_is_completed() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let holder = root.path().join("t/vdb.1_1.dir/vdb.2_1.dir");
    std::fs::remove_file(holder.join("vdb_f0000.file")).unwrap();
    std::fs::write(holder.join("vdb_f0001.file"), vec![7; 4096]).unwrap();
    std::fs::write(holder.join("vdb_f0002.file"), "").unwrap();
    let complete = plan(root.path(), PhaseKind::Precondition, vec![job(shape(), &PREPARE[1..])]);
    // Somebody changed them, which needs consent.
    let completed = run_with(&complete, &[root.path().join("t")]).0.remove(0);
    // One is made, and three are written: a whole one, three quarters and a whole one.
    let expected = [("create", 1), ("+open", 3), ("+close", 4), ("write", 4 + 3 + 4)];
    assert_eq!(names(&completed), of(&expected));
    assert!(
        files_below(&root.path().join("t"))
            .iter()
            .all(|(name, bytes)| name.ends_with('/') || *bytes == 16_384)
    );
}

/// Somebody put a file, a directory and bytes where the tree has names; Assay's own files are used again.
#[test]
fn what_only_has_a_name_of_the_tree_is_not_destroyed() {
    for victim in ["vdb.1_1.dir/vdb.2_1.dir/vdb_f0001.file", "vdb.1_2.dir/vdb.2_2.dir"] {
        for moved in [false, true] {
            let root = tempfile::tempdir().unwrap();
            one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
            one(root.path(), PhaseKind::Measure, job(shape(), &["write", "setattr"]));
            let path = root.path().join("t").join(victim);
            let file = if path.is_dir() { path.join("vdb_f0019.file") } else { path.clone() };
            if moved {
                let other = root.path().join("other");
                std::fs::rename(&path, &other).unwrap();
                if other.is_dir() {
                    std::fs::create_dir(&path).unwrap()
                }
            }
            std::fs::write(&file, "precious").unwrap();
            for kind in [PhaseKind::Precondition, PhaseKind::Cleanup] {
                let said = refused(&plan(root.path(), kind, vec![job(shape(), PREPARE)]));
                assert!(said.contains("Assay did not make it") && said.contains("--destroy-data"), "{said}");
            }
            let report = assay_host::cleanup::remove(&root.path().join("t")).unwrap();
            assert!(!report.removed);
            assert_eq!(std::fs::read(&file).unwrap(), b"precious", "{victim}, anew: {moved}");
        }
    }
}

#[test]
fn another_shape_goes_and_strangers_stay() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(TreeWorkload { width: 3, ..shape() }, PREPARE));
    let stranger = root.path().join("t/vdb.1_1.dir/mine.txt");
    std::fs::write(&stranger, "mine").unwrap();
    let (counts, notes) = run(&plan(root.path(), PhaseKind::Precondition, vec![job(shape(), PREPARE)]));
    assert!(notes.iter().any(|note| note.contains("another shape were removed")), "{notes:?}");
    assert!(notes.iter().any(|note| note.contains("1 files or directories that are not")), "{notes:?}");
    // The directory of the stranger stays, and is not made again.
    assert_eq!((names(&counts[0])["mkdir"], names(&counts[0])["create"]), (5, 20));
    assert_eq!(std::fs::read(&stranger).unwrap(), b"mine");
    assert_eq!(files_below(&root.path().join("t")).len(), 26);
}

#[test]
fn one_pass_does_each_operation_to_each_file_once() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let once = |operations: &[&str]| names(&one(root.path(), PhaseKind::Measure, job(shape(), operations)));
    let attributes = once(&["getattr", "setattr", "access"]);
    assert_eq!(attributes, of(&[("getattr", 20), ("setattr", 20), ("access", 20)]));
    assert_eq!(once(&["open"]), of(&[("open", 20), ("+close", 20)]));
    assert_eq!(once(&["close"]), of(&[("+open", 20), ("close", 20)]));
    assert_eq!(once(&["read"]), of(&[("read", 80), ("+open", 20), ("+close", 20)]));
    assert_eq!(once(&["write"]), of(&[("write", 80), ("+open", 20), ("+close", 20)]));
    let anew = TreeWorkload { delete_before_write: true, ..shape() };
    let anew = names(&one(root.path(), PhaseKind::Measure, job(anew, &["write"])));
    assert_eq!(anew, of(&[("write", 80), ("+delete", 20), ("+create", 20), ("+close", 20)]));
    assert_eq!(once(&["delete"]), of(&[("delete", 20)]));
    // From the bottom, so that all of them can go; by one thread, so that none comes before those in it are gone.
    let alone = |operation| {
        names(&one(root.path(), PhaseKind::Measure, Job { threads: 1, ..job(shape(), &[operation]) }))
    };
    assert_eq!(alone("rmdir"), of(&[("rmdir", 6)]));
    assert_eq!(alone("mkdir"), of(&[("mkdir", 6)]));
    assert_eq!(once(&["create"]), of(&[("create", 20), ("+close", 20)]));
}

#[test]
fn files_are_used_as_far_as_asked() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let reads =
        |tree: TreeWorkload| names(&one(root.path(), PhaseKind::Measure, job(tree, &["read"])))["read"];
    assert_eq!(reads(TreeWorkload { stop_after_ios: Some(3), ..shape() }), 60);
    assert_eq!(reads(TreeWorkload { stop_after_percent: Some(50.0), ..shape() }), 40);
    assert_eq!(reads(TreeWorkload { random_io: true, ..shape() }), 80);
    assert_eq!(reads(TreeWorkload { random_io: true, stop_after_ios: Some(100), ..shape() }), 2000);
    assert_eq!(reads(TreeWorkload { working_set_bytes: Some(2 * 16_384), ..shape() }), 8);
    let random_start = reads(TreeWorkload { random_start: true, ..shape() });
    assert!((20..=80).contains(&random_start), "{random_start}");
}

#[test]
fn copies_and_moves_arrive() {
    let root = tempfile::tempdir().unwrap();
    let to = |operation: &str| job(TreeWorkload { copy_to: Some("u".into()), ..shape() }, &[operation]);
    let other = Job { targets: vec!["u".into()], ..job(shape(), &["mkdir"]) };
    let (counts, _) = run(&plan(root.path(), PhaseKind::Precondition, vec![job(shape(), PREPARE), other]));
    assert_eq!(names(&counts[1]), of(&[("mkdir", 6)]));
    let copied = one(root.path(), PhaseKind::Measure, to("copy"));
    assert_eq!((names(&copied), copied.data().bytes), (of(&[("copy", 20)]), 20 * 16_384));
    let (t, u) = (root.path().join("t"), root.path().join("u"));
    assert_eq!(files_below(&t), files_below(&u));
    let place = "vdb.1_1.dir/vdb.2_1.dir/vdb_f0000.file";
    assert_eq!(std::fs::read(t.join(place)).unwrap(), std::fs::read(u.join(place)).unwrap());
    assert_eq!(names(&one(root.path(), PhaseKind::Measure, to("move"))), of(&[("move", 20)]));
    assert_eq!((files_below(&t).len(), files_below(&u).len()), (6, 26));
    // Within one tree: onto other files, which are replaced.
    let within = Job { targets: vec!["u".into()], ..job(shape(), &["copy"]) };
    assert_eq!(names(&one(root.path(), PhaseKind::Measure, within)), of(&[("copy", 20)]));
    assert_eq!(files_below(&u).len(), 26);
    let within = Job { targets: vec!["u".into()], limits: ios(1), threads: 1, ..job(shape(), &["move"]) };
    assert_eq!(names(&one(root.path(), PhaseKind::Measure, within)), of(&[("move", 1)]));
    assert_eq!(files_below(&u).len(), 25);
}

fn ios(ios: u64) -> Limits {
    Limits { ios: Some(ios), ..Limits::default() }
}

#[test]
fn a_mix_keeps_a_tree_in_order() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let operations = ["create", "delete", "write", "read", "mkdir", "rmdir", "getattr", "move"];
    let tree = TreeWorkload { file_selection: FileSelection::Random, ..shape() };
    let mixed = Job { limits: ios(2000), threads: 4, ..job(tree, &operations) };
    let (counts, notes) = run(&plan(root.path(), PhaseKind::Measure, vec![mixed]));
    assert_eq!((counts[0].data_ios(), counts[0].errors), (8000, 0), "{notes:?}");
    let done = names(&counts[0]);
    assert!(operations.iter().all(|name| done.get(*name).is_some_and(|ios| *ios > 0)), "{done:?}");
    // What is there now is what the counts say.
    let files = files_below(&root.path().join("t"));
    let number = |ends: &str| files.iter().filter(|file| file.0.ends_with(ends)).count() as u64;
    let at = |name: &str| done.get(name).copied().unwrap_or(0);
    assert_eq!(number("/"), 6 + at("mkdir") - at("rmdir"));
    // A move may replace a file.
    let without_moves = 20 + at("create") - at("delete");
    assert!(
        (without_moves.saturating_sub(at("move"))..=without_moves).contains(&number(".file")),
        "{done:?}"
    );
}

#[test]
fn jobs_side_by_side_share_the_files() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let half_second = Limits { time: Some(Nanos(500_000_000)), ..Limits::default() };
    let jobs = [&["create"][..], &["delete"], &["read"], &["write"]]
        .map(|operations| Job { limits: half_second, ..job(shape(), operations) });
    let (counts, notes) = run(&plan(root.path(), PhaseKind::Measure, jobs.to_vec()));
    assert!(counts.iter().all(|counts| counts.errors == 0), "{notes:?}");
    let (created, deleted) = (names(&counts[0])["create"], names(&counts[1])["delete"]);
    assert!(created > 20 && deleted > 20, "{created} {deleted}");
    let left = files_below(&root.path().join("t")).iter().filter(|file| file.0.ends_with(".file")).count();
    assert_eq!(left as u64, 20 + created - deleted);
}

#[test]
fn a_rate_is_kept_and_response_times_are_recorded() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let second = Limits { time: Some(Nanos(1_000_000_000)), ..Limits::default() };
    let paced = Job { rate: Rate::Iops(300.0), limits: second, ..job(shape(), &["getattr", "read"]) };
    let counts = one(root.path(), PhaseKind::Measure, paced);
    assert!((290..=301).contains(&counts.data_ios()), "{}", counts.data_ios());
    assert_eq!(counts.data().response.n(), counts.data_ios());
    assert_eq!(counts.lateness.n(), counts.data_ios());
}

#[test]
fn what_cannot_be_done_ends_and_is_said() {
    let root = tempfile::tempdir().unwrap();
    let minute = Limits { time: Some(Nanos::from_secs(60)), ..Limits::default() };
    for (operation, words) in [("read", "prepare the tree first"), ("rmdir", "no directory is left")] {
        let job = Job { limits: minute, ..job(shape(), &[operation]) };
        let (counts, notes) = run(&plan(root.path(), PhaseKind::Measure, vec![job]));
        assert_eq!(counts[0].data_ios(), 0);
        assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
    }
    let job = Job { limits: minute, ..job(shape(), &["mkdir"]) };
    let (counts, notes) = run(&plan(root.path(), PhaseKind::Measure, vec![job]));
    assert_eq!(
        (counts[0].data_ios(), notes.as_slice()),
        (6, &["mkdir ended: every directory exists".to_owned()][..])
    );
}

fn refused(plan: &Arc<Plan>) -> String {
    let options = PhaseOptions {
        interval: Duration::from_millis(50),
        stop: Arc::new(AtomicBool::new(false)),
        kinds: &[&Trees::default()],
        start: None,
        given_up: &|_| {},
    };
    run_phase(plan, 0, &options, &mut |_| (), &mut |_| ()).unwrap_err().to_string()
}

#[test]
fn trees_in_each_others_way_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let wider = TreeWorkload { width: 3, ..shape() };
    let two = plan(root.path(), PhaseKind::Measure, vec![job(shape(), &["read"]), job(wider, &["read"])]);
    assert!(refused(&two).contains("two shapes"));
    let mut nested = Plan::clone(&plan(
        root.path(),
        PhaseKind::Measure,
        vec![job(shape(), &["read"]), Job { targets: vec!["u".into()], ..job(shape(), &["read"]) }],
    ));
    nested.targets[1].path = format!("{}/in", nested.targets[0].path);
    assert!(refused(&Arc::new(nested)).contains("is in, the other"));
}

#[test]
fn a_directory_of_somebody_else_is_refused() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("t")).unwrap();
    let asked = plan(root.path(), PhaseKind::Precondition, vec![job(shape(), PREPARE)]);
    assert!(refused(&asked).contains("--destroy-data"));
    assert_eq!(std::fs::read_dir(root.path().join("t")).unwrap().count(), 0);
}

#[test]
fn a_full_file_system_or_a_missing_directory_ends_the_job() {
    let root = tempfile::tempdir().unwrap();
    one(root.path(), PhaseKind::Precondition, job(shape(), PREPARE));
    let asked = plan(
        root.path(),
        PhaseKind::Measure,
        vec![job(shape(), &["getattr"]).with(|job| {
            job.limits = Limits { time: Some(Nanos::from_secs(30)), ..Limits::default() };
            job.threads = 1;
            job.errors_tolerated = 3;
            job.rate = Rate::Iops(100.0);
        })],
    );
    let gone = root.path().join("t/vdb.1_1.dir");
    let remover = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        std::fs::remove_dir_all(gone)
    });
    let options = PhaseOptions {
        interval: Duration::from_millis(50),
        stop: Arc::new(AtomicBool::new(false)),
        kinds: &[&Trees::default()],
        start: None,
        given_up: &|_| {},
    };
    let mut errors = 0;
    let mut sink = |event: HostEvent| {
        if let HostEvent::Interval(interval) = event {
            errors += interval.counts.errors;
        }
    };
    let end = run_phase(&asked, 0, &options, &mut sink, &mut |_| ()).unwrap();
    remover.join().unwrap().unwrap();
    assert!(end.error.as_ref().is_some_and(|error| error.contains("No such file")), "{:?}", end.error);
    assert_eq!(errors, 4);
}
