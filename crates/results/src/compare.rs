//! Two results side by side: what differs in how they were made, and what the numbers then show.
//!
//! Pure: runs go in, a [`Comparison`] comes out, and every renderer shows the same. Configurations are compared
//! first; tests whose conditions differ in a way that makes a difference of the numbers meaningless are not ranked.
//! The unit of repetition is stated: a run, or a repetition of a test within one run. Reporting intervals are never a
//! unit, because neighbouring ones depend on each other. The rule behind the words is [`stats::judge`].

mod conditions;
mod differences;
#[cfg(test)]
mod evidence;
mod metrics;
#[cfg(test)]
mod tests;
mod units;

use serde::{Deserialize, Serialize};

pub use self::differences::Difference;
pub use self::metrics::MetricKind;
pub use self::units::Unit;
pub(crate) use self::units::test_name;
use self::units::{Test, tests_of};
use crate::histogram::{LatencyHistogram, SparseHistogram};
use crate::run::{Run, Verdict};
use crate::stats::{
    self, CompareVerdict, Judgement, Margins, Orientation, SuiteEntry, judge, judge_suite, normal_quantile,
};

/// The schema of a comparison as JSON.
pub const SCHEMA: &str = "assay.comparison/1";

/// The runs of one side.
#[derive(Debug, Clone)]
pub struct Side<'r> {
    /// What the user called it.
    pub name: String,
    /// At least one.
    pub runs: Vec<&'r Run>,
}

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// What counts as a difference.
    pub margins: Margins,
    /// Rank what is not comparable, too.
    pub anyway: bool,
    /// The unit of repetition; `None`: runs where every side has several, else repetitions within them.
    pub unit: Option<Unit>,
    /// Random relabellings where there are too many to visit them all.
    pub draws: usize,
    /// Seed of these.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions { margins: Margins::default(), anyway: false, unit: None, draws: 4_999, seed: 1 }
    }
}

/// Why nothing can be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// One side or none.
    #[error("a comparison takes two sides; {0} given")]
    Sides(usize),
    /// A side without runs.
    #[error("there is no run on side '{0}'")]
    NoRuns(String),
    /// No measuring phase.
    #[error("nothing was measured on side '{0}'")]
    NothingMeasured(String),
}

/// One run of a side, in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunBrief {
    /// Its id.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// Host, where known.
    pub host: String,
    /// Whether it may be believed.
    pub verdict: Verdict,
}

/// One side, in brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideBrief {
    /// What the user called it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunBrief>,
    /// Units of repetition of the test that has most.
    pub units: u64,
}

/// One figure of one test on two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricComparison {
    /// Which figure.
    pub metric: MetricKind,
    /// One value for each unit of repetition of the first side, in order of the passes; nanoseconds or operations a
    /// second, see [`MetricKind::unit`].
    pub first: Vec<f64>,
    /// The same of the second side.
    pub second: Vec<f64>,
    /// Median of `first`.
    pub first_median: f64,
    /// Median of `second`.
    pub second_median: f64,
    /// The verdict; `None`: not ranked, see `refused`.
    pub judgement: Option<Judgement>,
    /// Why this figure is not ranked although the test is; empty: it is.
    pub refused: String,
    /// Units on each side with which a true difference as large as the margin would be seen in 80 of 100 comparisons at
    /// the spread seen here, the test alone; `None` where the spread is not known.
    pub units_for_margin: Option<u64>,
}

/// One test on two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestComparison {
    /// Its name on the first side.
    pub name: String,
    /// Its name on the second side, where that is another; else empty.
    pub second_name: String,
    /// The conditions on the first side, in words.
    pub conditions: String,
    /// Why the two are not comparable; empty: they are.
    pub not_comparable: Vec<String>,
    /// What a reader should know although they are ranked.
    pub cautions: Vec<String>,
    /// The figures.
    pub metrics: Vec<MetricComparison>,
    /// Latencies of all units of the first side together, where they were stored.
    pub first_latency: Option<SparseHistogram>,
    /// The same of the second side.
    pub second_latency: Option<SparseHistogram>,
}

/// One side against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PairComparison {
    /// Index of the other side in [`Comparison::sides`]; the first one is 0.
    pub second: usize,
    /// Tests that both have.
    pub tests: Vec<TestComparison>,
    /// Tests of the first side that the other lacks.
    pub only_first: Vec<String>,
    /// Tests that only the other side has.
    pub only_second: Vec<String>,
    /// Figures judged together: the chance that any of them is called better or worse without reason is at most
    /// `alpha` of the margins.
    pub judged_together: usize,
}

