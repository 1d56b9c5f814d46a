//! What is asked before anything is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use assay_engine::loops::Backing;
use assay_engine::tree::{AnchorError, NamedDirectories, check_anchor};
use assay_host::HostRoot;
use assay_host::claim::{Access, Claims};
use assay_host::guard::{
    Consent, NodeIdentity, Permit, Refusal, check_read, check_unused, check_write, overlapping,
};
use assay_host::workdir::is_own_directory;
use assay_workload::target::TargetKind;
use assay_workload::{Plan, PlannedJob};

use crate::error::{RunError, TargetProblem};
use crate::hold::Permits;

/// Refuses a plan for other machines: what carries plans out here does all of a plan.
///
/// # Errors
/// [`RunError::OtherHosts`] naming them.
pub fn check_hosts(plan: &Plan) -> Result<(), RunError> {
    if plan.hosts.is_empty() { Ok(()) } else { Err(RunError::OtherHosts { hosts: plan.hosts.clone() }) }
}

/// Asks the guard about every target, and what may be written of what the plan writes to.
///
/// # Errors
/// The guard's refusal, or that the plan is for other machines.
pub fn check_consent(plan: &Plan, host: &HostRoot, consent: &Consent) -> Result<Permits, RunError> {
    check_hosts(plan)?;
    not_through_links(plan)?;
    let mut permits = Permits::new();
    let by_jobs = written_by_jobs(plan);
    let written = written(plan);
    for (index, target) in (0..).zip(&plan.targets) {
        if target.kind == TargetKind::Null || written.contains(&index) {
            continue;
        }
        if let Some(permit) = check_read(host, target.path.as_ref())? {
            permits.insert(index, permit);
        }
    }
    for index in written {
        let target = &plan.targets[index as usize];
        if target.kind != TargetKind::Null {
            let permit = check_write(host, target.path.as_ref(), consent);
            let permit = permit.map_err(|refusal| match refusal {
                // A plan that only reads is not to destroy anything; a file of ours that counts as empty was cut short.
                Refusal::ForeignFile { path } | Refusal::ChangedFile { path }
                    if !by_jobs.contains(&index) && target.existing_bytes > 0 =>
                {
                    RunError::ShortFile { path, bytes: target.existing_bytes, read_bytes: target.size_bytes }
                }
                Refusal::ChangedFile { path } if !by_jobs.contains(&index) => RunError::CutShort { path },
                refusal => refusal.into(),
            })?;
            not_in_a_loop(host, &permit)?;
            if let TargetKind::File | TargetKind::BlockDevice = target.kind {
                permits.insert(index, permit);
            }
        }
        // Jobs on trees make and remove what is in their directories; applications make databases in directories of ours.
        if target.kind == TargetKind::Directory && holds_databases(plan, index) {
            let checked = check_anchor(target.path.as_ref(), &NamedDirectories::default());
            checked.map_err(|error| match error {
                AnchorError::Foreign(path) => AnchorError::NotForDatabases(path),
                other => other,
            })?;
        } else if target.kind == TargetKind::Directory {
            check_directory(target.path.as_ref(), &NamedDirectories::at(consent.targets()))?;
        }
    }
    Ok(permits)
}

/// Whether what jobs do to a directory may be done: they have a tree in it, or remove what a job made.
fn check_directory(path: &Path, named: &NamedDirectories) -> Result<(), AnchorError> {
    if is_own_directory(path) { Ok(()) } else { check_anchor(path, named) }
}

/// Whether applications use a target.
fn holds_databases(plan: &Plan, target: u32) -> bool {
    let mut applications =
        plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.application.is_some());
    applications.any(|job| job.slices.iter().flat_map(|slice| &slice.sites).any(|site| site.target == target))
}

/// Why the path of a target has to be named before it is overwritten; `None`: it need not be, as nothing is written to it, or what is
/// there is Assay's own.
///
/// # Errors
/// The guard's refusal where no name helps.
pub fn overwrites(plan: &Plan, index: usize, host: &HostRoot) -> Result<Option<String>, RunError> {
    let Some(target) = plan.targets.get(index).filter(|target| target.kind != TargetKind::Null) else {
        return Ok(None);
    };
    if !written(plan).contains(&(index as u32)) {
        return Ok(None);
    }
    let path: &Path = target.path.as_ref();
    let allowed = |named: &[PathBuf]| -> Result<(), RunError> {
        let consent = Consent::naming(host, named);
        check_write(host, path, &consent)?;
        if target.kind == TargetKind::Directory && !holds_databases(plan, index as u32) {
            check_directory(path, &NamedDirectories::at(consent.targets()))?;
        }
        Ok(())
    };
    let Err(refusal) = allowed(&[]) else { return Ok(None) };
    // What is refused although it is named cannot be overwritten this way.
    allowed(&[path.to_owned()])?;
    Ok(Some(refusal.to_string()))
}

