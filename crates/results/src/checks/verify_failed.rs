//! `verify-failed`: blocks did not hold what was written to them.

use super::draft::{Draft, count};
use super::io_errors::VERIFY_KIND;
use super::subject::all;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "verify-failed";

const ADVICE: &str = "do not use this storage for data until the cause is known";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let counted = all(run).filter_map(|subject| {
        let blocks: u64 = subject
            .job
            .errors_by_kind
            .iter()
            .filter(|(kind, _)| kind == VERIFY_KIND)
            .map(|entry| entry.1)
            .sum();
        let message = format!("{} did not hold what was written", count(blocks, "block"));
        (blocks > 0).then(|| {
            subject
                .draft(ID, FindingSeverity::Invalid, message)
                .bias("results of storage that loses data are meaningless")
                .evidence("blocks", blocks)
                .advise(ADVICE)
        })
    });
    let told = run.remarks.iter().filter(|remark| remark.id == ID).map(|remark| {
        Draft::new(ID, FindingSeverity::Invalid, remark.text.as_str())
            .bias("results of storage that loses data are meaningless")
            .advise(ADVICE)
    });
    counted.chain(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::evidence::Remark;
    use crate::fixture::run;

    #[test]
    fn wrong_content() {
        let mut run = run();
        silent(ID, &run);
        run.phases[0].jobs[0].errors_by_kind = vec![("EIO".to_owned(), 4), ("verify".to_owned(), 2)];
        assert!(only(ID, &run).message.starts_with("2 blocks"));
        run.phases[0].jobs[0].errors_by_kind.clear();
        run.remarks = vec![Remark { phase: None, id: ID.to_owned(), text: "block 7 is torn".to_owned() }];
        assert_eq!(only(ID, &run).message, "block 7 is torn");
    }
}
