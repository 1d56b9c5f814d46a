//! The reporting periods of a run as fio's logs, as `write_bw_log`, `write_iops_log` and `write_lat_log` make them with
//! `log_avg_msec`: a line for each period and operation with the mean over the period. For lines of single I/Os see
//! [`crate::each_io`].
//!
//! `_lat` holds our completion latency, from handing the operation over to its completion; `_slat` the submitting calls that were
//! timed; `_clat` what comes behind the call where each was timed, else the same as `_lat`. A period in which nothing completed has a line with 0 in the logs of bandwidth and IOPS, so that
//! a stall is seen, and none in those of latency; fio has none in either.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_results::run::{JobResult, PhaseResult};
use assay_results::{Interval, LatencyHistogram, OpCounts, Run};
use assay_workload::pattern::OpKind;

use crate::bins::{FIO_BINS, fio_bin_of, to_fio_bins};
use crate::each_io::{JobIos, LoggedIo, iologs};
use crate::json::options::rw_word;
use crate::log_value::{LogValue, file_name};
use crate::reporting::{Logs, Reporting, WindowValue};
use assay_results::foreign::{Moment, planned_of, reported_phases};

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

const KINDS: [LogValue; 5] =
    [LogValue::Bandwidth, LogValue::Iops, LogValue::Lat, LogValue::Clat, LogValue::Slat];

/// File names and texts: `NAME_bw.1.log`, `NAME_iops.1.log`, `NAME_lat.1.log`, `NAME_clat.1.log` and, where submitting
/// calls were timed, `NAME_slat.1.log` for every job of every phase that measures; the number counts the jobs. A job is one
/// log, all its threads together. `intervals` may be in any order; what has none has no logs.
///
/// A line is `time, value, direction, block size, priority`: milliseconds from the start of the measured part to the
/// end of the period; the mean; 0 read, 1 write, 2 trim; 0 and 0. With [`FioLogOptions::offset`] a 0 stands before the
/// last.
pub fn fio_logs(run: &Run, intervals: &[Interval], options: &FioLogOptions) -> Vec<(String, String)> {
    let by_job = by_job(intervals);
    let mut files = Vec::new();
    let mut used = BTreeMap::new();
    let mut number = 0;
    for phase in reported_phases(run) {
        for job in &phase.jobs {
            let mut prefix = None;
            for plan_job in &job.evidence.plan_jobs {
                number += 1;
                let Some(periods) = by_job.get(&(phase.plan_phase, *plan_job)) else { continue };
                let prefix =
                    prefix.get_or_insert_with(|| prefix_of(run, phase, job, &options.prefix, &mut used));
                for kind in KINDS {
                    let columns = Logs { offset: options.offset, ..Logs::default() };
                    let text = log(periods, kind, 0, &columns);
                    if !text.is_empty() {
                        files.push((format!("{prefix}_{}.{number}.log", kind.word()), text));
                    }
                }
            }
        }
    }
    files
}

/// The measured periods of each planned job, by phase and job.
fn by_job(intervals: &[Interval]) -> BTreeMap<(u32, u32), Vec<&Interval>> {
    let mut by_job: BTreeMap<(u32, u32), Vec<&Interval>> = BTreeMap::new();
    for interval in intervals.iter().filter(|interval| !interval.key.ramp && interval.key.length_ns > 0) {
        by_job.entry((interval.key.phase, interval.key.job)).or_default().push(interval);
    }
    by_job.values_mut().for_each(|periods| periods.sort_by_key(|interval| interval.key.start_ns));
    by_job
}

