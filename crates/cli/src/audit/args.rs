//! What `assay audit` is asked for.

use std::path::PathBuf;

use assay_workload::units::{Bytes, Nanos};
use clap::Args;

use crate::input::ReadingArgs;

/// The array of the published case.
pub(crate) const ARRAY_DEFAULT: &str = "two-brick";
/// The size of a target for which none is given.
pub(crate) const SIZE_DEFAULT: &str = "1t";

/// The size in bytes.
pub(crate) fn size_default() -> Bytes {
    Bytes(1 << 40)
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # which core of an eight-core array gets how much of the traffic
  assay audit parmfile
  # the shipped arrays, and what each stands for
  assay audit job.fio --array list
  # an array of one's own (docs/methodology/array-model.md)
  assay audit job.fio --array my-array.toml
  # the same workload, repaired, in the same language
  assay audit parmfile --fix repaired
  # bars per core and a heat map, before and after the repair
  assay audit plan.toml --html page.html
  # what it costs in IOPS and latency on the array model
  assay audit parmfile --simulate --bound-range
  # is the synthetic workload like the application?
  assay audit --trace app.iolog --against plan.toml
  # the same, with a second recording that shows how much the application varies
  assay audit --trace app.iolog --repeat app-2.iolog --against plan.toml
  # sizes of targets the file gives none for; hits of a cache of 64 GiB
  assay audit plan.toml --size 4t --cache 64g

No target is opened, looked at or made: sizes come from the file, else from
--size.")]
pub(crate) struct AuditArgs {
    /// A fio job file, a vdbench parameter file or a plan
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// The array: a shipped model or a file; 'list' explains the shipped ones
    #[arg(long, value_name = "NAME|FILE", default_value = ARRAY_DEFAULT)]
    pub(crate) array: String,
    /// Audit a recorded trace instead: a fio iolog, the text of blkparse, or CSV of time, op, offset, length
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "fix", "simulate"])]
    pub(crate) trace: Option<PathBuf>,
    /// Compare the trace with this workload file or trace
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub(crate) against: Option<PathBuf>,
    /// Another trace of the same program as --trace: shows how much the program itself varies; may be given several times
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(crate) repeat: Vec<PathBuf>,
    /// Size of targets that have none in the file
    #[arg(long, value_name = "SIZE", default_value = SIZE_DEFAULT)]
    pub(crate) size: Bytes,
    /// Estimate the hit ratio of an LRU cache of this size; may be given several times
    #[arg(long, value_name = "SIZE")]
    pub(crate) cache: Vec<Bytes>,
    /// The seed of the sampling and the simulation [default: the file's, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Simulate the workload on the array, before and after the repair: IOPS, latencies, utilisation of each core
    #[arg(long)]
    pub(crate) simulate: bool,
    /// With --simulate: also vary the share of processing that is bound to the address
    #[arg(long, requires = "simulate")]
    pub(crate) bound_range: bool,
    /// Threads that simulate; their number does not change any result
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: u16,
    /// Simulated time of every job that has one: '1s', '1m'
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<Nanos>,
    /// Write the repaired workload, in the language of the file
    #[arg(long, value_name = "OUT")]
    pub(crate) fix: Option<PathBuf>,
    /// Print one JSON document (schema: docs/schemas/audit-1.json)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a self-contained page with pictures
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Replace files that Assay did not write, too
    #[arg(long)]
    pub(crate) force: bool,
}
