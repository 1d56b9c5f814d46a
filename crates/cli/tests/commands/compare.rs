//! `assay compare` on stored runs.

use std::fs;

use serde_json::Value;

use crate::stored::measured;
use crate::world::{TEST, World, json, path_text};

/// Writes the measured run with every repetition's IOPS times `factor`, in a spread of a per cent.
fn altered(world: &World, name: &str, factor: f64, change: impl Fn(&mut Value)) -> String {
    let mut run = measured().only_run();
    run["id"] = name.into();
    let phases = run["phases"].as_array_mut().expect("phases");
    for (index, phase) in phases.iter_mut().enumerate() {
        let total = &mut phase["jobs"][0]["total"];
        total["iops"] = (10_000.0 * factor * (1.0 + 0.003 * index as f64)).into();
        for percentile in ["p50", "p99", "p99_9"] {
            total["completion_ns"][percentile] = Value::Null;
        }
        total["completion_ns"]["n"] = 0.into();
        phase["jobs"][0]["cpu_ns_per_io"] = 0.0.into();
        change(phase);
    }
    let path = world.path().join(format!("{name}.json"));
    fs::write(&path, run.to_string()).expect("written");
    path_text(&path).to_owned()
}

#[test]
fn a_slower_run_is_worse_and_can_fail_a_pipeline() {
    let world = World::new();
    let (a, b) = (altered(&world, "a", 1.0, |_| {}), altered(&world, "b", 0.6, |_| {}));
    let said = world.assay(&["compare", &a, &b]).ended(0);
    for expected in [TEST, "worse", "-40.0 %", "5 repetitions", "is assumed", "differs: nothing"] {
        assert!(said.out.contains(expected), "{expected} in {}", said.out);
    }
    world.assay(&["compare", &a, &b, "--fail-on", "worse"]).ended(4);
    world.assay(&["compare", &b, &a, "--fail-on", "worse"]).ended(0);
    // One run a side shows equivalence within a wide margin only.
    let said = world.assay(&["compare", &a, &a, "--fail-on", "not-equivalent"]).ended(4);
    assert!(said.err.contains("run a is on more than one side"), "{}", said.err);
    world.assay(&["compare", &a, &a, "--fail-on", "not-equivalent", "--margin", "40%"]).ended(0);
}

#[test]
fn single_runs_are_judged_by_what_stored_ones_differ_by() {
    let world = World::new();
    let (a, b) = (altered(&world, "a", 1.0, |_| {}), altered(&world, "b", 0.95, |_| {}));
    let judgement = || {
        let found = json(&world.assay(&["compare", &a, &b, "--json"]).ended(0).out);
        found["pairs"][0]["tests"][0]["metrics"][0]["judgement"].clone()
    };
    let alone = judgement();
    assert_eq!((&alone["verdict"], &alone["spread"]["measured"]), (&"no_evidence".into(), &0.into()));
    assert_eq!(alone["reason"]["why"], "between_runs");
    for (index, factor) in [1.0, 1.001, 0.999, 1.002, 0.998].into_iter().enumerate() {
        let id = format!("e{index}");
        let path = altered(&world, &id, factor, |_| {});
        let directory = world.runs().join(format!("2025010{index}T000000Z-earlier-{id}"));
        fs::create_dir_all(&directory).expect("made");
        fs::copy(path, directory.join("run.json")).expect("copied");
    }
    let known = judgement();
    assert_eq!((&known["verdict"], &known["spread"]["measured"]), (&"worse".into(), &4.into()));
}

#[test]
fn several_runs_are_found_by_pattern_directory_and_name() {
    let world = World::new();
    let root = world.runs();
    for (index, factor) in [1.0, 1.001, 0.999, 1.002].into_iter().enumerate() {
        for (side, level) in [("old", 1.0), ("new", 0.7)] {
            let id = format!("{side}{index}");
            let path = altered(&world, &id, factor * level, |_| {});
            let directory = root.join(format!("2025010{index}T000000Z-{side}-{id}"));
            fs::create_dir_all(&directory).expect("made");
            let mut run = json(&fs::read_to_string(&path).expect("read"));
            run["name"] = side.into();
            fs::write(directory.join("run.json"), run.to_string()).expect("written");
        }
    }
    for words in [["old", "new"], ["*-old-*", "*-new-*"]] {
        let found = json(&world.assay(&["compare", words[0], words[1], "--json"]).ended(0).out);
        assert_eq!(found["sides"][1]["runs"].as_array().map(Vec::len), Some(4));
        assert_eq!(found["sides"][1]["repetitions"], 20);
        assert_eq!(found["pairs"][0]["tests"][0]["metrics"][0]["judgement"]["verdict"], "worse");
    }
    let said = world.assay(&["compare", "old", "none-such"]).ended(2);
    assert!(said.err.contains("no run 'none-such'"), "{}", said.err);
    let said = world.assay(&["compare", "old*"]).ended(2);
    assert!(said.err.contains("takes two sides"), "{}", said.err);
}

#[test]
fn what_is_not_comparable_is_not_ranked_unless_told() {
    let world = World::new();
    let a = altered(&world, "a", 1.0, |_| {});
    let b = altered(&world, "b", 0.5, |phase| phase["jobs"][0]["outstanding_io"] = 64.into());
    let said = world.assay(&["compare", &a, &b]).ended(2);
    assert!(
        said.err.contains("outstanding I/Os: 1 against 64") && said.err.contains("--anyway"),
        "{}",
        said.err
    );
    assert!(said.out.contains("not ranked"), "{}", said.out);
    let said = world.assay(&["compare", &a, &b, "--anyway", "--fail-on", "worse"]).ended(4);
    assert!(said.out.contains("not comparable: outstanding I/Os"), "{}", said.out);
    let page = world.path().join("page.html");
    world.assay(&["compare", &a, &b, "--anyway", "--html", path_text(&page)]).ended(0);
    assert!(fs::read_to_string(page).expect("a page").contains("Not comparable: outstanding I/Os"));
}
