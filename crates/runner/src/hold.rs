//! What a phase writes to, held open while it runs.
//!
//! A permit is for a file or device, not for a name. It is given when the run begins, and hours may pass until a phase
//! begins: so each phase opens what was permitted, compares, and everything that is written goes through what is open then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_engine::targets::Held;
use assay_host::HostRoot;
use assay_host::guard::{Permit, open_again};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;

use crate::consent::not_in_a_loop;

/// What a plan may write to, by index of its targets.
pub type Permits = BTreeMap<u16, Permit>;

/// Opens the files and devices that a phase writes to, those that are laid out for it included. Devices are ours alone until
/// they are dropped.
///
/// # Errors
/// Why one may not be written any more, in a sentence.
pub fn hold(plan: &Plan, phase: usize, permits: &Permits, host: &HostRoot) -> Result<Held, String> {
    let mut held = Held::default();
    for index in written(plan, phase) {
        let target = &plan.targets[usize::from(index)];
        let permit = permits.get(&index).ok_or_else(|| {
            let path = &target.path;
            format!(
                "{path} is shorter than it was when the run began; start again when nothing else touches it"
            )
        })?;
        not_in_a_loop(host, permit).map_err(|refusal| refusal.to_string())?;
        let file = open_again(host, permit).map_err(|refusal| refusal.to_string())?;
        held.insert(index, Arc::new(file));
    }
    Ok(held)
}

fn written(plan: &Plan, phase: usize) -> BTreeSet<u16> {
    let mut written = BTreeSet::new();
    for job in plan.phases[phase].jobs.iter().filter(|job| job.tree.is_none()) {
        let writes = job.pattern.kinds().any(|kind| kind != OpKind::Read);
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            let target = &plan.targets[usize::from(site.target)];
            let stored = matches!(target.kind, TargetKind::File | TargetKind::BlockDevice);
            // What is read beyond the end of its file is laid out first.
            let short = || {
                let end = site.offset_bytes + site.length_bytes;
                target.kind == TargetKind::File
                    && std::fs::metadata(&target.path).map_or(0, |meta| meta.len()) < end
            };
            if stored && (writes || short()) {
                written.insert(site.target);
            }
        }
    }
    written
}
