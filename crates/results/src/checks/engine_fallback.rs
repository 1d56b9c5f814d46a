//! `engine-fallback`: another engine did the I/O than the one asked for.

use super::subject::all;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "engine-fallback";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let replaced = all(run).filter(|subject| !subject.job.evidence.engine_fallback.is_empty());
    replaced
        .map(|subject| {
            let why = &subject.job.evidence.engine_fallback;
            let message =
                format!("{} did the I/O instead of the requested engine: {why}", subject.job.engine);
            subject
                .draft(ID, FindingSeverity::Warning, message)
                .bias("not comparable with runs of the requested engine")
                .evidence("engine", subject.job.engine.as_str())
                .evidence("engine_fallback", why.as_str())
                .advise("make the engine available (see 'assay doctor'), or request the one that was used")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    #[test]
    fn a_refused_engine() {
        let mut run = run();
        silent(ID, &run);
        run.phases[0].jobs[0].evidence.engine_fallback = "io_uring is switched off for this user".to_owned();
        assert!(only(ID, &run).message.contains("switched off"));
    }
}
