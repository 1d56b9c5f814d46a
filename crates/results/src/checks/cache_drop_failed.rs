//! `cache-drop-failed`: clean pages of a target could not be dropped before its reads.

use super::draft::Draft;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "cache-drop-failed";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    run.remarks
        .iter()
        .filter(|remark| remark.id == ID)
        .map(|remark| {
            let draft = Draft::new(ID, FindingSeverity::Warning, remark.text.as_str());
            let name =
                remark.phase.and_then(|phase| run.plan.phases.get(phase as usize)).map(|phase| &phase.name);
            let draft = match name {
                Some(name) => draft.of_phase(name),
                None => draft,
            };
            draft
                .bias("buffered reads high: data that an earlier test left in memory is not read from the device")
                .advise("run as a user that may drop caches, or use direct I/O")
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
    fn pages_that_stayed() {
        let mut run = run();
        let mut remark = Remark { phase: Some(0), id: "drain".to_owned(), text: "no permission".to_owned() };
        run.remarks = vec![remark.clone()];
        silent(ID, &run);
        remark.id = ID.to_owned();
        run.remarks = vec![remark];
        assert_eq!(only(ID, &run).phase.as_deref(), Some("measure"));
    }
}
