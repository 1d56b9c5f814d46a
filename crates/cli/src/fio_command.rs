//! `assay fio --name=.. --rw=..`: fio's command line as people have it in their fingers, run like a job file.

use std::path::PathBuf;

use clap::Args;

use crate::args::{HowArgs, ReadingArgs, RunArgs};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
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
    #[command(flatten)]
    pub(crate) how: HowArgs,
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
        fio_words: args.words,
        repeat: 1,
        steps: Default::default(),
        scale: None,
        runtime: None,
        seed: None,
        probe: Vec::new(),
        how: args.how,
    };
    run::run(&run, context)
}
