//! What other programs read as if fio had written it.

use std::path::Path;

use assay_fio::{FioLogOptions, FioReport, LogPrefix, ReportForm, ReportForms, Reporting, TerseVersion};
use assay_fio::{fio_json, fio_json_with, fio_logs};
use serde_json::Value;

use assay_results::samples::{intervals_of, mixed_run, stb_run};

/// A document of fio 3.33 itself: two groups, one of them of two clones, reads, writes and flushes.
fn original() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio-group.json");
    let text = std::fs::read_to_string(path).expect("the sample is in the repository");
    serde_json::from_str(&text).expect("fio writes JSON")
}

fn ours(plus: bool) -> Value {
    serde_json::from_str(&fio_json(&mixed_run(), plus)).expect("JSON")
}

/// Paths of all members with the kind of their value. Names that are values (percentiles, buckets, options) are left
/// out; of a list the first item speaks for all.
fn members(value: &Value, path: &str, into: &mut Vec<(String, &'static str)>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    into.push((path.to_owned(), kind));
    if ["percentile", "bins", "job options", "global options", "assay"].iter().any(|end| path.ends_with(end))
    {
        return;
    }
    match value {
        Value::Array(items) => {
            if let Some(first) = items.first() {
                members(first, &format!("{path}[]"), into);
            }
        }
        Value::Object(object) => {
            for (name, value) in object {
                members(value, &format!("{path}/{name}"), into);
            }
        }
        _ => {}
    }
}

fn list(value: &Value) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    members(value, "", &mut all);
    all
}

