//! The page of a comparison.

use assay_results::LatencyHistogram;
use assay_results::compare::{Comparison, PairComparison, TestComparison};
use assay_results::stats::CompareVerdict;
use maud::{Markup, html};

use super::table::number;
use super::{document, figures};
use crate::charts::latency_overlay;
use crate::compare::{self, Row, letter};

/// The page: sides, what differs, the figures with their verdicts, the latencies over each other.
pub fn comparison(found: &Comparison) -> String {
    let body = html! {
        header {
            p .kind { "Assay · comparison" }
            h1 { @for (index, side) in found.sides.iter().enumerate() { @if index > 0 { " / " } (side.name) } }
            @for pair in &found.pairs { (verdict(pair)) }
            @for (index, side) in found.sides.iter().enumerate() {
                p .place { strong { (letter(index)) } " " (compare::side(side)) }
            }
        }
        main {
            (differences(found))
            @if !found.cautions.is_empty() {
                section #notes {
                    h2 { "Before you read on" }
                    ul .notes { @for words in &found.cautions { li { (words) } } }
                }
            }
            (all_over_each_other(found))
            @for pair in &found.pairs { (results(pair, found.pairs.len() == 1)) }
            section #words {
                h2 { "How to read this" }
                @for words in compare::legend(found) { p { (words) } }
                p { "Latencies drawn over each other are those of all I/Os of a side: their percentiles need not be the table's medians over runs." }
            }
        }
    };
    document("Comparison", "Assay", "", &body)
}

fn verdict(pair: &PairComparison) -> Markup {
    let has = |word: CompareVerdict| {
        let metrics = pair.tests.iter().flat_map(|test| &test.metrics);
        metrics.filter_map(|metric| metric.judgement.as_ref()).any(|judgement| judgement.verdict == word)
    };
    let (class, word) = if has(CompareVerdict::Worse) {
        ("invalid", if has(CompareVerdict::Better) { "better and worse" } else { "worse" })
    } else if has(CompareVerdict::Better) {
        ("valid", "better")
    } else if has(CompareVerdict::Equivalent) {
        ("valid", if has(CompareVerdict::NoEvidence) { "no difference shown" } else { "equivalent" })
    } else if pair.judged_together > 0 {
        ("incomplete", "no evidence")
    } else {
        ("suspect", "not ranked")
    };
    html! {
        p .verdict .(class) role="status" {
            strong { (word) }
            span { (letter(pair.second)) " against " (letter(0)) ": " (compare::outcome(pair)) }
        }
    }
}

fn differences(found: &Comparison) -> Markup {
    html! {
        section #differences {
            h2 { "What differs" }
            @if found.differences.is_empty() && found.plan_differences.is_empty() {
                p { "Nothing that was recorded." }
            }
            @if !found.differences.is_empty() {
                dl { @for one in &found.differences {
                    @let (name, values) = compare::difference(one);
                    dt { (name) } dd { (values) }
                } }
            }
            @if !found.plan_differences.is_empty() {
                details open[found.plan_differences.len() <= compare::PLAN_LINES_MAX] {
                    summary { (found.plan_differences.len()) " lines of the plans" }
                    pre tabindex="0" { (found.plan_differences.join("\n")) }
                }
            }
        }
    }
}

/// The sides whose latencies are drawn over each other.
const OVERLAID_MAX: usize = 10;

