//! Runs made by hand, for the tests of renderers. Every number follows from a few constants, so that snapshots stay as they are.

pub mod odd;

use std::collections::BTreeMap;

use assay_workload::SweepPoint;

use crate::build::over_time::LatencySteps;
use crate::checks;
use crate::environment::{
    BlockDevice, Environment, FileSystem, Resolution, TargetEnvironment, TargetKind as EnvironmentKind,
};
use crate::evidence::MachineSecond;
use crate::over_time::LatencyOverTime;
use crate::run::{
    DeviceTruth, Finding, FindingSeverity, JobResult, LatencySummary, Metric, OpResult, PhaseResult,
    Producer, Run, SCHEMA, SeriesPoint, Verdict,
};
use crate::{Interval, IntervalKey, JobCounts, LatencyHistogram, RunEnd};
use assay_workload::host::HostId;
use assay_workload::job::{Arrival, Job, OpenSync, PhaseKind};
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::plan::{
    End, Offered, Pace, Plan, PlannedEngine, PlannedJob, PlannedPhase, PlannedSite, PlannedTarget,
    ThreadSlice,
};
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// A distribution of `n` values with this median and a long tail.
pub fn distribution(n: u64, median_ns: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    let n = n.max(1);
    // Two humps and a tail, from a fixed sequence.
    for step in 0..1000_u64 {
        let wobble = (step * 7919) % 1000;
        let value = match step {
            0..900 => median_ns * (700 + wobble * 6 / 10) / 1000,
            900..990 => median_ns * (2000 + wobble) / 1000,
            _ => median_ns * (5 + (step - 989) * 3),
        };
        histogram.record_n(value.max(1), (n / 1000).max(1));
    }
    histogram
}

/// An operation of `seconds` at `iops`.
pub fn op(iops: f64, block_size: u64, median_ns: u64, seconds: f64) -> OpResult {
    let ios = (iops * seconds) as u64;
    let histogram = distribution(ios, median_ns);
    OpResult {
        ios,
        bytes: ios * block_size,
        iops,
        bytes_per_s: iops * block_size as f64,
        block_size,
        completion_ns: LatencySummary::of(&histogram),
        completion_histogram: Some(histogram.to_sparse()),
        ..OpResult::default()
    }
}

/// One value a second around `iops`, with a dip.
fn series(iops: f64, block_size: u64, median_ns: u64, seconds: u32) -> Vec<SeriesPoint> {
    (0..seconds)
        .map(|second| {
            let wobble = 1.0 + f64::from((second * 37) % 11) / 100.0 - 0.05;
            let dip = if seconds > 20 && (20..23).contains(&second) { 0.6 } else { 1.0 };
            let iops = iops * wobble * dip;
            SeriesPoint {
                start_s: f64::from(second),
                length_s: 1.0,
                iops,
                bytes_per_s: iops * block_size as f64,
                p50_ns: Some((median_ns as f64 / wobble) as u64),
                p99_ns: Some((median_ns as f64 * 2.5 / wobble / dip) as u64),
            }
        })
        .collect()
}

/// As many I/Os as the points tell of, spread around their medians.
pub fn latencies(points: &[SeriesPoint]) -> Option<LatencyOverTime> {
    let mut steps = LatencySteps::default();
    for point in points {
        let (start_ns, length_ns) = ((point.start_s * 1e9) as u64, (point.length_s * 1e9) as u64);
        let key = IntervalKey { phase: 0, job: 0, index: 0, ramp: false, start_ns, length_ns };
        steps.feed(key, &distribution((point.iops * point.length_s) as u64, point.p50_ns.unwrap_or(1)));
    }
    steps.finish(0)
}

/// A job of one operation.
pub fn job(name: &str, pattern: &str, kind: &str, op: OpResult, outstanding: u64, seconds: u32) -> JobResult {
    let points = series(op.iops, op.block_size, op.completion_ns.p50.unwrap_or(0), seconds);
    let latency_over_time = latencies(&points);
    let (read, write) = if kind == "read" { (Some(op.clone()), None) } else { (None, Some(op.clone())) };
    JobResult {
        name: name.to_owned(),
        workers: 1,
        read,
        write,
        total: OpResult { completion_histogram: None, ..op },
        outstanding_io: outstanding,
        outstanding_io_mean: outstanding as f64 * 0.99,
        cpu_ns_per_io: 2_345.0,
        engine: "psync".into(),
        durability: "not flushed".to_owned(),
        pattern: pattern.to_owned(),
        measured_s: f64::from(seconds),
        stamp_error_ns_mean: 180.0,
        series: points,
        latency_over_time,
        ..JobResult::default()
    }
}

