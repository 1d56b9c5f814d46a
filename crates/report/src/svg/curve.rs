//! Latency distributions as points to draw.

use assay_results::LatencyHistogram;
use assay_results::histogram::{bucket_low_ns, bucket_width_ns};
use assay_results::run::LatencySummary;

/// Points of a percentile curve per factor of ten in `1 - quantile`.
const POINTS_PER_DECADE: f64 = 12.0;

/// The place of a quantile on an axis on which each further nine is as wide as the one before: `-log10(1 - q)`.
pub fn percentile_x(quantile: f64) -> f64 {
    -(1.0 - quantile).max(1e-9).log10()
}

/// Ticks of such an axis up to `x_max`: place and name.
pub fn percentile_ticks(x_max: f64) -> Vec<(f64, String)> {
    let ticks = [
        (0.5, "p50"),
        (0.9, "p90"),
        (0.99, "p99"),
        (0.999, "p99.9"),
        (0.9999, "p99.99"),
        (0.99999, "p99.999"),
        (0.999999, "p99.9999"),
    ];
    let places = ticks.into_iter().map(|(quantile, name)| (percentile_x(quantile), name.to_owned()));
    places.take_while(|(x, _)| *x <= x_max + 1e-9).collect()
}

/// The curve of a distribution, as far as its number of values bears it: place on the axis, nanoseconds.
///
/// Ends where ten values lie beyond: further out a single value would be the curve.
pub fn percentile_points(histogram: &LatencyHistogram) -> Vec<(f64, f64)> {
    if histogram.is_empty() {
        return Vec::new();
    }
    let last = (histogram.n() as f64 / 10.0).max(2.0).log10();
    let steps = (last * POINTS_PER_DECADE).ceil() as u32;
    let places = (0..=steps).map(|step| last * f64::from(step) / f64::from(steps));
    places
        .filter_map(|x| {
            let quantile = 1.0 - 10_f64.powf(-x);
            Some((x, histogram.quantile_ns(quantile)? as f64))
        })
        .collect()
}

/// The percentiles of a summary as points, for runs that stored no distribution.
pub(crate) fn summary_points(summary: &LatencySummary) -> Vec<(f64, f64)> {
    let known = summary.percentiles().into_iter();
    known.filter_map(|(_, quantile, value)| Some((percentile_x(quantile), value? as f64))).collect()
}

/// The share of values in each of `bins` equal steps of a log axis from `low_ns` to `high_ns`.
///
/// A bucket that spans several bins is spread over them by its width.
pub fn density(histogram: &LatencyHistogram, low_ns: f64, high_ns: f64, bins: usize) -> Vec<f64> {
    let mut shares = vec![0.0; bins];
    let span = (high_ns / low_ns).ln();
    if bins == 0 || histogram.is_empty() || !span.is_finite() || span <= 0.0 {
        return shares;
    }
    let place = |ns: f64| ((ns.max(low_ns) / low_ns).ln() / span * bins as f64).clamp(0.0, bins as f64);
    for (bucket, count) in histogram.buckets() {
        let low = bucket_low_ns(bucket) as f64;
        let (from, to) = (place(low), place(low + bucket_width_ns(bucket) as f64));
        let share = count as f64 / histogram.n() as f64;
        let (first, last) = ((from as usize).min(bins - 1), (to.ceil() as usize).clamp(1, bins) - 1);
        if last <= first || to <= from {
            shares[first] += share;
            continue;
        }
        for (bin, sum) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
            let part = (to.min(bin as f64 + 1.0) - from.max(bin as f64)) / (to - from);
            *sum += share * part.max(0.0);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(n: u64) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        (1..=n).for_each(|value| histogram.record(value * 1000));
        histogram
    }

    #[test]
    fn each_nine_is_as_wide() {
        assert!((percentile_x(0.9) - 1.0).abs() < 1e-9);
        assert!((percentile_x(0.999) - 3.0).abs() < 1e-9);
        assert_eq!(percentile_x(1.0), 9.0);
        assert_eq!(percentile_ticks(2.0).last().map(|tick| tick.1.as_str()), Some("p99"));
    }

    #[test]
    fn the_curve_rises_and_ends_where_ten_values_are_left() {
        let points = percentile_points(&uniform(10_000));
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        let (x, ns) = points[points.len() - 1];
        assert!((x - 3.0).abs() < 1e-9);
        assert!((ns / 9_990_000.0 - 1.0).abs() < 0.01, "{ns}");
        assert!(percentile_points(&LatencyHistogram::new()).is_empty());
    }

    #[test]
    fn density_loses_nothing() {
        for (low, high) in [(1e3, 1e7), (5e5, 6e5), (1e9, 1e10)] {
            let shares = density(&uniform(1000), low, high, 30);
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{low} {high}");
        }
        assert_eq!(density(&LatencyHistogram::new(), 1.0, 10.0, 3), [0.0; 3]);
    }
}
