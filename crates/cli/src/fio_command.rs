//! `assay fio --name=.. --rw=..`: fio's command line as people have it in their fingers, run like a job file.

use std::path::Path;

use assay_fio::{self as fio, Action, CommandLine, JobFile, Program};
use assay_formats::{Diagnostic, Severity};
use clap::Args;

use crate::asked::{Origin, Wanted};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input::{self, SystemLoader};
use crate::location::pasted;
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

Options of Assay come before the first option of fio.")]
pub(crate) struct FioArgs {
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Options of fio, and job files
    #[arg(value_name = "FIO", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

pub(crate) fn fio(args: FioArgs, help: &dyn Fn() -> String, context: &Context) -> Result<Outcome, Failure> {
    let CommandLine { program, jobs, diagnostics } =
        fio::parse_command_line_with(&args.words, &SystemLoader, &input::system());
    match program.action {
        Action::Version => context.out(&Context::version_line()),
        Action::Help => context.out(&help()),
        Action::Show => show(jobs.as_ref(), &program, &diagnostics, context)?,
        Action::Parse => parse_only(jobs, &program, diagnostics, context)?,
        Action::Run => return run(args.how, jobs, &program, diagnostics, context),
    }
    Ok(Outcome::Done)
}

fn run(
    how: HowArgs,
    jobs: Option<JobFile>,
    program: &Program,
    diagnostics: Vec<Diagnostic>,
    context: &Context,
) -> Result<Outcome, Failure> {
    refuse_writes(jobs.as_ref(), program, context)?;
    let origin = Origin::Read(input::of_fio("fio", jobs, diagnostics));
    let wanted = Wanted::from(origin, Path::new("."), how.allowed.strict);
    run::execute(wanted, &RunOptions { readonly: program.readonly, ..RunOptions::usual(&how) }, context)
}

/// With `--readonly`, no job may write or trim.
fn refuse_writes(jobs: Option<&JobFile>, program: &Program, context: &Context) -> Result<(), Failure> {
    match jobs {
        Some(jobs) if program.readonly => failed(&jobs.writing_jobs(), context),
        _ => Ok(()),
    }
}

/// Says everything; an error ends the command with fio's status.
fn failed(diagnostics: &[Diagnostic], context: &Context) -> Result<(), Failure> {
    input::say_all(diagnostics, false, context).map_err(Failure::failed)
}

/// `--showcmd`: the job files as command lines.
fn show(
    jobs: Option<&JobFile>,
    program: &Program,
    diagnostics: &[Diagnostic],
    context: &Context,
) -> Result<(), Failure> {
    let Some(jobs) = jobs else { return failed(diagnostics, context) };
    refuse_writes(Some(jobs), program, context)?;
    // fio ends each word with a blank, the last one too.
    for words in jobs.command_lines() {
        let words: Vec<String> = words.iter().map(|word| for_shell(word)).collect();
        context.out(&format!("{} ", words.join(" ")));
    }
    Ok(())
}

/// A word as fio prints it, but such that a shell reads the same word: fio quotes descriptions only.
fn for_shell(word: &str) -> String {
    let quoted = word.strip_prefix("--description=\"").and_then(|rest| rest.strip_suffix('"'));
    match (quoted, word.split_once('=')) {
        (Some(text), _) if !text.contains(['"', '$', '`', '\\', '!']) => word.to_owned(),
        (Some(text), _) => format!("--description={}", pasted(text)),
        (None, Some((name, value))) if !value.is_empty() => format!("{name}={}", pasted(value)),
        (None, _) => word.to_owned(),
    }
}

/// `--parse-only`: what there is to say of the jobs, what they lose here included.
fn parse_only(
    jobs: Option<JobFile>,
    program: &Program,
    diagnostics: Vec<Diagnostic>,
    context: &Context,
) -> Result<(), Failure> {
    refuse_writes(jobs.as_ref(), program, context)?;
    let readable = jobs.is_some();
    let jobs = jobs.filter(|jobs| jobs.job_count() > 0);
    let mut said = input::of_fio("fio", jobs, diagnostics).diagnostics;
    // What only fio can run is understood all the same; its loss is said.
    said.retain(|one| !readable || one.severity != Severity::Error);
    failed(&said, context)
}
