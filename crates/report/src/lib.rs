//! Renderers: what a run found, as text for a terminal, a page, or a file.
//!
//! Pure functions of the types of `results` and `workload`. Nothing here prints, reads a clock, touches a file or
//! measures; nothing here decides whether a run may be believed. No number is shown without its conditions: block
//! size, mix, outstanding I/Os and one of the three latencies by its full name.

pub mod audit;
pub mod charts;
pub mod crosscheck;
pub mod csv;
pub mod facts;
pub mod format;
pub mod hlog;
pub mod html;
pub mod landing;
pub mod listing;
pub mod md;
pub mod openmetrics;
pub mod probe;
pub mod quick;
pub mod quick_hosts;
pub mod records;
pub mod svg;
pub mod terminal;
pub mod text;

mod answer;
mod compare;
mod conditions;
mod curves;
mod data;
mod findings;
mod grid;
mod hosts;
mod notes;
mod repeats;
mod rounds;
mod service;
mod together;
mod worker_grid;

/// The answer in short, a sentence each; empty where there is nothing to say.
pub fn answer_words(run: &assay_results::Run) -> [String; 3] {
    answer::answer(run)
}

pub use text::{Style, Tone, visible, visible_lines};
