//! The quick series of several hosts on a terminal.

use super::paragraph;
use crate::quick_hosts::{self, QuickColumn};
use crate::text::{Cell, Column, Hang, Keep, Style, Table, Tone};

/// One table, a column for each place, and what is to be known of them.
pub fn quick_hosts(columns: &[QuickColumn<'_>], style: &Style) -> String {
    let words = quick_hosts::quick_hosts(columns);
    let column = |(index, head): (usize, &String)| match index {
        0 => Column::words(head, Keep::Always),
        _ => Column::numbers(head, Keep::Always),
    };
    let mut table = Table::new(words.heads.iter().enumerate().map(column).collect());
    for row in &words.rows {
        table.row(row.iter().map(|words| Cell::from(words.as_str())).collect());
    }
    let mut text = table.render(style);
    text.push('\n');
    for note in &words.notes {
        paragraph(&mut text, Tone::Dim, note, Hang { first: 0, rest: 2 }, style);
    }
    text
}
