#[cfg(feature = "schema")]
use std::path::{Path, PathBuf};

#[cfg(feature = "schema")]
use serde_json::{Value, json};

use super::validator::validate;
use crate::environment::{
    CgroupDeviceLimit, ExtentSummary, LoopBacking, RaidArray, TargetEnvironment, Turbo, ZramDevice,
};
use crate::event::{HostClock, HostId, LostReason};
use crate::evidence::{QuietWindow, Remark, WorkerReport};
use crate::fixture;
use crate::hosts::{CommonWindow, HostLoss, HostPhase, RunHost};
use crate::over_time::IopsOverTime;
use crate::run::{LatencySummary, Metric, Run};

#[cfg(feature = "schema")]
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas")
}

/// A run in which every kind of record occurs.
fn full_run() -> Run {
    let mut run = fixture::run();
    let target = &mut run.environment.targets[0];
    target.extents = Some(ExtentSummary::default());
    target.devices[0].loop_backing = Some(LoopBacking::default());
    target.devices[0].zram = Some(ZramDevice::default());
    target.devices[0].raid = Some(RaidArray::default());
    run.environment.targets.push(TargetEnvironment::default());
    run.environment.machine.cpu.turbo = Some(Turbo::Off);
    run.environment.cgroup.devices.push(CgroupDeviceLimit::default());
    run.remarks.push(Remark {
        phase: Some(0),
        id: "clock-unstable".to_owned(),
        text: "it jumped".to_owned(),
    });
    let why = LostReason::Exited { status: Some(1) };
    run.hosts.push(RunHost {
        id: HostId(1),
        name: "b".to_owned(),
        environment: run.environment.clone(),
        clock: Some(HostClock::default()),
        lost: Some(HostLoss { phase: 0, why }),
    });
    let phase = &mut run.phases[0];
    phase.hosts.push(HostPhase { device: phase.device.clone(), ..HostPhase::default() });
    phase.evidence.quiet_before = Some(QuietWindow::default());
    let metric = Metric { value: 1.5, unit: "TPM".to_owned(), n: 3, interval: Some((1.0, 2.0)), basis: None };
    phase.metrics.insert("transactions".to_owned(), metric);
    let job = &mut phase.jobs[0];
    let over_time = Some(IopsOverTime { step_s: 1.0, iops: vec![1.5, 2.0] });
    job.evidence.workers.push(WorkerReport { over_time, ..WorkerReport::default() });
    assert!(job.latency_over_time.is_some());
    job.evidence.common = Some(CommonWindow::default());
    job.lateness_ns = Some(LatencySummary::default());
    job.flush = job.read.clone();
    job.errors_by_kind.push(("EIO".to_owned(), 1));
    crate::checks::judge(&mut run);
    assert!(!run.findings.is_empty());
    run
}

#[test]
fn a_full_run_fits_the_published_schema() {
    let run = serde_json::to_value(full_run()).unwrap();
    assert_eq!(validate("run-1.json", &run), Vec::<String>::new());
}

#[test]
fn a_stored_run_reads_back_as_it_was() {
    let run = full_run();
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
}

#[test]
fn plans_and_baselines_fit_theirs() {
    let plan = serde_json::to_value(fixture::run().plan).unwrap();
    assert_eq!(validate("plan-1.json", &plan), Vec::<String>::new());
    let mut baselines = crate::baseline::builtins();
    baselines.push(crate::baseline::Baseline::of_run("mine", &fixture::run()));
    for baseline in baselines {
        let baseline = serde_json::to_value(baseline).unwrap();
        assert_eq!(validate("baseline-1.json", &baseline), Vec::<String>::new());
    }
}

