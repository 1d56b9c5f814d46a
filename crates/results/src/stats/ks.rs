//! Kolmogorov-Smirnov test against the exponential distribution: are arrivals a Poisson process?

use serde::{Deserialize, Serialize};

use super::special::kolmogorov_tail;
use super::{sorted, usable};
use assay_workload::rng::Rng;

/// Where the mean of the exponential distribution comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExponentialMean {
    /// Known beforehand, as one over the rate that was asked for; in the unit of the values.
    Known(f64),
    /// Taken from the values themselves, which makes the usual p far too large; corrected here.
    Estimated,
}

/// Outcome of a Kolmogorov-Smirnov test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KsTest {
    /// Largest distance between the two distribution functions, 0 to 1.
    pub distance: f64,
    /// Probability of a distance at least this large if the values are exponential and independent.
    pub p: f64,
    /// Number of values.
    pub n: u64,
}

/// Simulated samples behind a p with estimated mean.
const DRAWS: usize = 1_999;
/// Size of the simulated samples; Stephens' form makes the statistic nearly free of it.
const DRAWN_SIZE: usize = 40;

/// Do these gaps between arrivals follow an exponential distribution?
///
/// Known mean: Kolmogorov's limit with the small-sample form of Stephens (1970). Estimated mean (the case of
/// Lilliefors 1969): simulated samples of at most 40 values with this seed, compared in the form of Stephens
/// (1974). `None` for fewer than five values, negative ones, or a mean that is not positive.
///
/// With very many values any real clock fails this test: judge the distance, too.
#[must_use]
pub fn ks_exponential(values: &[f64], mean: ExponentialMean, seed: u64) -> Option<KsTest> {
    if !usable(values) || values.len() < 5 || values.iter().any(|v| *v < 0.0) {
        return None;
    }
    let n = values.len();
    let ordered = sorted(values);
    let used_mean = match mean {
        ExponentialMean::Known(known) => known,
        ExponentialMean::Estimated => ordered.iter().sum::<f64>() / n as f64,
    };
    if !used_mean.is_finite() || used_mean <= 0.0 {
        return None;
    }
    let distance = distance(&ordered, used_mean);
    let p = match mean {
        ExponentialMean::Known(_) => {
            let root = (n as f64).sqrt();
            kolmogorov_tail((root + 0.12 + 0.11 / root) * distance)
        }
        ExponentialMean::Estimated => estimated_mean_p(distance, n, seed),
    };
    Some(KsTest { distance, p, n: n as u64 })
}

/// Largest distance between the empirical and the exponential distribution function.
fn distance(ordered: &[f64], mean: f64) -> f64 {
    let n = ordered.len() as f64;
    ordered.iter().enumerate().fold(0.0f64, |largest, (i, value)| {
        let f = -(-value / mean).exp_m1();
        largest.max(f - i as f64 / n).max((i + 1) as f64 / n - f)
    })
}

fn estimated_mean_p(seen: f64, n: usize, seed: u64) -> f64 {
    let form = |distance: f64, n: usize| {
        let (n, root) = (n as f64, (n as f64).sqrt());
        (distance - 0.2 / n) * (root + 0.26 + 0.5 / root)
    };
    let size = n.min(DRAWN_SIZE);
    let threshold = form(seen, n);
    let mut rng = Rng::new(seed);
    let mut sample = vec![0.0; size];
    let mut reached = 1;
    for _ in 0..DRAWS {
        // Ordered exponentials directly: the gaps between them are independent (Renyi 1953).
        let mut last = 0.0;
        for (i, value) in sample.iter_mut().enumerate() {
            last += rng.exponential() / (size - i) as f64;
            *value = last;
        }
        let mean = sample.iter().sum::<f64>() / size as f64;
        reached += usize::from(form(distance(&sample, mean), size) >= threshold);
    }
    reached as f64 / (DRAWS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;

    #[test]
    fn false_alarms_are_five_percent_with_a_known_mean() {
        let mut rng = Rng::new(11);
        let trials = 600;
        let alarms = (0..trials)
            .filter(|_| {
                let values: Vec<f64> = (0..30).map(|_| 7.0 * rng.exponential()).collect();
                ks_exponential(&values, ExponentialMean::Known(7.0), 1).unwrap().p <= 0.05
            })
            .count() as u64;
        let tail = binomial_cdf(alarms, trials, 0.05);
        assert!(tail > 1e-4 && tail < 1.0 - 1e-4, "{alarms} of {trials}");
    }

    #[test]
    fn estimated_mean_matches_the_published_points() {
        // Stephens 1974: the upper 5 % point of his form is 1.094, the 1 % point 1.308.
        for (n, point, p) in [(20usize, 1.094, 0.05), (200, 1.094, 0.05), (50, 1.308, 0.01)] {
            let root = (n as f64).sqrt();
            let distance = point / (root + 0.26 + 0.5 / root) + 0.2 / n as f64;
            let got = estimated_mean_p(distance, n, 12);
            assert!((got - p).abs() < 0.016, "n {n}: {got} for {p}");
        }
    }

    #[test]
    fn regular_and_bursty_arrivals_are_not_exponential() {
        let regular: Vec<f64> = (0..100).map(|i| 1.0 + 0.001 * f64::from(i % 7)).collect();
        let bursty: Vec<f64> = (0..100).map(|i| if i % 10 == 0 { 10.0 } else { 0.01 }).collect();
        for values in [regular, bursty] {
            assert!(ks_exponential(&values, ExponentialMean::Estimated, 1).unwrap().p < 0.001);
            assert!(ks_exponential(&values, ExponentialMean::Known(1.0), 1).unwrap().p < 0.001);
        }
    }

    #[test]
    fn a_wrong_rate_is_seen_only_with_a_known_mean() {
        let mut rng = Rng::new(13);
        let values: Vec<f64> = (0..300).map(|_| 1.5 * rng.exponential()).collect();
        assert!(ks_exponential(&values, ExponentialMean::Known(1.0), 1).unwrap().p < 0.001);
        assert!(ks_exponential(&values, ExponentialMean::Estimated, 1).unwrap().p > 0.05);
        assert_eq!(ks_exponential(&values[..4], ExponentialMean::Estimated, 1), None);
        assert_eq!(ks_exponential(&values, ExponentialMean::Known(0.0), 1), None);
    }
}
