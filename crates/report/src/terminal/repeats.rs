//! Repeated tests on a terminal: a row each.

use assay_results::Run;

use super::paragraph;
use crate::repeats::{TITLE, repeats};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// The table of a run; empty where nothing was repeated.
pub(super) fn repeat_table(run: &Run, style: &Style) -> String {
    let mut text = String::new();
    let Some(repeats) = repeats(run) else { return text };
    text.push('\n');
    paragraph(&mut text, Tone::Strong, TITLE, Hang { first: 0, rest: 2 }, style);
    let column = |(index, head): (usize, &String)| match index {
        0 | 1 => Column::words(head, Keep::Always),
        2..=5 => Column::numbers(head, Keep::Always),
        _ => Column::numbers(head, Keep::IfRoom(index as u8)),
    };
    let mut table = Table::new(repeats.heads.iter().enumerate().map(column).collect()).indented(2);
    for row in &repeats.rows {
        let tone = |index| if index == 3 { Tone::Strong } else { Tone::Plain };
        table.row(row.iter().enumerate().map(|(index, words)| Cell::toned(words, tone(index))).collect());
    }
    text.push_str(&table.render(style));
    paragraph(&mut text, Tone::Dim, &repeats.note, Hang { first: 2, rest: 4 }, style);
    text
}
