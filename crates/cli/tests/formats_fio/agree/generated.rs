//! Generated jobs through real fio and through `assay fio`, with a log of every I/O of both: what they do has to be the same.
//!
//! Options come about as often as job files of others use them (rw, engines, block sizes, depths, limits), sizes are small.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::Command;

use assay_workload::pattern::OpKind;
use serde_json::Value;

use super::{Traced, fio};
use crate::bounded::Bounded as _;
use crate::has_fio;
use crate::support::Place;

const FILES: u64 = 8;
const JOBS: usize = 8;
/// How many deviations two counts of one chance may be apart.
const DEVIATIONS: f64 = 5.0;

/// A generator with a fixed start: the same jobs each time.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        // Constants of Knuth's MMIX; the upper bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// One of these, by how often files use it.
    fn of(&mut self, choices: &[(&'static str, u64)]) -> &'static str {
        let mut at = self.next(choices.iter().map(|(_, weight)| weight).sum());
        for (choice, weight) in choices {
            if at < *weight {
                return choice;
            }
            at -= weight;
        }
        choices[0].0
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.next(many) == 0
    }
}

impl Job {
    /// Whether the place that is written last in a file is drawn.
    fn ends_by_chance(&self) -> bool {
        let lines = &self.lines;
        let grows = lines.contains("write\n") && !lines.contains("overwrite=1");
        // A walk of blocks whose sizes are drawn, in a file that grows by them.
        if grows && self.sizes && lines.contains("fallocate=none") {
            return true;
        }
        let written = grows && lines.starts_with("rw=randwrite");
        written && (self.places || self.lines.contains("number_ios") || self.lines.contains("io_size"))
    }
}

/// A job, and what chance decides of it.
struct Job {
    lines: String,
    /// Sizes are drawn.
    sizes: bool,
    /// Places are drawn, so that some are met again.
    places: bool,
    clones: usize,
}

fn job(draw: &mut Draw) -> Job {
    let rw = draw.of(&[
        ("randread", 682),
        ("write", 393),
        ("randwrite", 361),
        ("read", 260),
        ("randrw", 220),
        ("rw", 72),
    ]);
    let engine =
        draw.of(&[("libaio", 341), ("sync", 118), ("io_uring", 54), ("psync", 60), ("posixaio", 14)]);
    let queued = !matches!(engine, "sync" | "psync");
    let direct = queued || draw.one_in(3);
    let random = rw.starts_with("rand");
    let mut lines = format!("rw={rw}\nioengine={engine}\ndirect={}\n", u8::from(direct));
    let depth = draw.of(&[("1", 375), ("16", 135), ("32", 167), ("8", 82), ("4", 57)]);
    let _ = writeln!(lines, "iodepth={}", if queued { depth } else { "1" });
    let sizes = draw.one_in(6);
    if sizes {
        lines += draw.of(&[("bssplit=4k/50:8k/30:32k/20\n", 2), ("bsrange=4k-16k\n", 1)]);
        // With a map, or with bytes that may reach the size before, chance would decide how many there are.
        let map = if random { "norandommap\n" } else { "" };
        let _ = write!(lines, "number_ios={}\n{map}", 12 + draw.next(12));
    } else {
        let _ = writeln!(
            lines,
            "bs={}",
            draw.of(&[("4k", 434), ("8k", 126), ("16k", 79), ("64k", 83), ("32k", 60)])
        );
    }
    let _ = writeln!(
        lines,
        "size={}",
        draw.of(&[("1m", 22), ("512k", 13), ("2m", 10), ("768k", 5), ("1000k", 5)])
    );
    // Reads and writes of a walk have cursors of their own: how far each comes depends on the mix.
    let mut places = sizes && random || rw == "rw";
    let (placed, drawn, zones) = placement(draw, rw, sizes);
    lines += placed;
    places |= drawn;
    if rw.ends_with("rw") {
        let _ = writeln!(lines, "rwmixread={}", draw.of(&[("70", 4), ("30", 2), ("90", 1)]));
    }
    let limit = if sizes || zones { "" } else { limit(draw, rw.ends_with("rw")) };
    lines += limit;
    // fio 3.33 counts flushes of several outstanding writes and of mixed jobs in a way of its own.
    if rw.ends_with("write") && (!queued || depth == "1") && draw.one_in(3) {
        lines += draw.of(&[("fsync=4\n", 19), ("fdatasync=8\n", 7), ("fsync=1\n", 5)]);
    }
    lines += draw.of(&[
        ("", 12),
        ("end_fsync=1\n", 31),
        ("refill_buffers\n", 26),
        ("invalidate=0\n", 36),
        ("fallocate=none\n", 63),
        ("overwrite=1\n", 10),
    ]);
    let clones = if draw.one_in(4) { 2 } else { 1 };
    if clones > 1 {
        lines += "numjobs=2\n";
    } else if !zones && draw.one_in(4) {
        lines += "nrfiles=2\n";
        // Blocks of both files count by their place alone: of a part of them some have the same.
        places |= random && (limit.starts_with("io_size") || limit.starts_with("number_ios"));
    }
    Job { lines, sizes, places, clones }
}

/// Where blocks go: the lines, whether places are drawn, and whether there are zones.
fn placement(draw: &mut Draw, rw: &str, sizes: bool) -> (&'static str, bool, bool) {
    let random = rw.starts_with("rand");
    if random && !sizes && draw.one_in(4) {
        let lines = draw.of(&[
            ("norandommap\n", 136),
            ("random_distribution=zipf:1.1\n", 15),
            ("percentage_random=60\n", 11),
            ("random_distribution=normal:20\n", 3),
        ]);
        return (lines, true, false);
    }
    if sizes || rw == "rw" || !draw.one_in(8) {
        return ("", false, false);
    }
    // Zones hold whole blocks, and the file whole zones; the bytes are given, so that no pass ends the job.
    let lines = draw.of(&[
        ("zonemode=strided\nzonesize=64k\nzoneskip=64k\nio_size=512k\nfilesize=1m\nsize=1m\n", 10),
        ("zonemode=strided\nzonesize=64k\nzonerange=128k\nio_size=512k\nfilesize=1m\nsize=1m\n", 3),
    ]);
    // fio 3.33 forgets which blocks of a zone were done only where the bytes so far are whole zones.
    (lines, random && lines.contains("zonerange"), true)
}

fn limit(draw: &mut Draw, mixed: bool) -> &'static str {
    draw.of(&[
        ("", 60),
        ("loops=2\n", 69),
        ("number_ios=40\n", 7),
        ("io_size=256k\n", 16),
        (if mixed { "" } else { "offset=64k\n" }, 26),
    ])
}

/// What one side did in one job.
#[derive(Debug)]
struct Did {
    ios: [u64; 2],
    bytes: u64,
    flushes: u64,
    blocks: usize,
    sizes: BTreeMap<u64, u64>,
}

fn did(trace: &[Traced], entry: &Value) -> Did {
    let each = |field: &str| ["read", "write"].map(|name| entry[name][field].as_u64().unwrap_or(0));
    let blocks = |io: &Traced| io.offset_bytes / 4096..(io.offset_bytes + io.len_bytes).div_ceil(4096);
    let distinct: BTreeSet<u64> = trace.iter().flat_map(blocks).collect();
    let mut sizes = BTreeMap::new();
    trace.iter().for_each(|io| *sizes.entry(io.len_bytes).or_default() += 1);
    let counted =
        [OpKind::Read, OpKind::Write].map(|kind| trace.iter().filter(|io| io.kind == kind).count() as u64);
    let ios = each("total_ios");
    assert_eq!(counted, ios, "I/Os of the log and of the report");
    let flushes = entry["sync"]["total_ios"].as_u64().unwrap_or(0);
    Did { ios, bytes: each("io_bytes").iter().sum(), flushes, blocks: distinct.len(), sizes }
}

/// Runs `job.fio` of a place of its own; what was done by clone, and the sizes of the files that are left.
fn run(program: &str, first: &[&str], text: &str) -> (Vec<Did>, BTreeMap<String, u64>) {
    let place = Place::new();
    place.file("job.fio", text);
    let mut command = Command::new(program);
    command.args(first).args(["--output-format=json", "--output=report.json"]);
    command.args(["--write_lat_log=each", "--log_offset=1", "job.fio"]);
    command.current_dir(place.path()).env("ASSAY_RUNS", place.path().join("runs"));
    let output = command.output_in_time().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program}: {said}\n{text}");
    let text = place.read("report.json");
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("a report");
    let entries = report["jobs"].as_array().expect("jobs").iter();
    let jobs = (1..)
        .zip(entries)
        .map(|(number, entry)| did(&fio::log(&place.read(&format!("each_lat.{number}.log"))), entry));
    let jobs = jobs.collect();
    let files = std::fs::read_dir(place.path()).expect("a directory").filter_map(|entry| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("a name");
        let is_data = name.starts_with('g') && !name.ends_with(".log");
        is_data.then(|| (name, entry.metadata().expect("a file").len()))
    });
    (jobs, files.collect())
}

