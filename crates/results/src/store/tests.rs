use std::fs;

use super::*;
use crate::event::RunEvent;
use crate::fixture::{build, events};
use crate::run::{Run, Verdict};

const STARTED: &str = "2025-03-04T05:06:07.25Z";

fn record(root: &Path, id: &str, events: &[RunEvent]) -> RunRecorder {
    let dir = RunDir::create(root, STARTED, "my job/1", id).unwrap();
    let mut recorder = RunRecorder::new(dir).unwrap();
    events.iter().for_each(|event| recorder.record(event));
    recorder
}

fn finished(root: &Path, id: &str) -> (RunDir, Run) {
    let recorder = record(root, id, &events());
    let (dir, run) = (recorder.dir().clone(), build(&events()));
    assert_eq!(recorder.finish(&run).unwrap(), Vec::<String>::new());
    (dir, run)
}

#[test]
fn a_stored_run_is_loaded_by_path_id_or_name() {
    let root = tempfile::tempdir().unwrap();
    let (dir, run) = finished(root.path(), "k3f9");
    assert_eq!(dir.name(), "20250304T050607Z-my_job_1-k3f9");
    for wanted in ["k3f9", "k3", "20250304", "last", dir.path().to_str().unwrap()] {
        assert_eq!(load(root.path(), wanted).unwrap(), run, "{wanted}");
    }
    assert_eq!(load(Path::new("nowhere"), dir.path().join(RUN_FILE).to_str().unwrap()).unwrap(), run);
    let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(files.len(), 4, "nothing is left beside plan, journal, series and run: {files:?}");
}

#[test]
fn recovering_makes_the_same_run() {
    let root = tempfile::tempdir().unwrap();
    let (dir, run) = finished(root.path(), "a");
    assert_eq!(recover(dir.path()).unwrap(), run);
}

#[test]
fn a_killed_run_is_recovered_up_to_the_tear() {
    let root = tempfile::tempdir().unwrap();
    // No end, no summary; the last line and the last frame are half written.
    let events = &events()[..events().len() - 3];
    let dir = record(root.path(), "a", events).dir().clone();
    let tear = |file: &str, keep_out: u64| {
        let file = fs::OpenOptions::new().write(true).open(dir.path().join(file)).unwrap();
        file.set_len(file.metadata().unwrap().len() - keep_out).unwrap();
    };
    let whole = recover(dir.path()).unwrap();
    assert_eq!((whole.verdict, whole.phases[0].jobs[0].total.ios), (Verdict::Incomplete, 10_010));
    assert!(whole.notes.is_empty());
    tear(JOURNAL_FILE, 20);
    tear(SERIES_FILE, 3);
    let torn = load(root.path(), "a").unwrap();
    assert_eq!((torn.verdict, torn.phases[0].jobs[0].total.ios), (Verdict::Incomplete, 8006));
    assert_eq!(torn.phases[0].jobs[0].total.iops, 2001.5);
    assert_eq!(torn.notes.len(), 2, "{:?}", torn.notes);
}

#[test]
fn a_journal_without_its_start_cannot_be_recovered() {
    let root = tempfile::tempdir().unwrap();
    let dir = record(root.path(), "a", &events()[1..]).dir().clone();
    assert!(matches!(recover(dir.path()).unwrap_err(), StoreError::Unrecoverable { .. }));
    fs::write(dir.path().join(JOURNAL_FILE), "{\"journal\":\"assay.journal/2\"}\n").unwrap();
    assert!(matches!(recover(dir.path()).unwrap_err(), StoreError::OtherSchema { .. }));
}

#[test]
fn the_list_shows_every_state() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(list(&root.path().join("not-there")).unwrap(), []);
    finished(root.path(), "a");
    record(root.path(), "b", &events()[..4]);
    let (damaged, _) = finished(root.path(), "c");
    fs::write(damaged.path().join(RUN_FILE), "{").unwrap();
    fs::create_dir(root.path().join("something else")).unwrap();
    let entries = list(root.path()).unwrap();
    let states: Vec<_> = entries.iter().map(|entry| (entry.id.as_str(), entry.name.as_deref())).collect();
    assert_eq!(states, [("k3f9", Some("fixture")), ("b", Some("fixture")), ("c", None)]);
    assert_eq!((&entries[0].state, entries[0].verdict), (&RunState::Done, Some(Verdict::Valid)));
    assert_eq!(entries[1].state, RunState::Unfinished);
    assert!(matches!(entries[2].state, RunState::Unreadable(_)));
    assert!(matches!(load(root.path(), "c").unwrap_err(), StoreError::Damaged { .. }));
}

