//! What follows a finished phase.

use assay_workload::Plan;
use assay_workload::plan::PlannedPhase;
use assay_workload::steps::Until;

use crate::following::After;
use crate::seen::PhaseFigures;
use crate::{curve, rates, search, steady, tiles};

/// What follows `phase`, which is done.
pub(crate) fn after(plan: &Plan, phase: usize, seen: &PhaseFigures) -> After {
    match plan.phases[phase].step {
        None => After::next(phase),
        Some(step) => match &step.until {
            Until::Steady(rule) => steady::after(plan, phase, &step, rule, seen),
            Until::Rate(find) => search::after(plan, phase, &step, find, seen),
            Until::Below(limit) => curve::after(plan, phase, &step, *limit, seen),
            Until::Held => tiles::after(phase, &step, seen),
        },
    }
}

/// The phase as it will run, where that depends on those before it.
///
/// # Errors
/// A sentence, where what it depends on is not there.
pub(crate) fn resolved(
    plan: &Plan,
    phase: usize,
    seen: &PhaseFigures,
) -> Result<Option<PlannedPhase>, String> {
    match plan.phases[phase].step.as_ref().map(|step| (step, &step.until)) {
        Some((step, Until::Rate(find))) => Ok(search::resolved(plan, phase, step, find, seen)),
        _ => rates::resolved(plan, phase, seen),
    }
}

/// Whether later steps look at the latencies of this phase.
pub(crate) fn keeps_latency(plan: &Plan, phase: usize) -> bool {
    plan.phases[phase].step.is_some_and(|step| matches!(step.until, Until::Rate(_) | Until::Below(_)))
}
