//! The points of a chart: what the jobs of a group did in each reporting period.

use std::collections::VecDeque;

use crate::histogram::LatencyHistogram;
use crate::interval::Interval;
use crate::run::SeriesPoint;

/// Periods that may still receive intervals of other jobs of the group.
const OPEN_MAX: usize = 4;
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

#[derive(Debug, Clone)]
struct DonePoint {
    start_ns: u64,
    length_ns: u64,
    ios: u64,
    bytes: u64,
    /// Of what had come when the period was closed.
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
}

/// Collects the points of one reported job. Intervals of the jobs of a group that start within half a period of each
/// other make one point; their histograms are merged before a percentile is taken.
#[derive(Debug, Clone, Default)]
pub(super) struct PointSeries {
    open: VecDeque<OpenPoint>,
    done: Vec<DonePoint>,
}

impl PointSeries {
    pub(super) fn feed(&mut self, interval: &Interval) {
        let key = interval.key;
        let data = interval.counts.data();
        let end_ns = key.start_ns.saturating_add(key.length_ns);
        let near = |point: &&mut OpenPoint| {
            // Half of the shorter: a period that became long because nobody collected it must not swallow the next one.
            let length_ns = key.length_ns.min(point.end_ns.saturating_sub(point.start_ns));
            point.start_ns.abs_diff(key.start_ns) <= length_ns / 2
        };
        if let Some(point) = self.open.iter_mut().rev().find(near) {
            point.start_ns = point.start_ns.min(key.start_ns);
            point.end_ns = point.end_ns.max(end_ns);
            point.ios = point.ios.saturating_add(data.ios);
            point.bytes = point.bytes.saturating_add(data.bytes);
            point.completion.merge(&data.completion);
            return;
        }
        if let Some(point) = self.done.iter_mut().rev().find(|point| point.start_ns == key.start_ns) {
            point.ios = point.ios.saturating_add(data.ios);
            point.bytes = point.bytes.saturating_add(data.bytes);
            return;
        }
        self.open.push_back(OpenPoint {
            start_ns: key.start_ns,
            end_ns,
            ios: data.ios,
            bytes: data.bytes,
            completion: data.completion,
        });
        if self.open.len() > OPEN_MAX {
            self.close_oldest();
        }
    }

    fn close_oldest(&mut self) {
        if let Some(point) = self.open.pop_front() {
            self.done.push(DonePoint {
                start_ns: point.start_ns,
                length_ns: point.end_ns - point.start_ns,
                ios: point.ios,
                bytes: point.bytes,
                p50_ns: point.completion.quantile_ns(0.5),
                p99_ns: point.completion.quantile_ns(0.99),
            });
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

    /// The points in order of time, counted from `origin_ns` after the start of the phase.
    pub(super) fn finish(mut self, origin_ns: u64) -> Vec<SeriesPoint> {
        self.join_rest();
        while !self.open.is_empty() {
            self.close_oldest();
        }
        self.done.sort_by_key(|point| point.start_ns);
        let points = self.done.iter().filter(|point| point.length_ns > 0);
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
