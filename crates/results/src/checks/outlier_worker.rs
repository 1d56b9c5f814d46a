//! `outlier-worker`: one host or process did much more or less than the others with the same share of the work.

use super::draft::{percent, time};
use super::outlier_run::RESOLUTION_SHARE;
use super::subject::{Subject, measured};
use crate::evidence::WorkerReport;
use crate::run::{Finding, FindingSeverity, Run};
use crate::stats::outliers;

pub(super) const ID: &str = "outlier-worker";

const DISTANCE_MIN: f64 = 0.10;
/// A worker whose p99 is from this multiple of the median on is an outlier: tails vary more than rates.
const TAIL_FACTOR: f64 = 2.0;
/// Workers named in the message at most.
const NAMED_MAX: usize = 5;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let of_subject = |subject: Subject<'_>| [of_job(&subject), of_tails(&subject)];
    measured(run).flat_map(of_subject).flatten().collect()
}

/// The workers of a job that were found to differ from the others.
pub fn outlier_workers(run: &Run, phase: usize, job: usize) -> Vec<&str> {
    let at = format!("/phases/{phase}/jobs/{job}");
    let here = |finding: &&Finding| {
        finding.id == ID && finding.evidence.get("at").and_then(|at| at.as_str()) == Some(&at)
    };
    let named =
        run.findings.iter().filter(here).filter_map(|finding| finding.evidence.get("workers")?.as_array());
    named.flatten().filter_map(|name| name.as_str()).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    // One that was lost is the business of `lost-worker`.
    let workers: Vec<_> = subject
        .job
        .evidence
        .workers
        .iter()
        .filter(|worker| worker.lost_because.is_none())
        .filter_map(|worker| Some((worker.name.as_str(), worker.iops()?)))
        .collect();
    let iops: Vec<f64> = workers.iter().map(|(_, iops)| *iops).collect();
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
        .map(|at| format!("{} at {} of the median", workers[*at].0, percent(iops[*at] / median)))
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
        .evidence("workers", flagged.iter().map(|at| workers[*at].0).collect::<Vec<_>>())
        .advise("check that host: its path to the storage, its CPU, other virtual machines beside it");
    Some(finding)
}

/// A worker with as many operations as the others, of which the slowest took much longer.
fn of_tails(subject: &Subject<'_>) -> Option<Finding> {
    let workers = &subject.job.evidence.workers;
    let tail = |worker: &WorkerReport| {
        let p99 = worker.completion_ns?.p99?;
        (worker.lost_because.is_none() && worker.measured_ns > 0).then(|| (worker.name.clone(), p99 as f64))
    };
    let tails: Vec<(String, f64)> = workers.iter().filter_map(tail).collect();
    let p99: Vec<f64> = tails.iter().map(|(_, p99)| *p99).collect();
    let median = crate::stats::median(&p99)?;
    let report = outliers(&p99, RESOLUTION_SHARE * median)?;
    let long: Vec<&(String, f64)> =
        report.flagged.iter().map(|at| &tails[*at]).filter(|(_, p99)| *p99 >= TAIL_FACTOR * median).collect();
    if long.is_empty() {
        return None;
    }
    let named: Vec<String> =
        long.iter().take(NAMED_MAX).map(|(name, p99)| format!("{name} {}", time(*p99))).collect();
    let message = format!(
        "{} of {} workers have a longer tail than the others: p99 {}, median of all {}",
        long.len(),
        tails.len(),
        named.join(", "),
        time(median)
    );
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias("the percentiles of all workers mix two populations")
        .evidence("median_p99_ns", median)
        .evidence("threshold_z", report.threshold)
        .evidence("workers", long.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>())
        .advise("check that host: its path to the storage, its CPU, other virtual machines beside it");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::evidence::WorkerLatency;
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
    fn one_host_with_a_long_tail() {
        let mut run = with_workers(&[1000, 1010, 990, 1005, 1001, 995, 1002]);
        let workers = &mut run.phases[0].jobs[0].evidence.workers;
        for (at, worker) in workers.iter_mut().enumerate() {
            let p99 = if at == 4 { 12_000_000 } else { 1_000_000 + at as u64 * 10_000 };
            let latency = WorkerLatency { p50: Some(500_000), p99: Some(p99), max: 2 * p99 };
            worker.completion_ns = Some(latency);
        }
        let finding = only(ID, &run);
        assert!(finding.message.starts_with("1 of 7 workers have a longer tail"), "{}", finding.message);
        assert!(finding.message.contains("p99 host-4 12"), "{}", finding.message);
        run.phases[0].jobs[0].evidence.workers[4].completion_ns = Some(WorkerLatency::default());
        silent(ID, &run);
    }

    #[test]
    fn equal_hosts() {
        silent(ID, &with_workers(&[1000, 1100, 950, 1050, 900, 980]));
    }
}
