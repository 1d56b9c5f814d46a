//! Results of several machines as one: what fio's client prints as `All clients`.

use super::report::{Direction, FioReport, Job, Stat};
use crate::bins::fio_percentile_ns;

impl FioReport {
    /// All jobs of these reports as one, in fio's `normal` form: counts and rates added up, latencies pooled. Percentiles
    /// are those of the pooled buckets where every report is JSON+, else there are none. Empty without a job.
    pub fn all_clients(reports: &[FioReport]) -> String {
        let mut text = String::new();
        let Some(last) = reports.iter().rfind(|report| !report.jobs.is_empty()) else { return text };
        let jobs: Vec<&Job> = reports.iter().flat_map(|report| &report.jobs).collect();
        last.job(&sum(&jobs), &mut text);
        text
    }
}

fn sum(jobs: &[&Job]) -> Job {
    let total = |of: fn(&Job) -> u64| jobs.iter().map(|job| of(job)).fold(0, u64::saturating_add);
    // Shares of I/Os weigh by their number, those of processor time by the time.
    let weighted = |weight: fn(&Job) -> u64, of: &dyn Fn(&Job) -> f64| {
        let all = total(weight) as f64;
        let sum: f64 = jobs.iter().map(|job| of(job) * weight(job) as f64).sum();
        if all > 0.0 { sum / all } else { 0.0 }
    };
    let by_ios = |of: &dyn Fn(&Job) -> f64| weighted(Job::ios, of);
    let names: &[&'static str] =
        if jobs.iter().any(|job| job.is_mixed()) { &["mixed"] } else { &["read", "write", "trim"] };
    let errors = jobs.iter().filter_map(|job| job.errors);
    let errors =
        errors.reduce(|(all, first), (more, other)| (all + more, if first == 0 { other } else { first }));
    Job {
        name: "All clients".to_owned(),
        group: jobs.last().map_or(0, |job| job.group),
        clones: jobs.len() as u64,
        errno: jobs.iter().map(|job| job.errno).find(|errno| *errno > 0).unwrap_or(0),
        directions: names.iter().copied().map(|name| direction(name, jobs)).collect(),
        percentile_decimals: jobs.first().map_or(0, |job| job.percentile_decimals),
        both: None,
        syncs: total(|job| job.syncs),
        sync: pooled(&jobs.iter().map(|job| &job.sync).collect::<Vec<_>>()),
        runtime_ms: total(|job| job.runtime_ms),
        user_percent: weighted(|job| job.runtime_ms, &|job| job.user_percent),
        system_percent: weighted(|job| job.runtime_ms, &|job| job.system_percent),
        switches: total(|job| job.switches),
        major_faults: total(|job| job.major_faults),
        minor_faults: total(|job| job.minor_faults),
        depths: std::array::from_fn(|at| by_ios(&|job| job.depths[at])),
        submitted: std::array::from_fn(|at| by_ios(&|job| job.submitted[at])),
        completed: std::array::from_fn(|at| by_ios(&|job| job.completed[at])),
        latency_ns: std::array::from_fn(|at| by_ios(&|job| job.latency_ns[at])),
        latency_us: std::array::from_fn(|at| by_ios(&|job| job.latency_us[at])),
        latency_ms: std::array::from_fn(|at| by_ios(&|job| job.latency_ms[at])),
        errors,
        ..Job::default()
    }
}

/// One direction of all jobs, over the longest runtime.
fn direction(name: &'static str, jobs: &[&Job]) -> Direction {
    let parts: Vec<&Direction> =
        jobs.iter().flat_map(|job| &job.directions).filter(|one| one.name == name).collect();
    let total = |of: fn(&Direction) -> u64| parts.iter().map(|one| of(one)).fold(0, u64::saturating_add);
    let stats = |of: fn(&Direction) -> &Stat| parts.iter().map(|one| of(one)).collect::<Vec<_>>();
    Direction {
        name,
        bytes: total(|one| one.bytes),
        runtime_ms: parts.iter().map(|one| one.runtime_ms).max().unwrap_or(0),
        ios: total(|one| one.ios),
        short: total(|one| one.short),
        dropped: total(|one| one.dropped),
        slat: pooled(&stats(|one| &one.slat)),
        clat: pooled(&stats(|one| &one.clat)),
        lat: pooled(&stats(|one| &one.lat)),
        bandwidth: added(&stats(|one| &one.bandwidth)),
        // Each client's share is of its own group; together they are all there is.
        percent_of_group: 100.0,
        iops: added(&stats(|one| &one.iops)),
    }
}

/// Latencies of different I/Os as one.
fn pooled(parts: &[&Stat]) -> Stat {
    let parts: Vec<&Stat> = parts.iter().copied().filter(|part| part.n > 0).collect();
    let n = parts.iter().map(|part| part.n).fold(0, u64::saturating_add);
    if n == 0 {
        return Stat::default();
    }
    let mean = parts.iter().map(|part| part.mean * part.n as f64).sum::<f64>() / n as f64;
    let squares: f64 = parts
        .iter()
        .map(|part| {
            part.deviation.powi(2) * (part.n as f64 - 1.0) + (part.mean - mean).powi(2) * part.n as f64
        })
        .sum();
    let bins = pooled_bins(&parts);
    let listed = parts.first().map_or(&[][..], |part| &part.percentiles);
    let percentile = |(percent, _): &(f64, u64)| Some((*percent, fio_percentile_ns(&bins, n, *percent)?));
    let percentiles = listed.iter().filter_map(percentile).collect();
    Stat {
        n,
        min: parts.iter().map(|part| part.min).min().unwrap_or(0),
        max: parts.iter().map(|part| part.max).max().unwrap_or(0),
        mean,
        deviation: if n > 1 { (squares / (n as f64 - 1.0)).sqrt() } else { 0.0 },
        percentiles,
        bins,
    }
}

/// The buckets of all; none where those of one are not known.
fn pooled_bins(parts: &[&Stat]) -> Vec<(u64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for part in parts {
        if part.bins.is_empty() {
            return Vec::new();
        }
        part.bins.iter().for_each(|(middle, count)| *counts.entry(*middle).or_insert(0) += count);
    }
    counts.into_iter().collect()
}

/// Rates side by side add up; fio adds their deviations as those of independent values.
fn added(parts: &[&Stat]) -> Stat {
    let total = |of: fn(&Stat) -> u64| parts.iter().map(|part| of(part)).fold(0, u64::saturating_add);
    let n = total(|part| part.n);
    let squares: f64 = parts.iter().map(|part| part.deviation.powi(2) * (part.n as f64 - 1.0).max(0.0)).sum();
    Stat {
        n,
        min: total(|part| part.min),
        max: total(|part| part.max),
        mean: parts.iter().filter(|part| part.n > 0).map(|part| part.mean).sum(),
        deviation: if n > 1 { (squares / (n as f64 - 1.0)).sqrt() } else { 0.0 },
        ..Stat::default()
    }
}
