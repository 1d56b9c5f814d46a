//! The objects `read`, `write`, `trim` and `sync` of a job.

use crate::bins::{fio_percentile_ns, to_fio_bins};
use assay_results::LatencyHistogram;
use assay_results::histogram::{SparseHistogram, bucket_low_ns, bucket_width_ns};
use assay_results::run::{LatencySummary, OpResult};

use super::document::{Json, Object};
use super::samples::{Sample, Spread};

/// A latency: `min`, `max`, `mean`, `stddev`, `N`, and where asked for and known `percentile` and `bins`. Without the
/// distribution there are those percentiles that the summary holds.
pub(super) fn latency(
    summary: &LatencySummary,
    distribution: Option<&SparseHistogram>,
    with: Detail<'_>,
) -> Object {
    let mut object = Object::new()
        .with("min", summary.min)
        .with("max", summary.max)
        .with("mean", summary.mean)
        .with("stddev", summary.stddev)
        .with("N", summary.n);
    if summary.n == 0 || with.percentiles.is_empty() {
        return object;
    }
    let Some(sparse) = distribution else {
        let mut percentiles = Object::new();
        for (_, share, value) in summary.percentiles() {
            if let Some(value) = value {
                percentiles.put(format!("{:.6}", share * 100.0), value);
            }
        }
        if !percentiles.0.is_empty() {
            object.put("percentile", percentiles);
        }
        return object;
    };
    let histogram = LatencyHistogram::from_sparse(sparse);
    let bins = to_fio_bins(&histogram);
    let mut percentiles = Object::new();
    for percent in with.percentiles {
        if let Some(value) = fio_percentile_ns(&bins, histogram.n(), *percent) {
            percentiles.put(format!("{percent:.6}"), value);
        }
    }
    object.put("percentile", percentiles);
    if with.bins {
        let mut counts = Object::new();
        bins.iter().for_each(|(middle, count)| counts.put(middle.to_string(), *count));
        object.put("bins", counts);
    }
    object
}

/// How much of a latency is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Detail<'l> {
    /// Those to list; none, and no buckets either, where it is empty.
    pub(super) percentiles: &'l [f64],
    /// The counts of all buckets, too.
    pub(super) bins: bool,
}

/// How much of each of an operation's latencies is written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Details<'l> {
    pub(super) slat: Detail<'l>,
    pub(super) clat: Detail<'l>,
    pub(super) lat: Detail<'l>,
}

/// What an operation is written with that is not its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Neighbours {
    /// What all jobs side by side moved of it.
    pub(super) group_bytes_per_s: f64,
    /// Those that moved less than was asked for.
    pub(super) short_ios: u64,
    /// Whether submitting is a time of its own: not where the engine waits for each I/O.
    pub(super) submits: bool,
}

/// Measured time in milliseconds as fio counts it: rounded up, at least one.
pub(super) fn runtime_ms(measured_s: f64) -> u64 {
    ((measured_s * 1e3).ceil() as u64).max(1)
}

/// What a reported job did of one operation; `None`: nothing, and everything is 0.
pub(super) fn operation(
    op: Option<&OpResult>,
    measured_s: f64,
    samples: &[Sample],
    beside: &Neighbours,
    details: &Details<'_>,
) -> Object {
    let nothing = OpResult::default();
    let done = op.unwrap_or(&nothing);
    let bandwidth = Spread::of(samples.iter().map(|sample| sample.bytes_per_s / 1024.0));
    let iops = Spread::of(samples.iter().map(|sample| sample.iops));
    let (slat, slat_histogram, clat, clat_histogram) = parts(done, beside.submits);
    let completion = latency(&clat, clat_histogram.as_ref(), details.clat);
    let whole = latency(&done.completion_ns, done.completion_histogram.as_ref(), details.lat);
    let group = beside.group_bytes_per_s;
    let share = if group > 0.0 { bandwidth.mean * 1024.0 / group } else { 0.0 };
    Object::new()
        .with("io_bytes", done.bytes)
        .with("io_kbytes", done.bytes / 1024)
        .with("bw_bytes", done.bytes_per_s as u64)
        .with("bw", (done.bytes_per_s / 1024.0) as u64)
        .with("iops", done.iops)
        .with("runtime", op.filter(|_| measured_s > 0.0).map_or(0, |_| runtime_ms(measured_s)))
        .with("total_ios", done.ios)
        .with("short_ios", beside.short_ios)
        .with("drop_ios", 0_u64)
        .with("slat_ns", latency(&slat, slat_histogram.as_ref(), details.slat))
        .with("clat_ns", completion)
        .with("lat_ns", whole)
        .with("bw_min", bandwidth.min as u64)
        .with("bw_max", bandwidth.max as u64)
        .with("bw_agg", (share * 100.0).min(100.0))
        .with("bw_mean", bandwidth.mean)
        .with("bw_dev", bandwidth.stddev)
        .with("bw_samples", bandwidth.n)
        .with("iops_min", iops.min as u64)
        .with("iops_max", iops.max as u64)
        .with("iops_mean", iops.mean)
        .with("iops_stddev", iops.stddev)
        .with("iops_samples", iops.n)
}

