//! `assay fio --name=.. --rw=..`: fio's command line as people have it in their fingers, run like a job file.

use std::path::PathBuf;

use clap::Args;

use crate::args::{OutputArgs, ReadingArgs, RunArgs};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::foreign::ForeignArgs;
use crate::run;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  assay fio --name=a --filename=/mnt/data/a --size=1g --rw=randread --iodepth=32
  # what it would do
  assay fio --dry-run --name=a --size=1g --rw=write
  # the same, by real fio
  assay fio --engine fio --name=a --size=1g --rw=write

Options of Assay come before the first option of fio.")]
pub(crate) struct FioArgs {
    /// The I/O path for all jobs, or fio: real fio runs them
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// Install fio with this system's package manager where it is missing and needed (as root)
    #[arg(long)]
    pub(crate) install_missing: bool,
    /// Print the plan and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Treat what fio can do and Assay cannot as an error
    #[arg(long)]
    pub(crate) strict: bool,
    /// Allow writing to this device or over this file; may be given several times
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy_data: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) foreign: ForeignArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Options of fio, and job files
    #[arg(value_name = "FIO", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

pub(crate) fn fio(args: FioArgs, context: &Context) -> Result<Outcome, Failure> {
    let run = RunArgs {
        array: crate::audit::source::ARRAY_DEFAULT.to_owned(),
        size: crate::audit::source::size_default(),
        trace: None,
        file: None,
        reading: ReadingArgs::default(),
        profile: None,
        target: PathBuf::from("."),
        engine: args.engine,
        install_missing: args.install_missing,
        fio_words: args.words,
        repeat: 1,
        steps: Default::default(),
        scale: None,
        runtime: None,
        seed: None,
        probe: Vec::new(),
        unwatched: false,
        dry_run: args.dry_run,
        strict: args.strict,
        destroy_data: args.destroy_data,
        foreign: args.foreign,
        output: args.output,
    };
    run::run(&run, context)
}
