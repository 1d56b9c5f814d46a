//! `assay check` and `assay report`: stored runs again.

use std::path::Path;

use assay_report::terminal;
use assay_results::{Run, checks, store};

use crate::args::{OutputArgs, ReportArgs, StoredArgs};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Outputs};
use crate::quick;

/// Loads a run by directory or the start of its id.
pub(crate) fn load(wanted: &str, context: &Context) -> Result<Run, Failure> {
    store::load(&context.runs_root()?, wanted).map_err(Failure::usage)
}

pub(crate) fn check(args: &StoredArgs, context: &Context) -> Result<Outcome, Failure> {
    let mut run = load(&args.run, context)?;
    let outputs = args.output.checked(Outputs::new(args.output.force).reading_run(&args.run, context))?;
    checks::judge(&mut run);
    if args.output.json {
        context.out(&json(&run)?);
    } else {
        context.out(&terminal::heading(&run, &context.style));
        context.out(&terminal::findings(&run.findings, &context.style));
        context.out("");
        context.out(&terminal::verdict_line(&run, &context.style));
    }
    finish(&run, &args.output, &outputs, context)
}

/// Writes the page if asked to, and says how the command ends.
pub(crate) fn finish(
    run: &Run,
    output: &OutputArgs,
    outputs: &Outputs,
    context: &Context,
) -> Result<Outcome, Failure> {
    if let Some(path) = &output.html {
        outputs.write("--html", path, &page(run, &[], context)?)?;
    }
    let valid = run.verdict == assay_results::Verdict::Valid;
    Ok(if output.require_valid && !valid { Outcome::NotValid } else { Outcome::Done })
}

/// The JSON document of a run.
pub(crate) fn json(run: &Run) -> Result<String, Failure> {
    serde_json::to_string_pretty(run).map_err(Failure::failed)
}

pub(crate) fn report(args: &ReportArgs, context: &Context) -> Result<Outcome, Failure> {
    let run = load(&args.run, context)?;
    let mut outputs = Outputs::new(args.force).reading_run(&args.run, context);
    outputs.check("--html", args.html.as_deref())?;
    outputs.check("--csv", args.csv.as_deref())?;
    outputs.check("--md", args.md.as_deref())?;
    args.foreign.check(&mut outputs)?;
    let stored = store::find(&context.runs_root()?, &args.run).ok();
    args.foreign.write(&run, stored.as_ref().map(store::RunDir::path), &outputs)?;
    if let Some(path) = &args.html {
        outputs.write("--html", path, &page(&run, &args.baseline, context)?)?;
    }
    if let Some(path) = &args.csv {
        outputs.write("--csv", path, &assay_report::csv::csv(&run))?;
    }
    if let Some(path) = &args.md {
        let references = quick::references(&run, &args.baseline, context)?;
        outputs.write("--md", path, &assay_report::md::markdown(&run, &references))?;
    }
    Ok(Outcome::Done)
}

impl OutputArgs {
    /// Whether the page can be written, where one is asked for.
    pub(crate) fn checked(&self, mut outputs: Outputs) -> Result<Outputs, Failure> {
        outputs.check("--html", self.html.as_deref())?;
        Ok(outputs)
    }
}

/// The page of a run.
pub(crate) fn page(run: &Run, baselines: &[String], context: &Context) -> Result<String, Failure> {
    Ok(assay_report::html::page(run, &quick::references(run, baselines, context)?))
}

/// Writes the page of a run into the run's directory.
pub(crate) fn keep_page(run: &Run, directory: &Path, context: &Context) -> Result<(), Failure> {
    output::keep(&directory.join(store::PAGE_FILE), &page(run, &[], context)?)
}
