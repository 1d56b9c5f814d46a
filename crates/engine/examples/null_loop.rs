//! A job of `--engine null` as a run has it, without the driver's threads: `null_loop IOS DEPTH`. What is left is the
//! generator with every statistic on; `cargo xtask instructions` counts what it executes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_engine::clock::RealClock;
use assay_engine::kind::PreparedPhase;
use assay_engine::{Blocks, Clock as _, JobKind, PhaseContext, ThisMachine, ThreadIndex};
use assay_workload::job::{EngineKind, Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, Placement};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, ios, depth] = words.as_slice() else { return Err("usage: null_loop IOS DEPTH".into()) };
    let (depth, ios) = (depth.parse()?, ios.parse()?);
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let limits = Limits { ios: Some(ios), ..Limits::default() };
    let job = lun::job("j", pattern, depth, limits).with(|job| job.engine = EngineKind::Null);
    let plan = lun::plan(1, 16 << 30, vec![Phase::measure("p", vec![job])])?;
    let (stop, stops) = (AtomicBool::new(false), [Arc::new(AtomicBool::new(false))]);
    // One interval: rolling over costs once a second, not per operation.
    let context =
        PhaseContext { plan: &plan, phase: 0, interval_ns: u64::MAX / 4, stop: &stop, stops: &stops };
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&Blocks::default()];
    let prepared = PreparedPhase::new(&kinds, vec![0], context, &mut |_, _| {})?.ok_or("stopped")?;
    let mut runner =
        prepared.with(0).ok_or("no job")?.thread(ThreadIndex { job: 0, thread: 0 }, &ThisMachine)?;
    runner.arm(RealClock::new().now_ns());
    runner.run()?;
    Ok(())
}
