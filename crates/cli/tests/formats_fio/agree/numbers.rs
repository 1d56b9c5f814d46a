//! Numbers that a job file states: I/Os, bytes, blocks and flushes, of generated job files through both.
//!
//! What fio does differently from version to version is left out here, and stands in the tests of the lowering and of the loop.

use std::collections::BTreeSet;
use std::process::Command;

use assay_workload::Plan;
use serde_json::Value;

use super::assay;
use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::Place;

/// What one side did in all jobs of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Numbers {
    ios: u64,
    bytes: u64,
    flushes: u64,
    /// Blocks of 4 KiB that were met.
    blocks: usize,
    /// Passes of the region whose blocks were those of the pass before, and how many could have been.
    repeated: (usize, usize),
}

const BLOCK_BYTES: u64 = 4096;

fn of_trace(trace: &[(u64, u64)], pass_bytes: u64) -> (usize, (usize, usize)) {
    let blocks = |ios: &[(u64, u64)]| -> Vec<u64> {
        let one = |&(offset, len): &(u64, u64)| (offset / BLOCK_BYTES)..(offset + len).div_ceil(BLOCK_BYTES);
        let mut all: Vec<u64> = ios.iter().flat_map(one).collect();
        all.sort_unstable();
        all
    };
    let distinct: BTreeSet<u64> = blocks(trace).into_iter().collect();
    let mut passes = vec![Vec::new()];
    let mut left = pass_bytes;
    for io in trace {
        if left == 0 {
            passes.push(Vec::new());
            left = pass_bytes;
        }
        left = left.saturating_sub(io.1);
        passes.last_mut().expect("a pass").push(*io);
    }
    if left > 0 {
        passes.pop();
    }
    let passes: Vec<Vec<u64>> = passes.iter().map(|ios| blocks(ios)).collect();
    let same = passes.windows(2).filter(|pair| pair[0] == pair[1]).count();
    (distinct.len(), (same, passes.len().saturating_sub(1)))
}

