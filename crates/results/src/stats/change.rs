//! A single change of level in a series.

use serde::{Deserialize, Serialize};

use super::usable;
use assay_workload::rng::Rng;

/// The division of a series into two levels that fits best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Index of the first value on the new level.
    pub at: usize,
    /// Mean before it, in the unit of the values.
    pub before: f64,
    /// Mean from it on, in the unit of the values.
    pub after: f64,
    /// Sum of squares that remains within the two levels.
    pub squares_within: f64,
    /// Sum of squares that the division explains.
    pub squares_between: f64,
}

impl Step {
    /// Height of the step as a share of the level before it; `None` when that is zero.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.after / self.before - 1.0)
    }
}

/// The best division into two levels of at least `shortest` values each, by least squares.
///
/// `None` when the series is shorter than two such levels.
#[must_use]
pub fn best_step(values: &[f64], shortest: usize) -> Option<Step> {
    let (n, shortest) = (values.len(), shortest.max(1));
    if !usable(values) || n < 2 * shortest {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let total: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    let (mut best, mut best_between) = ((shortest, 0.0), -1.0);
    let mut sum = 0.0;
    for (i, value) in values.iter().enumerate().take(n - shortest) {
        sum += value - mean;
        let k = i + 1;
        let between = sum * sum * n as f64 / (k as f64 * (n - k) as f64);
        if k >= shortest && between > best_between {
            best_between = between;
            best = (k, sum);
        }
    }
    let (at, sum) = best;
    Some(Step {
        at,
        before: mean + sum / at as f64,
        after: mean - sum / (n - at) as f64,
        squares_within: (total - best_between).max(0.0),
        squares_between: best_between,
    })
}

/// A change of level and how surprising it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// The best division.
    pub step: Step,
    /// Share of random orders of the same values in which the best division explains as much.
    pub p: f64,
}

/// Looks for one change of level, with a p from `draws` random orders of the values.
///
/// The values must be independent apart from the change, as runs are; a series of intervals is not (use
/// [`crate::steady::stationarity`]). A trend also makes this fire. `None` when the series is too short.
#[must_use]
pub fn change_point(values: &[f64], shortest: usize, draws: usize, seed: u64) -> Option<ChangePoint> {
    let step = best_step(values, shortest)?;
    let mut rng = Rng::new(seed);
    let mut order = values.to_vec();
    let mut reached = 1;
    for _ in 0..draws {
        rng.shuffle(&mut order);
        let between = best_step(&order, shortest)?.squares_between;
        reached += usize::from(between >= step.squares_between * (1.0 - 1e-9));
    }
    Some(ChangePoint { step, p: reached as f64 / (draws + 1) as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;

    #[test]
    fn finds_where_the_level_changed() {
        let values = [10.0, 11.0, 10.0, 11.0, 20.0, 21.0, 20.0];
        let change = change_point(&values, 1, 999, 1).unwrap();
        assert_eq!(change.step.at, 4);
        assert!((change.step.before - 10.5).abs() < 1e-12);
        assert!((change.step.after - 61.0 / 3.0).abs() < 1e-12);
        assert!((change.step.relative().unwrap() - (61.0 / 31.5 - 1.0)).abs() < 1e-12);
        assert!(change.p < 0.06, "{}", change.p);
        let longer: Vec<f64> = (0..20).map(|i| if i < 8 { 10.0 } else { 12.0 } + f64::from(i % 3)).collect();
        let change = change_point(&longer, 2, 999, 1).unwrap();
        assert!(change.step.at.abs_diff(8) <= 1 && change.p <= 0.005, "{change:?}");
    }

    #[test]
    fn respects_the_shortest_level() {
        let values = [50.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(best_step(&values, 1).unwrap().at, 1);
        assert_eq!(best_step(&values, 2).unwrap().at, 2);
        assert_eq!(best_step(&values, 4), None);
        assert_eq!(change_point(&[5.0; 8], 2, 99, 1).unwrap().p, 1.0);
    }

    #[test]
    fn false_alarms_are_five_percent() {
        let mut rng = Rng::new(17);
        let trials = 200;
        let alarms = (0..trials)
            .filter(|i| {
                let values: Vec<f64> = (0..10).map(|_| rng.exponential()).collect();
                change_point(&values, 2, 99, *i).unwrap().p <= 0.05
            })
            .count() as u64;
        let tail = binomial_cdf(alarms, trials, 0.05);
        assert!(tail > 1e-4 && tail < 1.0 - 1e-4, "{alarms} of {trials}");
    }
}
