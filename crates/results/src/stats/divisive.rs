//! Changes of level in a history of runs: E-divisive with means, and a permutation test for each change.
//!
//! Matteson and James, "A nonparametric approach for multiple change point analysis of multivariate data", JASA 109 (2014):
//! the statistic of a division is the energy distance between both sides times m n / (m + n); the division with the
//! largest is tested against the same values in random orders, and while one is accepted, the parts are divided
//! further. Used for histories of benchmarks by Daly et al., "The use of change point detection to identify software
//! performance regressions in a continuous integration system" (ICPE 2020), and, with another test, by Hunter (Fleming et
//! al., ICPE 2023), now Apache Otava.

use serde::{Deserialize, Serialize};

use super::{median, usable};
use assay_workload::rng::Rng;

/// How changes of level are looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Divisive {
    /// Values on a level at least: with 2, a change is found once two runs have shown it.
    pub shortest: usize,
    /// Chance of a change where there is none, in the whole series.
    pub alpha: f64,
    /// Random orders that a division is tested against.
    pub draws: usize,
    /// Seed of these orders: the same history gives the same answer.
    pub seed: u64,
}

impl Default for Divisive {
    fn default() -> Self {
        Divisive { shortest: 2, alpha: 0.05, draws: 199, seed: 1 }
    }
}

/// A change of level in a series of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// Index of the first value on the new level.
    pub at: usize,
    /// Median of the level before it, in the unit of the values.
    pub before: f64,
    /// Median of the level from it on.
    pub after: f64,
    /// Share of random orders in which a division is as good.
    pub p: f64,
}

impl LevelChange {
    /// Height of the change as a share of the level before it; `None` when that is zero.
    #[must_use]
    pub fn relative(&self) -> Option<f64> {
        (self.before != 0.0).then(|| self.after / self.before - 1.0)
    }
}

