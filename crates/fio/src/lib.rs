//! Everything about fio: its job files and command line, its results, logs and traces, each read and written.
//!
//! Pure: files reach it as text through a loader, and nothing is run, printed or exited here. One entry of the table
//! (`options.toml`) says of each option what becomes of it; the rules behind the entries (`rules`) go both
//! ways, from options to a job of the model and back.
//!
//! [`parse`] reads a job file the way fio does, its traps included, and says what a reader may not expect:
//!
//! * *errors*: what fio refuses too, with file, line, column, word and rule; nothing runs,
//! * *losses*: options whose meaning is not carried over, with the nearest equivalent,
//! * *notes*: where a file means something else than it seems to.
//!
//! The result is a [`JobFile`]; [`JobFile::expand`] lists its jobs and clones in fio's order with every option resolved
//! ([`ResolvedJob`]).
//!
//! Facts about the language: fio's manual, and fio 3.42 and 3.33 tried on the same files.

mod arith;
mod bins;
mod checks;
mod command_line;
mod compressed;
mod distribution;
mod each_io;
mod errno;
mod expand;
mod figures;
mod import;
mod interim;
mod iolog;
mod job_file;
mod json;
mod lines;
mod log_value;
mod logs;
mod lower;
mod number;
mod pattern;
mod program;
mod program_words;
mod read_value;
mod recognise;
mod report;
mod reporting;
mod resolve;
mod resolved;
mod resolved_line;
mod rules;
mod section;
mod settings;
pub mod status;
mod substitute;
mod table;
mod text;
mod value;
mod write;

#[cfg(test)]
mod tests;

use assay_formats::Diagnostic;
use assay_formats::loader::Loader;

pub use command_line::{Action, CommandLine, Eta, Program, parse_command_line, parse_command_line_with};
pub use compressed::{compressed_log, inflate_log};
pub use each_io::LoggedIo;
pub use figures::{FioFigures, program_of};
pub use import::{ImportError, import};
pub use interim::Interim;
pub use iolog::iolog;
pub use job_file::JobFile;
pub use json::{fio_json, fio_json_reported, fio_json_with, version};
pub use logs::{FioLogOptions, LogPrefix, aggregate_logs, fio_logs, fio_logs_asked};
pub use lower::{lower, settle_headers, settle_offsets};
pub use program_words::in_order;
pub use recognise::recognise;
pub use reporting::Reporting;
pub use resolved::ResolvedJob;
pub use settings::{OptionFate, OptionLine};
pub use substitute::System;
pub use text::{FioReport, LOG, OUTPUT, ReportForm, ReportForms, TerseVersion, is_former};
pub use write::{write, write_plan};

/// Reads a job file. `name` is what positions say; `loader` gives included files and environment variables.
///
/// The keywords `$mb_memory` and `$ncpus` are refused, since nothing is known of the machine; see [`parse_with`].
/// The file is `None` exactly if one of the diagnostics is an error.
pub fn parse(name: &str, text: &str, loader: &dyn Loader) -> (Option<JobFile>, Vec<Diagnostic>) {
    parse_with(name, text, loader, &System::default())
}

/// As [`parse`], with values for `$pagesize`, `$mb_memory` and `$ncpus`.
pub fn parse_with(
    name: &str,
    text: &str,
    loader: &dyn Loader,
    system: &System,
) -> (Option<JobFile>, Vec<Diagnostic>) {
    let mut builder = job_file::Builder::new(loader, system);
    builder.text(name, text);
    builder.finish(name, true)
}
