//! `assay grid`: workloads made of lists of numbers, on one or several numbers of workers, as HCIBench's easy run. Each cell is a run
//! of its own, kept as it ends, so that a grid that was stopped goes on where it was.

mod cells;
mod kept;

use std::path::{Path, PathBuf};

use assay_conduct::grid::percent;
use assay_report::format::plural;
use assay_report::{html, terminal};
use assay_results::run::Verdict;
use assay_results::worker_grid::{WorkerCell, WorkerGrid};
use assay_runner::Site;
use assay_workload::units::{Bytes, Nanos};
use clap::{Args, ValueEnum};

use crate::context::{Context, shell_word};
use crate::failure::{Failure, Outcome};
use crate::help;
use crate::on::{self, OnArgs};
use crate::options::HowArgs;
use crate::output::Outputs;
use crate::run::RunOptions;
use crate::{apps, shown, signals};
use cells::Asked;

/// Options that a grid keeps to its end: one that is gone on with takes no others.
const FIXED: [&str; 28] = [
    "workers",
    "targets",
    "target",
    "directory",
    "size",
    "working_set",
    "block_size",
    "read",
    "random",
    "outstanding",
    "prefill",
    "runtime",
    "warm_up",
    "repeat",
    "latency_target",
    "group",
    "buffered",
    "seed",
    "output",
    "on",
    "listen",
    "on_loss",
    "lost_after",
    "share",
    "engine",
    "watch",
    "dry_run",
    "strict",
];

/// Its page.
const PAGE_FILE: &str = "grid.html";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # 8 files and 8 outstanding I/Os on each, of each of 4 workers, three times
  assay grid --on ssh:db1,db2,db3,db4 --targets 8 --outstanding 8 --repeat 3
  # how far it scales, and where the curve bends
  assay grid --on local --workers 1,2,4,8 --targets 1 --size 1g
  # all combinations, each at the highest rate whose p95 stays below 1 ms
  assay grid --block-size 4k,8k --read 100,70 --latency-target low
  # a mix: three workers with one workload, one with another
  assay grid --on local --group 3=oltp.toml --group 1=backup.fio
  # after a crash, or Ctrl-C
  assay grid --resume DIR")]
pub(crate) struct GridArgs {
    /// Numbers of workers, each measured [default: all that --on names]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4000))]
    pub(crate) workers: Vec<u32>,
    /// Numbers of files of each worker, each measured
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) targets: Vec<u32>,
    /// A file or device of each worker instead; may be given several times
    #[arg(long, value_name = "PATH", conflicts_with = "targets")]
    pub(crate) target: Vec<String>,
    /// The directory that the files are in, on each worker
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
    /// Size of each file
    #[arg(long, value_name = "SIZE", default_value = "1g")]
    pub(crate) size: Bytes,
    /// Percentage of each target to use
    #[arg(long, value_name = "PERCENT", default_value = "100", value_parser = percent)]
    pub(crate) working_set: f64,
    /// Block sizes
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4k")]
    pub(crate) block_size: Vec<Bytes>,
    /// Percentages of reads
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "100", value_parser = percent)]
    pub(crate) read: Vec<f64>,
    /// Percentages of random I/Os; the others are sequential
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "100", value_parser = percent)]
    pub(crate) random: Vec<f64>,
    /// Numbers of outstanding I/Os on each target
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) outstanding: Vec<u32>,
    /// What targets hold before the first cell
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) prefill: Prefill,
    /// Measured time of each repetition
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) runtime: Nanos,
    /// Time before it that is not measured
    #[arg(long, visible_alias = "ramp", value_name = "TIME", default_value = "0s")]
    pub(crate) warm_up: Nanos,
    /// Measure each cell N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// The highest rate whose p95 stays below a target: of I/Os below 64 KiB 1, 3 or 5 ms, of larger ones 3, 5 or 10 ms
    #[arg(long, value_name = "TARGET", value_enum, default_value_t)]
    pub(crate) latency_target: LatencyTarget,
    /// So many workers with a workload file of their own, beside other groups; may be given several times
    #[arg(long, value_name = "N=FILE", conflicts_with_all = ["workers", "targets", "target", "block_size", "read", "random", "outstanding", "latency_target"])]
    pub(crate) group: Vec<String>,
    /// Go through the page cache
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Seed: the same seed gives the same operations
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// The directory that the grid is kept in [default: one of its own beside the runs]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Go on with a grid that was stopped: its finished cells are kept
    ///
    /// What is measured, and how, stays as the grid was begun, and it goes on in the directory that it was begun in. Beside it go
    /// --destroy-data and --really, which are given anew, and options of the output.
    #[arg(long, value_name = "DIR", conflicts_with_all = FIXED.iter().chain(help::VM).copied())]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