#[test]
fn comparisons_fit_theirs() {
    use crate::compare::{CompareOptions, Side, compare};
    let first = full_run();
    let runs: Vec<Run> = (0..10)
        .map(|index| {
            let mut run = first.clone();
            run.id = format!("run{index}");
            run.phases[0].jobs[0].total.iops *= 1.0 + 0.01 * f64::from(index % 5);
            run
        })
        .collect();
    let mut other = first.clone();
    other.phases[0].jobs[0].outstanding_io += 1;
    other.environment.machine.kernel_release = Some("6.9".to_owned());
    let all: Vec<&Run> = runs.iter().collect();
    // By ranks, by what single runs are assumed to differ by, and not comparable.
    let pairs = [(&all[..5], &all[5..]), (&all[..1], &all[1..2]), (&all[..1], &[&other][..])];
    for (a, b) in pairs {
        let sides = [Side::new("a", a.to_vec()), Side::new("b", b.to_vec())];
        let found = compare(&sides, &CompareOptions::default()).unwrap();
        let found = serde_json::to_value(found).unwrap();
        assert_eq!(validate("comparison-1.json", &found), Vec::<String>::new());
    }
}

#[test]
fn probes_fit_theirs() {
    use crate::probe::{Ask, ProbeSpec, Prober};
    let spec = ProbeSpec { region_bytes: 64 << 20, chunk_bytes: 64 << 10, block_bytes: 4 << 10, seed: 3 };
    let mut prober = Prober::new(spec).unwrap();
    let mut took = 0;
    // A cache that holds everything: a fast second reading of each chunk.
    let mut seen = std::collections::BTreeSet::new();
    while let Ask::Read { offset_bytes, .. } = prober.next(took) {
        took = if seen.insert(offset_bytes >> 16) { 100_000 } else { 2_000 };
    }
    let mut probe = prober.finish();
    probe.target = fixture::run().environment.targets[0].clone();
    let probe = serde_json::to_value(probe).unwrap();
    assert!(!probe["levels"].as_array().unwrap().is_empty());
    assert_eq!(validate("probe-1.json", &probe), Vec::<String>::new());
}

#[test]
fn a_run_that_does_not_fit_is_noticed() {
    let mut run = serde_json::to_value(full_run()).unwrap();
    run["verdict"] = "perhaps".into();
    run["phases"][0]["jobs"][0]["total"]["latency"] = 1.into();
    let errors = validate("run-1.json", &run);
    assert!(errors.iter().any(|error| error.starts_with("/verdict")), "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("/total/latency: not in the schema")), "{errors:?}");
}

#[cfg(feature = "schema")]
#[test]
fn the_published_schemas_are_those_of_the_types() {
    super::assert_published(&super::published(Vec::new()), &directory());
}

#[cfg(feature = "schema")]
#[test]
fn what_a_document_shares_with_an_earlier_one_is_there_once() {
    let document = |file: &str, title: &str, defs: Value| {
        let uses: Vec<Value> = defs.as_object().unwrap().keys().map(|name| to(name)).collect();
        json!({"$id": file, "title": title, "properties": {"all": {"prefixItems": uses}}, "$defs": defs})
    };
    fn to(name: &str) -> Value {
        json!({"$ref": format!("#/$defs/{name}")})
    }
    let kind = |word: &str| json!({"const": word});
    let first =
        document("first.json", "First", json!({"Kind": kind("a"), "Of": to("Kind"), "Size": kind("s")}));
    let defs = json!({"First": {"properties": first["properties"]}, "Kind": kind("b"), "Of": to("Kind"), "Size": kind("s"), "Sizes": to("Size")});
    let linked = super::links::linked(vec![first.clone(), document("second.json", "Second", defs)]);
    assert_eq!(linked[0], first);
    let refs = &linked[1]["properties"]["all"]["prefixItems"];
    let local = |name: &str| json!(format!("#/$defs/{name}"));
    assert_eq!(refs[0]["$ref"], json!("first.json"), "a whole document");
    assert_eq!((&refs[1]["$ref"], &refs[2]["$ref"]), (&local("Kind"), &local("Of")), "alike in words only");
    assert_eq!(refs[3]["$ref"], json!("first.json#/$defs/Size"));
    let left: Vec<&String> = linked[1]["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["Kind", "Of", "Sizes"]);
    assert_eq!(linked[1]["$defs"]["Sizes"]["$ref"], json!("first.json#/$defs/Size"));
}
