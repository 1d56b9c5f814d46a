//! `assay vdbench -f FILE -o DIR ..`: vdbench's command line as people and scripts have it, with its console lines and files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use assay_formats::{Affects, Diagnostic, Severity};
use assay_results::foreign::Moment;
use assay_vdbench::{Again, CommandLine, OutputDirectory, parse_command_line};
use clap::Args;

use crate::asked::{Origin, Wanted};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::options::HowArgs;
use crate::run::{self, RunOptions};

/// Numbered output directories end here, as in vdbench.
const NUMBER_MAX: u32 = 999;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay vdbench -f parmfile -o output
  # its runs, as vdbench -s lists them
  assay vdbench -f parmfile -s
  # shorter, with data validation, and a variable
  assay vdbench -f parmfile -o out+ -e 60 -w 10 -vr lun=/mnt/a.dat
  # options of Assay may stand anywhere
  assay vdbench -f parmfile -o output --destroy-data /dev/sdx

Called by the name vdbench it is 'assay vdbench'.")]
pub(crate) struct VdbenchArgs {
    #[command(flatten)]
    pub(crate) how: HowArgs,
    /// Options of vdbench (-f -o -e -i -w -r -s -v -j), name=value, + extra
    #[arg(value_name = "VDBENCH", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

pub(crate) fn vdbench(args: VdbenchArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let VdbenchArgs { mut how, words } = args;
    let line = parse_command_line(&words).map_err(Failure::usage)?;
    let place = Path::new(".");
    let (mut input, reported) = input::of_vdbench(&line, place)?;
    input.diagnostics.extend(of_words(&line));
    if line.simulate {
        if !input.runs.is_empty() {
            context.out(&input.runs.join("\n"));
        }
        input.accept(how.allowed.strict, context)?;
        return Ok(Outcome::Done);
    }
    if how.foreign.vdbench.is_some() {
        return Err(Failure::usage("--vdbench DIR is -o DIR here"));
    }
    how.foreign.vdbench = Some(directory(&line.output)?);
    how.foreign.vdbench_reported = reported;
    if !how.output.json {
        how.foreign.vdbench_words = Some(words);
        if !context.live && !context.quiet {
            // Scripts take what is on stderr for an error: only what is lost is said.
            context.quiet = true;
            let lost = input.diagnostics.iter().filter(|one| one.affects == Some(Affects::Report));
            lost.for_each(|one| context.warn(&one.to_string()));
        }
    }
    let wanted = Wanted::from(Origin::Read(input), place, how.allowed.strict);
    run::execute(wanted, &RunOptions::usual(&how), context)
}

/// What there is to say of the words themselves.
fn of_words(line: &CommandLine) -> Vec<Diagnostic> {
    let idle = line.without_effect.iter().map(|(word, why)| {
        Diagnostic::general(Severity::Note, "vdbench-word-idle", format!("{word} has no effect: {why}"))
    });
    let lost = line.lost.iter().map(|(word, instead)| {
        let message = format!("{word} is not honoured");
        Diagnostic {
            help: (*instead).to_owned(),
            ..Diagnostic::general(Severity::Loss, "vdbench-word-lost", message)
        }
    });
    idle.chain(lost).collect()
}

/// The directory that results go to.
fn directory(output: &OutputDirectory) -> Result<PathBuf, Failure> {
    let name = &output.name;
    match output.again {
        Again::Replaced => Ok(PathBuf::from(name)),
        Again::Dated => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(Failure::failed)?;
            let now = Moment::parse("1970-01-01T00:00:00Z").plus_seconds(now.as_secs_f64());
            Ok(PathBuf::from(format!("{name}.{}", now.format("%y%m%d.%H%M%S"))))
        }
        Again::Numbered => {
            let numbered = (1..=NUMBER_MAX).map(|number| PathBuf::from(format!("{name}{number:03}")));
            let free = std::iter::once(PathBuf::from(name)).chain(numbered).find(|path| !path.exists());
            free.ok_or_else(|| {
                Failure::usage(format!("{name}+: {name} to {name}{NUMBER_MAX} are there already"))
            })
        }
    }
}
