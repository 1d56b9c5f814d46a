//! `assay check` and `assay report`: stored runs again.

use std::path::PathBuf;

use assay_report::terminal;
use assay_results::{checks, store};
use clap::Args;

use crate::context::Context;
use crate::exports::ExportArgs;
use crate::failure::{Failure, Outcome};
use crate::foreign::ForeignArgs;
use crate::options::StoredArgs;
use crate::output::Outputs;
use crate::shown;

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("as").args(crate::foreign::OPTIONS).args(crate::exports::OPTIONS).required(true).multiple(true))]
#[command(
    override_usage = "assay report [OPTIONS] <RUN> (--html FILE | --xlsx FILE | --csv FILE | --md FILE | ..)"
)]
pub(crate) struct ReportArgs {
    /// A run directory, or the start of a run's id
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Write a self-contained page
    #[arg(long, value_name = "FILE", group = "as")]
    pub(crate) html: Option<PathBuf>,
    /// Write a row per job and operation
    #[arg(long, value_name = "FILE", group = "as")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a Markdown table
    #[arg(long, value_name = "FILE", group = "as")]
    pub(crate) md: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) exports: ExportArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
    /// Compare with this baseline; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Vec<String>,
}

pub(crate) fn check(args: &StoredArgs, context: &Context) -> Result<Outcome, Failure> {
    let mut run = shown::load(&args.run, context)?;
    let outputs = args.output.checked(Outputs::new(args.output.force).reading_run(&args.run, context))?;
    checks::judge(&mut run);
    if args.output.json {
        context.out(&shown::json(&run)?);
    } else {
        context.out(&terminal::heading(&run, &context.style));
        context.out(&terminal::verdict_line(&run, &context.style));
        context.out(&terminal::findings(&run.findings, &context.style));
    }
    shown::finish(&run, &args.output, &outputs, context)
}

pub(crate) fn report(args: &ReportArgs, context: &Context) -> Result<Outcome, Failure> {
    let run = shown::load_ended(&args.run, context)?;
    let mut outputs = Outputs::new(args.force).reading_run(&args.run, context);
    outputs.check("--html", args.html.as_deref())?;
    outputs.check("--csv", args.csv.as_deref())?;
    outputs.check("--md", args.md.as_deref())?;
    args.exports.check(&mut outputs)?;
    args.foreign.check(&mut outputs)?;
    let stored = store::find(&context.runs_root()?, &args.run).ok();
    let directory = stored.as_ref().map(store::RunDir::path);
    args.foreign.write(&run, directory, &outputs)?;
    args.exports.write(&run, directory, &outputs)?;
    if let Some(path) = &args.html {
        outputs.write("--html", path, &shown::page(&run, &args.baseline, context)?)?;
    }
    if let Some(path) = &args.csv {
        outputs.write("--csv", path, &assay_report::csv::csv(&run))?;
    }
    if let Some(path) = &args.md {
        let references = shown::references(&run, &args.baseline, context)?;
        outputs.write("--md", path, &assay_report::md::markdown(&run, &references))?;
    }
    Ok(Outcome::Done)
}
