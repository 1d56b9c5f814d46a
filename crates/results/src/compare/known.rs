//! What runs of one configuration are known to differ by.
//!
//! Repetitions within a run share whatever changes from one run to the next (temperature, placement, other users), so
//! their scatter says nothing of it. Where a comparison has too few runs to show it by their ranks, it comes from other
//! stored runs of the same configuration, or else is assumed.

use std::collections::BTreeSet;
use std::f64::consts::FRAC_PI_2;

use super::differences;
use super::metrics::MetricKind;
use super::units::{Test, tests_of};
use super::{Side, stats};
use crate::run::{Run, Verdict};
use crate::stats::{Margins, RunSpread};

/// Degrees of freedom from which a measured spread is taken as it is: five runs of one configuration.
const MEASURED_FROM: u64 = 4;
/// Least spread: figures are rounded, and a simulated storage repeats itself exactly.
const SPREAD_MIN: f64 = 1e-4;

/// Whether two runs have the same configuration: nothing that is recorded differs but what is random.
#[must_use]
pub fn alike(a: &Run, b: &Run) -> bool {
    let side = |run| Side::new("", vec![run]);
    let sides = [side(a), side(b)];
    differences::plans(&sides).is_empty() && differences::settings(&sides).is_empty()
}

/// Whether other runs of the same configuration would tell what these sides alone cannot.
#[must_use]
pub fn wants_history(sides: &[Side<'_>], margins: &Margins) -> bool {
    let runs = |side: &Side<'_>| side.runs.len();
    sides.iter().skip(1).any(|side| stats::too_few(runs(&sides[0]), runs(side), margins).is_some())
}

/// The tests of other runs of the configurations of two sides: a group for each side. No run is in both, none is one of
/// the sides' own, none is incomplete, and no figure is invalid.
pub(super) fn groups<'r>(first: &Side<'r>, second: &Side<'r>) -> [Vec<Test<'r>>; 2] {
    let own = first.runs.iter().chain(&second.runs);
    let mut seen: BTreeSet<&str> = own.map(|run| run.id.as_str()).collect();
    [first, second].map(|side| {
        let usable = |run: &&&'r Run| run.verdict != Verdict::Incomplete;
        let runs: Vec<&Run> =
            side.history.iter().filter(usable).filter(|run| seen.insert(&run.id)).copied().collect();
        tests_of(&runs).into_iter().filter_map(Test::usable).collect()
    })
}

/// The spread of a figure: pooled within the runs of either side and of either group, if they are enough; else the
/// assumed one, or what they show if that is more.
pub(super) fn spread(
    metric: MetricKind,
    [first, second]: [&Test<'_>; 2],
    groups: &[Vec<Test<'_>>; 2],
) -> RunSpread {
    let (mut squares, mut df) = (0.0, 0);
    let earlier = |test: &Test<'_>, group: usize| groups[group].iter().find(|other| other.name == test.name);
    // No level is taken from earlier runs, so those that lack the figure may be left out.
    let known = [earlier(first, 0), earlier(second, 1)].into_iter().flatten();
    let groups = known.map(|test| test.values_there_are(metric));
    let own = [first, second].into_iter().filter_map(|test| test.values(metric));
    for values in own.chain(groups).filter_map(|values| stats::logs(&values)) {
        squares += squares_of(&values);
        df += values.len() as u64 - 1;
    }
    let measured = if df > 0 { squares / df as f64 } else { 0.0 };
    let within = within(metric, [first, second]);
    // A run's value is the median of its repetitions: it cannot be known better than they allow.
    let error = within.map_or(0.0, |within| FRAC_PI_2 * within.variance / within.repetitions);
    if df >= MEASURED_FROM {
        return RunSpread { sd: measured.max(error).sqrt().max(SPREAD_MIN), measured: df };
    }
    let prior = metric.assumed_spread();
    let assumed = match within {
        // Runs differ by at least as much as repetitions do.
        Some(within) => within.variance.max(prior * prior) + error,
        None => (2.0 * prior).powi(2),
    };
    RunSpread { sd: assumed.max(measured).sqrt(), measured: 0 }
}

/// The scatter of repetitions within runs.
#[derive(Clone, Copy)]
struct Within {
    /// Variance of logarithms.
    variance: f64,
    /// Repetitions of a run, in the mean.
    repetitions: f64,
}

fn within(metric: MetricKind, tests: [&Test<'_>; 2]) -> Option<Within> {
    let (mut squares, mut df, mut n, mut runs) = (0.0, 0, 0, 0);
    for unit in tests.iter().flat_map(|test| &test.runs).filter(|unit| unit.len() > 1) {
        let values: Option<Vec<f64>> = unit.iter().map(|repetition| metric.of(repetition.job)).collect();
        let logs = stats::logs(&values?)?;
        squares += squares_of(&logs);
        (df, n, runs) = (df + logs.len() - 1, n + logs.len(), runs + 1);
    }
    (runs > 0).then(|| Within { variance: squares / df as f64, repetitions: n as f64 / f64::from(runs) })
}

/// Sum of squares around the mean.
pub(super) fn squares_of(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|v| (v - mean) * (v - mean)).sum()
}