/// Indices of the targets that a plan writes to. Files that are read beyond their end are laid out first, which is writing
/// too.
fn written(plan: &Plan) -> BTreeSet<u32> {
    let short =
        plan.targets.iter().enumerate().filter(|(_, target)| {
            target.kind == TargetKind::File && target.existing_bytes < target.size_bytes
        });
    let mut all = written_by_jobs(plan);
    all.extend(short.map(|(index, _)| index as u32));
    all
}

fn written_by_jobs(plan: &Plan) -> BTreeSet<u32> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let written = jobs.filter(|job| job.may_write());
    written.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect()
}

/// The targets that some job opens, rather than using their names alone.
fn opened(plan: &Plan) -> BTreeSet<u32> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.by_name().is_none());
    jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect()
}

/// Refuses to remove what a name only leads to: a link is not Assay's, and what it leads to has another name.
fn not_through_links(plan: &Plan) -> Result<(), RunError> {
    let deletes = |job: &&PlannedJob| {
        job.by_name().is_some_and(|operation| !operation.is_stat() && !operation.creates())
    };
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs).filter(deletes);
    for site in jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites) {
        let path = Path::new(&plan.targets[site.target as usize].path);
        if path.is_symlink() {
            return Err(RunError::Target { path: path.to_owned(), problem: TargetProblem::LinkToRemove });
        }
    }
    Ok(())
}

/// Claims every target of a plan for one run: those it writes to for itself, the others together with who else reads them.
///
/// # Errors
/// [`RunError::InUse`] naming the run that has one.
pub fn claim(plan: &Plan, claims: &Claims, host: &HostRoot) -> Result<(), RunError> {
    let written = written(plan);
    let open = opened(plan);
    for (index, target) in plan.targets.iter().enumerate().filter(|(_, one)| one.kind != TargetKind::Null) {
        let writes = written.contains(&(index as u32));
        let access = if writes { Access::Exclusive } else { Access::Shared };
        if open.contains(&(index as u32)) {
            claims.take(host, target.path.as_ref(), access)?;
        } else {
            // A claim holds its file open, and what is open is not gone when it is removed.
            Claims::default().take(host, target.path.as_ref(), access)?;
        }
    }
    Ok(())
}

/// Refuses what a loop device stands on, and a loop device whose file or device is behind another one or in use, by whatever name:
/// the kernel says what it is.
pub(crate) fn not_in_a_loop(host: &HostRoot, permit: &Permit) -> Result<(), Refusal> {
    let Some(node) = permit.node().filter(|_| host.is_real()) else { return Ok(()) };
    let loops: Vec<(String, Backing)> = host
        .names("/sys/block")
        .into_iter()
        .filter(|name| host.exists(format!("/sys/block/{name}/loop")))
        .filter_map(|name| Some((name.clone(), Backing::of(&Path::new("/dev").join(name))?)))
        .collect();
    let path = || permit.path().to_owned();
    let mut below = match node {
        NodeIdentity::File(device, inode) => {
            let file = (*device, *inode);
            return match loops.iter().find(|(_, backing)| backing.file == file) {
                Some((device, _)) => Err(Refusal::LoopBacking { path: path(), device: device.clone() }),
                None => Ok(()),
            };
        }
        NodeIdentity::Device(number) => overlapping(host, number),
    };
    let mut passed: Vec<&str> = Vec::new();
    // Down the devices: what is written to one is written to all below it.
    loop {
        let on = |backing: &Backing| backing.on_device.as_ref().is_some_and(|on| below.contains(on));
        let above = loops.iter().find(|(name, backing)| on(backing) && !passed.contains(&name.as_str()));
        if let Some((device, _)) = above {
            let device = device.clone();
            return Err(match passed.is_empty() {
                true => Refusal::LoopBacking { path: path(), device },
                false => Refusal::SharedLoop { path: path(), device },
            });
        }
        let own = loops.iter().find(|(_, backing)| below.contains(&backing.of_device));
        let Some((own, backing)) = own else { return Ok(()) };
        if let Some((device, _)) =
            loops.iter().find(|(name, other)| name != own && other.file == backing.file)
        {
            return Err(Refusal::SharedLoop { path: path(), device: device.clone() });
        }
        let Some(number) = backing.on_device.as_ref().filter(|_| !passed.contains(&own.as_str())) else {
            return Ok(());
        };
        check_unused(host, number).map_err(|why| Refusal::InUseBelow { path: path(), why: Box::new(why) })?;
        passed.push(own);
        below = overlapping(host, number);
    }
}
