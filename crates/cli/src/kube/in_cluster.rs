//! `assay kube run --in-cluster` and `assay kube collect`: the coordinator is a Job, and what is here follows it and takes its run.

use std::io::{Read as _, Write as _};
use std::path::Path;

use assay_fleet::kube::coordinator::Coordinator;
use assay_fleet::kube::manifests::Errand;
use assay_results::Verdict;
use assay_results::store::Bundle;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, CommandFactory as _};

use super::{KubeRunArgs, WhereArgs};
use crate::command_line::Cli;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::import::Content;
use crate::options::OutputArgs;
use crate::output::Outputs;
use crate::{pipe, shown, signals};

/// A ConfigMap holds 1 MiB, and more than the plan is in it.
const PLAN_BYTES_MAX: u64 = 900 << 10;
/// The longest name of such a run: its workers' names are longer.
const ID_MAX: usize = 28;
/// What holds here, and not in the cluster.
const HERE: [&str; 16] = [
    "in_cluster",
    "account",
    "file",
    "context",
    "namespace",
    "id",
    "json",
    "html",
    "force",
    "require_valid",
    "live",
    "color",
    "quiet",
    "verbose",
    "out",
    "help",
];
/// What is written of the results of a run where it is measured.
const NOT_THERE: [&str; 6] = ["dry_run", "fio_json", "fio_json_plus", "fio_logs", "vdbench", "trace"];

#[derive(Debug, Args)]
pub(crate) struct CollectArgs {
    /// The run, as 'assay kube run --in-cluster' named it
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    place: WhereArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Begins a run whose coordinator is in the cluster, and follows it.
pub(super) fn run(args: &KubeRunArgs, account: &str, context: &Context) -> Result<Outcome, Failure> {
    let options = args.pods.with_one_class()?;
    if options.id.as_ref().is_some_and(|id| id.len() > ID_MAX) {
        return Err(Failure::usage(format!(
            "--id: a run with a coordinator in the cluster has {ID_MAX} letters at most"
        )));
    }
    let outputs = args.run.how.output.checked(Outputs::new(args.run.how.output.force))?;
    let words = words(&Cli::command(), std::env::args_os())?;
    let (file, text) = plan(args.run.file.as_deref())?;
    let stop = signals::stop_flag()?;
    let cluster = args.pods.place.connect(std::sync::Arc::clone(&stop))?;
    let errand = Errand { account, file: &file, text: &text, words: &words };
    let coordinator = Coordinator::begin(cluster, &options, &errand, &context.sayer())?;
    follow(coordinator, &stop, &args.run.how.output, &outputs, context)
}

/// Follows a run that was begun before.
pub(super) fn collect(args: &CollectArgs, context: &Context) -> Result<Outcome, Failure> {
    let outputs = args.output.checked(Outputs::new(args.output.force))?;
    let stop = signals::stop_flag()?;
    let cluster = args.place.connect(std::sync::Arc::clone(&stop))?;
    let coordinator = Coordinator::find(cluster, &args.id, &context.sayer())?;
    follow(coordinator, &stop, &args.output, &outputs, context)
}

fn follow(
    coordinator: Coordinator,
    stop: &std::sync::atomic::AtomicBool,
    output: &OutputArgs,
    outputs: &Outputs,
    context: &Context,
) -> Result<Outcome, Failure> {
    let mut say = |said: &[u8]| drop(std::io::stderr().write_all(said));
    let ended = coordinator.follow(stop, &mut say)?;
    if ended.bundle.is_empty() {
        coordinator.dismiss()?;
        return Ok(Outcome::Passed(ended.status));
    }
    let bundle = Bundle::read(&ended.bundle)
        .map_err(|error| Failure::failed(format!("what the coordinator sent is no run: {error}")))?;
    let kept = Content::Bundle(Box::new(bundle)).store(&context.runs_root()?).map_err(Failure::failed)?;
    let run = kept.run;
    // Now it is here, and no longer needed there.
    coordinator.dismiss()?;
    if output.json {
        context.out(&shown::json(&run)?);
    } else {
        shown::show(&run, &[], context)?;
    }
    context.say(&format!("kept in {}", kept.directory.display()));
    let outcome = shown::finish(&run, output, outputs, context)?;
    Ok(match ended.status {
        0 => outcome,
        status if run.verdict == Verdict::Valid => Outcome::Passed(status),
        status => Outcome::Passed(status.max(outcome.code())),
    })
}

/// The plan's name in the cluster, and its text.
fn plan(file: Option<&Path>) -> Result<(String, String), Failure> {
    let file = file.ok_or_else(|| Failure::usage("name the file of the plan"))?;
    let shown = file.display();
    if file == Path::new("-") {
        return Err(Failure::usage("--in-cluster takes a file: what is read from stdin is not sent"));
    }
    let mut bytes = Vec::new();
    let read = pipe::open(file).and_then(|source| source.take(PLAN_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    if bytes.len() as u64 > PLAN_BYTES_MAX {
        return Err(Failure::usage(format!("{shown} is larger than {} KiB", PLAN_BYTES_MAX >> 10)));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{shown} is not text")))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.chars().map(|c| if allowed(c) { c } else { '-' }).collect();
    Ok((format!("plan-{name}"), text))
}

/// The words of `assay kube run` that hold in the cluster.
fn words(
    command: &Command,
    line: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone>,
) -> Result<Vec<String>, Failure> {
    let mut command = command.clone();
    let all = command.try_get_matches_from_mut(line).map_err(Failure::usage)?;
    let found = all.subcommand_matches("kube").and_then(|kube| kube.subcommand_matches("run"));
    let described = command.find_subcommand("kube").and_then(|kube| kube.find_subcommand("run"));
    let (Some(found), Some(described)) = (found, described) else { return Ok(Vec::new()) };
    words_of(described, found)
}

fn words_of(command: &Command, found: &ArgMatches) -> Result<Vec<String>, Failure> {
    let (mut words, mut behind) = (Vec::new(), Vec::new());
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        if HERE.contains(&id) || found.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if NOT_THERE.contains(&id) {
            return Err(Failure::usage(format!(
                "--in-cluster does not go with --{}; 'assay report' writes it of the run that is fetched",
                id.replace('_', "-")
            )));
        }
        let values =
            || found.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy().into_owned());
        match arg.get_long() {
            Some(long) if arg.get_action().takes_values() => {
                words.extend(values().map(|value| format!("--{long}={value}")));
            }
            Some(long) => words.push(format!("--{long}")),
            None => behind.extend(values()),
        }
    }
    words.extend(behind);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_there_is_said_again_and_nothing_else() {
        let line = "assay kube run a.toml --in-cluster --account runner --workers 200 --storage-class fast --node-selector disk=nvme \
                    --toleration=gpu -n bench --json --id big --repeat 3 --keep --quiet --watch nothing";
        let words = words(&Cli::command(), line.split_whitespace()).expect("words");
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.sort_unstable();
        assert_eq!(
            words,
            [
                "--keep",
                "--node-selector=disk=nvme",
                "--repeat=3",
                "--storage-class=fast",
                "--toleration=gpu",
                "--watch=nothing",
                "--workers=200"
            ]
        );
        let line = "assay kube run a.toml --in-cluster --account runner --dry-run";
        let why = super::words(&Cli::command(), line.split_whitespace()).expect_err("not there");
        assert!(why.to_string().contains("--dry-run"), "{why}");
    }
}
