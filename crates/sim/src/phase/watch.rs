//! What ends jobs before their own limits do: the engine's rules, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::ending::Endings;
use assay_engine::job_loop::Pending;
use assay_results::HostEvent;
use assay_results::interval::Interval;
use assay_workload::plan::PlannedPhase;

use super::SimOptions;
use crate::SimClock;

/// A loop that waits for a time looks this often whether it was ended, nanoseconds of simulated time; one of a real job is
/// told within a few milliseconds, too.
const LOOK_NS: u64 = 1_000_000;

/// The endings of a phase, and which of its threads have ended.
#[derive(Debug)]
pub(super) struct Watch {
    endings: Endings,
    stop: Arc<AtomicBool>,
    clock: SimClock,
    /// Each thread's job, and whether it has ended.
    threads: Vec<(usize, bool)>,
}

impl Watch {
    pub(super) fn new(phase: &PlannedPhase, options: &SimOptions<'_>, clock: SimClock) -> Watch {
        let jobs = phase.jobs.iter().enumerate();
        let threads = jobs.flat_map(|(index, job)| job.slices.iter().map(move |_| (index, false)));
        Watch {
            endings: Endings::new(phase, &options.stop, Duration::from_nanos(options.interval_ns)),
            stop: Arc::clone(&options.stop),
            clock,
            threads: threads.collect(),
        }
    }

    /// Whether any job can be ended by anything but its limits and `stop`.
    pub(super) fn active(&self) -> bool {
        self.endings.any()
    }

    /// The flag that ends a job.
    pub(super) fn flag(&self, job: usize) -> Arc<AtomicBool> {
        self.endings.flag(job)
    }

    /// Takes note of an interval; its job ends where it makes it steady.
    pub(super) fn feed(&mut self, interval: &Interval) {
        self.endings.feed(interval);
    }

    /// After a step of a thread of the phase: ends what ends with it. Returns what it waits for, which is never far away.
    pub(super) fn stepped(&mut self, thread: usize, pending: Pending) -> Pending {
        if pending == Pending::Done {
            self.threads[thread].1 = true;
        }
        if pending == Pending::Done || self.stop.load(Ordering::Relaxed) {
            self.endings.look(self.threads.iter().copied());
        }
        match pending {
            Pending::Until(at_ns) if at_ns < u64::MAX => {
                Pending::Until(at_ns.min(self.clock.now_ns() + LOOK_NS))
            }
            other => other,
        }
    }

    /// Tells what became of the jobs that were to end when they are steady.
    pub(super) fn tell(&self, phase: usize, planned: &PlannedPhase, sink: &mut dyn FnMut(HostEvent)) {
        self.endings.tell(phase, planned, sink);
    }
}
