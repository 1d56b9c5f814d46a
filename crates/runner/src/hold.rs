//! What a phase uses, held open while it runs.
//!
//! A permit is for a file or device, not for a name. It is given when the run begins, and hours may pass until a phase
//! begins: so each phase opens what was permitted, compares, and everything that is read or written goes through what is open then.
//! Reading, too: real fio lays out what it finds too short.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use assay_engine::LaidOut;
use assay_engine::targets::Held;
use assay_host::HostRoot;
use assay_host::guard::{Permit, PermitKind, Refusal, open_again};
use assay_host::workdir::{Ownership, Writing, ownership};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;

use crate::consent::not_in_a_loop;
use crate::limits::as_many_files_as_allowed;

/// What a plan may read and write, by index of its targets.
pub type Permits = BTreeMap<u32, Permit>;

/// What a phase holds. Files of ours are marked as being written until this is dropped, then with what was left in them.
#[derive(Debug, Default)]
pub struct Holding {
    /// What is open.
    pub held: Held,
    writing: Vec<Writing>,
    /// Files that are laid out and then only read.
    laying_out: Arc<Mutex<Vec<Writing>>>,
}

/// What a phase does to a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Reads,
    /// It reads what it lays out first.
    LaysOut,
    Writes,
}

impl Holding {
    /// What is called when everything is laid out: what is only read from then on is as Assay left it, and stays known as that if
    /// Assay is killed.
    pub fn laid_out(&self) -> LaidOut {
        let laying_out = Arc::clone(&self.laying_out);
        LaidOut::new(move || laying_out.lock().unwrap_or_else(PoisonError::into_inner).clear())
    }

    fn mark(&mut self, permit: &Permit, file: &Arc<File>, done: Use) -> Result<(), String> {
        let named = permit.kind() == PermitKind::NamedFile;
        if !named && permit.kind() != PermitKind::OwnFile {
            return Ok(());
        }
        let path = permit.path();
        let known = |writing: &Writing| writing.is_of(file);
        if self.writing.iter().any(known) {
            return Ok(());
        }
        let mut laying_out = self.laying_out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = laying_out.iter().position(known) {
            // Another name of it is written to.
            if done == Use::Writes {
                self.writing.push(laying_out.swap_remove(at));
            }
            return Ok(());
        }
        match Writing::begin(Arc::clone(file), path, named)
            .map_err(|error| format!("{}: {error}", path.display()))?
        {
            Some(writing) if done == Use::LaysOut => laying_out.push(writing),
            Some(writing) => self.writing.push(writing),
            // Where marks cannot be had, what was made by this run is known by its identity.
            None if named || is_unmarked(file, path) => {}
            None => return Err(Refusal::ChangedFile { path: path.to_owned() }.to_string()),
        }
        Ok(())
    }
}

fn is_unmarked(file: &File, path: &Path) -> bool {
    ownership(path) == Ownership::Foreign && file.metadata().is_ok_and(|meta| meta.nlink() == 1)
}

/// Opens the files and devices that a phase uses. Devices that it writes to are ours alone until they are dropped.
///
/// # Errors
/// Why one may not be used any more, in a sentence.
pub fn hold(plan: &Plan, phase: usize, permits: &Permits, host: &HostRoot) -> Result<Holding, String> {
    let mut holding = Holding::default();
    as_many_files_as_allowed();
    for (index, done) in used(plan, phase) {
        let written = done > Use::Reads;
        let path = &plan.targets[index as usize].path;
        let permit = permits.get(&index).filter(|permit| !written || permit.kind() != PermitKind::Reading);
        let permit = permit.ok_or_else(|| {
            format!("{path} is not as it was when the run began; start again when nothing else touches it")
        })?;
        if written {
            not_in_a_loop(host, permit).map_err(|refusal| refusal.to_string())?;
        }
        let file = Arc::new(open_again(host, permit).map_err(|refusal| refusal.to_string())?);
        if written {
            holding
                .mark(permit, &file, done)
                .map_err(|refused| cut_short(plan, phase, index, &file).unwrap_or(refused))?;
        }
        holding.held.insert(index, file);
    }
    Ok(holding)
}

/// That a file is shorter than what an earlier phase of the run has written or laid out; `None`: it is not.
fn cut_short(plan: &Plan, phase: usize, index: u32, file: &File) -> Option<String> {
    let target = &plan.targets[index as usize];
    let jobs = plan.phases[..phase].iter().flat_map(|phase| &phase.jobs).filter(|job| job.is_blocks());
    let ends = jobs.flat_map(|job| {
        let sites = job.slices.iter().flat_map(|slice| &slice.sites);
        sites.filter(|site| site.target == index).map(|site| job.layout_end(site, target))
    });
    let (end, has) = (ends.max()?, file.metadata().ok()?.len());
    (has < end).then(|| {
        format!("{} has {has} of {end} bytes: something else cut it short while the run went on, and what it held there is lost", target.path)
    })
}

/// The files and devices that a phase uses, and how.
fn used(plan: &Plan, phase: usize) -> BTreeMap<u32, Use> {
    let mut used: BTreeMap<u32, Use> = BTreeMap::new();
    for job in plan.phases[phase].jobs.iter().filter(|job| job.is_blocks()) {
        let writes = job.pattern.kinds().any(|kind| kind != OpKind::Read);
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            let target = &plan.targets[site.target as usize];
            if !matches!(target.kind, TargetKind::File | TargetKind::BlockDevice) {
                continue;
            }
            // What is read beyond the end of its file is laid out first.
            let short = || {
                let end = job.layout_end(site, target);
                target.kind == TargetKind::File
                    && std::fs::metadata(&target.path).map_or(0, |meta| meta.len()) < end
            };
            let done = match writes {
                true => Use::Writes,
                false if short() => Use::LaysOut,
                false => Use::Reads,
            };
            used.entry(site.target).and_modify(|known| *known = done.max(*known)).or_insert(done);
        }
    }
    used
}
