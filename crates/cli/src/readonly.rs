//! `--readonly`: nothing may be changed.

use assay_workload::Plan;
use assay_workload::plan::PlannedTarget;
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;

use crate::failure::Failure;

/// Refuses a plan that would change data: by an operation of a job, or by laying out a file that lacks what is to be read.
///
/// # Errors
/// [`Failure::Failed`] naming the job or the file.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    let mut jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    if let Some(job) = jobs.find(|job| job.may_write()) {
        let name = &job.name;
        return Err(Failure::failed(format!("job '{name}' changes data, which --readonly does not allow")));
    }
    let lacks = |target: &&PlannedTarget| {
        target.kind == TargetKind::File && target.existing_bytes < target.size_bytes
    };
    let Some(PlannedTarget { path, existing_bytes, size_bytes, .. }) = plan.targets.iter().find(lacks) else {
        return Ok(());
    };
    let has = match std::path::Path::new(path).exists() {
        true => format!("has {} of the {} that are read", Bytes(*existing_bytes), Bytes(*size_bytes)),
        false => "does not exist".to_owned(),
    };
    Err(Failure::failed(format!("{path} {has}, and --readonly does not allow laying it out")))
}