/// Whether two counts of `n` are as far apart as chance allows.
fn is_chance(a: u64, b: u64, n: u64) -> bool {
    let share = (a + b) as f64 / (2 * n.max(1)) as f64;
    let deviation = (2.0 * n as f64 * share * (1.0 - share).max(0.0)).sqrt();
    a.abs_diff(b) as f64 <= DEVIATIONS * deviation + 2.0
}

fn compare(job: &Job, assay: &Did, fio: &Did) {
    let what = format!("{}\nassay {assay:?}\nfio   {fio:?}", job.lines);
    let n: u64 = fio.ios.iter().sum();
    assert_eq!(assay.ios.iter().sum::<u64>(), n, "I/Os: {what}");
    assert!(is_chance(assay.ios[0], fio.ios[0], n), "mix: {what}");
    // fio 3.33 flushes once more where a loop begins right behind a write that was due a flush (32 for 31 of 2 x 16 writes); fio 3.42
    // does as Assay does.
    let again = u64::from(job.lines.contains("loops=2"));
    let flushes = assay.flushes..=assay.flushes + again;
    // fio 3.33 counts none of fdatasync; 3.42 does.
    let uncounted = job.lines.contains("fdatasync") && fio.flushes == 0;
    assert!(uncounted || flushes.contains(&fio.flushes), "flushes: {what}");
    let sizes: BTreeSet<u64> = assay.sizes.keys().chain(fio.sizes.keys()).copied().collect();
    for size in sizes {
        let of = |did: &Did| did.sizes.get(&size).copied().unwrap_or(0);
        assert!(is_chance(of(assay), of(fio), n), "blocks of {size}: {what}");
    }
    if !job.sizes {
        assert_eq!(assay.bytes, fio.bytes, "bytes: {what}");
    }
    if job.places || job.sizes {
        let slack = DEVIATIONS * (fio.blocks as f64).sqrt() * if job.sizes { 2.0 } else { 1.0 };
        assert!(assay.blocks.abs_diff(fio.blocks) as f64 <= slack, "distinct blocks: {what}");
    } else {
        assert_eq!(assay.blocks, fio.blocks, "distinct blocks: {what}");
    }
}

