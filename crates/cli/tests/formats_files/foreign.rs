//! Runs as files of other tools, and back.

use serde_json::Value;

use crate::support::Place;

const JOB: &str =
    "[mixed]\nfilename=a.dat\nsize=4m\nrw=randrw\nbs=4k\nioengine=psync\nruntime=1\ntime_based\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A place with a stored run and its JSON.
fn measured() -> (Place, Value) {
    let place = Place::new();
    place.file("j.fio", JOB);
    let run = json(&place.assay(&["run", "j.fio", "--json", "--fio-json", "at-once.json"]).done());
    (place, run)
}

#[test]
fn a_run_leaves_as_json_of_fio_and_comes_back_the_same() {
    let (place, run) = measured();
    let id = run["id"].as_str().expect("an id");
    place.assay(&["report", id, "--fio-json", "plain.json", "--fio-json-plus", "plus.json"]).done();
    let jobs = |name: &str| json(&place.read(name))["jobs"].clone();
    assert!(jobs("at-once.json") == jobs("plain.json"), "the same, written at once and later");
    let back = json(&place.assay(&["import", "plus.json", "--json"]).done());
    let (was, is) = (&run["phases"][0]["jobs"][0], &back["phases"][0]["jobs"][0]);
    for op in ["read", "write"] {
        for key in ["ios", "bytes"] {
            assert_eq!(was[op][key], is[op][key], "{op} {key}");
        }
        for key in ["n", "min", "max"] {
            assert_eq!(was[op]["completion_ns"][key], is[op]["completion_ns"][key], "{op} {key}");
        }
        let p50 = |job: &Value| job[op]["completion_ns"]["p50"].as_f64().unwrap_or(0.0);
        assert!((p50(was) / p50(is) - 1.0).abs() < 0.02, "{op}: {} and {}", p50(was), p50(is));
    }
}

#[test]
fn an_imported_result_is_a_stored_run_once() {
    let (place, run) = measured();
    place.assay(&["report", run["id"].as_str().expect("an id"), "--fio-json", "plain.json"]).done();
    let first = place.assay(&["import", "plain.json"]);
    assert!(first.err.contains("kept in "), "{first:?}");
    let again = place.assay(&["import", "plain.json"]);
    assert!(again.err.contains("is stored already"), "{again:?}");
    let kept = std::fs::read_dir(place.path().join("runs")).expect("a directory").count();
    assert_eq!(kept, 2, "the run itself, and what was imported");
}

#[test]
fn a_run_leaves_as_files_of_vdbench_and_comes_back() {
    let (place, run) = measured();
    let id = run["id"].as_str().expect("an id");
    place.assay(&["report", id, "--vdbench", "output", "--fio-logs", "logs"]).done();
    assert!(place.read("output/summary.html").contains("Starting RD="));
    let back = json(&place.assay(&["import", "output", "--json"]).done());
    let iops = |run: &Value| run["phases"][0]["jobs"][0]["total"]["iops"].as_f64().unwrap_or(0.0);
    assert!((iops(&back) / iops(&run) - 1.0).abs() < 0.5, "{} and {}", iops(&back), iops(&run));
    let logs = std::fs::read_dir(place.path().join("logs")).expect("a directory").count();
    assert!(logs >= 4, "{logs} logs");
}

#[test]
fn what_is_no_result_is_refused() {
    let place = Place::new();
    place.file("notes.txt", "nothing of the kind\n");
    for (name, why) in
        [("notes.txt", "neither fio's JSON"), ("missing", "does not exist"), (".", "flatfile.html")]
    {
        let said = place.assay(&["import", name]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
    }
    let said = place.assay(&["report", "x"]);
    assert_eq!(said.code, Some(2), "a report of nothing is asked for: {said:?}");
}
