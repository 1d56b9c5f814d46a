//! [`RunRecorder`]: the events of a run onto disk, as they come.

use std::fs::File;

use super::directory::RunDir;
use super::journal::{FIRST_LINE, line_of};
use super::tape::Tape;
use super::{JOURNAL_FILE, PLAN_FILE, SERIES_FILE, StoreError};
use crate::event::{HostEvent, RunEvent};
use crate::run::Run;
use crate::series::SeriesEncoder;

/// Stores the events of one run. A full disk loses records, never the measurement: [`RunRecorder::problems`] says which.
#[derive(Debug)]
pub struct RunRecorder {
    dir: RunDir,
    journal: Tape<File>,
    series: Tape<File>,
    encoder: SeriesEncoder,
    plan_problem: Option<String>,
}

impl RunRecorder {
    /// Begins journal and series in a new run directory.
    ///
    /// # Errors
    /// When the files cannot be made, or are there already.
    pub fn new(dir: RunDir) -> Result<Self, StoreError> {
        let tape = |name: &str| {
            let path = dir.path().join(name);
            Tape::create(&path).map_err(StoreError::io("create", &path))
        };
        let mut journal = tape(JOURNAL_FILE)?;
        journal.lock();
        let mut series = tape(SERIES_FILE)?;
        journal.append(FIRST_LINE.as_bytes());
        series.append(&SeriesEncoder::header());
        Ok(RunRecorder { dir, journal, series, encoder: SeriesEncoder::new(), plan_problem: None })
    }

    /// Where it goes.
    pub fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// Stores one event: an interval into the series, everything else as a line of the journal. Each is with the system
    /// (not on the medium) when this returns, so that a kill loses nothing. A power cut may lose what came behind the plan until
    /// [`RunRecorder::finish`] has returned.
    pub fn record(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Host { host, event: HostEvent::Interval(interval) } => {
                let frames = self.encoder.encode(*host, interval);
                self.series.append(&frames);
            }
            RunEvent::Host { event: HostEvent::Hung { .. }, .. } => {}
            RunEvent::RunStarted { plan, .. } => {
                self.journal.append(&line_of(event));
                // Before anything is measured; later it would disturb what is.
                self.journal.sync();
                self.series.sync();
                let stored = self.dir.write_json(PLAN_FILE, plan.as_ref());
                self.plan_problem = stored.err().map(|error| error.to_string());
            }
            _ => self.journal.append(&line_of(event)),
        }
    }

    /// Whether the beginning of the run is stored, without which the rest of it is lost. To be asked before anything is measured.
    ///
    /// # Errors
    /// [`StoreError::NotBegun`]; what was made of the run is gone again.
    pub fn begun(self) -> Result<Self, StoreError> {
        let Some(reason) = self.journal.problem(JOURNAL_FILE, "line") else { return Ok(self) };
        let path = self.dir.path().to_owned();
        for name in [SERIES_FILE, PLAN_FILE, JOURNAL_FILE] {
            let _ = std::fs::remove_file(path.join(name));
        }
        let _ = std::fs::remove_dir(&path);
        Err(StoreError::NotBegun { path, reason })
    }

    /// What could not be stored, in sentences; empty: everything was.
    pub fn problems(&self) -> Vec<String> {
        let journal = self.journal.problem(JOURNAL_FILE, "line");
        let series = self.series.problem(SERIES_FILE, "interval");
        self.plan_problem.iter().cloned().chain(journal).chain(series).collect()
    }

    /// Ends journal and series, and stores `run` as `run.json`. Answers what could not be stored on the way.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn finish(mut self, run: &Run) -> Result<Vec<String>, StoreError> {
        let sums = self.encoder.finish();
        self.series.append(&sums);
        self.series.finish();
        self.journal.finish();
        let problems = self.problems();
        self.dir.write_run(run)?;
        Ok(problems)
    }
}
