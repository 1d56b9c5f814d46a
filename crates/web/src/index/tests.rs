use assay_results::{checks, samples};

use super::*;

fn store_run(root: &Path, number: usize, name: &str, host: &str, factor: f64) -> RunDir {
    let mut run = samples::assay_run();
    run.id = format!("{number:08x}");
    run.name = name.to_owned();
    run.plan.name = name.to_owned();
    run.started = format!("2026-01-{:02}T{:02}:00:00Z", number / 24 + 1, number % 24);
    run.environment.machine.hostname = Some(host.to_owned());
    for job in run.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        job.total.iops *= factor;
    }
    checks::judge(&mut run);
    let dir = RunDir::create(root, &run.started, &run.name, &run.id).unwrap();
    dir.write_run(&run).unwrap();
    dir
}

fn updated(root: &Path, file: Option<&Path>) -> Index {
    let mut index = Index::open(root, file).unwrap();
    index.update().unwrap();
    index
}

#[test]
fn runs_are_found_by_words_tags_and_plans() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..5 {
        let name = if number < 3 { "nightly" } else { "100%_done" };
        store_run(root.path(), number, name, if number % 2 == 0 { "db1" } else { "db2" }, 1.0);
    }
    let tagged = store::find(root.path(), "00000001").unwrap();
    store::save_tags(&tagged, &["before upgrade".to_owned()]).unwrap();
    let index = updated(root.path(), None);
    let ids = |sought: &Sought| {
        let (n, runs) = index.find(sought, 0, 50).unwrap();
        assert_eq!(n, runs.len());
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    let words = |words: &str| Sought { words: words.to_owned(), ..Sought::default() };
    assert_eq!(ids(&Sought::default()).len(), 5);
    assert_eq!(ids(&Sought::default())[0], "00000004", "the newest first");
    assert_eq!(ids(&words("DB1 nightly")), ["00000002", "00000000"]);
    assert_eq!(ids(&words("upgrade")), ["00000001"]);
    // What SQL takes for any character is one.
    assert_eq!(ids(&words("%_d")).len(), 2);
    assert_eq!(ids(&words("n%y")).len(), 0);
    assert_eq!(ids(&words("'; DROP TABLE runs; --")).len(), 0);
    assert_eq!(ids(&Sought { tag: Some("before upgrade".to_owned()), ..Sought::default() }), ["00000001"]);
    assert_eq!(ids(&Sought { plan: Some("nightly".to_owned()), ..Sought::default() }).len(), 3);
    assert_eq!(index.find(&Sought::default(), 4, 2).unwrap().1.len(), 1, "pages");
    assert_eq!(index.tags().unwrap(), [("before upgrade".to_owned(), 1)]);
    assert_eq!(index.plans().unwrap()[0], ("nightly".to_owned(), 3));
}

#[test]
fn only_what_has_changed_is_read_again() {
    let root = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let file = cache.path().join("sub/index.sqlite");
    let first = store_run(root.path(), 1, "a", "h", 1.0);
    store_run(root.path(), 2, "a", "h", 1.0);
    let mut index = updated(root.path(), Some(&file));
    // New, changed, and gone.
    store_run(root.path(), 3, "a", "h", 1.0);
    store::save_tags(&first, &["x".to_owned()]).unwrap();
    std::fs::remove_dir_all(store::find(root.path(), "00000002").unwrap().path()).unwrap();
    index.update().unwrap();
    let (_, runs) = index.find(&Sought::default(), 0, 50).unwrap();
    assert_eq!(runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(), ["00000003", "00000001"]);
    assert_eq!(index.by_id("00000001").unwrap().unwrap().tags, ["x"]);
    assert_eq!(index.by_id("00000002").unwrap(), None);
    drop(index);
    // Another start finds it as it was, also before it looks at the runs.
    let index = Index::open(root.path(), Some(&file)).unwrap();
    assert_eq!(index.find(&Sought::default(), 0, 50).unwrap().0, 2);
}

#[test]
fn a_long_way_is_gone_in_steps() {
    let root = tempfile::tempdir().unwrap();
    let runs = BATCH + 5;
    let first = store_run(root.path(), 0, "a", "h", 1.0);
    for number in 1..runs {
        let copy = root.path().join(format!("20260101T000000Z-a-{number:08x}"));
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(first.path().join(RUN_FILE), copy.join(RUN_FILE)).unwrap();
    }
    let there = scan(root.path()).unwrap();
    let mut index = Index::open(root.path(), None).unwrap();
    assert!(!index.apply(&there, |_, _| false).unwrap());
    assert_eq!(index.find(&Sought::default(), 0, 1).unwrap().0, BATCH, "the first step is always done");
    assert!(index.apply(&there, |_, _| false).unwrap());
    assert_eq!(index.find(&Sought::default(), 0, 1).unwrap().0, runs);
}

