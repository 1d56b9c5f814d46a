use serde_json::{Value, json};

use super::*;
use crate::content::Content;
use crate::job::Job;
use crate::pattern::{AccessPattern, Mix, Placement, Zone, ZoneSize};
use crate::plan::PlannedSite;
use crate::tree::TreeWorkload;

fn planned() -> PlannedJob {
    let site = PlannedSite { target: 0, offset_bytes: 0, length_bytes: 1 << 20 };
    let slice = ThreadSlice { seed: 7, sites: vec![site], bytes: Some(1 << 20), ..ThreadSlice::default() };
    PlannedJob {
        traits: Job::new("j", &[], AccessPattern::new(Mix::READ, 4096, Placement::random_map())).traits,
        engine: PlannedEngine::IoUring,
        engine_reason: None,
        direct: true,
        pace: Pace::Closed,
        end: End::default(),
        operations: Vec::new(),
        slices: vec![slice],
    }
}

/// The job as it was stored before: what was asked for beside what was resolved of it.
fn before(job: &PlannedJob, facts: Value) -> Value {
    let mut stored = serde_json::to_value(job).expect("a job");
    stored.as_object_mut().expect("an object").remove("pace");
    stored["engine_reason"] = json!("");
    let asked = json!({
        "targets": ["t"], "sharing": "shared", "offset": {"bytes": 0}, "offset_increment": {"bytes": 0},
        "length": null, "threads": 1, "rate": "unlimited", "arrival": "deterministic",
        "limits": {"time": null, "bytes": null, "ios": null, "passes": null},
        "caching": "auto", "engine": "auto",
    });
    for (name, value) in
        asked.as_object().expect("an object").iter().chain(facts.as_object().expect("an object"))
    {
        stored["job"][name] = value.clone();
    }
    stored
}

fn read(stored: Value) -> PlannedJob {
    serde_json::from_value(stored).expect("a job")
}

#[test]
fn what_is_written_is_read_as_it_was() {
    let mut job = planned();
    job.engine_reason = Some("auto: by trial".to_owned());
    job.content = Content { dedup_ratio: 2.0, ..Content::default() };
    for pace in [
        Pace::Closed,
        Pace::Open { offered: Offered::BytesPerS(1e6), arrival: Arrival::Poisson },
        Pace::OfMax { percent: 50.0, arrival: Arrival::Uniform },
    ] {
        job.pace = pace;
        job.end = End { time: Some(Nanos(5)), ends_with: Some(EndsWith::First), ..End::default() };
        assert_eq!(read(serde_json::to_value(&job).expect("a job")), job);
    }
}

#[test]
fn plans_of_before_are_read() {
    let job = planned();
    assert_eq!(read(before(&job, json!({}))), job);
    let paced = |rate: Value| read(before(&job, json!({"rate": rate, "arrival": "poisson"}))).pace;
    let arrival = Arrival::Poisson;
    assert_eq!(paced(json!({"iops": 5.0})), Pace::Open { offered: Offered::Iops(5.0), arrival });
    assert_eq!(paced(json!({"bytes_per_s": 9.0})), Pace::Open { offered: Offered::BytesPerS(9.0), arrival });
    assert_eq!(paced(json!({"percent_of_max": 70.0})), Pace::OfMax { percent: 70.0, arrival });
    let ends = json!({"limits": {"time": 5, "bytes": null, "ios": null, "passes": 2, "ends_with": "others"}});
    let end = End { passes: Some(2), ends_with: Some(EndsWith::Others), ..End::default() };
    assert_eq!(read(before(&job, ends)).end, end);
    let mut tree = planned();
    tree.tree = Some(TreeWorkload::default());
    assert_eq!(read(before(&tree, json!({}))).end.passes, Some(1), "a tree without a limit made one pass");
}