/// A measuring phase of one job.
pub fn phase(name: &str, jobs: Vec<JobResult>) -> PhaseResult {
    let measured_s = jobs.iter().map(|job| job.measured_s).fold(0.0, f64::max);
    PhaseResult {
        name: name.to_owned(),
        kind: PhaseKind::Measure,
        measured_s,
        jobs,
        ..PhaseResult::default()
    }
}

fn environment(path: &str) -> Environment {
    let mut environment = Environment::default();
    environment.machine.hostname = Some("anvil".to_owned());
    environment.machine.os = Some("Debian GNU/Linux 13".to_owned());
    environment.machine.kernel_release = Some("6.12.9".to_owned());
    environment.machine.arch = "x86_64".to_owned();
    environment.machine.cpu.model = Some("Example CPU 3.0 GHz".to_owned());
    environment.machine.cpu.online = Some(8);
    environment.machine.memory.total_bytes = Some(32 * GIB);
    environment.machine.clock.source = Some("tsc".to_owned());
    let mut device =
        BlockDevice { name: "sda".to_owned(), size_bytes: Some(6_001_175_126_016), ..BlockDevice::default() };
    device.model = Some("HGST HUS726060ALE610".to_owned());
    device.rotational = Some(true);
    device.queue.write_back_cache = Some(true);
    device.queue.scheduler = Some("mq-deadline".to_owned());
    let file_system = FileSystem {
        fs_type: "xfs".to_owned(),
        source: "/dev/sda1".to_owned(),
        mount_point: "/data".to_owned(),
        mount_root: "/".to_owned(),
        options: BTreeMap::from([("rw".to_owned(), None), ("logbufs".to_owned(), Some("8".to_owned()))]),
        ..FileSystem::default()
    };
    environment.targets = vec![TargetEnvironment {
        path: path.to_owned(),
        kind: EnvironmentKind::Directory,
        file_system: Some(file_system),
        resolution: Resolution::Resolved,
        devices: vec![device],
        ..TargetEnvironment::default()
    }];
    environment
}

/// A planned job on the first target.
pub fn planned_job(name: &str, read_percent: f64, block_size: u64, threads: usize) -> PlannedJob {
    let pattern = AccessPattern::new(Mix::read_write(read_percent), block_size, Placement::random_map());
    let mut job = Job::new(name, &["data"], pattern);
    job.outstanding_per_thread = 16;
    job.ramp = Nanos::from_secs(5);
    let offered = Offered::Iops(50_000.0);
    let open = Pace::Open { offered, arrival: Arrival::Deterministic };
    let site = PlannedSite { target: 0, offset_bytes: 0, length_bytes: 4 * GIB };
    let slice =
        |index: usize| ThreadSlice { seed: 1000 + index as u64, sites: vec![site], ..ThreadSlice::default() };
    PlannedJob {
        engine: PlannedEngine::IoUring,
        engine_reason: Some("the fastest that works here".to_owned()),
        direct: true,
        pace: if read_percent > 0.0 { open } else { Pace::Closed },
        end: End { time: Some(Nanos::from_secs(30)), ..End::default() },
        operations: Vec::new(),
        slices: (0..threads).map(slice).collect(),
        traits: job.traits,
    }
}

