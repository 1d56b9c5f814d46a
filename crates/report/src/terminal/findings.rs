//! Findings and the verdict.

use assay_results::run::{Finding, FindingSeverity, Run, Verdict};

use super::paragraph;
use crate::findings::{FindingGroup, PLACES_MAX, group, severity_word, verdict_sentence};
use crate::text::{Hang, Style, Tone};

/// The findings, the gravest first, each behind an empty line; one that several phases share is told once, with where it
/// applies.
pub fn findings(findings: &[Finding], style: &Style) -> String {
    let mut text = String::new();
    for one in group(findings) {
        text.push('\n');
        push_group(&mut text, &one, style);
    }
    text
}

fn push_group(text: &mut String, one: &FindingGroup<'_>, style: &Style) {
    let head = format!("{}: {}", severity_word(one.finding.severity), one.finding.id);
    let hang = Hang::flat(0);
    paragraph(text, tone(one.finding.severity), &head, hang, style);
    for place in one.places.iter().take(PLACES_MAX) {
        let words = place.words();
        let words = if place.name.is_empty() { words } else { format!("{}: {words}", place.name) };
        paragraph(text, Tone::Plain, &words, Hang { first: 2, rest: 4 }, style);
    }
    let more = one.places.len().saturating_sub(PLACES_MAX);
    if more > 0 {
        paragraph(text, Tone::Dim, &format!("and {more} more like it"), Hang::flat(2), style);
    }
    if !one.bias.is_empty() {
        paragraph(
            text,
            Tone::Plain,
            &format!("possible bias: {}", one.bias),
            Hang { first: 2, rest: 4 },
            style,
        );
    }
    if !one.finding.advice.is_empty() {
        paragraph(
            text,
            Tone::Accent,
            &format!("advice: {}", one.finding.advice),
            Hang { first: 2, rest: 4 },
            style,
        );
    }
}

/// The verdict in one line, with what it rests on.
pub fn verdict_line(run: &Run, style: &Style) -> String {
    let tone = match run.verdict {
        Verdict::Valid => Tone::Good,
        Verdict::Suspect | Verdict::Incomplete => Tone::Warn,
        Verdict::Invalid => Tone::Bad,
    };
    let mut text = String::new();
    paragraph(&mut text, tone, &verdict_sentence(run), Hang { first: 0, rest: 2 }, style);
    text
}

fn tone(severity: FindingSeverity) -> Tone {
    match severity {
        FindingSeverity::Invalid => Tone::Bad,
        FindingSeverity::Warning => Tone::Warn,
        FindingSeverity::Unchecked => Tone::Accent,
        FindingSeverity::Info => Tone::Strong,
    }
}
