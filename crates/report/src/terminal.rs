//! What the command line shows, as text: nothing here prints. Each function answers whole lines, the last one ended,
//! except [`progress_line`], which is one line without an end.

mod check_page;
mod compare;
mod control_group;
mod curve;
mod findings;
mod grid;
mod limits;
mod page;
mod plan;
mod progress;
mod quick;
mod quick_hosts;
mod repeats;
mod sections;
mod storage;
mod summary;
mod worker_grid;

pub use check_page::check_page;
pub use compare::comparison;
pub use control_group::control_group;
pub use findings::{answer, causes, findings, verdict_line};
pub use limits::{Limit, ProcessLimits, process_limits};
pub use page::{Words, figures, page, word_page};
pub use plan::{plan, writes_ahead};
pub use progress::{Progress, progress_line};
pub use quick::{quick_table, quick_words};
pub use quick_hosts::quick_hosts;
pub use sections::{Mark, Row, Section, row, runs_table, sections, stored_runs, words_table};
pub use storage::{block_devices, file_systems};
pub use summary::{heading, run_summary};
pub use worker_grid::worker_grid;

use crate::text::{Hang, Style, Tone, wrap};

/// The lines of a text at this width.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    wrap(text, Hang::flat(0), &Style::plain(width))
}

/// Adds a paragraph in one tone.
fn paragraph(text: &mut String, tone: Tone, words: &str, hang: Hang, style: &Style) {
    for line in wrap(words, hang, style) {
        text.push_str(&style.paint(tone, &line));
        text.push('\n');
    }
}
