//! Findings and the verdict.

use assay_results::run::{Finding, FindingSeverity, Run, Verdict};

use super::paragraph;
use crate::findings::{FindingGroup, PLACES_MAX, folded, group, severity_word, verdict_sentence};
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
    if let Some(bias) = one.bias {
        let words = format!("possible bias: {bias}");
        paragraph(text, Tone::Plain, &words, Hang { first: 2, rest: 4 }, style);
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

/// Rows named behind a cause at most.
const ROWS_MAX: usize = 4;

/// A line for each cause of the verdict with the rows it applies to, and how much more was found; `how` says how to see that.
pub fn causes(run: &Run, how: &str, style: &Style) -> String {
    let mut text = String::new();
    for cause in crate::findings::causes(&run.findings) {
        let finding = cause.group.finding;
        let place = cause.place(ROWS_MAX);
        let place = if place.is_empty() { String::new() } else { format!(": {place}") };
        let line = format!("{}: {}: {}{place}", severity_word(finding.severity), finding.id, cause.words);
        paragraph(&mut text, tone(finding.severity), &line, Hang { first: 0, rest: 2 }, style);
    }
    let grave = run.findings.iter().any(|finding| finding.severity >= FindingSeverity::Warning);
    let more = match (folded(&run.findings), grave) {
        (Some(folded), _) => Some(format!("{folded}; {how} shows all findings with their evidence")),
        (None, true) => Some(format!("{how} shows the evidence")),
        (None, false) => None,
    };
    if let Some(more) = more {
        paragraph(&mut text, Tone::Dim, &more, Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// The answer: what the storage behaves like, the best that it did, and the verdict. A line each, where there is room.
pub fn answer(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    let tones = [Tone::Strong, Tone::Plain, verdict_tone(run.verdict)];
    for (sentence, tone) in crate::answer::answer(run).iter().zip(tones) {
        paragraph(&mut text, tone, sentence, Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// The verdict in one line, with what it rests on.
pub fn verdict_line(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    paragraph(
        &mut text,
        verdict_tone(run.verdict),
        &verdict_sentence(run),
        Hang { first: 0, rest: 2 },
        style,
    );
    text
}

/// The tone of a verdict.
pub(super) fn verdict_tone(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Valid => Tone::Good,
        Verdict::Suspect | Verdict::Incomplete => Tone::Warn,
        Verdict::Invalid => Tone::Bad,
    }
}

fn tone(severity: FindingSeverity) -> Tone {
    match severity {
        FindingSeverity::Invalid => Tone::Bad,
        FindingSeverity::Warning => Tone::Warn,
        FindingSeverity::Unchecked => Tone::Accent,
        FindingSeverity::Info => Tone::Strong,
    }
}
