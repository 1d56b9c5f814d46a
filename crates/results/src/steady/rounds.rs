//! How long a round must be before SNIA's rule says something about the device and not about noise.

use serde::{Deserialize, Serialize};

use crate::stats::{Moments, effective_samples, line_fit, usable};

/// Relative standard deviation of a round's mean at which a device that does not move passes the slope part of
/// SNIA's rule in 95 of 100 windows.
///
/// The excursion of a line through five independent rounds has the standard deviation `4 / sqrt(10)` times that
/// of a round; 1.96 of these are 10 % of the mean at 4.03 %. The range part is weaker (5.2 %).
const NOISE_SHARE_MAX: f64 = 0.0403;

/// A round is at least this many times as long as neighbouring intervals depend on each other.
const CORRELATION_TIMES: f64 = 10.0;

/// Bounds on the length of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundLimits {
    /// Shortest round, seconds.
    pub shortest_s: f64,
    /// Longest round, seconds.
    pub longest_s: f64,
}

impl Default for RoundLimits {
    /// From 10 s to 5 min; SNIA's own rounds take a minute for each point.
    fn default() -> Self {
        Self { shortest_s: 10.0, longest_s: 300.0 }
    }
}

/// What decided the length of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundReason {
    /// The shortest allowed round is long enough.
    Shortest,
    /// It must average out the noise between intervals.
    Noise,
    /// It must outlast the dependence between intervals.
    Correlation,
    /// More is needed than is allowed: SNIA's rule will fail now and then from noise alone.
    Longest,
}

/// A chosen length of round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundChoice {
    /// Length, seconds, a whole number of intervals.
    pub round_s: f64,
    /// Intervals in a round.
    pub intervals: usize,
    /// Expected relative standard deviation of a round's mean, without drift.
    pub noise_share: f64,
    /// Time over which intervals depend on each other (integrated, at least one interval), seconds.
    pub correlation_s: f64,
    /// What decided.
    pub reason: RoundReason,
}

/// Chooses the length of a round from a look at the running workload: `values` are figures of consecutive
/// intervals of `interval_s` seconds. A linear drift in them is taken out first.
///
/// `None` below 16 intervals, for a mean that is not positive, or an interval that is not.
#[must_use]
pub fn round_length(values: &[f64], interval_s: f64, limits: &RoundLimits) -> Option<RoundChoice> {
    if !usable(values) || values.len() < 16 || !interval_s.is_finite() || interval_s <= 0.0 {
        return None;
    }
    let mean = Moments::of(values).mean().filter(|mean| *mean > 0.0)?;
    let line = line_fit(values)?;
    let residuals: Vec<f64> =
        values.iter().enumerate().map(|(i, v)| v - (line.first + line.slope * i as f64)).collect();
    let noise = Moments::of(&residuals).stddev()? / mean;
    // Without any variation neighbours are as good as independent.
    let worth = effective_samples(&residuals).map_or(1.0, |e| values.len() as f64 / e.n_effective);
    let correlation_s = worth * interval_s;
    let for_noise_s = correlation_s * (noise / NOISE_SHARE_MAX).powi(2);
    let for_correlation_s = if worth > 1.0 { CORRELATION_TIMES * correlation_s } else { 0.0 };
    let needed_s = for_noise_s.max(for_correlation_s);
    let (wanted_s, reason) = if needed_s <= limits.shortest_s {
        (limits.shortest_s, RoundReason::Shortest)
    } else if needed_s > limits.longest_s {
        (limits.longest_s, RoundReason::Longest)
    } else if for_noise_s >= for_correlation_s {
        (needed_s, RoundReason::Noise)
    } else {
        (needed_s, RoundReason::Correlation)
    };
    let intervals = ((wanted_s / interval_s - 1e-9).ceil() as usize).max(1);
    let round_s = intervals as f64 * interval_s;
    let noise_share = noise * (correlation_s / round_s).min(1.0).sqrt();
    Some(RoundChoice { round_s, intervals, noise_share, correlation_s, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;
    use crate::steady::{SniaOutcome, SniaRule};
    use assay_workload::rng::Rng;

    fn noisy(n: usize, noise: f64, phi: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let scale = noise * (1.0 - phi * phi).sqrt();
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = phi * x + scale * rng.normal();
                1000.0 * (1.0 + x)
            })
            .collect()
    }

    #[test]
    fn quiet_devices_get_the_shortest_round() {
        let choice = round_length(&noisy(60, 0.01, 0.0, 30), 1.0, &RoundLimits::default()).unwrap();
        assert!(choice.round_s == 10.0 || choice.reason == RoundReason::Correlation, "{choice:?}");
        let still = round_length(&[500.0; 20], 1.0, &RoundLimits::default()).unwrap();
        assert_eq!((still.round_s, still.reason, still.noise_share), (10.0, RoundReason::Shortest, 0.0));
    }

    #[test]
    fn noise_and_dependence_lengthen_rounds() {
        let limits = RoundLimits::default();
        let free = round_length(&noisy(900, 0.3, 0.0, 31), 1.0, &limits).unwrap();
        // 0.3^2 / 0.0403^2 = 55 independent seconds.
        assert!((40.0..90.0).contains(&free.round_s), "{free:?}");
        assert_eq!(free.reason, RoundReason::Noise);
        let bound = round_length(&noisy(900, 0.3, 0.8, 32), 1.0, &limits).unwrap();
        assert!(bound.round_s > 200.0, "{bound:?}");
        let slow = round_length(&noisy(900, 0.05, 0.8, 33), 1.0, &limits).unwrap();
        assert_eq!(slow.reason, RoundReason::Correlation);
        assert_eq!(
            round_length(&noisy(900, 2.0, 0.0, 34), 1.0, &limits).unwrap().reason,
            RoundReason::Longest
        );
    }

    #[test]
    fn a_drift_is_not_taken_for_noise() {
        let drifting: Vec<f64> =
            noisy(100, 0.02, 0.0, 35).iter().enumerate().map(|(i, v)| v + 5.0 * i as f64).collect();
        let choice = round_length(&drifting, 1.0, &RoundLimits::default()).unwrap();
        assert!(choice.round_s <= 40.0, "{choice:?}");
    }

    #[test]
    fn at_the_noise_limit_a_still_device_passes_in_95_of_100_windows() {
        let mut rng = Rng::new(36);
        let trials = 1_000;
        let passed = (0..trials)
            .filter(|_| {
                let rounds: Vec<f64> =
                    (0..5).map(|_| 100.0 * (1.0 + NOISE_SHARE_MAX * rng.normal())).collect();
                SniaRule::default().assess(&rounds).outcome == SniaOutcome::Steady
            })
            .count() as u64;
        // The range part takes away a little more.
        assert!(binomial_cdf(passed, trials, 0.93) > 1e-3 && passed < 980, "{passed}");
    }

    #[test]
    fn too_little_to_look_at() {
        assert_eq!(round_length(&[1.0; 15], 1.0, &RoundLimits::default()), None);
        assert_eq!(round_length(&[0.0; 20], 1.0, &RoundLimits::default()), None);
        assert_eq!(round_length(&[1.0; 20], 0.0, &RoundLimits::default()), None);
    }
}
