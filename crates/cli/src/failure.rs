//! What the program ends with.

use std::fmt;

use assay_fleet::login::LoginError;
use assay_results::{Run, RunEnd, Verdict};
use assay_runner::{Finished, RunError, Shortage};

/// Exit status of a usage error or a bad input file.
pub(crate) const USAGE: u8 = 2;

/// A command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done.
    Done,
    /// Done, but the result is not valid, and `--require-valid` was given.
    NotValid,
    /// Done, and a comparison found what `--fail-on` names.
    Regression,
    /// Stopped before its end; what was measured is kept.
    Interrupted,
    /// Another command was run, and ended with this status.
    Passed(u8),
}

impl Outcome {
    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::NotValid => 3,
            Outcome::Regression => 4,
            Outcome::Interrupted => 5,
            Outcome::Passed(code) => code,
        }
    }
}

/// A command that did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The command line or an input file is wrong: exit 2.
    Usage(String),
    /// It was right and did not work: exit 1.
    Failed(String),
    /// It was stopped before there was anything to keep: exit 5.
    Interrupted,
    /// Some of it was lost; what was measured is kept: exit 5.
    Incomplete(String),
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => USAGE,
            Failure::Failed(_) => 1,
            Failure::Interrupted | Failure::Incomplete(_) => Outcome::Interrupted.code(),
        }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Failure::Usage(message.to_string())
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Failure::Failed(message.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        if matches!(error, RunError::Interrupted) {
            return Failure::Interrupted;
        }
        if error.is_request() { Failure::usage(error) } else { Failure::failed(error) }
    }
}

impl From<LoginError> for Failure {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Stopped => Failure::Interrupted,
            LoginError::Refused(why) => Failure::Usage(why),
            LoginError::Failed(why) => Failure::Failed(why),
        }
    }
}

impl From<Shortage> for Failure {
    fn from(shortage: Shortage) -> Self {
        Failure::failed(shortage)
    }
}

/// What a command ends with whose run ended so.
pub(crate) fn outcome_of(finished: &Finished, require_valid: bool) -> Result<Outcome, Failure> {
    let why = || finished.error.clone().unwrap_or_default();
    let jobs = finished.run.phases.iter().flat_map(|phase| &phase.jobs);
    let wrong: u64 = jobs.filter_map(|job| job.data.as_ref()).map(|data| data.wrong).sum();
    match (finished.end, &finished.store_error) {
        (RunEnd::Failed, None) if finished.lost => Err(Failure::Incomplete(why())),
        (RunEnd::Failed, _) => Err(Failure::failed(finished.error.as_deref().unwrap_or("the run failed"))),
        (_, Some(why)) => Err(Failure::failed(format!("the result could not be kept: {why}"))),
        (RunEnd::Interrupted, None) => Ok(Outcome::Interrupted),
        // However many a job goes on with: storage that lies is no success.
        (RunEnd::Completed, None) if wrong > 0 => Err(Failure::failed(format!(
            "{} not hold what was written",
            if wrong == 1 { "1 block did".to_owned() } else { format!("{wrong} blocks did") }
        ))),
        // Asked for or not, the result is of fewer workers than the plan has.
        (RunEnd::Completed, None) if finished.lost => Err(Failure::Incomplete(lost(&finished.run))),
        (RunEnd::Completed, None) if require_valid && finished.run.verdict != Verdict::Valid => {
            Ok(Outcome::NotValid)
        }
        (RunEnd::Completed, None) => Ok(Outcome::Done),
    }
}

/// Lost workers named in a message at most.
const LOST_NAMED_MAX: usize = 5;

/// Which workers a run lost, and why.
fn lost(run: &Run) -> String {
    let lost: Vec<String> = run
        .hosts
        .iter()
        .filter_map(|host| Some(format!("{} ({})", host.name, host.lost.as_ref()?.why)))
        .collect();
    let named = lost.iter().take(LOST_NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = match lost.len().saturating_sub(LOST_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the result is incomplete: {} of {} workers lost: {named}{more}", lost.len(), run.hosts.len())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Failed(message) | Failure::Incomplete(message) => {
                f.write_str(message)
            }
            Failure::Interrupted => f.write_str("interrupted"),
        }
    }
}
