//! What a phase writes to, held open while it runs.
//!
//! A permit is for a file or device, not for a name. It is given when the run begins, and hours may pass until a phase
//! begins: so each phase opens what was permitted, compares, and everything that is written goes through what is open then.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use assay_engine::targets::Held;
use assay_host::HostRoot;
use assay_host::guard::{Permit, PermitKind, Refusal, open_again};
use assay_host::workdir::{Ownership, Writing, ownership};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;

use crate::consent::not_in_a_loop;

/// What a plan may write to, by index of its targets.
pub type Permits = BTreeMap<u32, Permit>;

/// What a phase holds. Files of ours are marked as being written until this is dropped, then with what was left in them.
#[derive(Debug, Default)]
pub struct Holding {
    /// What is open.
    pub held: Held,
    writing: Vec<Writing>,
}

impl Holding {
    fn mark(&mut self, permit: &Permit, file: &Arc<File>) -> Result<(), String> {
        let named = permit.kind() == PermitKind::NamedFile;
        if !named && permit.kind() != PermitKind::OwnFile {
            return Ok(());
        }
        let path = permit.path();
        let known = |writing: &Writing| writing.is_of(file);
        if self.writing.iter().any(known) {
            return Ok(());
        }
        match Writing::begin(Arc::clone(file), path, named)
            .map_err(|error| format!("{}: {error}", path.display()))?
        {
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

/// Opens the files and devices that a phase writes to, those that are laid out for it included. Devices are ours alone until
/// they are dropped.
///
/// # Errors
/// Why one may not be written any more, in a sentence.
pub fn hold(plan: &Plan, phase: usize, permits: &Permits, host: &HostRoot) -> Result<Holding, String> {
    let mut holding = Holding::default();
    for index in written(plan, phase) {
        let target = &plan.targets[index as usize];
        let permit = permits.get(&index).ok_or_else(|| {
            let path = &target.path;
            format!(
                "{path} is shorter than it was when the run began; start again when nothing else touches it"
            )
        })?;
        not_in_a_loop(host, permit).map_err(|refusal| refusal.to_string())?;
        let file = Arc::new(open_again(host, permit).map_err(|refusal| refusal.to_string())?);
        holding.mark(permit, &file)?;
        holding.held.insert(index, file);
    }
    Ok(holding)
}

fn written(plan: &Plan, phase: usize) -> BTreeSet<u32> {
    let mut written = BTreeSet::new();
    for job in plan.phases[phase].jobs.iter().filter(|job| job.is_blocks()) {
        let writes = job.pattern.kinds().any(|kind| kind != OpKind::Read);
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            let target = &plan.targets[site.target as usize];
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
