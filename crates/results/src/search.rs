//! What a search for the highest rate says: which of its steps is quoted, and between which rates the answer lies.
//!
//! A search offers rates that are too high on purpose. Only the highest rate that met the goal is a figure of the run; the
//! other steps show where it lies. Where the bounds were measured in several windows ([`bounds`]), those make the interval;
//! else the operations of each step do.

use std::collections::BTreeSet;

use assay_workload::plan::{PlannedJob, PlannedPhase};
use assay_workload::steps::{FindRate, LatencyFigure, Step, Until};

use crate::RunEnd;
use crate::histogram::LatencyHistogram;
use crate::run::{Finding, FindingSeverity, Metric, PhaseResult, Row, Run, Verdict};
use crate::stats::{TAIL_ONE_SIDED_95, TAIL_TWO_SIDED_95, percentile_ranks, samples_for_percentile};

pub mod bounds;

use bounds::{Tried, WINDOWS, looked};

/// A rate counts as reached when this share of its arrivals was completed.
const REACHED: f64 = 0.98;
/// Random arrivals are so many standard deviations fewer than expected without that being a rate that was missed.
const CHANCE_SIGMAS: f64 = 3.0;
/// Both bounds of a mean hold with 95 % within so many standard errors.
const MEAN_SIGMAS: f64 = 1.96;
/// What the answer of a search is called, before its goal.
const ANSWER: &str = "highest rate with ";
/// The remark on a step that others disturbed, and that was repeated.
pub const REPEATED: &str = "find-rate-repeated";

/// Whether a step that offered a rate met the goal.
pub fn meets(find: &FindRate, response: &LatencyHistogram, iops: f64, offered: f64) -> bool {
    !response.is_empty()
        && figure_ns(find, response) < find.limit_ns as f64
        && reached(response, iops, offered)
}

/// The figure of the goal, nanoseconds.
fn figure_ns(find: &FindRate, response: &LatencyHistogram) -> f64 {
    match find.figure {
        LatencyFigure::Mean => response.mean_ns(),
        LatencyFigure::Quantile(share) => response.quantile_ns(share).map_or(f64::INFINITY, |ns| ns as f64),
    }
}

/// Whether what was completed is the rate that was offered, but for what random arrivals scatter.
fn reached(response: &LatencyHistogram, iops: f64, offered: f64) -> bool {
    if response.is_empty() || iops <= 0.0 {
        return false;
    }
    let expected = response.n() as f64 * offered / iops;
    expected - response.n() as f64 <= ((1.0 - REACHED) * expected).max(CHANCE_SIGMAS * expected.sqrt())
}

/// What the figure of the goal lies between with 95 %, by the operations of one step, nanoseconds.
fn bounds_ns(find: &FindRate, response: &LatencyHistogram) -> (f64, f64) {
    let n = response.n();
    let unknown = (0.0, f64::INFINITY);
    match find.figure {
        _ if n < 2 => unknown,
        LatencyFigure::Mean => {
            let half = MEAN_SIGMAS * response.stddev_ns() / (n as f64).sqrt();
            (response.mean_ns() - half, response.mean_ns() + half)
        }
        LatencyFigure::Quantile(share) if share >= 1.0 => {
            (response.max_ns() as f64, response.max_ns() as f64)
        }
        LatencyFigure::Quantile(share) => {
            let of_rank = |rank: u64| response.quantile_ns(rank as f64 / n as f64).map(|ns| ns as f64);
            let ranks = percentile_ranks(n, share, TAIL_TWO_SIDED_95);
            ranks.and_then(|ranks| of_rank(ranks.low).zip(of_rank(ranks.high))).unwrap_or(unknown)
        }
    }
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

/// A step of a search that offered a rate.
struct SearchStep<'r> {
    /// Index among the run's phases.
    index: usize,
    phase: &'r PhaseResult,
    /// Operations a second.
    offered: f64,
}

impl SearchStep<'_> {
    fn response(&self) -> LatencyHistogram {
        let mut response = LatencyHistogram::new();
        for op in self.phase.jobs.iter().flat_map(|job| [&job.read, &job.write, &job.trim]).flatten() {
            if let Some(sparse) = &op.response_histogram {
                response.merge(&LatencyHistogram::from_sparse(sparse));
            }
        }
        response
    }

    fn iops(&self) -> f64 {
        self.phase.jobs.iter().map(|job| job.total.iops).sum()
    }

    fn meets(&self, find: &FindRate) -> bool {
        meets(find, &self.response(), self.iops(), self.offered)
    }

    /// Whether it meets the goal whatever chance did to the figure; `Some(false)`: it misses it for certain; `None`: neither.
    fn for_certain(&self, find: &FindRate) -> Option<bool> {
        let response = self.response();
        let (low, high) = bounds_ns(find, &response);
        let limit = find.limit_ns as f64;
        match reached(&response, self.iops(), self.offered) {
            false => Some(false),
            true if high < limit => Some(true),
            true if low >= limit => Some(false),
            true => None,
        }
    }

    /// Whether something else slowed it down.
    fn disturbed(&self, run: &Run) -> bool {
        let judged = |row: Option<&Row>| row.is_some_and(|row| row.verdict != Verdict::Valid);
        self.phase.jobs.iter().any(|job| judged(run.row_or_step(self.phase, job)))
    }
}

