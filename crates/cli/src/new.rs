//! `assay new`: a workload file from flags or a few answers, or the files of a whole grid.

mod answers;

use std::path::{Path, PathBuf};

use assay_conduct::grid::{self, Cell, Common, percent};
use assay_formats::native;
use assay_workload::units::{Bytes, Nanos};
use clap::Args;

use crate::context::Context;
use crate::convert::Language;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::languages::{self, Format};
use crate::output::Outputs;

#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # asks what it needs to know
  assay new
  assay new --target /mnt/data/a --size 20g --block-size 8k --read 70
  assay new --to vdbench --target /dev/sdx --read 100 -o parmfile
  assay new --to fio --target a.bin --size 20g --grid '4k,8k x 100,70' -o grid/
  # for editors, beside the plans: their line '#:schema' names it
  assay new --schema

A grid is block sizes x per cent of reads x per cent random x outstanding
I/Os, each one value or several; what is left out at the end has one value.
Its files are named like those of HCIBench:
vdb-8vmdk-100ws-4k-100rdpct-100randompct-8threads is eight disks, all of them,
4 KiB, all reads, all random, eight outstanding on each disk.")]
pub(crate) struct NewArgs {
    /// The language: fio, vdbench or toml
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value = "toml")]
    pub(crate) to: Language,
    /// A file or device; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) target: Vec<String>,
    /// Size of each target that is a file: '20g'
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Percentage of each target to use
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) working_set: Option<f64>,
    /// Bytes of each I/O: '4k'
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_size: Option<Bytes>,
    /// Percentage of reads
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) read: Option<f64>,
    /// Percentage of random I/Os; the others are sequential
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) random: Option<f64>,
    /// Outstanding I/Os on each target
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) outstanding: Option<u32>,
    /// Measured time: '60s', '1h'
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<Nanos>,
    /// Ramp: time before it that is not measured
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) ramp: Nanos,
    /// Target I/O rate [default: unlimited]
    #[arg(long, value_name = "IOPS", value_parser = positive)]
    pub(crate) rate: Option<f64>,
    /// Go through the page cache
    #[arg(long)]
    pub(crate) buffered: bool,
    /// All combinations of several values, a file each
    #[arg(long, value_name = "GRID", conflicts_with_all = ["block_size", "read", "random", "outstanding"])]
    pub(crate) grid: Option<String>,
    /// Write the JSON schema of plans, with which editors complete and check them
    #[arg(long, conflicts_with_all = ["target", "grid"])]
    pub(crate) schema: bool,
    /// The file to write, for a grid the directory; '-' is stdout [default: named after the workload]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
}

/// Bytes of the smallest sector that devices have.
const SECTOR: u64 = 512;

fn positive(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("not above 0".to_owned()) }
}

pub(crate) fn new(args: &NewArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.schema {
        let path = args.output.clone().unwrap_or_else(|| PathBuf::from(native::SCHEMA_FILE));
        let text = serde_json::to_string_pretty(&native::schema()).map_err(Failure::usage)?;
        return write_file(&Outputs::new(args.force), &path, &format!("{text}\n"), context);
    }
    let cells = args.grid.as_deref().map(grid::cells).transpose().map_err(Failure::usage)?;
    let (common, cell) = answers::complete(args, context)?;
    for cell in cells.as_deref().unwrap_or(&[cell]) {
        whole_sectors(cell, &common)?;
    }
    let outputs = Outputs::new(args.force).reading(&args.target);
    let Some(cells) = cells else {
        let (name, text) = file(&cell, &common, args, context)?;
        let path = args.output.clone().unwrap_or_else(|| PathBuf::from(name));
        return write_file(&outputs, &path, &text, context);
    };
    let files: Vec<(String, String)> =
        cells.iter().map(|cell| file(cell, &common, args, context)).collect::<Result<_, _>>()?;
    match &args.output {
        Some(directory) => outputs.write_directory("--output", directory, &files)?,
        None => files.iter().try_for_each(|(name, text)| outputs.write("", Path::new(name), text))?,
    }
    let directory = args.output.as_deref().unwrap_or(Path::new("."));
    context.say(&format!("{} files in {}", cells.len(), directory.display()));
    Ok(Outcome::Done)
}

/// Refuses what direct I/O cannot do on any target.
fn whole_sectors(cell: &Cell, common: &Common) -> Result<(), Failure> {
    if common.buffered || cell.block_size.0.is_multiple_of(SECTOR) && cell.block_size.0 > 0 {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "block size {} is not a multiple of {SECTOR} bytes, the smallest sector of direct I/O; --buffered goes \
         through the page cache, which takes any size",
        cell.block_size
    )))
}

fn write_file(outputs: &Outputs, path: &Path, text: &str, context: &Context) -> Result<Outcome, Failure> {
    outputs.write("--output", path, text)?;
    if path != Path::new("-") {
        context.say(&format!("wrote {}", path.display()));
    }
    Ok(Outcome::Done)
}

/// The name and the text of a workload file.
fn file(
    cell: &Cell,
    common: &Common,
    args: &NewArgs,
    context: &Context,
) -> Result<(String, String), Failure> {
    let (generator, ending) = match args.to {
        Language::Vdbench => ("vdb", ""),
        Language::Fio => ("fio", ""),
        Language::Toml => ("assay", ".toml"),
    };
    let name = common.file_name(generator, cell);
    let (text, said) = languages::write(&common.workload(&name, cell), Format::from(args.to));
    input::say_all(&said, false, context)?;
    Ok((name + ending, format!("{}{text}", languages::schema_line(args.to.into()))))
}
