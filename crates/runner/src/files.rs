//! The files a plan needs.

use std::fs::File;
use std::path::Path;

use assay_host::HostRoot;
use assay_host::guard::{PermitKind, open_again};
use assay_host::workdir::{WorkDir, claim_file, is_unsealed};
use assay_workload::Plan;
use assay_workload::target::TargetKind;
use rustix::fs::{Mode, OFlags};

use crate::error::RunError;
use crate::hold::Permits;

/// Makes the files that do not exist yet, marked as ours, so that the next run may write over them. Their permits are for
/// what was made from then on. What a killed run left in a file of ours is dropped, so that it is laid out again: the plan has
/// nothing in it.
///
/// # Errors
/// [`RunError::MakeFile`] naming the file.
pub fn make_files(plan: &Plan, permits: &mut Permits, host: &HostRoot) -> Result<(), RunError> {
    for (index, permit) in permits
        .iter()
        .filter(|(_, permit)| matches!(permit.kind(), PermitKind::OwnFile | PermitKind::NamedFile))
    {
        if plan.targets[*index as usize].existing_bytes == 0 {
            let file = open_again(host, permit)?;
            if is_unsealed(&file, permit.path()) {
                let failed = |source| RunError::Io { path: permit.path().to_owned(), source };
                file.set_len(0).map_err(failed)?;
            }
        }
    }
    let mut made: Vec<(std::path::PathBuf, assay_host::guard::Permit)> = Vec::new();
    for permit in permits.values_mut().filter(|permit| permit.kind() == PermitKind::NewFile) {
        // Two targets may name one file.
        if let Some((_, known)) = made.iter().find(|(path, _)| path == permit.path()) {
            *permit = known.clone();
            continue;
        }
        let path = host.locate(permit.path());
        let file = make(&permit.open_directory(host)?, &path)
            .and_then(|file| claim_file(&file, &path).map(|()| file))
            .map_err(|source| RunError::MakeFile { path: path.clone(), source })?;
        let new = permit.of_made(&file)?;
        made.push((permit.path().to_owned(), new.clone()));
        *permit = new;
    }
    Ok(())
}

fn make(directory: &File, path: &Path) -> std::io::Result<File> {
    let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(0o666))?.into())
}

/// Makes and tags the directories of trees that do not exist yet, so that they can be claimed.
///
/// # Errors
/// [`RunError::Directory`] naming the directory.
pub(crate) fn make_anchors(plan: &Plan) -> Result<(), RunError> {
    let anchors = plan.targets.iter().filter(|target| target.kind == TargetKind::Directory);
    for path in anchors.map(|target| Path::new(&target.path)).filter(|path| path.symlink_metadata().is_err())
    {
        WorkDir::create(path, env!("CARGO_PKG_VERSION"), "tree")?;
    }
    Ok(())
}
