//! What the generator itself costs here, on an engine that does nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_engine::Blocks;
use assay_engine::driver::{PhaseOptions, run_phase};
use assay_results::{HostEvent, JobOutcome};
use assay_workload::job::{EngineKind, Limits, Phase};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::units::Nanos;
use assay_workload::{Plan, lun};
use serde::Serialize;

use crate::error::RunError;

/// One measurement: 4 KiB random reads by one thread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Outstanding I/Os.
    pub outstanding_io: u32,
    /// Operations that were measured.
    pub ios: u64,
    /// Operations per second.
    pub iops: f64,
    /// Nanoseconds per operation, by the clock.
    pub wall_ns_per_io: f64,
    /// The thread's user time per operation, nanoseconds.
    pub user_ns_per_io: f64,
    /// The thread's system time per operation, nanoseconds.
    pub system_ns_per_io: f64,
}

/// How long a run's own quotation is measured: a hundred thousand operations.
const QUOTED: Nanos = Nanos(10_000_000);

/// What the generator costs here and now per I/O at the plan's largest number of outstanding I/Os a thread, nanoseconds:
/// every run quotes it. `None` if it could not be measured.
pub(crate) fn overhead_ns_per_io(plan: &Plan) -> Option<f64> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let depth = jobs.map(|job| job.outstanding_per_thread).max()?;
    measure(depth.clamp(1, 256), QUOTED).ok().map(|cost| cost.wall_ns_per_io)
}

/// Measures with `depth` I/Os outstanding for `time`.
///
/// # Errors
/// [`RunError::Engine`] if the engine could not be set up.
pub fn measure(depth: u32, time: Nanos) -> Result<Cost, RunError> {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let limits = Limits { time: Some(time), ..Limits::default() };
    let job = lun::job("self", pattern, depth, limits).with(|job| job.engine = EngineKind::Null);
    let plan = lun::plan(1, 16 << 30, vec![Phase::measure("self", vec![job])])?;
    let options = PhaseOptions {
        interval: Duration::from_secs(1),
        stop: Arc::new(AtomicBool::new(false)),
        kinds: &[&Blocks::default()],
        start: None,
        given_up: &|_| {},
    };
    let (mut ios, mut outcome) = (0, JobOutcome::default());
    let mut sink = |event: HostEvent| match event {
        HostEvent::Interval(interval) => ios += interval.counts.data_ios(),
        HostEvent::JobFinished { outcome: finished, .. } => outcome = *finished,
        _ => {}
    };
    run_phase(&plan, 0, &options, &mut sink, &mut |_| {})?;
    let per_io = |ns: u64| ns as f64 / (ios as f64).max(1.0);
    Ok(Cost {
        outstanding_io: depth,
        ios,
        iops: ios as f64 * 1e9 / (outcome.measured_ns as f64).max(1.0),
        wall_ns_per_io: per_io(outcome.measured_ns),
        user_ns_per_io: per_io(outcome.cpu_user_ns),
        system_ns_per_io: per_io(outcome.cpu_system_ns),
    })
}
