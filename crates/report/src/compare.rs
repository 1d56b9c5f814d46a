//! A comparison in the words that all renderers share.

use assay_results::Verdict;
use assay_results::compare::{
    Comparison, Difference, MetricComparison, PairComparison, SideBrief, TestComparison,
};
use assay_results::stats::{CompareVerdict, Judgement, Reason, RunSpread};

use crate::format;

/// Lines of plans that are told where room is short; the others are counted.
pub(crate) const PLAN_LINES_MAX: usize = 12;

/// One figure as a row: what every renderer shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) label: &'static str,
    pub(crate) first: String,
    pub(crate) second: String,
    /// Second against first in per cent, with its sign.
    pub(crate) change: String,
    pub(crate) interval: String,
    pub(crate) p: String,
    /// The verdict in a word; `None`: not ranked.
    pub(crate) word: Option<CompareVerdict>,
    pub(crate) why: String,
}

impl Row {
    /// The verdict, or that there is none.
    pub(crate) fn word_text(&self) -> String {
        self.word.map_or_else(|| "not ranked".to_owned(), |word| word.to_string())
    }
}

/// The row of a figure.
pub(crate) fn row(metric: &MetricComparison) -> Row {
    let value = |v: f64| if metric.metric.unit() == "ns" { format::time_ns(v) } else { format::iops(v) };
    let judgement = metric.judgement.as_ref();
    let ratio = judgement.and_then(|judgement| judgement.ratio.as_ref());
    let plain = metric.second_median / metric.first_median;
    Row {
        label: metric.metric.label(),
        first: value(metric.first_median),
        second: value(metric.second_median),
        change: change(ratio.map_or(plain, |ratio| ratio.value)),
        interval: ratio.and_then(|ratio| ratio.interval).map_or_else(String::new, |i| {
            let level = if i.reaches_95() { String::new() } else { format!(" ({:.0} %)", i.level * 100.0) };
            format!("{} to {}{level}", change(i.low), change(i.high))
        }),
        p: judgement.and_then(|j| j.p_suite.or(j.p)).map_or_else(String::new, p_value),
        word: judgement.map(|judgement| judgement.verdict),
        why: judgement.map_or_else(|| metric.refused.clone(), |judgement| why(judgement, metric)),
    }
}

/// `+6.5 %` of a ratio.
fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return format::NOTHING.to_owned();
    }
    if ratio >= 10.0 {
        return format!("x {}", format::significant(ratio));
    }
    let percent = (ratio - 1.0) * 100.0;
    // No sign before a zero.
    if percent.abs() < 0.05 { "0.0 %".to_owned() } else { format!("{percent:+.1} %") }
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

fn why(judgement: &Judgement, metric: &MetricComparison) -> String {
    let margin = share(judgement.margins.equivalent);
    let many = metric.runs_for_margin.map(|n| format!("{n} runs per side would show {margin}"));
    let more = many.map_or_else(String::new, |words| format!("; about {words}"));
    match judgement.reason {
        Reason::Significant | Reason::InsideMargin { significant: false } => String::new(),
        Reason::InsideMargin { significant: true } => format!("a real difference, but within {margin}"),
        Reason::NotSignificant => format!("too much run-to-run variation{more}"),
        Reason::OnlyAlone => format!("significant on its own, not among all figures{more}"),
        Reason::BelowRelevant => {
            format!("real, but below {}", share(judgement.margins.relevant))
        }
        Reason::TooFewRuns { needed_per_side } => format!(
            "{} against {} runs cannot show a difference; {needed_per_side} per side can",
            judgement.n_first, judgement.n_second
        ),
        Reason::BetweenRuns { needed_per_side } => {
            let undecided = "inconclusive: within run-to-run variation";
            match needed_per_side {
                Some(n) => format!(
                    "{undecided}; detecting a difference this small would take about {} runs per side",
                    format::count(n)
                ),
                None => undecided.to_owned(),
            }
        }
        Reason::NoRatio => "a value is not positive".to_owned(),
    }
}

/// A share that somebody chose: `5 %`, `2.5 %`.
fn share(value: f64) -> String {
    format!("{} %", (value * 1e4).round() / 1e2)
}

/// What few runs were judged by, why figures got no verdict, and how many runs would do: a sentence each.
pub(crate) fn shortfalls(pair: &PairComparison) -> Vec<String> {
    let metrics = pair.tests.iter().flat_map(|test| &test.metrics);
    let judged: Vec<(&MetricComparison, &Judgement)> =
        metrics.filter_map(|metric| Some((metric, metric.judgement.as_ref()?))).collect();
    let mut sentences: Vec<String> = Vec::new();
    sentences.extend(taken_instead(&judged));
    let scattered: Vec<&(&MetricComparison, &Judgement)> = judged
        .iter()
        .filter(|(_, j)| j.spread.is_none() && matches!(j.reason, Reason::NotSignificant | Reason::OnlyAlone))
        .collect();
    let needed = || scattered.iter().filter_map(|(metric, _)| metric.runs_for_margin);
    if let (Some(range), Some((_, one))) = (range(needed()), scattered.first()) {
        sentences.push(format!(
            "{} vary too much for so few runs: about {range} per side would show a difference of {}, depending on the figure \
             (80 % power, each figure on its own)",
            format::plural(scattered.len() as u64, "figure"),
            share(one.margins.equivalent)
        ));
    }
    sentences
}