/// Several sides, the first being what the others are compared with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// What counted as a difference.
    pub margins: Margins,
    /// What one value stands for.
    pub unit: Unit,
    /// The sides.
    pub sides: Vec<SideBrief>,
    /// What differs in how they were made.
    pub differences: Vec<Difference>,
    /// Lines of the plans that only some sides have: `- ` only the first, `+ ` only another.
    pub plan_differences: Vec<String>,
    /// What a reader should know beforehand.
    pub cautions: Vec<String>,
    /// Each further side against the first.
    pub pairs: Vec<PairComparison>,
}

impl Comparison {
    /// All judged figures.
    pub fn judgements(&self) -> impl Iterator<Item = &Judgement> {
        let metrics = self.pairs.iter().flat_map(|pair| &pair.tests).flat_map(|test| &test.metrics);
        metrics.filter_map(|metric| metric.judgement.as_ref())
    }

    /// How many figures got this word.
    pub fn count(&self, verdict: CompareVerdict) -> usize {
        self.judgements().filter(|judgement| judgement.verdict == verdict).count()
    }

    /// Why no figure could be ranked: the first reason; `None`: at least one was.
    pub fn nothing_ranked(&self) -> Option<String> {
        if self.judgements().next().is_some() {
            return None;
        }
        let tests = || self.pairs.iter().flat_map(|pair| &pair.tests);
        let reason = tests().flat_map(|test| &test.not_comparable).next().cloned();
        Some(reason.unwrap_or_else(|| match tests().next() {
            Some(_) => "no figure is there on both sides".to_owned(),
            None => "the sides have no test in common".to_owned(),
        }))
    }
}

/// Compares every further side with the first.
///
/// # Errors
/// With fewer than two sides, or a side on which nothing was measured.
pub fn compare(sides: &[Side<'_>], options: &CompareOptions) -> Result<Comparison, CompareError> {
    if sides.len() < 2 {
        return Err(CompareError::Sides(sides.len()));
    }
    if let Some(side) = sides.iter().find(|side| side.runs.is_empty()) {
        return Err(CompareError::NoRuns(side.name.clone()));
    }
    let unit = options.unit.unwrap_or_else(|| Unit::for_sides(sides));
    let tests: Vec<Vec<Test<'_>>> = sides.iter().map(|side| tests_of(&side.runs, unit)).collect();
    if let Some(at) = tests.iter().position(Vec::is_empty) {
        return Err(CompareError::NothingMeasured(sides[at].name.clone()));
    }
    let briefs = sides.iter().zip(&tests).map(|(side, tests)| brief(side, tests));
    let pairs = (1..sides.len()).map(|second| pair(&tests[0], &tests[second], second, options));
    Ok(Comparison {
        schema: SCHEMA.to_owned(),
        margins: options.margins,
        unit,
        sides: briefs.collect(),
        differences: differences::settings(sides),
        plan_differences: differences::plans(sides),
        cautions: cautions(sides, unit),
        pairs: pairs.collect(),
    })
}

fn brief(side: &Side<'_>, tests: &[Test<'_>]) -> SideBrief {
    let run = |run: &&Run| RunBrief {
        id: run.id.clone(),
        name: run.name.clone(),
        started: run.started.clone(),
        host: run.environment.machine.hostname.clone().unwrap_or_default(),
        verdict: run.verdict,
    };
    SideBrief {
        name: side.name.clone(),
        runs: side.runs.iter().map(run).collect(),
        units: tests.iter().map(|test| test.units.len()).max().unwrap_or(0) as u64,
    }
}

