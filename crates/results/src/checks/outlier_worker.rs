//! `outlier-worker`: one host or process did much more or less than the others with the same share of the work.

use super::draft::percent;
use super::outlier_run::RESOLUTION_SHARE;
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};
use crate::stats::outliers;

pub(super) const ID: &str = "outlier-worker";

const DISTANCE_MIN: f64 = 0.10;
/// Workers named in the message at most.
const NAMED_MAX: usize = 5;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    // One that was lost is the business of `lost-worker`.
    let workers: Vec<_> = subject
        .job
        .evidence
        .workers
        .iter()
        .filter(|worker| worker.lost_because.is_none() && worker.measured_ns > 0)
        .collect();
    let iops: Vec<f64> =
        workers.iter().map(|worker| worker.ios as f64 * 1e9 / worker.measured_ns as f64).collect();
    let median = crate::stats::median(&iops)?;
    let report = outliers(&iops, RESOLUTION_SHARE * median)?;
    let far = |at: &&usize| (iops[**at] / median - 1.0).abs() >= DISTANCE_MIN;
    let flagged: Vec<usize> = report.flagged.iter().filter(far).copied().collect();
    if flagged.is_empty() {
        return None;
    }
    let named: Vec<String> = flagged
        .iter()
        .take(NAMED_MAX)
        .map(|at| format!("{} at {} of the median", workers[*at].name, percent(iops[*at] / median)))
        .collect();
    let message = format!(
        "{} of {} workers differ from the others: {}",
        flagged.len(),
        workers.len(),
        named.join(", ")
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias("the total is not that of equal workers; percentiles mix two populations")
        .evidence("median_iops", median)
        .evidence("threshold_z", report.threshold)
        .evidence("workers", flagged.iter().map(|at| workers[*at].name.clone()).collect::<Vec<_>>())
        .advise("check that host: its path to the storage, its CPU, other virtual machines beside it");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::evidence::WorkerReport;
    use crate::fixture::{SECOND, run};

    fn with_workers(ios: &[u64]) -> Run {
        let mut run = run();
        run.phases[0].jobs[0].evidence.workers = ios
            .iter()
            .enumerate()
            .map(|(i, ios)| WorkerReport {
                name: format!("host-{i}"),
                ios: *ios,
                measured_ns: SECOND,
                ..WorkerReport::default()
            })
            .collect();
        run
    }

    #[test]
    fn one_slow_host() {
        let mut run = with_workers(&[1000, 1010, 990, 1005, 300, 995, 1002]);
        assert!(only(ID, &run).message.contains("host-4 at 30 % of the median"));
        run.phases[0].jobs[0].evidence.workers[4].lost_because = Some("no answer".to_owned());
        silent(ID, &run);
    }

    #[test]
    fn equal_hosts() {
        silent(ID, &with_workers(&[1000, 1100, 950, 1050, 900, 980]));
    }
}
