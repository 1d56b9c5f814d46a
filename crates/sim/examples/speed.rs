//! How fast the simulator and the audit are: `cargo run --release -p assay-sim --example speed [MODEL] [MILLIONS OF I/OS]
//! [NUMBER OF THE LOAD]`.
//!
//! Simulated are reads and mixes on 16 GiB, closed loop, 64 outstanding, through a loop that does nothing but submit and
//! reap, and through the job loop of real runs. Rates are those of one core: CPU time of this thread, not time that goes by.

use std::io::Write as _;

use assay_engine::{Completions, Engine, EngineError, Io, Wait};
use assay_results::HostEvent;
use assay_sim::audit::{AuditOptions, StreamAudit, audit_stream};
use assay_sim::phase::SimOptions;
use assay_sim::{Driver, Model, Pending, PlanSimulation, SimEngine, Simulation, Stepper};
use assay_workload::job::{Limits, Phase, TargetSelection};
use assay_workload::lun;
use assay_workload::ops::{Generator, OpBlock, OpSource, SiteSpec};
use assay_workload::pattern::{AccessPattern, Distribution, Mix, OpKind, Placement, Random};
use assay_workload::rng::Rng;
use assay_workload::target::ActiveRange;

const SIZE: u64 = 16 << 30;
const OUTSTANDING: u32 = 64;

/// A line of the result; a reader that went away is no error.
macro_rules! say {
    ($($words:tt)*) => { let _ = writeln!(std::io::stdout(), $($words)*); };
}

/// CPU time of this thread, seconds.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Memory in use, MiB.
fn memory_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) / 256
}

/// Submits operations as slots become free, and nothing else.
struct MinimalLoop {
    engine: SimEngine,
    source: Generator,
    block: OpBlock,
    next: usize,
    free: Vec<u32>,
    completions: Completions,
    left: u64,
    done: u64,
    report_every: u64,
    cpu_s: f64,
}

impl Stepper for MinimalLoop {
    fn step(&mut self) -> Result<Pending, EngineError> {
        self.completions.clear();
        self.engine.reap(&mut self.completions, Wait::Poll)?;
        self.free.extend(self.completions.as_slice().iter().map(|completion| completion.slot));
        self.done += self.completions.as_slice().len() as u64;
        while self.left > 0
            && let Some(slot) = self.free.pop()
        {
            if self.next == self.block.len {
                self.source.fill(&mut self.block);
                self.next = 0;
            }
            let op = self.block.ops[self.next];
            self.next += 1;
            self.left -= 1;
            let io =
                Io { slot, target: 0, kind: op.kind, len_bytes: op.len_bytes, offset_bytes: op.offset_bytes };
            if self.engine.queue(io).is_err() {
                break;
            }
            if self.left > 0 && self.left.is_multiple_of(self.report_every) {
                let (now, memory) = (cpu_s(), memory_mib());
                let rate = self.report_every as f64 / (now - self.cpu_s) / 1e6;
                say!(
                    "    {:>6} million to go, {rate:.2} million a second, {memory} MiB in use",
                    self.left / 1_000_000
                );
                self.cpu_s = now;
            }
        }
        self.engine.submit(Wait::Poll)?;
        Ok(if self.free.len() == OUTSTANDING as usize { Pending::Done } else { Pending::Completion })
    }
}

fn bare(
    model: &Model,
    pattern: &AccessPattern,
    ios: u64,
    report_every: u64,
) -> Result<f64, Box<dyn std::error::Error>> {
    let mut simulation = Simulation::new(model, 1)?;
    let volume = simulation.add_volume(SIZE);
    let sites = [SiteSpec { target: 0, range: ActiveRange { offset_bytes: 0, length_bytes: SIZE } }];
    let source = Generator::new(pattern, &sites, TargetSelection::default(), 1, None, None);
    let engine = simulation.engine(&[volume], OUTSTANDING);
    let mut driver = Driver::default();
    let (free, completions) = ((0..OUTSTANDING).collect(), Completions::with_capacity(OUTSTANDING as usize));
    let port = engine.port();
    let before = cpu_s();
    let one = MinimalLoop {
        engine,
        source,
        block: OpBlock::default(),
        next: 0,
        free,
        completions,
        left: ios,
        done: 0,
        report_every,
        cpu_s: before,
    };
    driver.add(&[port], one);
    driver.run(&simulation)?;
    Ok(ios as f64 / (cpu_s() - before) / 1e6)
}

