//! `too-few-samples`: percentiles, or the figure itself, rest on too few operations.

use super::draft::{Draft, count, percent};
use super::subject::{Subject, measured};
use crate::evidence::Remark;
use crate::run::{Finding, FindingSeverity, Run};
use crate::stats::{TAIL_ONE_SIDED_95, samples_for_percentile};

pub(super) const ID: &str = "too-few-samples";

/// Id of the remark that no traffic of a command that was only observed could be told to be about storage.
pub(crate) const NOTHING_SEEN: &str = "nothing-seen";

/// Id of the remark that a target that was named was not opened.
pub(crate) const TARGET_NOT_OPENED: &str = "target-not-opened";
/// Id of the remark that it is not known whether a target that was named was opened.
pub(crate) const TARGET_UNSEEN: &str = "target-unseen";

/// Below this even IOPS are uncertain by a fifth and more.
const IOS_MIN: u64 = 30;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let nothing = run.remarks.iter().filter(|remark| remark.id == NOTHING_SEEN).map(|remark| {
        Draft::new(ID, FindingSeverity::Invalid, remark.text.as_str())
            .bias("there is no figure")
            .advise("judge a command that reads or writes files for longer, or name its target with --target")
    });
    let missed = run.remarks.iter().filter_map(|remark| of_target(run, remark));
    measured(run).filter_map(|subject| of_job(&subject)).chain(nothing).chain(missed).collect()
}

/// A target that was named, and that no operation is known to be about.
fn of_target(run: &Run, remark: &Remark) -> Option<Finding> {
    let severity = match remark.id.as_str() {
        TARGET_UNSEEN => FindingSeverity::Unchecked,
        TARGET_NOT_OPENED if run.plan.targets.is_empty() => FindingSeverity::Invalid,
        TARGET_NOT_OPENED => FindingSeverity::Warning,
        _ => return None,
    };
    let draft = Draft::new(ID, severity, remark.text.as_str()).bias("there is no figure of that target");
    Some(draft.advise("name what the command works on, or, with --pid, the process that does its I/O"))
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    // Of a command that was only observed, the number of operations may not be known.
    subject.job.total.known_iops()?;
    let ios = subject.job.total.ios;
    let for_p99 = samples_for_percentile(0.99, TAIL_ONE_SIDED_95)?;
    if ios >= for_p99 || subject.job.errors > 0 && ios == 0 {
        return None;
    }
    let draft = |severity, message: String| subject.draft(ID, severity, message).evidence("ios", ios);
    if ios == 0 {
        let draft =
            draft(FindingSeverity::Invalid, "no operation was completed in the measured time".to_owned());
        return Some(draft.bias("there is no figure").advise("measure for longer"));
    }
    if ios == 1 {
        let draft = draft(FindingSeverity::Warning, "one operation: no distribution".to_owned());
        return Some(draft.bias("effect unknown").advise("measure for longer"));
    }
    let spread = 1.0 / (ios as f64).sqrt();
    let finding = if ios < IOS_MIN {
        draft(FindingSeverity::Warning, format!("the figure is based on {}", count(ios, "operation")))
            .bias(format!("IOPS {} high or low by chance alone", percent(spread)))
    } else {
        draft(
            FindingSeverity::Info,
            format!("{ios} operations are too few for a 99th percentile, which takes {for_p99}"),
        )
        .evidence("needed_for_p99", for_p99)
    };
    Some(finding.advise("measure for longer"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    #[test]
    fn the_fewer_the_graver() {
        let mut run = run();
        for (ios, severity) in
            [(0, FindingSeverity::Invalid), (16, FindingSeverity::Warning), (298, FindingSeverity::Info)]
        {
            let total = &mut run.phases[0].jobs[0].total;
            (total.ios, total.bytes) = (ios, ios * 4096);
            assert_eq!(only(ID, &run).severity, severity, "{ios}");
        }
        run.phases[0].jobs[0].total.ios = 16;
        assert_eq!(only(ID, &run).bias_words(), "IOPS 25 % high or low by chance alone");
    }

    #[test]
    fn enough_is_enough() {
        let mut run = run();
        run.phases[0].jobs[0].total.ios = 299;
        silent(ID, &run);
    }

    #[test]
    fn errors_alone_are_the_business_of_another_check() {
        let mut run = run();
        run.phases[0].jobs[0].total.ios = 0;
        run.phases[0].jobs[0].errors = 5;
        silent(ID, &run);
    }
}
