//! `engine-fallback`: another engine did the I/O than the one asked for.

use super::subject::all;
use crate::run::{Finding, FindingSeverity, Run};

pub(super) const ID: &str = "engine-fallback";

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let replaced =
        all(run).filter_map(|subject| Some((subject.job.evidence.engine_fallback.as_deref()?, subject)));
    replaced
        .map(|(why, subject)| {
            let message =
                format!("{} did the I/O instead of the requested engine: {why}", subject.job.engine);
            subject
                .draft(ID, FindingSeverity::Warning, message)
                .bias("not comparable with runs of the requested engine")
                .evidence("engine", subject.job.engine.as_str())
                .evidence("engine_fallback", why)
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
        run.phases[0].jobs[0].evidence.engine_fallback =
            Some("io_uring is switched off for this user".to_owned());
        assert!(only(ID, &run).message.contains("switched off"));
    }
}
