//! A job of `--engine null` as a run has it, without the driver's threads: `null_loop IOS DEPTH`. What is left is the
//! generator with every statistic on; `cargo xtask instructions` counts what it executes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_engine::clock::RealClock;
use assay_engine::kind::PreparedPhase;
use assay_engine::{Blocks, Clock as _, JobKind, PhaseContext, ThisMachine, ThreadIndex};
use assay_workload::job::{EngineKind, Job, Phase, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Bytes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, ios, depth] = words.as_slice() else { return Err("usage: null_loop IOS DEPTH".into()) };
    let (depth, ios) = (depth.parse()?, ios.parse()?);
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let job = Job::new("j", &["nothing"], pattern).with(|job| {
        job.outstanding_per_thread = depth;
        job.engine = EngineKind::Null;
        job.limits.ios = Some(ios);
    });
    let target = Target {
        name: "nothing".to_owned(),
        path: "null".to_owned(),
        kind: Some(TargetKind::Null),
        size: Some(Bytes(16 << 30)),
    };
    let workload = Workload {
        name: "null".to_owned(),
        seed: Some(1),
        hosts: Vec::new(),
        targets: vec![target],
        phases: vec![Phase::measure("p", vec![job])],
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
        ..Inventory::default()
    };
    let plan = resolve::plan(&workload, &inventory, 0)?;
    let (stop, stops) = (AtomicBool::new(false), [Arc::new(AtomicBool::new(false))]);
    // One interval: rolling over costs once a second, not per operation.
    let context =
        PhaseContext { plan: &plan, phase: 0, interval_ns: u64::MAX / 4, stop: &stop, stops: &stops };
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&Blocks::default()];
    let prepared = PreparedPhase::new(&kinds, vec![0], context, &mut |_, _| {})?.ok_or("stopped")?;
    let mut runner = prepared.with(0).thread(ThreadIndex { job: 0, thread: 0 }, &ThisMachine)?;
    runner.arm(RealClock::new().now_ns());
    runner.run()?;
    Ok(())
}