#[test]
fn every_member_of_fio_is_there_with_its_kind() {
    let mine = list(&ours(true));
    let missing: Vec<_> = list(&original()).into_iter().filter(|entry| !mine.contains(entry)).collect();
    // Latencies of what did not occur have no percentiles, in fio as in ours: our first job does not write flushes.
    let absent = ["/jobs[]/sync/lat_ns/percentile", "/jobs[]/sync/lat_ns/bins"];
    let missing: Vec<_> = missing.iter().filter(|entry| !absent.contains(&entry.0.as_str())).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn what_is_not_of_fio_is_marked() {
    let theirs: Vec<String> = list(&original()).into_iter().map(|entry| entry.0).collect();
    let later = ["read_sectors", "write_sectors", "total_err", "first_error", "desc", "job_start"];
    let extra: Vec<String> = list(&ours(true)).into_iter().map(|entry| entry.0).collect();
    for path in extra.iter().filter(|path| !theirs.contains(path)) {
        let known = path.ends_with("/assay") || later.iter().any(|name| path.ends_with(name));
        assert!(known, "{path}");
    }
}

#[test]
fn members_come_in_the_order_of_fio() {
    let text = fio_json(&mixed_run(), false);
    let order = [
        "\"fio version\" : \"fio-",
        "\"jobs\" : [",
        "\"jobname\" : \"oltp\"",
        "\"read\" : {",
        "\"io_bytes\" : ",
        "\"clat_ns\" : {",
        "\"bw_min\" : ",
        "\"write\" : {",
        "\"trim\" : {",
        "\"sync\" : {",
        "\"usr_cpu\" : ",
        "\"iodepth_level\" : {",
        "\"latency_ms\" : {",
        "\"disk_util\" : [",
    ];
    let mut at = 0;
    for needle in order {
        at += text[at..].find(needle).unwrap_or_else(|| panic!("{needle} behind {at}"));
    }
}

#[test]
fn numbers_are_those_of_the_run() {
    let run = mixed_run();
    let document = ours(true);
    let oltp = &document["jobs"][0];
    let read = run.phases[1].jobs[0].read.as_ref().expect("it reads");
    assert_eq!(oltp["read"]["total_ios"], read.ios);
    assert_eq!(oltp["read"]["io_bytes"], read.bytes);
    assert_eq!(oltp["read"]["io_kbytes"], read.bytes / 1024);
    assert_eq!(oltp["read"]["iops"], 42_000.0);
    assert_eq!(oltp["read"]["bw"], 336_000);
    assert_eq!(oltp["read"]["runtime"], 30_000);
    assert_eq!(oltp["read"]["clat_ns"]["N"], read.completion_ns.n);
    let bins = oltp["read"]["clat_ns"]["bins"].as_object().expect("JSON+ has bins");
    let sum: u64 = bins.values().filter_map(Value::as_u64).sum();
    assert_eq!(sum, read.completion_ns.n);
    let p99 = oltp["read"]["clat_ns"]["percentile"]["99.000000"].as_f64().expect("a number");
    let truth = read.completion_ns.p99.expect("enough values") as f64;
    assert!((p99 / truth - 1.0).abs() < 0.016, "{p99} {truth}");
    // One job of this phase is open loop.
    assert_eq!(document["jobs"][1]["groupid"], 1);
    assert_eq!(document["jobs"][2]["groupid"], 1);
    assert!(document["jobs"][1]["assay"]["response_ns"]["read"]["mean"].is_f64());
    assert_eq!(document["jobs"][1]["error"], 5);
    assert!(document["jobs"][0]["assay"]["response_ns"].is_null());
    assert_eq!(document["disk_util"][0]["name"], "nvme0n1");
}

#[test]
fn latency_tables_total_a_hundred() {
    for job in ours(false)["jobs"].as_array().expect("a list") {
        let tables = ["latency_ns", "latency_us", "latency_ms"];
        let columns = tables.iter().filter_map(|name| job[name].as_object()).flatten();
        let sum: f64 = columns.filter_map(|(_, share)| share.as_f64()).sum();
        assert!((sum - 100.0).abs() < 0.1, "{sum}");
    }
}

#[test]
fn samples_of_a_mix_take_the_stored_periods() {
    let mut run = mixed_run();
    run.phases[1].plan_phase = 1;
    run.phases[1].jobs[0].evidence.plan_jobs = vec![0];
    let without = ours(false);
    assert_eq!(without["jobs"][0]["read"]["iops_samples"], 0);
    assert_eq!(without["jobs"][2]["write"]["iops_samples"], 30);
    let intervals = intervals_of(&run, 1, 0);
    let with: Value = serde_json::from_str(&fio_json_with(&run, &intervals, false)).expect("JSON");
    let read = &with["jobs"][0]["read"];
    assert_eq!(read["iops_samples"], 30);
    let (min, mean, max) = (&read["iops_min"], &read["iops_mean"], &read["iops_max"]);
    assert!(min.as_f64() < mean.as_f64() && mean.as_f64() < max.as_f64(), "{min} {mean} {max}");
}

#[test]
fn only_json_plus_has_bins() {
    assert!(!fio_json(&mixed_run(), false).contains("\"bins\""));
    assert!(fio_json(&mixed_run(), true).contains("\"bins\""));
}

#[test]
fn json_of_runs() {
    insta::assert_snapshot!("fio_json_mixed", fio_json(&mixed_run(), false));
    let mut one = stb_run();
    one.phases.truncate(1);
    insta::assert_snapshot!("fio_json_plus", fio_json(&one, true));
}

#[test]
fn text_of_runs() {
    let forms = |forms: &[ReportForm], terse| ReportForms { forms: forms.to_vec(), terse };
    let print = |forms: ReportForms| forms.print(&mixed_run(), &[], &Reporting::default());
    insta::assert_snapshot!("fio_normal", print(forms(&[ReportForm::Normal], TerseVersion::V3)));
    let terse = [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5];
    let terse: String = terse.map(|version| print(forms(&[ReportForm::Terse], version))).concat();
    insta::assert_snapshot!("fio_terse", terse);
    // All forms are there, each once, people's last.
    let all = print(forms(&[ReportForm::Normal, ReportForm::Json, ReportForm::Terse], TerseVersion::V3));
    let at = |what: &str| all.find(what).unwrap_or_else(|| panic!("{what} in {all}"));
    let order = ["Starting ", "\n3;fio-", "\n{\n", "Run status group 0", "\nassay: "].map(at);
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn several_machines_are_added_up() {
    let one = FioReport::read(&fio_json(&mixed_run(), true)).expect("JSON of fio");
    let (alone, both) = (
        FioReport::all_clients(std::slice::from_ref(&one)),
        FioReport::all_clients(&[one.clone(), one.clone()]),
    );
    for text in [&alone, &both] {
        assert!(text.starts_with("All clients: (groupid=1, jobs="), "{text}");
        assert!(text.contains("clat percentiles"), "{text}");
    }
    let issued = |text: &str| {
        let line = text.lines().find(|line| line.contains("issued rwts")).expect("a line").to_owned();
        let total =
            line.split("total=").nth(1).expect("a total").split(' ').next().expect("numbers").to_owned();
        total.split(',').map(|count| count.parse::<u64>().expect("a number")).collect::<Vec<_>>()
    };
    let twice: Vec<u64> = issued(&alone).iter().map(|count| count * 2).collect();
    assert_eq!(issued(&both), twice);
    // The same latencies twice are the same latencies.
    let latency = |text: &str| {
        text.lines().filter(|line| line.contains(" lat (")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(latency(&alone), latency(&both));
    assert_eq!(FioReport::all_clients(&[]), "");
}

/// The mixed run with periods of its mixed job, and the numbers of plan and job in place.
fn logged() -> (assay_results::Run, Vec<assay_results::Interval>) {
    let mut run = mixed_run();
    run.phases[1].plan_phase = 1;
    run.phases[1].jobs[0].evidence.plan_jobs = vec![0];
    let intervals = intervals_of(&run, 1, 0);
    (run, intervals)
}

#[test]
fn logs_of_a_mix() {
    let (run, intervals) = logged();
    let files = fio_logs(&run, &intervals, &FioLogOptions::default());
    let names: Vec<&str> = files.iter().map(|file| file.0.as_str()).collect();
    assert_eq!(names, ["oltp_bw.1.log", "oltp_iops.1.log", "oltp_lat.1.log", "oltp_clat.1.log"]);
    let head = |index: usize| files[index].1.lines().take(4).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!("fio_logs", format!("{}\n\n{}\n\n{}", head(0), head(1), head(3)));
    assert_eq!(files[1].1.lines().count(), 60);
}

#[test]
fn a_stall_is_seen() {
    let (run, mut intervals) = logged();
    intervals[7].counts = assay_results::JobCounts::default();
    let files = fio_logs(&run, &intervals, &FioLogOptions::default());
    assert_eq!(files[1].1.lines().filter(|line| line.starts_with("8000, 0, ")).count(), 2);
    assert!(!files[2].1.lines().any(|line| line.starts_with("8000, ")));
}

#[test]
fn ramps_and_shreds_are_left_out() {
    let (run, mut intervals) = logged();
    intervals[0].key.ramp = true;
    intervals[29].key.length_ns = 1_000_000;
    intervals.reverse();
    let files = fio_logs(&run, &intervals, &FioLogOptions { offset: true, ..FioLogOptions::default() });
    let lines: Vec<&str> = files[0].1.lines().collect();
    assert_eq!(lines.len(), 56);
    assert!(lines[0].starts_with("1000, ") && lines[0].ends_with(", 0, 0, 0, 0"), "{}", lines[0]);
}

#[test]
fn names_for_fio_plot_and_names_that_are_no_directories() {
    let (mut run, intervals) = logged();
    let plot = FioLogOptions { prefix: LogPrefix::FioPlot, offset: false };
    assert_eq!(fio_logs(&run, &intervals, &plot)[0].0, "randrw-iodepth-16-numjobs-4_bw.1.log");
    // A repetition of the same is not to be added to it.
    let mut again = run.phases[1].clone();
    again.jobs.truncate(1);
    run.phases.push(again);
    let files = fio_logs(&run, &intervals, &plot);
    assert_eq!(files[4].0, "randrw-iodepth-16-numjobs-4-2_bw.2.log");
    run.phases[1].jobs[0].name = "../a/b".to_owned();
    assert_eq!(fio_logs(&run, &intervals, &FioLogOptions::default())[0].0, ".._a_b_bw.1.log");
}

#[test]
fn what_is_written_can_be_imported() {
    let run = mixed_run();
    let back = assay_fio::import(&fio_json(&run, true)).expect("of fio").expect("it is fio's JSON");
    let (mine, theirs) = (&run.phases[1].jobs[0], &back.phases[0].jobs[0]);
    assert_eq!(theirs.name, mine.name);
    for (mine, theirs) in [(&mine.read, &theirs.read), (&mine.write, &theirs.write)] {
        let (mine, theirs) = (mine.as_ref().expect("done"), theirs.as_ref().expect("done"));
        assert_eq!((theirs.ios, theirs.bytes, theirs.iops), (mine.ios, mine.bytes, mine.iops));
        assert_eq!(theirs.completion_ns.n, mine.completion_ns.n);
        let (a, b) = (mine.completion_ns.p99_9.expect("enough"), theirs.completion_ns.p99_9.expect("enough"));
        assert!((a as f64 / b as f64 - 1.0).abs() < 0.016, "{a} {b}");
    }
    assert!(
        back.assay.latency_definition.as_ref().is_some_and(|own| own.starts_with("completion latency")),
        "{:?}",
        back.assay
    );
    // And written again it is the same but for who wrote it.
    let (once, again) = (fio_json(&run, true), fio_json(&back, true));
    let numbers = |text: &str| {
        let document: Value = serde_json::from_str(text).expect("JSON");
        ["read", "write"].map(|side| document["jobs"][0][side]["clat_ns"].clone())
    };
    assert_eq!(numbers(&once), numbers(&again));
}
