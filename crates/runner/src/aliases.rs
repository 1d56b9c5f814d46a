//! Targets that are one file or device by several names.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

use assay_workload::Plan;
use assay_workload::plan::PlannedTarget;
use assay_workload::target::TargetKind;

use crate::error::RunError;

/// Refuses targets whose data is verified and that are also there by another path. What does not exist yet is none of them.
///
/// # Errors
/// [`RunError::Aliased`] naming both.
pub(crate) fn check(plan: &Plan) -> Result<(), RunError> {
    let verified = plan.verified();
    if verified.is_empty() {
        return Ok(());
    }
    let mut known = BTreeMap::new();
    let mut paths = BTreeSet::new();
    for (number, target) in (0..).zip(&plan.targets) {
        if !paths.insert((target.host, &target.path)) {
            continue;
        }
        let Some(identity) = identity(target) else { continue };
        let is_verified = verified.contains_key(&number);
        let Some((other, other_is_verified)) = known.insert((target.host, identity), (target, is_verified))
        else {
            continue;
        };
        if is_verified || other_is_verified {
            let of = |target: &PlannedTarget| (target.name.clone(), target.path.clone());
            return Err(RunError::Aliased { one: of(other), other: of(target) });
        }
    }
    Ok(())
}

/// What a target is, whatever it is called: the number of a device, or file system and inode.
fn identity(target: &PlannedTarget) -> Option<(u64, u64)> {
    if !matches!(target.kind, TargetKind::File | TargetKind::BlockDevice) {
        return None;
    }
    let meta = std::fs::metadata(&target.path).ok()?;
    let is_device = meta.file_type().is_block_device();
    Some(if is_device { (u64::MAX, meta.rdev()) } else { (meta.dev(), meta.ino()) })
}
