//! A small job loop for tests of the simulator itself.

use assay_engine::{Clock, Completions, Engine, EngineError, Io, Wait};
use assay_results::LatencyHistogram;
use assay_workload::AccessPattern;
use assay_workload::arrival::ArrivalSource;
use assay_workload::job::{Arrival, TargetSelection};
use assay_workload::ops::{Generator, Op, OpBlock, OpSource, SiteSpec};
use assay_workload::target::ActiveRange;

use crate::{Driver, Model, Pending, SimClock, SimEngine, Simulation, Stepper};

/// How a test loop is paced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// So many outstanding.
    Closed(u32),
    /// Poisson arrivals at this rate a second, with at most so many outstanding.
    Open(f64, u32),
}

/// Submits operations and records how long each took.
pub(crate) struct MiniLoop {
    engine: SimEngine,
    clock: SimClock,
    source: Box<dyn OpSource>,
    block: OpBlock,
    next: usize,
    arrivals: Option<ArrivalSource>,
    arrival_ns: [u64; 1],
    free: Vec<u32>,
    /// Kind and intended start, or submission, of each slot.
    started: Vec<(u8, u64)>,
    completions: Completions,
    /// Nothing is recorded before this time.
    pub(crate) from_ns: u64,
    /// By kind.
    pub(crate) latency: [LatencyHistogram; 5],
    /// Exact sum of recorded times.
    pub(crate) sum_ns: u64,
    pub(crate) n: u64,
    pub(crate) errors: u64,
    pub(crate) last_ns: u64,
}

impl MiniLoop {
    pub(crate) fn new(
        engine: SimEngine,
        clock: SimClock,
        source: Box<dyn OpSource>,
        pace: Pace,
        seed: u64,
    ) -> Self {
        let (slots, mut arrivals) = match pace {
            Pace::Closed(slots) => (slots, None),
            Pace::Open(rate, slots) => (slots, Some(ArrivalSource::new(Arrival::Poisson, rate, seed))),
        };
        let mut arrival_ns = [0];
        if let Some(source) = &mut arrivals {
            source.fill(&mut arrival_ns);
        }
        MiniLoop {
            engine,
            clock,
            source,
            block: OpBlock::default(),
            next: 0,
            arrivals,
            arrival_ns,
            free: (0..slots).rev().collect(),
            started: vec![(0, 0); slots as usize],
            completions: Completions::with_capacity(slots as usize),
            from_ns: 0,
            latency: std::array::from_fn(|_| LatencyHistogram::new()),
            sum_ns: 0,
            n: 0,
            errors: 0,
            last_ns: 0,
        }
    }

    fn take(&mut self) -> Option<Op> {
        if self.next == self.block.len {
            self.source.fill(&mut self.block);
            self.next = 0;
        }
        let op = self.block.ops[..self.block.len].get(self.next).copied();
        self.next += 1;
        op
    }

    pub(crate) fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.n as f64
    }
}

impl Stepper for MiniLoop {
    fn step(&mut self) -> Result<Pending, EngineError> {
        self.completions.clear();
        self.engine.reap(&mut self.completions, Wait::Poll)?;
        let now = self.clock.now_ns();
        for completion in self.completions.as_slice() {
            let (kind, started) = self.started[completion.slot as usize];
            self.free.push(completion.slot);
            self.last_ns = now;
            if now < self.from_ns {
                continue;
            }
            if completion.result < 0 {
                self.errors += 1;
            } else {
                self.latency[usize::from(kind)].record(now - started);
                self.sum_ns += now - started;
                self.n += 1;
            }
        }
        let mut wait = Pending::Completion;
        while let Some(&slot) = self.free.last() {
            if self.arrivals.is_some() && self.arrival_ns[0] > now {
                wait = Pending::Until(self.arrival_ns[0]);
                break;
            }
            let Some(op) = self.take() else {
                if self.free.len() == self.started.len() {
                    return Ok(Pending::Done);
                }
                break;
            };
            self.free.pop();
            let started = if self.arrivals.is_some() { self.arrival_ns[0] } else { now };
            self.started[slot as usize] = (op.kind as u8, started);
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.fill(&mut self.arrival_ns);
            }
            let Op { offset_bytes, len_bytes, target, kind } = op;
            let queued = self.engine.queue(Io { slot, target, kind, len_bytes, offset_bytes });
            assert!(queued.is_ok(), "the engine has a place for every slot");
        }
        self.engine.submit(Wait::Poll)?;
        Ok(wait)
    }
}

/// Runs `ios` operations of `pattern` on one volume with each of `paces`, one loop for each.
pub(crate) fn run(
    model: &Model,
    seed: u64,
    size_bytes: u64,
    pattern: &AccessPattern,
    ios: u64,
    paces: &[Pace],
) -> (Simulation, Vec<MiniLoop>) {
    let mut simulation = Simulation::new(model, seed).unwrap();
    let volume = simulation.add_volume(size_bytes);
    let mut driver = Driver::default();
    for (index, &pace) in paces.iter().enumerate() {
        let seed = seed + 100 * index as u64;
        let range = ActiveRange { offset_bytes: 0, length_bytes: size_bytes };
        let sites = [SiteSpec { target: 0, range }];
        let source = Generator::new(pattern, &sites, TargetSelection::default(), seed, Some(ios), None);
        let (Pace::Closed(slots) | Pace::Open(_, slots)) = pace;
        let engine = simulation.engine(&[volume], slots);
        let port = engine.port();
        driver.add(&[port], MiniLoop::new(engine, simulation.clock(), Box::new(source), pace, seed + 1));
    }
    let loops = driver.run(&simulation).unwrap();
    (simulation, loops)
}
