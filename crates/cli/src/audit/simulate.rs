//! `--simulate`: what the imbalance costs, before and after the repair.

use std::path::Path;

use assay_results::audit::{BoundPoint, SimulatedAudit};
use assay_runner::{Simulated, Site, bound_points};

use super::Subject;
use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::shown;
use crate::simulated::simulate;

/// A workload and its repair, simulated.
pub(super) struct Simulation {
    before: Simulated,
    after: Option<Simulated>,
    range: Vec<BoundPoint>,
}

/// Simulates what was audited, and its repair.
pub(super) fn run(
    subject: &Subject,
    bound_range: bool,
    threads: usize,
    site: &Site,
    context: &Context,
) -> Result<Simulation, Failure> {
    let (plan, model) = (&subject.source.plan, &subject.model);
    let before = simulate(plan, model, Vec::new(), site, context)?;
    let repaired = subject.repaired.as_ref().map(|repaired| &repaired.source.plan);
    let after = repaired.map(|plan| simulate(plan, model, Vec::new(), site, context));
    for one in [Some(&before), after.as_ref().and_then(|after| after.as_ref().ok())].into_iter().flatten() {
        shown::keep_page(&one.finished.run, &one.finished.directory, context)?;
    }
    let mut range = Vec::new();
    if bound_range {
        range = bound_points(plan, repaired.unwrap_or(plan), model, threads, &site.stop)?;
        if range.is_empty() {
            let why = "has no stages both bound to the address and not, between which time could be shifted";
            return Err(Failure::usage(format!("--bound-range: the array {} {why}", model.name)));
        }
    }
    Ok(Simulation { before, after: after.transpose()?, range })
}

impl Simulation {
    /// Exit status: a failed one fails the command, a stopped one interrupts it.
    pub(super) fn outcome(&self) -> Result<Outcome, Failure> {
        if let Some(after) = &self.after {
            outcome_of(&after.finished, false)?;
        }
        outcome_of(&self.before.finished, false)
    }

    /// Where the runs are kept.
    pub(super) fn directories(&self) -> (&Path, Option<&Path>) {
        let after = self.after.as_ref().map(|after| after.finished.directory.as_path());
        (&self.before.finished.directory, after)
    }

    /// As it is shown.
    pub(super) fn shown(&self) -> SimulatedAudit<'_> {
        let after = self.after.as_ref().map(Simulated::shown);
        SimulatedAudit { before: self.before.shown(), after, bound_range: &self.range }
    }
}
