//! Repeated tests on a terminal: a row each.

use assay_results::Run;

use super::paragraph;
use crate::format;
use crate::repeats::{TITLE, repeats};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// The table of a run, with an empty line behind it; empty where nothing was repeated.
pub(super) fn repeat_table(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    let Some(repeats) = repeats(run) else { return text };
    paragraph(&mut text, Tone::Strong, TITLE, Hang { first: 0, rest: 2 }, style);
    let column = |(index, head): (usize, &String)| match index {
        0 | 1 => Column::words(head, Keep::Always),
        2..=5 => Column::numbers(head, Keep::Always),
        _ => Column::numbers(head, Keep::IfRoom(index as u8)),
    };
    // Blocks of several heights have no like among plain characters.
    let drawn = style.unicode && repeats.shares.iter().all(|(_, shares)| shares.len() <= BLOCKS_MAX);
    let mut columns: Vec<Column> = repeats.heads.iter().enumerate().map(column).collect();
    if drawn {
        columns.push(Column::words("each", Keep::IfRoom(8)));
    }
    let mut table = Table::new(columns).indented(2);
    let reach = repeats.reach();
    for (row, (_, shares)) in repeats.rows.iter().zip(&repeats.shares) {
        let tone = |index| if index == 3 { Tone::Strong } else { Tone::Plain };
        let mut cells: Vec<Cell> =
            row.iter().enumerate().map(|(index, words)| Cell::toned(words, tone(index))).collect();
        if drawn {
            cells.push(blocks(shares, reach).into());
        }
        table.row(cells);
    }
    text.push_str(&table.render(style));
    let each = if drawn {
        format!("; each: a bar a repetition, from {0} below to {0} above the median", format::percent(reach))
    } else {
        String::new()
    };
    paragraph(&mut text, Tone::Dim, &format!("{}{each}", repeats.note), Hang { first: 2, rest: 4 }, style);
    text.push('\n');
    text
}

/// More repetitions than this are not drawn.
const BLOCKS_MAX: usize = 24;

/// A block a repetition, half as high as a line where it is the median.
fn blocks(shares: &[f64], reach: f64) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height = |share: &f64| {
        let place = ((share - 1.0) / reach + 1.0) / 2.0 * (HEIGHTS.len() - 1) as f64;
        HEIGHTS[(place.round().max(0.0) as usize).min(HEIGHTS.len() - 1)]
    };
    shares.iter().map(height).collect()
}
