//! The quick series of several places, one after the other: one table.

use std::path::Path;

use assay_conduct::series::Series;
use assay_report::quick_hosts::QuickColumn;
use assay_report::{html, terminal};
use assay_results::Run;
use assay_results::run::Verdict;
use assay_results::store::{self, RunState};
use assay_runner::Finished;

use super::measured;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::location::Location;
use crate::output::Outputs;
use crate::series::QuickArgs;
use crate::shown;

/// What came of one place.
struct Came {
    finished: Option<Finished>,
    before: Option<Run>,
    why: Option<String>,
}

pub(super) fn quick(
    args: &QuickArgs,
    series: &Series,
    outputs: &Outputs,
    context: &Context,
) -> Result<Outcome, Failure> {
    if args.dry_run {
        return Err(Failure::usage("--dry-run shows the plan of one directory of this machine; name one"));
    }
    for place in &args.places {
        if let Location::Local(path) = Location::parse(place)? {
            super::directory_in(&path)?;
        }
    }
    let (mut came, mut outcome) = (Vec::with_capacity(args.places.len()), Ok(Outcome::Done));
    for (number, place) in (1..).zip(&args.places) {
        if matches!(outcome, Ok(Outcome::Interrupted)) {
            came.push(Came { finished: None, before: None, why: Some("interrupted".to_owned()) });
            continue;
        }
        context.say(&format!("{place} ({number} of {})", args.places.len()));
        let one = match measured(args, series, place, context) {
            Ok(None) => Err(Failure::Interrupted),
            Ok(Some(finished)) => Ok(finished),
            Err(failure) => Err(failure),
        };
        came.push(take(one, args, &mut outcome, context)?);
    }
    show(args, &came, outputs, context)?;
    outcome
}

/// What one place came to; `outcome` is that of all.
fn take(
    one: Result<Finished, Failure>,
    args: &QuickArgs,
    outcome: &mut Result<Outcome, Failure>,
    context: &Context,
) -> Result<Came, Failure> {
    match one {
        Ok(finished) => {
            shown::keep_page(&finished.run, &finished.directory, context)?;
            let before = if args.before { earlier(&finished.run, context) } else { None };
            let of_one = crate::failure::outcome_of(&finished, args.output.require_valid);
            let why = of_one.as_ref().err().map(ToString::to_string);
            match of_one {
                Ok(Outcome::Done) => {}
                Ok(other) if outcome.is_ok() => *outcome = Ok(other),
                Ok(_) => {}
                Err(failure) => *outcome = Err(Failure::Incomplete(failure.to_string())),
            }
            let partial = (finished.run.verdict == Verdict::Incomplete).then(|| "it was stopped".to_owned());
            Ok(Came { finished: Some(finished), before, why: why.or(partial) })
        }
        Err(Failure::Interrupted) => {
            *outcome = Ok(Outcome::Interrupted);
            Ok(Came { finished: None, before: None, why: Some("interrupted".to_owned()) })
        }
        // The other places are measured all the same.
        Err(failure) => {
            context.error(&failure);
            let why = failure.to_string();
            *outcome = Err(Failure::Incomplete(format!("not all places were measured; the last: {why}")));
            Ok(Came { finished: None, before: None, why: Some(why) })
        }
    }
}

/// The last run before this one of the same series, machine and directory.
fn earlier(run: &Run, context: &Context) -> Option<Run> {
    let place = |run: &Run| {
        let directory =
            run.plan.targets.first().and_then(|target| Path::new(&target.path).parent().map(Path::to_owned));
        (run.plan.series.clone(), run.environment.machine.hostname.clone(), directory)
    };
    let stored = store::list(&context.runs_root().ok()?).ok()?;
    let done = stored.into_iter().rev().filter(|entry| entry.state == RunState::Done && entry.id != run.id);
    let older = done.filter(|entry| entry.started.as_ref().is_some_and(|started| *started < run.started));
    older.filter(|entry| entry.name.as_ref() == Some(&run.name)).find_map(|entry| {
        let read = entry.dir.read_run().ok()?;
        (place(&read) == place(run)).then_some(read)
    })
}

fn show(args: &QuickArgs, came: &[Came], outputs: &Outputs, context: &Context) -> Result<(), Failure> {
    let columns: Vec<QuickColumn<'_>> = args
        .places
        .iter()
        .zip(came)
        .map(|(name, came)| QuickColumn {
            name,
            run: came.finished.as_ref().map(|finished| &finished.run),
            before: came.before.as_ref(),
            why: came.why.as_deref(),
        })
        .collect();
    if args.output.json {
        let of = |column: &QuickColumn<'_>| serde_json::json!({ "place": column.name, "run": column.run, "before": column.before, "error": column.why });
        let document = serde_json::json!({ "schema": "assay.quick-places/1", "places": columns.iter().map(of).collect::<Vec<_>>() });
        context.out(&serde_json::to_string_pretty(&document).map_err(Failure::failed)?);
    } else {
        context.out(terminal::quick_hosts(&columns, &context.style).trim_end());
    }
    if let Some(path) = &args.output.html {
        outputs.write("--html", path, &html::quick_hosts(&columns))?;
        context.say(&format!("report: {}", path.display()));
    }
    for finished in came.iter().filter_map(|came| came.finished.as_ref()) {
        context.say(&format!("kept in {}", finished.directory.display()));
    }
    Ok(())
}