/// What stands for the scatter of runs where they are too few to show it.
fn taken_instead(judged: &[(&MetricComparison, &Judgement)]) -> Option<String> {
    let spreads: Vec<RunSpread> = judged.iter().filter_map(|(_, judgement)| judgement.spread).collect();
    let one = judged.iter().find(|(_, judgement)| judgement.spread.is_some())?.1;
    let sd = |pick: fn(f64, f64) -> f64| spreads.iter().map(|s| s.sd.exp_m1()).reduce(pick).unwrap_or(0.0);
    let (low, high) = (share_of(sd(f64::min)), share_of(sd(f64::max)));
    let by = if low == high { low } else { format!("{low} to {high} by figure") };
    let assumed = spreads.iter().filter(|spread| spread.measured == 0).count();
    let source = match assumed {
        0 => "taken from stored runs of the same configuration".to_owned(),
        n if n == spreads.len() => {
            "assumed; five stored runs of the same configuration would show it".to_owned()
        }
        n => format!(
            "taken from stored runs of the same configuration, and assumed for {}",
            format::plural(n as u64, "figure")
        ),
    };
    let counts = format!("{} against {}", format::plural(one.n_first, "run"), one.n_second);
    let mut sentence =
        format!("{counts} cannot show run-to-run variation: a standard deviation of {by} is {source}");
    let undecided = || {
        judged.iter().filter_map(|(_, judgement)| match judgement.reason {
            Reason::BetweenRuns { needed_per_side } => Some(needed_per_side),
            _ => None,
        })
    };
    let count = undecided().count() as u64;
    if let (true, Some(range)) = (count > 0, range(undecided().flatten())) {
        sentence.push_str(&format!(
            ". {} inconclusive: detecting differences this small would take about {range} runs \
             per side (80 % power, each figure on its own)",
            format::plural(count, "figure")
        ));
    }
    Some(sentence)
}

/// `4`, or `4 to 69`.
fn range(counts: impl Iterator<Item = u64> + Clone) -> Option<String> {
    let (least, most) = (counts.clone().min()?, counts.max()?);
    Some(if least == most {
        format::count(least)
    } else {
        format!("{} to {}", format::count(least), format::count(most))
    })
}

/// A share that was measured, in per cent with two figures.
fn share_of(value: f64) -> String {
    format!(
        "{} %",
        if value < 0.1 { format!("{:.1}", value * 100.0) } else { format!("{:.0}", value * 100.0) }
    )
}

/// The letter of a side: A for the first.
pub(crate) fn letter(index: usize) -> String {
    char::from_u32('A' as u32 + index as u32 % 26).map(String::from).unwrap_or_default()
}

/// One side in words, without its letter.
pub(crate) fn side(side: &SideBrief) -> String {
    let ids: Vec<&str> = side.runs.iter().map(|run| run.id.as_str()).collect();
    let mut names: Vec<&str> = side.runs.iter().map(|run| run.name.as_str()).collect();
    names.dedup();
    let mut parts = vec![format!("{} ({})", names.join(", "), ids.join(" "))];
    if let Some(first) = side.runs.first() {
        parts.push(first.started.clone());
        if !first.host.is_empty() {
            parts.push(format!("host {}", first.host));
        }
    }
    parts.push(format::plural(side.runs.len() as u64, "run"));
    if side.repetitions > side.runs.len() as u64 {
        parts.push(format::plural(side.repetitions, "repetition"));
    }
    for verdict in [Verdict::Invalid, Verdict::Incomplete, Verdict::Suspect] {
        let runs = side.runs.iter().filter(|run| run.verdict == verdict).count();
        let word = verdict.word();
        match (runs, side.runs.len()) {
            (0, _) => {}
            (1, 1) => parts.push(word.to_owned()),
            (runs, all) => parts.push(format!("{runs} of {all} {word}")),
        }
    }
    parts.join(", ")
}

/// A setting's name and its values, `A → B`.
pub(crate) fn difference(difference: &Difference) -> (String, String) {
    let bytes = difference.name.ends_with("_bytes");
    let name = difference.name.trim_end_matches("_bytes").replace('_', " ");
    let value = |text: &String| match (text.as_str(), text.parse::<u64>()) {
        ("", _) => "not known".to_owned(),
        (_, Ok(n)) if bytes => format::bytes(n),
        _ => text.clone(),
    };
    let values: Vec<String> = difference.values.iter().map(value).collect();
    (name, values.join(" → "))
}

