//! One target that is nowhere and its jobs as a plan: what measures the simulator and the generator itself.

use crate::job::{EngineKind, Job, Limits, Phase, Workload};
use crate::pattern::AccessPattern;
use crate::plan::Plan;
use crate::resolve::{self, Inventory, ResolveError, TargetFacts};
use crate::target::{Target, TargetKind};
use crate::units::Bytes;

/// The target's name.
pub const NAME: &str = "lun";

/// A job on the target, of the simulator's engine.
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
        direct_refused: None,
    };
    let inventory = Inventory {
        targets: [(NAME.to_owned(), facts)].into(),
        engines: vec![EngineKind::Sim, EngineKind::Null],
        ..Inventory::default()
    };
    resolve::plan(&workload, &inventory, seed)
}
