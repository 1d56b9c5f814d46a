//! The job loop over the engine that does nothing, for a given number of operations: `null_loop IOS DEPTH`. What is left is
//! the generator with every statistic on; `cargo xtask instructions` counts what it executes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_engine::buffers::MappedBuffers;
use assay_engine::clock::RealClock;
use assay_engine::job_loop::{JobLoop, LoopParts, LoopSpec, Pending};
use assay_engine::null::NullEngine;
use assay_engine::recorder::{Recorder, Schedule, Shared};
use assay_engine::{Clock as _, Engine as _, TargetTable};
use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::job::TargetSelection;
use assay_workload::ops::{Generator, SiteSpec};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::ActiveRange;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, ios, depth] = words.as_slice() else { return Err("usage: null_loop IOS DEPTH".into()) };
    let (ios, depth): (u64, u32) = (ios.parse()?, depth.parse()?);
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let site = SiteSpec { target: 0, range: ActiveRange { offset_bytes: 0, length_bytes: 16 << 30 } };
    let source = Generator::new(&pattern, &[site], TargetSelection::RoundRobin, 1, Some(ios), None);
    let buffers = MappedBuffers::new(depth, 4096)?;
    let mut engine = NullEngine::new(depth);
    engine.prepare(&TargetTable::default(), &buffers)?;
    let start_ns = RealClock::new().now_ns();
    // One interval: rolling over costs once a second, not per operation.
    let schedule = Schedule { start_ns, measured_start_ns: start_ns, interval_ns: u64::MAX / 4 };
    let parts = LoopParts {
        engine,
        clock: RealClock::new(),
        arrivals: None,
        recorder: Recorder::new(Shared::new(), schedule),
        buffers,
        filler: Filler::new(&Content::default(), 1),
        spec: LoopSpec::closed(depth, start_ns),
        stop: Arc::new(AtomicBool::new(false)),
        pass_hook: None,
    };
    let mut job = JobLoop::<_, _, false>::new(parts, Box::new(source));
    while job.step()? != Pending::Done {}
    Ok(())
}
