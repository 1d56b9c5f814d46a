//! `assay runs`: what has been measured.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use assay_host::output::is_unedited;
use assay_report::{listing, terminal};
use assay_results::store::{self, StoreError};
use assay_results::{Run, checks};
use assay_runner::{Crashed, Recovery};
use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::live::Live;
use crate::options::StoredArgs;
use crate::output::Outputs;
use crate::shown;
use crate::signals;

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
    /// Print the list as one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// All stored runs, newest first (default)
    List {
        /// Show names in full, whatever the width of the terminal
        #[arg(long, short)]
        long: bool,
        /// Only runs with this tag
        #[arg(long, value_name = "TAG")]
        tag: Option<String>,
        /// Print the list as one JSON document
        #[arg(long, conflicts_with = "long")]
        json: bool,
    },
    /// The result of one
    Show(StoredArgs),
    /// Remove one
    Rm {
        /// A run directory among the stored runs, or the start of a run's id: 4 characters at least
        run: String,
        /// Remove 'last', whichever run that is, without a question
        #[arg(long, short)]
        yes: bool,
    },
    /// Give one tags, as the page of 'assay serve' does; without any, print those it has
    Tag {
        /// A run directory, or the start of a run's id
        #[arg(value_name = "RUN")]
        run: String,
        /// Words to find it by: letters, digits, '.', ':', '/', '_', '-' and spaces
        #[arg(value_name = "TAG", value_parser = tag)]
        tags: Vec<String>,
        /// Take these tags away instead
        #[arg(long, requires = "tags")]
        remove: bool,
    },
    /// Write one as a file to give away; 'assay import FILE' stores it elsewhere
    Export {
        /// A run directory, or the start of a run's id
        run: String,
        /// The file [default: assay-run-ID.tar]
        file: Option<PathBuf>,
        /// Leave out what tells whose machine it was: names of hosts, servers and volumes, directories, the kernel's arguments
        #[arg(long)]
        without_host: bool,
        /// Replace a file that Assay did not write, too
        #[arg(long)]
        force: bool,
    },
    /// Make a result of what a killed run has recorded
    Recover(StoredArgs),
    /// After a crash: prove that every write that the storage had acknowledged to a run is still there (plans with a
    /// validation journal); status 1 if one is lost
    Verify {
        #[command(flatten)]
        stored: StoredArgs,
        /// The journal [default: where the plan says, else the run's directory]
        #[arg(long, value_name = "FILE")]
        journal: Option<PathBuf>,
        /// Where a target is by now: on another machine than the one that wrote, or under another path (repeatable)
        #[arg(long, value_name = "NAME=PATH", value_parser = place)]
        at: Vec<(String, PathBuf)>,
    },
}

pub(crate) fn runs(args: &RunsArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.json && args.action.as_ref().is_some_and(|action| !matches!(action, RunsAction::List { .. })) {
        return Err(Failure::usage("--json comes behind the action: assay runs show RUN --json"));
    }
    let all = RunsAction::List { long: false, tag: None, json: args.json };
    match args.action.as_ref().unwrap_or(&all) {
        RunsAction::List { long, tag, json } => list(*long, tag.as_deref(), *json || args.json, context),
        RunsAction::Tag { run, tags, remove } => {
            let directory = store::find(&context.runs_root()?, run).map_err(Failure::usage)?;
            let tags = match tags.is_empty() {
                true => store::load_tags(&directory),
                false => store::change_tags(&directory, tags, *remove).map_err(|error| match error {
                    StoreError::Tag(why) => Failure::usage(why),
                    error => Failure::failed(error),
                })?,
            };
            tags.iter().for_each(|tag| context.out(tag));
            Ok(Outcome::Done)
        }
        RunsAction::Show(stored) => {
            let run = shown::load(&stored.run, context)?;
            let outputs = checked(stored, context)?;
            print(&run, stored, context)?;
            shown::finish(&run, &stored.output, &outputs, context)
        }
        RunsAction::Rm { run, yes } => remove(run, *yes, context),
        RunsAction::Export { run, file, without_host, force } => {
            let outputs = Outputs::new(*force).of_kind("FILE", store::is_bundle).reading_run(run, context);
            export(run, file.as_deref(), *without_host, outputs, context)
        }
        RunsAction::Recover(stored) => {
            let directory = store::find(&context.runs_root()?, &stored.run).map_err(Failure::usage)?;
            let outputs = checked(stored, context)?;
            let _locked = directory.lock().map_err(Failure::usage)?;
            // Made again from its events, a finished run would lose what was found since.
            if let Ok(run) = directory.read_run() {
                context.say(&format!("run {} has its result already: nothing to recover", run.id));
                print(&run, stored, context)?;
                return shown::finish(&run, &stored.output, &outputs, context);
            }
            let mut run = store::recover(directory.path()).map_err(Failure::failed)?;
            checks::judge(&mut run);
            // It is shown also where there is no room to keep it.
            print(&run, stored, context)?;
            directory.write_run(&run).map_err(Failure::failed)?;
            context.say(&format!("recovered into {}", directory.path().display()));
            shown::finish(&run, &stored.output, &outputs, context)
        }
        RunsAction::Verify { stored, journal, at } => {
            let directory = store::find(&context.runs_root()?, &stored.run).map_err(Failure::usage)?;
            let crashed = Crashed { run: &directory, journal: journal.as_deref(), at };
            let recovery = Recovery::of(&crashed)?;
            let outputs = Outputs::new(stored.output.force).reading_run(&stored.run, context);
            let outputs = outputs.reading(recovery.files());
            let outputs = stored.output.checked(outputs)?;
            let (site, mut live) = (context.site(signals::stop_flag()?), Live::new(context));
            let proof = recovery.carry_out(&site, &mut live)?;
            let finished = &proof.finished;
            print(&finished.run, stored, context)?;
            context.say(&format!("kept in {}", finished.directory.display()));
            shown::finish(&finished.run, &stored.output, &outputs, context)?;
            proof.is_whole().map_err(Failure::failed)?;
            outcome_of(finished, stored.output.require_valid)
        }
    }
}

