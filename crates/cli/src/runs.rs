//! `assay runs`: what has been measured.

use assay_report::terminal;
use assay_results::checks;
use assay_results::store::{self, RunState};

use crate::args::{RunsAction, RunsArgs};
use crate::check;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::quick;

pub(crate) fn runs(args: &RunsArgs, context: &Context) -> Result<Outcome, Failure> {
    match args.action.as_ref().unwrap_or(&RunsAction::List) {
        RunsAction::List => list(context),
        RunsAction::Show(stored) => {
            let run = check::load(&stored.run, context)?;
            if stored.output.json {
                context.out(&check::json(&run)?);
            } else {
                quick::show(&run, &[], context)?;
            }
            check::finish(&run, &stored.output, context)
        }
        RunsAction::Rm { run } => {
            let directory = store::find(&context.runs_root()?, run).map_err(Failure::usage)?;
            store::rm(&directory).map_err(Failure::failed)?;
            context.out(&format!("removed {}", directory.path().display()));
            Ok(Outcome::Done)
        }
        RunsAction::Recover(stored) => {
            let directory = store::find(&context.runs_root()?, &stored.run).map_err(Failure::usage)?;
            let mut run = store::recover(directory.path()).map_err(Failure::failed)?;
            checks::judge(&mut run);
            directory.write_run(&run).map_err(Failure::failed)?;
            if stored.output.json {
                context.out(&check::json(&run)?);
            } else {
                quick::show(&run, &[], context)?;
                context.say(&format!("recovered into {}", directory.path().display()));
            }
            check::finish(&run, &stored.output, context)
        }
    }
}

fn list(context: &Context) -> Result<Outcome, Failure> {
    let root = context.runs_root()?;
    let mut entries = store::list(&root).map_err(Failure::failed)?;
    if entries.is_empty() {
        context.out(&format!("no runs in {}", root.display()));
        return Ok(Outcome::Done);
    }
    entries.sort_by(|a, b| b.started.cmp(&a.started));
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let state = match &entry.state {
                RunState::Done => {
                    entry.verdict.map_or(String::new(), |verdict| format!("{verdict:?}").to_lowercase())
                }
                RunState::Unfinished => "unfinished: 'assay runs recover' makes a result of it".to_owned(),
                RunState::Unreadable(why) => format!("unreadable: {why}"),
            };
            let elapsed = entry.elapsed_s.map_or(String::new(), |elapsed| format!("{elapsed:.0} s"));
            vec![entry.id.clone(), entry.started.clone(), entry.name.clone(), elapsed, state]
        })
        .collect();
    context.out(&terminal::words_table(&["id", "started", "name", "took", "verdict"], &rows, &context.style));
    Ok(Outcome::Done)
}
