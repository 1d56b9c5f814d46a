//! How often a phase reports.

use std::time::Duration;

use assay_workload::Plan;
use assay_workload::units::Nanos;

/// Phases shorter than this report five times a second.
const SHORT: Nanos = Nanos(6_000_000_000);
/// Phases shorter than this report twice a second.
const MIDDLE: Nanos = Nanos(15_000_000_000);
/// What a phase without a time limit is taken to need.
const UNKNOWN: Nanos = Nanos::from_secs(10);

/// The reporting period of a phase: windows of every length from 3 s on have so many that it can be checked whether they
/// were steady, which takes ten whole ones.
pub fn period(plan: &Plan, phase: usize) -> Duration {
    let expected = plan.phases[phase].expected_time().unwrap_or(UNKNOWN);
    match expected {
        short if short < SHORT => Duration::from_millis(200),
        middle if middle < MIDDLE => Duration::from_millis(500),
        _ => Duration::from_secs(1),
    }
}
