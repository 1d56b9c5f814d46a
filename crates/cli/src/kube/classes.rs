//! Several storage classes in one command: the same plan on each, and what differs.

use assay_report::terminal;
use assay_results::Run;
use assay_results::compare::{self, CompareOptions, Side};

use super::KubeRunArgs;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::run;

/// Runs the plan on workers of each class in turn, and compares the first with each other.
pub(super) fn compared(
    args: &KubeRunArgs,
    classes: &[String],
    context: &Context,
) -> Result<Outcome, Failure> {
    let mut sorted: Vec<&String> = classes.iter().collect();
    sorted.sort();
    sorted.dedup();
    if sorted.len() < classes.len() {
        return Err(Failure::usage("a storage class is named twice"));
    }
    if args.run.how.output.json || args.run.how.output.html.is_some() {
        return Err(Failure::usage(
            "several storage classes are several runs: 'assay report' writes one of them as a document",
        ));
    }
    let mut runs: Vec<Run> = Vec::new();
    for class in classes {
        context.say(&format!("storage class {class}"));
        let options = args.options(Some(class))?;
        let seed = runs.first().map(|run| run.plan.seed);
        let Some(finished) = run::finished_in_pods(&args.run, args.workers, options, seed, context)? else {
            return Ok(Outcome::Done);
        };
        let outcome = run::present(&finished, &args.run.how.output, Some(&args.run.how.foreign), context)?;
        if outcome != Outcome::Done {
            // An incomplete run is compared with nothing.
            return Ok(outcome);
        }
        runs.push(finished.run);
    }
    context.out(&comparison(classes, &runs, context)?);
    Ok(Outcome::Done)
}

/// What differs between the classes, with intervals.
pub(super) fn comparison(names: &[String], runs: &[Run], context: &Context) -> Result<String, Failure> {
    let sides: Vec<Side<'_>> = names.iter().zip(runs).map(|(name, run)| Side::new(name, vec![run])).collect();
    // Targets have the same names in each: what is different is meant to be.
    let options = CompareOptions { anyway: true, ..CompareOptions::default() };
    let found = compare::compare(&sides, &options).map_err(Failure::failed)?;
    Ok(terminal::comparison(&found, &context.style))
}
