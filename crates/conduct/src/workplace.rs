//! A machine as a conductor elsewhere sees it: it looks at targets, takes its part of a plan, and carries out its phases when told.
//! What a conductor sends is checked here as if a user of the machine had asked for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_results::HostId;
use assay_results::environment::{AssayVersion, Environment};
use assay_workload::Plan;
use assay_workload::job::EngineKind;
use assay_workload::resolve::Inventory;
use assay_workload::target::Target;
use serde::{Deserialize, Serialize};

use crate::conductor::Executor;

/// What is observed beside the jobs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// Device and CPU counters, and for half a second before and after, what other processes do with the devices.
    #[default]
    All,
    /// The counters only: the run begins at once, and less is known of others on the devices.
    Counters,
    /// Nothing: to measure what observing costs.
    Nothing,
}

/// A target to be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sought {
    /// As it was asked for, with its path on that machine.
    pub target: Target,
    /// Whether some job on it leaves the choice of the engine open, so that a trial is needed.
    pub leaves_engine_open: bool,
}

/// What is to be known before a plan is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Targets with relative paths are in it; empty: the directory the worker was started in.
    pub directory: PathBuf,
    /// The targets.
    pub targets: Vec<Sought>,
    /// The engine of all jobs, where one is asked for.
    pub engine: Option<EngineKind>,
}

/// A part of a plan, with what may be done for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What that machine does, as a plan of its own.
    pub plan: Plan,
    /// Targets that may be overwritten although Assay did not make them.
    pub consent: Vec<PathBuf>,
    /// Whether that is so for what devices among them carry, recognised or not.
    pub really: bool,
    /// What is observed beside the jobs.
    pub watch: Watch,
    /// The run that it is a part of.
    pub run: OfRun,
}

/// A run that a machine has a part in: what it keeps of it, it keeps under this name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfRun {
    /// The name of its directory where it is recorded.
    pub name: String,
    /// Which of its hosts the machine is.
    pub host: HostId,
}

/// Why a machine does not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// A sentence.
    pub message: String,
    /// Whether another request would do.
    pub is_request: bool,
}

/// Says when a phase starts, in nanoseconds of [`Workplace::clock`]: called once all of its threads are ready. It waits until the
/// moment is known or the flag is set; `None`: the phase is called off.
pub type Start = Arc<dyn Fn(&AtomicBool) -> Option<u64> + Send + Sync>;

/// Reads a monotonic clock, in nanoseconds.
pub type MonotonicClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// What a machine has set up for its part.
pub struct Prepared {
    /// What it is.
    pub environment: Environment,
    /// Carries out the phases.
    pub executor: Box<dyn Executor>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("environment", &self.environment).finish_non_exhaustive()
    }
}

/// A machine that carries out parts of plans.
pub trait Workplace {
    /// Its name.
    fn node(&self) -> String;

    /// Which Assay it is.
    fn version(&self) -> AssayVersion;

    /// The clock of its jobs.
    fn clock(&self) -> MonotonicClock;

    /// Set to end everything.
    fn stop(&self) -> Arc<AtomicBool>;

    /// Looks at targets. Nothing is made or written.
    ///
    /// # Errors
    /// The target that cannot be used.
    fn look(&mut self, look: &Look) -> Result<Inventory, Refused>;

    /// Checks that the part may be carried out here, and makes what it needs.
    ///
    /// # Errors
    /// Why it may or can not.
    fn prepare(&mut self, part: Part, start: Start) -> Result<Prepared, Refused>;

    /// Ends what was prepared. `came_to_nothing`: nothing was measured anywhere, and what was made for it is removed.
    fn end(&mut self, came_to_nothing: bool);
}
