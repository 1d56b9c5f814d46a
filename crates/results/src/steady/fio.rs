//! fio's `steadystate` criteria.

use serde::{Deserialize, Serialize};

use crate::stats::{line_fit, usable};

/// What fio computes over its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FioCriterion {
    /// `iops`, `bw`, `lat`: the largest distance of an interval from the mean (a half-range).
    Deviation,
    /// `iops_slope`, `bw_slope`, `lat_slope`: the slope of the least-squares line, per interval.
    Slope,
}

/// A `steadystate=` setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FioRule {
    /// What is computed.
    pub criterion: FioCriterion,
    /// The limit, a share of the mean (0.10 for `10%`) or in the unit of the variable.
    pub limit: f64,
    /// True when the limit is relative to the mean.
    pub relative: bool,
    /// Intervals in the window: `ss_dur` over `ss_interval`.
    pub window_intervals: usize,
}

/// The verdict with the data behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FioVerdict {
    /// True when a window met the criterion.
    pub attained: bool,
    /// Index of the first interval of the window that met it, or else of the last window looked at.
    pub first_interval: usize,
    /// The computed figure in that window, without sign: a share of the mean or in the unit of the variable;
    /// `None` for a share of a mean that is not positive.
    pub criterion: Option<f64>,
    /// Mean over that window, in the unit of the variable.
    pub mean: f64,
    /// Slope over that window, in the unit of the variable per interval, with its sign.
    pub slope_per_interval: f64,
    /// The setting used.
    pub rule: FioRule,
}

impl FioRule {
    /// Slides the window over the intervals (those of `ss_ramp` left out) and stops where fio would end the job.
    ///
    /// As in fio the figure must be below the limit, not equal to it; unlike fio, which divides in whole
    /// numbers, the mean is exact. `None` while there are fewer intervals than the window has, for a window
    /// below two, or values that are not finite.
    #[must_use]
    pub fn assess(&self, intervals: &[f64]) -> Option<FioVerdict> {
        if self.window_intervals < 2 || !usable(intervals) {
            return None;
        }
        let mut last = None;
        for (first, window) in intervals.windows(self.window_intervals).enumerate() {
            let verdict = self.window(first, window)?;
            if verdict.attained {
                return Some(verdict);
            }
            last = Some(verdict);
        }
        last
    }

    fn window(&self, first_interval: usize, values: &[f64]) -> Option<FioVerdict> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let slope_per_interval = line_fit(values)?.slope;
        let figure = match self.criterion {
            FioCriterion::Deviation => values.iter().fold(0.0f64, |far, v| far.max((v - mean).abs())),
            FioCriterion::Slope => slope_per_interval.abs(),
        };
        // A window without any I/O has no share of its mean and attains nothing.
        let criterion = if self.relative { (mean > 0.0).then(|| figure / mean) } else { Some(figure) };
        let attained = criterion.is_some_and(|figure| figure < self.limit);
        Some(FioVerdict { attained, first_interval, criterion, mean, slope_per_interval, rule: *self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(criterion: FioCriterion, limit: f64, window_intervals: usize) -> FioRule {
        FioRule { criterion, limit, relative: true, window_intervals }
    }

    #[test]
    fn deviation_is_a_half_range_and_strict() {
        let ten = rule(FioCriterion::Deviation, 0.10, 4);
        let verdict = ten.assess(&[90.0, 110.0, 90.0, 110.0]).unwrap();
        assert!(!verdict.attained && (verdict.criterion.unwrap() - 0.10).abs() < 1e-12);
        assert!(ten.assess(&[91.0, 109.0, 91.0, 109.0]).unwrap().attained);
        assert_eq!(ten.assess(&[91.0, 109.0, 91.0]), None);
    }

    #[test]
    fn slope_is_per_interval_and_absolute() {
        let one = rule(FioCriterion::Slope, 0.01, 5);
        let falling: Vec<f64> = (0..5).map(|i| 104.0 - 2.0 * f64::from(i)).collect();
        let verdict = one.assess(&falling).unwrap();
        assert!(!verdict.attained);
        assert!((verdict.criterion.unwrap() - 0.02).abs() < 1e-12 && verdict.slope_per_interval < 0.0);
        assert!(FioRule { limit: 2.5, relative: false, ..one }.assess(&falling).unwrap().attained);
    }

    #[test]
    fn the_first_window_that_meets_it_ends_the_search() {
        let values = [500.0, 300.0, 200.0, 101.0, 100.0, 99.0, 100.0, 400.0];
        let verdict = rule(FioCriterion::Deviation, 0.05, 4).assess(&values).unwrap();
        assert!(verdict.attained);
        assert_eq!(verdict.first_interval, 3);
        let never = rule(FioCriterion::Deviation, 0.001, 4).assess(&values).unwrap();
        assert_eq!((never.attained, never.first_interval), (false, 4));
    }

    #[test]
    fn silence_is_not_steady() {
        assert!(!rule(FioCriterion::Slope, 0.01, 3).assess(&[0.0; 3]).unwrap().attained);
        assert_eq!(rule(FioCriterion::Slope, 0.01, 1).assess(&[1.0; 3]), None);
    }
}
