//! Verdicts on the figures that are quoted: a row is a test of a run over all of its repetitions, and has its own.
//!
//! A finding about one repetition says nothing yet about the median of them: where the median would lie within what the other
//! repetitions say however that one had come out, the row stands, and names the repetition.

use std::collections::BTreeSet;

use super::not_steady::whole_intervals;
use super::severity::severity;
use super::{not_steady, outlier_run, rate_not_reached, verdict_of};
use crate::compare::{Repetition, tests_of_run};
use crate::run::{Finding, FindingSeverity, JobResult, Metric, PhaseResult, Row, Run, Verdict};
use crate::search;
use crate::stats::{autocorrelation, mad, median, median_interval, student_quantile};
use crate::steady::{StationarityRule, StationarityVerdict, stationarity};

/// The test for movement draws random series; the same run is judged the same way each time.
const SEED: u64 = 1;
/// A scaled MAD estimates the standard deviation.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Gives each finding the severity that its effect on the quoted figures has, and answers the rows with their verdicts.
pub(super) fn weigh(run: &Run, findings: &mut [Finding]) -> Vec<Row> {
    let claimed: Vec<Finding> = findings.to_vec();
    // What is about the whole run is about no figure's interval.
    for finding in findings.iter_mut() {
        finding.severity = severity(finding.severity, finding.effect, None);
    }
    let whole: Vec<Finding> = findings.iter().filter(|finding| finding.phase.is_none()).cloned().collect();
    let mut weighed: Vec<Option<Weighed>> = vec![None; findings.len()];
    let mut rows = Vec::new();
    let steps = search::not_quoted(run);
    for (name, repetitions) in tests_of_phases(run, |phase| !steps.contains(&phase)) {
        let row = RowFindings::of(&repetitions, about(&claimed, &repetitions));
        for (at, of_row) in &row.weighed {
            weighed[*at] = Some(weighed[*at].map_or(*of_row, |known| known.max(*of_row)));
        }
        rows.push(row.finish(name, &repetitions, &claimed, &whole));
    }
    for (finding, weighed) in findings.iter_mut().zip(weighed) {
        let Some(weighed) = weighed else { continue };
        finding.severity = weighed.severity;
        if weighed.set_aside {
            finding.evidence.insert("set_aside".to_owned(), true.into());
        }
    }
    rows
}

/// What a rate that is too high does by itself: no fault of a step that offered it on purpose.
const OVERLOAD: [&str; 2] = [rate_not_reached::ID, not_steady::ID];

/// The rows of the steps of a search that are not its answer, by all that was found about them beside their overload.
pub(super) fn of_steps(run: &Run, findings: &[Finding]) -> Vec<Row> {
    let steps = search::not_quoted(run);
    let counted = findings.iter().filter(|finding| !OVERLOAD.contains(&finding.id.as_str()));
    let counted: Vec<Finding> = counted.cloned().collect();
    let tests = tests_of_phases(run, |phase| steps.contains(&phase)).into_iter();
    tests
        .map(|(name, repetitions)| {
            let row = RowFindings::of(&repetitions, about(&counted, &repetitions));
            row.finish(name, &repetitions, &counted, &[])
        })
        .collect()
}

/// The tests of a run with those of their repetitions whose phase (by its index) is wanted.
fn tests_of_phases(run: &Run, wanted: impl Fn(usize) -> bool) -> Vec<(String, Vec<Repetition<'_>>)> {
    let index = |repetition: &Repetition<'_>| {
        run.phases.iter().position(|phase| std::ptr::eq(phase, repetition.phase))
    };
    let mut tests = tests_of_run(run);
    for (_, repetitions) in &mut tests {
        repetitions.retain(|repetition| index(repetition).is_some_and(&wanted));
    }
    tests.retain(|(_, repetitions)| !repetitions.is_empty());
    tests
}

/// The findings about a test, by their place among all.
fn about<'f>(findings: &'f [Finding], repetitions: &[Repetition<'_>]) -> Vec<(usize, &'f Finding)> {
    let concern = |finding: &Finding| repetitions.iter().any(|repetition| concerns(finding, repetition));
    findings.iter().enumerate().filter(|(_, finding)| concern(finding)).collect()
}

/// Whether a finding is about this repetition of a test.
pub(super) fn concerns(finding: &Finding, repetition: &Repetition<'_>) -> bool {
    let (phase, job) = (repetition.phase, repetition.job);
    let point = finding.evidence.get("point").and_then(|point| point.as_str()).unwrap_or("");
    finding.phase.as_ref() == Some(&phase.name)
        && point == phase.point.as_str()
        && finding.repeat.is_none_or(|repeat| repeat == phase.repeat)
        && finding.job.as_ref().is_none_or(|name| *name == job.name)
}

/// What a finding comes to for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Weighed {
    severity: FindingSeverity,
    /// It is about repetitions that the median does not rest on.
    set_aside: bool,
}

/// The findings about one row, by their place among all, weighed.
struct RowFindings {
    figure: Metric,
    /// Repetitions that were disturbed, or cut short, and that the median does not rest on.
    disturbed: Vec<u32>,
    weighed: Vec<(usize, Weighed)>,
}

