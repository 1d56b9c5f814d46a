//! Rates, shares and data limits of the jobs of a run.

use std::collections::BTreeMap;

use assay_workload::job::{Arrival, Job, Rate};

use super::super::access::Amount;
use super::super::args::to_u64;
use super::super::expand::{ExpandedRun, RunRate};
use super::super::resolve::RunWorkload;
use super::super::run::{Rates, RunDef};
use super::narrow;

/// How strongly a workload draws on the threads of its targets.
pub(super) fn weight(part: &RunWorkload) -> f64 {
    if part.share_pct > 0.0 { part.share_pct } else { 1.0 }
}

/// Sums the weights of the workloads on each target.
pub(super) fn weights_per_storage(parts: &[RunWorkload]) -> BTreeMap<usize, f64> {
    let mut weights = BTreeMap::new();
    for part in parts {
        for sd in &part.storages {
            *weights.entry(*sd).or_insert(0.0) += weight(part);
        }
    }
    weights
}

/// The rate of a workload on one of its `targets` targets.
pub(super) fn rate(run: &ExpandedRun, rd: &RunDef, part: &RunWorkload, targets: usize) -> Rate {
    let targets = targets.max(1) as f64;
    if let Some(own) = part.workload.rate {
        return Rate::Iops(own / targets);
    }
    let share = part.share_pct / 100.0;
    match run.rate {
        RunRate::Max | RunRate::Curve => Rate::Unlimited,
        RunRate::CurvePoint { percent, .. } | RunRate::PercentOfMax(percent) => Rate::PercentOfMax(percent),
        RunRate::Fixed(rate) => Rate::Iops(rate * share / targets),
        RunRate::Variable => Rate::Iops(mean_rate(rd) * share / targets),
    }
}

/// The mean of a list of rates and seconds, by time.
pub(super) fn mean_rate(rd: &RunDef) -> f64 {
    let rates = rd.rate.iter().chain(&rd.file_rate).find_map(|r| match r {
        Rates::Values(values) => Some(values),
        _ => None,
    });
    let pairs: Vec<(f64, f64)> =
        rates.iter().flat_map(|v| v.chunks_exact(2)).map(|pair| (pair[0].value, pair[1].value)).collect();
    let seconds: f64 = pairs.iter().map(|(_, s)| s).sum();
    if seconds > 0.0 { pairs.iter().map(|(r, s)| r * s).sum::<f64>() / seconds } else { 1.0 }
}

/// Sets the rate, and the spacing of arrivals where there is one.
pub(super) fn set_rate(job: &mut Job, rate: Rate, kind: Arrival) {
    job.rate = rate;
    if rate == Rate::Unlimited {
        return;
    }
    job.arrival = kind;
}

/// Splits `maxdata=` over the threads of a run.
pub(super) fn limit_data(rd: &RunDef, jobs: &mut [Job]) {
    let threads: u64 = jobs.iter().map(|job| u64::from(job.threads)).sum();
    let written_only = |job: &Job| job.pattern.mix.read_percent == 0.0;
    let read_only = |job: &Job| job.pattern.mix.read_percent == 100.0;
    let limit = if jobs.iter().all(written_only) {
        rd.max_data.or(rd.max_data_written)
    } else if jobs.iter().all(read_only) {
        rd.max_data.or(rd.max_data_read)
    } else {
        rd.max_data
    };
    for job in jobs {
        match limit {
            Some(Amount::Bytes(bytes)) => job.limits.bytes = Some(bytes / threads.max(1)),
            Some(Amount::Percent(p)) if p % 100.0 == 0.0 && p >= 100.0 => {
                job.limits.passes = Some(narrow(to_u64(p / 100.0)));
            }
            _ => {}
        }
    }
}
