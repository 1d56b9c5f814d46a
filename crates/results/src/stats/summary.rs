//! Location and spread of one group of values.

use super::special::{binomial_cdf, choose};
use super::{Estimate, Interval95, sorted, usable};

/// Count, mean and variance gathered in one pass (Welford 1962), mergeable (Chan, Golub and LeVeque 1979).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// The moments of a slice.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut moments = Self::default();
        for value in values {
            moments.push(*value);
        }
        moments
    }

    /// Takes in one more value.
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let delta = value - self.mean;
        self.mean += delta / self.n as f64;
        self.squares += delta * (value - self.mean);
    }

    /// Takes in everything another one has seen.
    pub fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        let n = self.n + other.n;
        let delta = other.mean - self.mean;
        self.squares += other.squares + delta * delta * self.n as f64 * other.n as f64 / n as f64;
        self.mean += delta * other.n as f64 / n as f64;
        self.n = n;
    }

    /// How many values were seen.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Arithmetic mean; `None` before the first value.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }

    /// Variance with divisor n - 1; `None` below two values.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.n > 1).then(|| self.squares / (self.n - 1) as f64)
    }

    /// Standard deviation with divisor n - 1; `None` below two values.
    #[must_use]
    pub fn stddev(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }

    /// Standard deviation over the absolute mean; `None` below two values or at mean zero.
    #[must_use]
    pub fn relative_stddev(&self) -> Option<f64> {
        (self.mean != 0.0).then_some(self.stddev()? / self.mean.abs())
    }
}

/// The middle value, or the mean of the two middle ones.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    usable(values).then(|| median_of_sorted(&sorted(values)))
}

pub(crate) fn median_of_sorted(values: &[f64]) -> f64 {
    let n = values.len();
    if n % 2 == 1 { values[n / 2] } else { 0.5 * (values[n / 2 - 1] + values[n / 2]) }
}

/// Quantile `q` in `[0, 1]` with linear interpolation between order statistics (definition 7 of Hyndman and
/// Fan 1996). For values of runs; percentiles of I/O come from merged histograms.
#[must_use]
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if !usable(values) || !(0.0..=1.0).contains(&q) {
        return None;
    }
    let ordered = sorted(values);
    let place = q * (ordered.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(ordered.len() - 1);
    Some(ordered[below] + (place - below as f64) * (ordered[above] - ordered[below]))
}

/// Median of the absolute distances to the median, not scaled; times 1.4826 it estimates sigma of normal data.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    median(&distances)
}

/// Interval of the median from order statistics: ranks from the exact binomial with p = 1/2, so no assumption
/// about the shape (David and Nagaraja, Order Statistics). Needs six values for 95 %; with two to five it is
/// minimum to maximum with the level that has; `None` below two.
#[must_use]
pub fn median_interval(values: &[f64]) -> Option<Interval95> {
    if !usable(values) || values.len() < 2 {
        return None;
    }
    let ordered = sorted(values);
    let (rank, level) = median_rank(ordered.len());
    Some(Interval95 { low: ordered[rank - 1], high: ordered[ordered.len() - rank], level })
}

/// Highest rank (from 1) that with its mirror image covers the median with 95 %, else rank 1; and the level.
pub(crate) fn median_rank(n: usize) -> (usize, f64) {
    let tail = |rank: usize| {
        // Small n by plain counting, so that the level is exact to the last digit: 0.9375 for five.
        if n <= 50 {
            (0..rank).map(|k| choose(n, k)).sum::<f64>() * 0.5f64.powi(n as i32)
        } else {
            binomial_cdf(rank as u64 - 1, n as u64, 0.5)
        }
    };
    let (mut low, mut high) = (1, n / 2 + 1);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if 2.0 * tail(middle) <= 0.05 { low = middle } else { high = middle }
    }
    (low, 1.0 - 2.0 * tail(low))
}

/// The median of runs with its interval.
#[must_use]
pub fn median_estimate(values: &[f64], unit: impl Into<String>) -> Option<Estimate> {
    Some(Estimate {
        value: median(values)?,
        n: values.len() as u64,
        interval: median_interval(values),
        unit: unit.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;

    #[test]
    fn moments_agree_with_two_passes_and_merge() {
        let values = [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0];
        let moments = Moments::of(&values);
        assert_eq!(moments.mean(), Some(1e9 + 10.0));
        assert_eq!(moments.variance(), Some(30.0));
        let mut merged = Moments::of(&values[..1]);
        merged.merge(&Moments::of(&values[1..]));
        merged.merge(&Moments::default());
        assert_eq!(merged.n(), 4);
        assert!((merged.variance().unwrap() - 30.0).abs() < 1e-6);
        assert_eq!(Moments::default().mean(), None);
        assert_eq!(Moments::of(&[3.0]).stddev(), None);
    }

    #[test]
    fn location_of_small_groups() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(quantile(&[10.0, 20.0, 30.0, 40.0], 0.25), Some(17.5));
        assert_eq!(quantile(&[10.0, 20.0], 1.0), Some(20.0));
        assert_eq!(quantile(&[10.0], 1.5), None);
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
    }

    #[test]
    fn median_interval_says_what_few_values_are_worth() {
        assert_eq!(median_interval(&[1.0]), None);
        let five = median_interval(&[5.0, 1.0, 4.0, 2.0, 3.0]).unwrap();
        assert_eq!(five, Interval95 { low: 1.0, high: 5.0, level: 0.9375 });
        assert!(!five.reaches_95());
        let six = median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(six, Interval95 { low: 1.0, high: 6.0, level: 0.96875 });
        // Published ranks: n = 10 -> 2nd and 9th (97.9 %), n = 20 -> 6th and 15th (95.9 %).
        let ranks = [(9, 2), (10, 2), (15, 4), (20, 6), (25, 8), (100, 40)];
        for (n, rank) in ranks {
            assert_eq!(median_rank(n).0, rank, "n = {n}");
        }
        assert!((median_rank(20).1 - 0.958_6).abs() < 1e-4);
    }

    #[test]
    fn median_interval_covers_as_often_as_it_says() {
        let mut rng = Rng::new(3);
        for n in [5usize, 9, 20] {
            let trials = 2_000;
            let mut level = 0.0;
            let covered = (0..trials)
                .filter(|_| {
                    let values: Vec<f64> = (0..n).map(|_| rng.exponential()).collect();
                    let interval = median_interval(&values).unwrap();
                    level = interval.level;
                    interval.contains(std::f64::consts::LN_2)
                })
                .count();
            let tail = binomial_cdf(covered as u64, trials, level);
            assert!(tail > 1e-4 && tail < 1.0 - 1e-4, "n {n}: {covered} of {trials} at {level}");
        }
    }
}
