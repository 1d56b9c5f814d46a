//! One entry of fio's `jobs`.

use assay_workload::plan::{PlannedJob, PlannedTarget, describe_flush, describe_pattern};
use serde_json::Value;

use super::contradictions;
use super::options::{FioOptions, THREADS_MAX};
use crate::bins::{FIO_BINS, from_fio_bin};
use crate::errno;
use assay_results::evidence::JobEvidence;
use assay_results::foreign::cut;
use assay_results::foreign::{Latency, pool_ops, total_of};
use assay_results::histogram::{LatencyHistogram, SparseHistogram, bucket_low_ns};
use assay_results::run::{JobResult, LatencySummary, OpResult};
use assay_results::stats::{TAIL_ONE_SIDED_95, samples_for_percentile};

/// One entry, read.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    /// fio's group: those of one ran side by side.
    pub(super) group: u64,
    pub(super) description: String,
    pub(super) elapsed_s: f64,
    options: FioOptions,
    /// Read, write, trim, flush.
    ops: [Option<OpResult>; 4],
    /// Of a job that reported all operations as one.
    mixed: Option<OpResult>,
    measured_s: f64,
    /// Clones behind the entry.
    threads: u64,
    cpu_user_ns: u64,
    cpu_system_ns: u64,
    context_switches: u64,
    errors: u64,
    first_errno: u64,
    /// Whether the latencies are fio's `lat` instead of its `clat`.
    pub(super) is_lat: bool,
    /// What in its figures cannot be true, as sentences.
    pub(super) contradictions: Vec<String>,
}

fn number(value: &Value, name: &str) -> f64 {
    value
        .get(name)
        .and_then(Value::as_f64)
        .filter(|number| number.is_finite() && *number >= 0.0)
        .unwrap_or(0.0)
}

