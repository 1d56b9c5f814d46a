//! The highest rate at which a latency stays below a limit.

use assay_results::LatencyHistogram;
use assay_results::search::bounds::{Bounds, Tried, WINDOWS, looked};
use assay_results::search::{REPEATED, measurable, meets, offered};
use assay_workload::plan::{PlannedJob, PlannedPhase, ThreadSlice};
use assay_workload::steps::{FindRate, Step, Until};
use assay_workload::{Plan, SweepPoint};

use crate::following::{After, Note};
use crate::rates::set_rate;
use crate::seen::PhaseFigures;

/// Steps of a search that are repeated because others disturbed them; where they always do, their steps count.
const REPEATS_MAX: usize = 3;

/// What the steps so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bracket {
    /// Operations a second without a limit.
    max: f64,
    /// The highest rate that met the goal.
    meets: Option<f64>,
    /// The lowest rate above it that did not.
    misses: Option<f64>,
    /// It had too few operations for the figure of the goal.
    unmeasured: bool,
}

/// The phase with the next rate to try; `None`: the step without a limit.
pub(crate) fn resolved(
    plan: &Plan,
    phase: usize,
    step: &Step,
    find: &FindRate,
    seen: &PhaseFigures,
) -> Option<PlannedPhase> {
    let unlimited = unlimited(step, seen);
    if step.round <= unlimited {
        // The plan has a rate here, which the step without one takes the place of where it is repeated.
        let first = &plan.phases[step.first as usize];
        return (step.round > 0).then(|| PlannedPhase {
            step: Some(*step),
            point: apart(plan, phase, step, first.point.clone()),
            ..first.clone()
        });
    }
    let bracket = bracket(plan, step, step.round, find, seen);
    let rate = match bounds(plan, step, step.round, find, seen) {
        // A step is there because one of them was not known.
        Some(bounds) => bounds.next(left(find, step.round)).unwrap_or(bounds.low.rate),
        None => next_rate(&bracket),
    };
    let mut planned = plan.phases[phase].clone();
    let reached = seen.jobs((step.first + unlimited) as usize);
    for (index, job) in planned.jobs.iter_mut().enumerate() {
        let share =
            reached.get(index).map_or(0.0, |figures| figures.iops) / bracket.max.max(f64::MIN_POSITIVE);
        set_rate(job, rate * share);
        if find.limits_together {
            let done = JobTotals::of(step, step.round, index, seen);
            done.take_off(job);
        }
    }
    let percent = (rate / bracket.max * 1000.0).round() / 10.0;
    let words = planned.point.words().filter(|word| !word.starts_with("find="));
    let words: Vec<String> = words.map(str::to_owned).chain([format!("find={percent}%")]).collect();
    planned.point = apart(plan, phase, step, SweepPoint::new(words.join(" ")));
    Some(planned)
}

/// The point under a name of its own, where an earlier step of the search has it: that one was repeated.
fn apart(plan: &Plan, phase: usize, step: &Step, point: SweepPoint) -> SweepPoint {
    let before = &plan.phases[step.first as usize..phase];
    let same = |other: &&PlannedPhase| other.point.as_str().split('#').next() == Some(point.as_str());
    match before.iter().filter(same).count() {
        0 => point,
        n => SweepPoint::new(format!("{point}#{}", n + 1)),
    }
}

fn next_rate(bracket: &Bracket) -> f64 {
    match (bracket.meets, bracket.misses) {
        (None, None) => bracket.max,
        (meets, Some(misses)) => (meets.unwrap_or(0.0) + misses) / 2.0,
        (Some(meets), None) => meets,
    }
}

/// What follows a step of a search.
pub(crate) fn after(plan: &Plan, phase: usize, step: &Step, find: &FindRate, seen: &PhaseFigures) -> After {
    let bracket = bracket(plan, step, step.round + 1, find, seen);
    if let Some(what) = seen.disturbance(phase).filter(|_| repeated(step, seen).contains(&step.round)) {
        let text = format!("{}: repeated, because of other processes: {what}", plan.phases[phase].point);
        let note = Some(Note { id: REPEATED, text });
        return After { note, ..After::next(phase) };
    }
    if bracket.max <= 0.0 {
        let name = &plan.phases[phase].name;
        let note = Note {
            id: "find-rate",
            text: format!("{name}: nothing was completed, so no rate was looked for"),
        };
        return After { next: step.next_phase(), resolved: Vec::new(), note: Some(note) };
    }
    if find.limits_together && is_used_up(plan, step, seen) {
        let name = &plan.phases[phase].name;
        let text = format!(
            "{name}: the job's size was done before the rate was known; {}",
            words(&bracket, find, step.round)
        );
        return After {
            next: step.next_phase(),
            resolved: Vec::new(),
            note: Some(Note { id: "find-rate", text }),
        };
    }
    let rounds = step.round + 1;
    let bounds = bounds(plan, step, rounds, find, seen);
    let goes_on = match &bounds {
        Some(bounds) => bounds.next(left(find, rounds)).is_some(),
        None => !is_over(&bracket, find, tried(plan, step, rounds, find, seen).len(), rounds),
    };
    if goes_on {
        return After::next(phase);
    }
    let said = match bounds {
        Some(bounds) => bounds_words(&bounds, &bracket, find, step.round),
        None => words(&bracket, find, step.round),
    };
    let text = format!("{}: {said}", plan.phases[phase].name);
    After { next: step.next_phase(), resolved: Vec::new(), note: Some(Note { id: "find-rate", text }) }
}

