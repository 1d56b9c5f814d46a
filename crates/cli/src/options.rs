//! Options that several commands share.

use std::path::{Path, PathBuf};

use assay_host::HostRoot;
use assay_host::guard::Consent;
use clap::{Args, ValueEnum};

use assay_workload::Plan;
use assay_workload::job::EngineKind;

use crate::context::Context;
use crate::failure::Failure;
use crate::foreign::ForeignArgs;
use crate::standing_consent::{self, Standing};

/// Where results go.
#[derive(Debug, Default, Args)]
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

/// How a run is shown while it goes on.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct ScreenArgs {
    /// Show a whole screen while it runs: rates, percentiles, workers, findings (on a terminal)
    #[arg(long)]
    pub(crate) live: bool,
}

/// What a run looks at beside its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Watch {
    /// Device and CPU counters, and for half a second before and after, what other processes do with the devices
    #[default]
    All,
    /// Counters only: starts at once, but other users of the device are seen less well
    Counters,
    /// Nothing: shows what monitoring costs
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
    /// Fail if the file uses anything Assay does not support
    #[arg(long)]
    pub(crate) strict: bool,
    /// Run a file of fio or vdbench although options that change what is tested are not supported
    #[arg(long, conflicts_with = "strict")]
    pub(crate) allow_loss: bool,
    /// Allow writing to this device or over this file; may be given several times
    ///
    /// So do the names in $ASSAY_CONSENT and in the file .assay-consent that was written for the working directory.
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy_data: Vec<PathBuf>,
    /// With --destroy-data: also where the device has partitions or carries a signature, or where that cannot be told. Never
    /// covers a device that is in use
    #[arg(long, requires = "destroy_data")]
    pub(crate) really: bool,
}

impl AllowArgs {
    /// The targets that may be destroyed: those of the command line, and those of `ASSAY_CONSENT` and `.assay-consent`, which
    /// `--really` never covers.
    ///
    /// # Errors
    /// What is wrong with the environment or the file.
    pub(crate) fn named(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut named = self.destroy_data.clone();
        named.extend(self.standing()?.into_iter().map(|standing| standing.path));
        Ok(named)
    }

    fn standing(&self) -> Result<Vec<Standing>, Failure> {
        if self.really { Ok(Vec::new()) } else { standing_consent::targets(Path::new(".")) }
    }

    /// Says what beside the command line consents to writing over a target of the plan.
    ///
    /// # Errors
    /// As [`AllowArgs::named`].
    pub(crate) fn say_standing(&self, plan: &Plan, context: &Context) -> Result<(), Failure> {
        standing_consent::say(&self.standing()?, plan, context);
        Ok(())
    }

    /// What may be destroyed.
    ///
    /// # Errors
    /// As [`AllowArgs::named`].
    pub(crate) fn consent(&self, host: &HostRoot) -> Result<Consent, Failure> {
        Ok(Consent::naming(host, &self.named()?).really(self.really))
    }
}

/// How something is run, whatever says what.
#[derive(Debug, Args)]
pub(crate) struct HowArgs {
    // The words come from the table of engines.
    #[arg(long, value_name = "ENGINE", help = format!(
        "The I/O engine of all jobs: auto, {}, null; fio (real fio runs the plan) or sim (simulated on --array)",
        engine_names()
    ))]
    pub(crate) engine: Option<String>,
    /// Install fio with this system's package manager if it is needed and missing (as root)
    #[arg(long)]
    pub(crate) install_missing: bool,
    /// What is monitored besides the jobs
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) watch: Watch,
    /// Print the plan and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
    /// Execute the commands that a file of fio or vdbench names (exec_prerun, startcmd, ..), by a shell, for at most 60 s each.
    /// They are never executed otherwise
    #[arg(long, conflicts_with = "strict")]
    pub(crate) allow_exec: bool,
    #[command(flatten)]
    pub(crate) allowed: AllowArgs,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The names of our engines that do I/O, for help texts.
pub(crate) fn engine_names() -> String {
    let ours = EngineKind::ALL.into_iter().filter(|kind| kind.is_native() && *kind != EngineKind::Null);
    ours.map(EngineKind::name).collect::<Vec<_>>().join(", ")
}
