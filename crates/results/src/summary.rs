//! From counts to reported numbers: [`LatencySummary`] and [`OpResult`].

use crate::histogram::LatencyHistogram;
use crate::interval::OpCounts;
use crate::run::{LatencySummary, OpResult};
use crate::stats::{TAIL_ONE_SIDED_95, samples_for_percentile};

impl LatencySummary {
    /// The brief form of a distribution.
    ///
    /// A percentile is given where its bounds exist among the values: with fewer than
    /// [`samples_for_percentile`] values, the largest of them lies below the percentile with a chance above 5 %, so
    /// that nothing seen bounds it. That takes 5 values for the median, 29 for p90, 59 for p95, 299 for p99, 2995
    /// for p99.9 and 29956 for p99.99 (order statistics; Meeker, Hahn and Escobar, Statistical Intervals). Values of
    /// one run follow each other and are not independent, so this is the least that is needed.
    pub fn of(histogram: &LatencyHistogram) -> Self {
        let percentile = |p: f64| {
            let needed = samples_for_percentile(p, TAIL_ONE_SIDED_95)?;
            (histogram.n() >= needed).then(|| histogram.quantile_ns(p)).flatten()
        };
        LatencySummary {
            n: histogram.n(),
            min: histogram.min_ns(),
            mean: histogram.mean_ns(),
            stddev: histogram.stddev_ns(),
            p50: percentile(0.5),
            p90: percentile(0.9),
            p95: percentile(0.95),
            p99: percentile(0.99),
            p99_9: percentile(0.999),
            p99_99: percentile(0.9999),
            max: histogram.max_ns(),
        }
    }

    /// The brief form, or `None` of a distribution without values.
    pub fn of_some(histogram: &LatencyHistogram) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self::of(histogram))
    }

    /// The percentiles by name, ascending, with the share they stand for.
    pub fn percentiles(&self) -> [(&'static str, f64, Option<u64>); 6] {
        [
            ("p50", 0.5, self.p50),
            ("p90", 0.9, self.p90),
            ("p95", 0.95, self.p95),
            ("p99", 0.99, self.p99),
            ("p99.9", 0.999, self.p99_9),
            ("p99.99", 0.9999, self.p99_99),
        ]
    }
}

/// Whether the operations counted were of the planned size: one block that ends with the file changes nothing that is
/// shown, blocks that a random map cut do. Trims move no bytes, and are never cut.
pub(crate) fn were_of_size(counts: &OpCounts, planned_bytes: u64) -> bool {
    let mean = counts.bytes.checked_div(counts.ios).filter(|mean| *mean > 0).unwrap_or(planned_bytes);
    mean.abs_diff(planned_bytes).saturating_mul(200) <= planned_bytes
}

impl OpResult {
    /// The result of what was counted in `measured_ns` nanoseconds. `block_size` is the planned size in bytes where
    /// there is one; `None`: the mean of what was moved.
    pub fn of(counts: &OpCounts, measured_ns: u64, block_size: Option<u64>) -> Self {
        let per_s = |count: u64| if measured_ns == 0 { 0.0 } else { count as f64 * 1e9 / measured_ns as f64 };
        let some = |histogram: &LatencyHistogram| (!histogram.is_empty()).then(|| histogram.to_sparse());
        let each_timed = !counts.service.is_empty();
        OpResult {
            ios: counts.ios,
            bytes: counts.bytes,
            iops: per_s(counts.ios),
            bytes_per_s: per_s(counts.bytes),
            block_size: block_size.unwrap_or_else(|| counts.bytes.checked_div(counts.ios).unwrap_or(0)),
            completion_ns: LatencySummary::of(&counts.completion),
            response_ns: LatencySummary::of_some(&counts.response),
            submit_ns: LatencySummary::of_some(&counts.submit),
            service_ns: LatencySummary::of_some(&counts.service),
            completion_histogram: some(&counts.completion),
            response_histogram: some(&counts.response),
            submit_histogram: some(&counts.submit).filter(|_| each_timed),
            service_histogram: some(&counts.service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_n(n: u64) -> LatencySummary {
        let mut histogram = LatencyHistogram::new();
        (1..=n).for_each(|value| histogram.record(value * 1000));
        LatencySummary::of(&histogram)
    }

    #[test]
    fn a_percentile_appears_with_the_sample_that_bounds_it() {
        let given = |n: u64| of_n(n).percentiles().iter().filter(|entry| entry.2.is_some()).count();
        for (needed, number) in [(5, 1), (29, 2), (59, 3), (299, 4), (2995, 5), (29_956, 6)] {
            assert_eq!((given(needed - 1), given(needed)), (number - 1, number), "{needed}");
        }
    }

    #[test]
    fn nothing_is_all_zero() {
        assert_eq!(LatencySummary::of(&LatencyHistogram::new()), LatencySummary::default());
        assert_eq!(LatencySummary::of_some(&LatencyHistogram::new()), None);
    }

    #[test]
    fn rates_are_over_measured_time() {
        let counts = OpCounts { ios: 3000, bytes: 3000 * 4096, ..OpCounts::default() };
        let result = OpResult::of(&counts, 1_500_000_000, None);
        assert_eq!((result.iops, result.block_size), (2000.0, 4096));
        assert_eq!(result.bytes_per_s, 2000.0 * 4096.0);
        assert_eq!(OpResult::of(&counts, 0, Some(512)).iops, 0.0);
        assert_eq!(OpResult::of(&OpCounts::default(), 1, None).block_size, 0);
    }

    #[test]
    fn cut_blocks_are_not_of_the_planned_size() {
        let of = |bytes| were_of_size(&OpCounts { ios: 1000, bytes, ..OpCounts::default() }, 65_536);
        assert!(of(1000 * 65_536));
        assert!(of(999 * 65_536 + 512), "the last one ended with the file");
        assert!(!of(1000 * 38_912));
        assert!(were_of_size(&OpCounts::default(), 4096), "nothing was done");
    }
}
