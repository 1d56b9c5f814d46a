//! The files a plan needs.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use assay_engine::file_calls::DIRECTORY_MODE;
use assay_host::HostRoot;
use assay_host::claim::{Access, Claims};
use assay_host::cleanup;
use assay_host::guard::{Permit, PermitKind, open_again};
use assay_host::workdir::{WorkDir, claim_directory, claim_file, is_unsealed};
use assay_workload::target::TargetKind;
use assay_workload::{Plan, PlannedJob};
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
    let mut made: Vec<(std::path::PathBuf, Permit)> = Vec::new();
    let (files, directories) = (files_of(plan), directories_of(plan));
    for (index, permit) in permits.iter_mut().filter(|(_, permit)| permit.kind() == PermitKind::NewFile) {
        if directories.contains(index) {
            make_directory(permit, host)?;
        }
        // What a job is to make itself is not there before.
        if !files.contains(index) {
            continue;
        }
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

/// The targets that some job uses as files.
fn files_of(plan: &Plan) -> BTreeSet<u32> {
    targets_of(plan, |job| !job.is_blocks() || job.has_files())
}

/// The targets that jobs use as directories which are there before they begin.
fn directories_of(plan: &Plan) -> BTreeSet<u32> {
    targets_of(plan, |job| {
        job.by_name().is_some_and(|operation| operation.is_on_directories() && !operation.creates())
    })
}

fn targets_of(plan: &Plan, chosen: impl Fn(&PlannedJob) -> bool) -> BTreeSet<u32> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| chosen(job));
    jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect()
}

/// Makes a directory for jobs that look at it or remove it, marked as ours. The job of another target may have made it.
fn make_directory(permit: &Permit, host: &HostRoot) -> Result<(), RunError> {
    let path = host.locate(permit.path());
    let above = permit.open_directory(host)?;
    let make = || {
        let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(DIRECTORY_MODE))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = File::from(rustix::fs::openat(&above, name, flags, Mode::empty())?);
        claim_directory(&made).map(drop)
    };
    make().map_err(|source| RunError::MakeFile { path: path.clone(), source })
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

/// Removes the files of jobs that say so: those that Assay made or was allowed to write over. What cannot be removed stays.
pub(crate) fn remove_files(plan: &Plan, permits: &Permits, claims: &Claims, host: &HostRoot) {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.remove_files);
    let sites = jobs.flat_map(|job| job.slices.iter().flat_map(|slice| &slice.sites));
    let mut targets: Vec<u32> = sites.map(|site| site.target).collect();
    targets.sort_unstable();
    targets.dedup();
    for index in targets {
        let path = Path::new(&plan.targets[index as usize].path);
        // Another run may be reading it.
        if claims.take(host, path, Access::Exclusive).is_err() {
            continue;
        }
        let permit = permits.get(&index);
        match permit.map(Permit::kind) {
            Some(PermitKind::NamedFile) if permit.is_some_and(|permit| open_again(host, permit).is_ok()) => {
                let _ = std::fs::remove_file(host.locate(path));
            }
            // Only files of ours.
            _ => drop(cleanup::take_back(&host.locate(path))),
        }
    }
}
