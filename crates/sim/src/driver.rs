//! Runs any number of job loops against one simulation, in virtual time and in one thread.

pub use assay_engine::job_loop::Pending;
use assay_engine::{Clock, EngineError};

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{PortId, Simulation};

/// What a look takes a loop that asks for a time that has come: it spins, and as for a real one the time goes by meanwhile.
const SPIN_NS: u64 = 200;
/// As many as a port can name.
const LOOPS_MAX: usize = 1 << 16;

/// Times that loops wait for, and their indexes; those a loop waits for no longer are left in.
type Timers = BinaryHeap<Reverse<(u64, u32)>>;

/// A loop that can be stepped: does all it can at the present time, then says what it waits for.
pub trait Stepper {
    /// Goes on until nothing can be done without waiting.
    ///
    /// # Errors
    /// [`EngineError`] if it cannot go on at all.
    fn step(&mut self) -> Result<Pending, EngineError>;
}

/// Why a simulation ended early.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// A loop failed.
    #[error("job loop {index}: {source}")]
    Loop {
        /// Which, in the order they were added.
        index: usize,
        /// Why.
        source: EngineError,
    },
    /// A loop waits for a completion while nothing is outstanding.
    #[error("job loop {0} waits for a completion, but nothing is outstanding")]
    Stuck(usize),
    /// More loops than there are ports.
    #[error("more than {} job loops", LOOPS_MAX)]
    TooMany,
}

#[derive(Debug)]
struct Runner<L> {
    stepper: L,
    /// The time it waits for; `u64::MAX`: none.
    wake_ns: u64,
    done: bool,
    due: bool,
}

/// Steps job loops as their completions and times come due: at equal times in the order they were added.
#[derive(Debug)]
pub struct Driver<L> {
    runners: Vec<Runner<L>>,
    /// The runner of each port.
    owners: Vec<u32>,
}

impl<L> Default for Driver<L> {
    fn default() -> Self {
        Driver { runners: Vec::new(), owners: Vec::new() }
    }
}

impl<L: Stepper> Driver<L> {
    /// Adds a loop that uses the engines of `ports`.
    pub fn add(&mut self, ports: &[PortId], stepper: L) {
        for port in ports.iter().map(|port| usize::from(port.0)) {
            self.owners.resize(self.owners.len().max(port + 1), u32::MAX);
            self.owners[port] = self.runners.len() as u32;
        }
        self.runners.push(Runner { stepper, wake_ns: u64::MAX, done: false, due: false });
    }

    /// Runs until all loops are done; gives them back in the order they were added.
    ///
    /// # Errors
    /// [`DriverError`] if a loop fails, or waits for what never comes.
    pub fn run(mut self, simulation: &Simulation) -> Result<Vec<L>, DriverError> {
        if self.runners.len() > LOOPS_MAX {
            return Err(DriverError::TooMany);
        }
        let clock = simulation.clock();
        let mut timers = Timers::new();
        let mut due: Vec<u32> = (0..self.runners.len() as u32).collect();
        let mut ports = Vec::with_capacity(self.owners.len());
        let mut left = self.runners.len();
        loop {
            for index in due.drain(..) {
                left -= usize::from(self.step(index, clock.now_ns(), &mut timers)?);
            }
            while left > 0 {
                let next_ns = timers.peek().map_or(u64::MAX, |timer| timer.0.0);
                let mut world = simulation.world().borrow_mut();
                if world.is_idle() && next_ns == u64::MAX {
                    let stuck = self.runners.iter().position(|runner| !runner.done);
                    return Err(DriverError::Stuck(stuck.unwrap_or(0)));
                }
                world.run_until(next_ns);
                let now_ns = clock.now_ns();
                if now_ns >= next_ns {
                    break;
                }
                let Some(port) = world.take_only_ready() else { break };
                drop(world);
                let owner = self.owners[usize::from(port)];
                if self.runners.get(owner as usize).is_some_and(|runner| !runner.done) {
                    left -= usize::from(self.step(owner, now_ns, &mut timers)?);
                }
            }
            if left == 0 {
                return Ok(self.runners.into_iter().map(|runner| runner.stepper).collect());
            }
            simulation.world().borrow_mut().take_ready(&mut ports);
            for &port in &ports {
                self.mark(self.owners[usize::from(port)], &mut due);
            }
            while let Some(&Reverse((at_ns, index))) = timers.peek()
                && at_ns <= clock.now_ns()
            {
                timers.pop();
                if self.runners[index as usize].wake_ns == at_ns {
                    self.runners[index as usize].wake_ns = u64::MAX;
                    self.mark(index, &mut due);
                }
            }
            due.sort_unstable();
        }
    }

    fn mark(&mut self, index: u32, due: &mut Vec<u32>) {
        if let Some(runner) = self.runners.get_mut(index as usize)
            && !runner.due
            && !runner.done
        {
            runner.due = true;
            due.push(index);
        }
    }

    /// Steps a runner; whether that ended it.
    #[inline(always)]
    fn step(&mut self, index: u32, now_ns: u64, timers: &mut Timers) -> Result<bool, DriverError> {
        let runner = &mut self.runners[index as usize];
        runner.due = false;
        let pending =
            runner.stepper.step().map_err(|source| DriverError::Loop { index: index as usize, source })?;
        let pending = match pending {
            Pending::Until(at_ns) => Pending::Until(at_ns.max(now_ns + SPIN_NS)),
            other => other,
        };
        match pending {
            Pending::Completion => runner.wake_ns = u64::MAX,
            // A timer that still stands in the heap is not pushed again.
            Pending::Until(at_ns) if at_ns != runner.wake_ns => {
                runner.wake_ns = at_ns;
                timers.push(Reverse((at_ns, index)));
            }
            Pending::Until(_) => {}
            Pending::Done => {
                runner.wake_ns = u64::MAX;
                runner.done = true;
            }
        }
        Ok(runner.done)
    }
}
