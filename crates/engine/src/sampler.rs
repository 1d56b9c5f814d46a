//! Takes intervals from the job threads and adds them up per job, outside the threads.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assay_results::{HostEvent, Interval, JobCounts};

use crate::driver::key;
use crate::recorder::{Intervals, Taken};

/// How long behind the end of an interval the sampler comes, so that threads have published it.
const LAG: Duration = Duration::from_millis(5);
/// How often it looks whether everybody has finished.
const POLL: Duration = Duration::from_millis(2);
/// An interval is passed on without the threads that have not reported it this many periods later: one that hangs does not
/// silence its job. What it reports after all comes as another interval of the same number.
const PERIODS_MAX: u32 = 2;

/// An interval being put together.
#[derive(Debug)]
struct Open {
    start_ns: u64,
    end_ns: u64,
    counts: JobCounts,
    /// How often it has been waited for threads.
    waited: u32,
}

/// The intervals of all jobs of a phase.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// The job of each thread, and where its intervals come from.
    threads: Vec<(usize, Arc<dyn Intervals>)>,
    phase: u32,
    start_ns: u64,
    measured_starts: Vec<u64>,
    open: Vec<BTreeMap<u32, Open>>,
    next_wake: Instant,
}

impl Sampler {
    pub(crate) fn new(
        threads: Vec<(usize, Arc<dyn Intervals>)>,
        phase: u32,
        start_ns: u64,
        measured_starts: Vec<u64>,
    ) -> Self {
        Sampler {
            threads,
            phase,
            start_ns,
            open: measured_starts.iter().map(|_| BTreeMap::new()).collect(),
            measured_starts,
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

    /// Takes what the threads have published and passes on the intervals that are complete, or have been waited for
    /// long enough. To be called once a period.
    pub(crate) fn collect(&mut self, sink: &mut dyn FnMut(HostEvent)) {
        let mut oldest: Vec<Option<u32>> = vec![None; self.open.len()];
        for index in 0..self.threads.len() {
            let (job, thread) = &self.threads[index];
            let job = *job;
            // Read before taking: what the thread publishes in between then still counts as to come.
            let current = thread.current();
            let taken = thread.take();
            taken.into_iter().for_each(|taken| self.add(job, taken));
            oldest[job] = oldest[job].into_iter().chain(current).min();
        }
        for (job, oldest) in oldest.into_iter().enumerate() {
            self.open[job].values_mut().for_each(|open| open.waited += 1);
            while let Some((&first, open)) = self.open[job].first_key_value() {
                if oldest.is_some_and(|oldest| first >= oldest) && open.waited <= PERIODS_MAX {
                    break;
                }
                self.pass_on(job, first, sink);
            }
        }
    }

    /// Passes on everything that is left.
    pub(crate) fn finish(&mut self, sink: &mut dyn FnMut(HostEvent)) {
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
            waited: 0,
        });
        open.start_ns = open.start_ns.min(taken.start_ns);
        open.end_ns = open.end_ns.max(taken.end_ns);
        open.counts.merge(&taken.counts);
    }

    fn pass_on(&mut self, job: usize, index: u32, sink: &mut dyn FnMut(HostEvent)) {
        let Some(open) = self.open[job].remove(&index) else { return };
        let ramp = open.start_ns < self.measured_starts[job];
        let (start, end) =
            (open.start_ns - self.start_ns.min(open.start_ns), open.end_ns.saturating_sub(self.start_ns));
        let key = key(self.phase, job as u32, index, ramp, start, end);
        sink(HostEvent::Interval(Box::new(Interval { key, counts: open.counts })));
    }
}

#[cfg(test)]
mod tests;
