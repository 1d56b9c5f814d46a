//! What is left of a run that did not come to its end.

use std::fs;

use rustix::process::Signal;

use crate::schema;
use crate::world::{Said, World, json, path_text, signal, wait_for};

#[test]
fn a_signal_stops_cleanly_and_keeps_what_was_measured() {
    for (name, which) in [("SIGINT", Signal::INT), ("SIGTERM", Signal::TERM)] {
        let world = World::new();
        let child = world.start_measuring();
        signal(&child, which);
        let said = Said::of(child.wait_with_output().expect("ended")).ended(5);
        assert!(said.out.contains("incomplete"), "{name}: {}", said.out);
        let run = world.only_run();
        assert_eq!((&run["verdict"], &run["end"]), (&"incomplete".into(), &"interrupted".into()), "{name}");
        let ios = run["phases"][0]["jobs"][0]["total"]["ios"].as_u64();
        assert!(ios.is_some_and(|ios| ios > 0), "{name}: {ios:?}");
        assert!(world.data().join("assay-quick/.assay-dir").exists(), "{name}: the files are kept");
        let listed = world.assay(&["runs"]).ended(0);
        assert!(listed.out.contains("incomplete"), "{name}: {}", listed.out);
    }
}

#[test]
fn a_second_signal_stops_at_once() {
    let world = World::new();
    let child = world.start_measuring();
    // A stopped process sees both at once when it goes on.
    for which in [Signal::STOP, Signal::INT] {
        signal(&child, which);
    }
    signal(&child, Signal::CONT);
    signal(&child, Signal::INT);
    let said = Said::of(child.wait_with_output().expect("ended"));
    // Whichever came first: the clean stop was fast enough, or it was cut short.
    assert!(matches!(said.code, Some(5 | 130)), "{:?} {:?}", said.code, said.signal);
    let recovered = world.assay(&["runs", "show", "last", "--json"]).ended(0);
    assert_eq!(json(&recovered.out)["verdict"], "incomplete");
}

#[test]
fn a_second_signal_says_where_what_was_measured_is_kept() {
    let world = World::new();
    let out = world.runs();
    let child = world.start_measuring_with(&["--out", path_text(&out)]);
    // Two signals that wait when it goes on are handled before anything else.
    for which in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        signal(&child, which);
    }
    let said = Said::of(child.wait_with_output().expect("ended"));
    assert!(matches!(said.code, Some(130 | 143)), "{:?} {:?}", said.code, said.signal);
    let directory = world.run_directories().pop().expect("a run");
    let line = said.err.lines().last().expect("a line");
    assert!(line.contains(&format!("is kept in {}", directory.display())), "{}", said.err);
    let id =
        line.split("'assay runs recover ").nth(1).and_then(|rest| rest.split('\'').next()).expect("an id");
    let (id, place) = id.split_once(' ').expect("an id, and where it is");
    assert_eq!(place, format!("--out {}", out.display()));
    let recovered = world.assay(&["runs", "recover", id, "--json"]).ended(0);
    assert_eq!(json(&recovered.out)["id"], id);
    assert!(world.assay(&["--help"]).ended(0).out.contains("130 ended at once by a second Ctrl-C"));
}

#[test]
fn a_killed_run_is_recovered_with_its_completed_intervals() {
    let world = World::new();
    let mut child = world.start_measuring();
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    let listed = world.assay(&["runs"]).ended(0);
    assert!(listed.out.contains("unfinished") && listed.out.contains("recover"), "{}", listed.out);
    // What is proposed finds the run where this one was found.
    let listed = world.assay(&["runs", "--out", path_text(&world.runs())]).ended(0);
    assert!(listed.out.contains(&format!(" --out {}' makes", world.runs().display())), "{}", listed.out);
    let said = world.assay(&["runs", "recover", "last", "--json"]).ended(0);
    let run = json(&said.out);
    schema::validate("run-1", &run);
    assert_eq!(run["verdict"], "incomplete");
    let job = &run["phases"][0]["jobs"][0];
    assert!(job["total"]["ios"].as_u64().is_some_and(|ios| ios > 0), "{job}");
    assert!(!job["series"].as_array().expect("a course").is_empty());
    assert_eq!(world.only_run()["id"], run["id"], "it is stored like any other");
    let listed = world.assay(&["runs"]).ended(0);
    assert!(!listed.out.contains("unfinished"), "{}", listed.out);
    // The next one is not in the way of what the dead one left.
    world.quick(&[]).ended(0);
}

#[test]
fn a_torn_journal_still_makes_a_run() {
    let world = World::new();
    let mut child = world.start_measuring();
    let directory = world.run_directories().pop().expect("a run");
    wait_for("some intervals", || {
        fs::metadata(directory.join("series.bin")).is_ok_and(|meta| meta.len() > 20_000)
    });
    signal(&child, Signal::KILL);
    child.wait().expect("ended");
    for (name, cut) in [("series.bin", 100), ("journal.jsonl", 7)] {
        let path = directory.join(name);
        let bytes = fs::read(&path).expect("read");
        fs::write(&path, &bytes[..bytes.len() - cut]).expect("written");
    }
    let said = world.assay(&["runs", "recover", "last", "--json"]).ended(0);
    assert!(json(&said.out)["phases"][0]["jobs"][0]["total"]["ios"].as_u64().is_some_and(|ios| ios > 0));
}
