//! How runs are loaded, shown and written: what every command that ends in a run shares.

use std::path::Path;

use assay_conduct::series::assay1;
use assay_report::quick::Reference;
use assay_report::terminal;
use assay_results::baseline::builtins;
use assay_results::{Run, baseline, store};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::options::OutputArgs;
use crate::output::{self, Outputs};

/// Loads a run by directory or the start of its id.
pub(crate) fn load(wanted: &str, context: &Context) -> Result<Run, Failure> {
    store::load(&context.runs_root()?, wanted).map_err(Failure::usage)
}

/// As [`load`], for what is given away: the figures of a run that is still going are not its result.
pub(crate) fn load_ended(wanted: &str, context: &Context) -> Result<Run, Failure> {
    let run = load(wanted, context)?;
    if run.going {
        return Err(Failure::usage(format!(
            "run {} is still going; stop it or wait for its end ('assay runs show {}' has its figures so far)",
            run.id,
            context.run_words(&run.id)
        )));
    }
    Ok(run)
}

/// What a table compares with: the baselines asked for, else those that belong to the series.
pub(crate) fn find_references(
    names: &[String],
    series: Option<&str>,
    context: &Context,
) -> Result<Vec<Reference>, Failure> {
    if names.is_empty() {
        let own = builtins().into_iter().filter(|baseline| baseline.series.as_deref() == series);
        let mut references: Vec<Reference> = own.map(|baseline| Reference::of_baseline(&baseline)).collect();
        if series == Some(assay1::ID) {
            references.extend(assay1::typical_drives().into_iter().map(Reference::typical_of));
        }
        return Ok(references);
    }
    let directory = context.baselines_root()?;
    names
        .iter()
        .map(|name| baseline::show(&directory, name).map(|found| Reference::of_baseline(&found)))
        .map(|found| found.map_err(Failure::usage))
        .collect()
}

/// The references of a stored run.
pub(crate) fn references(run: &Run, names: &[String], context: &Context) -> Result<Vec<Reference>, Failure> {
    find_references(names, run.plan.series.as_deref(), context)
}

/// Prints a run: the table of its series, or its summary, and the findings.
pub(crate) fn show(run: &Run, baselines: &[String], context: &Context) -> Result<(), Failure> {
    show_with(run, &references(run, baselines, context)?, context);
    Ok(())
}

pub(crate) fn show_with(run: &Run, references: &[Reference], context: &Context) {
    let style = &context.style;
    let mut text = terminal::heading(run, style);
    text.push('\n');
    text.push_str(&terminal::answer(run, style));
    text.push('\n');
    if run.plan.series.is_none() {
        text.push_str(&terminal::run_summary(run, style));
    } else {
        text.push_str(&terminal::quick_table(run, references, style));
    }
    text.push_str(&findings(run, context));
    context.out(text.trim_end());
}

/// What the checks found: a line for each cause, or all of it where `--verbose` asks for it; an empty line in front.
pub(crate) fn findings(run: &Run, context: &Context) -> String {
    let style = &context.style;
    if context.verbose {
        return terminal::findings(&run.findings, style);
    }
    let how = match run.id.is_empty() {
        true => "--verbose".to_owned(),
        false => format!("'assay check {}'", context.run_words(&run.id)),
    };
    let causes = terminal::causes(run, &how, style);
    if causes.is_empty() { causes } else { format!("\n{causes}") }
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

impl OutputArgs {
    /// Whether the page can be written, where one is asked for.
    pub(crate) fn checked(&self, mut outputs: Outputs) -> Result<Outputs, Failure> {
        if self.json {
            outputs.take_stdout("--json")?;
        }
        outputs.check("--html", self.html.as_deref())?;
        Ok(outputs)
    }
}

/// The page of a run.
pub(crate) fn page(run: &Run, baselines: &[String], context: &Context) -> Result<String, Failure> {
    Ok(assay_report::html::page(run, &references(run, baselines, context)?))
}

/// Writes the page of a run into the run's directory.
pub(crate) fn keep_page(run: &Run, directory: &Path, context: &Context) -> Result<(), Failure> {
    output::keep(&directory.join(store::PAGE_FILE), &page(run, &[], context)?)
}
