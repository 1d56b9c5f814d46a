//! Findings in the order and the words that all renderers share. The verdict itself comes from `results`.

use assay_results::event::RunEnd;
use assay_results::run::{Finding, FindingSeverity, Row, Run, Verdict};

use crate::format;

/// How many places of one finding are told where room is short; the others are counted.
pub(crate) const PLACES_MAX: usize = 4;

/// Findings of one id, severity and advice.
#[derive(Debug)]
pub(crate) struct FindingGroup<'f> {
    /// The first of them.
    pub(crate) finding: &'f Finding,
    /// All of them.
    pub(crate) all: Vec<&'f Finding>,
    /// Where they apply, and what they say there.
    pub(crate) places: Vec<FindingScope<'f>>,
    /// The possible bias, where it is the same everywhere; else it stands with the places.
    pub(crate) bias: Option<&'f str>,
}

/// Where a finding applies.
#[derive(Debug)]
pub(crate) struct FindingScope<'f> {
    /// Phase and job; empty: the whole run.
    pub(crate) name: String,
    /// What was found there.
    pub(crate) message: &'f str,
    /// The possible bias, where it is not that of the whole group.
    pub(crate) bias: Option<&'f str>,
}

impl FindingScope<'_> {
    /// Message and bias in one line.
    pub(crate) fn words(&self) -> String {
        match self.bias {
            None => self.message.to_owned(),
            Some(bias) => format!("{}; possible bias: {bias}", self.message),
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
        let place =
            FindingScope { name: place(finding), message: &finding.message, bias: finding.bias.as_deref() };
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.places.push(place);
                group.all.push(finding);
            }
            None => {
                groups.push(FindingGroup { finding, all: vec![finding], places: vec![place], bias: None })
            }
        }
    }
    for group in &mut groups {
        if group.places.iter().all(|place| place.bias == group.finding.bias.as_deref()) {
            group.bias = group.finding.bias.as_deref();
            group.places.iter_mut().for_each(|place| place.bias = None);
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.finding.severity));
    groups
}

fn place(finding: &Finding) -> String {
    let row = row_of(finding);
    // Counted from 1 for people.
    let repeat = finding.repeat.filter(|_| !row.is_empty());
    repeat.map_or_else(|| row.clone(), |repeat| format!("{row}, repetition {}", repeat.saturating_add(1)))
}

/// Phase, job and point; empty: the whole run.
fn row_of(finding: &Finding) -> String {
    let row = match (&finding.phase, &finding.job) {
        (Some(phase), Some(job)) if phase != job => format!("{phase} / {job}"),
        (Some(place), _) | (None, Some(place)) => place.clone(),
        (None, None) => return String::new(),
    };
    match finding.evidence.get("point").and_then(|point| point.as_str()) {
        Some(point) => format!("{row} [{point}]"),
        None => row,
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

/// Rows named in a sentence at most.
const ROWS_NAMED_MAX: usize = 2;

/// The verdict: how many figures are valid, and why the others are not.
pub(crate) fn verdict_sentence(run: &Run) -> String {
    format!("Verdict: {}: {}.", run.verdict.word(), verdict_words(run))
}

/// The sentence without the verdict itself.
pub(crate) fn verdict_words(run: &Run) -> String {
    let mut parts: Vec<String> = Vec::new();
    if run.verdict == Verdict::Incomplete {
        let going = "the run is still going, and these are its figures so far";
        let ended = match (run.end, run.error.as_deref()) {
            _ if run.going => going.to_owned(),
            // The first line says what failed; more of it stands with the facts of the run.
            (Some(RunEnd::Failed), Some(why)) => {
                let why = why.lines().next().unwrap_or_default();
                format!("the run failed: {}", why.trim_end_matches('.'))
            }
            (Some(RunEnd::Failed), None) => "the run failed".to_owned(),
            (Some(RunEnd::Completed), _) => "workers were lost, and the others went on to the end".to_owned(),
            _ => "the run was stopped before its end".to_owned(),
        };
        parts.push(ended);
    }
    let of = run.rows.len();
    let valid = run.rows.iter().filter(|row| row.verdict == Verdict::Valid).count();
    match of {
        0 => {}
        1 if valid == 1 => parts.push("nothing that was checked speaks against this figure".to_owned()),
        _ if valid == of => parts.push(format!("all {of} figures are valid")),
        1 => {}
        _ => parts.push(format!("{valid} of {of} figures {} valid", if valid == 1 { "is" } else { "are" })),
    }
    let mut doubtful: Vec<&Row> = run.rows.iter().filter(|row| row.verdict != Verdict::Valid).collect();
    doubtful.sort_by_key(|row| std::cmp::Reverse(row.verdict));
    let reason = main_reason(&run.findings);
    let of_reason = |row: &&&Row| reason.is_some_and(|reason| is_about(reason, row));
    if let Some(first) = doubtful.iter().find(of_reason).or(doubtful.first()) {
        let alike =
            || doubtful.iter().filter(|row| (row.verdict, &row.causes) == (first.verdict, &first.causes));
        // The one that the reason is about first.
        let others = alike().filter(|row| !std::ptr::eq::<Row>(**row, *first));
        let names: Vec<String> =
            std::iter::once(first).chain(others).map(|row| format!("'{}'", row.name)).collect();
        let more = names.len().saturating_sub(ROWS_NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let who = names[..names.len().min(ROWS_NAMED_MAX)].join(if more.is_empty() { " and " } else { ", " });
        let who = if of == 1 { String::new() } else { format!("{who}{more} {}: ", first.verdict.word()) };
        let because = reason
            .filter(|reason| is_about(reason, first))
            .map(|one| &one.message)
            .or(first.because.as_ref());
        // They have the same causes, and each its own figures of it.
        let differ = alike().any(|row| row.because.as_ref() != because);
        let worst = if differ { "worst: " } else { "" };
        parts.push(format!("{who}{worst}{}", because.map_or(first.verdict.word(), String::as_str)));
    } else if let Some(finding) = reason {
        let place = place(finding);
        parts.push(if place.is_empty() {
            finding.message.clone()
        } else {
            format!("{place}: {}", finding.message)
        });
    }
    if parts.is_empty() { proved(run) } else { parts.join("; ") }
}

/// What a run says that measured nothing: what it proved after a crash, if that is what it was for.
fn proved(run: &Run) -> String {
    let jobs = run.phases.iter().flat_map(|phase| &phase.jobs);
    let checks = jobs.filter_map(|job| job.data.as_ref()?.crash.as_ref());
    match checks.map(|checks| checks.acknowledged).reduce(u64::saturating_add) {
        None => "nothing was measured".to_owned(),
        Some(0) => "nothing was proved: no write was acknowledged".to_owned(),
        Some(blocks) => {
            format!("blocks that were read and hold their acknowledged write or a later one: all {blocks}")
        }
    }
}

/// The finding that the verdict names: of the gravest the one that may do most to a figure.
fn main_reason(findings: &[Finding]) -> Option<&Finding> {
    let grave = findings.iter().filter(|one| one.severity >= FindingSeverity::Warning);
    grave.min_by(|a, b| Finding::by_weight((a.severity, a), (b.severity, b)))
}

/// Whether a finding is why a row is not valid.
fn is_about(finding: &Finding, row: &Row) -> bool {
    let point = finding.evidence.get("point").and_then(|point| point.as_str()).unwrap_or("");
    let here = finding.phase.as_ref().is_none_or(|phase| *phase == row.phase && point == row.point.as_str())
        && finding.job.as_ref().is_none_or(|job| *job == row.job);
    here && row.causes.first() == Some(&finding.id)
}

/// The sign of a verdict where there is room for no word.
pub(crate) fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "✓",
        Verdict::Suspect => "!",
        Verdict::Invalid => "✗",
        Verdict::Incomplete => "…",
    }
}

/// `1 of 5 repetitions disturbed`; `None`: none of them was.
pub(crate) fn disturbed(row: &Row) -> Option<String> {
    let n = row.disturbed.len() as u64;
    (n > 0).then(|| format!("{n} of {} disturbed", row.figure.n))
}

/// One line for each cause of a verdict, with the rows it applies to.
pub(crate) fn causes(findings: &[Finding]) -> Vec<Cause<'_>> {
    let grave = |group: &FindingGroup<'_>| group.finding.severity >= FindingSeverity::Warning;
    group(findings).into_iter().filter(grave).map(Cause::of).collect()
}

