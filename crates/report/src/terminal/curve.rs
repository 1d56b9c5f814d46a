//! The curves of a run on a terminal: latency against rate, with the knee.

use assay_results::Run;

use super::findings::verdict_tone;
use super::paragraph;
use crate::curves::{Curve, curves};
use crate::findings::verdict_sign;
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// Columns of the longest bar.
const BAR_COLUMNS: f64 = 24.0;

/// A table for each curve of a run, with an empty line behind it; empty without curves.
pub(super) fn curve_tables(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    for curve in curves(run) {
        push_curve(&mut text, &curve, style);
        text.push('\n');
    }
    text
}

fn push_curve(text: &mut String, curve: &Curve<'_>, style: &Style) {
    let title = format!("{} ({})", curve.title(), curve.conditions());
    paragraph(text, Tone::Strong, &title, Hang { first: 0, rest: 2 }, style);
    let heads = curve.heads();
    let mut columns = vec![Column::words("point", Keep::Always), Column::words("", Keep::Always)];
    columns.extend(heads.iter().skip(1).map(|head| {
        // What latency it is stands above.
        let head = head.strip_suffix(curve.latency_word()).map_or(head.as_str(), str::trim_end);
        Column::numbers(head, if head == "mean" { Keep::IfRoom(3) } else { Keep::Always })
    }));
    columns.extend([
        Column::words("", Keep::Always),
        Column::words("p99, log scale", Keep::IfFlat(5)),
        Column::words("reason", Keep::IfRoom(4)),
    ]);
    let mut table = Table::new(columns).indented(2);
    let p99: Vec<f64> =
        curve.points.iter().filter_map(|point| point.latency.p99).map(|ns| ns as f64).collect();
    let (low, high) =
        p99.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), ns| (low.min(*ns), high.max(*ns)));
    // From a power of ten on, and over a decade at least: values that are nearly alike look so.
    let low = 10_f64.powf(low.log10().floor());
    let high = high.max(10.0 * low);
    for (index, point) in curve.points.iter().enumerate() {
        let knee = curve.knee == Some(index);
        let tone = if knee { Tone::Accent } else { Tone::Plain };
        let mut cells = curve.cells(point).into_iter().map(|words| Cell::toned(words, tone));
        let mut row: Vec<Cell> = cells.by_ref().take(1).collect();
        row.push(point.row.map_or_else(Cell::default, |row| {
            Cell::toned(verdict_sign(row.verdict), verdict_tone(row.verdict))
        }));
        row.extend(cells);
        row.push(Cell::toned(if knee { "knee" } else { "" }, tone));
        row.push(Cell::toned(bar(point.latency.p99.map(|ns| ns as f64), low, high), tone));
        row.push(Cell::toned(point.causes(), Tone::Warn));
        table.row(row);
    }
    text.push_str(&table.render(style));
    paragraph(text, Tone::Plain, &curve.knee_words(), Hang { first: 2, rest: 4 }, style);
    paragraph(text, Tone::Dim, &curve.note(), Hang { first: 2, rest: 4 }, style);
}

/// A bar whose length grows with the logarithm.
fn bar(value: Option<f64>, low: f64, high: f64) -> String {
    let Some(value) = value.filter(|value| *value > 0.0 && low > 0.0) else { return String::new() };
    let span = (high / low).ln();
    let share = if span > 0.0 { (value / low).ln() / span } else { 0.0 };
    "█".repeat((1.0 + share.clamp(0.0, 1.0) * (BAR_COLUMNS - 1.0)).round() as usize)
}
