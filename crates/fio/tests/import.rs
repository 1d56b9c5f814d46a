//! Output of fio 3.33 as runs.

use std::path::Path;

use assay_fio::ImportError;
use assay_results::run::{JobResult, Run};
use proptest::prelude::*;

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read_to_string(path).expect("the sample is in the repository")
}

/// What is read of a text that is known to be of fio.
fn import(text: &str) -> Result<Run, ImportError> {
    assay_fio::import(text).expect("a result of fio")
}

fn read(name: &str) -> Run {
    let text = sample(name);
    import(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn original(name: &str) -> serde_json::Value {
    serde_json::from_str(&sample(name)).expect("fio writes JSON")
}

fn only(run: &Run, phase: usize) -> &JobResult {
    assert_eq!(run.phases[phase].jobs.len(), 1);
    &run.phases[phase].jobs[0]
}

#[test]
fn groups_are_phases_with_the_numbers_of_fio() {
    let (run, fio) = (read("fio-group.json"), original("fio-group.json"));
    assert_eq!(run.phases.len(), 2);
    for (index, phase) in run.phases.iter().enumerate() {
        let theirs = &fio["jobs"][index];
        let job = &phase.jobs[0];
        assert_eq!(job.name, theirs["jobname"]);
        for (name, op) in job.operations().filter(|(name, _)| *name != "flush") {
            let theirs = &theirs[name];
            assert_eq!(op.ios, theirs["total_ios"]);
            assert_eq!(op.bytes, theirs["io_bytes"]);
            assert_eq!(op.iops, theirs["iops"]);
            assert_eq!(op.bytes_per_s as u64, theirs["bw_bytes"]);
            let clat = &theirs["clat_ns"];
            assert_eq!(op.completion_ns.n, clat["N"]);
            assert_eq!(op.completion_ns.mean, clat["mean"]);
            assert_eq!(op.completion_ns.stddev, clat["stddev"]);
            assert_eq!((op.completion_ns.min, op.completion_ns.max), (to(&clat["min"]), to(&clat["max"])));
            assert_eq!(op.submit_ns.expect("libaio has one").mean, theirs["slat_ns"]["mean"]);
            let median = op.completion_ns.p50.expect("enough values") as f64;
            let theirs = clat["percentile"]["50.000000"].as_f64().expect("asked for");
            assert!((median / theirs - 1.0).abs() < 0.016, "{median} {theirs}");
        }
    }
}

fn to(value: &serde_json::Value) -> u64 {
    value.as_u64().expect("a number")
}

#[test]
fn conditions_come_from_the_options() {
    let run = read("fio-group.json");
    let mixed = only(&run, 0);
    assert_eq!(mixed.pattern, "70 % read 8k, 30 % write 8k, uniform random (each block once per pass)");
    assert_eq!((mixed.outstanding_io, mixed.evidence.threads), (16, 2));
    assert_eq!(mixed.durability, "fsync after every 32 writes, queued");
    assert!(mixed.direct);
    assert_eq!(
        mixed.flush.as_ref().map(|flush| flush.ios),
        Some(to(&original("fio-group.json")["jobs"][0]["sync"]["total_ios"]))
    );
    assert_eq!(run.phases[1].point.as_str(), "journal writes");
    assert_eq!(run.plan.targets[0].path, "/data/f");
    assert_eq!(run.plan.targets.len(), 1);
}

#[test]
fn whose_latencies_they_are_is_said() {
    let run = read("fio-group.json");
    assert_eq!(run.assay.engine, "fio 3.33");
    assert!(
        run.assay.latency_definition.as_ref().is_some_and(|own| own.starts_with("fio's clat")),
        "{:?}",
        run.assay.latency_definition
    );
    assert!(run.notes[0].starts_with("measured by fio 3.33"), "{:?}", run.notes);
    assert!(
        read("fio-unified.json")
            .assay
            .latency_definition
            .as_ref()
            .is_some_and(|own| own.starts_with("fio's lat"))
    );
}

#[test]
fn clones_reported_one_by_one_are_one_job() {
    let (run, fio) = (read("fio-clones.json"), original("fio-clones.json"));
    let job = only(&run, 0);
    let [a, b] = [0, 1].map(|index| &fio["jobs"][index]["read"]);
    let read = job.read.as_ref().expect("it reads");
    assert_eq!(read.ios, to(&a["total_ios"]) + to(&b["total_ios"]));
    assert_eq!(job.outstanding_io, 8);
    let means = [a, b].map(|op| op["clat_ns"]["mean"].as_f64().expect("a number"));
    assert!(
        read.completion_ns.mean > means[0].min(means[1]) && read.completion_ns.mean < means[0].max(means[1])
    );
    // Without the bins of JSON+ there is nothing to merge, and an average of percentiles is none.
    assert_eq!((read.completion_ns.p50, read.completion_ns.p99), (None, None));
    assert!(run.remarks.iter().any(|remark| remark.id == "percentiles-not-merged"));
}

#[test]
fn operations_reported_as_one_stay_one() {
    let run = read("fio-unified.json");
    let job = only(&run, 0);
    assert_eq!(job.operations().count(), 0);
    assert_eq!((job.total.ios, job.total.completion_ns.n), (60, 60));
    assert!(job.total.completion_histogram.is_some());
}

#[test]
fn the_last_of_several_documents_counts_and_messages_do_not() {
    let run = read("fio-several.txt");
    let job = only(&run, 0);
    assert!(job.measured_s > 1.5, "{}", job.measured_s);
    assert_eq!(job.evidence.offered_iops, Some(500.0));
    assert!(job.evidence.missed_share.expect("a rate was asked for") < 0.02);
    let failed = read("fio-error.txt");
    assert_eq!(only(&failed, 0).errors, 1);
    assert_eq!(only(&failed, 0).errors_by_kind, [("ENOENT".to_owned(), 1)]);
    assert_eq!(failed.verdict, assay_results::Verdict::Invalid);
}

#[test]
fn a_document_that_was_cut_off_is_not_one() {
    let text = sample("fio-group.json");
    let cut = &text[..text.len() / 2];
    assert!(matches!(import(cut), Err(ImportError::NotJson(_))));
    let whole_and_cut = format!("{text}\n{cut}");
    assert_eq!(import(&whole_and_cut).map(|run| run.phases), import(&text).map(|run| run.phases));
}

#[test]
fn what_is_not_of_fio_is_refused() {
    assert_eq!(assay_fio::import(""), None);
    assert_eq!(assay_fio::import("{\"a\": 1}"), None);
    assert!(matches!(import("{\"fio version\": \"fio-3.1\"}"), Err(ImportError::NotFio(_))));
    assert!(matches!(import("{\"fio version\": \"fio-3.1\", \"jobs\": []}"), Err(ImportError::Empty(_))));
    let terse = "3;fio-3.33;a;0;0;92;46000;11500;2;0;0;0.000000";
    assert_eq!(import(terse), Err(ImportError::Terse));
    let old = "{\"fio version\": \"fio-2.21\", \"jobs\": [{\"jobname\": \"a\", \"read\": {}}]}";
    assert_eq!(import(old), Err(ImportError::OldFio("fio-2.21".to_owned())));
}

#[test]
fn the_same_text_is_the_same_run() {
    assert_eq!(read("fio-group.json"), read("fio-group.json"));
    assert_ne!(read("fio-group.json").id, read("fio-clones.json").id);
    assert_eq!(read("fio-group.json").started.len(), "2026-11-21T22:11:16Z".len());
}

#[test]
fn a_run_that_was_read_can_be_stored() {
    for name in ["fio-group.json", "fio-clones.json", "fio-unified.json", "fio-error.txt"] {
        let run = read(name);
        let text = serde_json::to_string(&run).expect("it can be written");
        assert_eq!(serde_json::from_str::<Run>(&text).expect("and read"), run, "{name}");
    }
}

/// A sample with some of its characters replaced, cut or repeated.
fn damaged(text: &str, cuts: &[(prop::sample::Index, prop::sample::Index, String)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, length, instead) in cuts {
        let at = at.index(chars.len().max(1)).min(chars.len());
        let end = (at + length.index(40)).min(chars.len());
        chars.splice(at..end, instead.chars());
    }
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = assay_fio::import(&text);
        let _ = import(&format!("{{\"fio version\" : \"fio-3.33\", \"jobs\" : [{text}]}}"));
    }

    #[test]
    fn damage_is_read_or_refused(
        file in prop::sample::select(vec!["fio-group.json", "fio-clones.json", "fio-several.txt"]),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), "[-0-9a-z\"{}\\[\\],.:\n ]{0,8}"), 1..12),
    ) {
        if let Some(Ok(run)) = assay_fio::import(&damaged(&sample(file), &cuts)) {
            prop_assert!(!run.phases.is_empty());
            let text = serde_json::to_string(&run).expect("it can be written");
            prop_assert!(serde_json::from_str::<Run>(&text).is_ok());
        }
    }

    #[test]
    fn absurd_numbers_are_survived(number in prop::sample::select(vec!["0", "-1", "1e308", "18446744073709551615", "1e-300", "-1e308", "99999999999999999999", "null", "\"\"", "[]"]), at in any::<prop::sample::Index>()) {
        let text = sample("fio-group.json");
        let lines: Vec<&str> = text.lines().collect();
        let index = at.index(lines.len());
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        if let Some((name, rest)) = lines[index].split_once(" : ")
            && !rest.ends_with(['{', '['])
        {
            changed[index] = format!("{name} : {number}{}", if rest.ends_with(',') { "," } else { "" });
        }
        let run = assay_fio::import(&changed.join("\n"));
        prop_assert!(matches!(run, Some(Ok(_))) || lines[index].contains("version"), "{}", lines[index]);
    }
}

