//! What `assay quick` is asked for, and what it says of a series, here and on another machine alike.

use std::path::Path;

use assay_conduct::series::{Prepared, Series, SeriesError, stb};
use assay_formats::near;
use assay_workload::units::{Bytes, Nanos};
use clap::Args;

use crate::context::Context;
use crate::failure::Failure;
use crate::options::{OutputArgs, ScreenArgs};

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
    /// The series to run; 'list' explains them
    #[arg(long, value_name = "ID", default_value = "assay-1")]
    pub(crate) series: String,
    /// Compare with this baseline ('assay baseline list'); may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Vec<String>,
    /// Run everything N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,
    /// Long windows: about an hour instead of three minutes (assay-1)
    #[arg(long)]
    pub(crate) thorough: bool,
    /// Seed: the same seed gives the same order and addresses
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print the plan and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Measured time of each window instead of the series' own: for tests of the program itself
    #[arg(long, value_name = "TIME", hide = true)]
    pub(crate) window: Option<Nanos>,
    #[command(flatten)]
    pub(crate) screen: ScreenArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[cfg(feature = "web")]
impl QuickArgs {
    /// What a page asks for: a series, or one test of it, in a directory of this machine.
    pub(crate) fn of_page(directory: &str, series: &str, test: Option<&str>) -> Self {
        QuickArgs {
            place: directory.to_owned(),
            test: test.map(str::to_owned),
            series: series.to_owned(),
            baseline: Vec::new(),
            repeat: 1,
            thorough: false,
            seed: None,
            dry_run: false,
            window: None,
            screen: ScreenArgs::default(),
            output: OutputArgs::default(),
        }
    }
}

pub(crate) fn check_test(test: Option<&str>, series: &Series) -> Result<(), Failure> {
    let Some(name) = test else { return Ok(()) };
    let names = (series.tests)();
    if names.contains(&name) {
        return Ok(());
    }
    let hint = match near::nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("'assay quick --series list' shows them; the first is '{}'", names[0]),
    };
    Err(Failure::usage(format!("series {} has no test '{name}'; {hint}", series.id)))
}

/// The tests of `stb-2.1` that were asked for, where `available` bytes may be used.
pub(crate) fn stb_tests(args: &QuickArgs, available: u64) -> Result<Prepared, Failure> {
    let mut prepared = stb::prepare(args.test.as_deref(), args.repeat, available).map_err(series_failure)?;
    if let Some(window) = args.window {
        let jobs = prepared.workload.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
        jobs.filter_map(|job| job.limits.time.as_mut()).for_each(|time| *time = window);
    }
    Ok(prepared)
}

pub(crate) fn series_failure(error: SeriesError) -> Failure {
    match error {
        SeriesError::UnknownTest { .. } => Failure::usage(error),
        SeriesError::NoSpace { .. } => Failure::failed(error),
    }
}

/// Says what is going to be written before anything is.
pub(crate) fn announce(prepared: &Prepared, directory: &Path, context: &Context) {
    let minutes = prepared.expected_s / 60.0;
    context.say(&format!(
        "{}, about {:.0} min {:02.0} s, on {} of files in {}",
        assay_report::format::plural(prepared.workload.phases.len() as u64, "test"),
        minutes.floor(),
        (minutes.fract() * 60.0).floor(),
        prepared.files,
        directory.display(),
    ));
    let writes = prepared.workload.phases.iter().flat_map(|phase| &phase.jobs);
    let written: f64 = writes
        .filter_map(|job| Some(job.limits.time?.as_secs_f64() * job.pattern.mix.write_percent / 100.0))
        .sum();
    context.say(&format!(
        "will write the files ({}) and then as much as the storage takes in {written:.0} s of writing",
        Bytes(prepared.files.0.max(prepared.fixed_writes.0)),
    ));
}
