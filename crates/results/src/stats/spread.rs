//! Judging few runs by what runs are known to differ by.

use serde::{Deserialize, Serialize};

use super::multiple::holm;
use super::student::{student_p, student_quantile};
use super::verdict::{Evidence, word};
use super::{
    CompareVerdict, Estimate, Interval95, Judgement, Margins, Orientation, Reason, logs, normal_quantile,
};

/// How far runs of one configuration lie from each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSpread {
    /// Standard deviation of one run's figure, on natural logarithms: 0.02 is about 2 %.
    pub sd: f64,
    /// Degrees of freedom of the measured runs that it was taken from: their number less that of their configurations.
    /// 0: it is assumed.
    pub measured: u64,
}

impl RunSpread {
    /// Degrees of freedom of a test with it.
    fn df(self) -> f64 {
        if self.measured == 0 { f64::INFINITY } else { self.measured as f64 }
    }
}

/// One figure of few runs a side.
#[derive(Clone, Copy, Debug)]
pub struct SpreadEntry<'a> {
    /// The runs' figures on the first side.
    pub first: &'a [f64],
    /// The runs' figures on the second side.
    pub second: &'a [f64],
    /// Which direction is the good one.
    pub orientation: Orientation,
    /// What runs are known to differ by in this figure.
    pub spread: RunSpread,
}

