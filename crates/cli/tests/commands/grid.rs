//! `assay grid`: cells of several numbers of workers, each a run that is kept.

use std::fs;

use serde_json::Value;

use crate::world::{Said, World, json, path_text};

fn words<'a>(data: &'a str, directory: &'a str) -> Vec<&'a str> {
    let fixed = [
        "grid",
        "--on",
        "local",
        "--workers",
        "1,2",
        "--targets",
        "2",
        "--size",
        "2m",
        "--directory",
        data,
        "--outstanding",
        "2,4",
        "--runtime",
        "300ms",
        "--repeat",
        "3",
        "--watch",
        "nothing",
        "--buffered",
        "--json",
    ];
    [&fixed[..], &["--output", directory]].concat()
}

#[test]
fn a_grid_is_measured_cell_by_cell_and_goes_on_where_it_was_stopped() {
    let world = World::new();
    let (data, directory) =
        (world.data().display().to_string(), world.path().join("g").display().to_string());
    let said = world.assay(&words(&data, &directory)).ended(0);
    let grid = json(&said.out);
    let cells = grid["cells"].as_array().expect("cells");
    let seen: Vec<(u64, &str)> = cells
        .iter()
        .map(|cell| (cell["workers"].as_u64().expect("a number"), cell["name"].as_str().expect("a name")))
        .collect();
    let name = |depth: u32| format!("assay-2vmdk-100ws-4k-100rdpct-100randompct-{depth}threads");
    let expected = [(1, name(2)), (1, name(4)), (2, name(2)), (2, name(4))];
    assert_eq!(seen, expected.each_ref().map(|(workers, name)| (*workers, name.as_str())));
    for cell in cells {
        let repeats = cell["repeats"].as_array().expect("repetitions");
        assert_eq!(repeats.len(), 3);
        assert!(repeats.iter().all(|repeat| repeat["iops"].as_f64() > Some(0.0)), "{cell}");
    }
    let page = fs::read_to_string(world.path().join("g/grid.html")).expect("a page");
    assert!(page.contains("IOPS over workers") && page.contains("<svg"), "a chart");

    // As after a crash in the third cell: the first two are kept, the others measured.
    let file = world.path().join("g/grid.json");
    let mut stored: Value = json(&fs::read_to_string(&file).expect("stored"));
    for cell in stored["cells"].as_array_mut().expect("cells").iter_mut().skip(2) {
        cell["verdict"] = Value::Null;
        cell["repeats"] = Value::Array(Vec::new());
    }
    let kept = stored["cells"][0]["run"].clone();
    fs::write(&file, stored.to_string()).expect("written");
    let runs = world.run_directories().len();
    // What was begun is not changed, and is not ignored.
    let said = world.assay(&["grid", "--resume", &directory, "--runtime", "9s"]).ended(2);
    assert!(said.err.contains("--runtime"), "{}", said.err);
    // As a killed worker leaves its file: with a mark that is not what was left in it.
    let changed = fs::read_dir(world.data()).expect("data").flatten().map(|entry| entry.path());
    let changed = changed.min().expect("a file");
    fs::write(&changed, vec![1; 2 << 20]).expect("written");
    let said = world.assay(&["grid", "--resume", &directory, "--destroy-data", path_text(&changed)]);
    assert!(said.code == Some(0), "{}", said.err);
    let cells: Value = json(&fs::read_to_string(&file).expect("stored"));
    let cells = cells["cells"].as_array().expect("cells").len();
    assert_eq!(cells, 4);
    assert!(said.err.contains("2 of 4 cells are finished"), "{}", said.err);
    assert_eq!(world.run_directories().len(), runs + 2);
    let stored: Value = json(&fs::read_to_string(&file).expect("stored"));
    assert_eq!(stored["cells"][0]["run"], kept);
    assert!(stored["cells"][3]["verdict"].is_string());
}