/// The logs that the jobs of a file ask for, with fio's names: one set for each job or clone that has results of its own. Lines
/// as of [`fio_logs`], of as many periods together as `log_avg_msec` has; those of `write_hist_log` hold the counts of fio's
/// latency buckets.
///
/// Where `log_avg_msec` is 0 and `ios` has the job's I/Os, each has its line.
pub fn fio_logs_asked(
    run: &Run,
    intervals: &[Interval],
    ios: &[LoggedIo],
    reporting: &Reporting,
) -> Vec<(String, String)> {
    let by_job = by_job(intervals);
    let mut files: Vec<(String, String)> = Vec::new();
    let mut start = Moment::parse(&run.started);
    let mut logged = Vec::new();
    for phase in reported_phases(run) {
        for plan_job in phase.jobs.iter().flat_map(|job| &job.evidence.plan_jobs) {
            let Some(how) = reporting.planned(run, phase, *plan_job) else { continue };
            let each = JobIos::of(run, phase, *plan_job, ios);
            let Some(periods) = by_job.get(&(phase.plan_phase, *plan_job)) else { continue };
            let logs = &how.logs;
            let start_ms = if logs.unix_epoch { start.unix_ms() } else { 0 };
            let together = |ms: u64| merged(periods, ms.saturating_mul(1_000_000));
            let (averaged, counted) = (together(logs.average_ms), together(logs.histogram_ms));
            for (value, name) in how.log_names() {
                let text = match (value, &each) {
                    (LogValue::Histogram, _) => histogram_log(&counted, start_ms, logs.coarseness),
                    (_, Some(each)) if logs.average_ms == 0 => each.log(value, logs, start_ms),
                    _ => log(&averaged.iter().collect::<Vec<_>>(), value, start_ms, logs),
                };
                match files.iter_mut().find(|file| file.0 == name) {
                    // Without per_job_logs all jobs write to one.
                    Some(file) => file.1.push_str(&text),
                    None => files.push((name, text)),
                }
            }
            logged.extend(each.map(|each| (how, each)));
        }
        start = start.plus_seconds(phase.measured_s);
    }
    files.extend(iologs(run, logged.into_iter()));
    files
}

/// The periods of each window of `length_ns`, counted from the first one, together; each by itself where they are longer.
fn merged(periods: &[&Interval], length_ns: u64) -> Vec<Interval> {
    let origin_ns = periods.first().map_or(0, |period| period.key.start_ns);
    let mut all: Vec<Interval> = Vec::new();
    let mut at = None;
    for period in periods {
        // By its middle: ends of periods scatter by what a thread comes late.
        let middle_ns = period.key.start_ns.saturating_sub(origin_ns) + period.key.length_ns / 2;
        let window = middle_ns.checked_div(length_ns);
        match all.last_mut().filter(|_| window.is_some() && at == window) {
            Some(last) => last.merge(period),
            None => all.push((*period).clone()),
        }
        at = window;
    }
    all
}

/// Lines of time, direction, block size and the counts of fio's latency buckets.
fn histogram_log(periods: &[Interval], start_ms: u64, coarseness: u32) -> String {
    let origin_ns = periods.first().map_or(0, |interval| interval.key.start_ns);
    let mut text = String::new();
    for interval in periods {
        for op in OpKind::DATA {
            let counts = interval.counts.op(op);
            if counts.ios == 0 {
                continue;
            }
            let mut bins = [0_u64; FIO_BINS];
            for (middle_ns, count) in to_fio_bins(&counts.completion) {
                bins[fio_bin_of(middle_ns)] += count;
            }
            let sums = bins.chunks(1 << coarseness).map(|chunk| chunk.iter().sum::<u64>().to_string());
            let end_ms = start_ms + end_ms(interval, origin_ns);
            let size = counts.bytes / counts.ios;
            let _ = writeln!(text, "{end_ms}, {}, {size}, {}", op as u8, sums.collect::<Vec<_>>().join(", "));
        }
    }
    text
}

/// The names of the logs of all jobs together: reads, writes, trims.
pub(crate) fn aggregate_names(prefix: &str) -> [String; 3] {
    OpKind::DATA.map(|op| format!("{prefix}-{}_bw.log", op.name()))
}

/// `--bandwidth-log`: the bandwidth of all jobs side by side, a log for each direction that occurs.
pub fn aggregate_logs(run: &Run, intervals: &[Interval], prefix: &str) -> Vec<(String, String)> {
    let mut texts = [const { String::new() }; 3];
    let mut before_ms = 0;
    for phase in reported_phases(run) {
        let mine = |interval: &&Interval| {
            let key = interval.key;
            key.phase == phase.plan_phase && !key.ramp && key.length_ns > 0
        };
        let mut by_index: BTreeMap<u32, Interval> = BTreeMap::new();
        for interval in intervals.iter().filter(mine) {
            by_index
                .entry(interval.key.index)
                .and_modify(|sum| sum.merge(interval))
                .or_insert_with(|| interval.clone());
        }
        let origin_ns = by_index.values().map(|interval| interval.key.start_ns).min().unwrap_or(0);
        for interval in by_index.values() {
            for (op, text) in OpKind::DATA.into_iter().zip(&mut texts) {
                let value = value(interval.counts.op(op), LogValue::Bandwidth, interval.key.length_ns);
                if let Some(value) = value.filter(|value| *value > 0) {
                    let ms = before_ms + end_ms(interval, origin_ns);
                    let _ = writeln!(text, "{ms}, {value}, {}, 0, 0", op as u8);
                }
            }
        }
        before_ms += (phase.measured_s * 1e3) as u64;
    }
    let files = aggregate_names(prefix).into_iter().zip(texts);
    files.filter(|(_, text)| !text.is_empty()).collect()
}

