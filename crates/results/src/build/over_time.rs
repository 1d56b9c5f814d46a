//! Latencies by step of time, and the rate of each worker: collected in a number of steps that does not grow with the run.

use std::collections::BTreeMap;

use crate::event::HostId;
use crate::histogram::{BUCKETS, LatencyHistogram, bucket_low_ns};
use crate::interval::IntervalKey;
use crate::over_time::{IopsOverTime, LatencyOverTime};

/// Steps of time at most; where more would be needed, each becomes twice as long.
const STEPS_MAX: usize = 120;
/// Buckets of the histogram in a row: four rows for each doubling of the latency.
const ROW_BUCKETS: usize = 32;
const ROWS: usize = BUCKETS / ROW_BUCKETS;
/// Steps of all workers together at most: 200 workers have 60 each.
const CELLS_MAX: usize = 12_000;
/// Steps of one worker at most.
const WORKER_STEPS_MAX: usize = 60;

/// Collects [`LatencyOverTime`].
#[derive(Debug, Clone, Default)]
pub(crate) struct LatencySteps {
    start_ns: u64,
    /// 0: nothing came yet.
    step_ns: u64,
    /// By step, then by row; what no I/O reached is left out at the end.
    steps: Vec<Vec<u64>>,
}

impl LatencySteps {
    pub(crate) fn feed(&mut self, key: IntervalKey, latencies: &LatencyHistogram) {
        if latencies.is_empty() {
            return;
        }
        if self.step_ns == 0 {
            (self.start_ns, self.step_ns) = (key.start_ns, key.length_ns.max(1));
        }
        let middle_ns = key.start_ns.saturating_add(key.length_ns / 2);
        let since_ns = middle_ns.saturating_sub(self.start_ns);
        while since_ns / self.step_ns >= STEPS_MAX as u64 {
            self.halve();
        }
        let step = (since_ns / self.step_ns) as usize;
        if self.steps.len() <= step {
            self.steps.resize(step + 1, Vec::new());
        }
        for (bucket, count) in latencies.buckets() {
            add(&mut self.steps[step], bucket / ROW_BUCKETS, count);
        }
    }

    /// Makes one step of two.
    fn halve(&mut self) {
        self.step_ns = self.step_ns.saturating_mul(2);
        let mut joined: Vec<Vec<u64>> = Vec::with_capacity(self.steps.len().div_ceil(2));
        for pair in self.steps.chunks(2) {
            let mut rows = pair[0].clone();
            pair.iter()
                .skip(1)
                .flat_map(|other| other.iter().enumerate())
                .for_each(|(row, count)| add(&mut rows, row, *count));
            joined.push(rows);
        }
        self.steps = joined;
    }

    /// With times from `origin_ns` after the start of the phase; `None` with fewer than two steps.
    pub(crate) fn finish(&self, origin_ns: u64) -> Option<LatencyOverTime> {
        let reached =
            |row: &usize| self.steps.iter().any(|rows| rows.get(*row).is_some_and(|count| *count > 0));
        let (first, last) = ((0..ROWS).find(reached)?, (0..ROWS).rev().find(reached)?);
        let of_step =
            |rows: &Vec<u64>| (first..=last).map(|row| rows.get(row).copied().unwrap_or(0)).collect();
        (self.steps.len() > 1).then(|| LatencyOverTime {
            start_s: (self.start_ns as f64 - origin_ns as f64) / 1e9,
            step_s: self.step_ns as f64 / 1e9,
            edges_ns: (first..=last + 1).map(|row| bucket_low_ns(row * ROW_BUCKETS)).collect(),
            ios: self.steps.iter().map(of_step).collect(),
        })
    }
}

fn add(rows: &mut Vec<u64>, row: usize, count: u64) {
    if rows.len() <= row {
        rows.resize(row + 1, 0);
    }
    rows[row] = rows[row].saturating_add(count);
}

/// Equal steps of a window, each about as long as a reporting period.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    start_ns: u64,
    step_ns: f64,
    steps: usize,
}

impl Grid {
    pub(super) fn new(window: (u64, u64), period_ns: u64, steps_max: usize) -> Self {
        let length_ns = window.1.saturating_sub(window.0).max(1) as f64;
        let steps = ((length_ns / period_ns.max(1) as f64).round() as usize).clamp(1, steps_max.max(1));
        Grid { start_ns: window.0, step_ns: length_ns / steps as f64, steps }
    }

    /// The steps that a period lies in, each with the ends of its part of the period, from 0 to 1.
    pub(super) fn parts(self, start_ns: u64, length_ns: u64) -> impl Iterator<Item = (usize, f64, f64)> {
        let from = start_ns as f64 - self.start_ns as f64;
        let length = length_ns.max(1) as f64;
        let first = (from / self.step_ns).max(0.0) as usize;
        (first..self.steps).map_while(move |step| {
            let (low, high) = (step as f64 * self.step_ns, (step + 1) as f64 * self.step_ns);
            let (low, high) = ((low.max(from) - from) / length, (high.min(from + length) - from) / length);
            (high > low).then_some((step, low, high))
        })
    }

    /// Start and length of a step.
    pub(super) fn step(self, step: usize) -> (u64, u64) {
        let edge = |step: usize| self.start_ns.saturating_add((step as f64 * self.step_ns).round() as u64);
        (edge(step), edge(step + 1) - edge(step))
    }
}

/// Collects [`IopsOverTime`] of each worker, over the time in which all measured.
#[derive(Debug, Clone)]
pub(super) struct WorkerSteps {
    grid: Grid,
    workers: BTreeMap<HostId, Vec<f64>>,
}

