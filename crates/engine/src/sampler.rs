//! Takes intervals from the job threads and adds them up per job, outside the threads.

use std::collections::BTreeMap;
use std::sync::Arc;

use assay_results::{HostEvent, Interval, JobCounts, interval::IntervalKey};

use crate::recorder::{CompletedInterval, Intervals};

/// An interval is passed on without the threads that have not reported it this many looks at everybody later: one that hangs
/// does not silence its job. What it reports after all comes as another interval of the same number.
const LOOKS_MAX: u32 = 2;

/// An interval being put together.
#[derive(Debug)]
struct Open {
    start_ns: u64,
    end_ns: u64,
    counts: JobCounts,
    /// How often it has been waited for threads.
    waited: u32,
}

/// One thread from the outside.
#[derive(Debug)]
struct Thread {
    job: usize,
    intervals: Arc<dyn Intervals>,
    /// The interval it was in at the last look; `None`: it has ended.
    current: Option<u32>,
}

/// The intervals of all jobs of a phase. Real time looks at everybody once a period ([`Sampler::collect`]), virtual time at
/// a thread when it has ended an interval ([`Sampler::collect_from`]).
#[derive(Debug)]
pub struct Sampler {
    threads: Vec<Thread>,
    phase: u32,
    start_ns: u64,
    measured_starts: Vec<u64>,
    open: Vec<BTreeMap<u32, Open>>,
}

impl Sampler {
    /// Of `threads`, each with its job, in a phase that starts at `start_ns` and whose jobs are measured from
    /// `measured_starts` on.
    pub fn new(
        threads: Vec<(usize, Arc<dyn Intervals>)>,
        phase: usize,
        start_ns: u64,
        measured_starts: Vec<u64>,
    ) -> Self {
        let thread = |(job, intervals): (usize, Arc<dyn Intervals>)| {
            let current = intervals.current();
            Thread { job, intervals, current }
        };
        Sampler {
            threads: threads.into_iter().map(thread).collect(),
            phase: phase as u32,
            start_ns,
            open: measured_starts.iter().map(|_| BTreeMap::new()).collect(),
            measured_starts,
        }
    }

    /// Takes what the threads have published and passes on the intervals that are complete, or have been waited for
    /// long enough. To be called once a period.
    pub fn collect(&mut self, sink: &mut dyn FnMut(HostEvent)) {
        (0..self.threads.len()).for_each(|index| self.look_at(index));
        for job in 0..self.open.len() {
            self.open[job].values_mut().for_each(|open| open.waited += 1);
            self.pass_on_complete(job, sink);
        }
    }

    /// Takes what the thread `index` has published and passes on the intervals of its job that are complete now.
    pub fn collect_from(&mut self, index: usize, sink: &mut dyn FnMut(HostEvent)) {
        self.look_at(index);
        self.pass_on_complete(self.threads[index].job, sink);
    }

    /// Passes on everything that is left.
    pub fn finish(&mut self, sink: &mut dyn FnMut(HostEvent)) {
        for job in 0..self.open.len() {
            while let Some(first) = self.open[job].first_key_value().map(|entry| *entry.0) {
                self.pass_on(job, first, sink);
            }
        }
    }

    fn look_at(&mut self, index: usize) {
        let thread = &mut self.threads[index];
        // Read before taking: what the thread publishes in between then still counts as to come.
        thread.current = thread.intervals.current();
        let (job, taken) = (thread.job, thread.intervals.take());
        taken.into_iter().for_each(|taken| self.add(job, taken));
    }

    fn add(&mut self, job: usize, taken: CompletedInterval) {
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

    fn pass_on_complete(&mut self, job: usize, sink: &mut dyn FnMut(HostEvent)) {
        let threads = self.threads.iter().filter(|thread| thread.job == job);
        let oldest = threads.filter_map(|thread| thread.current).min();
        while let Some((&first, open)) = self.open[job].first_key_value() {
            if oldest.is_some_and(|oldest| first >= oldest) && open.waited <= LOOKS_MAX {
                break;
            }
            self.pass_on(job, first, sink);
        }
    }

    fn pass_on(&mut self, job: usize, index: u32, sink: &mut dyn FnMut(HostEvent)) {
        let Some(open) = self.open[job].remove(&index) else { return };
        let (start, end) =
            (open.start_ns.saturating_sub(self.start_ns), open.end_ns.saturating_sub(self.start_ns));
        let key = IntervalKey {
            phase: self.phase,
            job: job as u32,
            index,
            ramp: open.start_ns < self.measured_starts[job],
            start_ns: start,
            length_ns: end.saturating_sub(start),
        };
        sink(HostEvent::Interval(Box::new(Interval { key, counts: open.counts })));
    }
}

#[cfg(test)]
mod tests;
