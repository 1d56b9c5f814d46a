//! `outlier-run`: one repetition lies far from the others, more than chance allows for their number.

use super::draft::{Draft, percent};
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};
use crate::stats::outliers;

pub(super) const ID: &str = "outlier-run";
/// The evidence that names the repetitions, from 0.
pub(super) const REPEATS: &str = "repeats";

/// Figures nearer to each other than this share of their median are taken for equal.
pub(super) const RESOLUTION_SHARE: f64 = 0.005;
/// A smaller distance from the median is not worth a word, however equal the others are.
const DISTANCE_MIN: f64 = 0.05;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut tests: Vec<Vec<Subject<'_>>> = Vec::new();
    for subject in measured(run) {
        let same = |other: &Subject<'_>| {
            other.phase.name == subject.phase.name
                && other.phase.point == subject.phase.point
                && other.job.name == subject.job.name
        };
        match tests.iter_mut().find(|test| test.first().is_some_and(same)) {
            Some(test) => test.push(subject),
            None => tests.push(vec![subject]),
        }
    }
    tests.iter().filter_map(|test| of_test(test)).collect()
}

fn of_test(test: &[Subject<'_>]) -> Option<Finding> {
    let iops: Vec<f64> = test.iter().map(|subject| subject.job.total.iops).collect();
    let median = crate::stats::median(&iops)?;
    let report = outliers(&iops, RESOLUTION_SHARE * median)?;
    let far = |at: &usize| (iops[*at] / median - 1.0).abs() >= DISTANCE_MIN;
    let flagged: Vec<usize> = report.flagged.iter().copied().filter(far).collect();
    let first = test.get(*flagged.first()?)?;
    let listed: Vec<String> = flagged
        .iter()
        .map(|at| {
            format!(
                "repetition {} at {} of the median",
                test[*at].phase.repeat + 1,
                percent(iops[*at] / median)
            )
        })
        .collect();
    let message = format!(
        "of {} repetitions one or more differ from the others: {}; {} of groups without an outlier show this by chance",
        test.len(),
        listed.join(", "),
        percent(report.false_alarm)
    );
    let mean = iops.iter().sum::<f64>() / iops.len() as f64;
    let finding = Draft::new(ID, FindingSeverity::Warning, message)
        .of_phase(&first.phase.name)
        .of_point(&first.phase.point)
        .of_job(&first.job.name)
        .bias(format!("a mean over all of them is {} off the median", percent((mean / median - 1.0).abs())))
        .evidence("at", first.pointer.as_str())
        .evidence(REPEATS, flagged.iter().map(|at| test[*at].phase.repeat).collect::<Vec<_>>())
        .evidence("iops", iops.clone())
        .evidence("median_iops", median)
        .evidence("threshold_z", report.threshold)
        .advise("look for what was different then; report the median; do not leave the repetition out");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::repeated;

    #[test]
    fn one_of_seven() {
        let finding = only(ID, &repeated(&[1000.0, 1010.0, 990.0, 1005.0, 400.0, 995.0, 1002.0]));
        assert!(finding.message.contains("repetition 5 at 40 % of the median"), "{}", finding.message);
    }

    #[test]
    fn scatter_is_not_an_outlier() {
        silent(ID, &repeated(&[1000.0, 1100.0, 900.0, 1050.0, 850.0, 950.0, 1020.0]));
        silent(ID, &repeated(&[1000.0, 1000.0, 1000.0, 1000.0, 1020.0]));
        silent(ID, &repeated(&[1000.0, 500.0]));
    }
}
