//! What a worker keeps of a run itself: the journal of its validated writes. The values it measures go to where the run is recorded.

use std::path::Path;
use std::sync::Arc;

use assay_conduct::workplace::OfRun;
use assay_engine::{Journal, JournalOf};
use assay_results::environment::Environment;
use assay_results::store::{self, RunDir, RunRecorder};
use assay_results::{HostEvent, RunEvent};
use assay_workload::Plan;

use crate::data_journal;
use crate::error::RunError;
use crate::request::Site;

/// What is told of where a worker keeps its journal.
const NOTE: &str = "journal-kept";

/// A journal that a worker keeps.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) run: u64,
    pub(crate) journal: Arc<Journal>,
    directory: RunDir,
    /// The run here, where the directory is not that of the machine that records it: `assay runs verify` finds the plan in it, and
    /// it is locked while the run goes on.
    own: Option<RunRecorder>,
}

impl Kept {
    /// Begins the journal of the part `plan` of a run; `None`: it wants none. `directory` is where relative paths of the plan begin.
    ///
    /// # Errors
    /// [`RunError`] if there is no place for it.
    pub(crate) fn begin(
        (plan, of): (&Plan, &OfRun),
        directory: &Path,
        environment: &Environment,
        site: &Site,
    ) -> Result<Option<Kept>, RunError> {
        if plan.journaled().is_empty() {
            return Ok(None);
        }
        let root = site.store.as_ref().ok_or(RunError::NoStore)?;
        let (place, is_own) = RunDir::part(root, &of.name)?;
        let path = data_journal::path_of(plan, directory, place.path(), (!is_own).then_some(of.host));
        let whose = JournalOf { run: place.id().to_owned(), host: Some(of.host.0) };
        let begun = data_journal::create(plan, &whose, path).and_then(|journal| {
            let own = is_own.then(|| RunRecorder::new(place.clone())).transpose()?;
            Ok(journal.map(|(run, journal)| Kept { run, journal, directory: place.clone(), own }))
        });
        if begun.is_err() && is_own {
            drop(store::rm(root, place.name(), &|_, _| false));
        }
        let mut kept = begun?;
        if let Some(Kept { own: Some(recorder), directory, .. }) = &mut kept {
            recorder.record(&RunEvent::RunStarted {
                id: directory.id().to_owned(),
                started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                plan: Box::new(plan.clone()),
                environment: Box::new(environment.clone()),
                version: site.version.version.clone(),
                commit: site.version.commit.clone(),
            });
            let text = "a worker's part of a run that is recorded elsewhere: its journal of validated writes is here, what it measured \
                        is there";
            recorder
                .record(&HostEvent::Note { phase: None, id: NOTE.to_owned(), text: text.to_owned() }.into());
        }
        Ok(kept)
    }

    /// What the run is told of it; `None`: it is where the run is.
    pub(crate) fn note(&self) -> Option<(String, String)> {
        self.own.as_ref()?;
        let text = format!(
            "the journal of its validated writes is there, in {}: 'assay runs verify {}' proves them there",
            self.journal.path().display(),
            self.directory.name()
        );
        Some((NOTE.to_owned(), text))
    }

    /// Ends it. `came_to_nothing`: nothing was written, and it is not wanted.
    pub(crate) fn end(self, came_to_nothing: bool) {
        self.journal.close();
        if !came_to_nothing {
            return;
        }
        // What cannot be removed is in nobody's way, and is a run like others.
        let _ = std::fs::remove_file(self.journal.path());
        if self.own.is_some() {
            drop(self.own);
            if let Some(root) = self.directory.path().parent() {
                let _ = store::rm(root, self.directory.name(), &|_, _| false);
            }
        }
    }
}
