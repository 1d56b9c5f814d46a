//! One simulated target and its jobs as a plan: what tests and measurements of the simulator share.

use assay_workload::Plan;
use assay_workload::job::{EngineKind, Job, Limits, Phase, Workload};
use assay_workload::pattern::AccessPattern;
use assay_workload::resolve::{self, Inventory, ResolveError, TargetFacts};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Bytes;

/// The target's name.
pub const NAME: &str = "lun";

/// A job of the simulator on the target.
pub fn job(name: &str, pattern: AccessPattern, outstanding_per_thread: u32, limits: Limits) -> Job {
    Job::new(name, &[NAME], pattern).with(|job| {
        job.outstanding_per_thread = outstanding_per_thread;
        job.engine = EngineKind::Sim;
        job.limits = limits;
    })
}

/// Phases on a target of `size_bytes`; `seed` fixes what the generators draw.
///
/// # Errors
/// [`ResolveError`] if the phases make no sense.
pub fn plan(seed: u64, size_bytes: u64, phases: Vec<Phase>) -> Result<Plan, ResolveError> {
    let kind = TargetKind::Null;
    let path = "/sim/lun".to_owned();
    let target =
        Target { name: NAME.to_owned(), path: path.clone(), kind: Some(kind), size: Some(Bytes(size_bytes)) };
    let workload = Workload {
        name: "simulated".to_owned(),
        seed: Some(seed),
        hosts: Vec::new(),
        targets: vec![target],
        phases,
    };
    let facts = TargetFacts {
        path,
        kind,
        existing_bytes: size_bytes,
        direct_align_bytes: Some(512),
        engine_choice: None,
    };
    let inventory = Inventory {
        targets: [(NAME.to_owned(), facts)].into(),
        engines: vec![EngineKind::Sim],
        engine_override: None,
        ..Inventory::default()
    };
    resolve::plan(&workload, &inventory, seed)
}
