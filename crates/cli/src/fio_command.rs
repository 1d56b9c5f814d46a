//! `assay fio --name=.. --rw=..`: fio's command line as people have it in their fingers, run like a job file.

use std::path::Path;

use assay_fio::{self as fio, Action, CommandLine, Eta};
use assay_formats::{Affects, Diagnostic, Severity};
use clap::Args;

use crate::asked::{self, Origin, Wanted};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input::{self, SystemLoader};
use crate::on::{self, OnArgs};
use crate::options::HowArgs;
use crate::run::{self, RunOptions};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay fio --name=a --filename=/mnt/data/a --size=1g --rw=randread --iodepth=32
  # what it would do
  assay fio --dry-run --name=a --size=1g --rw=write
  # the same, by real fio
  assay fio --engine fio --name=a --size=1g --rw=write
  # only if nothing in the file writes or trims
  assay fio --readonly job.fio
  # what fio would be asked by a job file; and is it understood?
  assay fio --showcmd job.fio
  assay fio --parse-only job.fio

Options of Assay may stand anywhere among those of fio. Called by the name fio
it is 'assay fio --output-format=normal'.")]
pub(crate) struct FioArgs {
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Options of fio, and job files
    #[arg(value_name = "FIO", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

pub(crate) fn fio(args: FioArgs, help: fn() -> String, context: &mut Context) -> Result<Outcome, Failure> {
    let line = fio::parse_command_line_with(&args.words, &SystemLoader, &input::system());
    match &line.program.action {
        Action::Version => context.out(&fio::version(&Context::version().version)),
        Action::Help => context.out(&help()),
        Action::Explain(text) => context.out(text),
        Action::Inflate(path) => inflate(path, context)?,
        Action::Show => show(&line, context)?,
        Action::Parse => parse_only(line, context)?,
        Action::Run => return as_of_fio(run(args.how, line, context), context),
    }
    Ok(Outcome::Done)
}

/// The exit status of fio where a signal ended it.
const INTERRUPTED: u8 = 128;

/// How a run ended, with fio's exit status where it was interrupted.
fn as_of_fio(ended: Result<Outcome, Failure>, context: &Context) -> Result<Outcome, Failure> {
    match ended {
        Ok(Outcome::Interrupted) => Ok(Outcome::Passed(INTERRUPTED)),
        Err(Failure::Interrupted) => {
            context.error(&Failure::Interrupted);
            Ok(Outcome::Passed(INTERRUPTED))
        }
        other => other,
    }
}

fn run(mut how: HowArgs, line: CommandLine, context: &mut Context) -> Result<Outcome, Failure> {
    refuse_writes(&line, context)?;
    let CommandLine { program, jobs, diagnostics } = line;
    how.allowed.strict |= program.strict;
    let input = input::of_fio("fio", jobs, diagnostics);
    context.live &= program.eta != Eta::Never;
    if program.is_silent(context.live) && !context.quiet {
        // Scripts take what is on stderr for an error: only what is lost is said.
        context.quiet = true;
        let lost = input.diagnostics.iter().filter(|one| one.affects == Some(Affects::Report));
        lost.for_each(|one| context.warn(&one.to_string()));
    }
    let readonly = program.readonly;
    let clients = program.clients.clone();
    how.foreign.program = Some(Box::new(program));
    let wanted = Wanted::from(Origin::Read(input), Path::new("."), how.allowed.strict);
    let options = RunOptions { readonly, ..RunOptions::usual(&how) };
    if clients.is_empty() {
        return run::execute(wanted, &options, context);
    }
    // As in fio, a client that is a file lists them.
    let word =
        |client: &String| if Path::new(client).is_file() { format!("@{client}") } else { client.clone() };
    let words = format!("ssh:{}", clients.iter().map(word).collect::<Vec<_>>().join(","));
    let asked = asked::asked(wanted, context)?;
    on::execute(asked, (&words, &OnArgs::usual()?), how.dry_run, &options, context)
}

/// With `--readonly`, no job may write or trim.
fn refuse_writes(line: &CommandLine, context: &Context) -> Result<(), Failure> {
    match &line.jobs {
        Some(jobs) if line.program.readonly => failed(&jobs.writing_jobs(), context),
        _ => Ok(()),
    }
}

/// Says everything; an error ends the command with fio's status.
fn failed(diagnostics: &[Diagnostic], context: &Context) -> Result<(), Failure> {
    input::say_all(diagnostics, false, context).map_err(Failure::failed)
}

/// `--inflate-log`: a log that was stored compressed, as text.
fn inflate(path: &Path, context: &Context) -> Result<(), Failure> {
    let failed = |why: String| Failure::failed(format!("--inflate-log: {}: {why}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let text = fio::inflate_log(&bytes);
    let fix = "it is written by fio, or by assay fio, with log_store_compressed=1";
    context.out(&text.map_err(|why| failed(format!("{why}; {fix}")))?);
    Ok(())
}

/// `--showcmd`: the job files as command lines.
fn show(line: &CommandLine, context: &Context) -> Result<(), Failure> {
    let Some(jobs) = &line.jobs else { return failed(&line.diagnostics, context) };
    refuse_writes(line, context)?;
    jobs.shell_lines().iter().for_each(|line| context.out(line));
    Ok(())
}

/// `--parse-only`: what there is to say of the jobs, what they lose here included.
fn parse_only(line: CommandLine, context: &Context) -> Result<(), Failure> {
    refuse_writes(&line, context)?;
    let readable = line.jobs.is_some();
    let jobs = line.jobs.filter(|jobs| jobs.job_count() > 0);
    let mut said = input::of_fio("fio", jobs, line.diagnostics).diagnostics;
    // What only fio can run is understood all the same; its loss is said. Scripts take what is on stderr for an error, so that notes
    // are not.
    let fatal = |one: &Diagnostic| !readable || one.severity != Severity::Error;
    said.retain(|one| one.severity != Severity::Note && fatal(one));
    failed(&said, context)
}
