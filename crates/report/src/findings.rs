//! Findings in the order and the words that all renderers share. The verdict itself comes from `results`.

use assay_results::run::{Finding, FindingSeverity, Run, Verdict};

use crate::format;

/// How many places of one finding are told; the others are counted.
const PLACES_MAX: usize = 4;

/// A finding with all places where it applies.
#[derive(Debug)]
pub(crate) struct FindingGroup<'f> {
    /// The first of them.
    pub(crate) finding: &'f Finding,
    /// Where it applies, and what it says there.
    pub(crate) places: Vec<(String, &'f str)>,
    /// How many more places there are.
    pub(crate) more: usize,
}

/// The gravest first, and one group for all that share id, severity, bias and advice.
pub(crate) fn group(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in findings {
        let same = |other: &&mut FindingGroup<'_>| {
            let other = other.finding;
            (&other.id, other.severity, &other.bias, &other.advice)
                == (&finding.id, finding.severity, &finding.bias, &finding.advice)
        };
        let place = (place(finding), finding.message.as_str());
        match groups.iter_mut().find(same) {
            Some(group) if group.places.len() < PLACES_MAX => group.places.push(place),
            Some(group) => group.more += 1,
            None => groups.push(FindingGroup { finding, places: vec![place], more: 0 }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.finding.severity));
    groups
}

fn place(finding: &Finding) -> String {
    match (&finding.phase, &finding.job) {
        (Some(phase), Some(job)) if phase != job => format!("{phase} / {job}"),
        (Some(place), _) | (None, Some(place)) => place.clone(),
        (None, None) => String::new(),
    }
}

/// The word for a severity.
pub(crate) fn severity_word(severity: FindingSeverity) -> &'static str {
    match severity {
        FindingSeverity::Invalid => "not valid",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Unchecked => "could not be checked",
        FindingSeverity::Info => "note",
    }
}

/// The word for a verdict, as in `run.json`.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "valid",
        Verdict::Suspect => "suspect",
        Verdict::Invalid => "invalid",
        Verdict::Incomplete => "incomplete",
    }
}

/// The verdict, what it means, and how many findings it rests on.
pub(crate) fn verdict_sentence(run: &Run) -> String {
    let meaning = match run.verdict {
        Verdict::Valid => "nothing that was checked speaks against these numbers",
        Verdict::Suspect => "the numbers may be off as the warnings say",
        Verdict::Invalid => "some numbers do not mean what they seem to",
        Verdict::Incomplete => "the run was stopped before its end",
    };
    let counts: Vec<String> = [
        (FindingSeverity::Invalid, "not valid"),
        (FindingSeverity::Warning, "warnings"),
        (FindingSeverity::Unchecked, "could not be checked"),
        (FindingSeverity::Info, "notes"),
    ]
    .into_iter()
    .filter_map(|(severity, words)| {
        let n = run.findings.iter().filter(|finding| finding.severity == severity).count();
        let words = if n == 1 { words.trim_end_matches('s') } else { words };
        (n > 0).then(|| format!("{} {words}", format::count(n as u64)))
    })
    .collect();
    let counts = if counts.is_empty() { "no findings".to_owned() } else { counts.join(", ") };
    format!("Verdict: {}: {meaning} ({counts}).", verdict_word(run.verdict))
}
