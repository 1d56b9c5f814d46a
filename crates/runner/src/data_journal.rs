//! The journal of validated writes: where a run keeps it, and whether that is a good place.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_engine::{Journal, JournalOf, JournaledTarget};
use assay_host::environment;
use assay_results::HostId;
use assay_results::environment::TargetEnvironment;
use assay_results::store::{DATA_JOURNAL_FILE, HeldDirectory, data_journal_of};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::target::TargetKind;

use crate::error::RunError;
use crate::native::run_number;
use crate::request::{Request, Site};

/// What is told of the place of the journal.
const NOTE: &str = "validation-journal";

/// The journal of the run in `run`: in its directory, or by the run's name in the one that the plan names. `worker`: that of one of
/// several workers of the run.
pub(crate) fn path_of(plan: &Plan, directory: &Path, run: &Path, worker: Option<HostId>) -> PathBuf {
    let own = worker.map_or_else(|| DATA_JOURNAL_FILE.to_owned(), data_journal_of);
    match (plan.journal_directory(), run.file_name()) {
        (Some(named), Some(name)) => {
            let mut file = name.to_os_string();
            file.push(".");
            file.push(own);
            directory.join(named).join(file)
        }
        _ => run.join(own),
    }
}

/// What is to be said of the place where the journal of a plan is going to be: that it is on a tested device, if it is.
///
/// # Errors
/// [`RunError::Io`] naming a directory that is not there.
pub(crate) fn check(plan: &Plan, request: &Request, site: &Site) -> Result<Vec<(String, String)>, RunError> {
    let journaled = plan.journaled();
    if journaled.is_empty() {
        return Ok(Vec::new());
    }
    let store = site.store.as_ref().ok_or(RunError::NoStore)?;
    let place = match plan.journal_directory() {
        Some(named) => request.directory.join(named),
        None => store.clone(),
    };
    if plan.journal_directory().is_some() && !place.is_dir() {
        let source =
            std::io::Error::other("it is not a directory; the validation journal is to be kept in it");
        return Err(RunError::Io { path: place, source });
    }
    // The directory of runs is made by the first of them.
    let existing = place.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("/"));
    let below_journal = environment::target(&site.host, existing);
    let mut shared = Vec::new();
    for number in journaled.keys() {
        let path = &plan.targets[*number as usize].path;
        let anchor = Path::new(path).ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
        shared.extend(shared_device(&environment::target(&site.host, anchor), &below_journal));
    }
    shared.sort();
    shared.dedup();
    if shared.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!(
        "the validation journal in {} is on a tested device ({}): a device that loses acknowledged writes may lose the journal's \
         too, and its writes are part of the load",
        place.display(),
        shared.join(", ")
    );
    Ok(vec![(NOTE.to_owned(), text)])
}

/// A device that both stand on; of file systems without one, their kind.
fn shared_device(target: &TargetEnvironment, journal: &TargetEnvironment) -> Option<String> {
    let names = |of: &TargetEnvironment| -> Vec<String> {
        of.devices.iter().map(|device| device.name.clone()).collect()
    };
    let below = names(journal);
    names(target).into_iter().find(|name| below.contains(name))
}

/// Makes the journal of a plan that wants one at `path`, which says that it is that of `of`, and makes the names of what it writes to
/// durable: what a crash takes away would be called lost.
///
/// # Errors
/// [`RunError::Io`]
pub(crate) fn create(
    plan: &Plan,
    of: &JournalOf,
    path: PathBuf,
) -> Result<Option<(u64, Arc<Journal>)>, RunError> {
    let targets: Vec<JournaledTarget> = plan
        .journaled()
        .into_iter()
        .map(|(number, verified)| {
            let target = &plan.targets[number as usize];
            JournaledTarget {
                number,
                name: target.name.clone(),
                path: target.path.clone(),
                key_block_bytes: verified.key_block_bytes,
                end_bytes: verified.end_bytes,
                buffered: is_buffered(plan, &target.path),
            }
        })
        .collect();
    if targets.is_empty() {
        return Ok(None);
    }
    for target in targets.iter().filter(|target| is_file(plan, target)) {
        let failed = |source| RunError::Io { path: PathBuf::from(&target.path), source };
        HeldDirectory::open_above(target.path.as_ref())
            .and_then(|above| above.sync_names())
            .map_err(failed)?;
    }
    let run = run_number();
    let journal = Journal::create(&path, run, of, targets).map_err(|source| RunError::Io { path, source })?;
    Ok(Some((run, Arc::new(journal))))
}

fn is_file(plan: &Plan, target: &JournaledTarget) -> bool {
    plan.targets[target.number as usize].kind == TargetKind::File
}

/// Whether some job writes to a path through the page cache.
fn is_buffered(plan: &Plan, path: &str) -> bool {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let mut writing = jobs.filter(|job| !job.direct && job.pattern.mix.share(OpKind::Write) > 0.0);
    writing.any(|job| {
        let mut sites = job.slices.iter().flat_map(|slice| &slice.sites);
        sites.any(|site| plan.targets[site.target as usize].path == path)
    })
}
