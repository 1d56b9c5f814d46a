//! How likely a comparison is to see a difference, by simulation of the very rule that judges it.

use serde::{Deserialize, Serialize};

use super::mann_whitney;
use super::permutation::{TwoSamples, max_t};
use super::special::normal_quantile;
use assay_workload::rng::Rng;

/// A comparison to be planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerSetup {
    /// Runs on each side.
    pub runs_per_side: usize,
    /// True relative difference: 0.05 for 5 %.
    pub shift: f64,
    /// Relative standard deviation between runs: 0.02 for 2 %.
    pub noise: f64,
    /// Tests judged together; 1 for a single comparison.
    pub tests: usize,
    /// Share of false alarms accepted, in the whole family.
    pub alpha: f64,
    /// Simulated comparisons.
    pub trials: u64,
    /// Random relabellings per comparison where there are too many to visit.
    pub draws: usize,
    /// Seed of the simulation.
    pub seed: u64,
}

impl Default for PowerSetup {
    /// Five runs a side, a true shift of 5 % at 2 % noise, alone, 5 % false alarms, 1000 trials.
    fn default() -> Self {
        Self {
            runs_per_side: 5,
            shift: 0.05,
            noise: 0.02,
            tests: 1,
            alpha: 0.05,
            trials: 1_000,
            draws: 999,
            seed: 1,
        }
    }
}

/// Simulated chance of seeing a true difference.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// Share of trials in which the difference was significant.
    pub share: f64,
    /// Lower end of the 95 % interval of that share (Wilson).
    pub low: f64,
    /// Upper end of the 95 % interval of that share (Wilson).
    pub high: f64,
    /// Trials behind it.
    pub trials: u64,
}

impl Power {
    fn of(hits: u64, trials: u64) -> Self {
        let n = trials as f64;
        let (share, z) = (hits as f64 / n, normal_quantile(0.975));
        let scale = 1.0 + z * z / n;
        let centre = (share + z * z / (2.0 * n)) / scale;
        let half = z / scale * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
        Self { share, low: (centre - half).max(0.0), high: (centre + half).min(1.0), trials }
    }
}

/// Power of the comparison: by the exact Mann-Whitney test alone, by max-T in a suite in which one test differs
/// and the others do not. Runs are log-normal around their level and independent.
///
/// `None` for no runs, no tests, no trials, or a shift of -100 % or less.
#[must_use]
pub fn power(setup: &PowerSetup) -> Option<Power> {
    let valid = setup.runs_per_side > 0 && setup.tests > 0 && setup.trials > 0 && setup.shift > -1.0;
    if !valid || !setup.noise.is_finite() || setup.noise < 0.0 || !setup.shift.is_finite() {
        return None;
    }
    let mut rng = Rng::new(setup.seed);
    let hits = (0..setup.trials).filter(|trial| seen_once(setup, &mut rng, *trial)).count() as u64;
    Some(Power::of(hits, setup.trials))
}

/// One simulated comparison, on logarithms.
fn seen_once(setup: &PowerSetup, rng: &mut Rng, trial: u64) -> bool {
    let n = setup.runs_per_side;
    let spread = setup.noise.ln_1p();
    let mut side = |level: f64| -> Vec<f64> { (0..n).map(|_| level + spread * rng.normal()).collect() };
    let (a, b) = (side(0.0), side(setup.shift.ln_1p()));
    if setup.tests == 1 {
        return mann_whitney(&a, &b).is_some_and(|test| test.p <= setup.alpha);
    }
    let quiet: Vec<(Vec<f64>, Vec<f64>)> = (1..setup.tests).map(|_| (side(0.0), side(0.0))).collect();
    let mut suite = vec![TwoSamples { a: &a, b: &b }];
    suite.extend(quiet.iter().map(|(a, b)| TwoSamples { a, b }));
    max_t(&suite, setup.draws, setup.seed ^ trial).is_some_and(|result| result.p[0] <= setup.alpha)
}

/// Fewest runs per side, up to `most`, at which the power reaches `wanted` (0.8 is customary); with that power.
///
/// `setup.runs_per_side` is ignored. `None` when `most` does not suffice or the setup is not valid.
#[must_use]
pub fn runs_for_power(setup: &PowerSetup, wanted: f64, most: usize) -> Option<(usize, Power)> {
    (2..=most).find_map(|runs_per_side| {
        let reached = power(&PowerSetup { runs_per_side, ..*setup })?;
        (reached.share >= wanted).then_some((runs_per_side, reached))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alone(runs_per_side: usize) -> Power {
        power(&PowerSetup { runs_per_side, trials: 800, ..PowerSetup::default() }).unwrap()
    }

    fn in_suite(runs_per_side: usize, trials: u64) -> Power {
        let setup = PowerSetup { runs_per_side, tests: 26, trials, draws: 299, ..PowerSetup::default() };
        power(&setup).unwrap()
    }

    #[test]
    fn five_percent_at_two_percent_noise_alone() {
        assert_eq!(alone(3).share, 0.0, "three against three can show nothing");
        let (five, seven, ten) = (alone(5), alone(7), alone(10));
        assert!((0.80..0.96).contains(&five.share), "{five:?}");
        assert!(seven.share > 0.95 && ten.share > 0.99, "{seven:?} {ten:?}");
    }

    #[test]
    fn five_percent_at_two_percent_noise_in_a_suite_of_26() {
        let (five, seven, ten) = (in_suite(5, 150), in_suite(7, 24), in_suite(10, 50));
        assert!((0.2..0.6).contains(&five.share), "{five:?}");
        assert!((0.55..0.98).contains(&seven.share), "{seven:?}");
        assert!(ten.share > 0.88, "{ten:?}");
        assert!(five.share < seven.share && seven.share < ten.share + 0.05);
    }

    #[test]
    fn no_shift_gives_the_false_alarm_share() {
        let level = power(&PowerSetup { shift: 0.0, trials: 1_500, ..PowerSetup::default() }).unwrap();
        // 5 against 5 rejects with 8 of 252 divisions.
        assert!(level.low < 8.0 / 252.0 && level.high > 8.0 / 252.0, "{level:?}");
        assert!(level.share <= 0.05);
    }

    #[test]
    fn planning_finds_the_runs_needed() {
        let setup = PowerSetup { trials: 300, ..PowerSetup::default() };
        let (runs, reached) = runs_for_power(&setup, 0.8, 20).unwrap();
        assert!((4..=5).contains(&runs) && reached.share >= 0.8, "{runs} {reached:?}");
        assert_eq!(runs_for_power(&setup, 0.8, 3), None);
        assert_eq!(power(&PowerSetup { shift: -1.0, ..setup }), None);
    }

    #[test]
    fn the_share_has_a_sane_interval() {
        let all = Power::of(100, 100);
        assert!(all.low > 0.95 && all.high == 1.0);
        let half = Power::of(50, 100);
        assert!((half.low - 0.404).abs() < 1e-3 && (half.high - 0.596).abs() < 1e-3);
    }
}
