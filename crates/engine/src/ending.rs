//! What ends jobs before their own limits do: other jobs of the phase, or that they are steady.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_results::HostEvent;
use assay_results::interval::{Interval, OpCounts};
use assay_results::steady::{FioCriterion, FioRule, FioVerdict};
use assay_workload::job::{EndsWith, SteadyFigure, SteadyLimit};
use assay_workload::plan::PlannedPhase;

/// The flags that end the jobs of a phase, and what sets them.
#[derive(Debug)]
pub struct Endings {
    /// Ends everything.
    all: Arc<AtomicBool>,
    /// One for each job; `all` itself where nothing else ends jobs.
    flags: Vec<Arc<AtomicBool>>,
    ends_with: Vec<Option<EndsWith>>,
    steady: Vec<Option<Watch>>,
}

/// A job that is watched until it is steady.
#[derive(Debug)]
struct Watch {
    limit: SteadyLimit,
    rule: FioRule,
    interval_ns: u64,
    /// The last window.
    periods: VecDeque<Period>,
    periods_seen: usize,
    attained: bool,
}

/// What a watched job did in one reporting period.
#[derive(Debug, Default)]
struct Period {
    index: u32,
    length_ns: u64,
    ios: u64,
    bytes: u64,
    latency_n: u64,
    latency_sum_ns: u128,
}

impl Period {
    fn add(&mut self, index: u32, length_ns: u64, data: &OpCounts) {
        self.index = index;
        self.length_ns = self.length_ns.max(length_ns);
        self.ios += data.ios;
        self.bytes += data.bytes;
        self.latency_n += data.completion.n();
        self.latency_sum_ns += data.completion.sum_ns();
    }

    fn value(&self, figure: SteadyFigure) -> f64 {
        let seconds = self.length_ns as f64 / 1e9;
        match figure {
            SteadyFigure::Iops => self.ios as f64 / seconds,
            SteadyFigure::Bandwidth => self.bytes as f64 / seconds,
            SteadyFigure::Latency => self.latency_sum_ns as f64 / self.latency_n.max(1) as f64,
        }
    }
}

impl Endings {
    /// For the jobs of `phase`, which are reported every `interval` and which `all` ends too.
    pub fn new(phase: &PlannedPhase, all: &Arc<AtomicBool>, interval: Duration) -> Endings {
        let ends = || phase.jobs.iter().map(|job| job.end);
        let own = ends().any(|end| end.ends_with.is_some() || end.steady.is_some());
        let flag = |_| if own { Arc::new(AtomicBool::new(false)) } else { Arc::clone(all) };
        let endings = Endings {
            all: Arc::clone(all),
            flags: ends().map(flag).collect(),
            ends_with: ends().map(|end| end.ends_with).collect(),
            steady: ends().map(|end| end.steady.map(|limit| Watch::new(limit, interval))).collect(),
        };
        // What ends with jobs that only other hosts do would not be ended by anything here.
        let jobs = phase.jobs.iter().enumerate();
        endings.look(jobs.flat_map(|(index, job)| job.slices.iter().map(move |_| (index, false))));
        endings
    }

    /// Whether anything but its own limits and what ends everything can end a job.
    pub fn any(&self) -> bool {
        self.flags.iter().any(|flag| !Arc::ptr_eq(flag, &self.all))
    }

    /// The flag that ends a job.
    pub fn flag(&self, job: usize) -> Arc<AtomicBool> {
        Arc::clone(&self.flags[job])
    }

