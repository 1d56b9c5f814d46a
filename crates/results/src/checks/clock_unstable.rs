//! `clock-unstable`: the clock that latencies were taken with jumped, or disagreed with another.

use super::draft::Draft;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "clock-unstable";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    run.remarks
        .iter()
        .filter(|remark| remark.id == ID)
        .map(|remark| {
            let clock = &run.environment.machine.clock;
            Draft::new(ID, FindingSeverity::Warning, remark.text.as_str())
                .bias("latencies and rates off by as much as the clock was")
                .evidence("clock_source", clock.source.as_deref())
                .evidence("invariant_tsc", clock.invariant_tsc)
                .advise("measure on a machine with a steady clock, or have the kernel's clock used")
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
    fn a_clock_that_jumped() {
        let mut run = run();
        silent(ID, &run);
        run.remarks =
            vec![Remark { phase: None, id: ID.to_owned(), text: "the counter went back by 3 us".to_owned() }];
        assert!(only(ID, &run).message.contains("went back"));
    }
}
