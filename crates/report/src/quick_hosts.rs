//! The quick series of several hosts in one table: a column each, with that of an earlier run beside it.

use assay_results::Run;
use assay_results::run::Verdict;

use crate::format;
use crate::quick::{QuickRow, rows};

/// What one place came to.
#[derive(Debug, Clone, Copy)]
pub struct QuickColumn<'r> {
    /// The place, as it was asked for.
    pub name: &'r str,
    /// Its run; `None`: there is none.
    pub run: Option<&'r Run>,
    /// An earlier one of the same place.
    pub before: Option<&'r Run>,
    /// Why there is no run, or only a part of one.
    pub why: Option<&'r str>,
}

/// The table in words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuickHosts {
    /// The first is of the tests.
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// What the columns mean and what is wrong with them, a sentence each.
    pub(crate) notes: Vec<String>,
}

pub(crate) fn quick_hosts(columns: &[QuickColumn<'_>]) -> QuickHosts {
    let of: Vec<(Vec<QuickRow>, Vec<QuickRow>)> = columns
        .iter()
        .map(|column| (column.run.map(rows).unwrap_or_default(), column.before.map(rows).unwrap_or_default()))
        .collect();
    let mut tests: Vec<&str> = Vec::new();
    for row in of.iter().flat_map(|(now, _)| now) {
        if !tests.contains(&row.name.as_str()) {
            tests.push(&row.name);
        }
    }
    let mut heads = vec!["test".to_owned()];
    for column in columns {
        let mark = if is_partial(column) { "*" } else { "" };
        if column.before.is_some() {
            heads.push(format!("{} before", column.name));
        }
        heads.push(format!("{}{mark}", column.name));
        if column.before.is_some() {
            heads.push("change".to_owned());
        }
    }
    let row = |test: &&str| {
        let mut cells = vec![(*test).to_owned()];
        for (column, (now, before)) in columns.iter().zip(&of) {
            let find = |rows: &[QuickRow]| rows.iter().find(|row| row.name == *test).cloned();
            let (now, before) = (find(now), find(before));
            let words =
                |row: &Option<QuickRow>| row.as_ref().map_or_else(|| "-".to_owned(), QuickRow::iops_words);
            if column.before.is_some() {
                cells.push(words(&before));
            }
            cells.push(words(&now));
            if column.before.is_some() {
                cells.push(change(before.as_ref(), now.as_ref()));
            }
        }
        cells
    };
    QuickHosts { heads, rows: tests.iter().map(row).collect(), notes: notes(columns) }
}

fn is_partial(column: &QuickColumn<'_>) -> bool {
    column.run.is_none_or(|run| run.verdict == Verdict::Incomplete)
}

fn change(before: Option<&QuickRow>, now: Option<&QuickRow>) -> String {
    match (before, now) {
        (Some(before), Some(now)) if before.iops.value > 0.0 => {
            format!("{:+.0} %", (now.iops.value / before.iops.value - 1.0) * 100.0)
        }
        _ => "-".to_owned(),
    }
}

fn notes(columns: &[QuickColumn<'_>]) -> Vec<String> {
    let mut notes = vec!["IOPS of each place, measured one after the other".to_owned()];
    for column in columns {
        if let Some(before) = column.before {
            let started = &before.started;
            notes.push(format!(
                "{} before: the run of {started}; one run each says nothing of chance ('assay compare' does)",
                column.name
            ));
        }
        if is_partial(column) {
            let what = if column.run.is_some() { "partial" } else { "not measured" };
            let why = column.why.map_or_else(String::new, |why| format!(": {why}"));
            notes.push(format!("{}*: {what}{why}", column.name));
        }
        let findings = column.run.into_iter().flat_map(|run| &run.findings);
        let grave = findings
            .filter(|finding| finding.severity == assay_results::run::FindingSeverity::Invalid)
            .count();
        if grave > 0 {
            let plural = format::plural(grave as u64, "finding");
            notes.push(format!(
                "{}: {plural} that make figures invalid; its own page says which",
                column.name
            ));
        }
    }
    notes
}

/// The lines that storage-tuner-benchmark prints, one for each test, to be pasted somewhere: `NAME: N write iops (N% HDD)`.
pub fn pasteable(run: &Run, reference: Option<&crate::quick::Reference>) -> String {
    let mut text = String::new();
    for row in rows(run) {
        let operation = if row.name.contains("read") { "read" } else { "write" };
        let percent = reference.and_then(|reference| match reference.of(&row)? {
            crate::quick::ReferenceIops::Measured(iops) => {
                let percent = assay_results::baseline::percent_of(row.iops.value, iops)?;
                Some(format!(" ({percent}% {})", reference.title()))
            }
            crate::quick::ReferenceIops::Typical { .. } => None,
        });
        text.push_str(&format!(
            "{}: {:.0} {operation} iops{}\n",
            row.name,
            row.iops.value.floor(),
            percent.unwrap_or_default()
        ));
    }
    text
}
