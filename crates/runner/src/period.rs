//! How often a phase reports.

use std::time::Duration;

use assay_workload::Plan;
use assay_workload::units::Nanos;

/// Phases shorter than this report more often.
const SHORT: Nanos = Nanos(4_000_000_000);
/// What a phase without a time limit is taken to need.
const UNKNOWN: Nanos = Nanos::from_secs(10);

/// The reporting period of a phase: short windows get short ones, so that there is a series at all.
pub fn period(plan: &Plan, phase: usize) -> Duration {
    let expected = plan.phases[phase].expected_time().unwrap_or(UNKNOWN);
    if expected < SHORT { Duration::from_millis(200) } else { Duration::from_secs(1) }
}
