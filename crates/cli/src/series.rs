//! What `assay quick` is asked for, and what it says of a series, here and on another machine alike.

use std::path::Path;

use assay_conduct::series::{self, Prepared, Series, SeriesError, stb};
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
  # several hosts, one after the other: one table, with the run before
  assay quick db1:/srv db2:/srv /mnt/data --before
  # as storage-tuner-benchmark is called
  assay quick here /mnt/data '1 file, 1 thread, seq 1M writes, simple'

On another host, an empty directory is the home directory. ASSAY_SSH names the
command to use instead of ssh (ASSAY_SSH='ssh -p 2222'); it takes OpenSSH's
options.")]
pub(crate) struct QuickArgs {
    /// A directory, or [user@]host[:dir]; several of them are measured one after the other. Also 'here DIR', and the name of a test
    #[arg(default_value = ".", value_name = "WHERE")]
    pub(crate) places: Vec<String>,
    /// Show the last earlier run of each place beside it
    #[arg(long)]
    pub(crate) before: bool,
    /// Print a line a test instead of the table, as storage-tuner-benchmark does: 'NAME: N write iops (N% HDD)'
    #[arg(long, conflicts_with_all = ["json", "before"])]
    pub(crate) paste: bool,
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

/// Reads the words as storage-tuner-benchmark does where they are its: `here DIR`, `HOST DIR`, and the name of a test behind. The series
/// is that of the test.
pub(crate) fn take_words(args: &mut QuickArgs) -> Result<(), Failure> {
    let names = |series: &Series, word: &str| (series.tests)().contains(&word);
    let last = args.places.last().cloned().unwrap_or_default();
    if args.places.len() > 1
        && let Some(series) = series::ALL.iter().find(|series| names(series, &last))
    {
        if args.test.as_ref().is_some_and(|test| *test != last) {
            return Err(Failure::usage(format!("two tests are named: '{last}', and one with --test")));
        }
        args.places.pop();
        args.test = Some(last);
        args.series = series.id.to_owned();
    }
    match &args.places[..] {
        [first] if first == "here" && !Path::new(first).exists() => args.places = vec![".".to_owned()],
        [first, dir] if first == "here" && !Path::new(first).exists() => args.places = vec![dir.clone()],
        // A word that is no directory and no host of its own, before a path: a host and its directory.
        [host, dir] if is_bare_host(host) && dir.starts_with(['/', '~']) => {
            let dir = if dir == "~" { "" } else { dir };
            args.places = vec![format!("{host}:{dir}")];
        }
        _ => {}
    }
    let mut seen = std::collections::BTreeSet::new();
    match args.places.iter().find(|place| !seen.insert(*place)) {
        Some(twice) => Err(Failure::usage(format!("{twice} is named twice"))),
        None => Ok(()),
    }
}

fn is_bare_host(word: &str) -> bool {
    let is_name = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '@'));
    is_name && !word.starts_with(['.', '-']) && !Path::new(word).exists()
}

#[cfg(feature = "web")]
impl QuickArgs {
    /// The only place.
    pub(crate) fn place(&self) -> &str {
        self.places.first().map_or(".", String::as_str)
    }

    /// What a page asks for: a series, or one test of it, in a directory of this machine.
    pub(crate) fn of_page(directory: &str, series: &str, test: Option<&str>) -> Self {
        QuickArgs {
            places: vec![directory.to_owned()],
            before: false,
            paste: false,
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        quick: QuickArgs,
    }

    fn words(words: &[&str]) -> Result<(Vec<String>, Option<String>, String), String> {
        let mut args =
            Line::try_parse_from([&["quick"], words].concat()).map_err(|error| error.to_string())?.quick;
        take_words(&mut args).map_err(|failure| failure.to_string())?;
        Ok((args.places, args.test, args.series))
    }

    #[test]
    fn words_of_storage_tuner_benchmark_mean_the_same() {
        let test = "1 file, 1 thread, seq 1M writes, simple";
        let (places, named, series) = words(&["here", "/mnt", test]).expect("words");
        assert_eq!(
            (places, named.as_deref(), series.as_str()),
            (vec!["/mnt".to_owned()], Some(test), "stb-2.1")
        );
        assert_eq!(words(&["here"]).expect("words").0, ["."]);
        assert_eq!(words(&["backup", "/srv"]).expect("words").0, ["backup:/srv"]);
        assert_eq!(words(&["me@backup", "~"]).expect("words").0, ["me@backup:"]);
    }

    #[test]
    fn several_places_are_several() {
        assert_eq!(
            words(&["db1:/srv", "db2:/srv", "/tmp"]).expect("words").0,
            ["db1:/srv", "db2:/srv", "/tmp"]
        );
        assert_eq!(words(&["/tmp", "/var"]).expect("words").0, ["/tmp", "/var"]);
        assert!(words(&["db1:", "db1:"]).expect_err("twice").contains("db1: is named twice"));
        assert_eq!(words(&[]).expect("words").0, ["."]);
    }
}