/// The steps of one search that ran.
struct Search<'r> {
    find: FindRate,
    /// Those that offered a rate, without those that were repeated.
    steps: Vec<SearchStep<'r>>,
    /// The last one without a rate.
    unlimited: Option<&'r PhaseResult>,
    /// All that ran, the one without a rate and those that were repeated among them.
    all: Vec<usize>,
}

impl<'r> Search<'r> {
    /// All windows at each rate whose bound was measured, those that looked for it left out; none where no rate came twice.
    fn rates(&self) -> Vec<Windows<'_, 'r>> {
        let tried = |step: &SearchStep<'_>| Tried {
            offered: step.offered,
            met: step.meets(&self.find),
            disturbed: false,
        };
        let looked = looked(&self.steps.iter().map(tried).collect::<Vec<_>>());
        let mut rates: Vec<Windows<'_, 'r>> = Vec::new();
        for step in &self.steps[looked..] {
            match rates.iter_mut().find(|rate| bounds::same(rate[0].offered, step.offered)) {
                Some(rate) => rate.push(step),
                None => rates.push(vec![step]),
            }
        }
        rates
    }

    /// The step with the highest rate that met the goal, else the one with the lowest rate.
    fn quoted(&self) -> Option<&SearchStep<'r>> {
        let met = |step: &&&SearchStep<'r>| step.meets(&self.find);
        let rates = self.rates();
        let all = rates.iter().filter(|rate| holds(rate, &self.find));
        // Where no bound held in all of its windows: the highest that did in half of them.
        let half = rates.iter().filter(|rate| 2 * rate.iter().filter(met).count() >= rate.len());
        let best = highest(all).or_else(|| highest(half));
        let middle = best.and_then(|rate| middle(rate.iter().filter(met).copied().collect(), &self.find));
        let highest = || self.steps.iter().filter(|step| met(&step)).max_by(by_rate);
        middle.or_else(highest).or_else(|| self.steps.iter().min_by(by_rate))
    }

    /// Whether the windows at the rate of a step have enough operations together for the figure of the goal.
    fn is_measured(&self, step: &SearchStep<'_>) -> bool {
        let mut together = LatencyHistogram::new();
        let same = self.steps.iter().filter(|other| bounds::same(other.offered, step.offered));
        same.for_each(|other| together.merge(&other.response()));
        measurable(&self.find, &together)
    }

    /// Whether it was stopped before any rate met the goal, which says nothing of the goal.
    fn unfinished(&self, run: &Run) -> bool {
        let stopped = matches!(run.end, Some(RunEnd::Interrupted | RunEnd::Failed));
        stopped && !self.steps.iter().any(|step| step.meets(&self.find))
    }

    /// The step that is quoted; `None`: there is none, or it is not known yet.
    fn found(&self, run: &Run) -> Option<&SearchStep<'r>> {
        self.quoted().filter(|_| !self.unfinished(run))
    }

    /// The answer with the interval that the steps leave it, and what that is made of.
    fn answer(&self, run: &Run) -> Option<(usize, Metric)> {
        let quoted = self.quoted().filter(|step| step.meets(&self.find) && self.is_measured(step))?;
        let rates = self.rates();
        let found = match rates.is_empty() {
            true => self.by_operations(run, quoted),
            false => self.by_windows(run, &rates, quoted),
        };
        let metric = Metric {
            value: quoted.offered,
            unit: "IOPS".to_owned(),
            n: self.steps.len() as u32,
            interval: found.high.map(|high| (found.low, high)),
            basis: Some(found.basis),
        };
        Some((quoted.index, metric))
    }

    /// The interval by what each step says of itself.
    fn by_operations(&self, run: &Run, quoted: &SearchStep<'_>) -> Between {
        let certain =
            |wanted: bool| self.steps.iter().filter(move |step| step.for_certain(&self.find) == Some(wanted));
        let low = certain(true).map(|step| step.offered).filter(|rate| *rate <= quoted.offered);
        let low = low.fold(0.0, f64::max);
        let above = certain(false).filter(|step| step.offered > quoted.offered);
        let (set_aside, misses): (Vec<_>, Vec<_>) = above.partition(|step| step.disturbed(run));
        let missed = misses.iter().map(|step| step.offered).min_by(f64::total_cmp);
        // No rate is higher than what is reached without one.
        let high = missed.or_else(|| Some(unlimited_high(run, self.unlimited?).max(quoted.offered)));
        let basis = basis(self.steps.len(), low > 0.0, missed.is_some(), set_aside.len());
        Between { low, high, basis }
    }

    /// The interval by how the windows at each bound came out.
    fn by_windows(&self, run: &Run, rates: &[Windows<'_, '_>], quoted: &SearchStep<'_>) -> Between {
        let low = highest(rates.iter().filter(|rate| holds(rate, &self.find))).map(|rate| rate[0].offered);
        let mut set_aside = 0;
        let mut missed: Option<f64> = None;
        for rate in rates.iter().filter(|rate| rate[0].offered > quoted.offered) {
            let (met, misses): (Windows<'_, '_>, Windows<'_, '_>) =
                rate.iter().copied().partition(|step| step.meets(&self.find));
            let disturbed = misses.iter().filter(|step| step.disturbed(run)).count();
            set_aside += disturbed;
            if met.is_empty() && misses.len() - disturbed >= WINDOWS as usize {
                missed = Some(missed.map_or(rate[0].offered, |known| known.min(rate[0].offered)));
            }
        }
        // The window without a limit is one window, too: a rate that was offered may be higher.
        let offered = self.steps.iter().map(|step| step.offered).fold(quoted.offered, f64::max);
        let high = missed.or_else(|| Some(unlimited_high(run, self.unlimited?).max(offered)));
        Between { low: low.unwrap_or(0.0), high, basis: windows_basis(low, missed, set_aside) }
    }
}

