//! `assay bench-self`: what the generator itself costs here, on an engine that does nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_engine::driver::{PhaseOptions, run_phase};
use assay_results::{JobOutcome, RunEvent};
use assay_workload::Plan;
use assay_workload::job::{EngineKind, Job, Limits, Phase, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};
use serde::Serialize;

use crate::args::BenchSelfArgs;
use crate::context::Context;
use crate::failure::{Failure, Outcome};

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

/// One measurement: 4 KiB random reads by one thread.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Cost {
    /// Outstanding I/Os.
    outstanding_io: u32,
    /// Operations that were measured.
    ios: u64,
    /// Operations per second.
    iops: f64,
    /// Nanoseconds per operation, by the clock.
    wall_ns_per_io: f64,
    /// The thread's user time per operation, nanoseconds.
    user_ns_per_io: f64,
    /// The thread's system time per operation, nanoseconds.
    system_ns_per_io: f64,
}

pub(crate) fn bench_self(args: &BenchSelfArgs, context: &Context) -> Result<Outcome, Failure> {
    let depths = if args.outstanding.is_empty() { DEPTHS.to_vec() } else { args.outstanding.clone() };
    let costs = depths
        .iter()
        .map(|&depth| measure(depth, Nanos::from_secs(args.seconds)))
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

/// How long a run's own quotation is measured: a hundred thousand operations.
const QUOTED: Nanos = Nanos(10_000_000);

/// What the generator costs here and now per I/O at the plan's largest number of outstanding I/Os a thread, nanoseconds:
/// every run quotes it. `None` if it could not be measured.
pub(crate) fn overhead_ns_per_io(plan: &Plan) -> Option<f64> {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let depth = jobs.map(|job| job.job.outstanding_per_thread).max()?;
    measure(depth.clamp(1, 256), QUOTED).ok().map(|cost| cost.wall_ns_per_io)
}

fn measure(depth: u32, time: Nanos) -> Result<Cost, Failure> {
    let job = Job {
        outstanding_per_thread: depth,
        engine: EngineKind::Null,
        limits: Limits { time: Some(time), ..Limits::default() },
        ..Job::new("self", &["nothing"], AccessPattern::new(Mix::READ, 4096, Placement::random_map()))
    };
    let workload = Workload {
        name: "bench-self".to_owned(),
        seed: Some(1),
        targets: vec![Target {
            name: "nothing".to_owned(),
            path: "null".to_owned(),
            kind: Some(TargetKind::Null),
            size: Some(Bytes(16 << 30)),
        }],
        phases: vec![Phase::measure("self", vec![job])],
    };
    let facts = TargetFacts {
        path: "null".to_owned(),
        kind: TargetKind::Null,
        existing_bytes: 0,
        direct_align_bytes: Some(512),
        engine_choice: None,
    };
    let inventory = Inventory {
        targets: [("nothing".to_owned(), facts)].into(),
        engines: vec![EngineKind::Null],
        engine_override: None,
    };
    let plan = Arc::new(resolve::plan(&workload, &inventory, 1).map_err(Failure::failed)?);
    let options = PhaseOptions {
        interval: Duration::from_secs(1),
        stop: Arc::new(AtomicBool::new(false)),
        fall_back: false,
    };
    let (mut ios, mut outcome) = (0, JobOutcome::default());
    let mut sink = |event: RunEvent| match event {
        RunEvent::Interval(interval) => ios += interval.counts.data_ios(),
        RunEvent::JobFinished { outcome: finished, .. } => outcome = *finished,
        _ => {}
    };
    run_phase(&plan, 0, &options, &mut sink, &mut |_| {}).map_err(Failure::failed)?;
    let per_io = |ns: u64| ns as f64 / (ios as f64).max(1.0);
    Ok(Cost {
        outstanding_io: depth,
        ios,
        iops: ios as f64 * 1e9 / (outcome.measured_ns as f64).max(1.0),
        wall_ns_per_io: per_io(outcome.measured_ns),
        user_ns_per_io: per_io(outcome.cpu_user_ns),
        system_ns_per_io: per_io(outcome.cpu_system_ns),
    })
}
