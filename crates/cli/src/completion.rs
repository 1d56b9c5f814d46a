//! What a shell completes: besides words of the command line, the ids of stored runs and the names of baselines, series, tests,
//! profiles, arrays, engines and terms. The shell calls this very program for it, which nothing else does: [`VARIABLE`] is set then.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;

use assay_conduct::series;
use assay_formats::native::profiles;
use assay_formats::terms;
use assay_results::baseline;
use assay_results::store;
use assay_workload::job::EngineKind;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use crate::failure::Failure;

/// Set by the scripts that `assay completions` writes.
const VARIABLE: &str = "ASSAY_COMPLETE";
/// More runs than this are not offered: the newest are.
const RUNS_MAX: usize = 200;

/// Answers a shell, if one asks; whether one did.
pub(crate) fn answered(command: fn() -> Command) -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    let directory = std::env::current_dir().ok();
    let all = || with_values(command());
    let answer =
        CompleteEnv::with_factory(all).var(VARIABLE).try_complete(std::env::args_os(), directory.as_deref());
    // A shell shows nothing of what goes wrong here, and completes nothing.
    answer.unwrap_or(true)
}

/// The script for a shell.
pub(crate) fn script(shell: clap_complete::Shell) -> Result<String, Failure> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let known =
        shells.completer(&name).ok_or_else(|| Failure::usage(format!("no completions for {name}")))?;
    let mut script = Vec::new();
    known.write_registration(VARIABLE, "assay", "assay", "assay", &mut script).map_err(Failure::failed)?;
    String::from_utf8(script).map_err(Failure::failed)
}

/// The command line with what its values may be.
fn with_values(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |all, name| all.mut_subcommand(name, with_values));
    command.mut_args(with_value)
}

fn with_value(arg: Arg) -> Arg {
    let Some(values) = values_of(&arg) else { return arg };
    arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let starts =
            |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(typed.as_ref());
        values().into_iter().filter(starts).collect::<Vec<_>>()
    }))
}

/// What lists the values of an option or argument; `None`: clap knows them, or they are anything.
fn values_of(arg: &Arg) -> Option<fn() -> Vec<CompletionCandidate>> {
    let found: fn() -> Vec<CompletionCandidate> = match (arg.get_long(), value_name(arg)) {
        (Some("vs"), _) | (None, "RUN") => runs,
        (Some("tag"), _) | (None, "TAG") => tags,
        (Some("engine"), _) => engines,
        (Some("baseline"), _) => baselines,
        (Some("series"), _) => all_series,
        (Some("test"), _) => tests,
        (Some("profile"), _) => all_profiles,
        (Some("array"), _) => arrays,
        (None, "TERM") => all_terms,
        _ => return None,
    };
    Some(found)
}

fn value_name(arg: &Arg) -> &str {
    arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

fn candidate(value: &str, help: String) -> CompletionCandidate {
    let help = Some(help).filter(|help| !help.is_empty());
    CompletionCandidate::new(value).help(help.map(Into::into))
}

fn entries() -> Vec<store::RunEntry> {
    let of = std::env::var_os;
    let root =
        store::runs_root(of("ASSAY_RUNS").as_deref(), of("XDG_DATA_HOME").as_deref(), of("HOME").as_deref());
    root.and_then(|root| store::list(&root).ok()).unwrap_or_default()
}

/// Tags that stored runs have.
fn tags() -> Vec<CompletionCandidate> {
    let all: BTreeSet<String> = entries().into_iter().flat_map(|entry| entry.tags).collect();
    // The script for bash takes a word with a blank for two.
    let blanks = std::env::var_os(VARIABLE).is_some_and(|shell| shell != "bash");
    let all: Vec<&String> = all.iter().filter(|tag| blanks || !tag.contains(' ')).collect();
    all.into_iter().map(|tag| candidate(tag, String::new())).collect()
}

/// Ids of stored runs, the newest first.
fn runs() -> Vec<CompletionCandidate> {
    let mut entries = entries();
    entries.sort_by(|a, b| b.started.cmp(&a.started));
    let words = |entry: &store::RunEntry| {
        let name = entry.name.clone().unwrap_or_default();
        format!("{name} {}", entry.started.clone().unwrap_or_default())
    };
    let last = (!entries.is_empty()).then(|| candidate("last", "the newest run".to_owned()));
    let ids = entries.iter().take(RUNS_MAX).map(|entry| candidate(&entry.id, words(entry)));
    last.into_iter().chain(ids).collect()
}

fn baselines() -> Vec<CompletionCandidate> {
    let of = std::env::var_os;
    let named = of("ASSAY_RUNS").filter(|root| !root.is_empty()).map(PathBuf::from);
    let root = named.or_else(|| store::data_root(of("XDG_DATA_HOME").as_deref(), of("HOME").as_deref()));
    let found = root.and_then(|root| baseline::list(&root.join("baselines")).ok()).unwrap_or_default();
    found.iter().map(|one| candidate(&one.name, String::new())).collect()
}

fn engines() -> Vec<CompletionCandidate> {
    EngineKind::ALL.iter().map(|kind| candidate(kind.name(), String::new())).collect()
}

fn all_series() -> Vec<CompletionCandidate> {
    series::ALL.iter().map(|one| candidate(one.id, one.summary.to_owned())).collect()
}

fn tests() -> Vec<CompletionCandidate> {
    let of = |one: &series::Series| {
        (one.tests)().into_iter().map(|test| candidate(test, one.id.to_owned())).collect::<Vec<_>>()
    };
    series::ALL.iter().flat_map(of).collect()
}

fn all_profiles() -> Vec<CompletionCandidate> {
    profiles().iter().map(|one| candidate(one.name, String::new())).collect()
}

fn arrays() -> Vec<CompletionCandidate> {
    assay_sim::model::SHIPPED.iter().map(|one| candidate(one.name, String::new())).collect()
}

fn all_terms() -> Vec<CompletionCandidate> {
    terms::all()
        .flat_map(|term| term.words().map(|word| candidate(word, String::new())).collect::<Vec<_>>())
        .collect()
}