/// Between which rates an answer lies, and what says so.
struct Between {
    low: f64,
    high: Option<f64>,
    basis: String,
}

/// Whether a rate met the goal in all of its windows, and those are enough.
fn holds(rate: &[&SearchStep<'_>], find: &FindRate) -> bool {
    let mut together = LatencyHistogram::new();
    rate.iter().for_each(|step| together.merge(&step.response()));
    rate.len() >= WINDOWS as usize && rate.iter().all(|step| step.meets(find)) && measurable(find, &together)
}

fn by_rate(a: &&SearchStep<'_>, b: &&SearchStep<'_>) -> std::cmp::Ordering {
    a.offered.total_cmp(&b.offered)
}

/// The windows of one rate.
type Windows<'a, 'r> = Vec<&'a SearchStep<'r>>;

fn highest<'w, 'a, 'r>(rates: impl Iterator<Item = &'w Windows<'a, 'r>>) -> Option<&'w Windows<'a, 'r>>
where
    'a: 'w,
    'r: 'a,
{
    rates.max_by(|a, b| a[0].offered.total_cmp(&b[0].offered))
}

/// The window in the middle by the figure of the goal.
fn middle<'a, 'r>(mut windows: Windows<'a, 'r>, find: &FindRate) -> Option<&'a SearchStep<'r>> {
    windows.sort_by(|a, b| figure_ns(find, &a.response()).total_cmp(&figure_ns(find, &b.response())));
    windows.get(windows.len() / 2).copied()
}

/// The highest that the rate without a limit may be, by the interval of its own window.
fn unlimited_high(run: &Run, phase: &PhaseResult) -> f64 {
    let of = |job| {
        let row: Option<&Row> = run.row_or_step(phase, job);
        row.map_or(job.total.iops, |row| row.figure.interval.map_or(row.figure.value, |(_, high)| high))
    };
    phase.jobs.iter().map(of).sum()
}

/// What the interval of an answer is made of.
fn basis(steps: usize, met: bool, missed: bool, set_aside: usize) -> String {
    let low = if met {
        "from the highest rate that meets the goal for certain"
    } else {
        "from 0, because no rate meets the goal for certain,"
    };
    let high = if missed {
        "to the lowest that misses it for certain"
    } else {
        "to the rate reached without a limit, because no undisturbed step misses it for certain"
    };
    let of_steps = if steps == 1 { "the one step".to_owned() } else { format!("each of {steps} steps") };
    format!("{low} {high}, with 95 % by the operations of {of_steps}{}", aside(set_aside))
}

fn aside(steps: usize) -> String {
    match steps {
        0 => String::new(),
        1 => "; 1 step that missed it was disturbed and does not count".to_owned(),
        n => format!("; {n} steps that missed it were disturbed and do not count"),
    }
}