/// What came out of a pair, in a line.
pub(crate) fn outcome(pair: &PairComparison) -> String {
    let count = |word: CompareVerdict| {
        let metrics = pair.tests.iter().flat_map(|test| &test.metrics);
        let judgements = metrics.filter_map(|metric| metric.judgement.as_ref());
        judgements.filter(|judgement| judgement.verdict == word).count()
    };
    let shown = [CompareVerdict::Worse, CompareVerdict::Better, CompareVerdict::Equivalent];
    let undecided = count(CompareVerdict::NoEvidence);
    let all = pair.judged_together;
    let mut counts: Vec<(usize, String)> =
        shown.into_iter().map(|word| (count(word), word.to_string())).filter(|(n, _)| *n > 0).collect();
    let mut parts = Vec::new();
    if counts.is_empty() {
        parts.push(match (all, undecided) {
            (_, 0) => "nothing was ranked".to_owned(),
            (1, _) => "no evidence of a difference in the only figure".to_owned(),
            (all, _) => format!("no evidence of a difference in any of the {all} figures"),
        });
    } else {
        counts.extend((undecided > 0).then(|| (undecided, "without evidence of a difference".to_owned())));
        let of_all = format!("of {} ", format::plural(all as u64, "figure"));
        let words = counts
            .iter()
            .enumerate()
            .map(|(place, (n, word))| format!("{n} {}{word}", if place == 0 { of_all.as_str() } else { "" }));
        parts.push(words.collect::<Vec<_>>().join(", "));
    }
    let refused = pair.tests.iter().filter(|test| !test.not_comparable.is_empty()).count();
    if refused > 0 {
        parts.push(format!("{} not comparable", format::plural(refused as u64, "test")));
    }
    let ranked = |test: &&TestComparison| test.metrics.iter().any(|metric| metric.judgement.is_some());
    let doubted = pair.tests.iter().filter(ranked).filter(|test| !test.cautions.is_empty()).count();
    if doubted > 0 {
        parts.push(format!("cautions apply to {}", format::plural(doubted as u64, "test")));
    }
    parts.join("; ")
}

/// What the words and figures mean here, a sentence each.
pub(crate) fn legend(comparison: &Comparison) -> Vec<String> {
    let margins = comparison.margins;
    let margin = share(margins.equivalent);
    let few = comparison.judgements().any(|judgement| judgement.spread.is_some());
    let (change, family) = if few {
        (
            "a change is the ratio of geometric means, its interval by Student's t and the run-to-run variation (95 %)",
            "Holm",
        )
    } else {
        (
            "a change is the Hodges-Lehmann estimate on logarithms, with the interval that inverts the exact \
             Mann-Whitney test (95 %, or as stated)",
            "max-T by permutation of whole runs",
        )
    };
    vec![
        format!(
            "The unit is the run, its value the median of its repetitions. Figures are medians over the runs; {change}."
        ),
        format!(
            "better, worse: significant at {} among all figures judged together ({family}), the interval excludes no change, and the change is at least {}. equivalent: the whole interval is within \
             {margin}. no evidence: neither is shown, which is not the same as no difference.",
            share(margins.alpha),
            share(margins.relevant)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use assay_results::compare::RunBrief;

    use super::*;

    #[test]
    fn changes_have_their_sign() {
        assert_eq!([1.065, 0.9, 1.0001, 12.0].map(change), ["+6.5 %", "-10.0 %", "0.0 %", "x 12.0"]);
        assert_eq!(change(f64::NAN), format::NOTHING);
        assert_eq!([0.0004, 0.0079].map(p_value), ["<0.001", "0.008"]);
    }

    #[test]
    fn a_side_says_how_many_of_its_runs_are_what() {
        let run = |verdict| RunBrief {
            id: "5a".to_owned(),
            name: "reads".to_owned(),
            started: "today".to_owned(),
            host: String::new(),
            verdict,
        };
        let words = |verdicts: &[Verdict]| {
            let runs = verdicts.iter().copied().map(run).collect();
            side(&SideBrief { name: String::new(), runs, repetitions: 0 })
        };
        assert_eq!(words(&[Verdict::Suspect]), "reads (5a), today, 1 run, suspect");
        assert_eq!(
            words(&[Verdict::Suspect, Verdict::Valid, Verdict::Suspect, Verdict::Invalid]),
            "reads (5a 5a 5a 5a), today, 4 runs, 1 of 4 invalid, 2 of 4 suspect"
        );
        assert_eq!(words(&[Verdict::Valid; 2]), "reads (5a 5a), today, 2 runs");
    }

    #[test]
    fn settings_are_told_for_people() {
        let memory = Difference {
            name: "machine memory total_bytes".to_owned(),
            values: vec!["1073741824".to_owned(), String::new()],
        };
        assert_eq!(difference(&memory), ("machine memory total".to_owned(), "1 GiB → not known".to_owned()));
    }
}