/// The changes of level in `values`, one a run, the oldest first; sorted by place. Empty where none is shown, or the
/// series is too short or not finite.
///
/// The values must be independent apart from the changes, as runs are. A trend shows as several changes. The first division
/// is tested at `alpha`, and others are only looked for once it is accepted, so that an unchanged series shows
/// any change with a chance of `alpha` at most. That holds for one look: who looks again after each run, sees more.
#[must_use]
pub fn level_changes(values: &[f64], how: &Divisive) -> Vec<LevelChange> {
    let shortest = how.shortest.max(1);
    if !usable(values) {
        return Vec::new();
    }
    let mut rng = Rng::new(how.seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    loop {
        let mut ends: Vec<usize> = found.iter().map(|(at, _)| *at).chain([0, values.len()]).collect();
        ends.sort_unstable();
        let Some((at, statistic)) = best_of_parts(values, &ends, shortest) else { break };
        let Some(p) = permuted(values, &ends, statistic, how, &mut rng) else { break };
        found.push((at, p));
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    let level = |from: usize, to: usize| median(&values[from..to]).unwrap_or(0.0);
    let ends: Vec<usize> =
        std::iter::once(0).chain(found.iter().map(|(at, _)| *at)).chain([values.len()]).collect();
    found
        .iter()
        .zip(ends.windows(3))
        .map(|((at, p), ends)| LevelChange {
            at: *at,
            before: level(ends[0], ends[1]),
            after: level(ends[1], ends[2]),
            p: *p,
        })
        .collect()
}

/// The best division of any part between neighbouring `ends`, and its statistic.
fn best_of_parts(values: &[f64], ends: &[usize], shortest: usize) -> Option<(usize, f64)> {
    let parts = ends.windows(2).filter_map(|part| {
        let (at, statistic) = best_division(&values[part[0]..part[1]], shortest)?;
        Some((part[0] + at, statistic))
    });
    parts.reduce(|best, one| if one.1 > best.1 { one } else { best })
}

/// The place with the largest energy statistic, levels of `shortest` values at least.
fn best_division(values: &[f64], shortest: usize) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * shortest {
        return None;
    }
    let distance = |value: f64, others: &[f64]| others.iter().map(|other| (value - other).abs()).sum::<f64>();
    let total: f64 = (0..n).map(|i| distance(values[i], &values[..i])).sum();
    let (mut left, mut right) = (0.0, total);
    let mut best: Option<(usize, f64)> = None;
    for (i, value) in values.iter().enumerate().take(n - shortest) {
        left += distance(*value, &values[..i]);
        right -= distance(*value, &values[i + 1..]);
        let (m, rest) = (i + 1, n - i - 1);
        if m < shortest {
            continue;
        }
        let (m, rest) = (m as f64, rest as f64);
        let within = |sum: f64, size: f64| if size > 1.0 { 2.0 * sum / (size * (size - 1.0)) } else { 0.0 };
        let energy = 2.0 * (total - left - right) / (m * rest) - within(left, m) - within(right, rest);
        let statistic = energy * m * rest / (m + rest);
        if best.is_none_or(|best| statistic > best.1) {
            best = Some((i + 1, statistic));
        }
    }
    best
}

/// The share of random orders, each value within its part, in which a division is as good; `None`: above alpha.
fn permuted(values: &[f64], ends: &[usize], statistic: f64, how: &Divisive, rng: &mut Rng) -> Option<f64> {
    let mut order = values.to_vec();
    let all = (how.draws + 1) as f64;
    // Rounding does not make an order worse than the one it equals.
    let enough = statistic - statistic.abs() * 1e-9;
    let mut reached = 1;
    for _ in 0..how.draws {
        if f64::from(reached) > how.alpha * all {
            return None;
        }
        ends.windows(2).for_each(|part| rng.shuffle(&mut order[part[0]..part[1]]));
        let best = best_of_parts(&order, ends, how.shortest.max(1));
        reached += i32::from(best.is_some_and(|best| best.1 >= enough));
    }
    let p = f64::from(reached) / all;
    (p <= how.alpha).then_some(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;

    /// Runs of about 100,000 IOPS with a spread of `spread`; from run `from`, counted from 1, `factor` times that.
    fn history(runs: usize, from: usize, factor: f64, spread: f64, rng: &mut Rng) -> Vec<f64> {
        let level = |run: usize| if run + 1 >= from { 100_000.0 * factor } else { 100_000.0 };
        (0..runs).map(|run| level(run) * (1.0 + spread * rng.normal())).collect()
    }

    #[test]
    fn ten_percent_at_run_25_of_40_are_placed_within_two_runs() {
        let mut rng = Rng::new(11);
        for (spread, factor) in [(0.01, 0.9), (0.02, 0.9), (0.02, 1.1), (0.03, 1.1)] {
            let trials = 100;
            let near = (0..trials)
                .filter(|_| {
                    let found =
                        level_changes(&history(40, 25, factor, spread, &mut rng), &Divisive::default());
                    found.iter().any(|change| {
                        (change.at + 1).abs_diff(25) <= 2
                            && (change.relative().unwrap() - (factor - 1.0)).abs() < 0.05
                    })
                })
                .count();
            assert!(near >= 97, "spread {spread}, factor {factor}: {near} of {trials}");
        }
    }

    #[test]
    fn the_change_is_seen_once_two_runs_have_shown_it() {
        let mut rng = Rng::new(12);
        for (spread, least) in [(0.01, 99), (0.02, 90)] {
            // The history as it is after run 26: 24 before the change, and two behind it.
            let seen = (0..100)
                .filter(|_| {
                    let found = level_changes(&history(26, 25, 0.9, spread, &mut rng), &Divisive::default());
                    found.iter().any(|change| change.at + 1 == 25)
                })
                .count();
            assert!(seen >= least, "spread {spread}: {seen} of 100");
        }
    }

    #[test]
    fn unchanged_histories_raise_a_false_alarm_in_five_percent_at_most() {
        let mut rng = Rng::new(13);
        type Draw = fn(&mut Rng) -> f64;
        let kinds: [(&str, Draw); 3] = [
            ("normal", |rng| 100.0 + 2.0 * rng.normal()),
            ("skewed", |rng| 100.0 - 3.0 * rng.exponential()),
            ("with outliers", |rng| if rng.below(20) == 0 { 70.0 } else { 100.0 + rng.normal() }),
        ];
        for (name, draw) in kinds {
            let trials = 400;
            let alarms = (0..trials)
                .filter(|_| {
                    let values: Vec<f64> = (0..40).map(|_| draw(&mut rng)).collect();
                    !level_changes(&values, &Divisive::default()).is_empty()
                })
                .count() as u64;
            // Not more than 5 % within what so many trials can tell.
            assert!(binomial_cdf(alarms, trials, 0.05) < 0.999, "{name}: {alarms} of {trials}");
        }
    }

    #[test]
    fn several_changes_are_found() {
        let mut rng = Rng::new(14);
        let mut values = history(20, 99, 1.0, 0.01, &mut rng);
        values.extend(history(15, 1, 1.2, 0.01, &mut rng));
        values.extend(history(15, 1, 0.8, 0.01, &mut rng));
        let places: Vec<usize> =
            level_changes(&values, &Divisive::default()).iter().map(|change| change.at).collect();
        assert_eq!(places, [20, 35]);
    }

    #[test]
    fn the_same_history_gives_the_same_answer() {
        let values = history(40, 25, 1.04, 0.03, &mut Rng::new(15));
        let once = level_changes(&values, &Divisive::default());
        assert_eq!(once, level_changes(&values, &Divisive::default()));
        let scaled: Vec<f64> = values.iter().map(|value| value * 8.0).collect();
        let places = |found: &[LevelChange]| found.iter().map(|change| change.at).collect::<Vec<_>>();
        assert_eq!(
            places(&once),
            places(&level_changes(&scaled, &Divisive::default())),
            "the unit does not matter"
        );
    }

    #[test]
    fn short_and_constant_histories_have_none() {
        for values in [&[][..], &[1.0], &[1.0, 2.0, 3.0], &[5.0; 30], &[1.0, f64::NAN, 2.0, 3.0, 4.0]] {
            assert_eq!(level_changes(values, &Divisive::default()), [], "{values:?}");
        }
        // Four values have six orders of two and two: no p reaches 5 %.
        assert_eq!(level_changes(&[1.0, 1.1, 9.0, 9.1], &Divisive::default()), []);
    }
}
