//! fio's side: a run with a log of every I/O.

use std::process::Command;

use assay_workload::pattern::OpKind;
use serde_json::Value;

use super::assay::Job;
use super::{Did, End, Traced};
use crate::bounded::Bounded as _;
use crate::support::Place;

/// Runs `job.fio`; the jobs have as many clones as Assay's have threads.
pub(super) fn run(place: &Place, names: &[(&str, End)], by_assay: &[Job]) -> Vec<Did> {
    let mut command = Command::new("fio");
    command.args(["--output-format=json", "--output=fio.json", "--write_lat_log=each", "--log_offset=1"]);
    let output = command.arg("job.fio").current_dir(place.path()).output_in_time().expect("fio starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let text = place.read("fio.json");
    // Whatever fio has to say stands before its document.
    let document = text.find('{').map_or("", |at| &text[at..]);
    let report: Value = serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {text}"));
    let entries = report["jobs"].as_array().expect("jobs");
    let mut clones = 1..;
    names
        .iter()
        .zip(by_assay)
        .map(|((name, _), job)| {
            let mut did = Did::default();
            entries.iter().filter(|entry| entry["jobname"] == **name).for_each(|entry| add(&mut did, entry));
            for clone in clones.by_ref().take(job.threads) {
                did.trace.extend(log(&place.read(&format!("each_lat.{clone}.log"))));
            }
            did
        })
        .collect()
}

/// How many I/Os each clone of the only job of `text` does in fio, for so many seeds; without doing them.
pub(super) fn counts(place: &Place, text: &str, seeds: u64) -> Vec<u64> {
    let each = |seed| {
        let mut own = format!("[global]\nioengine=null\nrandseed={seed}\n");
        let replaced = ["ioengine", "randseed", "direct", "sync"];
        let option = |line: &&str| !replaced.contains(&line.split('=').next().unwrap_or_default().trim());
        text.lines().filter(option).for_each(|line| own += &format!("{line}\n"));
        place.file("counted.fio", &own);
        let mut command = Command::new("fio");
        command.args(["--output-format=json", "--output=counted.json", "counted.fio"]);
        let output = command.current_dir(place.path()).output_in_time().expect("fio starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = place.read("counted.json");
        let report: Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("fio's report");
        let clones = report["jobs"].as_array().expect("jobs").iter();
        let ios = |clone: &Value| {
            ["read", "write", "trim"].iter().filter_map(|name| clone[name]["total_ios"].as_u64()).sum()
        };
        clones.map(ios).collect::<Vec<u64>>()
    };
    (1..=seeds).flat_map(each).collect()
}

fn add(did: &mut Did, entry: &Value) {
    for name in ["read", "write", "trim"] {
        let ios = entry[name]["total_ios"].as_u64().unwrap_or(0);
        if ios > 0 {
            *did.totals.entry(name).or_default() += ios;
            *did.rates.entry(name).or_default() += entry[name]["iops"].as_f64().unwrap_or(0.0);
        }
    }
    let flushes = entry["sync"]["total_ios"].as_u64().unwrap_or(0);
    if flushes > 0 {
        *did.totals.entry("flush").or_default() += flushes;
    }
}

/// Lines of time, latency, direction, size and offset.
pub(super) fn log(text: &str) -> Vec<Traced> {
    let line = |line: &str| {
        let mut words = line.split(", ").skip(2).map(|word| word.trim().parse::<u64>().ok());
        let (kind, len_bytes, offset_bytes) = (words.next()??, words.next()??, words.next()??);
        let kind = *OpKind::DATA.get(kind as usize)?;
        Some(Traced { kind, offset_bytes, len_bytes })
    };
    text.lines().map(|text| line(text).unwrap_or_else(|| panic!("a line of fio's log: {text}"))).collect()
}