#[test]
fn an_ambiguous_or_missing_name_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    finished(root.path(), "ab1");
    finished(root.path(), "ab2");
    let error = load(root.path(), "ab").unwrap_err();
    assert!(matches!(&error, StoreError::Ambiguous { candidates, .. } if candidates.len() == 2), "{error}");
    for wanted in ["zz", ""] {
        assert!(matches!(load(root.path(), wanted).unwrap_err(), StoreError::NotFound { .. }), "{wanted}");
    }
}

#[test]
fn a_later_schema_is_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let (dir, run) = finished(root.path(), "a");
    let later = Run { schema: "assay.run/2".to_owned(), ..run };
    dir.write_run(&later).unwrap();
    let error = dir.read_run().unwrap_err().to_string();
    assert!(error.contains("assay.run/2") && error.contains("reads assay.run/1"), "{error}");
}

#[test]
fn only_run_directories_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let (dir, _) = finished(root.path(), "a");
    let (other, _) = finished(elsewhere.path(), "c");
    let link = root.path().join("20250304T050607Z-my_job_1-b");
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    for wanted in ["b", "20250304T050607Z-my_job_1-b", &format!("{}/", link.display())] {
        assert!(matches!(rm(root.path(), wanted, &|_, _| true), Err(StoreError::Link(_))), "{wanted}");
    }
    let precious = root.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join(RUN_FILE), "{}").unwrap();
    let text = |path: &Path| path.display().to_string();
    for wanted in
        ["precious", &text(&precious), &text(other.path()), &text(&dir.path().join(RUN_FILE)), "/", "../"]
    {
        assert!(
            matches!(rm(root.path(), wanted, &|_, _| true), Err(StoreError::NotARunOf { .. })),
            "{wanted}"
        );
    }
    assert!(dir.read_run().is_ok() && other.read_run().is_ok() && precious.join(RUN_FILE).exists());
    fs::remove_file(&link).unwrap();
    assert!(rm(root.path(), &format!("{}/.", dir.path().display()), &|_, _| true).unwrap().removed);
    assert!(!dir.path().exists() && precious.exists());
}

#[test]
fn what_is_not_of_a_run_is_kept_and_told() {
    let root = tempfile::tempdir().unwrap();
    let (dir, _) = finished(root.path(), "a");
    let outside = root.path().join("outside");
    fs::write(&outside, "precious").unwrap();
    fs::write(dir.path().join("notes.txt"), "precious").unwrap();
    fs::create_dir(dir.path().join("more")).unwrap();
    std::os::unix::fs::symlink(&outside, dir.path().join(PAGE_FILE)).unwrap();
    let removal = rm(root.path(), "a", &|_, _| true).unwrap();
    assert!(!removal.removed);
    let kept: Vec<&Path> =
        removal.kept.iter().map(|(path, _)| path.strip_prefix(dir.path()).unwrap()).collect();
    assert_eq!(kept, [Path::new("more"), Path::new("notes.txt"), Path::new(PAGE_FILE)]);
    assert!(!dir.path().join(RUN_FILE).exists() && !dir.path().join(SERIES_FILE).exists());
    assert_eq!(fs::read_to_string(outside).unwrap(), "precious");
}

#[test]
fn a_directory_is_never_used_twice() {
    let root = tempfile::tempdir().unwrap();
    let dir = RunDir::create(root.path(), STARTED, "...", "../a-b").unwrap();
    assert_eq!(dir.name(), "20250304T050607Z-run-_a_b");
    assert!(RunDir::create(root.path(), STARTED, "...", "../a-b").is_err());
    RunRecorder::new(dir.clone()).unwrap();
    assert!(RunRecorder::new(dir).is_err());
}
