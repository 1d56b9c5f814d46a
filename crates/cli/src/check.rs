//! `assay check` and `assay report`: stored runs again.

use std::path::Path;

use assay_report::terminal;
use assay_results::{Run, checks, store};

use crate::args::{OutputArgs, ReportArgs, StoredArgs};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::quick;

/// Loads a run by directory or the start of its id.
pub(crate) fn load(wanted: &str, context: &Context) -> Result<Run, Failure> {
    store::load(&context.runs_root()?, wanted).map_err(Failure::usage)
}

pub(crate) fn check(args: &StoredArgs, context: &Context) -> Result<Outcome, Failure> {
    let mut run = load(&args.run, context)?;
    checks::judge(&mut run);
    if args.output.json {
        context.out(&json(&run)?);
    } else {
        context.out(&terminal::heading(&run, &context.style));
        context.out(&terminal::findings(&run.findings, &context.style));
        context.out("");
        context.out(&terminal::verdict_line(&run, &context.style));
    }
    finish(&run, &args.output, context)
}

/// Writes the page if asked to, and says how the command ends.
pub(crate) fn finish(run: &Run, output: &OutputArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(path) = &output.html {
        write_html(run, path, &[], context)?;
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
    let stored = store::find(&context.runs_root()?, &args.run).ok();
    args.foreign.write(&run, stored.as_ref().map(store::RunDir::path))?;
    if let Some(path) = &args.html {
        write_html(&run, path, &args.baseline, context)?;
    }
    if let Some(path) = &args.csv {
        write(path, &assay_report::csv::csv(&run))?;
    }
    if let Some(path) = &args.md {
        let references = quick::references(&run, &args.baseline, context)?;
        write(path, &assay_report::md::markdown(&run, &references))?;
    }
    Ok(Outcome::Done)
}

/// Whether a file can be made at `path`, as far as that can be told without making it.
pub(crate) fn can_write(path: &Path) -> Result<(), Failure> {
    let shown = path.display();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err(Failure::usage(format!("{shown} is a directory; name a file in it")));
    }
    if !parent.is_dir() {
        return Err(Failure::usage(format!("cannot write {shown}: {} is not a directory", parent.display())));
    }
    Ok(())
}

/// Writes the page of a run.
pub(crate) fn write_html(
    run: &Run,
    path: &Path,
    baselines: &[String],
    context: &Context,
) -> Result<(), Failure> {
    let references = quick::references(run, baselines, context)?;
    write(path, &assay_report::html::page(run, &references))
}

/// Writes a file whole.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))
}
