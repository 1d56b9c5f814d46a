//! The words of a comparison: better, worse, equivalent, no evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::multiple::{Family, smallest_n_per_side};
use super::permutation::{TwoSamples, max_t};
use super::special::choose;
use super::{Estimate, Interval95, RunSpread, logs, mann_whitney, ratio_of};

/// Which direction of a metric is the good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Orientation {
    /// IOPS, bandwidth, transactions.
    HigherIsBetter,
    /// Completion latency, response time, CPU time per I/O.
    LowerIsBetter,
}

impl Orientation {
    /// +1 where higher is better, -1 where lower is.
    #[must_use]
    pub fn sign(self) -> f64 {
        match self {
            Self::HigherIsBetter => 1.0,
            Self::LowerIsBetter => -1.0,
        }
    }
}

/// What counts as a difference. Relative, and symmetric on the ratio: 0.05 is from 1/1.05 to 1.05.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Margins {
    /// Two sides are equivalent when the whole interval is within this.
    pub equivalent: f64,
    /// A significant difference smaller than this is not worth a word.
    pub relevant: f64,
    /// Share of false alarms accepted; in a suite, for the suite as a whole.
    pub alpha: f64,
}

impl Default for Margins {
    /// Equivalent within 5 %, differences from 2 %, 5 % false alarms.
    fn default() -> Self {
        Self { equivalent: 0.05, relevant: 0.02, alpha: 0.05 }
    }
}

/// What a comparison found, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CompareVerdict {
    /// The second side is better.
    Better,
    /// The second side is worse.
    Worse,
    /// Shown to differ by less than the margin.
    Equivalent,
    /// Neither a difference nor equivalence is shown.
    NoEvidence,
}

impl fmt::Display for CompareVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::NoEvidence => "no evidence",
        })
    }
}

/// Why the verdict is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// Significant, and at least the relevant size.
    Significant,
    /// The whole interval is within the equivalence margin.
    InsideMargin {
        /// True when the difference is nevertheless significant: real, but small.
        significant: bool,
    },
    /// Not significant, and the interval reaches beyond the margin: more runs or less noise are needed.
    NotSignificant,
    /// Significant alone, but not among all the tests of the suite.
    OnlyAlone,
    /// Significant, but smaller than the relevant size, while the interval reaches beyond the margin.
    BelowRelevant,
    /// So few runs that no data could have been significant.
    TooFewRuns {
        /// Runs needed on each side before anything can be.
        needed_per_side: u64,
    },
    /// Not more than runs of one configuration are known, or assumed, to differ by.
    BetweenRuns {
        /// Runs on each side with which a difference as large as the one seen would show (as large as the equivalence
        /// margin, where it is below the relevant size), 80 times of 100; `None`: too many to say.
        needed_per_side: Option<u64>,
    },
    /// A side is empty, or has a value that is not positive and finite: there is no ratio.
    NoRatio,
}

/// One metric of two sides, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The word.
    pub verdict: CompareVerdict,
    /// Why.
    pub reason: Reason,
    /// Second side over first with its interval: Hodges-Lehmann on logarithms, of geometric means where `spread` is
    /// there; `None` where there is no ratio.
    pub ratio: Option<Estimate>,
    /// Two-sided p of this comparison alone: exact Mann-Whitney, Student's t where `spread` is there.
    pub p: Option<f64>,
    /// p adjusted for all the tests of the suite: max-T, Holm where `spread` is there; `None` outside a suite.
    pub p_suite: Option<f64>,
    /// Runs on the first side.
    pub n_first: u64,
    /// Runs on the second side.
    pub n_second: u64,
    /// What runs were taken to differ by, where they are too few to show it themselves by their ranks.
    pub spread: Option<RunSpread>,
    /// What counted as a difference.
    pub margins: Margins,
    /// Which direction was the good one.
    pub orientation: Orientation,
}

impl Judgement {
    /// One line for people: the word, the difference with its interval, and what is missing.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Some(ratio) = &self.ratio else {
            return format!("{}: a side is empty or has values that are not positive", self.verdict);
        };
        let percent = |r: f64| format!("{:+.1} %", 100.0 * (r - 1.0));
        let interval = ratio.interval.map_or_else(
            || "no interval".to_owned(),
            |i| format!("{:.1} % interval {} to {}", 100.0 * i.level, percent(i.low), percent(i.high)),
        );
        let p = match (self.p_suite, self.p) {
            (Some(p), _) => format!(", p {p:.4} in its suite"),
            (None, Some(p)) => format!(", p {p:.4}"),
            (None, None) => String::new(),
        };
        let margin = 100.0 * self.margins.equivalent;
        let why = match self.reason {
            Reason::Significant => String::new(),
            Reason::InsideMargin { significant: false } => format!("; within {margin} %"),
            Reason::InsideMargin { significant: true } => {
                format!("; a real difference, but within {margin} %")
            }
            Reason::NotSignificant => "; the runs scatter too much for so few of them".to_owned(),
            Reason::OnlyAlone => "; significant alone, but not among all tests of the suite".to_owned(),
            Reason::BelowRelevant => format!("; real, but below {} %", 100.0 * self.margins.relevant),
            Reason::TooFewRuns { needed_per_side } => {
                format!("; too few runs for any, {needed_per_side} on each side can show one")
            }
            Reason::BetweenRuns { .. } => "; not more than runs differ by".to_owned(),
            Reason::NoRatio => String::new(),
        };
        let (n, m) = (self.n_first, self.n_second);
        format!("{}: {} ({interval}{p}, {n} against {m} runs){why}", self.verdict, percent(ratio.value))
    }
}

