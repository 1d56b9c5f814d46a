//! What carries runs out for the page, and what it has to know: implemented by the program, which alone joins this crate to
//! a runner.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_report::quick::Reference;
use assay_results::{Run, RunEvent};
use assay_workload::Plan;

/// Where things are.
#[derive(Debug, Clone)]
pub struct Places {
    /// The directory of stored runs.
    pub runs: PathBuf,
    /// The file of the index; `None`: it is kept in memory, and made anew at each start.
    pub index: Option<PathBuf>,
    /// The directory of saved baselines; `None`: only the built-in ones are shown.
    pub baselines: Option<PathBuf>,
}

/// A series that can be started.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesOffer {
    /// Its id.
    pub id: String,
    /// What it is, in a line.
    pub summary: String,
    /// Its tests.
    pub tests: Vec<String>,
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// A quick series.
    Quick {
        /// The directory to measure in.
        directory: String,
        /// The id of the series.
        series: String,
        /// Only this test.
        test: Option<String>,
    },
    /// The plan of a stored run, once more.
    Plan(WantedPlan),
}

/// The plan of a stored run.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedPlan {
    /// The id of the run.
    pub run: String,
    /// Its plan.
    pub plan: Box<Plan>,
}

/// What a run would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What would be run, in a line.
    pub title: String,
    /// What would be written, in a sentence; `None`: nothing.
    pub writes: Option<String>,
    /// Where.
    pub targets: Vec<ProposedTarget>,
    /// How long it would take, seconds; `None`: not known.
    pub expected_s: Option<f64>,
    /// The plan in words.
    pub plan: String,
}

/// A target of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct ProposedTarget {
    /// Its path.
    pub path: String,
    /// What would be done to it, in words.
    pub what: String,
    /// Why its path has to be typed before it is overwritten; `None`: it need not be.
    pub overwrites: Option<String>,
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The id of its run.
    pub run: String,
    /// Whether that run was stored before, and is left as it is.
    pub known: bool,
}

/// Why nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StationError {
    /// What was asked for cannot be done.
    #[error("{0}")]
    Refused(String),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
    /// It was stopped before there was anything to keep.
    #[error("stopped before anything was measured")]
    Stopped,
}

/// What is told while something runs.
#[derive(Debug)]
pub enum Told<'a> {
    /// How far it is with what comes before the run.
    Stage(String),
    /// An event of the run, and what comes before its first phase, seconds.
    Event(&'a RunEvent, f64),
}

/// Carries runs out on this machine.
pub trait Station: Send + Sync {
    /// The series that can be started.
    fn series(&self) -> Vec<SeriesOffer>;

    /// What a run would do. Nothing is made or written.
    ///
    /// # Errors
    /// Why it cannot be run.
    fn propose(&self, wanted: &Wanted) -> Result<Proposal, StationError>;

    /// Runs it, and keeps the result. `overwritten` are the paths that the user has typed of targets that may be overwritten. Answers
    /// the run's id.
    ///
    /// # Errors
    /// Why there is no result.
    fn run(
        &self,
        wanted: &Wanted,
        overwritten: &[String],
        told: &mut dyn FnMut(Told<'_>),
        stop: Arc<AtomicBool>,
    ) -> Result<String, StationError>;

    /// What the table of a run is compared with.
    fn references(&self, run: &Run) -> Vec<Reference>;

    /// Stores an exported run, or a result of another tool, as a run.
    ///
    /// # Errors
    /// What is wrong with the content; nothing is stored then.
    fn import(&self, content: &[u8]) -> Result<Imported, StationError>;

    /// The exported form of a stored run, and whether host names are replaced.
    ///
    /// # Errors
    /// When it cannot be read, or is too large.
    fn bundle(&self, id: &str, without_host: bool) -> Result<Vec<u8>, StationError>;
}
