//! A curve that ends when its points become too slow.

use assay_results::LatencyHistogram;
use assay_workload::Plan;
use assay_workload::steps::{LatencyLimit, Step};
use assay_workload::units::Nanos;

use crate::following::{After, Note};
use crate::seen::PhaseFigures;

/// What follows a point of a curve.
pub(crate) fn after(
    plan: &Plan,
    phase: usize,
    step: &Step,
    limit: LatencyLimit,
    seen: &PhaseFigures,
) -> After {
    let mut together = LatencyHistogram::new();
    seen.jobs(phase).iter().for_each(|job| together.merge(&job.latency));
    let left = step.next_phase().saturating_sub(phase + 1);
    if together.is_empty() || together.mean_ns() <= limit.limit_ns as f64 || left == 0 {
        return After::next(phase);
    }
    let text = format!(
        "{}: a mean response time of {}, above {}; {left} more points of the curve are left out",
        plan.phases[phase].name,
        Nanos(together.mean_ns() as u64),
        Nanos(limit.limit_ns)
    );
    let note = Some(Note { id: "curve-stopped", text });
    After { next: step.next_phase(), resolved: Vec::new(), note }
}