#[test]
fn what_goes_on_with_a_grid_can_be_pasted_into_a_shell() {
    let world = World::new();
    // A file that Assay did not write stops the first cell.
    let theirs = world.data().join("assay-grid-disk1");
    fs::write(&theirs, "theirs").expect("written");
    let data = world.data();
    let words = ["grid", "--directory", path_text(&data), "--size", "1m", "--runtime", "100ms"];
    let more = ["--output", "g sp;x", "--out", "my runs", "--html", "page.html", "--buffered"];
    let said = world.assay(&[&words[..], &more].concat());
    assert_ne!(said.code, Some(0), "{}", said.err);
    let out = world.path().join("my runs");
    let expected = format!("assay grid --resume 'g sp;x' --out '{}'", out.display());
    assert!(said.err.contains(&expected), "{}", said.err);
    let stored = json(&fs::read_to_string(world.path().join("g sp;x/grid.json")).expect("stored"));
    let asked: Vec<&str> =
        stored["asked"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
    assert!(asked.contains(&path_text(&world.path().join("page.html"))), "{asked:?}");
    assert_eq!(fs::read_to_string(&theirs).expect("there"), "theirs");
}

#[test]
fn what_cannot_be_measured_is_said_before_anything_is() {
    let world = World::new();
    let said = world.assay(&["grid", "--on", "ssh:a,b", "--workers", "1,3"]).ended(2);
    assert!(said.err.contains("--workers 3: --on ssh:a,b names 2 hosts"), "{}", said.err);
    let said = world.assay(&["grid", "--resume", "nowhere"]).ended(2);
    assert!(said.err.contains("nowhere/grid.json"), "{}", said.err);
    let said = world.assay(&["grid", "--runtime", "0s"]).ended(2);
    assert!(said.err.contains("nothing is measured in less than 1 ms"), "{}", said.err);
    // A file that Assay did not write is not replaced.
    let theirs = world.path().join("g/grid.html");
    fs::create_dir(world.path().join("g")).expect("made");
    fs::write(&theirs, "theirs").expect("written");
    let (data, directory) =
        (world.data().display().to_string(), world.path().join("g").display().to_string());
    let said = world.assay(&words(&data, &directory)).ended(2);
    assert!(said.err.contains("grid.html"), "{}", said.err);
    assert_eq!(fs::read_to_string(&theirs).expect("there"), "theirs");
    assert!(world.run_directories().is_empty());
}

/// A grid that writes over a file that Assay did not make, with consent, whose last cell is open.
fn half_done(world: &World, target: &str) -> String {
    let directory = world.path().join("g").display().to_string();
    let words =
        ["grid", "--target", target, "--size", "1m", "--read", "0", "--outstanding", "1,2", "--buffered"];
    let more = [
        "--runtime",
        "100ms",
        "--watch",
        "nothing",
        "--json",
        "--output",
        &directory,
        "--destroy-data",
        target,
    ];
    world.assay(&[&words[..], &more].concat()).ended(0);
    let file = world.path().join("g/grid.json");
    let mut stored: Value = json(&fs::read_to_string(&file).expect("stored"));
    stored["cells"][1]["verdict"] = Value::Null;
    fs::write(&file, stored.to_string()).expect("written");
    directory
}

#[test]
fn consent_is_given_anew_for_what_has_the_name_now() {
    let world = World::new();
    let theirs = world.data().join("theirs");
    fs::write(&theirs, vec![7; 1 << 20]).expect("written");
    let directory = half_done(&world, path_text(&theirs));
    fs::remove_file(&theirs).expect("removed");
    fs::write(&theirs, vec![8; 1 << 20]).expect("written");
    let said = world.assay(&["grid", "--resume", &directory]).ended(2);
    assert!(said.err.contains("--destroy-data"), "{}", said.err);
    assert!(fs::read(&theirs).expect("there").iter().all(|byte| *byte == 8));
    // Nor is stdout what it was.
    assert!(said.out.contains("workload of each worker"), "{}", said.out);
    let said = world.assay(&["grid", "--resume", &directory, "--destroy-data", path_text(&theirs)]);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

#[test]
fn a_grid_goes_on_where_its_paths_start_and_by_one_command_at_a_time() {
    let world = World::new();
    let target = world.data().join("f");
    let directory = half_done(&world, path_text(&target));
    let elsewhere = world.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    let mut command = world.command(&["grid", "--resume", &directory]);
    let said = Said::of(command.current_dir(&elsewhere).output().expect("run")).ended(2);
    assert!(said.err.contains("it was begun in") && said.err.contains("go on with it there"), "{}", said.err);
    let lock = fs::File::open(world.path().join("g/grid.lock")).expect("a lock");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("locked");
    let said = world.assay(&["grid", "--resume", &directory]).ended(1);
    assert!(said.err.contains("is in use by pid"), "{}", said.err);
    drop(lock);
    world.assay(&["grid", "--resume", &directory]).ended(0);
    // A directory without a grid stays as it is.
    world.assay(&["grid", "--resume", path_text(&elsewhere)]).ended(2);
    assert_eq!(fs::read_dir(&elsewhere).expect("there").count(), 0);
}

#[test]
fn what_a_grid_cannot_do_leaves_nothing_behind() {
    let world = World::new();
    let cases: [(&[&str], &str); 4] = [
        (&["--on", "foo:2"], "there is no launcher 'foo'"),
        (&["--on", "local:0"], "needs one worker"),
        (&["--fio-json", "f.json"], "--fio-json is of one run"),
        (&["--directory", "/nowhere/at/all"], "there is no such directory"),
    ];
    for (words, expected) in cases {
        let said = world.assay(&[&["grid", "--output", "g"][..], words].concat()).ended(2);
        assert!(said.err.contains(expected), "{words:?}: {}", said.err);
        assert!(!world.path().join("g").exists(), "{words:?}");
    }
}
