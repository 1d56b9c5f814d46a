//! After a crash: reading what a run had written, and proving by its journal that what was acknowledged is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_engine::{CrashedRun, JournaledTarget, Validation, available};
use assay_results::RunEvent;
use assay_results::store::{JournalContent, RunDir, RunLock};
use assay_workload::job::{EngineKind, Job, Phase};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::Target;
use assay_workload::units::Bytes;
use assay_workload::{PhaseKind, Plan, Workload};

use crate::carry_out::carry_out;
use crate::data_journal;
use crate::error::RunError;
use crate::recording::Finished;
use crate::request::{Observer, Request, Site, Watch, Work};

mod journals;
use journals::{Journals, OneJournal};

/// Key blocks one behind the other are read together up to this.
const READ_BYTES: u64 = 256 << 10;
const OUTSTANDING: u32 = 16;

/// A run that crashed.
#[derive(Debug)]
pub struct Crashed<'a> {
    /// Its directory.
    pub run: &'a RunDir,
    /// Its journal of validated writes; `None`: where its plan says, and those of its workers that are there.
    pub journal: Option<&'a Path>,
    /// Where targets are by now, by name, that are not where they were: on another machine, or under another path.
    pub at: &'a [(String, PathBuf)],
}

/// What is known of a run that crashed.
#[derive(Debug)]
pub struct Proof {
    /// The run that read the targets.
    pub finished: Finished,
    /// Workers whose targets are on other machines, so that nothing is known of them.
    pub elsewhere: Vec<String>,
}

impl Proof {
    /// Whether every block that the run wrote could be read and is as it must be.
    ///
    /// # Errors
    /// What is not proved, in a sentence.
    pub fn is_whole(&self) -> Result<(), String> {
        self.finished.data_is_proved()?;
        match &self.elsewhere[..] {
            [] => Ok(()),
            hosts => Err(format!(
                "not proved here: what {} wrote; where their targets are, 'assay runs verify' proves it",
                hosts.join(", ")
            )),
        }
    }
}

/// Reads every block that a run wrote, and proves that the last acknowledged write of each, or a later one, is there. What was
/// written is known by its journals. The result is a run of its own; nothing is written to the targets.
///
/// # Errors
/// [`RunError`] if there is no journal, if it cannot be read, or if a target is gone.
pub fn recover_data(
    crashed: &Crashed<'_>,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Proof, RunError> {
    Recovery::of(crashed)?.carry_out(site, observer)
}

/// What is going to be proved of a run that crashed: its journals were read.
#[derive(Debug)]
pub struct Recovery {
    /// One that goes on has not crashed.
    _locked: RunLock,
    workload: Workload,
    reads: Vec<CrashedRun>,
    notes: Vec<(String, String)>,
    elsewhere: Vec<String>,
    journals: Vec<PathBuf>,
}

impl Recovery {
    /// Reads the journals of a run.
    ///
    /// # Errors
    /// [`RunError`] if there is none, if one cannot be read, or if a target is gone.
    pub fn of(crashed: &Crashed<'_>) -> Result<Recovery, RunError> {
        let locked = crashed.run.lock()?;
        let Beginning { id, plan } = Beginning::of(crashed.run)?;
        let Journals { journals, elsewhere } = Journals::of(crashed, &id, &plan)?;
        let Some(first) = journals.first().map(|journal| journal.path.clone()) else {
            if !elsewhere.is_empty() {
                let run = crashed.run.name().to_owned();
                return Err(RunError::JournalsElsewhere { hosts: elsewhere, run });
            }
            let run = crashed.run.path().to_owned();
            let journal = data_journal::path_of(&plan, Path::new("."), &run, None);
            return Err(RunError::NoJournal { run, journal });
        };
        let (mut workload, mut reads, mut notes) = (empty(&plan), Vec::new(), Vec::new());
        let (is_one, mut paths) = (journals.len() == 1, Vec::new());
        for OneJournal { path, worker, read } in journals {
            notes.push(("recovered".to_owned(), describe(crashed.run, &path, &read)));
            let suffix = if is_one || worker.is_empty() { String::new() } else { format!("@{worker}") };
            let used = add_targets(&mut workload, &read, &suffix)?;
            reads.push(read.only(&used));
            paths.push(path);
        }
        if workload.targets.is_empty() {
            return Err(RunError::NothingWritten { journal: first });
        }
        Ok(Recovery { _locked: locked, workload, reads, notes, elsewhere, journals: paths })
    }

    /// The files that it reads: journals, and targets where they are by now.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let targets = self.workload.targets.iter().map(|target| Path::new(&target.path));
        self.journals.iter().map(PathBuf::as_path).chain(targets)
    }

    /// Reads the targets.
    ///
    /// # Errors
    /// [`RunError`]
    pub fn carry_out(self, site: &Site, observer: &mut dyn Observer) -> Result<Proof, RunError> {
        let request = Request {
            watch: Watch::Counters,
            notes: self.notes,
            validation: Some(Arc::new(Validation::after_crash(self.reads)?)),
            ..Request::new(Work::Asked(self.workload), Path::new("/"))
        };
        let done = carry_out(request, site, observer)?.ok_or(RunError::Interrupted)?;
        Ok(Proof { finished: done.finished, elsewhere: self.elsewhere })
    }
}

