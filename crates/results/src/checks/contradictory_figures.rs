//! `contradictory-figures`: figures of an imported result that cannot all be true.

use super::draft::Draft;
use crate::run::{Finding, FindingSeverity, Run};

pub(crate) const ID: &str = "contradictory-figures";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let remarks = run.remarks.iter().filter(|remark| remark.id == ID);
    remarks
        .map(|remark| {
            let draft = Draft::new(ID, FindingSeverity::Invalid, remark.text.as_str())
                .bias("the figures cannot all be true, and which of them are is not known");
            let phase = run.phases.iter().find(|phase| remark.phase == Some(phase.plan_phase));
            let draft = match phase {
                Some(phase) => {
                    draft.of_phase(&phase.name).of_point(&phase.point).of_repeat(Some(phase.repeat))
                }
                None => draft,
            };
            draft.advise("import the file as the tool wrote it; if it is, do not quote it: measure again")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::evidence::Remark;
    use crate::fixture::run;

    #[test]
    fn what_contradicts_itself_is_not_valid() {
        let mut run = run();
        silent(ID, &run);
        run.remarks = vec![Remark {
            phase: Some(0),
            id: ID.to_owned(),
            text: "read.iops is 7, but total_ios / runtime is 70".to_owned(),
        }];
        let finding = only(ID, &run);
        assert_eq!(
            (finding.severity, finding.phase),
            (FindingSeverity::Invalid, Some(run.phases[0].name.clone()))
        );
    }
}