/// The end of a period in milliseconds.
fn end_ms(interval: &Interval, origin_ns: u64) -> u64 {
    interval.key.end_ns().saturating_sub(origin_ns).saturating_add(500_000) / 1_000_000
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

/// One log; empty where no operation has a value. A period that is cut short to less than a tenth is left out.
fn log(periods: &[&Interval], kind: LogValue, start_ms: u64, columns: &Logs) -> String {
    let occurs = |op: OpKind| periods.iter().any(|interval| interval.counts.op(op).ios > 0);
    let kinds: Vec<OpKind> = OpKind::DATA.into_iter().filter(|op| occurs(*op)).collect();
    let origin_ns = periods.first().map_or(0, |interval| interval.key.start_ns);
    let longest = periods.iter().map(|interval| interval.key.length_ns).max().unwrap_or(0);
    let mut text = String::new();
    for interval in periods.iter().filter(|interval| interval.key.length_ns >= longest / 10) {
        let key = interval.key;
        let end_ms = start_ms + end_ms(interval, origin_ns);
        for op in &kinds {
            let counts = interval.counts.op(*op);
            if let Some(mean) = value(counts, kind, key.length_ns) {
                let value = match columns.window {
                    WindowValue::Mean => mean.to_string(),
                    WindowValue::Largest => largest(counts, kind).unwrap_or(mean).to_string(),
                    WindowValue::Both => format!("{mean}, {}", largest(counts, kind).unwrap_or(mean)),
                };
                let _ = write!(text, "{end_ms}, {value}, {}, 0", *op as u8);
                columns.end_of_line(&mut text, 0, 0);
            }
        }
    }
    text
}

/// The largest latency of a period. Of bandwidth and IOPS a period has one value.
fn largest(counts: &OpCounts, kind: LogValue) -> Option<u64> {
    match kind {
        LogValue::Lat => Some(counts.completion.max_ns()),
        LogValue::Clat => Some(behind(counts).max_ns()),
        LogValue::Slat => Some(counts.submit.max_ns()),
        LogValue::Bandwidth | LogValue::Iops | LogValue::Histogram => None,
    }
}

/// From the return of the submitting call where each was timed, else from before it.
fn behind(counts: &OpCounts) -> &LatencyHistogram {
    if counts.service.is_empty() { &counts.completion } else { &counts.service }
}

fn value(counts: &OpCounts, kind: LogValue, length_ns: u64) -> Option<u64> {
    let seconds = length_ns as f64 / 1e9;
    let mean = |histogram: &LatencyHistogram| (!histogram.is_empty()).then(|| histogram.mean_ns() as u64);
    match kind {
        LogValue::Bandwidth => Some((counts.bytes as f64 / 1024.0 / seconds) as u64),
        LogValue::Iops => Some((counts.ios as f64 / seconds).round() as u64),
        LogValue::Lat => mean(&counts.completion),
        LogValue::Clat => mean(behind(counts)),
        LogValue::Slat => mean(&counts.submit),
        LogValue::Histogram => None,
    }
}

#[cfg(test)]
mod tests {
    use assay_results::interval::{IntervalKey, JobCounts};

    use super::*;

    #[test]
    fn windows_stay_on_their_grid_where_periods_do_not_divide_them() {
        let period = |index: u32| {
            let key = IntervalKey {
                index,
                start_ns: 7 + u64::from(index) * 1_000_000_000,
                length_ns: 1_000_000_000,
                phase: 0,
                job: 0,
                ramp: false,
            };
            Interval { key, counts: JobCounts::default() }
        };
        let periods: Vec<Interval> = (0..12).map(period).collect();
        let ends = |length_ms: u64| {
            let all: Vec<&Interval> = periods.iter().collect();
            let merged = merged(&all, length_ms * 1_000_000);
            merged.iter().map(|one| end_ms(one, 7)).collect::<Vec<_>>()
        };
        // Each ends within half a period of a multiple of its length.
        assert_eq!(ends(1500), [1000, 3000, 4000, 6000, 7000, 9000, 10_000, 12_000]);
        assert_eq!(ends(3000), [3000, 6000, 9000, 12_000]);
        assert_eq!(ends(500).len(), 12);
        assert_eq!(ends(0).len(), 12);
    }
}
