//! The command line as a whole. Its options are beside the commands they belong to.

use std::cell::LazyCell;
use std::ffi::OsString;
use std::path::Path;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::completion;
use crate::context::{Context, Global};
use crate::failure::{Failure, Outcome};
use crate::help;

/// A storage benchmark whose numbers can be believed
///
/// Assay measures a disk, a file system or a volume, and says with every number under which conditions it holds and
/// whether anything makes it untrustworthy.
#[derive(Debug, Parser)]
#[command(name = "assay", version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ASSAY_COMMIT"), ")"))]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Examples:
  # how fast is the storage under /mnt/data, in under three minutes
  assay quick /mnt/data
  # the 26 published tests, here
  assay quick --series stb-2.1
  # the same on another host, over ssh
  assay quick admin@db1:/var/lib/data
  assay run --profile real-life --target /mnt/data
  assay run plan.toml --json > run.json
  # what has been measured
  assay runs

Exit status: 0 done; 1 failed; 2 usage or bad input;
  3 not valid (--require-valid); 4 regression (--fail-on);
  5 interrupted, partial result kept; 130 ended at once by a second Ctrl-C
  (143 by SIGTERM), see 'assay runs recover'.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole quick series; needs no configuration
    Quick(crate::series::QuickArgs),
    /// Remove test files of quick and run (only what Assay made)
    Cleanup(crate::cleanup::CleanupArgs),
    /// Run a plan, or one of the shipped profiles
    Run(crate::run::RunArgs),
    /// Run jobs given as options of fio: assay fio --name=a --rw=randread ..
    Fio(crate::fio_command::FioArgs),
    /// Run parameter files by vdbench's own command line: assay vdbench -f FILE -o DIR ..
    Vdbench(crate::vdbench_command::VdbenchArgs),
    /// Run a plan with Assay and with real fio in turns, and show whether they agree
    Crosscheck(crate::crosscheck::CrosscheckArgs),
    /// Show how a workload is spread over an array's cores and caches, and repair it
    Audit(crate::audit::AuditArgs),
    /// Measure transactions of a database (TPC-C-derived) on SQLite or PostgreSQL
    #[cfg(feature = "oltp")]
    Oltp(crate::oltp::OltpArgs),
    /// Not in this build (cargo build --release --features oltp)
    #[cfg(not(feature = "oltp"))]
    Oltp(AbsentArgs),
    /// Build, test (Jetstress-like transactions) and verify mail databases
    #[cfg(feature = "mail")]
    Mail(crate::mail::MailArgs),
    /// Not in this build (cargo build --release --features mail)
    #[cfg(not(feature = "mail"))]
    Mail(AbsentArgs),
    /// Measure storage of a Kubernetes cluster with workers in pods
    #[cfg(feature = "kube")]
    Kube(crate::kube::KubeArgs),
    /// Not in this build (cargo build --release --features kube)
    #[cfg(not(feature = "kube"))]
    Kube(AbsentArgs),
    /// Build the I/O test virtual machine: an image that starts Assay
    #[cfg(feature = "vm")]
    Vm(crate::vm::VmArgs),
    /// Not in this build (cargo build --release --features vm)
    #[cfg(not(feature = "vm"))]
    Vm(AbsentArgs),
    /// Show what a plan would do, without doing it
    Plan(crate::run::PlanArgs),
    /// Measure all combinations of block sizes, mixes, depths and numbers of workers
    Grid(crate::grid::GridArgs),
    /// Write a workload file, or a grid of them, from options or answers
    New(crate::new::NewArgs),
    /// Rewrite a workload file in another language
    Convert(crate::convert::ConvertArgs),
    /// Explain a word of fio, vdbench, SNIA or Assay, or a check
    Explain(crate::explain::ExplainArgs),
    /// Compare results: what differs, by how much, and is it more than run-to-run variation
    Compare(crate::compare::CompareArgs),
    /// Run the validity checks on a stored run again
    Check(crate::options::StoredArgs),
    /// Run another tool and check its storage traffic like a run of Assay
    Judge(crate::judge::JudgeArgs),
    /// Find caches below a target: first reads against re-reads over growing areas
    Probe(crate::probe::ProbeArgs),
    /// Import a result of fio or vdbench, or an exported run, as a run
    Import(crate::import::ImportArgs),
    /// Write a stored run as a page, workbook, CSV, Markdown, .. or files of fio or vdbench
    Report(crate::check::ReportArgs),
    /// List, show, export, remove or recover stored runs
    Runs(crate::runs::RunsArgs),
    /// Serve a page of stored runs, trends and comparisons; start a run there and watch it
    #[cfg(feature = "web")]
    Serve(crate::serve::ServeArgs),
    /// Not in this build (cargo build --release --features web)
    #[cfg(not(feature = "web"))]
    Serve(AbsentArgs),
    /// Store a run as a baseline to compare with
    Baseline(crate::baseline::BaselineArgs),
    /// Measure Assay's own cost per I/O on this machine
    BenchSelf(crate::bench_self::BenchSelfArgs),
    /// Show what this machine offers: engines, limits, devices, helper programs
    Doctor(crate::doctor::DoctorArgs),
    /// Write a completion script for a shell (assay man: a manual page)
    Completions(CompletionsArgs),
    /// Write a manual page: assay man | man -l -
    #[command(hide = true)]
    Man(ManArgs),
    /// Do the part of another Assay's run that it asks for: join a run that waits for workers (--on attach:N)
    Worker(crate::on::WorkerArgs),
}

