//! Steady state by the rule of the SNIA Solid State Storage Performance Test Specification 2.0.2.

use assay_workload::steps::UntilSteady;
use serde::{Deserialize, Serialize};

use crate::stats::line_fit;

/// The numbers of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SniaRule {
    /// Rounds in the window.
    pub window_rounds: usize,
    /// Largest allowed range (highest minus lowest round) as a share of the window's mean.
    pub range_share_max: f64,
    /// Largest allowed rise or fall of the least-squares line over the window, as a share of the mean.
    pub excursion_share_max: f64,
    /// Rounds after which the search ends.
    pub rounds_max: usize,
}

impl Default for SniaRule {
    /// The published rule: five rounds, range 20 %, excursion 10 %, at most 25 rounds.
    fn default() -> Self {
        Self { window_rounds: 5, range_share_max: 0.20, excursion_share_max: 0.10, rounds_max: 25 }
    }
}

impl From<&UntilSteady> for SniaRule {
    /// The rule that a plan asks for.
    fn from(until: &UntilSteady) -> Self {
        Self {
            window_rounds: until.window_rounds as usize,
            range_share_max: until.range_percent_max / 100.0,
            excursion_share_max: until.excursion_percent_max / 100.0,
            rounds_max: until.rounds_max as usize,
        }
    }
}

/// What a window of rounds looks like under the rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SniaWindow {
    /// Index of its first round, from 0.
    pub first_round: usize,
    /// Number of rounds.
    pub rounds: usize,
    /// Mean of the tracking variable, in its unit.
    pub mean: f64,
    /// Lowest round, in the unit of the variable.
    pub low: f64,
    /// Highest round, in the unit of the variable.
    pub high: f64,
    /// Range as a share of the mean; `None` when the mean is not positive.
    pub range_share: Option<f64>,
    /// Slope of the least-squares line, in the unit of the variable per round; with its sign.
    pub slope_per_round: f64,
    /// Rise or fall of that line over the window as a share of the mean, without sign; `None` when the mean is
    /// not positive.
    pub excursion_share: Option<f64>,
    /// The part of the rule that failed; `None` when the window passes.
    pub failed: Option<SniaFailure>,
}

/// The part of the rule that a window fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SniaFailure {
    /// The rounds differ too much.
    Range,
    /// The rounds still rise or fall.
    Slope,
    /// Both.
    RangeAndSlope,
    /// The mean is not positive, so that there are no shares.
    NoMean,
}

/// Where the search for a steady window stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SniaOutcome {
    /// A window passed: steady state.
    Steady,
    /// None passed so far, and rounds are left.
    NotYet,
    /// None passed within the allowed rounds.
    NotSteady,
}

/// The verdict with the data behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SniaVerdict {
    /// The outcome.
    pub outcome: SniaOutcome,
    /// Rounds that were looked at.
    pub rounds_seen: usize,
    /// The window that passed, or else the last one looked at: one entry for each tracking variable, in the
    /// order given. Empty while there are fewer rounds than a window has.
    pub windows: Vec<SniaWindow>,
    /// The rule used.
    pub rule: SniaRule,
}

impl SniaRule {
    /// Judges the rounds of one tracking variable so far.
    #[must_use]
    pub fn assess(&self, rounds: &[f64]) -> SniaVerdict {
        self.assess_all(&[rounds])
    }

    /// Judges several tracking variables: steady in the first window in which every one of them passes.
    ///
    /// Each slice holds one figure per round; only rounds that all variables have are looked at, and a figure
    /// that is not finite ends them.
    #[must_use]
    pub fn assess_all(&self, variables: &[&[f64]]) -> SniaVerdict {
        let complete = variables.iter().map(|rounds| finite(rounds)).min().unwrap_or(0);
        let seen = complete.min(self.rounds_max);
        let size = self.window_rounds.max(2);
        let mut windows = Vec::new();
        for end in size..=seen {
            windows = variables.iter().map(|rounds| self.window(rounds, end - size, size)).collect();
            if windows.iter().all(|window: &SniaWindow| window.failed.is_none()) {
                return SniaVerdict { outcome: SniaOutcome::Steady, rounds_seen: end, windows, rule: *self };
            }
        }
        let over = complete >= self.rounds_max;
        let outcome = if over { SniaOutcome::NotSteady } else { SniaOutcome::NotYet };
        SniaVerdict { outcome, rounds_seen: seen, windows, rule: *self }
    }

    /// The data of one window.
    fn window(&self, rounds: &[f64], first_round: usize, size: usize) -> SniaWindow {
        let values = &rounds[first_round..first_round + size];
        let mean = values.iter().sum::<f64>() / size as f64;
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let slope_per_round = line_fit(values).map_or(0.0, |line| line.slope);
        let share = |x: f64| (mean > 0.0).then(|| x / mean);
        let range_share = share(high - low);
        let excursion_share = share(slope_per_round.abs() * (size - 1) as f64);
        // The limits themselves still pass; a hair is allowed for rounding.
        let beyond = |x: f64, limit: f64| x > limit * (1.0 + 1e-9);
        let failed = match range_share.zip(excursion_share) {
            None => Some(SniaFailure::NoMean),
            Some((range, excursion)) => {
                match (beyond(range, self.range_share_max), beyond(excursion, self.excursion_share_max)) {
                    (true, true) => Some(SniaFailure::RangeAndSlope),
                    (true, false) => Some(SniaFailure::Range),
                    (false, true) => Some(SniaFailure::Slope),
                    (false, false) => None,
                }
            }
        };
        SniaWindow {
            first_round,
            rounds: size,
            mean,
            low,
            high,
            range_share,
            slope_per_round,
            excursion_share,
            failed,
        }
    }
}

