//! `assay bench-self`: what the generator itself costs here, on an engine that does nothing.

use assay_runner::self_cost::{self, Cost};
use assay_workload::job::EngineKind;
use assay_workload::units::Nanos;
use clap::Args;
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};

#[derive(Debug, Args)]
pub(crate) struct BenchSelfArgs {
    /// Seconds per measurement
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) seconds: u64,
    /// Outstanding I/Os to measure with; may be given several times [default: 1, 32 and 256]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) outstanding: Vec<u32>,
    /// Print one JSON document (schema: docs/schemas/bench-self-1.json)
    #[arg(long)]
    pub(crate) json: bool,
}

const DEPTHS: [u32; 3] = [1, 32, 256];

/// The schema of `assay bench-self --json`.
pub(crate) const SCHEMA: &str = "assay.bench-self/1";

/// What `assay bench-self --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    schema: &'static str,
    /// The engine that was driven: one that does nothing.
    engine: &'static str,
    /// A measurement for each number of outstanding I/Os.
    costs: &'a [Cost],
}

pub(crate) fn bench_self(args: &BenchSelfArgs, context: &Context) -> Result<Outcome, Failure> {
    let depths = if args.outstanding.is_empty() { DEPTHS.to_vec() } else { args.outstanding.clone() };
    let costs = depths
        .iter()
        .map(|&depth| self_cost::measure(depth, Nanos::from_secs(args.seconds)))
        .collect::<Result<Vec<_>, _>>()?;
    if args.json {
        let document = Document { schema: SCHEMA, engine: EngineKind::Null.name(), costs: &costs };
        context.out(&serde_json::to_string_pretty(&document).map_err(Failure::failed)?);
        return Ok(Outcome::Done);
    }
    let rows: Vec<Vec<String>> = costs
        .iter()
        .map(|cost| {
            vec![
                cost.outstanding_io.to_string(),
                assay_report::format::iops(cost.iops),
                format!("{:.1}", cost.wall_ns_per_io),
                format!("{:.1}", cost.user_ns_per_io),
                format!("{:.1}", cost.system_ns_per_io),
            ]
        })
        .collect();
    context.out(
        "4 KiB random reads, each block once per pass, one thread, no I/O (engine null), every statistic on",
    );
    let heads = ["outstanding", "IOPS", "ns per I/O", "user ns", "system ns"];
    context.out(&assay_report::terminal::words_table(&heads, &rows, &context.style));
    Ok(Outcome::Done)
}