/// The same through the job loop of real runs, with its histograms and intervals.
fn whole(
    model: &Model,
    pattern: &AccessPattern,
    ios: u64,
    report_every: u64,
) -> Result<f64, Box<dyn std::error::Error>> {
    let limits = Limits { ios: Some(ios), ..Limits::default() };
    let job = lun::job("job", pattern.clone(), OUTSTANDING, limits);
    let plan = lun::plan(1, SIZE, vec![Phase::measure("speed", vec![job])])?;
    let mut simulation = PlanSimulation::new(model, &plan, 1)?;
    let before = cpu_s();
    let (mut done, mut next, mut last_s) = (0, report_every, before);
    simulation.run_phase(&plan, 0, &SimOptions::default(), &mut |event| {
        let HostEvent::Interval(interval) = event else { return };
        done += interval.counts.ops.iter().map(|op| op.ios).sum::<u64>();
        if done >= next {
            let (now_s, memory) = (cpu_s(), memory_mib());
            let rate = report_every as f64 / (now_s - last_s) / 1e6;
            say!("    {:>6} million done, {rate:.2} million a second, {memory} MiB in use", done / 1_000_000);
            (next, last_s) = (next + report_every, now_s);
        }
    })?;
    Ok(ios as f64 / (cpu_s() - before) / 1e6)
}

/// Counts operations one by one, as the audit of a trace does.
fn audited(model: &Model, ops: u64) -> f64 {
    let mut stream = StreamAudit::new(model, 1);
    let mut rng = Rng::new(1);
    let before = cpu_s();
    for _ in 0..ops {
        stream.add(0, OpKind::Read, rng.below(SIZE >> 12) << 12, 4096);
    }
    let audit = audit_stream("stream", &["lun".to_owned()], &stream, model, &AuditOptions::default());
    say!("  {} cores, busiest over mean {:.3}", audit.jobs[0].cores.len(), audit.jobs[0].max_over_mean);
    cpu_s() - before
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "two-brick".to_owned());
    let millions: u64 = words.next().map_or(Ok(5), |word| word.parse())?;
    let (model, ios) = (Model::shipped(&name)?, millions * 1_000_000);
    let area = Distribution::HitArea { read_percent: 75.0, write_percent: 75.0, bytes: 8 << 20 };
    let hit = Placement::Random(Random { distribution: area, once_per_pass: false });
    let uniform = Placement::random_independent();
    let every = if millions >= 100 { 100_000_000 } else { u64::MAX };
    let only: Option<usize> = words.next().map(|word| word.parse()).transpose()?;
    let loads = [
        ("reads, 75 % to a hit area of 8 MiB", Mix::READ, &hit),
        ("reads, uniform", Mix::READ, &uniform),
        ("70 % reads, uniform", Mix::read_write(70.0), &uniform),
    ];
    for (index, (label, mix, placement)) in loads.into_iter().enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        let pattern = AccessPattern::new(mix, 4096, placement.clone());
        let whole = whole(&model, &pattern, ios, every)?;
        let alone = bare(&model, &pattern, ios, every)?;
        say!("{name}, {label}: {alone:.2} million I/Os a second; {whole:.2} through the job loop");
    }
    if only.is_some() {
        return Ok(());
    }
    let ops = 100_000_000;
    say!("audit of {ops} operations: {:.2} s; {} MiB in use", audited(&model, ops), memory_mib());
    Ok(())
}