#[test]
fn an_index_of_another_version_or_none_is_made_again() {
    let root = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    store_run(root.path(), 1, "a", "h", 1.0);
    let file = cache.path().join("index.sqlite");
    drop(updated(root.path(), Some(&file)));
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch("DROP TABLE figures; PRAGMA user_version = 77;").unwrap();
    drop(connection);
    assert_eq!(updated(root.path(), Some(&file)).find(&Sought::default(), 0, 9).unwrap().0, 1);
    // Damaged behind its head.
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[HEAD_BYTES..].fill(0x55);
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(updated(root.path(), Some(&file)).find(&Sought::default(), 0, 9).unwrap().0, 1);
    assert_ne!(std::fs::read(&file).unwrap(), bytes);
    // Where it cannot be kept, memory has to do.
    let nowhere = Path::new("/proc/none/index.sqlite");
    assert_eq!(updated(root.path(), Some(nowhere)).find(&Sought::default(), 0, 9).unwrap().0, 1);
}

#[test]
fn what_is_no_index_of_ours_stays_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    store_run(root.path(), 1, "a", "h", 1.0);
    let theirs = tempfile::tempdir().unwrap();
    let (text, database) = (theirs.path().join("text"), theirs.path().join("database"));
    std::fs::write(&text, "not SQLite at all, and long enough to be looked at".repeat(100)).unwrap();
    let connection = Connection::open(&database).unwrap();
    connection.execute_batch("CREATE TABLE runs (precious TEXT); INSERT INTO runs VALUES ('x');").unwrap();
    drop(connection);
    let (link, hard) = (theirs.path().join("link"), theirs.path().join("hard"));
    std::os::unix::fs::symlink(&database, &link).unwrap();
    std::fs::hard_link(&text, &hard).unwrap();
    let content = || [&text, &database].map(|path| std::fs::read(path).unwrap());
    let before = content();
    for file in [&text, &database, &link, &hard] {
        assert_eq!(updated(root.path(), Some(file)).find(&Sought::default(), 0, 9).unwrap().0, 1);
        assert_eq!(content(), before, "{}", file.display());
    }
}

#[test]
fn runs_without_a_result_and_others_things_do_no_harm() {
    let root = tempfile::tempdir().unwrap();
    store_run(root.path(), 1, "a", "h", 1.0);
    let broken = store_run(root.path(), 2, "a", "h", 1.0);
    std::fs::write(broken.path().join(RUN_FILE), "{").unwrap();
    std::fs::create_dir(root.path().join("baselines")).unwrap();
    std::fs::create_dir(root.path().join("20260101T000000Z-x-empty")).unwrap();
    std::fs::write(root.path().join("20260101T000000Z-x-file"), "").unwrap();
    let index = updated(root.path(), None);
    let (n, runs) = index.find(&Sought::default(), 0, 50).unwrap();
    assert_eq!(n, 2);
    assert!(runs.iter().any(|run| run.state.starts_with("cannot be read")), "{runs:?}");
}

#[test]
fn a_trend_marks_where_the_runs_changed() {
    let root = tempfile::tempdir().unwrap();
    let mut rng = assay_workload::rng::Rng::new(3);
    for number in 0..40 {
        let level = if number + 1 >= 25 { 0.9 } else { 1.0 };
        store_run(root.path(), number, "nightly", "db1", level * (1.0 + 0.01 * rng.normal()));
    }
    store_run(root.path(), 50, "nightly", "db2", 3.0);
    let index = updated(root.path(), None);
    let settings = index.settings_of("nightly").unwrap();
    assert_eq!(
        settings.iter().map(|one| (one.host.as_str(), one.runs)).collect::<Vec<_>>(),
        [("db1", 40), ("db2", 1)]
    );
    let trends = crate::trend::trends(&index, "nightly", &settings[0]).unwrap();
    assert!(!trends.is_empty());
    for trend in trends.iter().filter(|trend| trend.points.len() == 40) {
        assert_eq!(
            trend.changes.iter().map(|change| change.at + 1).collect::<Vec<_>>(),
            [25],
            "{}",
            trend.test
        );
    }
    assert!(trends.iter().any(|trend| trend.points.len() == 40), "{trends:?}");
}
