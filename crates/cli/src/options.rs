//! Options that several commands share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::foreign::ForeignArgs;

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

#[derive(Debug, Args)]
pub(crate) struct StoredArgs {
    /// A run directory, or the start of a run's id
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
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

/// What a run may lose, and write over.
#[derive(Debug, Args)]
pub(crate) struct AllowArgs {
    /// Treat what a file asks for and cannot be done as an error
    #[arg(long)]
    pub(crate) strict: bool,
    /// Run a file of fio or vdbench although options that change what is tested are not supported
    #[arg(long, conflicts_with = "strict")]
    pub(crate) allow_loss: bool,
    /// Allow writing to this device or over this file; may be given several times
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy_data: Vec<PathBuf>,
}

/// How something is run, whatever says what.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    // The words come from the table of engines.
    #[arg(long, value_name = "ENGINE", help = format!(
        "The I/O path for all jobs: auto, {}, null; or fio: real fio carries out the plan; or sim: it is simulated on --array",
        crate::run::engine_names()
    ))]
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
    #[command(flatten)]
    pub(crate) allowed: AllowArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