/// Windows that a search may still take behind so many rounds.
fn left(find: &FindRate, rounds: u32) -> u32 {
    find.windows_max().saturating_sub(rounds)
}

/// Whether the steps that look for the bounds are over.
fn is_over(bracket: &Bracket, find: &FindRate, tried: usize, rounds: u32) -> bool {
    let found = match (bracket.meets, bracket.misses) {
        (Some(_), None) => true,
        (Some(meets), Some(misses)) => misses - meets <= find.gap_percent_max / 100.0 * misses,
        _ => false,
    };
    found || tried >= find.look_steps_max() as usize || left(find, rounds) == 0
}

/// What the first `rounds` steps offered and saw, without those that were repeated.
fn tried(plan: &Plan, step: &Step, rounds: u32, find: &FindRate, seen: &PhaseFigures) -> Vec<Tried> {
    counted(step, rounds, seen).map(|round| tried_in(plan, step, round, find, seen).0).collect()
}

/// The bounds as far as the first `rounds` steps measured them; `None`: they are looked for, or there are none to measure.
fn bounds(plan: &Plan, step: &Step, rounds: u32, find: &FindRate, seen: &PhaseFigures) -> Option<Bounds> {
    let tried = tried(plan, step, rounds, find, seen);
    let looked = looked(&tried);
    let last = counted(step, rounds, seen).nth(looked.checked_sub(1)?)?;
    let bracket = bracket(plan, step, last + 1, find, seen);
    let over = looked < tried.len() || is_over(&bracket, find, looked, rounds);
    // Steps that share one size leave none of it for more windows.
    if !over || find.limits_together {
        return None;
    }
    let gap = find.gap_percent_max / 100.0;
    bracket.meets.map(|meets| Bounds::of(meets, bracket.misses, gap, &tried[looked..]))
}

/// What one job did in the steps so far.
#[derive(Debug, Clone, Copy, Default)]
struct JobTotals {
    ios: u64,
    bytes: u64,
}

