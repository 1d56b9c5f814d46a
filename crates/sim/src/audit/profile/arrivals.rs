//! Arrival times: how they bunch, and what that costs in a queue.

use super::blocks::{GROUPS, Histogram};
use super::signed_bucket;

/// Arrivals that are kept.
const KEPT_MAX: usize = 1 << 21;
/// Lengths of the windows in which arrivals are counted, in mean gaps.
const WINDOWS: [u64; 4] = [10, 100, 1000, 10_000];
/// A scale needs so many windows in both streams.
const WINDOWS_MIN: usize = 4 * GROUPS;
/// Utilisation of the server that the first stream waits at.
const UTILISATION: f64 = 0.8;

/// Times of arrivals, ascending.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals(Vec<u64>);

impl Arrivals {
    pub(super) fn add(&mut self, at_ns: u64) {
        if self.0.len() < KEPT_MAX {
            let last = self.0.last().copied().unwrap_or(0);
            self.0.push(at_ns.max(last));
        }
    }

    /// Mean time between two; `None` with fewer than two, or all at once.
    pub(super) fn gap_mean_ns(&self) -> Option<f64> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        (last > first).then(|| (last - first) as f64 / (self.0.len() - 1) as f64)
    }

    /// Waiting times at one server, first come first served, that takes as long for each, in groups by arrival: in
    /// hundredths of the service time, on a log scale.
    pub(super) fn waits(&self, service_ns: f64) -> Vec<Histogram> {
        let mut groups = vec![Histogram::new(); GROUPS];
        let mut free_ns = 0.0_f64;
        for (index, at) in self.0.iter().enumerate() {
            let wait_ns = (free_ns - *at as f64).max(0.0);
            free_ns = (*at as f64).max(free_ns) + service_ns;
            let bucket = signed_bucket((100.0 * wait_ns / service_ns) as i128);
            *groups[index * GROUPS / self.0.len()].entry(bucket).or_default() += 1;
        }
        groups
    }

    /// The service time of the server that this stream waits at.
    pub(super) fn service_ns(&self) -> Option<f64> {
        self.gap_mean_ns().map(|gap| gap * UTILISATION)
    }

    /// How many arrivals there were in each window of `length_ns`, in groups of consecutive windows: windows by count.
    fn counts(&self, length_ns: u64) -> Option<Vec<Histogram>> {
        let (first, last) = (*self.0.first()?, *self.0.last()?);
        let windows = ((last - first) / length_ns.max(1)) as usize;
        if windows < WINDOWS_MIN {
            return None;
        }
        let mut counts = vec![0_i64; windows];
        for at in &self.0 {
            // The last window is not whole.
            if let Some(count) = counts.get_mut(((at - first) / length_ns) as usize) {
                *count += 1;
            }
        }
        let mut groups = vec![Histogram::new(); GROUPS];
        for (index, count) in counts.into_iter().enumerate() {
            *groups[index * GROUPS / windows].entry(count).or_default() += 1;
        }
        Some(groups)
    }

    /// The counts of both streams at each scale that both are long enough for. Scales are multiples of the mean gap of the
    /// first.
    pub(super) fn scales(&self, other: &Arrivals) -> Vec<(u64, Vec<Histogram>, Vec<Histogram>)> {
        let Some(gap) = self.gap_mean_ns() else { return Vec::new() };
        let scale = |gaps: &u64| {
            let length_ns = (*gaps as f64 * gap).max(1.0) as u64;
            Some((length_ns, self.counts(length_ns)?, other.counts(length_ns)?))
        };
        WINDOWS.iter().filter_map(scale).collect()
    }
}

/// Index of dispersion for counts: variance over mean, 1 of Poisson arrivals, 0 of even ones, more of bunches.
pub(super) fn dispersion(values: &[i64], windows: &[u64]) -> f64 {
    let n: u64 = windows.iter().sum();
    let mean =
        values.iter().zip(windows).map(|(value, n)| *value as f64 * *n as f64).sum::<f64>() / n.max(1) as f64;
    let square = |(value, n): (&i64, &u64)| (*value as f64 - mean).powi(2) * *n as f64;
    let variance = values.iter().zip(windows).map(square).sum::<f64>() / n.saturating_sub(1).max(1) as f64;
    if mean > 0.0 { variance / mean } else { 0.0 }
}
