//! Findings and the verdict.

use assay_results::run::{Finding, FindingSeverity, Run, Verdict};

use super::paragraph;
use crate::findings::{FindingGroup, group, severity_word, verdict_sentence};
use crate::text::{Hang, Style, Tone};

/// The findings, the gravest first; one that several phases share is told once, with where it applies.
pub fn findings(findings: &[Finding], style: &Style) -> String {
    let mut text = String::new();
    for one in group(findings) {
        push_group(&mut text, &one, style);
    }
    text
}

fn push_group(text: &mut String, one: &FindingGroup<'_>, style: &Style) {
    let head = format!("{}: {}", severity_word(one.finding.severity), one.finding.id);
    let hang = Hang::flat(0);
    paragraph(text, tone(one.finding.severity), &head, hang, style);
    for (place, message) in &one.places {
        let words = if place.is_empty() { (*message).to_owned() } else { format!("{place}: {message}") };
        paragraph(text, Tone::Plain, &words, Hang { first: 2, rest: 4 }, style);
    }
    if one.more > 0 {
        paragraph(text, Tone::Dim, &format!("and {} more like it", one.more), Hang::flat(2), style);
    }
    if !one.finding.bias.is_empty() {
        paragraph(
            text,
            Tone::Plain,
            &format!("possible bias: {}", one.finding.bias),
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
