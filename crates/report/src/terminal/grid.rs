//! A matrix of mixes and block sizes as one table on a terminal.

use assay_results::Run;

use super::paragraph;
use crate::format;
use crate::grid::{COLUMNS, CORNER, Grid, grids};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// A table for each grid of a run, each behind an empty line; empty without one.
pub(super) fn grid_tables(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    for grid in grids(run) {
        push_grid(&mut text, &grid, style);
        text.push('\n');
    }
    text
}

fn push_grid(text: &mut String, grid: &Grid, style: &Style) {
    let title = format!("{} ({COLUMNS})", grid.title);
    paragraph(text, Tone::Strong, &title, Hang { first: 0, rest: 2 }, style);
    let mut columns = vec![Column::words(CORNER, Keep::Always)];
    columns.extend(grid.mixes.iter().map(|mix| Column::numbers(mix, Keep::Always)));
    let mut table = Table::new(columns).indented(2);
    for (block, cells) in &grid.rows {
        let mut row = vec![Cell::from(format::bytes(*block))];
        row.extend(cells.iter().map(|cell| {
            let tone = if cell.marks().is_empty() { Tone::Plain } else { Tone::Warn };
            Cell::toned(cell.words(), tone)
        }));
        table.row(row);
    }
    text.push_str(&table.render(style));
    for note in &grid.notes {
        paragraph(text, Tone::Dim, note, Hang { first: 2, rest: 4 }, style);
    }
}
