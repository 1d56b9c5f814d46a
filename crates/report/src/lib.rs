//! Renderers: what a run found, as text for a terminal, a page, or a file.
//!
//! Pure functions of the types of `results` and `workload`. Nothing here prints, reads a clock, touches a file or
//! measures; nothing here decides whether a run may be believed. No number is shown without its conditions: block
//! size, mix, outstanding I/Os and one of the three latencies by its full name.

pub mod charts;
pub mod csv;
pub mod facts;
pub mod fio_json;
pub mod fio_logs;
pub mod format;
pub mod html;
pub mod landing;
pub mod md;
pub mod quick;
pub mod records;
pub mod svg;
pub mod terminal;
pub mod text;
pub mod vdbench_files;

mod compare;
mod conditions;
mod curves;
mod findings;
mod fio_options;
mod grid;
mod moment;
mod rounds;

pub use fio_json::{fio_json, fio_json_with};
pub use fio_logs::{FioLogOptions, LogPrefix, fio_logs};
pub use text::{Style, Tone};
pub use vdbench_files::vdbench_files;
