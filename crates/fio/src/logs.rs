//! The reporting periods of a run as fio's logs, as `write_bw_log`, `write_iops_log` and `write_lat_log` make them with
//! `log_avg_msec`: a line for each period and operation with the mean over the period.
//!
//! `_clat` and `_lat` hold our completion latency, from handing the operation over to its completion; `_slat` the sampled
//! submitting calls. A period in which nothing completed has a line with 0 in the logs of bandwidth and IOPS, so that
//! a stall is seen, and none in those of latency; fio has none in either.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_results::run::{JobResult, PhaseResult};
use assay_results::{Interval, LatencyHistogram, OpCounts, Run};
use assay_workload::pattern::OpKind;

use crate::json::options::rw_word;
use assay_results::foreign::{planned_of, reported_phases};

/// What the names of the logs begin with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LogPrefix {
    /// The name of the job, as fio does where no other is given.
    #[default]
    Job,
    /// `randread-iodepth-4-numjobs-2`: what fio-plot looks for. It adds up all logs of one such name, so those of a
    /// later phase or job with the same one get `-2`, `-3` behind it, which it leaves alone.
    FioPlot,
    /// This one.
    Named(String),
}

/// How the logs are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FioLogOptions {
    /// What their names begin with.
    pub prefix: LogPrefix,
    /// Whether there is a column for the offset, as with `log_offset`: 0, since a period has none.
    pub offset: bool,
}

/// The value in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// KiB a second.
    Bandwidth,
    /// Operations a second.
    Iops,
    /// Mean completion latency, nanoseconds.
    Lat,
    /// The same.
    Clat,
    /// Mean time of a submitting call, nanoseconds.
    Slat,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Bandwidth, "bw"),
    (Kind::Iops, "iops"),
    (Kind::Lat, "lat"),
    (Kind::Clat, "clat"),
    (Kind::Slat, "slat"),
];

/// File names and texts: `NAME_bw.1.log`, `NAME_iops.1.log`, `NAME_lat.1.log`, `NAME_clat.1.log` and, where submitting
/// calls were timed, `NAME_slat.1.log` for every job of every phase that measures; the number counts the jobs. A job is one
/// log, all its threads together. `intervals` may be in any order; what has none has no logs.
///
/// A line is `time, value, direction, block size, priority`: milliseconds from the start of the measured part to the
/// end of the period; the mean; 0 read, 1 write, 2 trim; 0 and 0. With [`FioLogOptions::offset`] a 0 stands before the
/// last.
pub fn fio_logs(run: &Run, intervals: &[Interval], options: &FioLogOptions) -> Vec<(String, String)> {
    let mut by_job: BTreeMap<(u32, u32), Vec<&Interval>> = BTreeMap::new();
    for interval in intervals.iter().filter(|interval| !interval.key.ramp && interval.key.length_ns > 0) {
        by_job.entry((interval.key.phase, interval.key.job)).or_default().push(interval);
    }
    let mut files = Vec::new();
    let mut used = BTreeMap::new();
    let mut number = 0;
    for phase in reported_phases(run) {
        for job in &phase.jobs {
            let mut prefix = None;
            for plan_job in &job.evidence.plan_jobs {
                number += 1;
                let Some(periods) = by_job.get_mut(&(phase.plan_phase, *plan_job)) else { continue };
                periods.sort_by_key(|interval| interval.key.start_ns);
                let prefix =
                    prefix.get_or_insert_with(|| prefix_of(run, phase, job, &options.prefix, &mut used));
                for (kind, word) in KINDS {
                    let text = log(periods, kind, options.offset);
                    if !text.is_empty() {
                        files.push((format!("{prefix}_{word}.{number}.log"), text));
                    }
                }
            }
        }
    }
    files
}

/// What the names of a job's logs begin with. `used` counts how often fio-plot would find each.
fn prefix_of(
    run: &Run,
    phase: &PhaseResult,
    job: &JobResult,
    prefix: &LogPrefix,
    used: &mut BTreeMap<String, u32>,
) -> String {
    match prefix {
        LogPrefix::Job => file_name(&job.name),
        LogPrefix::Named(name) => file_name(name),
        LogPrefix::FioPlot => {
            let (_, planned) = planned_of(run, phase, job);
            let threads: usize = planned.iter().map(|planned| planned.slices.len()).sum();
            let first = planned.first();
            let rw = first.and_then(|planned| rw_word(&planned.pattern));
            let rw = rw.unwrap_or_else(|| "unknown".to_owned());
            let depth = first.map_or(job.outstanding_io, |planned| u64::from(planned.outstanding_per_thread));
            let name = format!("{rw}-iodepth-{depth}-numjobs-{}", threads.max(1));
            let times = used.entry(name.clone()).or_default();
            *times += 1;
            if *times == 1 { name } else { format!("{name}-{times}") }
        }
    }
}

/// A name without what separates directories, and not empty.
pub(crate) fn file_name(name: &str) -> String {
    let clean: String =
        name.chars().map(|c| if matches!(c, '/' | '\\') || c.is_control() { '_' } else { c }).collect();
    match clean.as_str() {
        "" | "." | ".." => format!("job{clean}"),
        _ => clean,
    }
}

/// One log; empty where no operation has a value. A period that is cut short to less than a tenth is left out.
fn log(periods: &[&Interval], kind: Kind, offset: bool) -> String {
    let occurs = |op: OpKind| periods.iter().any(|interval| interval.counts.op(op).ios > 0);
    let kinds: Vec<OpKind> = OpKind::DATA.into_iter().filter(|op| occurs(*op)).collect();
    let origin_ns = periods.first().map_or(0, |interval| interval.key.start_ns);
    let longest = periods.iter().map(|interval| interval.key.length_ns).max().unwrap_or(0);
    let mut text = String::new();
    for interval in periods.iter().filter(|interval| interval.key.length_ns >= longest / 10) {
        let key = interval.key;
        let end_ns = key.start_ns.saturating_add(key.length_ns).saturating_sub(origin_ns);
        let end_ms = end_ns.saturating_add(500_000) / 1_000_000;
        for op in &kinds {
            if let Some(value) = value(interval.counts.op(*op), kind, key.length_ns) {
                let offset = if offset { "0, " } else { "" };
                let _ = writeln!(text, "{end_ms}, {value}, {}, 0, {offset}0", *op as u8);
            }
        }
    }
    text
}

fn value(counts: &OpCounts, kind: Kind, length_ns: u64) -> Option<u64> {
    let seconds = length_ns as f64 / 1e9;
    let mean = |histogram: &LatencyHistogram| (!histogram.is_empty()).then(|| histogram.mean_ns() as u64);
    match kind {
        Kind::Bandwidth => Some((counts.bytes as f64 / 1024.0 / seconds) as u64),
        Kind::Iops => Some((counts.ios as f64 / seconds).round() as u64),
        Kind::Lat | Kind::Clat => mean(&counts.completion),
        Kind::Slat => mean(&counts.submit),
    }
}
