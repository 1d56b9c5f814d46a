//! Runs on an array model: the same job loop, journal, result and checks as a real run, in virtual time.

use assay_runner::{Simulated, Site};
use assay_sim::Model;
use assay_workload::Plan;

use crate::asked::{self, Wanted};
use crate::audit::source;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::run::{self, How};
use crate::{input, signals};

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

/// `--engine sim`.
pub(crate) fn run(wanted: Wanted<'_>, how: &How<'_>, context: &Context) -> Result<Outcome, Failure> {
    if how.trace.is_some() {
        return Err(Failure::usage("--trace is for real I/O: a simulation does what 'assay audit' says"));
    }
    let model = source::model(how.array)?;
    let asked = asked::asked(wanted, context)?;
    input::say_all(&asked.diagnostics, how.common.strict, context)?;
    let seed = how.seed.or(asked.workload.seed).map_or_else(assay_runner::random_seed, Ok)?;
    let (plan, assumed) = source::planned(&asked.workload, how.size, Some(seed))?;
    if !assumed.is_empty() {
        let names = assumed.join(", ");
        context.say(&format!("no size is given for {names}: taken as {} (--size)", how.size));
    }
    if how.common.dry_run {
        context.out(&assay_report::terminal::plan(&assay_runner::marked(&plan, &model), &context.style));
        return Ok(Outcome::Done);
    }
    run::check_outputs(how, &plan)?;
    let mut notes = asked.notes;
    notes.extend(input::accept_losses(&asked.diagnostics, how.common.allow_loss)?);
    let site = context.site(signals::stop_flag()?);
    context.say(&assay_runner::remark(&model, plan.seed));
    let finished = simulate(&plan, &model, notes, &site, context)?.finished;
    run::present(&finished, how.common, context)
}