/// Figures that cannot all be true are named with their values, and are not valid.
#[test]
fn figures_that_contradict_each_other_are_not_valid() {
    let read = |iops: f64, bw: u64, p50: u64, p99: i64, errors: i64| {
        let text = format!(
            r#"{{"fio version": "fio-3.33", "jobs": [{{"jobname": "a", "total_err": {errors}, "read": {{"total_ios": 50000,
                "io_bytes": 204800000, "runtime": 5000, "iops": {iops}, "bw_bytes": {bw}, "bw": {},
                "clat_ns": {{"N": 50000, "min": 100, "max": 90000, "mean": 1500.5,
                "percentile": {{"50.000000": {p50}, "99.000000": {p99}}}}}}}}}]}}"#,
            bw / 1024
        );
        assay_fio::import(&text).unwrap().unwrap()
    };
    let said = |run: &Run| -> Vec<String> {
        let found = run.findings.iter().filter(|finding| finding.id == "contradictory-figures");
        found.map(|finding| finding.message.clone()).collect()
    };
    let fine = read(10_000.0, 40_960_000, 1000, 80_000, 0);
    assert_eq!(said(&fine), [""; 0]);
    let wrong = [
        (read(1e6, 40_960_000, 1000, 80_000, 0), "a: read.iops is 1000000, but total_ios / runtime is 10000"),
        (
            read(10_000.0, 4_096, 1000, 80_000, 0),
            "a: read.bw_bytes is 4096, but io_bytes / runtime is 40960000",
        ),
        (
            read(10_000.0, 40_960_000, 70_000, 800, 0),
            "a: read.clat_ns.percentile 50 is 70000, but read.clat_ns.percentile 99 is 800",
        ),
        (
            read(10_000.0, 40_960_000, 1000, 99_000_000, 0),
            "a: read.clat_ns.percentile 99 is 99000000, but read.clat_ns.max is 90000",
        ),
        (
            read(10_000.0, 40_960_000, 1000, -5, 0),
            "a: read.clat_ns.percentile 99 is -5, and cannot be negative",
        ),
        (read(10_000.0, 40_960_000, 1000, 80_000, -4), "a: total_err is -4, and cannot be negative"),
    ];
    for (run, words) in wrong {
        assert!(said(&run).iter().any(|message| message == words), "{words}: {:?}", said(&run));
        assert_eq!(run.verdict, assay_results::Verdict::Invalid);
    }
}

#[test]
fn requests_of_the_devices_tell_what_the_page_cache_answered() {
    // fio 3.33 counts requests of devices, no bytes; a job of 2 s on a file of 64 MiB, on a machine with 24 GiB.
    let reads = read("fio-cached-reads.json");
    let truth = reads.phases[0].device.as_ref().expect("one device");
    assert!(truth.bytes_at_most && truth.device_read_bytes.expect("at most") < truth.asked_read_bytes / 20);
    let share = only(&reads, 0).cached_read_share.expect("known");
    let found = |run: &Run, id: &str| run.findings.iter().find(|f| f.id == id).map(|f| f.severity);
    use assay_results::{FindingSeverity, Verdict};
    assert_eq!(found(&reads, "cache-served-reads"), Some(FindingSeverity::Invalid), "{share}");
    let writes = read("fio-cached-writes.json");
    assert_eq!(found(&writes, "working-set-fits-cache"), Some(FindingSeverity::Invalid));
    assert_eq!([reads.verdict, writes.verdict], [Verdict::Invalid; 2]);
}