fn count(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_else(|| number(value, name) as u64)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

impl Entry {
    /// `None`: it is not an entry of a job.
    pub(super) fn of(value: &Value, global: Option<&Value>) -> Option<Entry> {
        let mut is_lat = false;
        let mut op = |name: &str| value.get(name).and_then(|value| operation(value, &mut is_lat));
        let ops = [op("read"), op("write"), op("trim"), value.get("sync").and_then(flush)];
        let mixed = op("mixed");
        if ["read", "write", "mixed"].iter().all(|name| value.get(name).is_none()) {
            return None;
        }
        let runtime_ms = ["read", "write", "trim", "mixed"]
            .iter()
            .filter_map(|name| value.get(name))
            .map(|op| number(op, "runtime"))
            .fold(0.0, f64::max);
        let options = FioOptions::of(global, value.get("job options"));
        let total_ms = number(value, "job_runtime");
        // With group reporting one entry stands for the clones of all jobs of the group, whose times are added up; below
        // a fifth of a second they say nothing.
        let ratio = if runtime_ms >= 200.0 { (total_ms / runtime_ms).round() as u64 } else { 1 };
        let (error, errors) = (count(value, "error"), count(value, "total_err"));
        let host = text(value, "hostname");
        let name = cut(text(value, "jobname"));
        Some(Entry {
            name: if host.is_empty() { name } else { format!("{name}@{}", cut(host)) },
            group: count(value, "groupid"),
            description: cut(text(value, "desc")),
            elapsed_s: number(value, "elapsed"),
            threads: ratio.clamp(options.clones(), THREADS_MAX),
            options,
            ops,
            mixed,
            measured_s: runtime_ms / 1e3,
            cpu_user_ns: (number(value, "usr_cpu") * total_ms * 1e4) as u64,
            cpu_system_ns: (number(value, "sys_cpu") * total_ms * 1e4) as u64,
            context_switches: count(value, "ctx"),
            errors: errors.max(u64::from(error > 0)),
            first_errno: if error > 0 { error } else { count(value, "first_error") },
            is_lat,
            contradictions: contradictions::of_entry(value),
        })
    }

    /// Whether it lacks the distribution that merging with another would take.
    pub(super) fn lacks_distribution(&self) -> bool {
        let lacks = |op: &&OpResult| op.completion_ns.n > 0 && op.completion_histogram.is_none();
        self.ops.iter().flatten().chain(&self.mixed).any(|op| lacks(&op))
    }

    pub(super) fn is_mixed(&self) -> bool {
        self.mixed.is_some()
    }
}

/// `read`, `write`, `trim` or `mixed`; `None` where nothing was done.
fn operation(value: &Value, is_lat: &mut bool) -> Option<OpResult> {
    let (ios, bytes) = (count(value, "total_ios"), count(value, "io_bytes"));
    if ios == 0 {
        return None;
    }
    let seconds = number(value, "runtime") / 1e3;
    let completion = latency(value.get("clat_ns"));
    let whole = latency(value.get("lat_ns"));
    let percentiles = |latency: &Latency| latency.histogram.is_some() || latency.summary.p50.is_some();
    // With `lat_percentiles`, and without `clat`, the whole latency is what was asked for.
    let take_whole = whole.summary.n > 0
        && (completion.summary.n == 0 || percentiles(&whole) && !percentiles(&completion));
    *is_lat |= take_whole;
    let latency_taken = if take_whole { whole } else { completion };
    let submit = latency(value.get("slat_ns")).summary;
    let per_s = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let given = |name: &str, otherwise: f64| match number(value, name) {
        0.0 => otherwise,
        given => given,
    };
    Some(OpResult {
        ios,
        bytes,
        iops: given("iops", per_s(ios)),
        bytes_per_s: given("bw_bytes", per_s(bytes)),
        block_size: bytes / ios,
        completion_ns: latency_taken.summary,
        submit_ns: (submit.n > 0).then_some(submit),
        completion_histogram: latency_taken.histogram,
        ..OpResult::default()
    })
}

/// `sync`: flushes have a number and a latency.
fn flush(value: &Value) -> Option<OpResult> {
    let latency = latency(value.get("lat_ns"));
    let ios = count(value, "total_ios");
    (ios > 0).then(|| OpResult {
        ios,
        completion_ns: latency.summary,
        completion_histogram: latency.histogram,
        ..OpResult::default()
    })
}

/// A latency. The distribution is that of the bins, where they are complete; else there are the percentiles listed, those
/// that so many values bound.
fn latency(value: Option<&Value>) -> Latency {
    let Some(value) = value else { return Latency::default() };
    let n = count(value, "N");
    let mut summary = LatencySummary {
        n,
        min: count(value, "min"),
        mean: number(value, "mean"),
        stddev: number(value, "stddev"),
        max: count(value, "max"),
        ..LatencySummary::default()
    };
    let sparse = value.get("bins").and_then(|bins| distribution(bins, &summary));
    if let Some(sparse) = sparse {
        let of_bins = LatencySummary::of(&LatencyHistogram::from_sparse(&sparse));
        let summary = LatencySummary {
            n,
            min: summary.min,
            mean: summary.mean,
            stddev: summary.stddev,
            max: summary.max,
            ..of_bins
        };
        return Latency { summary, histogram: Some(sparse) };
    }
    let listed = |share: f64| {
        let percentiles = value.get("percentile")?.as_object()?;
        let wanted = format!("{:.6}", share * 100.0);
        let enough = n >= samples_for_percentile(share, TAIL_ONE_SIDED_95)?;
        percentiles.get(&wanted).and_then(Value::as_u64).filter(|_| enough)
    };
    summary.p50 = listed(0.5);
    summary.p90 = listed(0.9);
    summary.p95 = listed(0.95);
    summary.p99 = listed(0.99);
    summary.p99_9 = listed(0.999);
    summary.p99_99 = listed(0.9999);
    Latency { summary, histogram: None }
}

/// The counts of all bins; `None` where they are not as many as there were values.
fn distribution(bins: &Value, summary: &LatencySummary) -> Option<SparseHistogram> {
    let bins = bins.as_object().filter(|bins| !bins.is_empty() && bins.len() <= FIO_BINS)?;
    let mut counted = LatencyHistogram::new();
    let mut total = 0_u64;
    for (middle, count) in bins {
        let (middle, count) = (middle.parse().ok()?, count.as_u64()?);
        total = total.checked_add(count).filter(|total| *total <= summary.n)?;
        for (bucket, count) in from_fio_bin(middle, count) {
            counted.record_n(bucket_low_ns(bucket), count);
        }
    }
    let sum_ns = (summary.mean * summary.n as f64) as u64;
    (total == summary.n).then(|| SparseHistogram {
        sum_ns,
        min_ns: summary.min,
        max_ns: summary.max.max(summary.min),
        ..counted.to_sparse()
    })
}

/// The result of the entries of one job: its clones, where they were reported each on their own.
pub(super) fn job_of(entries: &[Entry], targets: &mut Vec<PlannedTarget>) -> Option<(JobResult, PlannedJob)> {
    let first = entries.first()?;
    let measured_s = entries.iter().map(|entry| entry.measured_s).fold(0.0, f64::max);
    let measured_ns = (measured_s * 1e9) as u64;
    let threads = if entries.len() == 1 { first.threads } else { entries.len() as u64 };
    let op = |index: usize| {
        let parts: Vec<&OpResult> =
            entries.iter().filter_map(|entry| entry.ops.get(index)?.as_ref()).collect();
        pool_ops(&parts, measured_s)
    };
    let [read, write, trim] = [op(0), op(1), op(2)];
    let flush = op(3).map(|mut flush| {
        flush.iops = if measured_s > 0.0 { flush.ios as f64 / measured_s } else { 0.0 };
        flush
    });
    let mixed: Vec<&OpResult> = entries.iter().filter_map(|entry| entry.mixed.as_ref()).collect();
    let data: Vec<&OpResult> = [&read, &write, &trim].into_iter().flatten().collect();
    let total = pool_ops(&mixed, measured_s).unwrap_or_else(|| total_of(&data));
    let planned = first.options.planned(&first.name, threads, measured_s, total.block_size, targets);
    let sum = |of: fn(&Entry) -> u64| entries.iter().map(of).fold(0, u64::saturating_add);
    let (cpu_user_ns, cpu_system_ns) = (sum(|entry| entry.cpu_user_ns), sum(|entry| entry.cpu_system_ns));
    let errors = sum(|entry| entry.errors);
    let errno = entries.iter().map(|entry| entry.first_errno).find(|errno| *errno > 0);
    let offered_iops = planned.offered_iops();
    let expected = offered_iops.map(|rate| rate * measured_s).filter(|expected| *expected > 0.0);
    let cpu_ns = cpu_user_ns.saturating_add(cpu_system_ns) as f64;
    let result = JobResult {
        name: first.name.clone(),
        workers: 1,
        outstanding_io: planned.outstanding_io(),
        outstanding_io_mean: total.iops * total.completion_ns.mean / 1e9,
        cpu_ns_per_io: if total.ios > 0 { cpu_ns / total.ios as f64 } else { 0.0 },
        engine: format!("fio {}", cut(first.options.engine())).into(),
        direct: planned.direct,
        durability: describe_flush(&planned.flush),
        pattern: describe_pattern(&planned.pattern),
        measured_s,
        errors,
        errors_by_kind: errno.map(|errno| (errno::name_of(errno), errors)).into_iter().collect(),
        evidence: JobEvidence {
            finished: true,
            threads: threads as u32,
            measured_ns,
            active_bytes: active_bytes(&planned),
            offered_iops,
            offered_each: planned.offered_each(),
            missed_share: expected.map(|expected| (1.0 - total.ios as f64 / expected).max(0.0)),
            cpu_user_ns,
            cpu_system_ns,
            waits: sum(|entry| entry.context_switches),
            ..JobEvidence::default()
        },
        read,
        write,
        trim,
        flush,
        total,
        ..JobResult::default()
    };
    Some((result, planned))
}

fn active_bytes(planned: &PlannedJob) -> u64 {
    let sites = planned.slices.first().map_or(&[][..], |slice| &slice.sites);
    sites.iter().fold(0, |sum, site| sum.saturating_add(site.length_bytes))
}
