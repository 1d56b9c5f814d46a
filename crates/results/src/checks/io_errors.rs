//! `io-errors`: operations that failed. They count neither as operations nor as bytes.

use super::draft::{count, percent};
use super::subject::{Subject, all};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "io-errors";

/// The name under which blocks with wrong content are counted; `verify-failed` speaks of them.
pub(super) const VERIFY_KIND: &str = "verify";
/// From this share on the figure is not that of working storage.
const SHARE_INVALID: f64 = 0.01;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    all(run).filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let kinds: Vec<&(String, u64)> =
        subject.job.errors_by_kind.iter().filter(|(kind, count)| kind != VERIFY_KIND && *count > 0).collect();
    let verify: u64 =
        subject.job.errors_by_kind.iter().filter(|entry| entry.0 == VERIFY_KIND).map(|e| e.1).sum();
    let named = kinds.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.1));
    let errors = subject.job.errors.saturating_sub(verify).max(named);
    if errors == 0 {
        return None;
    }
    let share = errors as f64 / (subject.job.total.ios as f64 + errors as f64);
    let severity = if share >= SHARE_INVALID { FindingSeverity::Invalid } else { FindingSeverity::Warning };
    let by_kind: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let listed = if by_kind.is_empty() { String::new() } else { format!(" ({})", by_kind.join(", ")) };
    let message = format!("{} failed{listed}: {} of all", count(errors, "operation"), percent(share));
    let finding = subject
        .draft(ID, severity, message)
        .bias("IOPS low by the time that failures took, or high where operations fail fast")
        .evidence("errors", errors)
        .evidence("ios", subject.job.total.ios)
        .advise("look at the kernel log, and repeat the run without errors");
    Some(finding)
}

#[cfg(test)]
mod tests {
    use assay_workload::PhaseKind;

    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    #[test]
    fn few_and_many() {
        let mut run = run();
        run.phases[0].jobs[0].errors = 3;
        run.phases[0].jobs[0].errors_by_kind = vec![("EIO".to_owned(), 3)];
        let finding = only(ID, &run);
        assert_eq!(finding.severity, FindingSeverity::Warning);
        assert!(finding.message.starts_with("3 operations failed (EIO 3)"), "{}", finding.message);
        run.phases[0].jobs[0].errors = 10_010;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
    }

    #[test]
    fn in_a_fill_too_but_not_wrong_content() {
        let mut run = run();
        run.phases[0].kind = PhaseKind::Precondition;
        run.phases[0].jobs[0].errors = 1;
        assert_eq!(only(ID, &run).evidence["errors"], 1);
        run.phases[0].jobs[0].errors_by_kind = vec![("verify".to_owned(), 1)];
        silent(ID, &run);
    }
}
