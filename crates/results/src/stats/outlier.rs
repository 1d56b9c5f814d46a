//! Which of n runs (or workers) differs from the others, with a false-alarm rate that is known for that n.

use serde::{Deserialize, Serialize};

use super::special::normal_quantile;
use super::summary::median_of_sorted;
use super::{sorted, usable};

/// Chance that the rule flags anything at all among n values of one normal distribution.
pub const OUTLIER_FALSE_ALARM: f64 = 0.01;

/// MAD times this estimates the standard deviation of normal data.
const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Thresholds for 3, 4, .. 30 values (see [`outlier_threshold`]).
const SMALL: [f64; 28] = [
    109.96, 16.02, 18.66, 10.05, 10.72, 7.98, 8.28, 6.89, 7.05, 6.30, 6.39, 5.88, 5.97, 5.60, 5.67, 5.39,
    5.43, 5.25, 5.27, 5.11, 5.13, 5.00, 5.01, 4.92, 4.93, 4.83, 4.86, 4.78,
];

/// Thresholds for larger numbers of values.
const LARGE: [(usize, f64); 10] = [
    (40, 4.57),
    (50, 4.48),
    (75, 4.36),
    (100, 4.30),
    (200, 4.28),
    (500, 4.37),
    (1000, 4.47),
    (2000, 4.62),
    (5000, 4.79),
    (10000, 4.90),
];

/// What the outlier rule found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlierReport {
    /// Median of all values, in their unit.
    pub median: f64,
    /// Scaled MAD, or the floor where that is larger; in the unit of the values.
    pub scale: f64,
    /// A value further than this many scales from the median is an outlier.
    pub threshold: f64,
    /// Chance of any flag among as many clean values, a share of one.
    pub false_alarm: f64,
    /// Signed distance of each value from the median, in scales.
    pub z: Vec<f64>,
    /// Indices of the outliers, in order.
    pub flagged: Vec<usize>,
}

/// Flags values far from the others by the modified z-score (Iglewicz and Hoaglin 1993): distance from the
/// median over the scaled MAD.
///
/// Unlike the customary fixed limits (3.5, or 14.8 in hyperfine), the threshold depends on n so that the chance
/// of any false alarm is [`OUTLIER_FALSE_ALARM`]. `scale_floor` is the smallest scale believed, in the unit of
/// the values: the resolution of the figure, so that three equal runs and one that differs by a single I/O do
/// not make an outlier. `None` below three values, or when the scale is zero.
#[must_use]
pub fn outliers(values: &[f64], scale_floor: f64) -> Option<OutlierReport> {
    if !usable(values) {
        return None;
    }
    let threshold = outlier_threshold(values.len())?;
    let median = median_of_sorted(&sorted(values));
    let distances: Vec<f64> = values.iter().map(|v| (v - median).abs()).collect();
    let scale = (MAD_TO_SIGMA * median_of_sorted(&sorted(&distances))).max(scale_floor);
    if scale <= 0.0 {
        return None;
    }
    let z: Vec<f64> = values.iter().map(|v| (v - median) / scale).collect();
    let flagged = (0..z.len()).filter(|i| z[*i].abs() > threshold).collect();
    Some(OutlierReport { median, scale, threshold, false_alarm: OUTLIER_FALSE_ALARM, z, flagged })
}

/// The threshold for n values, in scaled MADs; `None` below three.
///
/// From a table: the 99 % point of the largest modified z among n normal deviates, from a million simulated
/// groups for each n (fewer for the largest). Between tabled sizes linear in ln n; above 10000 the normal limit.
#[must_use]
pub fn outlier_threshold(n: usize) -> Option<f64> {
    if n < 3 {
        return None;
    }
    if let Some(threshold) = SMALL.get(n - 3) {
        return Some(*threshold);
    }
    let mut below = (30, SMALL[27]);
    for above in LARGE {
        if n <= above.0 {
            let ln = |size: usize| (size as f64).ln();
            let place = (ln(n) - ln(below.0)) / (ln(above.0) - ln(below.0));
            return Some(below.1 + place * (above.1 - below.1));
        }
        below = above;
    }
    // The scale is known well by then: each of n values has the same small share of the false alarms.
    Some(normal_quantile(1.0 - OUTLIER_FALSE_ALARM / (2.0 * n as f64)).max(below.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;
    use assay_workload::rng::Rng;

    #[test]
    fn false_alarms_happen_as_often_as_stated() {
        let mut rng = Rng::new(18);
        for (n, trials) in [(3usize, 8_000u64), (5, 8_000), (6, 8_000), (10, 4_000), (35, 1_000)] {
            let alarms = (0..trials)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| 1000.0 + 20.0 * rng.normal()).collect();
                    !outliers(&values, 0.0).unwrap().flagged.is_empty()
                })
                .count() as u64;
            let tail = binomial_cdf(alarms, trials, OUTLIER_FALSE_ALARM);
            assert!(tail > 1e-4 && tail < 1.0 - 1e-4, "n {n}: {alarms} of {trials}");
        }
    }

    #[test]
    fn a_run_far_off_is_named() {
        let report = outliers(&[100.0, 101.0, 99.0, 100.5, 55.0, 99.5], 0.0).unwrap();
        assert_eq!(report.flagged, vec![4]);
        assert!(report.z[4] < -report.threshold);
        assert_eq!(report.false_alarm, 0.01);
    }

    #[test]
    fn the_floor_keeps_equal_runs_quiet() {
        let values = [1000.0, 1000.0, 1000.0, 1000.0, 1001.0];
        assert_eq!(outliers(&values, 0.0), None, "no scale, no verdict");
        assert!(outliers(&values, 1.0).unwrap().flagged.is_empty());
        assert_eq!(outliers(&[1000.0, 1000.0, 1000.0, 1000.0, 500.0], 1.0).unwrap().flagged, vec![4]);
        assert_eq!(outliers(&[1.0, 2.0], 0.0), None);
    }

    #[test]
    fn thresholds_join_without_gaps() {
        assert_eq!(outlier_threshold(2), None);
        assert_eq!(outlier_threshold(5), Some(18.66));
        assert_eq!(outlier_threshold(30), Some(4.78));
        assert_eq!(outlier_threshold(40), Some(4.57));
        let between = outlier_threshold(300).unwrap();
        assert!(between > 4.28 && between < 4.37);
        let beyond = outlier_threshold(20_000).unwrap();
        assert!((4.9..5.4).contains(&beyond), "{beyond}");
    }
}
