//! `compressible-data`: what is written can be stored for less than its size, on a target that does so.

use assay_workload::content::{Content, Payload, Refresh};
use assay_workload::pattern::OpKind;

use super::subject::{Subject, on_storage};
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "compressible-data";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let writing = on_storage(run).filter(|subject| subject.does(OpKind::Write));
    writing.filter_map(|subject| of_job(&subject)).collect()
}

fn of_job(subject: &Subject<'_>) -> Option<Finding> {
    let content =
        subject.planned.iter().map(|planned| &planned.content).find(|content| what(content).is_some())?;
    let what = what(content)?;
    let reducer = subject.reducer();
    let zeros = content.payload == Payload::Zero;
    let (severity, message) = match reducer {
        Some(by) => {
            (FindingSeverity::Invalid, format!("{what} were written to a target that reduces data: {by}"))
        }
        // A ratio or a pattern was chosen; what lies below may or may not know how to use it.
        None if !zeros => return None,
        None => (
            FindingSeverity::Warning,
            format!("{what} were written: many arrays and SSDs store nothing for them"),
        ),
    };
    let finding = subject
        .draft(ID, severity, message)
        .bias("IOPS high by up to the reduction the target finds")
        .evidence("compression_ratio", content.compression_ratio)
        .evidence("dedup_ratio", content.dedup_ratio)
        .evidence("zeros", zeros)
        .advise(
            "write random data made anew for every write, or the ratio of the data that will be stored there",
        );
    Some(finding)
}

/// What is reducible in this content; `None`: nothing.
fn what(content: &Content) -> Option<&'static str> {
    if content.payload == Payload::Zero {
        Some("zeros")
    } else if matches!(content.payload, Payload::Pattern(_)) {
        Some("repeated patterns")
    } else if content.compression_ratio > 1.05 {
        Some("compressible blocks")
    } else if content.dedup_ratio > 1.05 || content.refresh == Refresh::Never {
        Some("equal blocks")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent, writing};
    use crate::environment::DeviceKind;
    use crate::fixture::run;

    #[test]
    fn zeros_are_suspect_anywhere_and_invalid_where_they_vanish() {
        let mut run = writing(run());
        run.plan.phases[0].jobs[0].content.payload = Payload::Zero;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Warning);
        run.environment.targets[0].devices[0].kind = DeviceKind::Zram;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Invalid);
    }

    #[test]
    fn a_declared_ratio_matters_on_a_reducing_target() {
        let mut run = writing(run());
        run.plan.phases[0].jobs[0].content.compression_ratio = 2.0;
        silent(ID, &run);
        run.environment.targets[0].file_system.as_mut().unwrap().compresses = Some(true);
        assert!(only(ID, &run).message.contains("ext4 compresses here"));
        run.plan.phases[0].jobs[0].content = Content::default();
        silent(ID, &run);
    }
}
