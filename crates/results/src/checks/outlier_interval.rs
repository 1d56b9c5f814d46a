//! `outlier-interval`: single intervals far from the others, such as stalls, in a window that otherwise stood still.

use super::draft::percent;
use super::not_steady::{movement, whole_intervals};
use super::outlier_run::RESOLUTION_SHARE;
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};
use crate::stats::outliers;
use crate::steady::StationarityVerdict;

pub(super) const ID: &str = "outlier-interval";

/// Fewer intervals do not show what is usual.
const INTERVALS_MIN: usize = 10;
/// An interval this far from the median is worth a word.
const DISTANCE_MIN: f64 = 0.3;
/// When so much of the operations is missing (or too much) for it, the figure itself is in doubt.
const EFFECT_WARNING: f64 = 0.05;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let iops = whole_intervals(&subject.job.series);
    let moved = |verdict| matches!(verdict, StationarityVerdict::Drift | StationarityVerdict::Step);
    if iops.len() < INTERVALS_MIN || movement(subject).is_some_and(|found| moved(found.verdict)) {
        return None;
    }
    let median = crate::stats::median(&iops)?;
    let report = outliers(&iops, RESOLUTION_SHARE * median)?;
    let far = |at: &&usize| (iops[**at] / median - 1.0).abs() >= DISTANCE_MIN;
    let flagged: Vec<usize> = report.flagged.iter().filter(far).copied().collect();
    let worst =
        *flagged.iter().max_by(|a, b| (iops[**a] - median).abs().total_cmp(&(iops[**b] - median).abs()))?;
    // How far the mean over all is from what it is without them.
    let effect = flagged.iter().map(|at| iops[*at] - median).sum::<f64>() / (iops.len() as f64 * median);
    let severity =
        if effect.abs() >= EFFECT_WARNING { FindingSeverity::Warning } else { FindingSeverity::Info };
    let word = if effect < 0.0 { "low" } else { "high" };
    let start_s = subject.job.series.get(worst).map_or(0.0, |point| point.start_s);
    let message = format!(
        "{} of {} intervals differ from the others; the worst, {start_s:.0} s after the start, had {} of the median IOPS",
        flagged.len(),
        iops.len(),
        percent(iops[worst] / median)
    );
    let finding = subject
        .draft(ID, severity, message)
        .bias(format!("IOPS 0-{} {word} against the usual interval", percent(effect.abs())))
        .evidence("intervals", flagged)
        .evidence("median_iops", median)
        .evidence("worst_iops", iops[worst])
        .evidence("threshold_z", report.threshold)
        .advise("look at the latency maximum and at what the machine did then; a stall that recurs is part of the storage");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;
    use crate::run::SeriesPoint;

    fn with_stalls(stalls: &[u32]) -> Run {
        let mut run = run();
        let point = run.phases[0].jobs[0].series[0];
        run.phases[0].jobs[0].series = (0..60)
            .map(|i| {
                let iops = if stalls.contains(&i) { 20.0 } else { 1000.0 + f64::from(i * 7919 % 41) };
                SeriesPoint { start_s: f64::from(i), iops, ..point }
            })
            .collect();
        run
    }

    #[test]
    fn a_stall() {
        let finding = only(ID, &with_stalls(&[30]));
        assert_eq!(finding.severity, FindingSeverity::Info);
        assert!(finding.message.contains("30 s after the start, had 2"), "{}", finding.message);
        assert_eq!(only(ID, &with_stalls(&[9, 24, 37, 51])).severity, FindingSeverity::Warning);
    }

    #[test]
    fn an_even_window() {
        silent(ID, &with_stalls(&[]));
    }
}
