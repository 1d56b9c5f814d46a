//! The command line.

use std::path::PathBuf;

use assay_workload::units::{Bytes, Nanos};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::foreign::ForeignArgs;

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
  5 interrupted, partial result kept.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Colour::Auto, global = true, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Say nothing but results and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Say more: every note on a workload file
    #[arg(long, short, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Where runs are kept [default: $ASSAY_RUNS, else the user's data directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole quick series, without any configuration
    Quick(QuickArgs),
    /// Remove what quick or run left (only directories that Assay made)
    Cleanup(CleanupArgs),
    /// Run a plan, or one of the shipped profiles
    Run(RunArgs),
    /// Run jobs given as options of fio: assay fio --name=a --rw=randread ..
    Fio(crate::fio_command::FioArgs),
    /// Run a plan with Assay and with real fio in turns: do they agree?
    Crosscheck(crate::crosscheck::CrosscheckArgs),
    /// Show where a workload lands on an array: which cores, how much of a cache, and what repairs it
    Audit(crate::audit::AuditArgs),
    /// Show what a plan would do, without doing it
    Plan(PlanArgs),
    /// Write a workload file, or a grid of them, from flags or answers
    New(crate::new::NewArgs),
    /// Rewrite a workload file in another language
    Convert(crate::convert::ConvertArgs),
    /// Say what a word of fio, vdbench, SNIA or Assay means, or what a check is about
    Explain(crate::explain::ExplainArgs),
    /// Hold results against each other: what differs, by how much, and whether that is more than chance
    Compare(crate::compare::CompareArgs),
    /// Run the validity checks on a stored run again
    Check(StoredArgs),
    /// Run another tool and judge its storage traffic by the same checks
    Judge(crate::judge::JudgeArgs),
    /// Look for caches below a target: first touches against re-reads over growing spans
    Probe(crate::probe::ProbeArgs),
    /// Keep a result of fio or vdbench as a run
    Import(crate::import::ImportArgs),
    /// Write a stored run as HTML, CSV or Markdown, or as files of fio or vdbench
    Report(ReportArgs),
    /// List, show, remove or recover stored runs
    Runs(RunsArgs),
    /// Keep a run as a baseline to compare with
    Baseline(BaselineArgs),
    /// Measure Assay's own cost per I/O on this machine
    BenchSelf(BenchSelfArgs),
    /// What this machine offers: engines, limits, devices, helpers
    Doctor(DoctorArgs),
    /// Write a completion script for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # the storage under the current directory
  assay quick
  # and a page with pictures
  assay quick /mnt/data --html report.html
  # which series there are, and what each is for
  assay quick --series list
  assay quick --test '4k random reads, 1 outstanding' --repeat 3
  # another host: Assay is copied there, and removed by cleanup
  assay quick root@backup:/srv

On another host, an empty directory is the home directory. ASSAY_SSH names the
command to use instead of ssh (ASSAY_SSH='ssh -p 2222'); it takes OpenSSH's
options.")]
pub(crate) struct QuickArgs {
    /// A directory, or [user@]host[:dir]
    #[arg(default_value = ".", value_name = "WHERE")]
    pub(crate) place: String,
    /// Only this test
    #[arg(long, value_name = "NAME")]
    pub(crate) test: Option<String>,
    /// Which series; 'list' explains them
    #[arg(long, value_name = "ID", default_value = "assay-1")]
    pub(crate) series: String,
    /// Compare with this baseline ('assay baseline list'); may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Vec<String>,
    /// Run everything so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,
    /// Long windows: about an hour instead of three minutes (assay-1)
    #[arg(long)]
    pub(crate) thorough: bool,
    /// The seed that replays the same order and addresses
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the plan and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Measured time of each window instead of the series' own: for tests of the program itself
    #[arg(long, value_name = "TIME", hide = true)]
    pub(crate) window: Option<Nanos>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Where results go.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print the run as one JSON document on stdout (schema: docs/schemas/run-1.json)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
    /// End with status 3 if the result is not valid
    #[arg(long)]
    pub(crate) require_valid: bool,
}

/// How a workload file is read.
#[derive(Debug, Default, Args)]
pub(crate) struct ReadingArgs {
    /// name=value words for a vdbench file: $name in it stands for the value
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) variables: Vec<String>,
    /// The language of the file: auto, fio, vdbench or toml
    #[arg(long, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: String,
    /// vdbench's hotband as vdbench does it, or with its unit error of 1000 repaired [default: faithful]
    #[arg(long, value_enum, value_name = "UNITS")]
    pub(crate) hotband: Option<Hotband>,
}

/// The units of vdbench's hotband.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hotband {
    /// As vdbench does it: a third of the reads goes to the first MiB of the band
    Faithful,
    /// As its manual means it
    Corrected,
}

