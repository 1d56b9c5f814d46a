//! The checks: what makes the numbers of a run untrustworthy, found once and shown by every renderer.
//!
//! Each check is a pure function of the [`Run`]; `docs/methodology/checks.md` says of each how it knows and what it
//! does not catch.

use crate::event::RunEnd;
use crate::run::{Finding, FindingSeverity, Run, Verdict};

/// All findings of all checks, the gravest first.
pub fn check(run: &Run) -> Vec<Finding> {
    let _ = run;
    Vec::new()
}

/// The verdict these findings mean for a run that came to its end.
pub fn verdict(findings: &[Finding]) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        Some(FindingSeverity::Invalid) => Verdict::Invalid,
        Some(FindingSeverity::Warning) => Verdict::Suspect,
        Some(FindingSeverity::Info | FindingSeverity::Unchecked) | None => Verdict::Valid,
    }
}

/// Checks a run and puts findings and verdict into it, replacing what was there. A run that did not complete is
/// incomplete whatever was found.
pub fn judge(run: &mut Run) {
    run.findings = check(run);
    run.verdict = match run.end {
        Some(RunEnd::Completed) => verdict(&run.findings),
        Some(RunEnd::Interrupted | RunEnd::Failed) | None => Verdict::Incomplete,
    };
}
