//! A comparison in the words that all renderers share.

use assay_results::compare::{Comparison, Difference, MetricComparison, PairComparison, SideBrief, Unit};
use assay_results::stats::{CompareVerdict, Judgement, Reason};

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

/// The row of a figure; `units` is what repetitions are called in the plural.
pub(crate) fn row(metric: &MetricComparison, unit: Unit) -> Row {
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
        why: judgement.map_or_else(|| metric.refused.clone(), |judgement| why(judgement, metric, unit)),
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

fn why(judgement: &Judgement, metric: &MetricComparison, unit: Unit) -> String {
    let margin = share(judgement.margins.equivalent);
    let many = metric.units_for_margin.map(|n| format!("{n} {} a side would show {margin}", units(unit)));
    let more = many.map_or_else(String::new, |words| format!("; about {words}"));
    match judgement.reason {
        Reason::Significant | Reason::InsideMargin { significant: false } => String::new(),
        Reason::InsideMargin { significant: true } => format!("a real difference, but within {margin}"),
        Reason::NotSignificant => format!("too much scatter{more}"),
        Reason::OnlyAlone => format!("significant alone, not among all figures{more}"),
        Reason::BelowRelevant => {
            format!("real, but below {}", share(judgement.margins.relevant))
        }
        Reason::TooFewRuns { needed_per_side } => format!(
            "{} against {} cannot show any; {needed_per_side} a side can",
            judgement.n_first, judgement.n_second
        ),
        Reason::NoRatio => "a value is not positive".to_owned(),
    }
}

/// A share that somebody chose: `5 %`, `2.5 %`.
fn share(value: f64) -> String {
    format!("{} %", (value * 1e4).round() / 1e2)
}

/// Why figures got no verdict, and how many repetitions would do: a sentence each.
pub(crate) fn shortfalls(pair: &PairComparison, unit: Unit) -> Vec<String> {
    let metrics = || pair.tests.iter().flat_map(|test| &test.metrics);
    let judged =
        || metrics().filter_map(|metric| metric.judgement.as_ref().map(|judgement| (metric, judgement)));
    let mut sentences: Vec<String> = Vec::new();
    for (_, judgement) in judged() {
        let Reason::TooFewRuns { needed_per_side } = judgement.reason else { continue };
        let sentence = format!(
            "{} against {} {} cannot show a difference, whatever the figures are: {needed_per_side} a side are the \
             fewest that can",
            judgement.n_first,
            judgement.n_second,
            units(unit)
        );
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    let scattered =
        || judged().filter(|(_, j)| matches!(j.reason, Reason::NotSignificant | Reason::OnlyAlone));
    let needed = || scattered().filter_map(|(metric, _)| metric.units_for_margin);
    if let (Some(least), Some(most), Some((_, one))) = (needed().min(), needed().max(), scattered().next()) {
        let range = if least == most {
            format::count(least)
        } else {
            format!("{} to {}", format::count(least), format::count(most))
        };
        sentences.push(format!(
            "{} scatter too much for so few {}: about {range} a side would show a difference of {}, by figure (80 % of the time, alone)",
            format::plural(scattered().count() as u64, "figure"),
            units(unit),
            share(one.margins.equivalent)
        ));
    }
    sentences
}

/// What repetitions are called, in the plural.
pub(crate) fn units(unit: Unit) -> &'static str {
    match unit {
        Unit::Run => "runs",
        Unit::Repeat => "repetitions",
    }
}

/// The letter of a side: A for the first.
pub(crate) fn letter(index: usize) -> String {
    char::from_u32('A' as u32 + index as u32 % 26).map(String::from).unwrap_or_default()
}

/// One side in words, without its letter.
pub(crate) fn side(side: &SideBrief, unit: Unit) -> String {
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
    if side.runs.len() > 1 || unit == Unit::Repeat {
        parts.push(format::plural(side.runs.len() as u64, "run"));
    }
    if unit == Unit::Repeat {
        parts.push(format::plural(side.units, "repetition"));
    }
    let verdicts = side.runs.iter().filter(|run| run.verdict != assay_results::Verdict::Valid).count();
    if verdicts > 0 {
        let of = if side.runs.len() == 1 {
            crate::findings::verdict_word(side.runs[0].verdict).to_owned()
        } else {
            format!("{verdicts} of {} not valid", side.runs.len())
        };
        parts.push(of);
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
    let words = [
        CompareVerdict::Worse,
        CompareVerdict::Better,
        CompareVerdict::Equivalent,
        CompareVerdict::NoEvidence,
    ];
    let counts: Vec<String> =
        words.into_iter().filter(|word| count(*word) > 0).map(|w| format!("{} {w}", count(w))).collect();
    let mut parts = Vec::new();
    if counts.is_empty() {
        parts.push("nothing was ranked".to_owned());
    } else {
        let figures = format::plural(pair.judged_together as u64, "figure");
        parts.push(format!("of {figures} {}", counts.join(", ")));
    }
    let refused = pair.tests.iter().filter(|test| !test.not_comparable.is_empty()).count();
    if refused > 0 {
        parts.push(format!("{} not comparable", format::plural(refused as u64, "test")));
    }
    parts.join("; ")
}

/// What the words and figures mean here, a sentence each.
pub(crate) fn legend(comparison: &Comparison) -> Vec<String> {
    let margins = comparison.margins;
    let margin = share(margins.equivalent);
    let unit = units(comparison.unit);
    vec![
        format!(
            "Unit of repetition: {}. Figures are medians over the {unit}; a change is the Hodges-Lehmann estimate on \
             logarithms, with the interval that inverts the exact Mann-Whitney test (95 %, or as stated).",
            match comparison.unit {
                Unit::Run => "the run",
                Unit::Repeat => "one repetition of a test within a run",
            }
        ),
        format!(
            "better, worse: significant at {} among all figures judged together (max-T by permutation of whole passes), \
             the interval excludes no change, and the change is at least {}. equivalent: the whole interval is within \
             {margin}. no evidence: neither is shown, which is not the same as no difference.",
            share(margins.alpha),
            share(margins.relevant)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_their_sign() {
        assert_eq!([1.065, 0.9, 1.0001, 12.0].map(change), ["+6.5 %", "-10.0 %", "0.0 %", "x 12.0"]);
        assert_eq!(change(f64::NAN), format::NOTHING);
        assert_eq!([0.0004, 0.0079].map(p_value), ["<0.001", "0.008"]);
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
