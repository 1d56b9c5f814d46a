//! After a crash: reading what a run had written, and proving by its journal that what was acknowledged is there.

use std::path::Path;
use std::sync::Arc;

use assay_engine::{CrashedRun, JournaledTarget, Validation, available};
use assay_results::RunEvent;
use assay_results::store::{JournalContent, RunDir};
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

/// Key blocks one behind the other are read together up to this.
const READ_BYTES: u64 = 256 << 10;
const OUTSTANDING: u32 = 16;

/// Reads every block that the run in `crashed` wrote, and proves that the last acknowledged write of each, or a later one, is there.
/// What was written is known by its journal, which is where the plan says, or at `journal`. The result is a run of its own; nothing
/// is written to the targets.
///
/// # Errors
/// [`RunError`] if there is no journal, if it cannot be read, or if a target is gone.
pub fn recover_data(
    crashed: &RunDir,
    journal: Option<&Path>,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Finished, RunError> {
    // One that goes on has not crashed.
    let _locked = crashed.lock()?;
    let plan = plan_of(crashed)?;
    let path = match journal {
        Some(named) => named.to_owned(),
        None => data_journal::path_of(&plan, Path::new("."), crashed.path()),
    };
    if !path.exists() {
        return Err(RunError::NoJournal { run: crashed.path().to_owned(), journal: path });
    }
    let read = CrashedRun::read(&path)?;
    if (0..read.targets.len()).all(|target| read.written_blocks(target) == 0) {
        return Err(RunError::NothingWritten { journal: path });
    }
    let (workload, used) = workload(&plan, &read)?;
    if used.is_empty() {
        return Err(RunError::NothingWritten { journal: path });
    }
    let notes = vec![("recovered".to_owned(), describe(crashed, &path, &read))];
    let read = read.only(&used);
    let request = Request {
        watch: Watch::Counters,
        notes,
        validation: Some(Arc::new(Validation::after_crash(read)?)),
        ..Request::new(Work::Asked(workload), Path::new("/"))
    };
    let done = carry_out(request, site, observer)?.ok_or(RunError::Interrupted)?;
    Ok(done.finished)
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

/// The plan of a run, of which only the beginning may be there.
fn plan_of(crashed: &RunDir) -> Result<Plan, RunError> {
    let events = JournalContent::read(crashed.path())?.events;
    let plan = events.into_iter().find_map(|event| match event {
        RunEvent::RunStarted { plan, .. } => Some(*plan),
        _ => None,
    });
    plan.ok_or_else(|| RunError::Io {
        path: crashed.path().to_owned(),
        source: std::io::Error::other("the beginning of the run was not stored, its plan among it"),
    })
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

/// What reads the targets, and which of them it reads.
fn workload(plan: &Plan, read: &CrashedRun) -> Result<(Workload, Vec<usize>), RunError> {
    let (mut targets, mut jobs, mut used) = (Vec::new(), Vec::new(), Vec::new());
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
        jobs.push(Job { engine, ..Job::new(&target.name, &[&target.name], pattern) }.with(|job| {
            job.traits.content.verify = true;
            job.traits.errors_tolerated = u64::MAX;
            job.traits.outstanding_per_thread = if engine == EngineKind::Psync { 1 } else { OUTSTANDING };
        }));
        let kind = plan.targets.get(target.number as usize).map(|planned| planned.kind);
        targets.push(Target { name: target.name.clone(), path: target.path.clone(), kind, size: None });
        used.push(index);
    }
    let phase = Phase { kind: PhaseKind::Verify, ..Phase::measure("recover", jobs) };
    let name = format!("{}-verified", plan.name);
    Ok((Workload { name, seed: Some(plan.seed), hosts: Vec::new(), targets, phases: vec![phase] }, used))
}

/// Bytes of a target; `None`: it is not there, and need not be.
fn bytes_of(target: &JournaledTarget, acknowledged: u64) -> Result<Option<u64>, RunError> {
    let path = Path::new(&target.path);
    let bytes = crate::inventory::bytes_of(path).unwrap_or(0);
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