/// A plan of a fill and two measuring phases.
pub fn plan(name: &str, series: &str) -> Plan {
    let phase = |name: &str, kind: PhaseKind, jobs: Vec<PlannedJob>| PlannedPhase {
        name: name.to_owned(),
        kind,
        jobs,
        drain_after: kind == PhaseKind::Precondition,
        pause_after: Nanos(0),
        point: SweepPoint::default(),
        repeat: 0,
        step: None,
        carried_by: Default::default(),
        despite_failure: false,
    };
    let mut fill = planned_job("fill", 0.0, MIB, 1);
    fill.end.time = None;
    fill.slices[0].bytes = Some(4 * GIB);
    Plan {
        schema: assay_workload::plan::SCHEMA.to_owned(),
        name: name.to_owned(),
        series: Some(series.to_owned()).filter(|series| !series.is_empty()),
        seed: 42,
        seed_given: false,
        hosts: Vec::new(),
        targets: vec![PlannedTarget {
            name: "data".to_owned(),
            host: HostId::FIRST,
            path: "/data/assay/data".to_owned(),
            kind: TargetKind::File,
            size_bytes: 4 * GIB,
            existing_bytes: 0,
            direct_align_bytes: Some(512),
        }],
        phases: vec![
            phase("fill", PhaseKind::Precondition, vec![fill]),
            phase("mixed", PhaseKind::Measure, vec![planned_job("oltp", 70.0, 8 * KIB, 4)]),
        ],
    }
}

/// A run of these phases without findings.
pub fn run(name: &str, series: &str, phases: Vec<PhaseResult>) -> Run {
    let mut run = Run {
        hosts: Vec::new(),
        schema: SCHEMA.to_owned(),
        id: "7f3a".to_owned(),
        name: name.to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        elapsed_s: 141.0,
        verdict: Verdict::Valid,
        assay: Producer {
            version: "0.1.0".to_owned(),
            commit: Some("abcdef0".to_owned()),
            engine: "psync".into(),
            overhead_ns_per_io: Some(310.0),
            latency_definition: None,
        },
        environment: environment("/data/stb-testdir"),
        plan: plan(name, series),
        phases,
        findings: Vec::new(),
        rows: Vec::new(),
        steps: Vec::new(),
        tiles: None,
        probes: Vec::new(),
        notes: Vec::new(),
        remarks: Vec::new(),
        end: Some(RunEnd::Completed),
        error: None,
        names_removed: false,
        going: false,
    };
    run.rows = checks::rows(&run);
    run
}

/// A finding of a phase.
pub fn finding(id: &str, severity: FindingSeverity, phase: Option<&str>, message: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        phase: phase.map(str::to_owned),
        repeat: None,
        job: None,
        message: message.to_owned(),
        bias: None,
        effect: None,
        evidence: serde_json::Map::new(),
        advice: String::new(),
    }
}

/// Name, block size, outstanding I/Os, kind, IOPS of the HDD baseline, IOPS measured, for storage-tuner-benchmark 2.1.
pub type Test = (&'static str, u64, u64, &'static str, f64, f64);

/// The tests.
pub const TESTS: [Test; 26] = [
    ("1 file, 1 thread, seq 1M writes, simple", MIB, 1, "write", 181.0, 850.0),
    ("1 file, 1 thread, rnd 16k writes, simple", 16 * KIB, 1, "write", 712.0, 2323.0),
    ("1 file, 1 thread, rnd 16k writes, simple, take 2", 16 * KIB, 1, "write", 658.0, 1815.0),
    ("1 file, 16 threads, rnd 4k writes, posixaio", 4 * KIB, 16, "write", 351.0, 1674.0),
    ("1 file, 16 threads, rnd 8k writes, posixaio", 8 * KIB, 16, "write", 424.0, 737.0),
    ("1 file, 16 threads, rnd 16k writes, posixaio", 16 * KIB, 16, "write", 447.0, 357.0),
    ("1 file, 16 threads, rnd 16k writes, posixaio, take 2", 16 * KIB, 16, "write", 504.0, 790.0),
    ("16 files, 1 thread each, seq 1M writes, simple", MIB, 16, "write", 150.0, 1771.0),
    ("16 files, 1 thread each, rnd 16k writes, simple", 16 * KIB, 16, "write", 654.0, 19704.0),
    ("16 files, 1 thread each, rnd 16k writes, simple, take 2", 16 * KIB, 16, "write", 627.0, 18466.0),
    ("16 files, 1 thread each, rnd 16k writes, posixaio", 16 * KIB, 16, "write", 466.0, 15590.0),
    ("16 files, 16 threads each, rnd 16k writes, posixaio", 16 * KIB, 256, "write", 537.0, 19640.0),
    ("16 files, 16 threads each, rnd 16k writes, posixaio, take 2", 16 * KIB, 256, "write", 501.0, 18206.0),
    ("1 file, 1 thread, rnd 16k writes, simple, o_sync", 16 * KIB, 1, "write", 155.0, 71.0),
    ("1 file, 16 threads, rnd 16k writes, posixaio, o_sync", 16 * KIB, 16, "write", 241.0, 759.0),
    ("16 files, 1 thread each, rnd 16k writes, simple, o_sync", 16 * KIB, 16, "write", 505.0, 18627.0),
    ("16 files, 16 threads each, rnd 16k writes, posixaio, o_sync", 16 * KIB, 256, "write", 509.0, 16271.0),
    ("1 file, 1 thread, seq 1M reads, simple", MIB, 1, "read", 3738.0, 1369.0),
    ("1 file, 16 threads, rnd 16k reads, posixaio", 16 * KIB, 16, "read", 171.0, 8799.0),
    ("16 files, 1 thread each, seq 1M reads, simple", MIB, 16, "read", 4045.0, 2263.0),
    ("16 files, 1 thread each, rnd 16k reads, posixaio", 16 * KIB, 16, "read", 470.0, 28419.0),
    ("16 files, 16 threads each, rnd 16k reads, posixaio", 16 * KIB, 256, "read", 496.0, 33512.0),
    ("1 file, 16 threads, rnd 16k writes, native aio", 16 * KIB, 16, "write", 613.0, 743.0),
    ("16 files, 16 threads each, rnd 16k writes, native aio", 16 * KIB, 256, "write", 501.0, 15014.0),
    ("1 file, 16 threads, rnd 16k reads, native aio", 16 * KIB, 16, "read", 131.0, 9704.0),
    ("16 files, 16 threads each, rnd 16k reads, native aio", 16 * KIB, 256, "read", 494.0, 31734.0),
];

