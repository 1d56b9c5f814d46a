//! The top of the page: what was run, whether to believe it, and why not.

use assay_results::Run;
use assay_results::run::{Finding, FindingSeverity, Verdict};
use maud::{Markup, html};

use super::unbroken::unbroken;
use crate::findings::{FindingGroup, PLACES_MAX, Place, group, severity_word, verdict_sentence};
use crate::{conditions, format};

/// Name, verdict, when and where.
pub(super) fn header(run: &Run) -> Markup {
    let sentence = verdict_sentence(run);
    let meaning =
        sentence.split_once(": ").and_then(|(_, rest)| rest.split_once(": ")).map_or("", |(_, rest)| rest);
    html! {
        header {
            p .kind {
                "Assay"
                @if !run.plan.series.is_empty() { " · quick series " (run.plan.series) }
            }
            h1 { (run.name) }
            p .verdict .(run.verdict.word()) role="status" {
                strong { span .sign aria-hidden="true" { (verdict_sign(run.verdict)) } (run.verdict.word()) }
                span { (meaning) }
            }
            p .place {
                @for fact in conditions::of_place(run) { span { (fact) } }
                span { "started " time datetime=(run.started) { (run.started) } }
                span { "took " (format::seconds(run.elapsed_s)) }
                @if let Some(seed) = conditions::of_seed(run) { span { (seed) } }
            }
            @for target in conditions::of_targets(&run.environment.targets) {
                p .place { span { "target " (target) } }
            }
        }
    }
}

fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "✓",
        Verdict::Suspect => "!",
        Verdict::Invalid => "✗",
        Verdict::Incomplete => "…",
    }
}

/// What the checks found, the gravest first; notes in a list that opens.
pub(super) fn findings(run: &Run) -> Markup {
    finding_cards(&run.findings)
}

/// The same for findings that belong to no run.
pub(super) fn finding_cards(findings: &[Finding]) -> Markup {
    let groups = group(findings);
    let (notes, grave): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|group| group.finding.severity == FindingSeverity::Info);
    html! {
        @if !findings.is_empty() {
            section #findings {
                h2 { "Findings" }
                @for one in &grave { (finding(one)) }
                @if !notes.is_empty() {
                    details open[grave.is_empty()] {
                        summary { (format::plural(notes.len() as u64, "note")) }
                        @for one in &notes { (finding(one)) }
                    }
                }
            }
        }
    }
}

fn finding(one: &FindingGroup<'_>) -> Markup {
    let class = match one.finding.severity {
        FindingSeverity::Invalid => "invalid",
        FindingSeverity::Warning => "suspect",
        FindingSeverity::Unchecked => "unchecked",
        FindingSeverity::Info => "info",
    };
    let (first, rest) = one.places.split_at(one.places.len().min(PLACES_MAX));
    html! {
        article .finding .(class) {
            h3 { (one.finding.id) " " span .severity { (severity_word(one.finding.severity)) } }
            @for place in first { (place_line(place)) }
            @if !rest.is_empty() {
                details { summary { (rest.len()) " more like it" } @for place in rest { (place_line(place)) } }
            }
            @if !one.bias.is_empty() { p { strong { "Possible bias: " } (unbroken(one.bias)) } }
            @if !one.finding.advice.is_empty() { p .advice { strong { "Advice: " } (one.finding.advice) } }
        }
    }
}

fn place_line(place: &Place<'_>) -> Markup {
    html! { p { @if !place.name.is_empty() { span .where { (place.name) ": " } } (unbroken(&place.words())) } }
}