/// What targets hold before the first cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Prefill {
    /// Zeros, written in sequence: a storage that detects zeros stores nothing
    Zero,
    /// Incompressible data, written in sequence
    #[default]
    Random,
}

/// HCIBench's modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LatencyTarget {
    /// No target
    #[default]
    Max,
    /// 1 ms; 3 ms of large I/Os
    Low,
    /// 3 ms; 5 ms
    Medium,
    /// 5 ms; 10 ms
    High,
}

pub(crate) fn grid(args: &GridArgs, context: &Context) -> Result<Outcome, Failure> {
    if let Some(option) = args.how.foreign.first() {
        return Err(Failure::usage(format!(
            "{option} is of one run, and each cell of a grid is one: assay report RUN {option} .."
        )));
    }
    match &args.resume {
        Some(directory) => resume(directory, args, context),
        None => {
            let asked = cells::asked(args)?;
            check_launchers(args, &asked, context)?;
            if args.how.dry_run {
                return dry_run(args, &asked, context);
            }
            let mut outputs = Outputs::new(args.how.output.force);
            outputs.check("--html", args.how.output.html.as_deref())?;
            let grid = kept::begun(&asked)?;
            let directory = directory(args, context)?;
            let _lock = kept::lock(&directory)?;
            context.say(&format!("{}, kept in {}", plural(asked.len() as u64, "cell"), directory.display()));
            measure(args, asked, grid, &directory, context)
        }
    }
}

/// The command that goes on with a grid.
fn going_on(directory: &Path, context: &Context) -> String {
    let words = directory.to_string_lossy();
    format!("assay grid --resume {}{}", shell_word(&words), context.out_words())
}

/// Whether there is a launcher for every cell, before anything is made.
fn check_launchers(args: &GridArgs, asked: &[Asked], context: &Context) -> Result<(), Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let mut known: Vec<&str> = Vec::new();
    for cell in asked {
        if known.contains(&cell.on.as_str()) {
            continue;
        }
        on::check(&cell.loaded(), (&cell.on, &args.on), &options(args, &cell.on), (&site, context))?;
        known.push(&cell.on);
    }
    Ok(())
}

/// Plans every cell as it would be measured, on its workers, and writes nothing.
fn dry_run(args: &GridArgs, asked: &[Asked], context: &Context) -> Result<Outcome, Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    for cell in asked {
        context.say(&format!("{} on {}", cell.name, plural(cell.workers.into(), "worker")));
        let how = options(args, &cell.on);
        on::measured(cell.loaded(), (&cell.on, &args.on), true, &how, (&site, context))?;
    }
    Ok(Outcome::Done)
}

/// How a cell is run by the workers that `words` choose.
fn options<'a>(args: &'a GridArgs, words: &str) -> RunOptions<'a> {
    let named = args.directory != Path::new(".") && !on::shares_files(words);
    let workers_directory = named.then_some(args.directory.as_path());
    RunOptions { seed: args.seed, workers_directory, ..RunOptions::usual(&args.how) }
}

/// Goes on with a stored grid. What may be written over, and where results go, is said anew.
fn resume(directory: &Path, now: &GridArgs, context: &Context) -> Result<Outcome, Failure> {
    let (_lock, grid, args) = kept::read(directory, now)?;
    let asked = cells::asked(&args)?;
    let same =
        |(asked, cell): (&Asked, &WorkerCell)| (asked.workers, &asked.name) == (cell.workers, &cell.name);
    if asked.len() != grid.cells.len() || !asked.iter().zip(&grid.cells).all(same) {
        return Err(kept::cannot_go_on(directory, &"its cells are not those that its words ask for"));
    }
    let finished = grid.cells.iter().filter(|cell| cell.is_finished()).count();
    let are = if finished == 1 || asked.len() == 1 { "is" } else { "are" };
    context.say(&format!("{finished} of {} {are} finished", plural(asked.len() as u64, "cell")));
    measure(&args, asked, grid, directory, context)
}