impl Finished {
    /// Whether every block of a run that crashed could be read and is as it must be.
    ///
    /// # Errors
    /// How many are not, in a sentence.
    pub fn data_is_proved(&self) -> Result<(), String> {
        let jobs = || self.run.phases.iter().flat_map(|phase| &phase.jobs);
        let wrong: u64 = jobs().filter_map(|job| job.data.as_ref()).map(|data| data.wrong).sum();
        let checked: u64 =
            jobs().filter_map(|job| job.data.as_ref()?.crash.as_ref()).map(|crash| crash.acknowledged).sum();
        // A block that does not hold what was written is counted among the errors, too, and so is the end of a file.
        let counted = |kind: &str| matches!(kind, "verify" | "end of file");
        let kinds = jobs().flat_map(|job| &job.errors_by_kind).filter(|entry| !counted(&entry.0));
        let unread: u64 = kinds.map(|entry| entry.1).sum();
        match (wrong, unread) {
            (0, 0) => Ok(()),
            (0, unread) => Err(format!("reads that failed: {unread}; what they were to prove is not proved")),
            (wrong, unread) => {
                let and = if unread == 0 { String::new() } else { format!("; reads that failed: {unread}") };
                Err(format!("blocks lost or wrong: {wrong} of {checked} with an acknowledged write{and}"))
            }
        }
    }
}

/// What a run begins with, of which more may not be there.
struct Beginning {
    id: String,
    plan: Plan,
}

impl Beginning {
    fn of(crashed: &RunDir) -> Result<Beginning, RunError> {
        let events = JournalContent::read(crashed.path())?.events;
        let beginning = events.into_iter().find_map(|event| match event {
            RunEvent::RunStarted { id, plan, .. } => Some(Beginning { id, plan: *plan }),
            _ => None,
        });
        beginning.ok_or_else(|| RunError::Io {
            path: crashed.path().to_owned(),
            source: std::io::Error::other("the beginning of the run was not stored, its plan among it"),
        })
    }
}

fn describe(crashed: &RunDir, journal: &Path, read: &CrashedRun) -> String {
    let torn = match read.torn_bytes {
        0 => String::new(),
        bytes => format!("; its last {bytes} bytes were being written at the crash and are left out"),
    };
    format!(
        "data of run {} (number {:016x}) by the {} records of {}{torn}",
        crashed.id(),
        read.run,
        read.records,
        journal.display()
    )
}

/// What reads nothing yet.
fn empty(plan: &Plan) -> Workload {
    let phase = Phase { kind: PhaseKind::Verify, ..Phase::measure("recover", Vec::new()) };
    let name = format!("{}-verified", plan.name);
    Workload { name, seed: Some(plan.seed), hosts: Vec::new(), targets: Vec::new(), phases: vec![phase] }
}

/// Adds what reads the targets of a journal, each named with `suffix`; which of them it reads.
fn add_targets(workload: &mut Workload, read: &CrashedRun, suffix: &str) -> Result<Vec<usize>, RunError> {
    let mut used = Vec::new();
    let engines = available::available();
    let engine = if engines.contains(&EngineKind::Libaio) { EngineKind::Libaio } else { EngineKind::Psync };
    for (index, target) in
        read.targets.iter().enumerate().filter(|(index, _)| read.written_blocks(*index) > 0)
    {
        let Some(bytes) = bytes_of(target, read.acknowledged_blocks(index))? else { continue };
        let block = (READ_BYTES / target.key_block_bytes).max(1) * target.key_block_bytes;
        // All that is read comes from the journal; of the range only that it is there counts.
        let block = block.min(bytes / target.key_block_bytes * target.key_block_bytes);
        let pattern = AccessPattern {
            align_bytes: Some(target.key_block_bytes),
            ..AccessPattern::new(Mix::READ, block, Placement::sequential())
        };
        let name = format!("{}{suffix}", target.name);
        workload.phases[0].jobs.push(Job { engine, ..Job::new(&name, &[&name], pattern) }.with(|job| {
            job.traits.content.verify = true;
            job.traits.errors_tolerated = u64::MAX;
            job.traits.outstanding_per_thread = if engine == EngineKind::Psync { 1 } else { OUTSTANDING };
        }));
        workload.targets.push(Target { name, path: target.path.clone(), kind: None, size: None });
        used.push(index);
    }
    Ok(used)
}

/// Why it is not known how many bytes a target has.
fn not_readable(path: &Path) -> RunError {
    use std::os::unix::fs::FileTypeExt as _;
    let path = path.to_owned();
    let is_target = |meta: &std::fs::Metadata| meta.is_file() || meta.file_type().is_block_device();
    let open = || std::fs::File::open(&path).map(drop);
    let refused = std::fs::metadata(&path).and_then(|meta| if is_target(&meta) { open() } else { Ok(()) });
    match refused {
        Err(source) => RunError::Io { path, source },
        Ok(()) => RunError::NotATarget { path },
    }
}

/// Bytes of a target; `None`: it is not there, and need not be.
fn bytes_of(target: &JournaledTarget, acknowledged: u64) -> Result<Option<u64>, RunError> {
    let path = Path::new(&target.path);
    // What cannot be looked at is not lost.
    let bytes = crate::inventory::bytes_of(path).ok_or_else(|| not_readable(path))?;
    match acknowledged {
        _ if bytes >= target.key_block_bytes => Ok(Some(bytes)),
        0 => Ok(None),
        blocks => {
            let what = match path.exists() {
                true => format!("has {}", Bytes(bytes)),
                false => "is not there".to_owned(),
            };
            Err(RunError::TargetLost { path: path.to_owned(), what, blocks })
        }
    }
}