impl RowFindings {
    fn of(repetitions: &[Repetition<'_>], findings: Vec<(usize, &Finding)>) -> RowFindings {
        let (unit, values) = values(repetitions);
        let cut = cut_short(repetitions);
        let figure = match cut.is_empty() {
            true => figure(unit, &values, repetitions),
            false => figure_of(unit, &without(&values, &cut)),
        };
        let grave = |finding: &Finding, half_width| {
            severity(finding.severity, finding.effect, half_width) == FindingSeverity::Warning
        };
        // What was disturbed does not make the interval that it is held against.
        let suspected = windows(&findings, repetitions, |finding| grave(finding, None));
        let outliers = windows(&findings, repetitions, |finding| finding.id == outlier_run::ID);
        let apart = [suspected, outliers].into_iter().find(|windows| tolerable(&values, windows));
        let half_width = half_width(&match apart {
            Some(windows) => figure_of(unit, &without(&values, &windows)),
            None => figure.clone(),
        });
        let disturbed = windows(&findings, repetitions, |finding| grave(finding, half_width));
        let aside = if tolerable(&values, &disturbed) { disturbed } else { Vec::new() };
        let weighed = findings.iter().map(|(at, finding)| {
            let severity = severity(finding.severity, finding.effect, half_width);
            let of = windows_of(finding, repetitions);
            let set_aside = severity == FindingSeverity::Warning
                && !of.is_empty()
                && of.iter().all(|window| aside.contains(window));
            let severity = if set_aside { FindingSeverity::Info } else { severity };
            (*at, Weighed { severity, set_aside })
        });
        let weighed = weighed.collect();
        let aside: BTreeSet<usize> = aside.into_iter().chain(cut).collect();
        let disturbed = aside.iter().map(|window| repetitions[*window].phase.repeat).collect();
        RowFindings { figure, disturbed, weighed }
    }

    fn finish(
        self,
        name: String,
        repetitions: &[Repetition<'_>],
        claimed: &[Finding],
        whole: &[Finding],
    ) -> Row {
        let own = self.weighed.iter().map(|(at, weighed)| (weighed.severity, &claimed[*at]));
        let of_run = whole.iter().map(|finding| (finding.severity, finding));
        let mut causes: Vec<(FindingSeverity, &Finding)> =
            own.chain(of_run).filter(|(severity, _)| *severity >= FindingSeverity::Warning).collect();
        causes.sort_by(|a, b| Finding::by_weight(*a, *b));
        let (phase, job) = (repetitions[0].phase, repetitions[0].job);
        let row = Row {
            name,
            phase: phase.name.clone(),
            point: phase.point.clone(),
            job: job.name.clone(),
            verdict: Verdict::Valid,
            figure: self.figure,
            disturbed: self.disturbed,
            causes: Vec::new(),
            because: None,
        };
        judged(row, &causes)
    }
}

/// The row with the verdict that these causes, the gravest first, give it.
fn judged(row: Row, causes: &[(FindingSeverity, &Finding)]) -> Row {
    let mut ids: Vec<String> = Vec::new();
    for (_, finding) in causes {
        if !ids.contains(&finding.id) {
            ids.push(finding.id.clone());
        }
    }
    Row {
        verdict: causes.first().map_or(Verdict::Valid, |(severity, _)| verdict_of(*severity)),
        causes: ids,
        because: causes.first().map(|(_, finding)| finding.message.clone()),
        ..row
    }
}

impl Run {
    /// The row of a job as far as this repetition of it goes: what was found about the other repetitions says nothing about the figures of
    /// this one. The figure itself stays that of all repetitions.
    pub fn row_of_repetition(&self, phase: &PhaseResult, job: &JobResult) -> Option<Row> {
        let row = self.row_or_step(phase, job)?.clone();
        if self.row(phase, job).is_none() || self.repeats_of(phase) < 2 {
            return Some(row);
        }
        let repetition = Repetition { run: self, phase, job };
        let of_it = |finding: &&Finding| {
            let all = finding.phase.is_none();
            all || concerns(finding, &repetition)
                && names(finding).is_none_or(|named| named.contains(&phase.repeat))
        };
        let found = self.findings.iter().filter(|finding| finding.severity >= FindingSeverity::Warning);
        let mut causes: Vec<(FindingSeverity, &Finding)> =
            found.filter(of_it).map(|finding| (finding.severity, finding)).collect();
        causes.sort_by(|a, b| Finding::by_weight(*a, *b));
        Some(judged(row, &causes))
    }
}

/// The repetitions that a finding about a whole test names, where it does.
fn names(finding: &Finding) -> Option<Vec<u32>> {
    let named = finding.evidence.get(outlier_run::REPEATS).filter(|_| finding.id == outlier_run::ID)?;
    let numbers = named.as_array().into_iter().flatten().filter_map(serde_json::Value::as_u64);
    Some(numbers.filter_map(|number| u32::try_from(number).ok()).collect())
}

/// The repetitions (by place) that a finding is about where it is about some of several; empty: it is about all of them.
fn windows_of(finding: &Finding, repetitions: &[Repetition<'_>]) -> Vec<usize> {
    let places = |repeats: &dyn Fn(u32) -> bool| {
        let of = repetitions.iter().enumerate().filter(|(_, repetition)| repeats(repetition.phase.repeat));
        of.map(|(at, _)| at).collect()
    };
    if let Some(named) = names(finding) {
        return places(&|repeat| named.contains(&repeat));
    }
    finding
        .repeat
        .filter(|_| repetitions.len() > 1)
        .map_or_else(Vec::new, |one| places(&|repeat| repeat == one))
}

/// All repetitions that such findings are about.
fn windows(
    findings: &[(usize, &Finding)],
    repetitions: &[Repetition<'_>],
    such: impl Fn(&Finding) -> bool,
) -> Vec<usize> {
    let of = findings.iter().filter(|(_, finding)| such(finding));
    let mut windows: Vec<usize> = of.flat_map(|(_, finding)| windows_of(finding, repetitions)).collect();
    windows.sort_unstable();
    windows.dedup();
    windows
}

/// The repetitions that were stopped on their way, where others were not: those are no values of the median.
fn cut_short(repetitions: &[Repetition<'_>]) -> Vec<usize> {
    let cut: Vec<usize> =
        (0..repetitions.len()).filter(|at| !repetitions[*at].job.evidence.finished).collect();
    if cut.len() < repetitions.len() { cut } else { Vec::new() }
}

/// Whether a median stands although these of its values were disturbed: however they had come out without, it would lie
/// strictly within the others, and within the interval that is quoted. That takes four others, and more of them than not:
/// one of five, two of seven.
fn tolerable(values: &[f64], disturbed: &[usize]) -> bool {
    let (n, k) = (values.len(), disturbed.len());
    let mut others = without(values, disturbed);
    others.sort_by(f64::total_cmp);
    // Ranks from 0 of the lowest and the highest median there could be, among the others.
    let (lowest, highest) = (n.div_ceil(2).saturating_sub(k + 1), n / 2);
    let Some(interval) = median_interval(values).filter(|_| k > 0 && lowest >= 1) else { return false };
    let within = |at: usize| others.get(at).is_some_and(|value| interval.contains(*value));
    highest + 1 < others.len() && within(lowest) && within(highest)
}

fn without(values: &[f64], windows: &[usize]) -> Vec<f64> {
    values.iter().enumerate().filter(|(at, _)| !windows.contains(at)).map(|(_, value)| *value).collect()
}

/// What is quoted of each repetition: operations a second, or bytes where only they are known.
fn values(repetitions: &[Repetition<'_>]) -> (&'static str, Vec<f64>) {
    let iops: Option<Vec<f64>> =
        repetitions.iter().map(|repetition| repetition.job.total.known_iops()).collect();
    iops.map_or_else(
        || ("bytes/s", repetitions.iter().map(|repetition| repetition.job.total.bytes_per_s).collect()),
        |iops| ("IOPS", iops),
    )
}

/// The figure of a row: the median of its repetitions with the interval of that; of a single one with the interval that its
/// reporting periods allow.
fn figure(unit: &str, values: &[f64], repetitions: &[Repetition<'_>]) -> Metric {
    let mut figure = figure_of(unit, values);
    if let [only] = repetitions {
        let half = within_window(only.job).map(|share| share * figure.value);
        figure.interval = half.map(|half| ((figure.value - half).max(0.0), figure.value + half));
    }
    figure
}

fn figure_of(unit: &str, values: &[f64]) -> Metric {
    Metric {
        value: median(values).unwrap_or(0.0),
        unit: unit.to_owned(),
        n: values.len() as u32,
        interval: median_interval(values).map(|interval| (interval.low, interval.high)),
        basis: None,
    }
}

/// Half of a figure's interval as a share of it; `None` without an interval.
fn half_width(figure: &Metric) -> Option<f64> {
    let (low, high) = figure.interval?;
    (figure.value > 0.0).then(|| (high - low) / 2.0 / figure.value)
}

/// How exactly the reporting periods of a window tell its mean: half of an interval of 95 %, as a share of it. From the scaled
/// MAD, which a few periods that were disturbed do not widen, and the number of independent periods. `None` below ten
/// periods, and of a window that moved: its scatter is no matter of chance.
fn within_window(job: &JobResult) -> Option<f64> {
    let values = whole_intervals(&job.series);
    let found = stationarity(&values, &StationarityRule::default(), SEED)?;
    let usual = median(&values).filter(|usual| *usual > 0.0)?;
    if found.verdict != StationarityVerdict::Stationary {
        return None;
    }
    let dependence = autocorrelation(&values, 1).unwrap_or(0.0).clamp(0.0, 0.9);
    let n = (values.len() as f64 * (1.0 - dependence) / (1.0 + dependence)).max(2.0);
    Some(student_quantile(0.05, n - 1.0) * MAD_TO_SIGMA * mad(&values)? / n.sqrt() / usual)
}

#[cfg(test)]
#[path = "rows/tests.rs"]
mod tests;
