//! Takes intervals from the job threads and adds them up per job, outside the threads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use assay_results::{Interval, JobCounts, RunEvent};

use crate::driver::{Running, key};
use crate::recorder::Taken;

/// How long behind the end of an interval the sampler comes, so that threads have published it.
const LAG: Duration = Duration::from_millis(5);
/// How often it looks whether everybody has finished.
const POLL: Duration = Duration::from_millis(2);

/// An interval being put together.
#[derive(Debug)]
struct Open {
    start_ns: u64,
    end_ns: u64,
    counts: JobCounts,
}

/// The intervals of all jobs of a phase.
#[derive(Debug)]
pub(crate) struct Sampler {
    phase: u32,
    start_ns: u64,
    measured_starts: Vec<u64>,
    open: Vec<BTreeMap<u32, Open>>,
    next_wake: Instant,
}

impl Sampler {
    pub(crate) fn new(running: &[Running], phase: u32, start_ns: u64, measured_starts: Vec<u64>) -> Self {
        let jobs = running.iter().map(|thread| thread.job + 1).max().unwrap_or(0);
        Sampler {
            phase,
            start_ns,
            measured_starts,
            open: (0..jobs).map(|_| BTreeMap::new()).collect(),
            next_wake: Instant::now() + LAG,
        }
    }

    /// Sleeps until the next interval should be there, or `done`.
    pub(crate) fn wait(&mut self, interval: Duration, done: &dyn Fn() -> bool) {
        self.next_wake += interval;
        loop {
            let left = self.next_wake.saturating_duration_since(Instant::now());
            if left.is_zero() || done() {
                return;
            }
            std::thread::sleep(left.min(POLL.max(interval / 50)));
        }
    }

    /// Takes what the threads have published and passes on the intervals that are complete.
    pub(crate) fn collect(&mut self, running: &[Running], sink: &mut dyn FnMut(RunEvent)) {
        for thread in running {
            // Read before taking: what a thread publishes in between is then only passed on next time.
            for taken in thread.shared.take() {
                self.add(thread.job, taken);
            }
        }
        for job in 0..self.open.len() {
            let threads = running.iter().filter(|thread| thread.job == job);
            let oldest = threads.filter_map(|thread| thread.shared.current()).min();
            while let Some(first) = self.open[job].first_key_value().map(|entry| *entry.0) {
                if oldest.is_some_and(|oldest| first >= oldest) {
                    break;
                }
                self.pass_on(job, first, sink);
            }
        }
    }

    /// Passes on everything that is left.
    pub(crate) fn finish(&mut self, sink: &mut dyn FnMut(RunEvent)) {
        for job in 0..self.open.len() {
            while let Some(first) = self.open[job].first_key_value().map(|entry| *entry.0) {
                self.pass_on(job, first, sink);
            }
        }
    }

    fn add(&mut self, job: usize, taken: Taken) {
        let open = self.open[job].entry(taken.index).or_insert_with(|| Open {
            start_ns: taken.start_ns,
            end_ns: taken.end_ns,
            counts: JobCounts::default(),
        });
        open.start_ns = open.start_ns.min(taken.start_ns);
        open.end_ns = open.end_ns.max(taken.end_ns);
        open.counts.merge(&taken.counts);
    }

    fn pass_on(&mut self, job: usize, index: u32, sink: &mut dyn FnMut(RunEvent)) {
        let Some(open) = self.open[job].remove(&index) else { return };
        let ramp = open.start_ns < self.measured_starts[job];
        let (start, end) =
            (open.start_ns - self.start_ns.min(open.start_ns), open.end_ns.saturating_sub(self.start_ns));
        let key = key(self.phase, job as u32, index, ramp, start, end);
        sink(RunEvent::Interval(Box::new(Interval { key, counts: open.counts })));
    }
}