fn stb_phase(test: &Test) -> PhaseResult {
    let &(name, block_size, outstanding, kind, _, iops) = test;
    let random = if name.contains("rnd") { "random uniform once per pass" } else { "sequential" };
    let pattern = format!("{kind} {}k, {random}", block_size / KIB);
    let median_ns = (outstanding as f64 / iops * 0.8e9) as u64;
    let mut job = job(name, &pattern, kind, op(iops, block_size, median_ns, 5.0), outstanding, 5);
    if kind == "write" {
        job.durability = "fdatasync after each write".to_owned();
        job.flush =
            Some(OpResult { block_size: 0, bytes: 0, bytes_per_s: 0.0, ..op(iops, 0, median_ns / 2, 5.0) });
    } else {
        job.cached_read_share = Some(if name.contains("1M") { 0.976 } else { 0.004 });
    }
    phase(name, vec![job])
}

/// The 26 tests.
pub fn stb_run() -> Run {
    let mut run = run("quick", "stb-2.1", TESTS.iter().map(stb_phase).collect());
    run.verdict = Verdict::Suspect;
    for name in [TESTS[17].0, TESTS[19].0] {
        let message = "97.6 % of the bytes read came from memory: 6.68 GiB asked, 164 MiB at the device";
        let mut cached = finding("cache-served-reads", FindingSeverity::Warning, Some(name), message);
        cached.bias = Some("IOPS up to 40 times too high for this device".to_owned());
        cached.advice = "read the row as the speed of memory, or run 'assay quick --series assay-1', which reads past the page cache".to_owned();
        run.findings.push(cached);
    }
    let mut cache = finding(
        "volatile-write-cache",
        FindingSeverity::Info,
        None,
        "sda has a volatile write cache, and xfs flushes it",
    );
    cache.advice = "nothing to do".to_owned();
    run.findings.push(cache);
    run.findings.push(finding(
        "foreign-io",
        FindingSeverity::Unchecked,
        None,
        "whether other processes used the device is unknown: the quiet window before the run was too short",
    ));
    run.rows = checks::rows(&run);
    run
}

/// Cell, kind, block size, outstanding I/Os, IOPS, and typical ranges of HDD, SATA SSD and NVMe.
pub type CellOf = (&'static str, &'static str, u64, u64, f64, [(f64, f64); 3]);

