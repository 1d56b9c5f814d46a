//! One run of a vdbench flat file as a phase.

use assay_workload::PhaseKind;
use assay_workload::host::HostId;
use std::collections::{BTreeMap, HashMap};

use assay_workload::job::{Arrival, Job};
use assay_workload::pattern::{AccessPattern, Distribution, Mix, Placement, Random, Sequential};
use assay_workload::plan::{
    End, Offered, Pace, PlannedEngine, PlannedJob, PlannedSite, PlannedTarget, SliceRate, ThreadSlice,
    describe_pattern,
};
use assay_workload::target::TargetKind;
use assay_workload::units::Nanos;

use super::Line;
use assay_results::evidence::{JobEvidence, MachineSecond, PhaseEvidence};
use assay_results::foreign::total_of;
use assay_results::foreign::{Contradictions, cut};
use assay_results::run::{JobResult, LatencySummary, Metric, OpResult, PhaseResult, SeriesPoint};

/// Rates from here on stand for as much as possible.
const RATE_MAX: f64 = 9_999_900.0;
/// Columns that are never negative.
const CHECKED: [&str; 12] = [
    "rate",
    "mb/sec",
    "resp",
    "resp_max",
    "resp_std",
    "read_resp",
    "write_resp",
    "read_max",
    "write_max",
    "read%",
    "queue_depth",
    "cpu_used",
];
/// So many sentences on one run: lines that are wrong alike would fill the page.
const CONTRADICTIONS_MAX: usize = 5;
const MIB: f64 = (1 << 20) as f64;
const OUTSTANDING_MAX: f64 = (1 << 20) as f64;
/// The columns that tell runs of one name apart.
const VARIED: [&str; 7] = ["xfersize", "threads", "rdpct", "rhpct", "whpct", "seekpct", "reqrate"];
/// Operations on file systems beside reads and writes.
const FILE_OPERATIONS: [&str; 9] =
    ["mkdir", "rmdir", "create", "open", "close", "delete", "getattr", "setattr", "access"];

/// The lines of one run.
#[derive(Debug, Clone)]
pub(super) struct Group<'t> {
    name: &'t str,
    pub(super) periods: Vec<Line<'t>>,
    pub(super) average: Option<Line<'t>>,
}

impl<'t> Group<'t> {
    pub(super) fn new(name: &'t str) -> Self {
        Group { name, periods: Vec::new(), average: None }
    }

    /// Whether the next line belongs to it: not behind its average, and not where the numbers begin again.
    pub(super) fn takes(&self, name: &str, interval: Option<u64>) -> bool {
        let last = self.periods.last().and_then(Line::interval);
        let goes_on = interval.is_none() || last.is_none() || interval > last;
        self.name == name && self.average.is_none() && goes_on
    }

    pub(super) fn first(&self) -> Option<&Line<'t>> {
        self.periods.first().or(self.average.as_ref())
    }

    /// Length of a reporting period: the median distance of two lines, in whole seconds as vdbench has them.
    pub(super) fn interval_s(&self) -> f64 {
        const DAY_S: f64 = 86_400.0;
        let times: Vec<f64> = self.periods.iter().filter_map(Line::time_of_day_s).collect();
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).rem_euclid(DAY_S)).collect();
        gaps.sort_by(f64::total_cmp);
        gaps.get(gaps.len() / 2).map_or(1.0, |gap| gap.round().max(1.0))
    }

    /// The periods that the average is over.
    fn measured(&self) -> (u64, u64) {
        let numbers = || self.periods.iter().filter_map(Line::interval);
        let (first, last) = (numbers().min().unwrap_or(1), numbers().max().unwrap_or(1));
        let given = self.average.as_ref().and_then(Line::average);
        given.unwrap_or(if last > first { (first + 1, last) } else { (first, last) })
    }
}

