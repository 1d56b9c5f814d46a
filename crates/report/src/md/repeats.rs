//! Repeated tests as one table of Markdown.

use std::fmt::Write as _;

use assay_results::Run;

use super::{escape, push_head, push_row};
use crate::repeats::{TITLE, repeats};

/// The table of a run with an empty line behind it; nothing where no test was repeated.
pub(super) fn push_repeats(text: &mut String, run: &Run) {
    let Some(repeats) = repeats(run) else { return };
    let _ = writeln!(text, "### {TITLE}\n");
    push_head(text, &repeats.heads, 2);
    for row in &repeats.rows {
        push_row(text, &row.iter().map(|words| escape(words)).collect::<Vec<String>>());
    }
    let _ = writeln!(text, "\n{}\n", escape(&repeats.note));
}