/// The cells.
pub const CELLS: [CellOf; 4] = [
    (
        "random read 4 KiB, 1 outstanding",
        "read",
        4 * KIB,
        1,
        9_812.0,
        [(70.0, 150.0), (6e3, 12e3), (10e3, 18e3)],
    ),
    (
        "random read 4 KiB, 32 outstanding",
        "read",
        4 * KIB,
        32,
        171_430.0,
        [(150.0, 350.0), (60e3, 98e3), (200e3, 1e6)],
    ),
    ("random write 4 KiB, durable", "write", 4 * KIB, 1, 88.2, [(30.0, 90.0), (300.0, 3e3), (800.0, 40e3)]),
    ("sequential read 1 MiB", "read", MIB, 8, 2_210.0, [(120.0, 260.0), (480.0, 560.0), (2e3, 7e3)]),
];

/// Cells of five windows each.
pub fn assay_run() -> Run {
    let mut phases = Vec::new();
    for window in 0..5_u32 {
        for (index, (name, kind, block_size, outstanding, iops, _)) in (0..).zip(CELLS) {
            let iops = iops * (1.0 + f64::from((window * 3) % 5) / 100.0 - 0.02);
            let median_ns = (outstanding as f64 / iops * 0.9e9) as u64;
            let mut job = job(name, name, kind, op(iops, block_size, median_ns, 4.0), outstanding, 4);
            job.direct = true;
            job.engine = "io_uring".into();
            if kind == "write" {
                job.durability = "O_DSYNC".to_owned();
            }
            phases.push(PhaseResult { repeat: window, plan_phase: index, ..phase(name, vec![job]) });
        }
    }
    let mut made = run("quick", "assay-1", phases);
    let planned = |(name, kind, block_size, ..): &CellOf| {
        let write = *kind == "write";
        let mut job = planned_job(name, if write { 0.0 } else { 100.0 }, *block_size, 1);
        job.pace = Pace::Closed;
        job.flush.open = if write { OpenSync::Dsync } else { OpenSync::None };
        if name.starts_with("sequential") {
            job.pattern.placement = Placement::sequential();
        }
        PlannedPhase { name: (*name).to_owned(), jobs: vec![job], ..made.plan.phases[1].clone() }
    };
    made.plan.phases = CELLS.iter().map(planned).collect();
    made
}

fn write_amplification() -> Metric {
    let (interval, basis) = (Some((1.28, 1.36)), None);
    Metric { value: 1.31, unit: "bytes/byte".to_owned(), n: 3, interval, basis }
}

/// A fill, a mixed closed loop with a metric and device counters, and an open loop with errors beside a writer.
pub fn mixed_run() -> Run {
    let fill = PhaseResult {
        kind: PhaseKind::Precondition,
        ..phase(
            "fill",
            vec![job("fill", "write 1m, sequential", "write", op(1850.0, MIB, 540_000, 2.2), 1, 2)],
        )
    };
    let mut oltp = job(
        "oltp",
        "70 % read 8k, 30 % write 8k, random zipf 1.2",
        "read",
        op(42_000.0, 8 * KIB, 980_000, 30.0),
        64,
        30,
    );
    oltp.write = Some(op(18_000.0, 8 * KIB, 1_450_000, 30.0));
    oltp.total = OpResult { completion_histogram: None, ..op(60_000.0, 8 * KIB, 1_060_000, 30.0) };
    oltp.series = series(60_000.0, 8 * KIB, 1_060_000, 30);
    oltp.direct = true;
    oltp.engine = "io_uring".into();
    oltp.outstanding_io_mean = 52.3;
    let mut mixed = phase("mixed", vec![oltp]);
    mixed.metrics.insert("write amplification".to_owned(), write_amplification());
    mixed.device = Some(DeviceTruth {
        devices: vec!["nvme0n1".to_owned()],
        asked_read_bytes: 9_600 * MIB,
        process_read_bytes: Some(9_600 * MIB),
        device_read_bytes: Some(9_611 * MIB),
        asked_written_bytes: 4_218 * MIB,
        device_written_bytes: Some(5_525 * MIB),
        device_depth_mean: Some(51.9),
        ..DeviceTruth::default()
    });
    let mut paced =
        job("paced", "read 4k, random uniform", "read", op(5_000.0, 4 * KIB, 210_000, 30.0), 32, 30);
    let response = LatencySummary::of(&distribution(150_000, 420_000));
    paced.read = paced.read.map(|read| OpResult { response_ns: Some(response), ..read });
    paced.total.response_ns = Some(response);
    paced.lateness_ns = Some(LatencySummary::of(&distribution(150_000, 1_200)));
    paced.evidence.offered_iops = Some(5_000.0);
    paced.errors = 7;
    paced.errors_by_kind = vec![("EIO".to_owned(), 6), ("ENOSPC".to_owned(), 1)];
    let log = job("log", "write 16k, sequential", "write", op(310.0, 16 * KIB, 3_100_000, 30.0), 1, 30);
    let side = PhaseResult { point: SweepPoint::new("rate=5000"), ..phase("side by side", vec![paced, log]) };
    let mut run = run("mixed example", "", vec![fill, mixed, side]);
    run.verdict = Verdict::Invalid;
    run.notes = vec!["dirty pages were written back in 1.2 s".to_owned()];
    let mut errors = finding(
        "io-errors",
        FindingSeverity::Invalid,
        Some("side by side"),
        "7 of 150,007 operations failed (EIO 6, ENOSPC 1)",
    );
    errors.job = Some("paced".to_owned());
    errors.evidence.insert("point".to_owned(), "rate=5000".into());
    errors.advice =
        "look at the kernel's log; numbers of a failing device describe its error handling".to_owned();
    let mut step = finding(
        "not-steady",
        FindingSeverity::Warning,
        Some("mixed"),
        "IOPS fell by 40 % for 3 s from second 20 on",
    );
    step.bias = Some("IOPS 0-4 % low".to_owned());
    step.advice = "measure longer, or find what ran then".to_owned();
    run.findings = vec![errors, step];
    run.rows = checks::rows(&run);
    run
}

