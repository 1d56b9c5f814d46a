//! Whether the repetitions of a run drifted from pass to pass: part of `not-steady`.
//!
//! A pass runs every test once, so the mean of the logarithms over the tests, each against its own median, is one figure a pass.
//! Kendall's trend over the passes is exact, and there is one test for the run: so the chance that a run that stands still is
//! called drifting is at most [`ALPHA`] whatever the number of tests, and 1.7 % for five passes, the fewest that can show one.

use super::draft::{Draft, percent};
use super::subject::{Subject, measured};
use crate::run::{Effect, Finding, FindingSeverity, Run};
use crate::stats::{drift, median};

/// Share of runs that stand still and are called drifting, at most.
const ALPHA: f64 = 0.02;
/// A smaller change from the first third to the last is not worth a word.
const CHANGE_MIN: f64 = 0.05;
/// From here on it is a warning.
const CHANGE_WARNING: f64 = 0.10;
/// Random orders where there are too many to visit; the same run is judged the same way each time.
const DRAWS: usize = 2_000;
const SEED: u64 = 1;

pub(super) fn check(run: &Run) -> Option<Finding> {
    let passes = passes(run)?;
    let found = drift(&passes, DRAWS, SEED)?;
    let change = found.relative?;
    if found.trend.p > ALPHA || change.abs() < CHANGE_MIN {
        return None;
    }
    let severity =
        if change.abs() >= CHANGE_WARNING { FindingSeverity::Warning } else { FindingSeverity::Info };
    let word = if change > 0.0 { "rose" } else { "fell" };
    let message = format!(
        "over the {} passes of this run IOPS {word} by {}; {} of runs without a drift show this by chance",
        passes.len(),
        percent(change.abs()),
        percent(ALPHA)
    );
    let effect = Effect::against(1.0, 1.0 + change / 2.0);
    let bias = if change > 0.0 { "low" } else { "high" };
    let draft = Draft::new(super::not_steady::ID, severity, message)
        .bias(format!(
            "medians 0-{} {bias} against the end of the run",
            percent(effect.map_or(0.0, Effect::largest))
        ))
        .effect(effect)
        .evidence("passes", passes)
        .evidence("p", found.trend.p)
        .evidence("change_share", change);
    Some(draft.advise("precondition, leave the device idle before the run, or repeat until the passes agree"))
}

/// One figure for each pass: the geometric mean over the tests of IOPS over the test's median. `None` where the tests were not all
/// repeated equally often.
fn passes(run: &Run) -> Option<Vec<f64>> {
    let mut tests: Vec<Vec<Subject<'_>>> = Vec::new();
    for subject in measured(run) {
        let same = |other: &Subject<'_>| {
            (&other.phase.name, &other.phase.point, &other.job.name)
                == (&subject.phase.name, &subject.phase.point, &subject.job.name)
        };
        match tests.iter_mut().find(|test| test.first().is_some_and(same)) {
            Some(test) => test.push(subject),
            None => tests.push(vec![subject]),
        }
    }
    let n = tests.first()?.len();
    let mut sums = vec![0.0; n];
    for test in &mut tests {
        test.sort_by_key(|subject| subject.phase.repeat);
        let iops: Vec<f64> = test.iter().map(|subject| subject.job.total.iops).collect();
        let middle = median(&iops)?;
        if iops.len() != n || middle <= 0.0 || iops.iter().any(|value| *value <= 0.0) {
            return None;
        }
        sums.iter_mut().zip(&iops).for_each(|(sum, value)| *sum += (value / middle).ln());
    }
    Some(sums.iter().map(|sum| (sum / tests.len() as f64).exp()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    fn repeated(passes: &[f64], tests: usize) -> Run {
        let mut run = run();
        let phase = run.phases[0].clone();
        run.phases.clear();
        for (repeat, level) in (0_u32..).zip(passes) {
            for test in 0..tests {
                let mut phase = phase.clone();
                phase.name = format!("test {test}");
                phase.repeat = repeat;
                // Each test scatters on its own, more than the passes move.
                let own = 0.98 + 0.01 * f64::from((repeat * 7 + test as u32 * 13) % 5);
                phase.jobs[0].total.iops = 1000.0 * (test + 1) as f64 * level * own;
                run.phases.push(phase);
            }
        }
        run
    }

    #[test]
    fn a_run_that_slows_down() {
        let finding = check(&repeated(&[1.0, 0.96, 0.92, 0.88, 0.84, 0.8], 12)).expect("it fell");
        assert!(finding.message.contains("over the 6 passes"), "{}", finding.message);
        assert_eq!((finding.severity, finding.repeat), (FindingSeverity::Warning, None));
    }

    #[test]
    fn a_run_that_stands_still_or_is_too_short() {
        assert_eq!(check(&repeated(&[1.0, 1.03, 0.98, 1.02, 0.99, 1.01], 12)), None);
        assert_eq!(check(&repeated(&[1.0, 0.9, 0.8, 0.7], 12)), None, "four passes cannot show it");
        assert_eq!(check(&repeated(&[1.0], 12)), None);
    }
}
