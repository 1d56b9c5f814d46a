//! Text for a terminal of a given width: tones, wrapping, tables.

mod style;
mod table;
mod wrap;

pub(crate) use style::width;
pub use style::{Style, Tone, visible, visible_lines};
pub(crate) use table::{Cell, Column, Keep, Table, left_out_note};
pub(crate) use wrap::{Hang, wrap};

/// Words as a sentence, where they do not end as one yet.
pub fn sentence(words: &str) -> String {
    let ends = |word: &str| word.ends_with(['.', '!', '?', ':', '…']);
    if words.is_empty() || ends(words) { words.to_owned() } else { format!("{words}.") }
}
