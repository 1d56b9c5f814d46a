//! Bandwidth and IOPS from period to period: fio's `bw_min` to `iops_samples`.

use assay_results::run::{JobResult, PhaseResult};
use assay_results::{Interval, OpCounts};
use assay_workload::pattern::OpKind;

/// One full reporting period of a reported job, for one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub(super) bytes_per_s: f64,
    pub(super) iops: f64,
}

/// Least, largest, mean, standard deviation and number; all 0 without values, as fio writes it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
    pub(super) n: u64,
}

impl Spread {
    pub(super) fn of(values: impl Iterator<Item = f64> + Clone) -> Spread {
        let n = values.clone().count();
        if n == 0 {
            return Spread::default();
        }
        let mean = values.clone().sum::<f64>() / n as f64;
        let squares: f64 = values.clone().map(|value| (value - mean).powi(2)).sum();
        Spread {
            min: values.clone().fold(f64::INFINITY, f64::min),
            max: values.fold(0.0, f64::max),
            mean,
            stddev: if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 },
            n: n as u64,
        }
    }
}

/// A reported job's part of a period: the jobs of a group that began together.
#[derive(Debug, Clone, Copy)]
struct Period {
    start_ns: u64,
    length_ns: u64,
    ios: u64,
    bytes: u64,
}

/// The samples of one operation of a job, or of all reads, writes and trims. From the intervals where there are some; else from the points of the run,
/// which hold all operations together and so serve only a job of one operation; else none.
pub(super) fn samples(
    phase: &PhaseResult,
    job: &JobResult,
    kind: Option<OpKind>,
    intervals: &[Interval],
) -> Vec<Sample> {
    let periods = periods(phase, job, kind, intervals);
    if !periods.is_empty() {
        return periods
            .iter()
            .map(|period| {
                let seconds = period.length_ns as f64 / 1e9;
                Sample { bytes_per_s: period.bytes as f64 / seconds, iops: period.ios as f64 / seconds }
            })
            .collect();
    }
    let data = [&job.read, &job.write, &job.trim];
    let only = |kind: OpKind| {
        data.iter().filter(|op| op.is_some()).count() == 1 && data[kind as usize % 3].is_some()
    };
    if !kind.is_none_or(only) {
        return Vec::new();
    }
    let longest = job.series.iter().map(|point| point.length_s).fold(0.0, f64::max);
    let full = job.series.iter().filter(|point| point.length_s * 2.0 >= longest);
    full.map(|point| Sample { bytes_per_s: point.bytes_per_s, iops: point.iops }).collect()
}

/// Full periods of the measured part: the last one, where it is cut short, says little.
fn periods(
    phase: &PhaseResult,
    job: &JobResult,
    kind: Option<OpKind>,
    intervals: &[Interval],
) -> Vec<Period> {
    let mine = |interval: &&Interval| {
        let key = interval.key;
        !key.ramp && key.phase == phase.plan_phase && job.evidence.plan_jobs.contains(&key.job)
    };
    let mut parts: Vec<Period> = intervals
        .iter()
        .filter(mine)
        .map(|interval| {
            let kinds = || OpKind::DATA.into_iter().filter(|one| kind.is_none_or(|kind| kind == *one));
            let sum = |of: fn(&OpCounts) -> u64| {
                kinds().map(|kind| of(interval.counts.op(kind))).fold(0, u64::saturating_add)
            };
            Period {
                start_ns: interval.key.start_ns,
                length_ns: interval.key.length_ns,
                ios: sum(|op| op.ios),
                bytes: sum(|op| op.bytes),
            }
        })
        .collect();
    parts.sort_by_key(|period| period.start_ns);
    let mut periods: Vec<Period> = Vec::new();
    for part in parts {
        match periods.last_mut() {
            Some(last) if part.start_ns - last.start_ns < last.length_ns.min(part.length_ns) / 2 => {
                last.length_ns = last.length_ns.max(part.length_ns);
                last.ios = last.ios.saturating_add(part.ios);
                last.bytes = last.bytes.saturating_add(part.bytes);
            }
            _ => periods.push(part),
        }
    }
    let longest = periods.iter().map(|period| period.length_ns).max().unwrap_or(0);
    periods.retain(|period| period.length_ns > 0 && period.length_ns >= longest / 2);
    periods
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_of_nothing_is_nothing() {
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
        let spread = Spread::of([2.0, 4.0, 6.0].into_iter());
        assert_eq!((spread.min, spread.max, spread.mean, spread.stddev, spread.n), (2.0, 6.0, 4.0, 2.0, 3));
    }
}