/// What is said instead of a command that this build does not have.
#[cfg(not(feature = "oltp"))]
pub(crate) const NO_OLTP: &str =
    "this build has no 'oltp'; build one with cargo build --release --features oltp";

/// The same of mail.
#[cfg(not(feature = "mail"))]
pub(crate) const NO_MAIL: &str =
    "this build has no 'mail'; build one with cargo build --release --features mail";

/// The same of kube.
#[cfg(not(feature = "kube"))]
pub(crate) const NO_KUBE: &str =
    "this build has no 'kube'; build one with cargo build --release --features kube";

/// The same of virtual machines.
#[cfg(not(feature = "vm"))]
pub(crate) const NO_VM: &str = "this build has no 'vm'; build one with cargo build --release --features vm";

/// The same of the page.
#[cfg(not(feature = "web"))]
pub(crate) const NO_SERVE: &str =
    "this build has no 'serve'; build one with cargo build --release --features web";

/// Options of a command that this build does not have.
#[cfg(not(all(feature = "kube", feature = "mail", feature = "oltp", feature = "vm", feature = "web")))]
#[derive(Debug, Args)]
pub(crate) struct AbsentArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, context: &Context) -> Result<Outcome, Failure> {
    context.out(&completion::script(args.shell)?);
    Ok(Outcome::Done)
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The command to describe [default: assay itself]
    pub(crate) command: Option<String>,
}

pub(crate) fn man(args: &ManArgs, context: &Context) -> Result<Outcome, Failure> {
    let mut all = help::dressed(Cli::command());
    all.build();
    let described = match &args.command {
        None => all,
        Some(name) => all.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
            Failure::usage(format!("no command '{name}'; available: {}", known.join(", ")))
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(described).render(&mut page).map_err(Failure::failed)?;
    context.out(&String::from_utf8(page).map_err(Failure::failed)?);
    Ok(Outcome::Done)
}

/// What the words of a command line ask for.
/// All commands with their options.
pub(crate) fn all() -> clap::Command {
    Cli::command()
}

pub(crate) fn parse(words: &[impl Into<OsString> + Clone]) -> Result<Cli, clap::Error> {
    let mut all = help::dressed(Cli::command());
    let matches = all.try_get_matches_from_mut(words.iter().cloned())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut all))
}

/// The words of the command line, those of `assay fio` in Assay's order.
pub(crate) fn words() -> Vec<OsString> {
    let all = LazyCell::new(|| {
        let mut all = Cli::command();
        all.build();
        all
    });
    let own = |command: &str, name: &str| {
        let mut arguments = all.find_subcommand(command)?.get_arguments();
        Some(arguments.find(|argument| argument.get_long() == Some(name))?.get_action().takes_values())
    };
    let words = vdbench_in_order(std::env::args_os().collect(), &|name| own("vdbench", name));
    assay_fio::in_order(words, &|name| own("fio", name))
}

/// By the name `vdbench`, words are those of `assay vdbench`; its own options have one hyphen, those of Assay two.
fn vdbench_in_order(mut words: Vec<OsString>, own: &dyn Fn(&str) -> Option<bool>) -> Vec<OsString> {
    if words.first().is_some_and(|name| Path::new(name).file_name() == Some("vdbench".as_ref())) {
        words.insert(1, "vdbench".into());
    }
    if words.get(1).is_none_or(|command| command != "vdbench") || words.len() < 3 || words[2] == "-h" {
        return words;
    }
    let mut rest = words.split_off(2).into_iter();
    let mut others = vec![OsString::from("--")];
    while let Some(word) = rest.next() {
        let Some(body) = word.to_str().and_then(|word| word.strip_prefix("--")) else {
            others.push(word);
            continue;
        };
        let takes_next = !body.contains('=') && own(body) == Some(true);
        words.push(word);
        words.extend(takes_next.then(|| rest.next()).flatten());
    }
    if others.len() > 1 {
        words.append(&mut others);
    }
    words
}

/// The help of one command.
pub(crate) fn help_of(name: &str) -> String {
    let mut command = help::dressed(Cli::command());
    command.build();
    command.find_subcommand_mut(name).map_or_else(String::new, |found| found.render_long_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    /// With `ASSAY_UPDATE_SCHEMAS` set, writes the page instead.
    #[test]
    fn the_reference_of_commands_is_the_help() {
        use std::fmt::Write as _;

        let mut all = Cli::command().term_width(100);
        all.build();
        let mut page = String::from(
            "# Commands\n\nEvery command with all of its options; `assay COMMAND --help` says more, `-h` less.\n",
        );
        for command in all.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            let help = command.render_help().to_string();
            let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
            let _ = write!(
                page,
                "\n## assay {}\n\n```text\n{}\n```\n",
                command.get_name(),
                lines.join("\n").trim_end()
            );
        }
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/commands.md");
        if std::env::var_os("ASSAY_UPDATE_SCHEMAS").is_some() {
            std::fs::write(path, &page).expect("the page can be written");
        }
        let written = std::fs::read_to_string(path).expect("the page is there");
        assert!(
            written == page,
            "docs/reference/commands.md is out of date; set ASSAY_UPDATE_SCHEMAS and test again"
        );
    }

    #[test]
    fn every_option_is_explained() {
        fn walk(command: &clap::Command) {
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(walk);
        }
        walk(&Cli::command());
    }
}
