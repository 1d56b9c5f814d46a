//! The top of the page: what was run, whether to believe it, and why not.

use assay_results::Run;
use assay_results::run::{Finding, FindingSeverity};
use maud::{Markup, html};

use super::unbroken::unbroken;
use crate::answer::answer;
use crate::findings::{
    Cause, FindingGroup, FindingScope, PLACES_MAX, causes, folded, group, severity_word, verdict_sign,
    verdict_words,
};
use crate::text::sentence;
use crate::{conditions, format};

/// Name, verdict, when and where.
pub(super) fn header(run: &Run) -> Markup {
    let [like, best, _] = answer(run);
    html! {
        header {
            p .kind {
                "Assay"
                @if let Some(series) = &run.plan.series { " · quick series " (series) }
            }
            h1 { (run.name) }
            p .answer { (unbroken(&like)) }
            p .answer .best { (unbroken(&best)) }
            p .verdict .(run.verdict.word()) role="status" {
                strong { span .sign aria-hidden="true" { (verdict_sign(run.verdict)) } (run.verdict.word()) }
                span { (unbroken(&sentence(&verdict_words(run)))) }
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

/// A line for each cause of the verdict, with the rows it applies to; behind it the evidence.
pub(super) fn findings(run: &Run) -> Markup {
    let causes = causes(&run.findings);
    let grave = |group: &FindingGroup<'_>| group.finding.severity >= FindingSeverity::Warning;
    let others: Vec<_> = group(&run.findings).into_iter().filter(|group| !grave(group)).collect();
    html! {
        @if !run.findings.is_empty() {
            section #findings {
                h2 { "Findings" }
                @for cause in &causes { (cause_line(cause)) }
                @if let Some(folded) = folded(&run.findings) {
                    details { summary { (folded) } @for one in &others { (finding(one)) } }
                }
            }
        }
    }
}

fn cause_line(cause: &Cause<'_>) -> Markup {
    let one = &cause.group;
    let place = cause.place(PLACES_MAX);
    html! {
        details .cause .(class(one.finding.severity)) {
            summary {
                span .severity { (severity_word(one.finding.severity)) } " "
                strong { (unbroken(&cause.words)) }
                @if !place.is_empty() { span .where { ": " (place) } }
            }
            (finding(one))
        }
    }
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

fn class(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Invalid => "invalid",
        FindingSeverity::Warning => "suspect",
        FindingSeverity::Unchecked => "unchecked",
        FindingSeverity::Info => "info",
    }
}

fn finding(one: &FindingGroup<'_>) -> Markup {
    let (first, rest) = one.places.split_at(one.places.len().min(PLACES_MAX));
    html! {
        article .finding .(class(one.finding.severity)) {
            h3 { (one.finding.id) " " span .severity { (severity_word(one.finding.severity)) } }
            @for place in first { (place_line(place)) }
            @if !rest.is_empty() {
                details { summary { (rest.len()) " more like it" } @for place in rest { (place_line(place)) } }
            }
            @if let Some(bias) = one.bias { p { strong { "Possible bias: " } (unbroken(bias)) } }
            @if !one.finding.advice.is_empty() { p .advice { strong { "Advice: " } (one.finding.advice) } }
        }
    }
}

fn place_line(place: &FindingScope<'_>) -> Markup {
    html! { p { @if !place.name.is_empty() { span .where { (place.name) ": " } } (unbroken(&place.words())) } }
}
