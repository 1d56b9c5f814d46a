//! Whether jobs kept their service levels, and how many tiles did.

use assay_workload::pattern::OpKind;
use assay_workload::plan::PlannedJob;
use assay_workload::service::{RATE_SHARE_MIN, ServiceLevel};
use assay_workload::steps::{LatencyFigure, Until};

use crate::histogram::LatencyHistogram;
use crate::interval::{JobCounts, OpCounts};
pub use crate::levels::{ServiceResult, TileScore};
use crate::run::{JobResult, OpResult, PhaseResult, Run};

/// Random arrivals are so many standard deviations fewer than expected without that being a rate that was missed.
const CHANCE_SIGMAS: f64 = 3.0;

/// The word of a sweep's point that says how many tiles ran.
pub const TILES: &str = "tiles=";

/// What one operation did, in either form.
struct Measured {
    latency: LatencyHistogram,
}

fn level(job: &str, level: &ServiceLevel, measured: &Measured) -> ServiceResult {
    let latency = &measured.latency;
    let value = match level.figure {
        _ if latency.is_empty() => None,
        LatencyFigure::Mean => Some(latency.mean_ns()),
        LatencyFigure::Quantile(share) if share >= 1.0 => Some(latency.max_ns() as f64),
        LatencyFigure::Quantile(share) => latency.quantile_ns(share).map(|ns| ns as f64),
    };
    let words = level.to_string();
    let what = words.split('<').next().unwrap_or_default().trim().to_owned();
    let limit = level.limit_ns as f64;
    let held = value.is_some_and(|value| value < limit);
    ServiceResult { job: job.to_owned(), what, value, limit, unit: "ns".to_owned(), n: latency.n(), held }
}

/// Whether the rate that was offered was served.
fn rate(planned: &PlannedJob, ios: u64, iops: f64) -> Option<ServiceResult> {
    let offered = planned.slices_iops()?;
    let expected = if iops > 0.0 { ios as f64 * offered / iops } else { 0.0 };
    let missing_max = ((1.0 - RATE_SHARE_MIN) * expected).max(CHANCE_SIGMAS * expected.sqrt());
    Some(ServiceResult {
        job: planned.name.clone(),
        what: "rate".to_owned(),
        value: Some(iops),
        limit: offered * RATE_SHARE_MIN,
        unit: "ops/s".to_owned(),
        n: ios,
        held: ios > 0 && expected - ios as f64 <= missing_max,
    })
}

fn of_counts(counts: &OpCounts) -> Measured {
    let with_arrivals = !counts.response.is_empty();
    Measured { latency: if with_arrivals { counts.response.clone() } else { counts.completion.clone() } }
}

/// The service levels of a job by what it counted in `measured_ns`.
pub fn of_job_counts(planned: &PlannedJob, counts: &JobCounts, measured_ns: u64) -> Vec<ServiceResult> {
    if planned.service_levels.is_empty() {
        return Vec::new();
    }
    let data = counts.data();
    let iops = if measured_ns == 0 { 0.0 } else { data.ios as f64 * 1e9 / measured_ns as f64 };
    let measured = |operation: Option<&str>| {
        let Some(name) = operation else { return of_counts(&data) };
        if let Some(kind) = OpKind::DATA.into_iter().find(|kind| kind.name() == name) {
            return of_counts(counts.op(kind));
        }
        let mut all = OpCounts::default();
        let named = counts.named.iter().filter(|named| planned.operation_name(named.operation) == Some(name));
        named.for_each(|named| all.merge(&named.counts));
        of_counts(&all)
    };
    let levels = planned.service_levels.iter();
    let levels = levels.map(|one| level(&planned.name, one, &measured(one.operation.as_deref())));
    levels.chain(rate(planned, data.ios, iops)).collect()
}

fn latency_of(op: &OpResult) -> LatencyHistogram {
    let sparse = op.response_histogram.as_ref().or(op.completion_histogram.as_ref());
    sparse.map_or_else(LatencyHistogram::new, LatencyHistogram::from_sparse)
}

/// The same by the result of a job.
pub(crate) fn of_result(planned: &PlannedJob, result: &JobResult) -> Vec<ServiceResult> {
    let measured = |operation: Option<&str>| {
        let latency = match operation {
            Some(name) => {
                let found = result.operations().find(|(known, _)| *known == name);
                found.map_or_else(LatencyHistogram::new, |(_, op)| latency_of(op))
            }
            None if !result.ops.is_empty() => latency_of(&result.total),
            None => {
                let mut all = LatencyHistogram::new();
                let data = [&result.read, &result.write, &result.trim].into_iter().flatten();
                data.for_each(|op| all.merge(&latency_of(op)));
                all
            }
        };
        Measured { latency }
    };
    let levels = planned.service_levels.iter();
    let mut all: Vec<ServiceResult> =
        levels.map(|one| level(&planned.name, one, &measured(one.operation.as_deref()))).collect();
    if !all.is_empty() {
        all.extend(rate(planned, result.total.ios, result.total.iops));
    }
    all
}

/// How many tiles a phase stands for; `None`: it is not one of tiles.
pub fn tiles_of(phase: &PhaseResult) -> Option<u32> {
    phase.point.words().find_map(|word| word.strip_prefix(TILES)).and_then(|count| count.parse().ok())
}

/// The score of a run with tiles.
pub(crate) fn tiles(run: &Run) -> Option<TileScore> {
    let phases = &run.plan.phases;
    let is_step = |index: &usize| {
        phases.get(*index).and_then(|phase| phase.step).is_some_and(|step| matches!(step.until, Until::Held))
    };
    let planned = (0..run.plan.phases.len()).filter(is_step).count() as u32;
    let mut score = TileScore { held: 0, missed_at: None, planned };
    for phase in run.phases.iter().filter(|phase| is_step(&(phase.plan_phase as usize))) {
        let Some(tiles) = tiles_of(phase) else { continue };
        // What was cut short says nothing.
        let jobs = run.plan.phases[phase.plan_phase as usize].jobs.len();
        let all = phase.jobs.len() == jobs && !phase.service.is_empty();
        if all && phase.service.iter().all(|level| level.held) {
            score.held = score.held.max(tiles);
        } else {
            score.missed_at = Some(tiles);
            break;
        }
    }
    (planned > 0).then_some(score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_held_below_its_limit_and_not_without_operations() {
        let mut latency = LatencyHistogram::new();
        (1..=100).for_each(|ms| latency.record(ms * 1_000_000));
        let of = |text: &str, latency: LatencyHistogram| {
            level("oltp", &text.parse().expect("a level"), &Measured { latency })
        };
        let held = of("new-order p95<100ms", latency.clone());
        assert!(held.held && held.what == "new-order p95" && held.n == 100, "{held:?}");
        assert!(held.value.is_some_and(|ns| (94e6..97e6).contains(&ns)), "{held:?}");
        assert!(!of("p95<90ms", latency.clone()).held);
        assert!(of("mean<51ms", latency.clone()).held && !of("max<99ms", latency).held);
        let nothing = of("p95<1s", LatencyHistogram::new());
        assert!(!nothing.held && nothing.value.is_none());
    }
}
