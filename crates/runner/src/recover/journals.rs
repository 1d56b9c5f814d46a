//! The journals of a run: where they are, and whether they are its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_engine::{CrashedRun, Journal};
use assay_results::store::RunDir;
use assay_results::{HostId, Run, RunEnd};
use assay_workload::Plan;
use assay_workload::units::Bytes;

use super::Crashed;
use crate::data_journal;
use crate::error::RunError;

/// The journal of a run, or of one of its workers.
pub(super) struct OneJournal {
    pub(super) path: PathBuf,
    /// Which worker; empty: the one whose run it is.
    pub(super) worker: String,
    pub(super) read: CrashedRun,
}

/// The journals of a run.
pub(super) struct Journals {
    pub(super) journals: Vec<OneJournal>,
    /// Workers of which nothing is here.
    pub(super) elsewhere: Vec<String>,
}

/// Where a journal was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Where the user says.
    Named,
    /// Where that of the whole run is kept.
    Own,
    /// Where that of a worker is kept.
    Worker(HostId),
}

impl Journals {
    /// Those of the run with `id`.
    pub(super) fn of(crashed: &Crashed<'_>, id: &str, plan: &Plan) -> Result<Journals, RunError> {
        let plain = data_journal::path_of(plan, Path::new("."), crashed.run.path(), None);
        let (paths, workers) = match crashed.journal {
            Some(named) if named.exists() => (vec![(Found::Named, named.to_owned())], Vec::new()),
            Some(named) => {
                let (run, journal) = (crashed.run.path().to_owned(), named.to_owned());
                return Err(RunError::NoJournal { run, journal });
            }
            None => {
                let workers = of_workers(&plain);
                let own = Some((Found::Own, plain)).filter(|(_, path)| path.exists());
                let of_workers = workers.iter().map(|(worker, path)| (Found::Worker(*worker), path.clone()));
                (own.into_iter().chain(of_workers).collect(), workers)
            }
        };
        let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut found = Journals { journals: Vec::new(), elsewhere: Vec::new() };
        let ended = Ended::of(crashed.run);
        let (mut known, mut read_before) = (BTreeSet::new(), BTreeMap::new());
        for (place, path) in paths {
            let mut read = CrashedRun::read(&path)?;
            let is_own = is_own(&read, place, &path, crashed, (id, plan));
            let is_new = match read_before.insert(read.run, path.clone()) {
                Some(before) => Err(format!("it is a copy of {}", before.display())),
                None => Ok(()),
            };
            is_new.and(is_own).map_err(|why| {
                let (journal, run) = (path.clone(), id.to_owned());
                RunError::OtherJournal { journal, run, why }
            })?;
            ended.wants_whole(&read, &path)?;
            known.extend(read.targets.iter().map(|target| target.name.clone()));
            let moved = find_again(&mut read, crashed.at);
            let worker = match place {
                Found::Worker(worker) => name_of(worker, plan),
                Found::Named | Found::Own => String::new(),
            };
            // A path that another machine wrote to leads to something else here.
            let is_foreign = read.node.as_ref().is_some_and(|node| *node != here);
            if is_foreign && !moved && !plan.hosts.is_empty() && crashed.journal.is_none() {
                found.elsewhere.push(worker);
            } else {
                found.journals.push(OneJournal { path, worker, read });
            }
        }
        let is_any = !found.journals.is_empty() || !found.elsewhere.is_empty();
        if is_any && let Some((name, _)) = crashed.at.iter().find(|(name, _)| !known.contains(name)) {
            let known = known.into_iter().collect();
            return Err(RunError::NoSuchTarget { name: name.clone(), known });
        }
        if crashed.journal.is_none() {
            let all = (0..plan.hosts.len() as u16).map(HostId);
            let without = all.filter(|worker| workers.iter().all(|(there, _)| there != worker));
            let wants = without.filter(|worker| !plan.for_host(*worker).journaled().is_empty());
            found.elsewhere.extend(wants.map(|worker| name_of(worker, plan)));
        }
        Ok(found)
    }
}

