//! One run from its plan to its stored result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_conduct::{Executor, conduct};
use assay_engine::Journal;
use assay_engine::last_words::LastWords;
use assay_results::build::RunBuilder;
use assay_results::environment::Environment;
use assay_results::store::{RunDir, RunRecorder};
use assay_results::{HostEvent, Run, RunEnd, RunEvent, checks};
use assay_workload::Plan;
use assay_workload::plan::{Carrier, PlannedEngine, PlannedPhase};

use crate::error::RunError;
use crate::request::{Observer, Site};
use crate::seed::random_u64;
use crate::self_cost;

/// A finished run and where it is kept.
#[derive(Debug)]
pub struct Finished {
    /// The result, judged.
    pub run: Run,
    /// Where it is kept.
    pub directory: PathBuf,
    /// How it ended.
    pub end: RunEnd,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// Whether hosts were lost, so that the result is of fewer than planned.
    pub lost: bool,
    /// What could not be kept of it, each a sentence.
    pub warnings: Vec<String>,
    /// Why the result is not in the directory; `None`: it is.
    pub store_error: Option<String>,
}

/// Carries `plan` out through any executor, journals it, builds, judges and stores the result. `notes` are kept with it.
///
/// # Errors
/// [`RunError`] if the run could not be begun; one that failed later is a [`Finished`] that says so.
pub fn record(
    plan: Arc<Plan>,
    environment: Environment,
    notes: Vec<(String, String)>,
    executor: &mut dyn Executor,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Finished, RunError> {
    let place = Place::new(&plan, site)?;
    record_at(place, plan, environment, notes, executor, site, observer)
}

/// As [`record`], at a place that was made before.
///
/// # Errors
/// Those of [`record`].
pub fn record_at(
    place: Place,
    plan: Arc<Plan>,
    environment: Environment,
    notes: Vec<(String, String)>,
    executor: &mut dyn Executor,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Finished, RunError> {
    record_in(place, Recorded { plan, environment, notes, journal: None }, executor, site, observer)
}

/// Where a run is going to be recorded.
#[derive(Debug)]
pub struct Place {
    id: String,
    started: String,
    directory: RunDir,
}

impl Place {
    /// Makes the directory of a run of `plan`.
    ///
    /// # Errors
    /// [`RunError`] if there is no place for runs, or it cannot be written to.
    pub fn new(plan: &Plan, site: &Site) -> Result<Place, RunError> {
        let id = format!("{:08x}", random_u64()? as u32);
        let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let store = site.store.as_ref().ok_or(RunError::NoStore)?;
        let directory = RunDir::create(store, &started, &plan.name, &id)?;
        Ok(Place { id, started, directory })
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The id of the run.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The name of the directory.
    pub fn name(&self) -> &str {
        self.directory.name()
    }

    /// Nothing was begun: the directory goes again, if nothing is in it.
    pub fn give_up(self) {
        // What is in it is worth more than that it goes.
        let _ = std::fs::remove_dir(self.path());
    }
}

/// What a run is of.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) plan: Arc<Plan>,
    pub(crate) environment: Environment,
    /// Kept with it.
    pub(crate) notes: Vec<(String, String)>,
    /// Closed when the last phase has ended, before the result is stored.
    pub(crate) journal: Option<Arc<Journal>>,
}

/// As [`record`], in a directory that is there.
pub(crate) fn record_in(
    Place { id, started, directory }: Place,
    Recorded { plan, environment, notes, journal }: Recorded,
    executor: &mut dyn Executor,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Finished, RunError> {
    let started = RunEvent::RunStarted {
        id: id.clone(),
        started,
        plan: Box::new(Plan::clone(&plan)),
        environment: Box::new(environment),
        version: site.version.version.clone(),
        commit: site.version.commit.clone(),
    };
    let mut recorder = RunRecorder::new(directory)?;
    recorder.record(&started);
    let mut recorder = recorder.begun()?;
    let _words = LastWords::prepare(format!(
        "\nassay: ended by a second signal; what was measured so far is kept in {}; 'assay runs recover {id}{}' makes a result of it\n",
        recorder.dir().path().display(),
        site.store_words
    ));
    let mut builder = RunBuilder::new();
    builder.feed(&started);
    observer.event(&started);
    let mut lost = false;
    let mut sink = |event: RunEvent| {
        lost |= matches!(event, RunEvent::Host { event: HostEvent::Lost { .. }, .. });
        recorder.record(&event);
        builder.feed(&event);
        observer.event(&event);
    };
    for (id, text) in notes {
        sink(HostEvent::Note { phase: None, id, text }.into());
    }
    let (end, error) = conduct(&plan, executor, &mut sink);
    if let Some(journal) = journal {
        journal.close();
    }
    let mut run = builder.finish()?;
    // Another tool's cost is not ours, and that of a simulation is not this machine's.
    if plan.phases.iter().any(is_on_storage_by_assay) && end == RunEnd::Completed {
        run.assay.overhead_ns_per_io = self_cost::overhead_ns_per_io(&plan);
    }
    checks::judge(&mut run);
    let directory = recorder.dir().path().to_owned();
    // What was measured is shown, whether or not there is room to keep it.
    let (warnings, store_error) = match recorder.finish(&run) {
        Ok(warnings) => (warnings, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    Ok(Finished { run, directory, end, error, lost, warnings, store_error })
}

/// Whether Assay's own engines do I/O on storage in a phase.
fn is_on_storage_by_assay(phase: &PlannedPhase) -> bool {
    phase.carried_by == Carrier::Native && phase.jobs.iter().any(|job| job.engine != PlannedEngine::Null)
}