/// What tells each run from others of its name, as `name=value` words, and its number among equal ones.
pub(super) fn points(groups: &[Group<'_>]) -> Vec<(String, u32)> {
    let value = |group: &Group<'_>, column: &str| {
        group.first().and_then(|line| line.text(column)).map(cut).unwrap_or_default()
    };
    let mut varied: HashMap<(&str, &str), Option<String>> = HashMap::new();
    for group in groups {
        for column in VARIED {
            let value = value(group, column);
            let seen = varied.entry((group.name, column)).or_insert_with(|| Some(value.clone()));
            if seen.as_ref() != Some(&value) {
                *seen = None;
            }
        }
    }
    let mut times: HashMap<(&str, String), u32> = HashMap::new();
    let point = |group: &Group<'_>| {
        let differs = |column: &&str| varied.get(&(group.name, *column)) == Some(&None);
        let words =
            VARIED.into_iter().filter(differs).map(|column| format!("{column}={}", value(group, column)));
        words.collect::<Vec<_>>().join(" ")
    };
    let numbered = groups.iter().map(|group| {
        let point = point(group);
        let time = times.entry((group.name, point.clone())).or_default();
        *time += 1;
        (point, *time - 1)
    });
    numbered.collect()
}

/// Rates, bytes and response times of one line: reads, writes.
fn operations(line: &Line<'_>, measured_s: f64) -> [Option<OpResult>; 2] {
    let number = |name: &str| line.number(name).unwrap_or(0.0);
    let (rate, mib) = (number("rate"), number("mb/sec"));
    let read_share = (number("read%") / 100.0).clamp(0.0, 1.0);
    // File systems have a rate of each, raw devices a share.
    let read_rate = line.number("read_rate").unwrap_or(rate * read_share);
    let write_rate = line.number("write_rate").unwrap_or(rate * (1.0 - read_share));
    let read_mib = line.number("mb_read").unwrap_or(mib * read_share);
    let write_mib = line.number("mb_write").unwrap_or(mib * (1.0 - read_share));
    let op = |rate: f64, mib: f64, [mean, max, deviation]: [&str; 3]| {
        let ios = (rate * measured_s).round() as u64;
        let bytes = (mib * MIB * measured_s).round() as u64;
        (rate > 0.0).then(|| OpResult {
            ios,
            bytes,
            iops: rate,
            bytes_per_s: mib * MIB,
            block_size: (mib * MIB / rate).round() as u64,
            completion_ns: LatencySummary {
                n: ios,
                mean: number(mean) * 1e6,
                stddev: number(deviation) * 1e6,
                max: (number(max) * 1e6) as u64,
                ..LatencySummary::default()
            },
            ..OpResult::default()
        })
    };
    let names = |raw: [&'static str; 3], files: [&'static str; 3]| {
        if line.text(raw[1]).is_some() { raw } else { files }
    };
    let read = names(["read_resp", "read_max", "read_std"], ["read_resp", "read_resp_max", "read_resp_std"]);
    let write =
        names(["write_resp", "write_max", "write_std"], ["write_resp", "write_resp_max", "write_resp_std"]);
    [op(read_rate, read_mib, read), op(write_rate, write_mib, write)]
}

/// What in the figures of a line cannot be true, as sentences.
fn contradictions_of(line: &Line<'_>) -> Vec<String> {
    let mut found = Contradictions::default();
    for column in CHECKED {
        found.not_negative(column, line.text(column).and_then(|text| text.parse().ok()).unwrap_or(0.0));
    }
    let known = |column: &str| line.number(column).unwrap_or(0.0);
    let (rate, mib) = (known("rate"), known("mb/sec"));
    // Of file systems the size is that of one request, and files end within one.
    if mib >= 1.0 && line.text("read_rate").is_none() {
        found.agree(("mb/sec", mib), ("rate x xfersize", rate * known("xfersize") / MIB));
    }
    let parts =
        line.number("read_rate").zip(line.number("write_rate")).map_or(0.0, |(read, write)| read + write);
    if rate >= 1.0 && FILE_OPERATIONS.iter().all(|name| known(&format!("{name}_rate")) == 0.0) {
        found.agree(("rate", rate), ("read_rate + write_rate", parts));
    }
    for (mean, max) in [
        ("resp", "resp_max"),
        ("read_resp", "read_max"),
        ("write_resp", "write_max"),
        ("read_resp", "read_resp_max"),
        ("write_resp", "write_resp_max"),
    ] {
        if let Some(limit) = line.number(max).filter(|_| rate > 0.0) {
            found.at_most((mean, known(mean)), (max, limit));
        }
    }
    for share in ["read%", "rdpct", "cpu_used", "cpu_kernel"] {
        found.at_most((share, known(share)), ("the most there can be", 100.0));
    }
    found.sentences()
}