fn document(text: &str) -> Value {
    let from = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[from..]).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn by_fio(place: &Place, pass_bytes: u64) -> Numbers {
    let mut command = Command::new("fio");
    command.args([
        "--output-format=json",
        "--output=fio.json",
        "--write_lat_log=each",
        "--log_offset=1",
        "job.fio",
    ]);
    let output = command.current_dir(place.path()).output_in_time().expect("fio starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = document(&place.read("fio.json"));
    let job = &report["jobs"][0];
    let sum = |field: &str| ["read", "write"].iter().filter_map(|name| job[name][field].as_u64()).sum();
    let trace: Vec<(u64, u64)> = super::fio::log(&place.read("each_lat.1.log"))
        .iter()
        .map(|io| (io.offset_bytes, io.len_bytes))
        .collect();
    let (blocks, repeated) = of_trace(&trace, pass_bytes);
    let flushes = job["sync"]["total_ios"].as_u64().unwrap_or(0);
    Numbers { ios: sum("total_ios"), bytes: sum("io_bytes"), flushes, blocks, repeated }
}

fn by_assay(place: &Place, pass_bytes: u64) -> Numbers {
    let said = place.assay(&["run", "job.fio", "--json", "--watch", "counters", "--allow-loss"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let run = document(&said.out);
    let plan: Plan = serde_json::from_value(run["plan"].clone()).expect("a plan in the run");
    let result = &run["phases"][0]["jobs"][0];
    let sum = |field: &str| ["read", "write"].iter().filter_map(|name| result[name][field].as_u64()).sum();
    let ios: u64 = sum("ios");
    let job = &plan.phases[0].jobs[0];
    let trace = assay::operations(job, &job.slices[0], ios as usize);
    let trace: Vec<(u64, u64)> = trace.iter().map(|io| (io.offset_bytes, io.len_bytes)).collect();
    let (blocks, repeated) = of_trace(&trace, pass_bytes);
    let flushes = result["flush"]["ios"].as_u64().unwrap_or(0);
    Numbers { ios, bytes: sum("bytes"), flushes, blocks, repeated }
}

fn job_file(lines: &str) -> String {
    format!("[j]\nfilename=a.dat\nbs=4k\n{}\n", lines.replace(' ', "\n"))
}

/// What both do with the lines in a file `a.dat` of a region of `pass_bytes`.
fn both(lines: &str, pass_bytes: u64) -> [Numbers; 2] {
    let place = Place::new();
    place.file("job.fio", &job_file(lines));
    let assay = by_assay(&place, pass_bytes);
    [assay, by_fio(&place, pass_bytes)]
}

const SYNC: &str = "ioengine=psync";
const QUEUED: &str = "ioengine=libaio direct=1 iodepth=8";

/// Passes that repeat do so with both, and those that do not meet as many blocks as chance allows.
#[test]
fn the_same_jobs_repeat_their_addresses() {
    if !has_fio() {
        return;
    }
    let orders = [
        "",
        "norandommap",
        "random_distribution=zipf:1.2",
        "random_distribution=pareto:0.3",
        "random_distribution=normal:20",
        "random_distribution=zoned:50/10:50/90",
        "random_generator=lfsr",
        "random_generator=lfsr norandommap",
        "percentage_random=50",
        "randrepeat=0",
        "randseed=5",
    ];
    let ends = ["loops=4", "io_size=4m", "io_size=4m time_based runtime=1 rate_iops=1500"];
    for engine in [SYNC, QUEUED] {
        for rw in ["randread", "randwrite"] {
            // Writes differ from reads without a map, and a time from other ends with any engine.
            let orders = if rw == "randread" { &orders[..] } else { &orders[..2] };
            let ends = if (engine, rw) == (SYNC, "randread") { &ends[..] } else { &ends[..2] };
            for (order, end) in orders.iter().flat_map(|order| ends.iter().map(move |end| (*order, *end))) {
                let lines = format!("rw={rw} size=1m {engine} {order} {end}");
                let [assay, fio] = both(&lines, 1 << 20);
                let repeats = |numbers: &Numbers| numbers.repeated.0 * 2 > numbers.repeated.1;
                assert_eq!(repeats(&assay), repeats(&fio), "{lines}: {assay:?} {fio:?}");
                if !end.contains("time_based") {
                    assert_eq!((assay.ios, assay.bytes), (fio.ios, fio.bytes), "{lines}");
                }
                // Generators of two kinds meet about as many blocks: six deviations. fio's normal distribution is narrower than
                // the deviation that is asked for.
                let bound = if order.contains("normal") { 256 } else { 26 };
                assert!(assay.blocks.abs_diff(fio.blocks) <= bound, "{lines}: {assay:?} {fio:?}");
            }
        }
    }
}

#[test]
fn whole_blocks_are_done_up_to_the_limit() {
    if !has_fio() {
        return;
    }
    let limits = [
        "size=1m io_size=1000000",
        "size=10k",
        "size=10k loops=3",
        "size=64k io_size=70k",
        "size=64k io_size=30k loops=3",
        "size=64k number_ios=10",
        "size=64k number_ios=20 loops=3",
        "size=64k number_ios=10 loops=3",
        "size=64k offset=6k loops=2",
    ];
    let patterns =
        ["rw=read", "rw=write", "rw=randread", "rw=randwrite norandommap", "rw=randread bssplit=4k/50:8k/50"];
    for (engine, limits) in [(SYNC, &limits[..]), (QUEUED, &limits[..4])] {
        for limit in limits {
            for pattern in patterns {
                let lines = format!("{engine} {pattern} {limit}");
                let [assay, fio] = both(&lines, 1 << 20);
                if pattern.contains("bssplit") && limit.contains("number_ios") {
                    // Chance decides whether the bytes or the I/Os are reached first.
                    continue;
                }
                // With sizes that differ the last block of a part of a pass is one or the other.
                let slack = if pattern.contains("bssplit") { 8192 } else { 0 };
                assert!(assay.bytes.abs_diff(fio.bytes) <= slack, "{lines}: {assay:?} {fio:?}");
                if slack == 0 {
                    assert_eq!(assay.ios, fio.ios, "{lines}");
                }
            }
        }
    }
}

/// With several outstanding as many as with one, as fio has it from 3.42 on.
#[test]
fn flushes_follow_every_so_many_writes() {
    if !has_fio() {
        return;
    }
    for (every, size) in [(1, "16k"), (3, "1m"), (10, "1m"), (256, "1m"), (300, "1m")] {
        for rw in ["write", "randwrite"] {
            let lines = |engine: &str| format!("rw={rw} size={size} {engine} fsync={every}");
            let [assay, fio] = both(&lines(SYNC), 1 << 20);
            assert_eq!((assay.ios, assay.flushes), (fio.ios, fio.flushes), "{}", lines(SYNC));
            let place = Place::new();
            place.file("job.fio", &job_file(&lines(QUEUED)));
            assert_eq!(by_assay(&place, 1 << 20).flushes, fio.flushes, "{}", lines(QUEUED));
        }
    }
}

#[test]
fn a_latency_target_does_not_do_more_than_the_size() {
    if !has_fio() {
        return;
    }
    let [assay, fio] = both(
        "rw=randread size=4m ioengine=libaio direct=1 iodepth=8 latency_target=10s latency_window=2s",
        4 << 20,
    );
    assert_eq!((assay.ios, assay.blocks), (fio.ios, fio.blocks));
}

/// Reads and writes of all jobs of a report.
fn directions(jobs: &Value, field: &str) -> [u64; 2] {
    let jobs = jobs.as_array().expect("jobs");
    ["read", "write"].map(|name| jobs.iter().filter_map(|job| job[name][field].as_u64()).sum())
}

/// Every direction that has a rate keeps it with both, whatever the other one does, and one without a rate is not held back.
#[test]
fn each_direction_keeps_its_rate() {
    if !has_fio() {
        return;
    }
    let cases = [
        ("rate_iops=500,50", SYNC, [Some(500), Some(50)]),
        ("rate_iops=400,", QUEUED, [Some(400), None]),
        ("rate_iops=,50 rwmixread=10", SYNC, [None, Some(50)]),
        ("rate=1m,512k", "ioengine=libaio direct=1 iodepth=16", [Some(256), Some(128)]),
        ("rate_iops=200,100 rwmixread=90 numjobs=3", SYNC, [Some(600), Some(300)]),
        ("rate_iops=400,100 rate_process=poisson", QUEUED, [Some(400), Some(100)]),
        // No storage is as fast as the first rate: the second one is kept.
        ("rate_iops=100000000,200", SYNC, [None, Some(200)]),
    ];
    for (rates, engine, due) in cases {
        // Another process may take the disk for a second: what is not so is never so.
        let kept = (0..2).any(|_| rates_kept(rates, engine, due).is_ok());
        if !kept && let Err(why) = rates_kept(rates, engine, due) {
            panic!("{why}");
        }
    }
}

/// Whether both did in a second what is due of reads and writes; `None`: without a limit.
fn rates_kept(rates: &str, engine: &str, due: [Option<u32>; 2]) -> Result<(), String> {
    let place = Place::new();
    let lines = format!("rw=randrw norandommap size=4m time_based runtime=1 {engine} {rates}");
    place.file("job.fio", &job_file(&lines));
    let said = place.assay(&["run", "job.fio", "--json", "--watch", "counters", "--allow-loss"]);
    assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
    let assay = directions(&document(&said.out)["phases"][0]["jobs"], "ios");
    let mut command = Command::new("fio");
    let run =
        command.args(["--output-format=json", "--output=fio.json", "job.fio"]).current_dir(place.path());
    assert!(run.status_in_time().expect("fio starts").success(), "{lines}");
    let fio = directions(&document(&place.read("fio.json"))["jobs"], "total_ios");
    for ((assay, fio), due) in assay.into_iter().zip(fio).zip(due) {
        let Some(due) = due else {
            match assay > 1000 && fio > 1000 {
                true => continue,
                false => return Err(format!("{lines}: {assay} and {fio} without a limit")),
            }
        };
        // A thread more or less of even arrivals; four deviations of those by chance, which fio cuts to whole microseconds.
        let slack =
            if rates.contains("poisson") { 4.0 * f64::from(due).sqrt() } else { 4.0 + 0.02 * f64::from(due) };
        for (who, done) in [("assay", assay), ("fio", fio)] {
            if (done as f64 - f64::from(due)).abs() > slack {
                return Err(format!("{lines}: {who} did {done} where {due} are due"));
            }
        }
    }
    Ok(())
}
