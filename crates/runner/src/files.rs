//! The files a plan needs.

use std::fs::File;

use assay_host::HostRoot;
use assay_host::guard::PermitKind;
use assay_host::workdir::claim_file;

use crate::error::RunError;
use crate::hold::Permits;

/// Makes the files that do not exist yet, marked as ours, so that the next run may write over them. Their permits are for
/// what was made from then on.
///
/// # Errors
/// [`RunError::MakeFile`] naming the file.
pub fn make_files(permits: &mut Permits, host: &HostRoot) -> Result<(), RunError> {
    let mut made: Vec<(std::path::PathBuf, assay_host::guard::Permit)> = Vec::new();
    for permit in permits.values_mut().filter(|permit| permit.kind() == PermitKind::NewFile) {
        // Two targets may name one file.
        if let Some((_, known)) = made.iter().find(|(path, _)| path == permit.path()) {
            *permit = known.clone();
            continue;
        }
        let path = host.locate(permit.path());
        let file = File::create_new(&path)
            .and_then(|file| claim_file(&file, &path).map(|()| file))
            .map_err(|source| RunError::MakeFile { path: path.clone(), source })?;
        let new = permit.of_made(&file)?;
        made.push((permit.path().to_owned(), new.clone()));
        *permit = new;
    }
    Ok(())
}