#[derive(Debug, Args)]
pub(crate) struct CleanupArgs {
    /// A directory, or [user@]host[:dir]
    #[arg(default_value = ".", value_name = "WHERE")]
    pub(crate) place: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # Assay's own plans (docs/formats/plan.md)
  assay run plan.toml
  # the shipped profiles
  assay run --profile list
  # sized to the space that is there
  assay run --profile real-life --target /mnt/data
  # what it would do
  assay run plan.toml --dry-run
  # a plan that writes to a device must be allowed to
  assay run device.toml --destroy-data /dev/sdx")]
pub(crate) struct RunArgs {
    /// The plan
    #[arg(value_name = "FILE", required_unless_present = "profile")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// A shipped profile instead of a file; 'list' shows them
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub(crate) profile: Option<String>,
    /// Directory for targets with relative paths
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) target: PathBuf,
    /// With --engine sim: the array model, a shipped one or a file ('assay audit --array list')
    #[arg(long, value_name = "NAME|FILE", default_value = crate::audit::source::ARRAY_DEFAULT)]
    pub(crate) array: String,
    /// With --engine sim: size of targets that the file gives no size for
    #[arg(long, value_name = "SIZE", default_value = crate::audit::source::SIZE_DEFAULT)]
    pub(crate) size: Bytes,
    /// Run everything so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    #[command(flatten)]
    pub(crate) steps: crate::steps::StepArgs,
    /// Make the plan smaller by this factor: its files, what it writes, and its measured times ('0.01')
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<f64>,
    /// Measured time of every job that has one: '10s', '5m'
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<String>,
    /// The seed that replays the same operations
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Judge with what a probe found of caches below ('assay probe'): its id, or the start of it
    #[arg(long, value_name = "ID")]
    pub(crate) probe: Vec<String>,
    /// Write every I/O down as CSV (time, operation, offset, length, target, latency): for 'assay audit --trace'
    #[arg(long, value_name = "OUT")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// What a run looks at beside its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Watch {
    /// Counters of devices and processors, and for half a second before and after what others do with the devices
    #[default]
    All,
    /// The counters only: it begins at once, and of others on the device less is known
    Counters,
    /// Nothing: to see what looking costs
    Nothing,
}

impl From<Watch> for assay_runner::Watch {
    fn from(watch: Watch) -> Self {
        match watch {
            Watch::All => assay_runner::Watch::All,
            Watch::Counters => assay_runner::Watch::Counters,
            Watch::Nothing => assay_runner::Watch::Nothing,
        }
    }
}

/// How something is run, whatever says what.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    /// The I/O path for all jobs: auto, io_uring, libaio, psync, posix-aio, null; or fio: real fio carries out the plan; or
    /// sim: it is simulated on --array
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Install fio with this system's package manager where it is missing and needed (as root)
    #[arg(long)]
    pub(crate) install_missing: bool,
    /// What is looked at beside the job itself
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) watch: Watch,
    /// Print the plan and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Treat what a file asks for and Assay cannot do as an error
    #[arg(long)]
    pub(crate) strict: bool,
    /// Run a file of fio or vdbench although options that change what is tested are not supported
    #[arg(long, conflicts_with = "strict")]
    pub(crate) allow_loss: bool,
    /// Allow writing to this device or over this file; may be given several times
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy_data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # every job and clone with everything resolved
  assay plan job.fio
  # the runs of a vdbench file, as vdbench -s lists them
  assay plan parmfile --runs
  # the plan and the diagnostics as one document
  assay plan plan.toml --json")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Only the file's own runs, in the words of its own tool (fio and vdbench files)
    #[arg(long)]
    pub(crate) runs: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoredArgs {
    /// A run directory, or the start of a run's id
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("as").args(crate::foreign::OPTIONS).required(true).multiple(true))]
#[command(
    override_usage = "assay report [OPTIONS] <RUN> (--html FILE | --csv FILE | --md FILE | --fio-json FILE | ..)"
)]
pub(crate) struct ReportArgs {
    /// A run directory, or the start of a run's id
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Write a self-contained page
    #[arg(long, value_name = "FILE", group = "as")]
    pub(crate) html: Option<PathBuf>,
    /// Write a row per job and operation
    #[arg(long, value_name = "FILE", group = "as")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a Markdown table
    #[arg(long, value_name = "FILE", group = "as")]
    pub(crate) md: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
    /// Compare with this baseline; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<RunsAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// All stored runs, newest first (default)
    List,
    /// The result of one
    Show(StoredArgs),
    /// Remove one
    Rm {
        /// A run directory among the stored runs, or the start of a run's id
        run: String,
    },
    /// Make a result of what a killed run left behind
    Recover(StoredArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) action: BaselineAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Keep a run under a name
    Save {
        /// The name
        name: String,
        /// A run directory or the start of a run's id
        run: String,
        /// Replace a saved baseline of that name
        #[arg(long)]
        force: bool,
    },
    /// All baselines, built in and saved
    List,
    /// The figures of one and where they come from
    Show {
        /// The name
        name: String,
    },
    /// Remove a saved one
    Rm {
        /// The name
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BenchSelfArgs {
    /// Seconds per measurement
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) seconds: u64,
    /// Outstanding I/Os to measure with; may be given several times [default: 1, 32 and 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) outstanding: Vec<u32>,
    /// Print one JSON document (schema: docs/schemas/bench-self-1.json)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print one JSON document (schema: docs/schemas/doctor-1.json)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

pub(crate) fn completions(args: &CompletionsArgs, _: &Context) -> Result<Outcome, Failure> {
    clap_complete::generate(args.shell, &mut Cli::command(), "assay", &mut std::io::stdout());
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
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
