//! Rates that depend on what an earlier phase reached.

use assay_workload::plan::{Offered, Pace, PlannedJob, PlannedPhase, SliceRate};
use assay_workload::{Plan, SweepPoint};

use crate::seen::PhaseFigures;

/// The phase with its rates as numbers; `None`: it has none that depend on anything.
///
/// # Errors
/// A sentence, where there is nothing that they could be a share of.
pub(crate) fn resolved(
    plan: &Plan,
    phase: usize,
    seen: &PhaseFigures,
) -> Result<Option<PlannedPhase>, String> {
    let planned = &plan.phases[phase];
    let share = |job: &PlannedJob| match job.pace {
        Pace::OfMax { percent, .. } => Some(percent / 100.0),
        Pace::Closed | Pace::Open { .. } => None,
    };
    if planned.jobs.iter().all(|job| share(job).is_none()) {
        return Ok(None);
    }
    let reference = reference(plan, phase, seen).ok_or_else(|| {
        format!(
            "'{}' asks for a rate in per cent of the maximum, but no phase before it ran without a rate",
            planned.name
        )
    })?;
    let mut planned = planned.clone();
    let reached = seen.jobs(reference);
    for (index, job) in planned.jobs.iter_mut().enumerate() {
        let Some(share) = share(job) else { continue };
        let of = reached.get(index).map_or(0.0, |figures| figures.iops);
        if of <= 0.0 {
            return Err(format!(
                "'{}' asks for a share of what '{}' reached, which is nothing",
                planned.name, plan.phases[reference].name
            ));
        }
        set_rate(job, of * share);
    }
    Ok(Some(planned))
}

/// Sets the rate of a planned job, all threads together.
pub(crate) fn set_rate(job: &mut PlannedJob, iops: f64) {
    job.pace = Pace::Open { offered: Offered::Iops(iops), arrival: job.pace.arrival() };
    let threads = job.slices.len().max(1) as f64;
    job.slices.iter_mut().for_each(|slice| slice.rate = Some(SliceRate::Iops(iops / threads)));
}

/// The finished phase without rates that a share is of: the last one of the same name and point but for the curve's own word,
/// else the last of the same name, else the last with as many jobs.
pub(crate) fn reference(plan: &Plan, phase: usize, seen: &PhaseFigures) -> Option<usize> {
    let mine = &plan.phases[phase];
    let unlimited = |at: &usize| {
        let other = &plan.phases[*at];
        other.jobs.len() == mine.jobs.len()
            && seen.jobs(*at).len() == mine.jobs.len()
            && other.kind == assay_workload::PhaseKind::Measure
            && other.jobs.iter().all(|job| job.pace == Pace::Closed)
    };
    let candidates: Vec<usize> = (0..phase).rev().filter(unlimited).collect();
    let like =
        |same: &dyn Fn(&PlannedPhase) -> bool| candidates.iter().copied().find(|at| same(&plan.phases[*at]));
    like(&|other| other.name == mine.name && apart(&other.point) == apart(&mine.point))
        .or_else(|| like(&|other| other.name == mine.name))
        .or_else(|| candidates.first().copied())
}

/// The words of a point without those that say which rate it is.
fn apart(point: &SweepPoint) -> Vec<&str> {
    let own = |word: &&str| !word.starts_with("curve=") && !word.starts_with("find=");
    point.words().filter(own).collect()
}