/// A cause of a verdict.
#[derive(Debug)]
pub(crate) struct Cause<'f> {
    /// The findings behind it.
    pub(crate) group: FindingGroup<'f>,
    /// What was found, with the possible bias; of several places the worst.
    pub(crate) words: String,
    /// Where: each row once.
    pub(crate) rows: Vec<String>,
}

impl<'f> Cause<'f> {
    fn of(group: FindingGroup<'f>) -> Cause<'f> {
        let worst = Finding::worst(group.all.iter().copied()).unwrap_or(group.finding);
        let bias = worst.bias.as_ref().map_or_else(String::new, |bias| format!(" ({bias})"));
        let mut rows: Vec<String> = Vec::new();
        for finding in &group.all {
            let row = row_of(finding);
            if !row.is_empty() && !rows.contains(&row) {
                rows.push(row);
            }
        }
        let differ = group.all.iter().any(|one| one.message != worst.message);
        let several = if differ { format!("worst of {}: ", group.all.len()) } else { String::new() };
        Cause { words: format!("{several}{}{bias}", worst.message), rows, group }
    }

    /// `4k durable writes; 4k random reads and 3 more`; empty: it is about the whole run.
    pub(crate) fn place(&self, most: usize) -> String {
        let more = self.rows.len().saturating_sub(most);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", self.rows[..self.rows.len().min(most)].join("; "))
    }
}

/// How many findings stand behind the causes, as `3 notes, 1 not checked`; `None`: there are none.
pub(crate) fn folded(findings: &[Finding]) -> Option<String> {
    let count = |wanted| findings.iter().filter(|finding| finding.severity == wanted).count() as u64;
    let notes = Some(count(FindingSeverity::Info)).filter(|n| *n > 0).map(|n| format::plural(n, "note"));
    let unchecked = Some(count(FindingSeverity::Unchecked))
        .filter(|n| *n > 0)
        .map(|n| format!("{n} could not be checked"));
    let parts: Vec<String> = notes.into_iter().chain(unchecked).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
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
            bias: None,
            effect: None,
            evidence: serde_json::Map::new(),
            advice: String::new(),
        };
        assert_eq!(place(&finding), "latency, repetition 2");
        finding.evidence.insert("point".to_owned(), "block_size=8k".into());
        assert_eq!(place(&finding), "latency [block_size=8k], repetition 2");
    }
}