#[test]
fn the_rate_of_a_slice_was_two_fields() {
    let rate = |facts: Value| {
        let mut stored = serde_json::to_value(&planned().slices[0]).expect("a slice");
        let slice = stored.as_object_mut().expect("an object");
        slice.remove("rate");
        slice.extend(facts.as_object().expect("an object").clone());
        serde_json::from_value::<ThreadSlice>(stored).expect("a slice").rate
    };
    let each = OperationRates::new([Some(3.0), None, None]);
    assert_eq!(rate(json!({"rate_per_s": null})), None);
    assert_eq!(rate(json!({"rate_per_s": 5.0})), Some(SliceRate::Iops(5.0)));
    assert_eq!(rate(json!({"rate_per_s": null, "rates_per_s": {"read": 3.0}})), Some(SliceRate::Each(each)));
    assert_eq!(rate(json!({"rate_per_s": 3.0, "rates_per_s": {"read": 3.0}})), Some(SliceRate::Each(each)));
    for new in [SliceRate::Iops(5.0), SliceRate::Each(each)] {
        assert_eq!(rate(json!({"rate": new})), Some(new));
    }
}

#[test]
fn the_size_of_a_zone_was_an_extent() {
    let read = |size: Value| {
        serde_json::from_value::<Zone>(json!({"access_percent": 5.0, "size": size})).expect("a zone").size
    };
    assert_eq!(read(json!({"bytes": 4096})), ZoneSize::Bytes(4096));
    assert_eq!(read(json!({"percent": 20.0})), ZoneSize::RangePercent(20.0));
    assert_eq!(read(json!({"range_percent": 20.0})), ZoneSize::RangePercent(20.0));
}

#[test]
fn an_engine_that_was_none_names_what_carries_the_phase_out() {
    let phase = |engine: &str| {
        let mut stored = before(&planned(), json!({}));
        stored["engine"] = json!(engine);
        let phase = json!({
            "name": "p", "kind": "measure", "jobs": [stored], "drain_after": false, "pause_after": 0,
            "point": "", "repeat": 0,
        });
        let phase: PlannedPhase = serde_json::from_value(phase).expect("a phase");
        (phase.jobs[0].engine, phase.carried_by)
    };
    assert_eq!(phase("fio"), (PlannedEngine::Foreign, Carrier::Fio));
    assert_eq!(phase("sim"), (PlannedEngine::Foreign, Carrier::Simulated));
    assert_eq!(phase("auto"), (PlannedEngine::Foreign, Carrier::Native));
    assert_eq!(phase("posix-aio"), (PlannedEngine::PosixAio, Carrier::Native));
}

/// Names of the definitions that are reached from `at`, and every string that a value may have.
#[cfg(feature = "schema")]
fn walk(at: &Value, all: &Value, reached: &mut std::collections::BTreeSet<String>, words: &mut Vec<String>) {
    match at {
        Value::Array(list) => list.iter().for_each(|value| walk(value, all, reached, words)),
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str) {
                let name = name.rsplit('/').next().unwrap_or(name);
                if reached.insert(name.to_owned()) {
                    walk(&all["$defs"][name], all, reached, words);
                }
            }
            words.extend(map.get("const").and_then(Value::as_str).map(str::to_owned));
            let named = map.get("enum").and_then(Value::as_array).into_iter().flatten();
            words.extend(named.filter_map(Value::as_str).map(str::to_owned));
            map.iter()
                .filter(|(name, _)| *name != "$defs")
                .for_each(|(_, value)| walk(value, all, reached, words));
        }
        _ => {}
    }
}

#[cfg(feature = "schema")]
#[test]
fn nothing_that_a_planned_job_holds_is_open() {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let all = schemars::SchemaGenerator::new(settings).into_root_schema_for::<PlannedJob>().to_value();
    let (mut reached, mut words) = (std::collections::BTreeSet::new(), Vec::new());
    walk(&all, &all, &mut reached, &mut words);
    assert!(reached.contains("Traits") && reached.contains("ZoneSize"), "it walks: {reached:?}");
    for open in ["Caching", "Extent", "TargetSharing", "Limits", "Rate", "EngineKind", "Job"] {
        assert!(!reached.contains(open), "{open} in a planned job");
    }
    assert!(
        words.iter().any(|word| word == "io-uring") && words.iter().all(|word| word != "auto"),
        "{words:?}"
    );
}