/// Judges figures of so few runs that ranks can show nothing: Student's t of the mean logarithms against a spread that
/// was not estimated from these means, p adjusted by Holm over all entries, so that the chance that any of them is
/// called better or worse without reason is at most `alpha` if the spread is right. The order of the rule is that of
/// [`super::judge`].
#[must_use]
pub fn judge_by_spread(entries: &[SpreadEntry<'_>], margins: &Margins) -> Vec<Judgement> {
    let seen: Vec<Option<(Estimate, f64)>> = entries.iter().map(seen).collect();
    let alone: Vec<f64> = seen.iter().flatten().map(|(_, p)| *p).collect();
    let mut adjusted = holm(&alone).into_iter();
    let family = alone.len();
    let judged = entries.iter().zip(seen).map(|(entry, seen)| {
        let p_suite = seen.as_ref().and_then(|_| adjusted.next()).filter(|_| family > 1);
        let (verdict, reason) = match &seen {
            Some((ratio, p)) => {
                let needed_per_side = runs_to_show(entry.spread.sd, shown(ratio, margins), margins);
                let weak = Reason::BetweenRuns { needed_per_side };
                let evidence = Evidence { ratio, p: *p, p_suite, weak };
                word(&evidence, entry.orientation, margins)
            }
            None => (CompareVerdict::NoEvidence, Reason::NoRatio),
        };
        Judgement {
            verdict,
            reason,
            p: seen.as_ref().map(|(_, p)| *p),
            ratio: seen.map(|(ratio, _)| ratio),
            p_suite,
            n_first: entry.first.len() as u64,
            n_second: entry.second.len() as u64,
            spread: Some(entry.spread),
            margins: *margins,
            orientation: entry.orientation,
        }
    });
    judged.collect()
}

/// The ratio of the geometric means with its 95 % interval, and p alone.
fn seen(entry: &SpreadEntry<'_>) -> Option<(Estimate, f64)> {
    let (a, b) = (logs(entry.first)?, logs(entry.second)?);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let shift = mean(&b) - mean(&a);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let error = entry.spread.sd * (1.0 / n + 1.0 / m).sqrt();
    if !(error.is_finite() && error > 0.0) {
        return None;
    }
    let reach = student_quantile(0.05, entry.spread.df()) * error;
    let interval = Interval95 { low: (shift - reach).exp(), high: (shift + reach).exp(), level: 0.95 };
    let ratio = Estimate {
        value: shift.exp(),
        n: a.len().min(b.len()) as u64,
        interval: Some(interval),
        unit: "ratio".to_owned(),
    };
    Some((ratio, student_p(shift / error, entry.spread.df())))
}

/// The difference that more runs should show: the one that was seen, or the margin where that is too small to matter.
fn shown(ratio: &Estimate, margins: &Margins) -> f64 {
    let seen = ratio.value.ln().abs();
    if seen < margins.relevant.ln_1p() { margins.equivalent.ln_1p() } else { seen }
}

/// Runs on each side with which a true difference of `shift` would be seen in 80 of 100 comparisons, the figure alone,
/// where runs have a standard deviation of `sd`, both on logarithms: the formula for a two-sided t-test, divided by the
/// efficiency of the Mann-Whitney test for normal data (3 / pi), at least as many as can be significant at all. `None`
/// for a million or more.
#[must_use]
pub fn runs_to_show(sd: f64, shift: f64, margins: &Margins) -> Option<u64> {
    let reach = normal_quantile(1.0 - margins.alpha / 2.0) + normal_quantile(0.8);
    let runs = 2.0 * (sd * reach / shift).powi(2) * std::f64::consts::PI / 3.0;
    let least = super::smallest_n_per_side(margins.alpha, super::Family::Alone)? as f64;
    let runs = runs.ceil().max(least);
    (runs.is_finite() && runs < 1e6).then_some(runs as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;
    use assay_workload::rng::Rng;

    const MEASURED: RunSpread = RunSpread { sd: 0.02, measured: 9 };

    fn one(first: f64, second: f64, spread: RunSpread) -> Judgement {
        let entry = SpreadEntry {
            first: &[first],
            second: &[second],
            orientation: Orientation::HigherIsBetter,
            spread,
        };
        judge_by_spread(&[entry], &Margins::default()).remove(0)
    }

    #[test]
    fn a_single_run_is_judged_by_what_runs_differ_by() {
        // By hand: 2.262 * 0.02 * sqrt 2 = 0.0640 on logarithms, that is 6.6 %.
        assert_eq!(one(1000.0, 1067.0, MEASURED).verdict, CompareVerdict::Better);
        let close = one(1000.0, 1065.0, MEASURED);
        // 2 (1.96 + 0.84)^2 (0.02 / 0.063)^2 1.047 = 1.7, but three against three can never be significant.
        assert_eq!(close.reason, Reason::BetweenRuns { needed_per_side: Some(4) });
        let interval = close.ratio.unwrap().interval.unwrap();
        assert!((interval.low - 1.065 / 0.064_f64.exp()).abs() < 1e-4, "{interval:?}");
        // Assumed: 1.960 * 0.1 * sqrt 2 = 0.277, a third more.
        let assumed = RunSpread { sd: 0.1, measured: 0 };
        assert_eq!(one(1000.0, 1330.0, assumed).verdict, CompareVerdict::Better);
        assert_eq!(one(1000.0, 750.0, assumed).verdict, CompareVerdict::Worse, "1/0.75 is 1.333");
        assert_eq!(one(1000.0, 1310.0, assumed).verdict, CompareVerdict::NoEvidence);
        // About 69 runs for 5 % at a deviation of 10 %.
        let same = one(1000.0, 1001.0, assumed).reason;
        assert_eq!(same, Reason::BetweenRuns { needed_per_side: Some(70) });
        let tight = RunSpread { sd: 0.005, measured: 9 };
        assert_eq!(one(1000.0, 1001.0, tight).verdict, CompareVerdict::Equivalent);
        assert_eq!(one(0.0, 1.0, tight).reason, Reason::NoRatio);
    }

    #[test]
    fn more_figures_take_more() {
        let entry = |second: &'static [f64]| SpreadEntry {
            first: &[1000.0],
            second,
            orientation: Orientation::HigherIsBetter,
            spread: MEASURED,
        };
        let mut entries = vec![entry(&[1070.0])];
        entries.extend(std::iter::repeat_n(entry(&[1000.0]), 9));
        let judged = judge_by_spread(&entries, &Margins::default());
        assert_eq!((judged[0].verdict, judged[0].reason), (CompareVerdict::NoEvidence, Reason::OnlyAlone));
        assert!(judged[0].p.unwrap() < 0.05 && judged[0].p_suite.unwrap() > 0.05);
    }

    #[test]
    fn false_alarms_are_as_rare_as_stated_whatever_the_history() {
        let mut rng = Rng::new(11);
        for (earlier, runs) in [(5, 1), (10, 1), (5, 3)] {
            let trials = 4_000;
            let alarms = (0..trials)
                .filter(|_| {
                    let mut draw = |n: usize| (0..n).map(|_| (0.02 * rng.normal()).exp()).collect::<Vec<_>>();
                    let known = logs(&draw(earlier)).unwrap();
                    let mean = known.iter().sum::<f64>() / earlier as f64;
                    let squares = known.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
                    let df = earlier as u64 - 1;
                    let spread = RunSpread { sd: (squares / df as f64).sqrt(), measured: df };
                    let (a, b) = (draw(runs), draw(runs));
                    let entry = SpreadEntry {
                        first: &a,
                        second: &b,
                        orientation: Orientation::LowerIsBetter,
                        spread,
                    };
                    judge_by_spread(&[entry], &Margins::default())[0].p.unwrap() <= 0.05
                })
                .count() as u64;
            let place = binomial_cdf(alarms, trials, 0.05);
            assert!((1e-4..1.0 - 1e-4).contains(&place), "{earlier} {runs}: {alarms} of {trials}");
        }
    }
}
