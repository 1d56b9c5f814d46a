//! `assay audit`: where the traffic of a workload lands on an array, what that does, and what repairs it.

mod document;
mod fix;
mod output;
mod pictures;
mod simulate;
pub(crate) mod source;
mod tables;
mod trace;

use std::path::PathBuf;

use assay_sim::Model;
use assay_sim::audit::{Audit, AuditOptions, Change, audit as audit_plan};
use assay_workload::units::{Bytes, Nanos};
use clap::Args;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::options::ReadingArgs;
use crate::output::Outputs;
use crate::signals;

#[cfg(all(test, feature = "schema"))]
pub(crate) use document::Document;
use source::Source;

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
    #[arg(long, value_name = "NAME|FILE", default_value = source::ARRAY_DEFAULT)]
    pub(crate) array: String,
    /// Audit a recorded trace instead: a fio iolog, the text of blkparse, or CSV of time, op, offset, length
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "fix", "simulate"])]
    pub(crate) trace: Option<PathBuf>,
    /// Hold the trace against this workload file or trace: how alike are they?
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub(crate) against: Option<PathBuf>,
    /// Another trace of the same program as --trace: what the two differ by is no difference; may be given several times
    #[arg(long, value_name = "FILE", requires = "against")]
    pub(crate) repeat: Vec<PathBuf>,
    /// Size of targets that the file gives no size for
    #[arg(long, value_name = "SIZE", default_value = source::SIZE_DEFAULT)]
    pub(crate) size: Bytes,
    /// Expect the hit ratio of an LRU cache of this size; may be given several times
    #[arg(long, value_name = "SIZE")]
    pub(crate) cache: Vec<Bytes>,
    /// The seed of what is drawn and simulated [default: the file's, else 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Simulate it on the array, before and after the repair: IOPS, latencies, utilisation of each core
    #[arg(long)]
    pub(crate) simulate: bool,
    /// With --simulate: over the share of processing that is bound to the address, too
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

/// What was audited, and what a repair makes of it.
pub(crate) struct Audited {
    pub(crate) source: Source,
    pub(crate) model: Model,
    pub(crate) audit: Audit,
    pub(crate) repaired: Option<Repaired>,
}

/// The repaired workload and its audit.
pub(crate) struct Repaired {
    pub(crate) source: Source,
    pub(crate) changes: Vec<Change>,
    pub(crate) audit: Audit,
}

pub(crate) fn audit(args: &AuditArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.array == "list" {
        context.out(&tables::arrays(context)?);
        return Ok(Outcome::Done);
    }
    let model = source::model(&args.array)?;
    if let Some(trace) = &args.trace {
        return trace::audit(trace, args, &model, &outputs(args)?, context);
    }
    let file = args.file.as_ref();
    let file =
        file.ok_or_else(|| Failure::usage("name a workload file to audit, or a trace with --trace"))?;
    let site = context.site(signals::stop_flag()?);
    if args.simulate {
        context.make_runs_root()?;
    }
    let source = Source::read(file, args, context)?;
    let outputs = outputs(args)?;
    let options = AuditOptions {
        cache_bytes: args.cache.iter().map(|bytes| bytes.0).collect(),
        ..AuditOptions::default()
    };
    let audited = audited(source, model, &options)?;
    if let Some(path) = &args.fix {
        fix::write(&audited, path, &outputs, context)?;
    }
    if !args.json {
        context.out(&output::text(&audited, context));
    }
    let simulation = match args.simulate {
        true => Some(simulate::run(&audited, args.bound_range, args.threads.into(), &site, context)?),
        false => None,
    };
    if args.json {
        context.out(&document::json(&audited, simulation.as_ref())?);
    } else if let Some(simulation) = &simulation {
        context.out(&output::simulated(&audited, simulation, context));
    }
    if let Some(path) = &args.html {
        outputs.write("--html", path, &output::page(&audited, simulation.as_ref()))?;
    }
    simulation.map_or(Ok(Outcome::Done), |simulation| simulation.outcome())
}

/// What is to be written, once it is known what was read.
fn outputs(args: &AuditArgs) -> Result<Outputs, Failure> {
    let files = [&args.file, &args.trace, &args.against].into_iter().flatten();
    let mut outputs = Outputs::new(args.force).reading(files).reading([&args.array]);
    outputs.check("--fix", args.fix.as_deref())?;
    outputs.check("--html", args.html.as_deref())?;
    Ok(outputs)
}

/// Audits a workload, and its repair where there is one.
fn audited(source: Source, model: Model, options: &AuditOptions) -> Result<Audited, Failure> {
    let audit = audit_plan(&source.plan, &model, options);
    if audit.jobs.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no job with addresses: trees of files cannot be audited",
            source.name
        )));
    }
    let repaired = fix::repaired(&source, &model, &audit, options)?;
    Ok(Audited { source, model, audit, repaired })
}