fn cautions(sides: &[Side<'_>], unit: Unit) -> Vec<String> {
    let mut cautions = Vec::new();
    if unit == Unit::Repeat {
        cautions.push(
            "the unit is a repetition within a run: what changes from one session to the next (temperature, placement, \
             other users) is not in the intervals; several runs on each side take it in"
                .to_owned(),
        );
    }
    let mut seen: Vec<&str> = Vec::new();
    for run in sides.iter().flat_map(|side| &side.runs) {
        if seen.contains(&run.id.as_str()) {
            cautions.push(format!("run {} occurs more than once", run.id));
        }
        seen.push(&run.id);
        if matches!(run.verdict, Verdict::Invalid | Verdict::Incomplete) {
            let word = if run.verdict == Verdict::Invalid { "not valid" } else { "incomplete" };
            cautions.push(format!("run {} is {word}: 'assay check {}' says why", run.id, run.id));
        }
    }
    cautions.extend(differences::within(sides));
    cautions
}

fn pair(first: &[Test<'_>], second: &[Test<'_>], index: usize, options: &CompareOptions) -> PairComparison {
    let mut matched: Vec<(&Test<'_>, &Test<'_>)> = Vec::new();
    let (mut left, mut right): (Vec<&Test<'_>>, Vec<&Test<'_>>) = (Vec::new(), second.iter().collect());
    for test in first {
        match right.iter().position(|other| other.name == test.name) {
            Some(at) => matched.push((test, right.remove(at))),
            None => left.push(test),
        }
    }
    // One test each under different names: the same job in two tools.
    if let ([a], [b], true) = (&left[..], &right[..], matched.is_empty()) {
        matched.push((a, b));
        (left, right) = (Vec::new(), Vec::new());
    }
    let mut tests: Vec<TestComparison> =
        matched.iter().map(|(a, b)| compare_test(a, b, options.anyway)).collect();
    let judged_together = judge_all(&mut tests, options);
    let names = |tests: &[&Test<'_>]| tests.iter().map(|test| test.name.clone()).collect();
    PairComparison {
        second: index,
        tests,
        only_first: names(&left),
        only_second: names(&right),
        judged_together,
    }
}

fn compare_test(first: &Test<'_>, second: &Test<'_>, anyway: bool) -> TestComparison {
    let not_comparable = conditions::obstacles(first, second);
    let refused = |metric: MetricKind| {
        if not_comparable.is_empty() || anyway {
            conditions::obstacle_of(metric, first, second).filter(|_| !anyway)
        } else {
            Some("not comparable".to_owned())
        }
    };
    let metrics = MetricKind::ALL.into_iter().filter_map(|metric| {
        let (a, b) = (first.values(metric)?, second.values(metric)?);
        Some(MetricComparison {
            metric,
            first_median: stats::median(&a)?,
            second_median: stats::median(&b)?,
            judgement: None,
            refused: refused(metric).unwrap_or_default(),
            units_for_margin: None,
            first: a,
            second: b,
        })
    });
    let metrics = metrics::chosen(metrics.collect());
    TestComparison {
        name: first.name.clone(),
        second_name: if first.name == second.name { String::new() } else { second.name.clone() },
        conditions: conditions::words(first),
        cautions: conditions::cautions(first, second),
        first_latency: latency_of(first),
        second_latency: latency_of(second),
        metrics,
        not_comparable,
    }
}

fn latency_of(test: &Test<'_>) -> Option<SparseHistogram> {
    let mut together = LatencyHistogram::new();
    test.jobs().for_each(|job| together.merge(&job.completion_histogram()));
    (!together.is_empty()).then(|| together.to_sparse())
}

/// Judges all figures that may be ranked, together; answers how many.
fn judge_all(tests: &mut [TestComparison], options: &CompareOptions) -> usize {
    let mut ranked: Vec<&mut MetricComparison> =
        tests.iter_mut().flat_map(|test| &mut test.metrics).filter(|m| m.refused.is_empty()).collect();
    let entry = |metric: &MetricComparison| (metric.metric.orientation(), options.margins);
    if let [one] = &mut ranked[..] {
        let (orientation, margins) = entry(one);
        one.judgement = Some(judge(&one.first, &one.second, orientation, &margins));
    } else {
        let entries: Vec<SuiteEntry<'_>> = ranked
            .iter()
            .map(|m| SuiteEntry { first: &m.first, second: &m.second, orientation: m.metric.orientation() })
            .collect();
        let judged = judge_suite(&entries, &options.margins, options.draws, options.seed);
        for (metric, judgement) in ranked.iter_mut().zip(judged) {
            metric.judgement = Some(judgement);
        }
    }
    for metric in &mut ranked {
        metric.units_for_margin = units_for_margin(&metric.first, &metric.second, &options.margins);
    }
    ranked.len()
}

/// Units on each side for 80 % power at a true difference of the margin: the formula for a two-sided t-test on
/// logarithms, divided by the efficiency of the Mann-Whitney test for normal data (3 / pi), at least as many as can be
/// significant at all.
fn units_for_margin(first: &[f64], second: &[f64], margins: &Margins) -> Option<u64> {
    let (a, b) = (stats::logs(first)?, stats::logs(second)?);
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let squares = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>()
    };
    let variance = (squares(&a) + squares(&b)) / (a.len() + b.len() - 2) as f64;
    let reach = normal_quantile(1.0 - margins.alpha / 2.0) + normal_quantile(0.8);
    let units = 2.0 * variance * (reach / margins.equivalent.ln_1p()).powi(2) * std::f64::consts::PI / 3.0;
    let least = stats::smallest_n_per_side(margins.alpha, stats::Family::Alone)? as f64;
    let units = units.ceil().max(least);
    (units.is_finite() && units < 1e6).then_some(units as u64)
}

impl MetricKind {
    /// Which direction is the good one.
    pub fn orientation(self) -> Orientation {
        match self {
            MetricKind::Iops => Orientation::HigherIsBetter,
            _ => Orientation::LowerIsBetter,
        }
    }
}
