//! `start-skew`: workers began at different moments, so that for a while fewer of them were at work. Where their clocks were
//! compared, that while is not in the totals; else it makes them low.

use super::draft::{iops_lost, lost, percent, time};
use super::subject::{Subject, measured};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "start-skew";

/// Share of the measured time by which the starts may differ.
const SHARE_MIN: f64 = 0.02;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    measured(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let evidence = &subject.job.evidence;
    let here = evidence.workers.iter().filter(|worker| worker.lost_because.is_none());
    let error_ns = here.clone().map(|worker| worker.start_error_ns).max().unwrap_or(0);
    let starts: Vec<i64> = here.map(|worker| worker.start_skew_ns).collect();
    let (first, last) = (starts.iter().min()?, starts.iter().max()?);
    let skew_ns = last.saturating_sub(*first) as f64;
    let share = skew_ns / evidence.measured_ns.max(1) as f64;
    if starts.len() < 2 {
        return None;
    }
    if evidence.common.is_some_and(|common| common.length_ns == 0) {
        let message =
            "the workers did not measure at the same time: the sum is of different moments".to_owned();
        let finding = subject
            .draft(ID, FindingSeverity::Invalid, message)
            .bias("no rate of the workers together was measured".to_owned())
            .evidence("start_skew_ns", skew_ns)
            .evidence("start_error_ns", error_ns)
            .evidence("measured_ns", evidence.measured_ns)
            .advise("start the workers together, and measure for longer than their starts differ by");
        return Some(finding);
    }
    if share < SHARE_MIN {
        return None;
    }
    let error = if error_ns > 0 { format!(" (± {})", time(error_ns as f64)) } else { String::new() };
    let mut message = format!(
        "the last worker started {}{error} after the first: {} of the measured time",
        time(skew_ns),
        percent(share)
    );
    let (mut severity, mut bias) = (FindingSeverity::Warning, Some(iops_lost(share)));
    if let Some(common) = evidence.common {
        message.push_str(&format!(
            "; totals are over the {} in which all measured",
            time(common.length_ns as f64)
        ));
        (severity, bias) = (FindingSeverity::Info, None);
    }
    let finding = subject
        .draft(ID, severity, message)
        .maybe_bias(bias)
        .effect(lost(share).filter(|_| evidence.common.is_none()))
        .evidence("start_skew_ns", skew_ns)
        .evidence("start_error_ns", error_ns)
        .evidence("measured_ns", evidence.measured_ns)
        .advise("add a ramp longer than the skew, or measure for longer");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::evidence::WorkerReport;
    use crate::fixture::run;
    use crate::hosts::CommonWindow;

    #[test]
    fn half_a_second_of_five() {
        let mut run = run();
        let worker = |start_skew_ns| WorkerReport { start_skew_ns, ..WorkerReport::default() };
        run.phases[0].jobs[0].evidence.workers = [-100_000_000, 0, 400_000_000].map(worker).to_vec();
        let finding = only(ID, &run);
        assert!(
            finding.message.contains("500 ms") && finding.bias_words() == "IOPS 0-11 % low",
            "{finding:?}"
        );
        run.phases[0].jobs[0].evidence.common =
            Some(CommonWindow { length_ns: 4_500_000_000, ..Default::default() });
        let finding = only(ID, &run);
        assert!(finding.severity == FindingSeverity::Info && finding.bias_words().is_empty(), "{finding:?}");
        assert!(finding.message.ends_with("totals are over the 4.5 s in which all measured"), "{finding:?}");
        run.phases[0].jobs[0].evidence.workers = [0, 1_000_000].map(worker).to_vec();
        silent(ID, &run);
    }
}
