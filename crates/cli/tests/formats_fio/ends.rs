//! What ends jobs before their own limits do, run for real.

use serde_json::Value;

use crate::support::Place;

fn run(text: &str, name: &str) -> Value {
    run_with(text, name, &[])
}

fn run_with(text: &str, name: &str, words: &[&str]) -> Value {
    let place = Place::new();
    place.file(name, text);
    let said = place.assay(&[&["run", name, "--json"], words].concat());
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn seconds(run: &Value, job: usize) -> f64 {
    run["phases"][0]["jobs"][job]["measured_s"].as_f64().expect("a time")
}

fn says(run: &Value, wanted: &str) -> bool {
    let mut notes = run["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    notes.any(|note| note.contains(wanted))
}

const LONG: &str =
    "[global]\nioengine=psync\nsize=1m\nrw=randread\nbs=4k\nthinktime=1ms\ntime_based\nruntime=60\n";

#[test]
fn the_end_of_one_job_ends_the_others() {
    let run = run(&format!("{LONG}[long]\nnumjobs=2\n[short]\nruntime=1\nexitall\n"), "j.fio");
    assert!(seconds(&run, 1) > 0.9, "{run}");
    assert!(seconds(&run, 0) < 5.0, "the long one ended with it: {}", seconds(&run, 0));
}

#[test]
fn a_job_that_is_steady_ends() {
    let text = "[j]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\ntime_based\nruntime=60\nrate_iops=1000\nfilename=n\n\
        steadystate=iops:20%\nsteadystate_duration=3\n";
    let run = run(text, "j.fio");
    assert!((1.5..20.0).contains(&seconds(&run, 0)), "{}", seconds(&run, 0));
    assert!(says(&run, "steady after"), "{}", run["notes"]);
}

#[test]
fn a_latency_target_is_searched_for() {
    let text = "[j]\nioengine=null\nsize=1g\nrw=randread\nbs=4k\nfilename=n\nruntime=60\n\
        latency_target=10\nlatency_percentile=50\nlatency_window=1s\n";
    // fio searches for a queue depth, Assay for a rate: that is another test.
    let run = run_with(text, "j.fio", &["--allow-loss"]);
    assert!(says(&run, "IOPS without a limit"), "{}", run["notes"]);
}
