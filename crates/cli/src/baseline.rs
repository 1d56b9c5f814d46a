//! `assay baseline`: runs kept to compare with.

use assay_report::terminal;
use assay_results::Verdict;
use assay_results::baseline::{self, Baseline};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::shown;

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) action: BaselineAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Keep a run under a name
    Save {
        /// The name
        name: String,
        /// A run directory or the start of a run's id
        run: String,
        /// Replace a saved baseline of that name
        #[arg(long)]
        force: bool,
        /// Keep an incomplete or invalid run, too
        #[arg(long)]
        anyway: bool,
    },
    /// All baselines, built in and saved
    List,
    /// The figures of one and where they come from
    Show {
        /// The name
        name: String,
    },
    /// Remove a saved one
    Rm {
        /// The name
        name: String,
    },
}

pub(crate) fn baseline(args: &BaselineArgs, context: &Context) -> Result<Outcome, Failure> {
    let directory = context.baselines_root()?;
    match &args.action {
        BaselineAction::Save { name, run, force, anyway } => {
            let run = shown::load(run, context)?;
            let unfit = baseline::unfit(&run);
            if let Some(why) = unfit.as_ref().filter(|_| !anyway) {
                return Err(Failure::usage(format!(
                    "{why}; measure again, or add --anyway to keep it as a baseline"
                )));
            }
            let path =
                baseline::save(&directory, &Baseline::of_run(name, &run), *force).map_err(Failure::usage)?;
            context.out(&format!("saved {name} in {}", path.display()));
            let suspect = (run.verdict == Verdict::Suspect)
                .then(|| (&run.id, context.run_words(&run.id)))
                .map(|(id, words)| format!("run {id} is suspect: 'assay runs show {words}' says why"));
            if let Some(doubt) = unfit.or(suspect) {
                context.warn(&format!("warning: {doubt}"));
            }
        }
        BaselineAction::List => {
            let found = baseline::list(&directory).map_err(Failure::failed)?;
            let rows: Vec<Vec<String>> = found
                .iter()
                .map(|entry| {
                    let from = &entry.provenance;
                    vec![
                        entry.name.clone(),
                        entry.series.clone().unwrap_or_default(),
                        from.device.clone(),
                        from.date.clone(),
                        entry.verdict().map_or(String::new(), |verdict| verdict.word().to_owned()),
                    ]
                })
                .collect();
            let columns = ["name", "series", "device", "date", "verdict"];
            context.out(&terminal::words_table(&columns, &rows, &context.style));
        }
        BaselineAction::Show { name } => {
            let found = baseline::show(&directory, name).map_err(Failure::usage)?;
            context.out(&show(&found, context));
        }
        BaselineAction::Rm { name } => {
            baseline::rm(&directory, name).map_err(Failure::usage)?;
            context.out(&format!("removed {name}"));
        }
    }
    Ok(Outcome::Done)
}

fn show(found: &Baseline, context: &Context) -> String {
    let from = &found.provenance;
    let mut text = format!("{} (series {})\n", found.name, found.series.as_deref().unwrap_or("none"));
    let facts = [
        ("device", &from.device),
        ("file system", &from.file_system),
        ("kernel", &from.kernel),
        ("date", &from.date),
        ("source", &from.source),
    ];
    for (what, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(&format!("  {what}: {value}\n"));
    }
    let rows: Vec<Vec<String>> = found
        .tests
        .iter()
        .map(|test| vec![test.name.clone(), assay_report::format::iops(test.iops)])
        .collect();
    text.push_str(&terminal::words_table(&["test", "IOPS"], &rows, &context.style));
    for note in found.footnotes.iter().cloned().chain(found.doubts()) {
        text.push_str(&format!("{note}\n"));
    }
    text
}
