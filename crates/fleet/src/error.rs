//! Why there is no fleet, or why it does not begin.

use std::io;

use assay_conduct::workplace::Refused;
use assay_workload::units::Bytes;

use crate::frame::BODY_BYTES_MAX;

/// Workers named in a message at most.
const NAMED_MAX: usize = 3;

/// What is wrong with the words that choose a launcher.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--on {words}: {what}")]
pub struct BadWords {
    pub(crate) words: String,
    pub(crate) what: String,
}

/// Why a fleet does not begin. What goes wrong later is told by the run.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// What chooses the workers.
    #[error(transparent)]
    Words(#[from] BadWords),
    /// This system.
    #[error("the workers cannot be started: {0}")]
    System(#[from] io::Error),
    /// Workers that did not come, or went.
    #[error("cannot reach {}", listed(workers))]
    Unreachable {
        /// Each with the reason.
        workers: Vec<(String, String)>,
    },
    /// Workers that are another program.
    #[error("worker {worker} is Assay {found}, and this is {own}")]
    Version {
        /// Its name.
        worker: String,
        /// What it says it is.
        found: String,
        /// What we are.
        own: String,
    },
    /// Workers that will not do their part.
    #[error("{}", listed_refusals(workers))]
    Refused {
        /// Each with the reason.
        workers: Vec<(String, Refused)>,
    },
    /// One target for several workers of one machine, of which some write.
    #[error(
        "{path} is for several workers of {node}, and is written: one process at a time may do that; give each a target of its own, \
         or do it with one worker of more threads"
    )]
    Shared {
        /// The target.
        path: String,
        /// The machine.
        node: String,
    },
    /// Workers would check what others write.
    #[error(
        "job '{job}' verifies data, and with --share whole its workers write over each other's: --share divided gives each a part"
    )]
    VerifiesShared {
        /// The job.
        job: String,
    },
    /// What a worker is to be told is longer than any message.
    #[error(
        "the part of worker {worker} takes {}, and {} can be sent; use fewer targets, jobs or phases in one run, or --on with more \
         workers that have a part each", Bytes(*bytes), Bytes(BODY_BYTES_MAX as u64)
    )]
    TooLarge {
        /// Its name.
        worker: String,
        /// Its length.
        bytes: u64,
    },
    /// Targets that workers of this kind do not have.
    #[error("{0}")]
    Targets(String),
    /// A worker found something else than what was made for it.
    #[error("worker {worker}: {what}; nothing was written")]
    OtherTarget {
        /// Its name.
        worker: String,
        /// What it found.
        what: String,
    },
    /// What a cluster says.
    #[cfg(feature = "kube")]
    #[error(transparent)]
    Kube(Box<crate::kube::error::KubeError>),
    /// The user wants to stop.
    #[error("interrupted")]
    Stopped,
}

impl FleetError {
    /// Whether another request would do.
    pub fn is_request(&self) -> bool {
        match self {
            FleetError::Words(_)
            | FleetError::Targets(_)
            | FleetError::Shared { .. }
            | FleetError::VerifiesShared { .. }
            | FleetError::TooLarge { .. } => true,
            FleetError::Refused { workers } => workers.iter().all(|(_, refused)| refused.is_request),
            #[cfg(feature = "kube")]
            FleetError::Kube(_) => false,
            FleetError::System(_)
            | FleetError::OtherTarget { .. }
            | FleetError::Unreachable { .. }
            | FleetError::Version { .. }
            | FleetError::Stopped => false,
        }
    }
}

fn listed(workers: &[(String, String)]) -> String {
    let named: Vec<String> =
        workers.iter().take(NAMED_MAX).map(|(worker, why)| format!("{worker} ({why})")).collect();
    match workers.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{}, and {more} more", named.join(", ")),
    }
}

fn listed_refusals(workers: &[(String, Refused)]) -> String {
    let named: Vec<String> =
        workers.iter().take(NAMED_MAX).map(|(worker, why)| format!("{worker}: {why}")).collect();
    match workers.len().saturating_sub(NAMED_MAX) {
        0 => named.join("; "),
        more => format!("{}; and {more} more workers refused", named.join("; ")),
    }
}
