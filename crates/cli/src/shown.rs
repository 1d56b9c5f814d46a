//! How runs are loaded, shown and written: what every command that ends in a run shares.

use std::collections::BTreeMap;
use std::path::Path;

use assay_conduct::series::assay1;
use assay_report::quick::{Reference, ReferenceIops};
use assay_report::{Style, terminal};
use assay_results::baseline::{Baseline, builtins};
use assay_results::{Run, baseline, store};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::options::OutputArgs;
use crate::output::{self, Outputs};

/// Loads a run by directory or the start of its id.
pub(crate) fn load(wanted: &str, context: &Context) -> Result<Run, Failure> {
    store::load(&context.runs_root()?, wanted).map_err(Failure::usage)
}

/// What a table compares with: the baselines asked for, else those that belong to the series.
pub(crate) fn find_references(
    names: &[String],
    series: Option<&str>,
    context: &Context,
) -> Result<Vec<Reference>, Failure> {
    if names.is_empty() {
        let own = builtins().into_iter().filter(|baseline| baseline.series.as_deref() == series);
        let mut references: Vec<Reference> = own.map(|baseline| reference(&baseline)).collect();
        if series == Some(assay1::ID) {
            references.extend(typical_references());
        }
        return Ok(references);
    }
    let directory = context.baselines_root()?;
    names
        .iter()
        .map(|name| baseline::show(&directory, name).map(|found| reference(&found)).map_err(Failure::usage))
        .collect()
}

/// The references of a stored run.
pub(crate) fn references(run: &Run, names: &[String], context: &Context) -> Result<Vec<Reference>, Failure> {
    find_references(names, run.plan.series.as_deref(), context)
}

fn reference(baseline: &Baseline) -> Reference {
    let iops = baseline.tests.iter().map(|test| (test.name.clone(), ReferenceIops::Measured(test.iops)));
    let mut footnotes = baseline.footnotes.clone();
    if footnotes.is_empty() {
        let from = &baseline.provenance;
        footnotes.push(format!(
            "{}: {}, {}, kernel {}, {}",
            baseline.name, from.device, from.file_system, from.kernel, from.date
        ));
    }
    footnotes.extend(baseline.doubts());
    Reference { name: baseline.name.clone(), iops: iops.collect(), footnotes }
}

fn typical_references() -> Vec<Reference> {
    let hdd: BTreeMap<String, ReferenceIops> = assay1::TYPICAL
        .iter()
        .filter_map(|cell| Some((cell.cell.to_owned(), ReferenceIops::Measured(cell.hdd?))))
        .collect();
    let range = |pick: fn(&assay1::Typical) -> (f64, f64)| {
        let one = |cell: &assay1::Typical| {
            let (low, high) = pick(cell);
            (cell.cell.to_owned(), ReferenceIops::Typical { low, high })
        };
        assay1::TYPICAL.iter().map(one).collect::<BTreeMap<_, _>>()
    };
    let sheet = "what data sheets of common drives of 2020-2024 state, rounded; typical, not measured here";
    vec![
        Reference {
            name: "HDD".to_owned(),
            iops: hdd,
            footnotes: vec![
                "HDD: one 7200 rpm SATA disk (6 TB), published with storage-tuner-benchmark 2.1, where it measured \
                 the same thing."
                    .to_owned(),
            ],
        },
        Reference {
            name: "SATA SSD".to_owned(),
            iops: range(|cell| cell.sata_ssd),
            footnotes: vec![format!("SATA SSD: {sheet}.")],
        },
        Reference { name: "NVMe".to_owned(), iops: range(|cell| cell.nvme), footnotes: vec![format!("NVMe: {sheet}.")] },
    ]
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
    text.push_str(&findings(run, context.verbose, style));
    context.out(text.trim_end());
}

/// What the checks found: a line for each cause, or all of it where `--verbose` asks for it; an empty line in front.
pub(crate) fn findings(run: &Run, verbose: bool, style: &Style) -> String {
    if verbose {
        return terminal::findings(&run.findings, style);
    }
    let how = if run.id.is_empty() { "--verbose".to_owned() } else { format!("'assay check {}'", run.id) };
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