impl JobTotals {
    fn of(step: &Step, rounds: u32, job: usize, seen: &PhaseFigures) -> JobTotals {
        let figures = (0..rounds).filter_map(|round| seen.jobs((step.first + round) as usize).get(job));
        figures.fold(JobTotals::default(), |done, figures| JobTotals {
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
fn is_used_up(plan: &Plan, step: &Step, seen: &PhaseFigures) -> bool {
    let jobs = &plan.phases[step.first as usize].jobs;
    jobs.iter().enumerate().any(|(index, job)| {
        let done = JobTotals::of(step, step.round + 1, index, seen);
        let limit = |of: fn(&ThreadSlice) -> Option<u64>| job.slices.iter().map(of).sum::<Option<u64>>();
        limit(|slice| slice.ios).is_some_and(|ios| done.ios >= ios)
            || limit(|slice| slice.bytes).is_some_and(|bytes| done.bytes >= bytes)
    })
}

fn words(bracket: &Bracket, find: &FindRate, steps: u32) -> String {
    let ended = format!("{steps} steps, {:.0} IOPS without a limit", bracket.max);
    match (bracket.meets, bracket.misses) {
        (Some(meets), Some(misses)) => {
            format!(
                "the highest rate with {find} is between {meets:.0} IOPS, which meet it, and {misses:.0} IOPS, which do not ({ended})"
            )
        }
        (Some(meets), None) => {
            format!("{meets:.0} IOPS, all that is reached without a limit, meet {find} ({ended})")
        }
        (None, Some(misses)) if bracket.unmeasured => {
            let goal = find.to_string();
            let figure = goal.split('<').next().unwrap_or_default();
            format!(
                "{figure} could not be measured at {misses:.0} IOPS: too few operations; lengthen the runtime ({ended})"
            )
        }
        (None, Some(misses)) => format!("not even {misses:.0} IOPS meet {find} ({ended})"),
        (None, None) => format!("nothing is known of {find} ({ended})"),
    }
}

/// What is said of bounds that were measured.
fn bounds_words(bounds: &Bounds, bracket: &Bracket, find: &FindRate, steps: u32) -> String {
    let (low, high) = (bounds.low.rate, bounds.high.rate);
    let ended = format!(
        "{WINDOWS} windows of {WINDOWS} each; {steps} steps, {:.0} IOPS without a limit",
        bracket.max
    );
    match (bounds.low.is_known(), bounds.high.is_known()) {
        (true, true) => format!(
            "the highest rate with {find} is between {low:.0} IOPS, which meet it, and {high:.0} IOPS, which do not ({ended})"
        ),
        (true, false) => {
            format!("{low:.0} IOPS meet {find}, and no rate above is known to miss it ({ended})")
        }
        (false, false) => format!("no rate is known to meet {find}, and none to miss it ({ended})"),
        (false, true) => {
            format!("{high:.0} IOPS do not meet {find}, and no rate below is known to meet it ({ended})")
        }
    }
}

/// Rounds that others disturbed and that do not count, because they are repeated.
fn repeated(step: &Step, seen: &PhaseFigures) -> Vec<u32> {
    // Steps that share one size would leave less of it for the others.
    if matches!(step.until, Until::Rate(find) if find.limits_together) {
        return Vec::new();
    }
    let disturbed = |round: &u32| seen.disturbance((step.first + round) as usize).is_some();
    // Behind the last step there is no room to repeat it.
    (0..step.rounds_max() - 1).filter(disturbed).take(REPEATS_MAX).collect()
}

/// The round without a limit that counts: the first, unless it was repeated.
fn unlimited(step: &Step, seen: &PhaseFigures) -> u32 {
    let repeated = repeated(step, seen);
    (0..step.rounds_max()).find(|round| !repeated.contains(round)).unwrap_or(0)
}

/// Those of the first `rounds` that offered a rate and were not repeated.
fn counted(step: &Step, rounds: u32, seen: &PhaseFigures) -> impl Iterator<Item = u32> {
    let (repeated, unlimited) = (repeated(step, seen), unlimited(step, seen));
    (unlimited + 1..rounds).filter(move |round| !repeated.contains(round))
}

/// What a step offered and saw, with the response times of all of its jobs.
fn tried_in(
    plan: &Plan,
    step: &Step,
    round: u32,
    find: &FindRate,
    seen: &PhaseFigures,
) -> (Tried, LatencyHistogram) {
    let phase = (step.first + round) as usize;
    let offered = offered(&plan.phases[phase]);
    let mut together = LatencyHistogram::new();
    seen.jobs(phase).iter().for_each(|job| together.merge(&job.latency));
    let met = meets(find, &together, seen.iops(phase), offered);
    (Tried { offered, met, disturbed: seen.disturbance(phase).is_some() }, together)
}

/// What the first `rounds` steps say.
fn bracket(plan: &Plan, step: &Step, rounds: u32, find: &FindRate, seen: &PhaseFigures) -> Bracket {
    let max = seen.iops((step.first + unlimited(step, seen)) as usize);
    let mut bracket = Bracket { max, meets: None, misses: None, unmeasured: false };
    for round in counted(step, rounds, seen) {
        let (Tried { offered, met, .. }, together) = tried_in(plan, step, round, find, seen);
        if met {
            bracket.meets = Some(bracket.meets.map_or(offered, |rate: f64| rate.max(offered)));
        } else if bracket.misses.is_none_or(|rate| offered <= rate) {
            bracket.misses = Some(offered);
            bracket.unmeasured = !measurable(find, &together);
        }
    }
    bracket
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_too_few_operations_is_not_measured() {
        let find: FindRate = "p99<1ms".parse().unwrap();
        let mut response = LatencyHistogram::new();
        response.record_n(2_000_000, 100);
        let unmeasured = !measurable(&find, &response);
        let mut bracket = Bracket { max: 800.0, meets: None, misses: Some(50.0), unmeasured };
        assert_eq!(
            words(&bracket, &find, 4),
            "p99 could not be measured at 50 IOPS: too few operations; lengthen the runtime (4 steps, 800 IOPS without a limit)"
        );
        response.record_n(2_000_000, 199);
        bracket.unmeasured = !measurable(&find, &response);
        assert!(words(&bracket, &find, 4).starts_with("not even 50 IOPS meet p99<1 ms"));
        // A mean and a maximum are of whatever there is.
        assert!(["mean<1ms", "max<1ms"].iter().all(|goal| measurable(&goal.parse().unwrap(), &response)));
    }
}