/// A tag as it is kept.
fn tag(word: &str) -> Result<String, store::TagError> {
    store::tag_of(word)
}

/// `NAME=PATH`: where a target is.
fn place(word: &str) -> Result<(String, PathBuf), String> {
    let parts = word.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty());
    let (name, path) = parts.ok_or("expected NAME=PATH: the name of a target and where it is")?;
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), path))
}

fn export(
    wanted: &str,
    file: Option<&Path>,
    without_host: bool,
    mut outputs: Outputs,
    context: &Context,
) -> Result<Outcome, Failure> {
    let directory = store::find(&context.runs_root()?, wanted).map_err(Failure::usage)?;
    let run = shown::load_ended(wanted, context)?;
    let file =
        file.map_or_else(|| PathBuf::from(format!("assay-run-{}.tar", directory.id())), Path::to_owned);
    outputs.check("FILE", Some(&file))?;
    let bytes = store::export_run(directory.path(), &run, without_host).map_err(Failure::failed)?;
    outputs.stream("FILE", &file, |out| out.write_all(&bytes))?;
    context.say(&format!(
        "run {} written to {}; 'assay import FILE' stores it elsewhere",
        run.id,
        file.display()
    ));
    if without_host {
        context.say(&format!("the file still tells {}", store::what_remains(&run)));
    }
    Ok(Outcome::Done)
}

/// The run on stdout.
fn print(run: &Run, stored: &StoredArgs, context: &Context) -> Result<(), Failure> {
    if stored.output.json {
        context.out(&shown::json(run)?);
        return Ok(());
    }
    shown::show(run, &[], context)
}

/// Whether the page of a stored run can be written.
fn checked(stored: &StoredArgs, context: &Context) -> Result<Outputs, Failure> {
    stored.output.checked(Outputs::new(stored.output.force).reading_run(&stored.run, context))
}

/// The newest run by its own name, once somebody has agreed to its removal; `None`: nobody has.
fn newest_agreed(yes: bool, context: &Context) -> Result<Option<String>, Failure> {
    let directory = store::find(&context.runs_root()?, store::NEWEST).map_err(Failure::usage)?;
    if yes {
        return Ok(Some(directory.name().to_owned()));
    }
    let name = directory.name();
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(Failure::usage(format!(
            "'last' is {name} now, and the next run changes that: name it ('assay runs rm {}'), or add --yes",
            context.run_words(directory.id())
        )));
    }
    context.warn(&format!("Remove {}? Type 'yes' to go on:", directory.path().display()));
    let mut answer = String::new();
    let agreed = io::stdin().read_line(&mut answer).is_ok() && answer.trim() == "yes";
    Ok(agreed.then(|| name.to_owned()))
}

fn remove(wanted: &str, yes: bool, context: &Context) -> Result<Outcome, Failure> {
    let newest = match wanted {
        store::NEWEST => Some(newest_agreed(yes, context)?),
        _ => None,
    };
    let wanted = match &newest {
        Some(None) => return Err(Failure::failed("nothing was removed")),
        Some(Some(newest)) => newest,
        None => wanted,
    };
    let removal = store::rm(&context.runs_root()?, wanted, &is_unedited).map_err(|error| match error {
        StoreError::Io { .. } => Failure::failed(error),
        _ => Failure::usage(error),
    })?;
    let shown = removal.path.display();
    if removal.removed {
        context.out(&format!("removed {shown}"));
        return Ok(Outcome::Done);
    }
    for (path, why) in &removal.kept {
        context.say(&format!("kept {}: {why}", path.display()));
    }
    Err(Failure::failed(format!(
        "the run in {shown} was removed, the directory was not: it holds other files"
    )))
}

fn list(long: bool, tag: Option<&str>, json: bool, context: &Context) -> Result<Outcome, Failure> {
    let root = context.runs_root()?;
    let mut entries = store::list(&root).map_err(Failure::failed)?;
    entries.sort_by(|a, b| b.started.cmp(&a.started));
    entries.retain(|entry| tag.is_none_or(|tag| entry.tags.iter().any(|own| own == tag)));
    if json {
        let document = listing::Document::of(&entries);
        context.out(&serde_json::to_string_pretty(&document).map_err(Failure::failed)?);
        return Ok(Outcome::Done);
    }
    if entries.is_empty() {
        let tagged = tag.map_or(String::new(), |tag| format!(" with the tag '{tag}'"));
        context.out(&format!("no runs{tagged} in {}", root.display()));
        return Ok(Outcome::Done);
    }
    context.out(&terminal::stored_runs(&entries, &context.out_words(), long, &context.style));
    Ok(Outcome::Done)
}
