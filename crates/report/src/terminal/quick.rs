//! The table of a quick series.

use assay_results::Run;
use assay_results::baseline::percent_of;
use assay_results::run::{LatencySummary, Verdict};

use super::findings::verdict_tone;
use super::paragraph;
use crate::findings::verdict_sign;
use crate::format;
use crate::quick::{
    QuickRow, RangePosition, Reference, ReferenceIops, against, like, reference_notes, rows, spoken,
};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// The rows of a quick run in groups, against the references, with what the columns mean and the footnotes below.
pub fn quick_table(run: &Run, references: &[Reference], style: &Style) -> String {
    let rows = rows(run);
    let windows = rows.iter().any(|row| row.iops.interval.is_some());
    let mut table = Table::new(columns(&rows, references, windows));
    let mut group = "";
    for row in &rows {
        if row.group != group && !row.group.is_empty() {
            table.group(&row.group);
        }
        group = &row.group;
        table.row(cells(row, references, windows));
    }
    let mut text = table.render(style);
    if text.is_empty() {
        return style.fit("no test was measured").into_owned() + "\n";
    }
    text.push('\n');
    for note in footnotes(&rows, references) {
        paragraph(&mut text, Tone::Dim, &note, Hang { first: 0, rest: 2 }, style);
    }
    text
}

/// The rows as sentences that can be read aloud.
pub fn quick_words(run: &Run, references: &[Reference], style: &Style) -> String {
    let mut text = String::new();
    for sentence in spoken(&rows(run), references) {
        paragraph(&mut text, Tone::Plain, &sentence, Hang { first: 0, rest: 2 }, style);
    }
    text
}

fn columns(rows: &[QuickRow], references: &[Reference], windows: bool) -> Vec<Column> {
    let mut columns = vec![
        Column::words("test", Keep::Always),
        Column::words("", Keep::Always),
        Column::numbers("IOPS", Keep::Always),
    ];
    if windows {
        columns.push(Column::numbers("interval", Keep::IfStacked(9)));
    }
    for (index, reference) in references.iter().enumerate() {
        let later = u8::try_from(index.min(4)).unwrap_or(4);
        if reference.is_typical() {
            columns.push(Column::numbers(&format!("typical {}", reference.title()), Keep::IfFlat(later)));
        } else {
            let keep =
                if reference.covers(rows) { Keep::IfStacked(3 + later) } else { Keep::IfFlat(5 + later) };
            columns.push(Column::numbers(&format!("% {}", reference.title()), keep));
        }
    }
    columns.extend([
        Column::words("like", Keep::IfStacked(2)),
        Column::numbers("MiB/s", Keep::IfStacked(1)),
        Column::numbers("p50", Keep::IfStacked(0)),
        Column::numbers("p99", Keep::Always),
        Column::numbers("p99.9", Keep::IfRoom(5)),
        Column::numbers("flush p99", Keep::IfStacked(8)),
        Column::numbers("outst.", Keep::IfRoom(4)),
        Column::words("", Keep::Always),
    ]);
    columns
}

fn cells(row: &QuickRow, references: &[Reference], windows: bool) -> Vec<Cell> {
    let sign = row
        .verdict
        .as_ref()
        .map_or_else(Cell::default, |row| Cell::toned(verdict_sign(row.verdict), verdict_tone(row.verdict)));
    let mut cells: Vec<Cell> =
        vec![row.name.as_str().into(), sign, Cell::toned(row.iops_words(), Tone::Strong)];
    if windows {
        cells.push(row.iops.interval.map_or_else(String::new, format::interval).into());
    }
    cells.extend(references.iter().map(|reference| reference_cell(row, reference)));
    cells.push(Cell::toned(like(row, references), Tone::Accent));
    let LatencySummary { p50, p99, p99_9, .. } = row.completion;
    cells.push(row.mib_per_s_words().into());
    cells.extend([p50, p99, p99_9].map(|value| Cell::from(format::latency(value))));
    cells.push(row.flush.map_or_else(Cell::default, |flush| format::latency(flush.p99).into()));
    cells.push(format::count(row.outstanding_io).into());
    cells.push(Cell::toned(row.marks().join(", "), if row.errors > 0 { Tone::Bad } else { Tone::Warn }));
    cells
}

fn reference_cell(row: &QuickRow, reference: &Reference) -> Cell {
    let Some(value) = reference.of(row) else { return Cell::default() };
    match value {
        ReferenceIops::Measured(iops) => match percent_of(row.iops.value, iops) {
            Some(percent) => Cell::toned(format!("{} %", format::count(percent)), ratio_tone(row, percent)),
            None => Cell::default(),
        },
        ReferenceIops::Typical { low, high } => {
            let tone = match against(row.iops.value, value) {
                Some(RangePosition::Above) => Tone::Good,
                Some(RangePosition::Below) => Tone::Dim,
                _ => Tone::Accent,
            };
            Cell::toned(format!("{}–{}", format::iops(low), format::iops(high)), tone)
        }
    }
}

/// Good from the reference on, bad below half of it; a number that came from memory is neither.
fn ratio_tone(row: &QuickRow, percent: u64) -> Tone {
    match percent {
        _ if row.cached_mark().is_some() => Tone::Dim,
        100.. => Tone::Good,
        50..100 => Tone::Warn,
        _ => Tone::Bad,
    }
}

/// What the columns mean, and what the references are worth.
fn footnotes(rows: &[QuickRow], references: &[Reference]) -> Vec<String> {
    let mut notes = vec![
        "outst.: outstanding I/Os in total, as asked. p50, p99, p99.9: completion latency (submission to completion)."
            .to_owned(),
    ];
    if rows.iter().any(|row| row.flush.is_some()) {
        notes.push("flush p99: 99 of 100 fsync or fdatasync calls completed within it; the writes' own latency does not include it.".to_owned());
    }
    if let Some(n) = rows.iter().filter(|row| row.iops.interval.is_some()).map(|row| row.iops.n).max() {
        notes.push(format!(
            "IOPS: median of {} with its interval; latencies are those of all windows together.",
            format::plural(u64::from(n), "window")
        ));
    }
    let verdicts = || rows.iter().filter_map(|row| row.verdict.as_ref());
    if verdicts().any(|row| row.verdict != Verdict::Valid) {
        let signs = [Verdict::Valid, Verdict::Suspect, Verdict::Invalid];
        let signs = signs.map(|verdict| format!("{} {}", verdict_sign(verdict), verdict.word()));
        notes.push(format!("{}.", signs.join(", ")));
    }
    if verdicts().any(|row| !row.disturbed.is_empty()) {
        notes.push(
            "disturbed: windows that something else slowed down; the median does not rest on them."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.cached_mark().is_some()) {
        notes.push(
            "cached: share of the bytes read that no device delivered; they came from memory.".to_owned(),
        );
    }
    notes.extend(reference_notes(references));
    notes
}