/// The average of some lines: vdbench weighs the periods alike. Used where it wrote none.
fn averaged(lines: &[&Line<'_>], measured_s: f64) -> [Option<OpResult>; 2] {
    let each_s = measured_s / lines.len().max(1) as f64;
    let parts: Vec<[Option<OpResult>; 2]> = lines.iter().map(|line| operations(line, each_s)).collect();
    [0, 1].map(|side| {
        let ops: Vec<&OpResult> = parts.iter().filter_map(|ops| ops[side].as_ref()).collect();
        assay_results::foreign::pool_ops(&ops, measured_s)
    })
}

/// What in the lines of a run cannot be true, each named.
pub(super) fn contradictions(group: &Group<'_>) -> Vec<String> {
    let lines = group.periods.iter().chain(&group.average);
    let all = lines.flat_map(|line| {
        let place = format!("{}, interval {}", cut(group.name), cut(line.text("interval").unwrap_or("")));
        contradictions_of(line).into_iter().map(move |text| format!("{place}: {text}"))
    });
    all.take(CONTRADICTIONS_MAX).collect()
}

/// The phase of a run; `None` where it has no lines.
pub(super) fn phase_of(
    group: &Group<'_>,
    targets: &mut Vec<PlannedTarget>,
) -> Option<(PhaseResult, Vec<PlannedJob>)> {
    let shown = group.average.as_ref().or(group.first())?;
    let interval_s = group.interval_s();
    let (first, last) = group.measured();
    let inside = |line: &&Line<'_>| line.interval().is_some_and(|number| (first..=last).contains(&number));
    let measured: Vec<&Line<'_>> = group.periods.iter().filter(inside).collect();
    let measured_s = (last - first + 1) as f64 * interval_s;
    let [read, write] = match &group.average {
        Some(average) => operations(average, measured_s),
        None => averaged(&measured, measured_s),
    };
    let ops: Vec<&OpResult> = [&read, &write].into_iter().flatten().collect();
    let total = total_of(&ops);
    let planned = planned(group.name, shown, &total, measured_s, targets);
    let number = |name: &str| shown.number(name);
    let offered_iops = planned.offered_iops();
    let missed = offered_iops.filter(|rate| *rate > 0.0).map(|rate| (1.0 - total.iops / rate).max(0.0));
    let job = JobResult {
        name: cut(group.name),
        workers: 1,
        outstanding_io: planned.outstanding_io(),
        outstanding_io_mean: number("queue_depth").unwrap_or(total.iops * total.completion_ns.mean / 1e9),
        engine: "vdbench".into(),
        durability: "not known".to_owned(),
        pattern: describe_pattern(&planned.pattern),
        measured_s,
        series: measured.iter().filter_map(|line| point(line, first, interval_s)).collect(),
        evidence: JobEvidence {
            plan_jobs: vec![0],
            finished: group.average.is_some(),
            threads: planned.slices.len() as u32,
            measured_ns: (measured_s * 1e9) as u64,
            active_bytes: planned.slices.first().map_or(0, |slice| {
                slice.sites.iter().fold(0, |sum, site| sum.saturating_add(site.length_bytes))
            }),
            offered_iops,
            missed_share: missed,
            ..JobEvidence::default()
        },
        read,
        write,
        total,
        ..JobResult::default()
    };
    let phase = PhaseResult {
        name: cut(group.name),
        kind: PhaseKind::Measure,
        measured_s,
        jobs: vec![job],
        metrics: metrics(shown),
        evidence: PhaseEvidence {
            cpu_busy_share: number("cpu_used").map(|percent| (percent / 100.0).min(1.0)),
            seconds: measured.iter().filter_map(|line| second(line, first, interval_s)).collect(),
            ..PhaseEvidence::default()
        },
        ..PhaseResult::default()
    };
    Some((phase, vec![planned]))
}

/// A reporting period of a chart.
fn point(line: &Line<'_>, first: u64, interval_s: f64) -> Option<SeriesPoint> {
    Some(SeriesPoint {
        start_s: line.interval()?.checked_sub(first)? as f64 * interval_s,
        length_s: interval_s,
        iops: line.number("rate")?,
        bytes_per_s: line.number("mb/sec").unwrap_or(0.0) * MIB,
        p50_ns: None,
        p99_ns: None,
    })
}

fn second(line: &Line<'_>, first: u64, interval_s: f64) -> Option<MachineSecond> {
    Some(MachineSecond {
        start_s: line.interval()?.checked_sub(first)? as f64 * interval_s,
        length_s: interval_s,
        cpu_busy_share: Some((line.number("cpu_used")? / 100.0).min(1.0)),
        ..MachineSecond::default()
    })
}

/// The operations on file systems that occurred, a second.
fn metrics(line: &Line<'_>) -> BTreeMap<String, Metric> {
    let rate = |name: &str| line.number(&format!("{name}_rate")).filter(|rate| *rate > 0.0);
    let metric = |value: f64| Metric { value, unit: "1/s".to_owned(), n: 1, interval: None, basis: None };
    FILE_OPERATIONS.into_iter().filter_map(|name| Some((name.to_owned(), metric(rate(name)?)))).collect()
}

/// What the run was to do, as far as the columns say.
fn planned(
    name: &str,
    line: &Line<'_>,
    total: &OpResult,
    measured_s: f64,
    targets: &mut Vec<PlannedTarget>,
) -> PlannedJob {
    let number = |name: &str| line.number(name);
    let random = Random { distribution: Distribution::Uniform, once_per_pass: false };
    let placement = match number("seekpct") {
        Some(percent) if percent >= 100.0 => Placement::Random(random),
        Some(percent) if percent > 0.0 => {
            Placement::Mixed { random_percent: percent, random, sequential: Sequential::default() }
        }
        Some(_) => Placement::sequential(),
        None => Placement::Unknown,
    };
    let read_percent = number("rdpct").or(number("read%")).unwrap_or(100.0).min(100.0);
    let size = number("xfersize").filter(|size| *size >= 1.0).map_or(total.block_size, |size| size as u64);
    let pattern = AccessPattern::new(Mix::read_write(read_percent), size.max(1), placement);
    let target = "(vdbench's storage)";
    let mut job = Job::new(&cut(name), &[], pattern);
    let threads = number("threads").unwrap_or(1.0).clamp(1.0, OUTSTANDING_MAX);
    job.outstanding_per_thread = threads as u32;
    let iops = number("reqrate").filter(|rate| *rate > 0.0 && *rate < RATE_MAX);
    let bytes = (number("lunsize").unwrap_or(0.0) * 1024.0 * MIB) as u64;
    let index = targets.iter().position(|known| known.size_bytes == bytes).unwrap_or(targets.len());
    if index == targets.len() && index < usize::from(u16::MAX) {
        targets.push(PlannedTarget {
            name: target.to_owned(),
            host: HostId::FIRST,
            path: target.to_owned(),
            kind: TargetKind::File,
            size_bytes: bytes,
            existing_bytes: bytes,
            direct_align_bytes: None,
        });
    }
    let site =
        PlannedSite { target: index.min(targets.len() - 1) as u32, offset_bytes: 0, length_bytes: bytes };
    let open = |iops| Pace::Open { offered: Offered::Iops(iops), arrival: Arrival::default() };
    PlannedJob {
        traits: job.traits,
        engine: PlannedEngine::Foreign,
        engine_reason: Some("vdbench's threads wait for one I/O each".to_owned()),
        direct: false,
        pace: iops.map_or(Pace::Closed, open),
        end: End { time: Some(Nanos((measured_s * 1e9) as u64)), ..End::default() },
        operations: Vec::new(),
        slices: vec![ThreadSlice {
            sites: vec![site],
            rate: iops.map(SliceRate::Iops),
            ..ThreadSlice::default()
        }],
    }
}
