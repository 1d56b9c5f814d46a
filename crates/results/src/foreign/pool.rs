//! Results of several parts as one, as far as that can be done.

use crate::histogram::{LatencyHistogram, SparseHistogram};
use crate::run::{LatencySummary, OpResult};

/// A latency with the distribution behind it, where that is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    /// Number, mean, percentiles.
    pub summary: LatencySummary,
    /// All values.
    pub histogram: Option<SparseHistogram>,
}

/// All values together. With every part's distribution the percentiles are those of their merge; without, there are none,
/// since percentiles do not add up; number, extremes, mean and standard deviation do in any case.
pub fn pool_latency(parts: &[Latency]) -> Latency {
    let mut parts = parts.iter().filter(|part| part.summary.n > 0);
    let Some(first) = parts.next() else { return Latency::default() };
    let mut sum = first.clone();
    for part in parts {
        sum = pool_two(&sum, part);
    }
    sum
}

fn pool_two(a: &Latency, b: &Latency) -> Latency {
    let merged = a.histogram.as_ref().zip(b.histogram.as_ref()).map(|(a, b)| {
        let mut merged = LatencyHistogram::from_sparse(a);
        merged.merge(&LatencyHistogram::from_sparse(b));
        merged
    });
    let (x, y) = (a.summary, b.summary);
    let (n, m) = (x.n as f64, y.n as f64);
    let mean = (x.mean * n + y.mean * m) / (n + m);
    // Sums of squares around the common mean, from those around each one's own.
    let squares = |s: LatencySummary, n: f64| (n - 1.0) * s.stddev.powi(2) + n * (s.mean - mean).powi(2);
    let percentiles = merged.as_ref().map(LatencySummary::of).unwrap_or_default();
    let summary = LatencySummary {
        n: x.n.saturating_add(y.n),
        min: x.min.min(y.min),
        mean,
        stddev: ((squares(x, n) + squares(y, m)) / (n + m - 1.0)).max(0.0).sqrt(),
        max: x.max.max(y.max),
        ..percentiles
    };
    Latency { summary, histogram: merged.map(|merged| merged.to_sparse()) }
}

/// Operations of several parts that ran side by side for `measured_s` seconds in all; `None` without any.
pub fn pool_ops(parts: &[&OpResult], measured_s: f64) -> Option<OpResult> {
    if let [one] = parts {
        return Some((*one).clone());
    }
    let first = parts.first()?;
    let sum = |of: fn(&OpResult) -> u64| parts.iter().map(|op| of(op)).fold(0, u64::saturating_add);
    let (ios, bytes) = (sum(|op| op.ios), sum(|op| op.bytes));
    let per_s = |count: u64| if measured_s > 0.0 { count as f64 / measured_s } else { 0.0 };
    let completion: Vec<Latency> = parts
        .iter()
        .map(|op| Latency { summary: op.completion_ns, histogram: op.completion_histogram.clone() })
        .collect();
    let completion = pool_latency(&completion);
    let pooled = |of: fn(&OpResult) -> (Option<LatencySummary>, &Option<SparseHistogram>)| {
        let known = parts.iter().map(|op| of(op));
        let known: Vec<Latency> = known
            .filter_map(|(summary, histogram)| {
                Some(Latency { summary: summary?, histogram: histogram.clone() })
            })
            .collect();
        pool_latency(&known)
    };
    let submit = pooled(|op| (op.submit_ns, &op.submit_histogram));
    let service = pooled(|op| (op.service_ns, &op.service_histogram));
    let some = |latency: &Latency| (latency.summary.n > 0).then_some(latency.summary);
    let same_size = parts.iter().all(|op| op.block_size == first.block_size);
    Some(OpResult {
        ios,
        bytes,
        iops: per_s(ios),
        bytes_per_s: per_s(bytes),
        block_size: if same_size { first.block_size } else { bytes.checked_div(ios).unwrap_or(0) },
        completion_ns: completion.summary,
        response_ns: None,
        submit_ns: some(&submit),
        service_ns: some(&service),
        completion_histogram: completion.histogram,
        response_histogram: None,
        submit_histogram: submit.histogram,
        service_histogram: service.histogram,
    })
}

/// Reads, writes and trims of one job together: their rates add up, since they ran in the same time.
pub fn total_of(ops: &[&OpResult]) -> OpResult {
    let mut total = pool_ops(ops, 0.0).unwrap_or_default();
    total.iops = ops.iter().map(|op| op.iops).sum();
    total.bytes_per_s = ops.iter().map(|op| op.bytes_per_s).sum();
    // The operations carry theirs.
    total.forget_distributions();
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(values: &[u64], known: bool) -> Latency {
        let mut histogram = LatencyHistogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        Latency { summary: LatencySummary::of(&histogram), histogram: known.then(|| histogram.to_sparse()) }
    }

    #[test]
    fn distributions_merge() {
        let (a, b) = ([100, 110, 120, 130, 140, 150], [90, 95, 100, 200, 210, 220, 230]);
        let together = latency(&[a.as_slice(), &b].concat(), true);
        let pooled = pool_latency(&[latency(&a, true), latency(&b, true)]);
        assert_eq!(pooled.histogram, together.histogram);
        assert_eq!(pooled.summary.p50, together.summary.p50);
        assert!((pooled.summary.mean - together.summary.mean).abs() < 1e-9);
        assert!((pooled.summary.stddev - together.summary.stddev).abs() < 1e-6);
    }

    #[test]
    fn percentiles_do_not() {
        let parts = [latency(&[100; 9], true), latency(&[200; 9], false)];
        let pooled = pool_latency(&parts);
        assert_eq!((pooled.summary.p50, pooled.histogram.is_some()), (None, false));
        assert_eq!((pooled.summary.n, pooled.summary.min, pooled.summary.max), (18, 100, 200));
        assert!((pooled.summary.stddev - 51.45).abs() < 0.01, "{}", pooled.summary.stddev);
        assert_eq!(pool_latency(&[Latency::default(), parts[0].clone()]), parts[0]);
    }

    #[test]
    fn reads_and_writes_of_a_job_add_their_rates() {
        let op =
            |iops: f64| OpResult { ios: 10, bytes: 40_960, iops, block_size: 4096, ..OpResult::default() };
        let total = total_of(&[&op(70.0), &op(30.0)]);
        assert_eq!((total.ios, total.iops, total.block_size), (20, 100.0, 4096));
        assert_eq!(total_of(&[]), OpResult::default());
    }
}
