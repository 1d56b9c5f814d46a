//! `--readonly`: a plan that would change nothing.

use std::path::PathBuf;

use assay_workload::Plan;
use assay_workload::plan::PlannedTarget;
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;

/// What a plan would change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Change {
    /// An operation of a job.
    #[error("job '{name}' changes data, which --readonly does not allow")]
    Job {
        /// The job.
        name: String,
    },
    /// A file that is read would be made first.
    #[error("{path} does not exist, and --readonly does not allow laying it out")]
    Makes {
        /// The file.
        path: PathBuf,
    },
    /// A file would be extended, because it lacks what is to be read.
    #[error(
        "{path} has {existing} of the {wanted} that are read, and --readonly does not allow laying it out"
    )]
    Extends {
        /// The file.
        path: PathBuf,
        /// What there is.
        existing: Bytes,
        /// What is to be read.
        wanted: Bytes,
    },
}

/// Refuses a plan that would change data: by an operation of a job, or by laying out a file.
///
/// # Errors
/// [`Change`]: the first of them.
pub fn check_readonly(plan: &Plan) -> Result<(), Change> {
    let mut jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    if let Some(job) = jobs.find(|job| job.may_write()) {
        return Err(Change::Job { name: job.name.clone() });
    }
    let lacks = |target: &&PlannedTarget| {
        target.kind == TargetKind::File && target.existing_bytes < target.size_bytes
    };
    let Some(target) = plan.targets.iter().find(lacks) else { return Ok(()) };
    let path = PathBuf::from(&target.path);
    let (existing, wanted) = (Bytes(target.existing_bytes), Bytes(target.size_bytes));
    Err(if path.exists() { Change::Extends { path, existing, wanted } } else { Change::Makes { path } })
}
