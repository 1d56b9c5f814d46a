//! The points of a chart: what the jobs of a group did in each reporting period.

use std::collections::VecDeque;

use super::over_time::{Grid, LatencySteps};
use crate::histogram::LatencyHistogram;
use crate::interval::{Interval, IntervalKey, JobCounts};
use crate::over_time::LatencyOverTime;
use crate::run::SeriesPoint;
use crate::varint::{put, put_signed, take, take_signed};

/// Periods that may still receive intervals of other jobs of the group.
const OPEN_MAX: usize = 4;
/// Closed periods that a late interval is still added to.
const RECENT_MAX: usize = 64;
/// A last period shorter than this share of the one before it is what was outstanding at the end: it belongs to that one.
const REST_MAX: f64 = 0.1;

#[derive(Debug, Clone)]
struct OpenPoint {
    start_ns: u64,
    end_ns: u64,
    ios: u64,
    bytes: u64,
    completion: LatencyHistogram,
}

/// What belongs to a point: counts, and the latencies of an interval where they belong there, too.
struct Part<'a> {
    ios: u64,
    bytes: u64,
    latencies_of: Option<&'a JobCounts>,
}

impl OpenPoint {
    fn add(&mut self, part: Part<'_>) {
        self.ios = self.ios.saturating_add(part.ios);
        self.bytes = self.bytes.saturating_add(part.bytes);
        if let Some(counts) = part.latencies_of {
            counts.add_data_completion(&mut self.completion);
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct DonePoint {
    start_ns: u64,
    length_ns: u64,
    ios: u64,
    bytes: u64,
    /// Of what had come when the period was closed.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
}

/// Points one behind the other in some fifteen bytes each, so that a run of days stays small: a start as its distance from the end before, a
/// length as its difference from the one before, a percentile by one more, or 0 where there is none.
#[derive(Debug, Clone, Default)]
struct PackedPoints {
    bytes: Vec<u8>,
    end_ns: u64,
    length_ns: u64,
}

impl PackedPoints {
    fn push(&mut self, point: &DonePoint) {
        put_signed(&mut self.bytes, point.start_ns.wrapping_sub(self.end_ns) as i64);
        put_signed(&mut self.bytes, point.length_ns.wrapping_sub(self.length_ns) as i64);
        for value in [point.ios, point.bytes] {
            put(&mut self.bytes, value);
        }
        for percentile in [point.p50_ns, point.p99_ns] {
            put(&mut self.bytes, percentile.map_or(0, |ns| ns.saturating_add(1)));
        }
        (self.end_ns, self.length_ns) = (point.start_ns.wrapping_add(point.length_ns), point.length_ns);
    }

    fn iter(&self) -> impl Iterator<Item = DonePoint> + '_ {
        let (mut rest, mut end_ns, mut before_ns) = (&self.bytes[..], 0_u64, 0_u64);
        std::iter::from_fn(move || {
            let start_ns = end_ns.wrapping_add(take_signed(&mut rest)? as u64);
            let length_ns = before_ns.wrapping_add(take_signed(&mut rest)? as u64);
            (end_ns, before_ns) = (start_ns.wrapping_add(length_ns), length_ns);
            let (ios, bytes) = (take(&mut rest)?, take(&mut rest)?);
            let (p50_ns, p99_ns) = (take(&mut rest)?.checked_sub(1), take(&mut rest)?.checked_sub(1));
            Some(DonePoint { start_ns, length_ns, ios, bytes, p50_ns, p99_ns })
        })
    }
}

/// Collects the points of one reported job. Intervals of the jobs of a group that start within half a period of each
/// other make one point; their histograms are merged before a percentile is taken.
#[derive(Debug, Clone, Default)]
pub(super) struct PointSeries {
    open: VecDeque<OpenPoint>,
    recent: VecDeque<DonePoint>,
    done: PackedPoints,
    latencies: LatencySteps,
}

impl PointSeries {
    pub(super) fn feed(&mut self, interval: &Interval) {
        let (key, counts) = (interval.key, &interval.counts);
        counts.each_completion(|completion| self.latencies.feed(key, completion));
        let end_ns = key.start_ns.saturating_add(key.length_ns);
        let part = Part { ios: counts.data_ios(), bytes: counts.data_bytes(), latencies_of: Some(counts) };
        self.add((key.start_ns, end_ns), part);
    }

    /// Adds what a host did in a period that began at `start_ns` of the common time, to the steps of `grid` it lies in. Periods of hosts
    /// drift apart; taken as they are, they would overlap, and the rates over them would be too low.
    pub(super) fn feed_shared(&mut self, interval: &Interval, start_ns: u64, grid: Grid) {
        let counts = &interval.counts;
        let (ios, bytes) = (counts.data_ios(), counts.data_bytes());
        let key = IntervalKey { start_ns, ..interval.key };
        counts.each_completion(|completion| self.latencies.feed(key, completion));
        let mut latencies = Some(counts);
        for (step, low, high) in grid.parts(start_ns, key.length_ns) {
            let part = |all: u64| {
                let until = |share: f64| (all as f64 * share).round() as u64;
                until(high).saturating_sub(until(low))
            };
            // Latencies have no time within the period: they go to the step with its middle.
            let has_middle = low <= 0.5 && 0.5 < high;
            let latencies_of = latencies.take_if(|_| has_middle);
            let (start_ns, length_ns) = grid.step(step);
            self.add(
                (start_ns, start_ns + length_ns),
                Part { ios: part(ios), bytes: part(bytes), latencies_of },
            );
        }
    }

    fn add(&mut self, (start_ns, end_ns): (u64, u64), part: Part<'_>) {
        let length_ns = end_ns.saturating_sub(start_ns);
        let near = |point: &&mut OpenPoint| {
            // Half of the shorter: a period that became long because nobody collected it must not swallow the next one.
            let length_ns = length_ns.min(point.end_ns.saturating_sub(point.start_ns));
            point.start_ns.abs_diff(start_ns) <= length_ns / 2
        };
        if let Some(point) = self.open.iter_mut().rev().find(near) {
            point.start_ns = point.start_ns.min(start_ns);
            point.end_ns = point.end_ns.max(end_ns);
            return point.add(part);
        }
        if let Some(point) = self.recent.iter_mut().rev().find(|point| point.start_ns == start_ns) {
            point.ios = point.ios.saturating_add(part.ios);
            point.bytes = point.bytes.saturating_add(part.bytes);
            return;
        }
        let mut point =
            OpenPoint { start_ns, end_ns, ios: 0, bytes: 0, completion: LatencyHistogram::default() };
        point.add(part);
        self.open.push_back(point);
        if self.open.len() > OPEN_MAX {
            self.close_oldest();
        }
    }

    fn close_oldest(&mut self) {
        if let Some(point) = self.open.pop_front() {
            self.recent.push_back(DonePoint {
                start_ns: point.start_ns,
                length_ns: point.end_ns - point.start_ns,
                ios: point.ios,
                bytes: point.bytes,
                p50_ns: point.completion.quantile_ns(0.5),
                p99_ns: point.completion.quantile_ns(0.99),
            });
        }
        if self.recent.len() > RECENT_MAX
            && let Some(point) = self.recent.pop_front()
        {
            self.done.push(&point);
        }
    }

    /// Joins what completed right after the last whole period to it: a rate over some microseconds, in which nothing was
    /// handed over any more, is none.
    fn join_rest(&mut self) {
        self.open.make_contiguous().sort_by_key(|point| point.start_ns);
        let Some(rest) = self.open.pop_back() else { return };
        let length_ns = |point: &OpenPoint| (point.end_ns - point.start_ns) as f64;
        match self.open.back_mut() {
            Some(last) if length_ns(&rest) < REST_MAX * length_ns(last) => {
                last.end_ns = last.end_ns.max(rest.end_ns);
                last.ios = last.ios.saturating_add(rest.ios);
                last.bytes = last.bytes.saturating_add(rest.bytes);
                last.completion.merge(&rest.completion);
            }
            _ => self.open.push_back(rest),
        }
    }

    /// Completion latencies over time.
    pub(super) fn latencies(&self, origin_ns: u64) -> Option<LatencyOverTime> {
        self.latencies.finish(origin_ns)
    }

    /// The points in order of time, counted from `origin_ns` after the start of the phase.
    pub(super) fn finish(mut self, origin_ns: u64) -> Vec<SeriesPoint> {
        self.join_rest();
        while !self.open.is_empty() {
            self.close_oldest();
        }
        let mut done: Vec<DonePoint> = self.done.iter().chain(self.recent).collect();
        done.sort_by_key(|point| point.start_ns);
        // What came after its period had been packed.
        done.dedup_by(|late, point| {
            let same = late.start_ns == point.start_ns;
            if same {
                point.ios = point.ios.saturating_add(late.ios);
                point.bytes = point.bytes.saturating_add(late.bytes);
            }
            same
        });
        let points = done.iter().filter(|point| point.length_ns > 0);
        points
            .map(|point| {
                let length_s = point.length_ns as f64 / 1e9;
                SeriesPoint {
                    start_s: (point.start_ns as f64 - origin_ns as f64) / 1e9,
                    length_s,
                    iops: point.ios as f64 / length_s,
                    bytes_per_s: point.bytes as f64 / length_s,
                    p50_ns: point.p50_ns,
                    p99_ns: point.p99_ns,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_ns: u64, length_ns: u64, ios: u64) -> Interval {
        let mut counts = JobCounts::default();
        counts.ops[0].ios = ios;
        counts.ops[0].bytes = ios * 4096;
        counts.ops[0].completion.record(123_456);
        counts.ops[0].completion.record(7_654_321);
        let key = IntervalKey { phase: 0, job: 0, index: 0, ramp: false, start_ns, length_ns };
        Interval { key, counts }
    }

    #[test]
    fn a_long_series_takes_little_memory_and_loses_nothing() {
        let mut series = PointSeries::default();
        // Periods of about a second, as they come in life.
        let length_ns = |second: u64| 1_000_000_000 + second * 7_919 % 100_000;
        let mut start_ns = 0;
        for second in 0..10_000 {
            series.feed(&interval(start_ns, length_ns(second), 200 + second % 50));
            start_ns += length_ns(second);
        }
        let packed = series.done.bytes.len() as f64 / 10_000.0;
        assert!(packed < 20.0, "{packed} bytes a point");
        let points = series.finish(0);
        assert_eq!(points.len(), 10_000);
        let at = &points[5_000];
        assert_eq!(at.length_s, length_ns(5_000) as f64 / 1e9);
        assert_eq!(at.iops, 200.0 / at.length_s);
        assert_eq!(at.bytes_per_s, 200.0 * 4096.0 / at.length_s);
        assert!(at.p50_ns.is_some_and(|ns| (120_000..130_000).contains(&ns)), "{at:?}");
        assert!(at.p99_ns.is_some_and(|ns| (7_500_000..8_000_000).contains(&ns)), "{at:?}");
    }

    #[test]
    fn hosts_whose_periods_drift_apart_make_one_rate() {
        const SECOND: u64 = 1_000_000_000;
        let grid = Grid::new((0, 60 * SECOND), SECOND, usize::MAX);
        let mut all: Vec<Interval> = (0..60).map(|n| interval(n * SECOND, SECOND, 1000)).collect();
        // The other collects its periods late, each by a different time: as many a second, in fewer, longer ones.
        let mut start_ns = 0;
        while start_ns < 60 * SECOND {
            let length_ns = (SECOND + start_ns % 700_000_001).min(60 * SECOND - start_ns);
            all.push(interval(start_ns, length_ns, length_ns / 1_000_000));
            start_ns += length_ns;
        }
        all.sort_by_key(|interval| interval.key.start_ns);
        let mut series = PointSeries::default();
        all.iter().for_each(|interval| series.feed_shared(interval, interval.key.start_ns, grid));
        let points = series.finish(0);
        assert_eq!(points.len(), 60);
        assert!(points.iter().all(|point| (point.iops - 2000.0).abs() < 3.0), "{points:?}");
        let ios: f64 = points.iter().map(|point| point.iops * point.length_s).sum();
        let fed: u64 = all.iter().map(|interval| interval.counts.data_ios()).sum();
        assert_eq!(ios.round() as u64, fed);
    }

    #[test]
    fn what_comes_late_belongs_to_its_period() {
        for late in [10, 5_000] {
            let mut series = PointSeries::default();
            (0..6_000).for_each(|second| series.feed(&interval(second * 1_000_000_000, 1_000_000_000, 100)));
            series.feed(&interval((6_000 - late) * 1_000_000_000, 1_000_000_000, 11));
            let points = series.finish(0);
            assert_eq!(points.len(), 6_000);
            assert_eq!(points[6_000 - late as usize].iops, 111.0, "{late} periods late");
        }
    }
}