/// Jobs of one file, one behind the other.
fn both_do_the_same(file: u64) {
    if !has_fio() {
        return;
    }
    let mut draw = Draw(0x9e37_79b9 + file);
    let jobs: Vec<Job> = (0..JOBS).map(|_| job(&mut draw)).collect();
    let sections =
        jobs.iter().enumerate().map(|(index, job)| format!("[g{index}]\nstonewall\n{}", job.lines));
    let text = sections.collect::<String>();
    let (by_assay, own) = run(env!("CARGO_BIN_EXE_assay"), &["fio", "--watch", "counters"], &text);
    let (by_fio, theirs) = run("fio", &[], &text);
    let of_clones = jobs.iter().flat_map(|job| std::iter::repeat_n(job, job.clones));
    assert_eq!(
        (by_assay.len(), by_fio.len()),
        (of_clones.clone().count(), of_clones.clone().count()),
        "{text}"
    );
    of_clones.zip(by_assay.iter().zip(&by_fio)).for_each(|(job, (assay, fio))| compare(job, assay, fio));
    assert_eq!(own.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>(), "{text}");
    for (name, bytes) in &own {
        let index = name[1..].split('.').next().and_then(|index| index.parse::<usize>().ok());
        // A file that is only written ends with the last block that is met: where places are drawn, chance decides.
        let drawn = index.is_some_and(|index| jobs[index].ends_by_chance());
        assert!(drawn || theirs[name] == *bytes, "{name} has {bytes} bytes, {} by fio: {text}", theirs[name]);
    }
}

#[test]
fn generated_jobs_do_the_same_as_in_fio() {
    (0..FILES).for_each(both_do_the_same);
}