/// How a run ended, where its result says so.
struct Ended(Option<Run>);

impl Ended {
    fn of(run: &RunDir) -> Ended {
        // What a killed run was made into by `runs recover` knows of no end; what failed may have failed for its journal.
        let ended = |run: &Run| match run.end {
            Some(RunEnd::Completed | RunEnd::Interrupted) => true,
            Some(RunEnd::Failed) => !run.error.as_ref().is_some_and(|error| error.contains(Journal::NAME)),
            None => false,
        };
        Ended(run.read_run().ok().filter(ended))
    }

    /// Whether a journal is as whole as it was when the run ended.
    fn wants_whole(&self, read: &CrashedRun, path: &Path) -> Result<(), RunError> {
        let (Some(run), Some(of)) = (&self.0, &read.of) else { return Ok(()) };
        let lost = run.hosts.iter().filter(|host| host.lost.is_some());
        let is_lost = lost.into_iter().any(|host| Some(host.id.0) == of.host);
        if read.closed || is_lost {
            return Ok(());
        }
        let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len()).saturating_sub(read.torn_bytes);
        let (journal, read_bytes) = (path.to_owned(), Bytes(bytes));
        Err(RunError::JournalCut { journal, read: read_bytes, records: read.records })
    }
}

/// The name of a worker; its number, where the plan names none.
fn name_of(worker: HostId, plan: &Plan) -> String {
    let host = plan.hosts.get(usize::from(worker.0));
    host.map_or_else(|| worker.0.to_string(), |host| host.name.clone())
}

/// Puts the paths that targets have by now into what was read; whether all of them are said.
fn find_again(read: &mut CrashedRun, at: &[(String, PathBuf)]) -> bool {
    let mut moved = true;
    for target in &mut read.targets {
        let now = at.iter().rev().find(|(name, _)| *name == target.name);
        moved &= now.is_some();
        if let Some((_, now)) = now {
            target.path = now.to_string_lossy().into_owned();
        }
    }
    moved
}

/// Whether a journal is that of the run with `id`, and of the worker whose name it has.
///
/// # Errors
/// Whose it is instead.
fn is_own(
    read: &CrashedRun,
    place: Found,
    path: &Path,
    crashed: &Crashed<'_>,
    (id, plan): (&str, &Plan),
) -> Result<(), String> {
    let whose = |host: Option<u16>| host.map_or("no worker".to_owned(), |host| name_of(HostId(host), plan));
    match (&read.of, place) {
        (Some(of), _) if of.run != id => Err(format!("it is that of the run {}", of.run)),
        (Some(of), Found::Worker(worker)) if of.host != Some(worker.0) => {
            Err(format!("it is that of {}, and has the name of that of {}", whose(of.host), name_of(worker, plan)))
        }
        (None, Found::Named) if !is_in(path, crashed.run.path()) => Err(
            "an earlier version of Assay made it, and it does not say of which run it is; it is read only from the run's own directory"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Whether a file is in a directory.
fn is_in(file: &Path, directory: &Path) -> bool {
    let above = file.canonicalize().ok().and_then(|file| Some(file.parent()?.to_owned()));
    above.is_some() && above == directory.canonicalize().ok()
}

/// The journals of workers beside the one that the whole run would have, in the order of their numbers.
fn of_workers(plain: &Path) -> Vec<(HostId, PathBuf)> {
    let directory = plain.parent().unwrap_or(Path::new("."));
    let Some(name) = plain.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let number = |path: &Path| {
        let number = path.file_name()?.to_str()?.strip_prefix(name)?.strip_prefix('.')?;
        number.parse().ok().map(HostId)
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<_> = paths.filter_map(|path| Some((number(&path)?, path))).collect();
    found.sort();
    found
}
