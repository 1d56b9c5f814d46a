//! What a search for the highest rate says: which of its steps is quoted, and between which rates the answer lies.
//!
//! A search offers rates that are too high on purpose. Only the highest rate that met the goal is a figure of the run; the
//! other steps show where it lies.

use std::collections::BTreeSet;

use assay_workload::plan::{PlannedJob, PlannedPhase};
use assay_workload::steps::{FindRate, LatencyFigure, Step, Until};

use crate::histogram::LatencyHistogram;
use crate::run::{Finding, FindingSeverity, Metric, PhaseResult, Run};
use crate::stats::{TAIL_ONE_SIDED_95, samples_for_percentile};

/// A rate counts as reached when this share of its arrivals was completed.
const REACHED: f64 = 0.98;
/// The remark on a step that others disturbed, and that was repeated.
pub const REPEATED: &str = "find-rate-repeated";

/// Whether a step that offered a rate met the goal.
pub fn meets(find: &FindRate, response: &LatencyHistogram, iops: f64, offered: f64) -> bool {
    let latency_ns = match find.figure {
        LatencyFigure::Mean => response.mean_ns(),
        LatencyFigure::Quantile(share) => response.quantile_ns(share).map_or(f64::INFINITY, |ns| ns as f64),
    };
    !response.is_empty() && latency_ns < find.limit_ns as f64 && iops >= REACHED * offered
}

/// Whether a step has enough operations for the figure of the goal: fewer have nothing that bounds the percentile.
pub fn measurable(find: &FindRate, response: &LatencyHistogram) -> bool {
    match find.figure {
        LatencyFigure::Quantile(share) if share < 1.0 => {
            samples_for_percentile(share, TAIL_ONE_SIDED_95).is_some_and(|needed| response.n() >= needed)
        }
        LatencyFigure::Mean | LatencyFigure::Quantile(_) => !response.is_empty(),
    }
}

/// Operations a second that a planned phase offers, all jobs together; 0 without a rate.
pub fn offered(planned: &PlannedPhase) -> f64 {
    planned.jobs.iter().filter_map(PlannedJob::slices_iops).sum()
}

/// What others did to a step that may have decided it, by the findings about that step alone; `None`: nothing was seen.
pub fn disturbance(findings: &[Finding]) -> Option<&str> {
    let others = |finding: &&Finding| {
        finding.severity >= FindingSeverity::Warning
            && (finding.id == "foreign-io"
                || finding
                    .evidence
                    .get("cpus_of_others")
                    .and_then(|cpus| cpus.as_f64())
                    .is_some_and(|c| c > 0.0))
    };
    findings.iter().find(others).map(|finding| finding.message.as_str())
}

/// The steps of one search that ran.
struct Search<'r> {
    find: FindRate,
    /// Index among the run's phases, and the rate offered; without those that were repeated.
    steps: Vec<(usize, &'r PhaseResult, f64)>,
    /// All that ran, the one without a rate and those that were repeated among them.
    all: Vec<usize>,
}

impl Search<'_> {
    fn met(&self, step: &(usize, &PhaseResult, f64)) -> bool {
        let mut response = LatencyHistogram::new();
        let jobs = &step.1.jobs;
        for op in jobs.iter().flat_map(|job| [&job.read, &job.write, &job.trim]).flatten() {
            if let Some(sparse) = &op.response_histogram {
                response.merge(&LatencyHistogram::from_sparse(sparse));
            }
        }
        let iops = jobs.iter().map(|job| job.total.iops).sum();
        meets(&self.find, &response, iops, step.2)
    }

    /// The step with the highest rate that met the goal, else the one with the lowest rate.
    fn quoted(&self) -> Option<&(usize, &PhaseResult, f64)> {
        let highest = self.steps.iter().filter(|step| self.met(step)).max_by(|a, b| a.2.total_cmp(&b.2));
        highest.or_else(|| self.steps.iter().min_by(|a, b| a.2.total_cmp(&b.2)))
    }
}

fn searches(run: &Run) -> Vec<Search<'_>> {
    let mut found: Vec<(u32, Search<'_>)> = Vec::new();
    for (index, phase) in run.phases.iter().enumerate() {
        let planned = run.plan.phases.get(phase.plan_phase as usize);
        let Some((planned, Step { first, until: Until::Rate(find), .. })) =
            planned.and_then(|planned| Some((planned, planned.step?)))
        else {
            continue;
        };
        let at = found.iter().position(|known| known.0 == first).unwrap_or_else(|| {
            found.push((first, Search { find, steps: Vec::new(), all: Vec::new() }));
            found.len() - 1
        });
        let search = &mut found[at].1;
        search.all.push(index);
        let repeated =
            run.remarks.iter().any(|remark| remark.id == REPEATED && remark.phase == Some(phase.plan_phase));
        let offered = offered(planned);
        if offered > 0.0 && !repeated {
            search.steps.push((index, phase, offered));
        }
    }
    found.into_iter().map(|(_, search)| search).collect()
}

/// Indices of the phases that are steps of a search and not its answer.
pub(crate) fn not_quoted(run: &Run) -> BTreeSet<usize> {
    let of = |search: Search<'_>| {
        let quoted = search.quoted().map(|step| step.0);
        search.all.into_iter().filter(move |index| quoted.is_some() && Some(*index) != quoted)
    };
    searches(run).into_iter().flat_map(of).collect()
}

/// Puts the answer of each search, with the rates it lies between, into the phase that is quoted.
pub(crate) fn add_answers(run: &mut Run) {
    let answers: Vec<(usize, String, Metric)> = searches(run)
        .iter()
        .filter_map(|search| {
            let quoted = search.quoted().filter(|step| search.met(step))?;
            let rates = search.steps.iter().filter(|step| step.2 > quoted.2).map(|step| step.2);
            let misses = rates.fold(f64::INFINITY, f64::min);
            let metric = Metric {
                value: quoted.2,
                unit: "IOPS".to_owned(),
                n: search.steps.len() as u32,
                interval: misses.is_finite().then_some((quoted.2, misses)),
            };
            Some((quoted.0, format!("highest rate with {}", search.find), metric))
        })
        .collect();
    for (index, name, metric) in answers {
        run.phases[index].metrics.insert(name, metric);
    }
}

#[cfg(test)]
#[path = "search/tests.rs"]
mod tests;