    /// Sets flags; `threads` are the jobs of the threads, and whether each has ended.
    pub fn look(&self, threads: impl Iterator<Item = (usize, bool)> + Clone) {
        let says = |job: usize, with| self.ends_with.get(job) == Some(&Some(with));
        let first = threads.clone().any(|(job, ended)| ended && says(job, EndsWith::First));
        // Jobs without threads here have ended.
        let others = self.ends_with.iter().any(|with| *with != Some(EndsWith::Others))
            && threads.filter(|(job, _)| !says(*job, EndsWith::Others)).all(|(_, ended)| ended);
        let all = self.all.load(Ordering::Relaxed);
        for (job, flag) in self.flags.iter().enumerate() {
            let by_others = match self.ends_with[job] {
                Some(EndsWith::First) => first,
                Some(EndsWith::Others) => others,
                None => false,
            };
            if all || by_others {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Takes note of an interval; its job ends where it makes it steady.
    pub fn feed(&mut self, interval: &Interval) {
        let job = interval.key.job as usize;
        if let Some(watch) = self.steady.get_mut(job).and_then(Option::as_mut)
            && watch.feed(interval)
        {
            self.flags[job].store(true, Ordering::Relaxed);
        }
    }

    /// Tells what became of the jobs of phase `phase` that were watched: a note each.
    pub fn tell(&self, phase: usize, planned: &PlannedPhase, sink: &mut dyn FnMut(HostEvent)) {
        for (job, steady, text) in self.verdicts() {
            let id = if steady { "steady-state" } else { "never-steady" }.to_owned();
            let text = format!("{}: {text}", planned.jobs[job].name);
            sink(HostEvent::Note { phase: Some(phase as u32), id, text });
        }
    }

    /// What became of the jobs that were watched: index, whether it was steady, and a sentence.
    fn verdicts(&self) -> impl Iterator<Item = (usize, bool, String)> {
        let watched = self.steady.iter().enumerate();
        watched.filter_map(|(job, watch)| watch.as_ref().map(|watch| (job, watch.attained, watch.describe())))
    }
}

impl Watch {
    fn new(limit: SteadyLimit, interval: Duration) -> Watch {
        let interval_ns = (interval.as_nanos() as u64).max(1);
        let rule = FioRule {
            criterion: if limit.slope { FioCriterion::Slope } else { FioCriterion::Deviation },
            limit: limit.percent_max / 100.0,
            relative: true,
            window_intervals: usize::try_from(limit.window.0.div_ceil(interval_ns))
                .unwrap_or(usize::MAX)
                .max(2),
        };
        Watch { limit, rule, interval_ns, periods: VecDeque::new(), periods_seen: 0, attained: false }
    }

    /// Whether the job is steady now.
    fn feed(&mut self, interval: &Interval) -> bool {
        let key = &interval.key;
        // The last one is shorter than the others: its figures are those of fewer operations.
        let whole = key.length_ns >= self.interval_ns - self.interval_ns / 10;
        let skipped = key.ramp || u64::from(key.index) * self.interval_ns < self.limit.skip.0;
        if self.attained || skipped || !whole {
            return self.attained;
        }
        let data = interval.counts.data();
        let place = match self.periods.iter().position(|period| period.index == key.index) {
            Some(place) => place,
            // What comes later than a window does not change it.
            None if self.periods.back().is_some_and(|last| last.index > key.index) => return false,
            None => {
                self.periods_seen += 1;
                self.periods.push_back(Period::default());
                if self.periods.len() > self.rule.window_intervals {
                    self.periods.pop_front();
                }
                self.periods.len() - 1
            }
        };
        self.periods[place].add(key.index, key.length_ns, &data);
        self.attained = self.verdict().is_some_and(|verdict| verdict.attained);
        self.attained
    }

    /// Of the last window.
    fn verdict(&self) -> Option<FioVerdict> {
        let values: Vec<f64> = self.periods.iter().map(|period| period.value(self.limit.figure)).collect();
        self.rule.assess(&values)
    }

    fn describe(&self) -> String {
        let figure = match (self.limit.figure, self.limit.slope) {
            (SteadyFigure::Iops, false) => "IOPS",
            (SteadyFigure::Bandwidth, false) => "bandwidth",
            (SteadyFigure::Latency, false) => "mean latency",
            (SteadyFigure::Iops, true) => "the slope of IOPS",
            (SteadyFigure::Bandwidth, true) => "the slope of bandwidth",
            (SteadyFigure::Latency, true) => "the slope of mean latency",
        };
        let (window, limit) = (self.limit.window, self.limit.percent_max);
        let last = match self.verdict().and_then(|verdict| verdict.criterion) {
            Some(share) => format!("{:.2} % of the mean in the last {window}", 100.0 * share),
            None => format!("fewer intervals than {window} have"),
        };
        if self.attained {
            format!("steady after {} intervals: {figure} {last}, below {limit} %", self.periods_seen)
        } else {
            format!("not steady before its other limits ended it: {figure} {last}, {limit} % are asked for")
        }
    }
}

#[cfg(test)]
mod tests;
