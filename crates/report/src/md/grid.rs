//! A matrix of mixes and block sizes as one table of Markdown.

use std::fmt::Write as _;

use assay_results::Run;

use super::{escape, push_head, push_row};
use crate::format;
use crate::grid::{COLUMNS, CORNER, grids};

/// The tables of a run, each with an empty line behind it; nothing without a grid.
pub(super) fn push_grids(text: &mut String, run: &Run) {
    for grid in grids(run) {
        let _ = writeln!(text, "### {} ({COLUMNS})\n", escape(&grid.title));
        let mut heads = vec![CORNER.to_owned()];
        heads.extend(grid.mixes.iter().cloned());
        push_head(text, &heads, 1);
        for (block, cells) in &grid.rows {
            let mut row = vec![format::bytes(*block)];
            row.extend(cells.iter().map(|cell| escape(&cell.words())));
            push_row(text, &row);
        }
        text.push('\n');
        for note in &grid.notes {
            let _ = writeln!(text, "- {}", escape(note));
        }
        if !grid.notes.is_empty() {
            text.push('\n');
        }
    }
}
