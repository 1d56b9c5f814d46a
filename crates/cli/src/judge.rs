//! `assay judge -- COMMAND`: runs any other tool, and judges its storage traffic by the same checks.

use std::path::PathBuf;
use std::sync::Arc;

use assay_fio::{FioFigures, program_of};
use assay_report::terminal;
use assay_results::store::{self, RunDir};
use assay_results::{Run, Verdict};
use assay_runner::observe::{CommandOutput, Followed, Following, ObservedCommand, follow, run_of_followed};
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::options::OutputArgs;
use crate::output::Outputs;
use crate::shown;
use crate::{languages, signals};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # fio's own figures, judged by what the kernel saw
  assay judge -- fio --output-format=json+ job.fio
  assay judge -- dd if=/mnt/data/file of=/dev/null bs=1M
  assay judge --target /var/lib/postgresql --pid 4711 -- pgbench -T 60 bench

What the command works on is found from the files it has open, or named with
--target. What the command prints goes where it always goes; the judgement
goes to stderr, and the run is kept like any other.

Exit status: the command's own, 128 + N where signal N ended it; where it is
  0, 3 with --require-valid and a result that is not valid. What keeps Assay
  from judging ends with 1 (failed) or 2 (usage), as everywhere.")]
pub(crate) struct JudgeArgs {
    /// What the command works on: a file (which it may make), a directory or a device; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) target: Vec<PathBuf>,
    /// Also count this process and its children, such as a server that does the command's I/O; may be given several times
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u32>,
    /// What the run is called [default: the command's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<String>,
}

pub(crate) fn judge(args: &JudgeArgs, context: &Context) -> Result<Outcome, Failure> {
    let fio = FioFigures::of(&args.command);
    let figures = if let FioFigures::In(path) = &fio { Some(path) } else { None };
    let outputs = Outputs::new(args.output.force).reading(args.target.iter().chain(figures));
    let outputs = args.output.checked(outputs)?;
    for path in &args.target {
        // The command may make the file; its directory is not made by accident.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if !path.exists() && parent.is_some_and(|parent| !parent.is_dir()) {
            return Err(Failure::usage(format!(
                "--target {}: there is neither such a file or device nor its directory",
                path.display()
            )));
        }
    }
    for pid in &args.pid {
        if !context.host.exists(format!("/proc/{pid}/stat")) {
            return Err(Failure::usage(format!("--pid {pid}: there is no such process")));
        }
    }
    context.make_runs_root()?;
    let program = program_of(&args.command);
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let site = context.site(signals::stop_flag()?);
    let following = Following {
        host: &context.host,
        pids: &args.pid,
        output: output_of(fio == FioFigures::OnStdout, args.output.json),
        stop: Arc::clone(&site.stop),
    };
    let seen = follow(&args.command, following)?;
    for path in args.target.iter().filter(|path| !path.exists()) {
        context.say(&format!("note: --target {}: not there after the command, either", path.display()));
    }
    let figures = read(&fio, &seen.output);
    if let Some(Err(error)) = &figures {
        context.say(&format!("note: fio's figures could not be read: {error}"));
    }
    let figures = figures.and_then(Result::ok);
    let name = args.name.clone().unwrap_or_else(|| program.clone());
    let followed = Followed { named: &args.target, name: &name, program: &program, started, seen: &seen };
    let run = run_of_followed(followed, figures, &site)?;
    let directory = RunDir::create(&context.runs_root()?, &run.started, &run.name, &run.id)
        .and_then(|directory| directory.write_run(&run).map(|()| directory))
        .map_err(Failure::failed)?;
    show(&run, args, context)?;
    match &args.output.html {
        Some(path) => outputs.write("--html", path, &shown::page(&run, &[], context)?)?,
        None => shown::keep_page(&run, directory.path(), context)?,
    }
    context.say(&format!("kept in {}", directory.path().display()));
    Ok(outcome(&run, &seen, args.output.require_valid))
}

/// Where the command's stdout goes: kept where figures are read from it, to stderr where stdout is for the result.
fn output_of(keep: bool, divert: bool) -> CommandOutput {
    match (keep, divert) {
        (false, false) => CommandOutput::Inherited,
        (keep, false) => CommandOutput::To { writer: Box::new(std::io::stdout()), keep },
        (keep, true) => CommandOutput::To { writer: Box::new(std::io::stderr()), keep },
    }
}

/// The figures as a run, or why there are none; `None`: the command gives no figures.
fn read(fio: &FioFigures, stdout: &str) -> Option<Result<Run, String>> {
    let text = match fio {
        FioFigures::None => return None,
        FioFigures::OnStdout => Ok(stdout.to_owned()),
        FioFigures::In(path) => {
            let text = store::open_regular(path).and_then(std::io::read_to_string);
            text.map_err(|error| format!("{}: {error}", path.display()))
        }
    };
    Some(text.and_then(|text| languages::import(&text).map_err(|error| error.to_string())))
}

fn show(run: &Run, args: &JudgeArgs, context: &Context) -> Result<(), Failure> {
    if args.output.json {
        context.out(&shown::json(run)?);
        return Ok(());
    }
    let style = &context.error_style;
    let mut text = terminal::heading(run, style);
    text.push_str(&terminal::answer(run, style));
    text.push_str(&terminal::run_summary(run, style));
    text.push_str(&shown::findings(run, context));
    context.report(&text);
    Ok(())
}

/// The command's own status; that of the verdict only where the command had none to complain about.
fn outcome(run: &Run, seen: &ObservedCommand, require_valid: bool) -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    let signal = seen.status.signal().map(|signal| 128 + signal);
    let code = seen.status.code().or(signal).unwrap_or(1);
    match code {
        0 if require_valid && run.verdict != Verdict::Valid => Outcome::NotValid,
        0 => Outcome::Done,
        code => Outcome::Passed(code as u8),
    }
}
