//! `rate-not-reached`: fewer operations were done than an open loop offered.

use super::draft::{percent, time};
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "rate-not-reached";

const MISSED_MIN: f64 = 0.02;
const MISSED_INVALID: f64 = 0.10;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let evidence = &subject.job.evidence;
    let (offered, missed) = (evidence.offered_iops?, evidence.missed_share?);
    let expected = offered * evidence.measured_ns as f64 / 1e9;
    // Random arrivals of mean N differ from it by the root of N: four of them are no accident.
    if missed < MISSED_MIN.max(4.0 / expected.max(1.0).sqrt()) {
        return None;
    }
    let severity = if missed >= MISSED_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let late = subject.job.lateness_ns.map(|lateness| lateness.mean);
    let how_late = late.map_or(String::new(), |ns| format!("; mean submission delay {}", time(ns)));
    let message = format!(
        "target rate {offered:.0} IOPS, achieved {:.0}: {} missed{how_late}",
        subject.job.total.iops,
        percent(missed)
    );
    let finding = subject
        .draft(ID, severity, message)
        .bias("the queue kept growing, so these response times show the backlog, not the storage")
        .evidence("offered_iops", offered)
        .evidence("iops", subject.job.total.iops)
        .evidence("missed_share", missed)
        .evidence("lateness_ns_mean", late)
        .advise("lower the target rate, or allow more outstanding I/Os and threads");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    fn offering(iops: f64) -> Run {
        let mut run = run();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        evidence.offered_iops = Some(iops);
        evidence.missed_share = Some((1.0 - 2002.0 / iops).max(0.0));
        run
    }

    #[test]
    fn half_of_what_was_offered() {
        let finding = only(ID, &offering(4004.0));
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert!(finding.message.contains("50 % missed"), "{}", finding.message);
    }

    #[test]
    fn chance_is_not_a_miss() {
        // 10010 of 10260: 2.4 %, but the root of that many is one per cent.
        silent(ID, &offering(2052.0));
        assert_eq!(only(ID, &offering(2110.0)).severity, FindingSeverity::Warning);
        silent(ID, &run());
    }
}
