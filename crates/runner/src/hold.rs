//! What a phase uses, held open while it runs.
//!
//! A permit is for a file or device, not for a name. It is given when the run begins, and hours may pass until a phase
//! begins: so each phase opens what was permitted, compares, and everything that is read or written goes through what is open then.
//! Reading, too: real fio lays out what it finds too short.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use assay_engine::LaidOut;
use assay_engine::file_calls::{NamedPlace, NamedPlaces};
use assay_engine::targets::Held;
use assay_host::HostRoot;
use assay_host::guard::{Permit, PermitKind, Refusal, open_again};
use assay_host::workdir::{Ownership, Writing, ownership};
use assay_workload::Plan;
use assay_workload::target::TargetKind;
use rustix::fs::OFlags;

use crate::consent::not_in_a_loop;
use crate::limits::as_many_files_as_allowed;

/// What a plan may read and write, by index of its targets.
pub type Permits = BTreeMap<u32, Permit>;

/// What a phase holds. Files of ours are marked as being written until this is dropped, then with what was left in them.
#[derive(Debug, Default)]
pub struct Holding {
    /// What is open.
    pub held: Held,
    /// What is open only until it is laid out, as it is used by its name then.
    pub named: Arc<Mutex<Held>>,
    /// Where the names are that jobs use.
    pub places: NamedPlaces,
    /// By target, see [`ends_bytes`].
    ends_bytes: BTreeMap<u32, u64>,
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

    /// Marks a file of ours as being written, by a phase that writes nothing behind its end there.
    fn mark(&mut self, permit: &Permit, file: &Arc<File>, done: Use, target: u32) -> Result<(), String> {
        let named = permit.kind() == PermitKind::NamedFile;
        if !named && permit.kind() != PermitKind::OwnFile {
            return Ok(());
        }
        let path = permit.path();
        let end_bytes = self.ends_bytes.get(&target).copied().unwrap_or(u64::MAX);
        let known = |writing: &Writing| writing.is_of(file);
        if let Some(writing) = self.writing.iter_mut().find(|writing| known(writing)) {
            writing.up_to(end_bytes);
            return Ok(());
        }
        let mut laying_out = self.laying_out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = laying_out.iter().position(known) {
            laying_out[at].up_to(end_bytes);
            // Another name of it is written to.
            if done == Use::Writes {
                self.writing.push(laying_out.swap_remove(at));
            }
            return Ok(());
        }
        let begun = Writing::begin(Arc::clone(file), path, named)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        match begun {
            Some(mut writing) => {
                writing.up_to(end_bytes);
                if done == Use::LaysOut { &mut *laying_out } else { &mut self.writing }.push(writing);
            }
            // Where marks cannot be had, what was made by this run is known by its identity.
            None if named || is_unmarked(file, path) => {}
            None => return Err(Refusal::ChangedFile { path: path.to_owned() }.to_string()),
        }
        Ok(())
    }
}

/// Where a phase writes to each of its targets at most, and what is laid out of them.
fn ends_bytes(plan: &Plan, phase: usize) -> BTreeMap<u32, u64> {
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for job in &plan.phases[phase].jobs {
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            let target = &plan.targets[site.target as usize];
            let end = job.layout_end(site, target).max(site.offset_bytes.saturating_add(site.length_bytes));
            let known = ends.entry(site.target).or_insert(target.size_bytes);
            *known = end.max(*known);
        }
    }
    ends
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
    holding.ends_bytes = ends_bytes(plan, phase);
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
                .mark(permit, &file, done, index)
                .map_err(|refused| cut_short(plan, phase, index, &file).unwrap_or(refused))?;
        }
        holding.held.insert(index, file);
    }
    hold_names(plan, phase, (permits, host), &mut holding)?;
    Ok(holding)
}

/// Opens the directories of what jobs use by its name, and what is laid out for them before.
fn hold_names(
    plan: &Plan,
    phase: usize,
    (permits, host): (&Permits, &HostRoot),
    holding: &mut Holding,
) -> Result<(), String> {
    let mut directories: BTreeMap<(u64, u64), Arc<File>> = BTreeMap::new();
    for index in used_by_name(plan, phase) {
        let target = &plan.targets[index as usize];
        let permit = permits.get(&index);
        // A name of a device is not Assay's to make or remove, whatever may be done to the device.
        if let Some(PermitKind::NamedDevice | PermitKind::Discard) = permit.map(Permit::kind) {
            return Err(format!(
                "{} is a device: names of files are made, looked at and removed",
                target.path
            ));
        }
        let open = match permit {
            Some(permit) if permit.kind() == PermitKind::NewFile => permit.open_directory(host),
            _ => Ok(open_above(&target.path).map_err(|error| format!("{}: {error}", target.path))?),
        };
        let directory = open.map_err(|refusal| refusal.to_string())?;
        let meta = directory.metadata().map_err(|error| format!("{}: {error}", target.path))?;
        let shared = directories.entry((meta.dev(), meta.ino())).or_insert_with(|| Arc::new(directory));
        let path = permit.map_or(Path::new(&target.path), Permit::path);
        let place = NamedPlace::new(Arc::clone(shared), path);
        let place = place.map_err(|error| format!("{}: {error}", target.path))?;
        holding.places.insert(index, Arc::new(place));
        let Some(permit) = permit.filter(|permit| permit.kind() != PermitKind::NewFile) else { continue };
        // Only what was permitted is used, whatever has the name by now. It is closed again unless it is laid out: what is open is
        // not gone when it is removed.
        let file = Arc::new(open_again(host, permit).map_err(|refusal| refusal.to_string())?);
        let short = file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() < target.size_bytes);
        if short && permit.kind() != PermitKind::Reading {
            not_in_a_loop(host, permit).map_err(|refusal| refusal.to_string())?;
            holding.mark(permit, &file, Use::LaysOut, index)?;
            let mut named = holding.named.lock().unwrap_or_else(PoisonError::into_inner);
            named.insert(index, file);
        }
    }
    Ok(())
}

fn open_above(path: &str) -> std::io::Result<File> {
    let above = Path::new(path).parent().unwrap_or(Path::new("/"));
    File::options().read(true).custom_flags(OFlags::DIRECTORY.bits() as i32).open(above)
}

/// The targets that a phase uses by their names alone.
fn used_by_name(plan: &Plan, phase: usize) -> BTreeSet<u32> {
    let jobs = plan.phases[phase].jobs.iter().filter(|job| job.by_name().is_some());
    jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites).map(|site| site.target).collect()
}

impl Drop for Holding {
    fn drop(&mut self) {
        // What was made is known as Assay's by the next run.
        self.places.values().for_each(|place| place.claim_made());
    }
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
    let opening = |job: &&assay_workload::PlannedJob| job.is_blocks() && job.by_name().is_none();
    for job in plan.phases[phase].jobs.iter().filter(opening) {
        let writes = job.may_write();
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