/// Number of figures before the first that is not finite.
fn finite(rounds: &[f64]) -> usize {
    rounds.iter().take_while(|round| round.is_finite()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assess(rounds: &[f64]) -> SniaVerdict {
        SniaRule::default().assess(rounds)
    }

    #[test]
    fn steady_rounds_pass_in_the_first_window() {
        let verdict = assess(&[100.0, 104.0, 98.0, 101.0, 97.0, 5.0]);
        assert_eq!(verdict.outcome, SniaOutcome::Steady);
        assert_eq!(verdict.rounds_seen, 5);
        let window = verdict.windows[0];
        assert_eq!((window.first_round, window.low, window.high, window.mean), (0, 97.0, 104.0, 100.0));
        // Line by hand: sum of (x - 2) y = -200 - 104 + 101 + 194 = -9, over 10.
        assert!((window.slope_per_round + 0.9).abs() < 1e-12);
        assert!((window.range_share.unwrap() - 0.07).abs() < 1e-12);
        assert!((window.excursion_share.unwrap() - 0.036).abs() < 1e-12);
    }

    #[test]
    fn the_limits_themselves_pass() {
        // Range exactly 20 %, flat line.
        assert_eq!(assess(&[90.0, 110.0, 100.0, 110.0, 90.0]).outcome, SniaOutcome::Steady);
        // Excursion exactly 10 %: a pure line over four steps of 2.5.
        assert_eq!(assess(&[95.0, 97.5, 100.0, 102.5, 105.0]).outcome, SniaOutcome::Steady);
    }

    #[test]
    fn each_part_can_fail_alone() {
        let failed = |rounds: &[f64]| assess(rounds).windows[0].failed;
        assert_eq!(failed(&[80.0, 110.0, 100.0, 110.0, 100.0]), Some(SniaFailure::RangeAndSlope));
        assert_eq!(failed(&[89.0, 111.0, 100.0, 111.0, 89.0]), Some(SniaFailure::Range));
        assert_eq!(failed(&[94.0, 97.0, 100.0, 103.0, 106.0]), Some(SniaFailure::Slope));
        assert_eq!(failed(&[0.0; 5]), Some(SniaFailure::NoMean));
        assert!(assess(&[1.0, f64::NAN, 1.0, 1.0, 1.0]).windows.is_empty());
    }

    #[test]
    fn a_device_that_falls_and_settles_is_found_where_it_settles() {
        let rounds: Vec<f64> = (0..25).map(|i| 100.0 + 400.0 * (-0.5 * f64::from(i)).exp()).collect();
        let verdict = assess(&rounds);
        assert_eq!(verdict.outcome, SniaOutcome::Steady);
        let first = verdict.windows[0].first_round;
        assert!((6..=9).contains(&first), "{first}");
        assert_eq!(verdict.rounds_seen, first + 5);
        assert!(verdict.windows[0].slope_per_round < 0.0);
    }

    #[test]
    fn a_search_ends_after_the_allowed_rounds() {
        let rising: Vec<f64> = (0..40).map(|i| 100.0 * 1.05f64.powi(i)).collect();
        assert_eq!(assess(&rising[..4]).outcome, SniaOutcome::NotYet);
        assert!(assess(&rising[..4]).windows.is_empty());
        assert_eq!(assess(&rising[..24]).outcome, SniaOutcome::NotYet);
        let ended = assess(&rising);
        assert_eq!((ended.outcome, ended.rounds_seen), (SniaOutcome::NotSteady, 25));
        assert_eq!(ended.windows[0].first_round, 20);
        let noisy: Vec<f64> = (0..25).map(|i| if i % 2 == 0 { 80.0 } else { 120.0 }).collect();
        assert_eq!(assess(&noisy).outcome, SniaOutcome::NotSteady);
        assert_eq!(assess(&noisy).windows[0].failed, Some(SniaFailure::Range));
    }

    #[test]
    fn all_tracking_variables_must_pass_together() {
        let settled = [100.0; 8];
        let late = [200.0, 150.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0];
        let rule = SniaRule::default();
        let verdict = rule.assess_all(&[&settled, &late]);
        assert_eq!(verdict.outcome, SniaOutcome::Steady);
        assert_eq!(verdict.windows.len(), 2);
        assert_eq!(verdict.windows[0].first_round, 2);
        assert_eq!(rule.assess_all(&[&settled, &late[..6]]).outcome, SniaOutcome::NotYet);
        assert_eq!(rule.assess_all(&[]).outcome, SniaOutcome::NotYet);
    }

    #[test]
    fn a_slow_drift_passes_as_the_documentation_says() {
        // 2 % per round for ever is within the rule: it is no proof of stationarity.
        let creeping: Vec<f64> = (0..25).map(|i| 100.0 * 1.02f64.powi(i)).collect();
        assert_eq!(assess(&creeping).outcome, SniaOutcome::Steady);
    }
}
