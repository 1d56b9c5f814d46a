//! The points of each curve as a table of Markdown.

use std::fmt::Write as _;

use assay_results::Run;

use super::{escape, push_head, push_row};
use crate::curves::{Curve, curves};
use crate::findings::verdict_sign;

/// A table for each curve of a run with an empty line behind it.
pub(super) fn push_curves(text: &mut String, run: &Run) {
    curves(run).iter().for_each(|curve| push_curve(text, curve));
}

fn push_curve(text: &mut String, curve: &Curve<'_>) {
    let _ = writeln!(text, "### {}\n\n{}\n", escape(&curve.title()), escape(&curve.conditions()));
    let mut heads = curve.heads();
    heads.insert(1, String::new());
    push_head(text, &heads.iter().map(|head| escape(head)).collect::<Vec<String>>(), 2);
    for (index, point) in curve.points.iter().enumerate() {
        let mut cells: Vec<String> = curve.cells(point).iter().map(|cell| escape(cell)).collect();
        let sign = point.row.map_or("", |row| verdict_sign(row.verdict));
        let knee = if curve.knee == Some(index) { " knee" } else { "" };
        cells.insert(1, format!("{}{knee}", escape(sign)));
        push_row(text, &cells);
    }
    let _ = writeln!(text, "\n{}\n\n{}\n", escape(&curve.knee_words()), escape(&curve.note()));
}
