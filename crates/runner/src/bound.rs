//! A plan and its repair over the share of processing that is bound to the address.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_results::audit::{BoundPoint, Load, Observations};
use assay_sim::phase::SimOptions;
use assay_sim::{Model, PlanSimulation};
use assay_workload::Plan;

use crate::error::RunError;
use crate::period::period;

/// Shares of the time on cores that is bound to the address, for which the case is worked out: it does not publish its own.
const SHARES: [f64; 7] = [0.05, 0.1, 0.2, 0.33, 0.5, 0.7, 0.9];

/// Both plans simulated at each share, by so many threads. Empty: the array has no stages both bound and not, between which
/// time could be shifted.
///
/// # Errors
/// A simulation that cannot be set up, or fails.
pub fn bound_points(
    before: &Plan,
    after: &Plan,
    model: &Model,
    threads: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<BoundPoint>, RunError> {
    let models: Vec<(f64, Model)> =
        SHARES.iter().filter_map(|share| Some((*share, model.with_bound_share(*share)?))).collect();
    let next = AtomicUsize::new(0);
    let point = |(share, model): &(f64, Model)| -> Result<BoundPoint, RunError> {
        let load = |plan: &Plan| loads(plan, model, stop).map(|observed| Load::of(&observed));
        Ok(BoundPoint { bound_share: *share, before: load(before)?, after: load(after)? })
    };
    let work = || {
        let mut mine = Vec::new();
        while let index = next.fetch_add(1, Ordering::Relaxed)
            && let Some(model) = models.get(index)
        {
            mine.push((index, point(model)));
        }
        mine
    };
    let mut points: Vec<(usize, Result<BoundPoint, RunError>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.clamp(1, models.len().max(1))).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    points.sort_by_key(|point| point.0);
    points.into_iter().map(|point| point.1).collect()
}

/// What the array does in each phase; nothing is kept.
fn loads(plan: &Plan, model: &Model, stop: &Arc<AtomicBool>) -> Result<Vec<Observations>, RunError> {
    let mut simulation = PlanSimulation::new(model, plan, plan.seed)?;
    let mut observed = Vec::with_capacity(plan.phases.len());
    for phase in 0..plan.phases.len() {
        let options = SimOptions {
            interval_ns: period(plan, phase).as_nanos() as u64,
            stop: Arc::clone(stop),
            ..SimOptions::default()
        };
        if let Some(why) = simulation.run_phase(plan, phase, &options, &mut |_| {})? {
            return Err(RunError::Simulated { phase, why });
        }
        observed.push(simulation.observe());
    }
    Ok(observed)
}