/// The directory of a new grid.
fn directory(args: &GridArgs, context: &Context) -> Result<PathBuf, Failure> {
    let directory = match &args.output {
        Some(directory) => directory.clone(),
        None => {
            let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%3fZ").to_string();
            context.grids_root()?.join(now)
        }
    };
    if directory.join(kept::GRID_FILE).exists() {
        return Err(Failure::usage(format!(
            "{} holds a grid; it goes on with: {}",
            directory.display(),
            going_on(&directory, context)
        )));
    }
    std::fs::create_dir_all(&directory)
        .map_err(|error| Failure::failed(format!("cannot make {}: {error}", directory.display())))?;
    Ok(directory)
}

/// Measures what is not finished yet, and shows the whole.
fn measure(
    args: &GridArgs,
    asked: Vec<Asked>,
    mut grid: WorkerGrid,
    directory: &Path,
    context: &Context,
) -> Result<Outcome, Failure> {
    let mut outputs = Outputs::new(args.how.output.force);
    outputs.check("--output", Some(&directory.join(PAGE_FILE)))?;
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    let mut outcome = Ok(Outcome::Done);
    let mut lost = None;
    kept::keep(&grid, directory)?;
    for (at, cell) in asked.iter().enumerate() {
        if grid.cells[at].is_finished() {
            continue;
        }
        context.say(&format!(
            "cell {} of {}: {} on {}",
            at + 1,
            asked.len(),
            cell.name,
            plural(cell.workers.into(), "worker")
        ));
        outcome = one(args, cell, &mut grid.cells[at], (&site, context));
        kept::keep(&grid, directory)?;
        match &outcome {
            Ok(Outcome::Done) => {}
            // The next cell starts workers anew.
            Err(Failure::Incomplete(why)) if args.on.loss.goes_on() => {
                context.say(&format!("{}: {why}", cell.name));
                lost = Some(why.clone());
                outcome = Ok(Outcome::Done);
            }
            _ => break,
        }
    }
    show(args, &grid, (directory, &outputs), context)?;
    match lost.map_or(outcome, |why| Err(Failure::Incomplete(why))) {
        Ok(Outcome::Done) => {
            let is_valid = grid.cells.iter().all(|cell| cell.verdict == Some(Verdict::Valid));
            Ok(if args.how.output.require_valid && !is_valid { Outcome::NotValid } else { Outcome::Done })
        }
        other => {
            context.say(&format!("not finished; it goes on with: {}", going_on(directory, context)));
            other
        }
    }
}

/// Measures one cell.
fn one(
    args: &GridArgs,
    asked: &Asked,
    cell: &mut WorkerCell,
    (site, context): (&Site, &Context),
) -> Result<Outcome, Failure> {
    let how = options(args, &asked.on);
    let Some(finished) = on::measured(asked.loaded(), (&asked.on, &args.on), false, &how, (site, context))?
    else {
        return Ok(Outcome::Done);
    };
    shown::keep_page(&finished.run, &finished.directory, context)?;
    cell.run = Some(finished.directory.display().to_string());
    cell.take(&finished.run);
    crate::failure::outcome_of(&finished, false)
}

fn show(
    args: &GridArgs,
    grid: &WorkerGrid,
    (directory, outputs): (&Path, &Outputs),
    context: &Context,
) -> Result<(), Failure> {
    if args.how.output.json {
        context.out(&serde_json::to_string_pretty(grid).map_err(Failure::failed)?);
    } else {
        context.out(&terminal::worker_grid(grid, &context.style));
    }
    let page = html::worker_grid(grid, &format!("Grid of {}", plural(grid.cells.len() as u64, "cell")));
    let kept = directory.join(PAGE_FILE);
    outputs.write("--output", &kept, &page)?;
    let asked = args.how.output.html.as_deref();
    asked.map_or(Ok(()), |path| outputs.write("--html", path, &page))?;
    context.say(&format!("report: {}", asked.unwrap_or(&kept).display()));
    Ok(())
}