impl WorkerSteps {
    /// For `workers` over `window` with reporting periods of `period_ns`.
    pub(super) fn new(workers: usize, window: (u64, u64), period_ns: u64) -> Self {
        let room = (CELLS_MAX / workers.max(1)).clamp(1, WORKER_STEPS_MAX);
        WorkerSteps { grid: Grid::new(window, period_ns, room), workers: BTreeMap::new() }
    }

    /// Adds a period that began at `start_ns` of the common time. It rarely lies in one step: each gets its share.
    pub(super) fn feed(&mut self, host: HostId, start_ns: u64, length_ns: u64, ios: u64) {
        let steps = self.workers.entry(host).or_insert_with(|| vec![0.0; self.grid.steps]);
        for (step, low, high) in self.grid.parts(start_ns, length_ns) {
            steps[step] += ios as f64 * (high - low);
        }
    }

    /// What a worker did; `None` with fewer than two steps, or where nothing came from it.
    pub(super) fn of(&self, host: HostId) -> Option<IopsOverTime> {
        let ios = self.workers.get(&host).filter(|steps| steps.len() > 1)?;
        let step_s = self.grid.step_ns / 1e9;
        Some(IopsOverTime { step_s, iops: ios.iter().map(|ios| four_digits(ios / step_s)).collect() })
    }
}

fn four_digits(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let unit = 10_f64.powi(value.log10().floor() as i32 - 3);
    // Divided by the power of ten where that is exact: 0.1 is not.
    if unit < 1.0 { (value / unit).round() / (1.0 / unit).round() } else { (value / unit).round() * unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn key(second: u64) -> IntervalKey {
        IntervalKey { phase: 0, job: 0, index: 0, ramp: false, start_ns: second * SECOND, length_ns: SECOND }
    }

    fn of(values: &[u64]) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn every_io_is_in_its_step_and_row() {
        let mut steps = LatencySteps::default();
        steps.feed(key(3), &of(&[100_000, 101_000]));
        steps.feed(key(4), &of(&[100_000, 9_000_000]));
        let map = steps.finish(3 * SECOND).unwrap();
        assert_eq!((map.start_s, map.step_s, map.ios.len()), (0.0, 1.0, 2));
        let row = |ns: u64| map.edges_ns.iter().rposition(|edge| *edge <= ns).unwrap();
        assert_eq!(
            (map.ios[0][row(100_000)], map.ios[1][row(100_000)], map.ios[1][row(9_000_000)]),
            (2, 1, 1)
        );
        assert_eq!(map.ios.iter().flatten().sum::<u64>(), 4);
        assert!(map.ios.iter().all(|rows| rows.len() + 1 == map.edges_ns.len()));
        assert!(
            map.edges_ns.windows(2).all(|pair| pair[1] as f64 / pair[0] as f64 <= 1.26),
            "{:?}",
            map.edges_ns
        );
    }

    #[test]
    fn a_long_run_has_few_steps_and_loses_nothing() {
        let mut steps = LatencySteps::default();
        (0..5_000).for_each(|second| steps.feed(key(second), &of(&[1_000 + second])));
        let map = steps.finish(0).unwrap();
        assert!((STEPS_MAX / 2..=STEPS_MAX).contains(&map.ios.len()), "{}", map.ios.len());
        assert_eq!(map.step_s, 64.0);
        assert_eq!(map.ios.iter().flatten().sum::<u64>(), 5_000);
        assert_eq!(map.ios[0].iter().sum::<u64>(), 64);
    }

    #[test]
    fn times_that_make_no_sense_end() {
        let mut steps = LatencySteps::default();
        steps.feed(IntervalKey { length_ns: 0, ..key(0) }, &of(&[1]));
        steps.feed(IntervalKey { start_ns: u64::MAX, length_ns: u64::MAX, ..key(0) }, &of(&[u64::MAX]));
        steps.feed(key(0), &of(&[1]));
        let map = steps.finish(0).unwrap();
        assert_eq!(map.ios.iter().flatten().sum::<u64>(), 3);
    }

    #[test]
    fn one_step_or_none_is_no_course() {
        assert_eq!(LatencySteps::default().finish(0), None);
        let mut steps = LatencySteps::default();
        steps.feed(key(0), &of(&[7]));
        assert_eq!(steps.finish(0), None);
    }

    #[test]
    fn a_period_is_shared_between_the_steps_it_lies_in() {
        let mut steps = WorkerSteps::new(2, (10 * SECOND, 14 * SECOND), SECOND);
        steps.feed(HostId(1), 10 * SECOND + SECOND / 4, SECOND, 1000);
        // Before and after the common time.
        steps.feed(HostId(2), 9 * SECOND + SECOND / 2, SECOND, 1000);
        steps.feed(HostId(2), 13 * SECOND + SECOND / 2, SECOND, 1000);
        assert_eq!(steps.of(HostId(1)).unwrap().iops, [750.0, 250.0, 0.0, 0.0]);
        assert_eq!(steps.of(HostId(2)).unwrap().iops, [500.0, 0.0, 0.0, 500.0]);
        assert_eq!(steps.of(HostId(3)), None);
        assert_eq!(WorkerSteps::new(1000, (0, 3600 * SECOND), SECOND).grid.steps, 12);
    }

    #[test]
    fn rates_are_kept_to_four_digits() {
        assert_eq!(
            [2.449_99, 1_234_567.8, 0.0, 0.123_456, 99.999].map(four_digits),
            [2.45, 1_235_000.0, 0.0, 0.1235, 100.0]
        );
    }
}
