//! `lost-worker`: a host or process did not deliver, so that the sum lacks its part.

use super::draft::{count, percent};
use super::subject::{Subject, measured};
use super::{not_steady, outlier_interval, rate_not_reached, throttled};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "lost-worker";

/// A smaller share of the workers' time is not worth a number.
const SHARE_MIN: f64 = 0.01;

/// Workers named in the message at most.
const NAMED_MAX: usize = 5;

/// What the part that is missing from then on does to the sum, and what reads like a fault of the storage.
const FOLLOWS: [&str; 4] = [rate_not_reached::ID, throttled::ID, not_steady::ID, outlier_interval::ID];

/// Leaves out what is explained by a worker that was lost in the same repetition.
pub(super) fn explains(findings: &mut Vec<Finding>) {
    let of = |finding: &Finding| {
        let point = finding.evidence.get("point").cloned();
        (finding.phase.clone(), point, finding.repeat, finding.job.clone())
    };
    let lost: Vec<_> = findings.iter().filter(|finding| finding.id == ID).map(of).collect();
    findings.retain(|finding| !FOLLOWS.contains(&finding.id.as_str()) || !lost.contains(&of(finding)));
}

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let workers = &subject.job.evidence.workers;
    let lost = workers.iter().filter_map(|worker| Some((worker, worker.lost_because.as_ref()?)));
    let lost: Vec<_> = lost.collect();
    if lost.is_empty() {
        return None;
    }
    let named: Vec<String> =
        lost.iter().take(NAMED_MAX).map(|(worker, why)| format!("{} ({why})", worker.name)).collect();
    let message =
        format!("{} of {} lost: {}", lost.len(), count(workers.len() as u64, "worker"), named.join(", "));
    // What is missing is the time that the lost ones did not measure.
    let longest_ns = workers.iter().map(|worker| worker.measured_ns).max().unwrap_or(0);
    let missing = |measured_ns: u64| 1.0 - measured_ns as f64 / longest_ns.max(1) as f64;
    let missing: f64 = lost.iter().map(|(worker, _)| missing(worker.measured_ns)).sum();
    let share = missing / workers.len() as f64;
    let low = format!("total IOPS about {} low; what remained had the storage to itself", percent(share));
    let bias = match share {
        share if share >= SHARE_MIN => low,
        _ => "their part ends where the others' does: the totals lack little of it".to_owned(),
    };
    let finding = subject
        .draft(ID, FindingSeverity::Invalid, message)
        .bias(bias)
        .evidence("workers", workers.len())
        .evidence("lost", lost.iter().map(|(worker, _)| worker.name.clone()).collect::<Vec<_>>())
        .advise("repeat with all workers; do not scale the sum up");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::evidence::WorkerReport;
    use crate::fixture::run;

    #[test]
    fn one_of_four() {
        let mut run = run();
        let worker = |name: &str| WorkerReport {
            name: name.to_owned(),
            measured_ns: 8_000_000_000,
            ..WorkerReport::default()
        };
        run.phases[0].jobs[0].evidence.workers = ["a", "b", "c", "d"].map(worker).to_vec();
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.workers[2].lost_because = Some("connection closed".to_owned());
        let finding = only(ID, &run);
        assert_eq!(finding.message, "1 of 4 workers lost: c (connection closed)");
        // It was lost when the others ended, too.
        assert!(finding.bias_words().contains("lack little"), "{}", finding.bias_words());
        for (measured_ns, low) in [(0, "25 %"), (2_000_000_000, "19 %")] {
            run.phases[0].jobs[0].evidence.workers[2].measured_ns = measured_ns;
            assert!(only(ID, &run).bias_words().contains(low), "{}", only(ID, &run).bias_words());
        }
    }
    #[test]
    fn what_its_part_explains_is_no_fault_of_the_storage() {
        let mut run = run();
        let evidence = &mut run.phases[0].jobs[0].evidence;
        evidence.offered_iops = Some(4004.0);
        evidence.missed_share = Some(0.5);
        only(rate_not_reached::ID, &run);
        let worker = |name: &str| WorkerReport { name: name.to_owned(), ..WorkerReport::default() };
        run.phases[0].jobs[0].evidence.workers = ["a", "b"].map(worker).to_vec();
        run.phases[0].jobs[0].evidence.workers[1].lost_because = Some("connection closed".to_owned());
        crate::checks::judge(&mut run);
        let ids: Vec<&str> = run.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert!(ids.contains(&ID) && !ids.contains(&rate_not_reached::ID), "{ids:?}");
    }
}
