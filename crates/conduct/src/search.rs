//! The highest rate at which a latency stays below a limit.

use assay_results::LatencyHistogram;
use assay_workload::Plan;
use assay_workload::plan::{PlannedJob, PlannedPhase, ThreadSlice};
use assay_workload::steps::{FindRate, LatencyFigure, Step};

use crate::after::{After, Note};
use crate::rates::set_rate;
use crate::seen::Seen;

/// A rate counts as reached when this share of its arrivals was completed.
const REACHED: f64 = 0.98;

/// What the steps so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bracket {
    /// Operations a second without a limit.
    max: f64,
    /// The highest rate that met the goal.
    meets: Option<f64>,
    /// The lowest rate above it that did not.
    misses: Option<f64>,
}

/// The phase with the next rate to try; `None`: the step without a limit.
pub(crate) fn resolved(
    plan: &Plan,
    phase: usize,
    step: &Step,
    find: &FindRate,
    seen: &Seen,
) -> Option<PlannedPhase> {
    if step.round == 0 {
        return None;
    }
    let bracket = bracket(plan, step, step.round, find, seen);
    let rate = next_rate(&bracket);
    let mut planned = plan.phases[phase].clone();
    let reached = seen.jobs(step.first as usize);
    for (index, job) in planned.jobs.iter_mut().enumerate() {
        let share =
            reached.get(index).map_or(0.0, |figures| figures.iops) / bracket.max.max(f64::MIN_POSITIVE);
        set_rate(job, rate * share);
        if find.limits_together {
            let done = Done::of(step, step.round, index, seen);
            done.take_off(job);
        }
    }
    let percent = (rate / bracket.max * 1000.0).round() / 10.0;
    let words = planned.point.split_whitespace().filter(|word| !word.starts_with("find="));
    let words: Vec<String> = words.map(str::to_owned).chain([format!("find={percent}%")]).collect();
    planned.point = words.join(" ");
    Some(planned)
}

fn next_rate(bracket: &Bracket) -> f64 {
    match (bracket.meets, bracket.misses) {
        (None, None) => bracket.max,
        (meets, Some(misses)) => (meets.unwrap_or(0.0) + misses) / 2.0,
        (Some(meets), None) => meets,
    }
}

/// What follows a step of a search.
pub(crate) fn after(plan: &Plan, phase: usize, step: &Step, find: &FindRate, seen: &Seen) -> After {
    let bracket = bracket(plan, step, step.round + 1, find, seen);
    if bracket.max <= 0.0 {
        let name = &plan.phases[phase].name;
        let note = Note {
            id: "find-rate",
            text: format!("{name}: nothing was completed, so no rate was looked for"),
        };
        return After { next: step.behind(), resolved: Vec::new(), note: Some(note) };
    }
    if find.limits_together && is_used_up(plan, step, seen) {
        let name = &plan.phases[phase].name;
        let text = format!(
            "{name}: the job's size was done before the rate was known; {}",
            words(&bracket, find, step.round)
        );
        return After {
            next: step.behind(),
            resolved: Vec::new(),
            note: Some(Note { id: "find-rate", text }),
        };
    }
    let gap = find.gap_percent_max / 100.0;
    let found = match (bracket.meets, bracket.misses) {
        (Some(_), None) => true,
        (Some(meets), Some(misses)) => misses - meets <= gap * misses,
        _ => false,
    };
    if !found && step.round < find.steps_max {
        return After::next(phase);
    }
    let text = format!("{}: {}", plan.phases[phase].name, words(&bracket, find, step.round));
    After { next: step.behind(), resolved: Vec::new(), note: Some(Note { id: "find-rate", text }) }
}

/// What one job did in the steps so far.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    ios: u64,
    bytes: u64,
}

impl Done {
    fn of(step: &Step, rounds: u32, job: usize, seen: &Seen) -> Done {
        let figures = (0..rounds).filter_map(|round| seen.jobs((step.first + round) as usize).get(job));
        figures.fold(Done::default(), |done, figures| Done {
            ios: done.ios + figures.ios,
            bytes: done.bytes + figures.bytes,
        })
    }

    /// Leaves the threads of a job what is still to be done, each its share.
    fn take_off(self, job: &mut PlannedJob) {
        let threads = job.slices.len().max(1) as u64;
        for slice in &mut job.slices {
            slice.ios = slice.ios.map(|ios| ios.saturating_sub(self.ios / threads));
            slice.bytes = slice.bytes.map(|bytes| bytes.saturating_sub(self.bytes / threads));
        }
    }
}

/// Whether a job has done all that its limits allow for the whole search.
fn is_used_up(plan: &Plan, step: &Step, seen: &Seen) -> bool {
    let jobs = &plan.phases[step.first as usize].jobs;
    jobs.iter().enumerate().any(|(index, job)| {
        let done = Done::of(step, step.round + 1, index, seen);
        let limit = |of: fn(&ThreadSlice) -> Option<u64>| job.slices.iter().map(of).sum::<Option<u64>>();
        limit(|slice| slice.ios).is_some_and(|ios| done.ios >= ios)
            || limit(|slice| slice.bytes).is_some_and(|bytes| done.bytes >= bytes)
    })
}

fn words(bracket: &Bracket, find: &FindRate, steps: u32) -> String {
    let ended = format!("{steps} steps, {:.0} IOPS without a limit", bracket.max);
    match (bracket.meets, bracket.misses) {
        (Some(meets), Some(misses)) => {
            format!("{meets:.0} IOPS meet {find}, {misses:.0} IOPS do not ({ended})")
        }
        (Some(meets), None) => {
            format!("{meets:.0} IOPS, all that is reached without a limit, meet {find} ({ended})")
        }
        (None, Some(misses)) => format!("not even {misses:.0} IOPS meet {find} ({ended})"),
        (None, None) => format!("nothing is known of {find} ({ended})"),
    }
}

/// What the first `rounds` steps say.
fn bracket(plan: &Plan, step: &Step, rounds: u32, find: &FindRate, seen: &Seen) -> Bracket {
    let mut bracket = Bracket { max: seen.iops(step.first as usize), meets: None, misses: None };
    for round in 1..rounds {
        let phase = (step.first + round) as usize;
        let offered = offered(&plan.phases[phase]);
        if meets(offered, phase, find, seen) {
            bracket.meets = Some(bracket.meets.map_or(offered, |rate: f64| rate.max(offered)));
        } else {
            bracket.misses = Some(bracket.misses.map_or(offered, |rate: f64| rate.min(offered)));
        }
    }
    bracket
}

fn offered(planned: &PlannedPhase) -> f64 {
    planned.jobs.iter().flat_map(|job| &job.slices).filter_map(|slice| slice.rate_per_s).sum()
}

fn meets(offered: f64, phase: usize, find: &FindRate, seen: &Seen) -> bool {
    let mut together = LatencyHistogram::new();
    seen.jobs(phase).iter().for_each(|job| together.merge(&job.latency));
    let latency_ns = match find.figure {
        LatencyFigure::Mean => together.mean_ns(),
        LatencyFigure::Quantile(share) => together.quantile_ns(share).map_or(f64::INFINITY, |ns| ns as f64),
    };
    !together.is_empty() && latency_ns < find.limit_ns as f64 && seen.iops(phase) >= REACHED * offered
}
