//! `rate-not-reached`: fewer operations were done than an open loop offered.

use assay_workload::pattern::OpKind;

use super::draft::{percent, time};
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "rate-not-reached";

const MISSED_MIN: f64 = 0.02;
const MISSED_INVALID: f64 = 0.10;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

/// What was offered and what was done, of all operations or of one.
struct Offer {
    /// Empty, or the name of the operation with a blank.
    name: String,
    offered_iops: f64,
    done_iops: f64,
    missed: f64,
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let evidence = &subject.job.evidence;
    let offer = match evidence.offered_each {
        Some(rates) => rates.rated().map(|(kind, rate)| of_operation(subject, kind, rate)).collect(),
        None => of_all(subject).into_iter().collect::<Vec<Offer>>(),
    };
    let offer = offer.into_iter().max_by(|a, b| a.missed.total_cmp(&b.missed))?;
    let Offer { name, offered_iops, done_iops, missed } = offer;
    let expected = offered_iops * evidence.measured_ns as f64 / 1e9;
    // Random arrivals of mean N differ from it by the root of N: four of them are no accident.
    if missed < MISSED_MIN.max(4.0 / expected.max(1.0).sqrt()) {
        return None;
    }
    let severity = if missed >= MISSED_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let late = subject.job.lateness_ns.map(|lateness| lateness.mean);
    let how_late = late.map_or(String::new(), |ns| format!("; mean submission delay {}", time(ns)));
    let message = format!(
        "target rate {offered_iops:.0} {name}IOPS, achieved {done_iops:.0}: {} missed{how_late}",
        percent(missed)
    );
    let finding = subject
        .draft(ID, severity, message)
        .bias("the queue kept growing, so these response times show the backlog, not the storage")
        .evidence("offered_iops", offered_iops)
        .evidence("iops", done_iops)
        .evidence("missed_share", missed)
        .evidence("lateness_ns_mean", late)
        .advise("lower the target rate, or allow more outstanding I/Os and threads");
    Some(finding)
}

fn of_all(subject: &Subject<'_>) -> Option<Offer> {
    let evidence = &subject.job.evidence;
    let (offered_iops, missed) = (evidence.offered_iops?, evidence.missed_share?);
    Some(Offer { name: String::new(), offered_iops, done_iops: subject.job.total.iops, missed })
}

/// Each operation has its own arrivals, so one can be missed although the sum is nearly right.
fn of_operation(subject: &Subject<'_>, kind: OpKind, offered_iops: f64) -> Offer {
    let done = match kind {
        OpKind::Read => &subject.job.read,
        OpKind::Write => &subject.job.write,
        _ => &subject.job.trim,
    };
    let done_iops = done.as_ref().map_or(0.0, |op| op.iops);
    let missed = (1.0 - done_iops / offered_iops).max(0.0);
    Offer { name: format!("{} ", kind.name()), offered_iops, done_iops, missed }
}

#[cfg(test)]
mod tests {
    use assay_workload::job::OperationRates;

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

    #[test]
    fn each_operation_is_judged_by_its_own_rate() {
        let mut run = run();
        let job = &mut run.phases[0].jobs[0];
        let read_iops = job.read.as_ref().map_or(0.0, |op| op.iops);
        assert!(read_iops > 0.0, "the fixture reads");
        job.evidence.offered_each = Some(OperationRates { read: Some(read_iops), ..Default::default() });
        silent(ID, &run);
        // Nothing is missed of the sum, and all of the writes.
        let job = &mut run.phases[0].jobs[0];
        job.write = None;
        job.evidence.offered_iops = Some(job.total.iops);
        job.evidence.missed_share = Some(0.0);
        job.evidence.offered_each =
            Some(OperationRates { read: Some(read_iops), write: Some(50.0), trim: None });
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Invalid);
        assert!(finding.message.contains("target rate 50 write IOPS, achieved 0"), "{}", finding.message);
    }
}