/// Six points of a rate curve, with response times.
pub fn curve_run() -> Run {
    let point = |percent: u32| {
        let iops = 800.0 * f64::from(percent);
        let median_ns = 90_000 + 9_000_000 / u64::from(105 - percent);
        let mut job =
            job("steps", "read 4k, random uniform", "read", op(iops, 4 * KIB, median_ns, 20.0), 128, 20);
        let response =
            LatencySummary::of(&distribution(100_000, median_ns + median_ns * u64::from(percent) / 80));
        job.total.response_ns = Some(response);
        job.read = job.read.map(|read| OpResult { response_ns: Some(response), ..read });
        PhaseResult { point: SweepPoint::new(format!("rate={percent}%")), ..phase("steps", vec![job]) }
    };
    run("rate curve", "", [10, 30, 50, 70, 90, 100].map(point).to_vec())
}

/// Ten minutes of reporting periods, and a machine that was watched.
pub fn long_run() -> Run {
    let mut steady = phase(
        "steady",
        vec![job(
            "steady",
            "write 4k, random uniform",
            "write",
            op(9_000.0, 4 * KIB, 1_700_000, 600.0),
            16,
            600,
        )],
    );
    steady.evidence.cpu_busy_share = Some(0.31);
    steady.evidence.seconds = (0..600)
        .map(|second| MachineSecond {
            start_s: f64::from(second),
            length_s: 1.0,
            cpu_busy_share: Some(0.3 + f64::from(second % 7) / 100.0),
            steal_share: Some(f64::from(second % 3) / 100.0),
            ..MachineSecond::default()
        })
        .collect();
    run("ten minutes", "", vec![steady])
}

/// The reporting periods behind a job's points: each operation has its share of them.
pub fn intervals_of(run: &Run, phase: usize, job: usize) -> Vec<Interval> {
    let result = &run.phases[phase].jobs[job];
    let parts = [(OpKind::Read, &result.read), (OpKind::Write, &result.write), (OpKind::Trim, &result.trim)];
    let interval = |(index, point): (usize, &SeriesPoint)| {
        let mut counts = JobCounts::default();
        for (kind, op) in parts {
            let Some(op) = op else { continue };
            let ios = (point.iops * point.length_s * op.iops / result.total.iops) as u64;
            let count = counts.op_mut(kind);
            count.ios = ios;
            count.bytes = ios * op.block_size;
            count.completion.record_n(point.p50_ns.unwrap_or(0), ios);
        }
        let key = IntervalKey {
            phase: run.phases[phase].plan_phase,
            job: job as u32,
            index: index as u32,
            ramp: false,
            start_ns: (point.start_s * 1e9) as u64,
            length_ns: (point.length_s * 1e9) as u64,
        };
        Interval { key, counts }
    };
    result.series.iter().enumerate().map(interval).collect()
}
