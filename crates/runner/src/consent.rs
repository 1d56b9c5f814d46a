//! What is asked before anything is written.

use std::path::PathBuf;

use assay_engine::tree::check_anchor;
use assay_host::guard::{Consent, check_write};
use assay_host::{HostRoot, environment};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;

use crate::error::RunError;

/// Asks the guard about every target that the plan writes to; `named` are those that consent was given for.
///
/// # Errors
/// The guard's refusal.
pub fn check_consent(plan: &Plan, host: &HostRoot, named: &[PathBuf]) -> Result<(), RunError> {
    let consent = Consent::naming(host, named);
    let written = plan
        .phases
        .iter()
        .flat_map(|phase| &phase.jobs)
        .filter(|job| job.pattern.kinds().any(|kind| kind != OpKind::Read) || job.tree.is_some());
    let mut indices: Vec<u16> =
        written.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect();
    // Files that are read beyond their end are laid out first, which is writing too.
    let short =
        plan.targets.iter().enumerate().filter(|(_, target)| {
            target.kind == TargetKind::File && target.existing_bytes < target.size_bytes
        });
    indices.extend(short.map(|(index, _)| index as u16));
    indices.sort_unstable();
    indices.dedup();
    for index in indices {
        let target = &plan.targets[usize::from(index)];
        if target.kind != TargetKind::Null {
            check_write(host, target.path.as_ref(), &consent)?;
        }
        // Only jobs on trees use directories, and they make and remove what is in them.
        if target.kind == TargetKind::Directory {
            check_anchor(target.path.as_ref(), named)?;
        }
    }
    Ok(())
}

/// Asks whether there is memory for the plan's buffers, before the kernel ends us for taking it.
///
/// # Errors
/// [`RunError::Memory`] with how much is wanted and how much is there.
pub fn check_memory(plan: &Plan, host: &HostRoot) -> Result<(), RunError> {
    let wanted_bytes = plan.memory_bytes_max();
    match environment::memory(host).available_bytes {
        Some(available_bytes) if wanted_bytes > available_bytes => {
            Err(RunError::Memory { wanted_bytes, available_bytes })
        }
        _ => Ok(()),
    }
}
