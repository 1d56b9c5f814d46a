//! What is wanted, where it happens, and who watches.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use assay_conduct::workplace::Watch;
use assay_engine::fio_bridge::Fio;
use assay_engine::tracing::Tracing;
use assay_engine::{JobKind, ThisMachine, Validation};
use assay_formats::foreign_command::ForeignCommand;
use assay_host::HostRoot;
use assay_host::claim::Claims;
use assay_host::guard::Consent;
use assay_results::RunEvent;
use assay_results::environment::AssayVersion;
use assay_results::probe::Probe;
use assay_sim::SimMachine;
use assay_workload::job::EngineKind;
use assay_workload::plan::Carrier;
use assay_workload::resolve::Inventory;
use assay_workload::{Plan, Workload};

/// What is to be done: asked for, to be planned here, or planned already.
#[derive(Debug, Clone)]
pub enum Work {
    /// To be planned on this machine's targets.
    Asked(Workload),
    /// To be planned on targets that other machines have looked at.
    LookedAt(Workload, Inventory),
    /// Planned already; seeds, sizes and engines are the plan's.
    Planned(Plan),
}

/// A run that is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is to be done.
    pub work: Work,
    /// Targets with relative paths are in it.
    pub directory: PathBuf,
    /// What carries it out, where the workload does not ask for fio itself. The array model is no carrier of a request: it does
    /// no I/O, and [`crate::simulate`] runs plans on it.
    pub carrier: Carrier,
    /// The fio of this machine, for phases that are carried out by it.
    pub fio: Option<Fio>,
    /// The engine of all jobs; `None`: as the workload says.
    pub engine: Option<EngineKind>,
    /// The seed; `None`: the workload's, else one is drawn.
    pub seed: Option<u64>,
    /// Targets that may be overwritten although Assay did not make them.
    pub consent: Vec<PathBuf>,
    /// Whether that is so for what devices among them carry, recognised or not.
    pub really: bool,
    /// What is observed beside the jobs.
    pub watch: Watch,
    /// Probes of caches that the result is judged with.
    pub probes: Vec<Probe>,
    /// Which I/Os are written down; `None`: no trace.
    pub trace: Option<Tracing>,
    /// Whether it is an error that fio loses something of the plan, instead of a note.
    pub strict: bool,
    /// Notes that are kept with the run: an identifier and a sentence each.
    pub notes: Vec<(String, String)>,
    /// What the run has claimed already; the targets are claimed beside it.
    pub claims: Claims,
    /// What is known of the targets' data already; `None`: nothing.
    pub validation: Option<Arc<Validation>>,
    /// Missing directories above files are made, as fio makes them, but for these; `None`: none is made.
    pub directories: Option<Vec<PathBuf>>,
    /// Commands of the file that the user allows.
    pub commands: Vec<ForeignCommand>,
}

impl Request {
    /// A run by Assay's own engines, everything else as usual.
    pub fn new(work: Work, directory: &Path) -> Self {
        Request {
            work,
            directory: directory.to_owned(),
            carrier: Carrier::default(),
            fio: None,
            engine: None,
            seed: None,
            consent: Vec::new(),
            really: false,
            watch: Watch::default(),
            probes: Vec::new(),
            trace: None,
            strict: false,
            notes: Vec::new(),
            claims: Claims::default(),
            validation: None,
            directories: None,
            commands: Vec::new(),
        }
    }

    /// What may be destroyed.
    pub fn consent(&self, host: &HostRoot) -> Consent {
        Consent::naming(host, &self.consent).really(self.really)
    }
}

/// Kinds of jobs beside those on blocks and trees, which every request has. The first that takes a job has it, before those.
#[derive(Debug, Clone, Default)]
pub struct Kinds {
    /// On this machine.
    pub native: Vec<Arc<dyn JobKind<ThisMachine> + Send>>,
    /// In virtual time.
    pub simulated: Vec<Arc<dyn JobKind<SimMachine> + Send>>,
}

impl Kinds {
    /// Those on this machine.
    pub(crate) fn native(&self) -> impl Iterator<Item = &dyn JobKind<ThisMachine>> + Clone {
        self.native.iter().map(|kind| -> &dyn JobKind<ThisMachine> { kind.as_ref() })
    }

    /// Those in virtual time.
    pub(crate) fn simulated(&self) -> impl Iterator<Item = &dyn JobKind<SimMachine>> + Clone {
        self.simulated.iter().map(|kind| -> &dyn JobKind<SimMachine> { kind.as_ref() })
    }
}

/// Where a request is carried out.
#[derive(Debug, Clone)]
pub struct Site {
    /// The machine.
    pub host: HostRoot,
    /// Where runs are stored; `None`: the request cannot be recorded.
    pub store: Option<PathBuf>,
    /// What a command that is proposed has to add to find a run there, a blank in front; empty: nothing.
    pub store_words: String,
    /// Where is remembered which engine suits a storage; `None`: each plan finds out anew.
    pub engine_choices: Option<PathBuf>,
    /// Which Assay this is.
    pub version: AssayVersion,
    /// What can run as a job beside blocks and trees: this crate knows no kinds of applications.
    pub kinds: Kinds,
    /// Set to end the run early. Each request has its own, so that one can be stopped beside others.
    pub stop: Arc<AtomicBool>,
}

impl Site {
    /// Whether the run is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Who watches a run.
pub trait Observer {
    /// An event of the run, as it is recorded.
    fn event(&mut self, event: &RunEvent);

    /// The plan is about to be carried out, and nothing has been written yet; `false` ends it here.
    fn before_writing(&mut self, _plan: &Plan) -> bool {
        true
    }
}

/// Nobody watches.
impl Observer for () {
    fn event(&mut self, _: &RunEvent) {}
}