/// What the interval of an answer is made of whose bounds were measured in several windows.
fn windows_basis(met: Option<f64>, missed: Option<f64>, set_aside: usize) -> String {
    let low = match met {
        Some(_) => format!("from the highest rate that met the goal in {WINDOWS} windows of {WINDOWS}"),
        None => format!("from 0, because no rate met the goal in {WINDOWS} windows of {WINDOWS},"),
    };
    let high = match missed {
        Some(_) => format!("to the lowest that missed it in {WINDOWS} of {WINDOWS}"),
        None => format!(
            "to the highest that was offered or reached, because none missed it in {WINDOWS} undisturbed windows of {WINDOWS}"
        ),
    };
    format!("{low} {high}, with 95 % by the sign test of windows that alternate{}", aside(set_aside))
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
            found.push((first, Search { find, steps: Vec::new(), unlimited: None, all: Vec::new() }));
            found.len() - 1
        });
        let search = &mut found[at].1;
        search.all.push(index);
        let repeated =
            run.remarks.iter().any(|remark| remark.id == REPEATED && remark.phase == Some(phase.plan_phase));
        let offered = offered(planned);
        if offered > 0.0 && !repeated {
            search.steps.push(SearchStep { index, phase, offered });
        } else if offered <= 0.0 {
            search.unlimited = Some(phase);
        }
    }
    found.into_iter().map(|(_, search)| search).collect()
}

/// Indices of the phases that are steps of a search and not its answer.
pub(crate) fn not_quoted(run: &Run) -> BTreeSet<usize> {
    let of = |search: Search<'_>| {
        let quoted = search.found(run).map(|step| step.index);
        let none = quoted.is_none() && !search.unfinished(run);
        search.all.into_iter().filter(move |index| !none && Some(*index) != quoted)
    };
    searches(run).into_iter().flat_map(of).collect()
}

/// What a search found, for a headline.
#[derive(Debug, Clone)]
pub struct SearchAnswer<'r> {
    /// Its goal.
    pub find: FindRate,
    /// Its steps, the one without a rate and those that were repeated among them.
    pub phases: Vec<&'r PhaseResult>,
    /// The highest rate that met the goal, with the interval that the steps leave it; `None`: no rate that was offered did.
    pub rate: Option<Metric>,
    /// The lowest rate that was offered, operations a second; `None`: none was, or the search was stopped before one met the goal.
    pub lowest_iops: Option<f64>,
    /// Whether there is no answer because the steps had too few operations for the figure of the goal.
    pub unmeasured: bool,
    /// The verdict on the step that the answer rests on.
    pub verdict: Verdict,
}

/// The answers of all searches of a run that has verdicts.
pub fn answers(run: &Run) -> Vec<SearchAnswer<'_>> {
    let of = |search: &Search<'_>| {
        let quoted = search.found(run);
        let rows = quoted.iter().flat_map(|step| {
            step.phase.jobs.iter().filter_map(|job| Some(run.row_or_step(step.phase, job)?.verdict))
        });
        SearchAnswer {
            find: search.find,
            phases: search.all.iter().filter_map(|index| run.phases.get(*index)).collect(),
            rate: search.answer(run).map(|(_, metric)| metric),
            lowest_iops: quoted
                .and_then(|_| search.steps.iter().map(|step| step.offered).min_by(f64::total_cmp)),
            unmeasured: quoted.is_some_and(|step| !search.is_measured(step)),
            verdict: rows.max().unwrap_or(Verdict::Valid),
        }
    };
    searches(run).iter().map(of).collect()
}

/// Whether a search rests its answer on this phase.
pub(crate) fn is_answer(phase: &PhaseResult) -> bool {
    phase.metrics.keys().any(|name| name.starts_with(ANSWER))
}

/// Puts the answer of each search, with the rates it lies between, into the phase that is quoted. The steps are judged before.
pub(crate) fn add_answers(run: &mut Run) {
    let answer = |search: &Search<'_>| {
        search.answer(run).map(|(index, metric)| (index, format!("{ANSWER}{}", search.find), metric))
    };
    let answers: Vec<(usize, String, Metric)> = searches(run).iter().filter_map(answer).collect();
    // What an earlier judgement said.
    run.phases.iter_mut().for_each(|phase| phase.metrics.retain(|name, _| !name.starts_with(ANSWER)));
    for (index, name, metric) in answers {
        run.phases[index].metrics.insert(name, metric);
    }
}

#[cfg(test)]
#[path = "search/tests.rs"]
mod tests;
