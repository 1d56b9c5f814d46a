//! Findings in the order and the words that all renderers share. The verdict itself comes from `results`.

use assay_results::run::{Finding, FindingSeverity, Run, Verdict};

use crate::format;

/// How many places of one finding are told where room is short; the others are counted.
pub(crate) const PLACES_MAX: usize = 4;

/// Findings of one id, severity and advice.
#[derive(Debug)]
pub(crate) struct FindingGroup<'f> {
    /// The first of them.
    pub(crate) finding: &'f Finding,
    /// Where they apply, and what they say there.
    pub(crate) places: Vec<Place<'f>>,
    /// The possible bias, where it is the same everywhere; else it stands with the places.
    pub(crate) bias: &'f str,
}

/// Where a finding applies.
#[derive(Debug)]
pub(crate) struct Place<'f> {
    /// Phase and job; empty: the whole run.
    pub(crate) name: String,
    /// What was found there.
    pub(crate) message: &'f str,
    /// The possible bias, where it is not that of the whole group.
    pub(crate) bias: &'f str,
}

impl Place<'_> {
    /// Message and bias in one line.
    pub(crate) fn words(&self) -> String {
        if self.bias.is_empty() {
            self.message.to_owned()
        } else {
            format!("{}; possible bias: {}", self.message, self.bias)
        }
    }
}

/// The gravest first, and one group for all that share id, severity and advice.
pub(crate) fn group(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: Vec<FindingGroup<'_>> = Vec::new();
    for finding in findings {
        let same = |group: &&mut FindingGroup<'_>| {
            let other = group.finding;
            (&other.id, other.severity, &other.advice) == (&finding.id, finding.severity, &finding.advice)
        };
        let place = Place { name: place(finding), message: &finding.message, bias: &finding.bias };
        match groups.iter_mut().find(same) {
            Some(group) => group.places.push(place),
            None => groups.push(FindingGroup { finding, places: vec![place], bias: "" }),
        }
    }
    for group in &mut groups {
        if group.places.iter().all(|place| place.bias == group.finding.bias) {
            group.bias = &group.finding.bias;
            group.places.iter_mut().for_each(|place| place.bias = "");
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.finding.severity));
    groups
}

fn place(finding: &Finding) -> String {
    let mut place = match (&finding.phase, &finding.job) {
        (Some(phase), Some(job)) if phase != job => format!("{phase} / {job}"),
        (Some(place), _) | (None, Some(place)) => place.clone(),
        (None, None) => return String::new(),
    };
    if let Some(point) = finding.evidence.get("point").and_then(|point| point.as_str()) {
        place = format!("{place} [{point}]");
    }
    // Counted from 1 for people.
    finding.repeat.map_or_else(|| place.clone(), |repeat| format!("{place}, repetition {}", repeat + 1))
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
    format!("Verdict: {}: {meaning} ({counts}).", run.verdict.word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_point_and_its_repetition() {
        let mut finding = Finding {
            id: "short-run".to_owned(),
            severity: FindingSeverity::Info,
            phase: Some("latency".to_owned()),
            repeat: Some(1),
            job: Some("latency".to_owned()),
            message: String::new(),
            bias: String::new(),
            effect: None,
            evidence: serde_json::Map::new(),
            advice: String::new(),
        };
        assert_eq!(place(&finding), "latency, repetition 2");
        finding.evidence.insert("point".to_owned(), "block_size=8k".into());
        assert_eq!(place(&finding), "latency [block_size=8k], repetition 2");
    }
}