/// Judges one metric: is `second` better than `first`?
///
/// The rule, in this order:
/// 1. *equivalent* if the 95 % interval of the ratio lies within the equivalence margin (two one-sided tests at
///    2.5 %, Schuirmann 1987), even where the difference is significant;
/// 2. *no evidence* if so few runs could not have reached `alpha` with any data; says how many could;
/// 3. *better* or *worse* if p is at most `alpha`, the interval excludes "no change", and the estimated
///    difference is at least the relevant one;
/// 4. *no evidence* otherwise.
#[must_use]
pub fn judge(first: &[f64], second: &[f64], orientation: Orientation, margins: &Margins) -> Judgement {
    decide(first, second, orientation, margins, None)
}

/// One test of a suite: the runs of two sides, and which direction is the good one.
#[derive(Clone, Copy, Debug)]
pub struct SuiteEntry<'a> {
    /// Figures of the first side, in order of the passes.
    pub first: &'a [f64],
    /// Figures of the second side, in order of the passes.
    pub second: &'a [f64],
    /// Which direction is the good one.
    pub orientation: Orientation,
}

/// Judges all tests of a suite, as [`judge`] with the significance of each adjusted for all of them: the chance
/// that any of them is called better or worse without reason is at most `alpha`.
///
/// Uses [`max_t`] on logarithms with `draws` relabellings (where there are too many to visit) and this seed.
/// Tests without a ratio are left out of the family. Equivalence is judged test by test, without adjustment:
/// a false "equivalent" needs a true difference beyond the margin, and its chance is 2.5 % for each such test.
#[must_use]
pub fn judge_suite(entries: &[SuiteEntry<'_>], margins: &Margins, draws: usize, seed: u64) -> Vec<Judgement> {
    let in_logs: Vec<Option<(Vec<f64>, Vec<f64>)>> =
        entries.iter().map(|entry| logs(entry.first).zip(logs(entry.second))).collect();
    let family: Vec<TwoSamples<'_>> = in_logs.iter().flatten().map(|(a, b)| TwoSamples { a, b }).collect();
    let mut adjusted = max_t(&family, draws, seed).map(|result| result.p).unwrap_or_default().into_iter();
    entries
        .iter()
        .zip(&in_logs)
        .map(|(entry, usable)| {
            let p_suite = usable.as_ref().and_then(|_| adjusted.next());
            decide(entry.first, entry.second, entry.orientation, margins, p_suite)
        })
        .collect()
}

fn decide(
    first: &[f64],
    second: &[f64],
    orientation: Orientation,
    margins: &Margins,
    p_suite: Option<f64>,
) -> Judgement {
    let ratio = ratio_of(first, second);
    let p = mann_whitney(first, second).map(|test| test.p);
    let (verdict, reason) = match (&ratio, p) {
        (Some(ratio), Some(p)) => {
            let weak = match too_few(first.len(), second.len(), margins) {
                Some(needed_per_side) => Reason::TooFewRuns { needed_per_side },
                None => Reason::NotSignificant,
            };
            word(&Evidence { ratio, p, p_suite, weak }, orientation, margins)
        }
        _ => (CompareVerdict::NoEvidence, Reason::NoRatio),
    };
    Judgement {
        verdict,
        reason,
        ratio,
        p,
        p_suite,
        n_first: first.len() as u64,
        n_second: second.len() as u64,
        spread: None,
        margins: *margins,
        orientation,
    }
}

/// Where no ranks of so many runs could be significant at `alpha`: how many runs a side could.
pub(crate) fn too_few(n: usize, m: usize, margins: &Margins) -> Option<u64> {
    if 2.0 / choose(n + m, n) <= margins.alpha * (1.0 + 1e-12) {
        return None;
    }
    Some(smallest_n_per_side(margins.alpha, Family::Alone).unwrap_or(usize::MAX) as u64)
}

/// What a verdict rests on.
pub(super) struct Evidence<'e> {
    pub(super) ratio: &'e Estimate,
    pub(super) p: f64,
    pub(super) p_suite: Option<f64>,
    /// Why there is no evidence, where it is not significant even alone.
    pub(super) weak: Reason,
}

/// The rule of [`judge`].
pub(super) fn word(
    evidence: &Evidence<'_>,
    orientation: Orientation,
    margins: &Margins,
) -> (CompareVerdict, Reason) {
    let Evidence { ratio, p, p_suite, weak } = evidence;
    let excludes_one = |i: Interval95| i.reaches_95() && !i.contains(1.0);
    let alone = *p <= margins.alpha && ratio.interval.is_some_and(excludes_one);
    let significant = alone && p_suite.is_none_or(|p| p <= margins.alpha);
    if ratio.interval.is_some_and(|i| i.shows_equivalence(margins.equivalent)) {
        return (CompareVerdict::Equivalent, Reason::InsideMargin { significant });
    }
    if !significant {
        return (CompareVerdict::NoEvidence, if alone { Reason::OnlyAlone } else { *weak });
    }
    let shift = ratio.value.ln() * orientation.sign();
    if shift.abs() < margins.relevant.ln_1p() {
        return (CompareVerdict::NoEvidence, Reason::BelowRelevant);
    }
    (if shift > 0.0 { CompareVerdict::Better } else { CompareVerdict::Worse }, Reason::Significant)
}

#[cfg(test)]
mod tests;