/// fio's `slat` and `clat`, each with its distribution as far as it is known. Where each call was timed they are what was measured.
fn parts(
    done: &OpResult,
    submits: bool,
) -> (LatencySummary, Option<SparseHistogram>, LatencySummary, Option<SparseHistogram>) {
    if !submits {
        let whole = done.completion_histogram.clone();
        return (LatencySummary::default(), None, done.completion_ns, whole);
    }
    let timed = done.service_ns.filter(|service| service.n == done.completion_ns.n);
    if let (Some(service), Some(submit)) = (timed, done.submit_ns) {
        return (submit, done.submit_histogram.clone(), service, done.service_histogram.clone());
    }
    let slat = submission(done);
    let (clat, histogram) = behind(done, slat.mean);
    (slat, None, clat, histogram)
}

/// fio's `slat`: the time of the submitting call, of the I/Os of which it was measured. No longer on average than the I/Os took.
fn submission(done: &OpResult) -> LatencySummary {
    let measured = done.submit_ns.unwrap_or_default();
    LatencySummary { mean: measured.mean.min(done.completion_ns.mean), ..measured }
}

/// fio's `clat`, which begins when the submitting call returns. Assay measures from before that call: fio's `lat`. The call's mean
/// is taken off, so that the means of slat and clat make that of lat; for single I/Os it is not known.
fn behind(done: &OpResult, submit_ns_mean: f64) -> (LatencySummary, Option<SparseHistogram>) {
    let whole = done.completion_ns;
    let histogram = done.completion_histogram.clone();
    if submit_ns_mean <= 0.0 {
        return (whole, histogram);
    }
    let off = submit_ns_mean.round() as u64;
    let less = |ns: u64| ns.saturating_sub(off);
    let shifted = histogram.map(|sparse| {
        let mut moved = LatencyHistogram::new();
        for (bucket, count) in LatencyHistogram::from_sparse(&sparse).buckets() {
            moved.record_n(less(bucket_low_ns(bucket) + bucket_width_ns(bucket) / 2), count);
        }
        moved.to_sparse()
    });
    let summary = LatencySummary {
        min: less(whole.min),
        mean: whole.mean - submit_ns_mean,
        p50: whole.p50.map(less),
        p90: whole.p90.map(less),
        p95: whole.p95.map(less),
        p99: whole.p99.map(less),
        p99_9: whole.p99_9.map(less),
        p99_99: whole.p99_99.map(less),
        max: less(whole.max),
        ..whole
    };
    (summary, shifted)
}

/// fsync and fdatasync.
pub(super) fn sync(op: Option<&OpResult>, detail: Detail<'_>) -> Object {
    let nothing = OpResult::default();
    let done = op.unwrap_or(&nothing);
    Object::new()
        .with("total_ios", done.ios)
        .with("lat_ns", latency(&done.completion_ns, done.completion_histogram.as_ref(), detail))
}

/// A response time, with its percentiles where the distribution is known; null in a closed loop.
pub(super) fn response(op: Option<&OpResult>, detail: Detail<'_>) -> Json {
    match op.and_then(|op| Some((op.response_ns?, op.response_histogram.as_ref()))) {
        Some((summary, distribution)) => latency(&summary, distribution, detail).into(),
        None => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_timed_is_shown_as_it_was() {
        let histogram = |first_ns: u64| {
            let mut histogram = LatencyHistogram::new();
            (0..100).for_each(|i| histogram.record_n(first_ns + i * 1000, 1));
            histogram
        };
        let (whole, submit, service) = (histogram(60_000), histogram(10_000), histogram(50_000));
        let done = OpResult {
            completion_ns: LatencySummary::of(&whole),
            completion_histogram: Some(whole.to_sparse()),
            submit_ns: Some(LatencySummary::of(&submit)),
            submit_histogram: Some(submit.to_sparse()),
            service_ns: Some(LatencySummary::of(&service)),
            service_histogram: Some(service.to_sparse()),
            ..OpResult::default()
        };
        let (slat, slat_histogram, clat, clat_histogram) = parts(&done, true);
        assert_eq!((slat.min, slat.max, clat.min, clat.max), (10_000, 109_000, 50_000, 149_000));
        assert_eq!((slat_histogram, clat_histogram), (Some(submit.to_sparse()), Some(service.to_sparse())));
        // Of an engine that waits for each I/O there is no submission.
        let (slat, _, clat, clat_histogram) = parts(&done, false);
        assert_eq!((slat.n, clat, clat_histogram), (0, done.completion_ns, done.completion_histogram));
    }

    #[test]
    fn slat_and_clat_make_lat() {
        let mut histogram = LatencyHistogram::new();
        (0..1000).for_each(|i| histogram.record_n(20_000 + i * 100, 1));
        let whole = LatencySummary {
            n: 1000,
            min: 20_000,
            max: 119_900,
            mean: histogram.mean_ns(),
            ..Default::default()
        };
        for submit_ns in [0.0, 5000.0, 1e6] {
            let submit = LatencySummary { n: 16, mean: submit_ns, ..Default::default() };
            let done = OpResult {
                completion_ns: whole,
                submit_ns: Some(submit),
                completion_histogram: Some(histogram.to_sparse()),
                ..OpResult::default()
            };
            let slat = submission(&done).mean;
            let (clat, shifted) = behind(&done, slat);
            assert!((slat + clat.mean - whole.mean).abs() < 1e-6, "{submit_ns}");
            assert!(clat.min <= clat.max && clat.mean >= 0.0);
            let shifted = LatencyHistogram::from_sparse(&shifted.unwrap());
            assert_eq!(shifted.n(), 1000);
            assert!(
                (shifted.mean_ns() - clat.mean).abs() < 0.01 * whole.mean || slat == whole.mean,
                "{submit_ns}"
            );
        }
    }
}
