//! Two results side by side: what differs in how they were made, and what the numbers then show.
//!
//! Pure: runs go in, a [`Comparison`] comes out, and every renderer shows the same. Configurations are compared
//! first; tests whose conditions differ in a way that makes a difference of the numbers meaningless are not ranked.
//! The unit is the run, and its value the median of its repetitions: repetitions within a run share what changes from
//! run to run, and reporting intervals depend on their neighbours. Where the runs are enough the rule behind the words is
//! [`stats::judge`]; where they are not it is [`stats::judge_by_spread`] with what runs are `known` to differ by.

mod conditions;
mod differences;
#[cfg(test)]
mod evidence;
mod known;
mod metrics;
#[cfg(test)]
mod tests;
mod units;

use serde::{Deserialize, Serialize};

pub use self::differences::Difference;
pub use self::known::{alike, wants_history};
pub use self::metrics::MetricKind;
pub(crate) use self::units::{Repetition, tests_of_run};
use self::units::{Test, tests_of};
use crate::histogram::{LatencyHistogram, SparseHistogram};
use crate::run::{Run, Verdict};
use crate::stats::{
    self, CompareVerdict, Judgement, Margins, Orientation, SpreadEntry, SuiteEntry, judge, judge_by_spread,
    judge_suite,
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
    /// Other runs of the same configuration. Only how far runs lie from each other is taken from them.
    pub history: Vec<&'r Run>,
}

impl<'r> Side<'r> {
    /// A side that has only its runs.
    pub fn new(name: impl Into<String>, runs: Vec<&'r Run>) -> Self {
        Side { name: name.into(), runs, history: Vec::new() }
    }
}

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// What counts as a difference.
    pub margins: Margins,
    /// Rank what is not comparable, too.
    pub anyway: bool,
    /// Random relabellings where there are too many to visit them all.
    pub draws: usize,
    /// Seed of these.
    pub seed: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions { margins: Margins::default(), anyway: false, draws: 4_999, seed: 1 }
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideBrief {
    /// What the user called it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunBrief>,
    /// Repetitions of the test that has most, in all runs together.
    pub repetitions: u64,
}

/// One figure of one test on two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricComparison {
    /// Which figure.
    pub metric: MetricKind,
    /// One value for each run of the first side, the median of its repetitions; nanoseconds or operations a second,
    /// see [`MetricKind::unit`].
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
    /// Runs on each side with which a true difference as large as the margin would be seen in 80 of 100 comparisons, the
    /// figure alone, at the spread seen here, or known or assumed where that cannot be seen; `None`: too many to say.
    pub runs_for_margin: Option<u64>,
}

/// One test on two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Latencies of all runs of the first side together, where they were stored.
    pub first_latency: Option<SparseHistogram>,
    /// The same of the second side.
    pub second_latency: Option<SparseHistogram>,
}

/// One side against the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: String,
    /// What counted as a difference.
    pub margins: Margins,
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

    /// Tests of which no figure got a word.
    pub fn unranked(&self) -> usize {
        let tests = self.pairs.iter().flat_map(|pair| &pair.tests);
        tests.filter(|test| test.metrics.iter().all(|metric| metric.judgement.is_none())).count()
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
    let tests: Vec<Vec<Test<'_>>> = sides.iter().map(|side| tests_of(&side.runs)).collect();
    if let Some(at) = tests.iter().position(Vec::is_empty) {
        return Err(CompareError::NothingMeasured(sides[at].name.clone()));
    }
    let briefs = sides.iter().zip(&tests).map(|(side, tests)| brief(side, tests));
    let pairs = (1..sides.len()).map(|second| {
        let known = known::groups(&sides[0], &sides[second]);
        pair(&tests[0], &tests[second], second, &known, options)
    });
    Ok(Comparison {
        schema: SCHEMA.to_owned(),
        margins: options.margins,
        sides: briefs.collect(),
        differences: differences::settings(sides),
        plan_differences: differences::plans(sides),
        cautions: cautions(sides),
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
        repetitions: tests.iter().map(|test| test.repetitions().count()).max().unwrap_or(0) as u64,
    }
}

fn cautions(sides: &[Side<'_>]) -> Vec<String> {
    let mut cautions = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for run in sides.iter().flat_map(|side| &side.runs) {
        if seen.contains(&run.id.as_str()) {
            cautions.push(format!("run {} occurs more than once", run.id));
        }
        seen.push(&run.id);
        // Whether a figure is valid is said of that figure.
        if run.verdict == Verdict::Incomplete {
            cautions.push(format!("run {} is incomplete: 'assay check {}' says why", run.id, run.id));
        }
    }
    cautions.extend(differences::within(sides));
    cautions
}

/// The tests of one side against those of the first, `known` being other runs of their configurations.
fn pair(
    first: &[Test<'_>],
    second: &[Test<'_>],
    index: usize,
    known: &[Vec<Test<'_>>; 2],
    options: &CompareOptions,
) -> PairComparison {
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
    let judged_together = judge_all(&mut tests, &matched, known, options);
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
            runs_for_margin: None,
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
fn judge_all(
    tests: &mut [TestComparison],
    sources: &[(&Test<'_>, &Test<'_>)],
    known: &[Vec<Test<'_>>; 2],
    options: &CompareOptions,
) -> usize {
    let figures = tests.iter_mut().zip(sources);
    let figures =
        figures.flat_map(|(test, source)| test.metrics.iter_mut().map(move |metric| (metric, source)));
    let mut ranked: Vec<(&mut MetricComparison, _)> =
        figures.filter(|(metric, _)| metric.refused.is_empty()).collect();
    let few =
        |m: &MetricComparison| stats::too_few(m.first.len(), m.second.len(), &options.margins).is_some();
    let judged = if ranked.iter().any(|(metric, _)| few(metric)) {
        let entries: Vec<SpreadEntry<'_>> = ranked
            .iter()
            .map(|(m, (a, b))| SpreadEntry {
                first: &m.first,
                second: &m.second,
                orientation: m.metric.orientation(),
                spread: known::spread(m.metric, [a, b], known),
            })
            .collect();
        judge_by_spread(&entries, &options.margins)
    } else {
        let figures: Vec<&MetricComparison> = ranked.iter().map(|(metric, _)| &**metric).collect();
        judge_by_ranks(&figures, options)
    };
    for ((metric, _), judgement) in ranked.iter_mut().zip(judged) {
        metric.runs_for_margin = runs_for_margin(metric, &judgement, &options.margins);
        metric.judgement = Some(judgement);
    }
    ranked.len()
}

fn judge_by_ranks(figures: &[&MetricComparison], options: &CompareOptions) -> Vec<Judgement> {
    if let [m] = figures {
        return vec![judge(&m.first, &m.second, m.metric.orientation(), &options.margins)];
    }
    let entries: Vec<SuiteEntry<'_>> = figures
        .iter()
        .map(|m| SuiteEntry { first: &m.first, second: &m.second, orientation: m.metric.orientation() })
        .collect();
    judge_suite(&entries, &options.margins, options.draws, options.seed)
}

fn runs_for_margin(metric: &MetricComparison, judgement: &Judgement, margins: &Margins) -> Option<u64> {
    let sd = match judgement.spread {
        Some(spread) => spread.sd,
        None => {
            let (a, b) = (stats::logs(&metric.first)?, stats::logs(&metric.second)?);
            let squares = known::squares_of(&a) + known::squares_of(&b);
            (squares / (a.len() + b.len() - 2) as f64).sqrt()
        }
    };
    stats::runs_to_show(sd, margins.equivalent.ln_1p(), margins)
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
