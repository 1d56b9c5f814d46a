//! The files a plan needs.

use std::path::Path;

use assay_host::HostRoot;
use assay_host::guard::{Class, classify};
use assay_host::workdir::claim_file;
use assay_workload::Plan;
use assay_workload::target::TargetKind;

use crate::error::RunError;

/// Makes the files that do not exist yet, marked as ours, so that the next run may write over them.
///
/// # Errors
/// [`RunError::MakeFile`] naming the file.
pub fn make_files(plan: &Plan, host: &HostRoot) -> Result<(), RunError> {
    for target in plan.targets.iter().filter(|target| target.kind == TargetKind::File) {
        let path = Path::new(&target.path);
        if matches!(classify(host, path), Ok(Class::Missing)) {
            std::fs::File::create_new(path)
                .and_then(|file| claim_file(&file, path))
                .map_err(|source| RunError::MakeFile { path: path.to_owned(), source })?;
        }
    }
    Ok(())
}
