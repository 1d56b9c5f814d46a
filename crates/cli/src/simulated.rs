//! Runs on an array model: the same job loop, journal, result and checks as a real run, in virtual time.

use assay_runner::{Simulated, Site};
use assay_sim::Model;
use assay_workload::Plan;

use crate::context::Context;
use crate::failure::Failure;
use crate::live::Live;

/// Simulates a plan, shows where it stands, and keeps the result as a run.
pub(crate) fn simulate(
    plan: &Plan,
    model: &Model,
    notes: Vec<(String, String)>,
    site: &Site,
    context: &Context,
) -> Result<Simulated, Failure> {
    context.runs_root()?;
    let simulated = assay_runner::simulate(plan, model, notes, site, &mut Live::new(context))?;
    for warning in &simulated.finished.warnings {
        context.say(&format!("warning: {warning}"));
    }
    Ok(simulated)
}