/// The latencies of all sides in one drawing a test, where there are more than two: up to ten.
fn all_over_each_other(found: &Comparison) -> Markup {
    let Some(first) = found.pairs.first().filter(|_| found.pairs.len() > 1) else { return html! {} };
    let drawn = first.tests.iter().enumerate().filter_map(|(index, test)| {
        let of = |name: String, sparse| (name, LatencyHistogram::from_sparse(sparse));
        let mut sides = vec![of(letter(0), test.first_latency.as_ref()?)];
        let others = found.pairs.iter().filter_map(|pair| {
            let same = pair.tests.iter().find(|other| other.name == test.name)?;
            Some(of(letter(pair.second), same.second_latency.as_ref()?))
        });
        sides.extend(others);
        sides.truncate(OVERLAID_MAX);
        Some((index, test, sides))
    });
    let drawn: Vec<_> = drawn.filter(|(_, _, sides)| sides.len() > 2).collect();
    html! {
        @if !drawn.is_empty() {
            section #all {
                h2 { "All sides over each other" }
                @for (place, (index, test, sides)) in drawn.iter().enumerate() {
                    details .phase open[place == 0] {
                        summary { h3 { (test.name) } span .dim { (test.conditions) } }
                        (figures(latency_overlay(&format!("all-{index}"), sides)))
                    }
                }
                @if found.sides.len() > OVERLAID_MAX { p .dim { "Drawn: the first " (OVERLAID_MAX) " sides." } }
            }
        }
    }
}

fn results(pair: &PairComparison, only: bool) -> Markup {
    let second = letter(pair.second);
    html! {
        section {
            h2 { (second) " against " (letter(0)) }
            @for words in compare::shortfalls(pair) { p { (words) "." } }
            @for (index, test) in pair.tests.iter().enumerate() {
                div .job {
                    h3 { (test.name) @if !test.second_name.is_empty() { " / " (test.second_name) } }
                    p .conditions { (test.conditions) }
                    @for why in &test.not_comparable { p .remark { "Not comparable: " (why) } }
                    @for why in &test.cautions { p .remark { (why) } }
                    (rows(test, &second))
                    (overlay(pair, index, test, (&second, only)))
                }
            }
            @for (names, side) in [(&pair.only_first, letter(0)), (&pair.only_second, second.clone())] {
                @if !names.is_empty() { p .dim { "Only " (side) " has: " (names.join("; ")) } }
            }
        }
    }
}

fn rows(test: &TestComparison, second: &str) -> Markup {
    let heads = [letter(0), second.to_owned(), "change".to_owned(), "interval".to_owned(), "p".to_owned()];
    html! {
        div .scroll tabindex="0" {
            table .rows {
                thead { tr {
                    th scope="col" { "figure" }
                    @for head in &heads { th .n scope="col" { (head) } }
                    th scope="col" { "verdict" }
                } }
                tbody {
                    @for metric in &test.metrics {
                        @let row = compare::row(metric);
                        tr {
                            th scope="row" { (row.label) }
                            @for (head, value) in heads.iter().zip(values(&row)) { (number(head, value)) }
                            td data-h="verdict" {
                                span .mark .(class(row.word)) { (row.word_text()) }
                                @if !row.why.is_empty() { " " span .dim { (row.why) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn values(row: &Row) -> [&str; 5] {
    [&row.first, &row.second, &row.change, &row.interval, &row.p]
}

fn class(word: Option<CompareVerdict>) -> &'static str {
    match word {
        Some(CompareVerdict::Better | CompareVerdict::Equivalent) => "valid",
        Some(CompareVerdict::Worse) => "invalid",
        Some(CompareVerdict::NoEvidence) => "info",
        None => "suspect",
    }
}

/// Both sides' latencies over each other, where both were stored.
fn overlay(
    pair: &PairComparison,
    index: usize,
    test: &TestComparison,
    (second, only): (&str, bool),
) -> Markup {
    let (Some(a), Some(b)) = (&test.first_latency, &test.second_latency) else { return html! {} };
    let side = |name: String, sparse| (name, LatencyHistogram::from_sparse(sparse));
    let sides = [side(letter(0), a), side(second.to_owned(), b)];
    let id = format!("overlay-{}-{index}", pair.second);
    html! {
        details open[only && pair.tests.len() <= 3] {
            summary { "Completion latencies over each other" }
            (figures(latency_overlay(&id, &sides)))
        }
    }
}
