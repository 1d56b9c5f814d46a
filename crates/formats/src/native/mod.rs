//! Assay's own plan format: TOML that says everything the workload model has. The reference is docs/formats/plan.md.
//!
//! [`parse`] lowers a text into a [`Workload`] and says what is wrong with file, line, column, word and the nearest
//! known key; [`write()`] is its counterpart. [`profiles`] are the plans that are shipped; [`assay_workload::scale`]
//! fits a plan to the room and the time there is.

mod application;
mod data;
mod document;
mod forms;
mod host;
mod job;
mod key;
mod nearest;
mod node;
mod pattern;
mod profiles;
mod recognise;
#[cfg(test)]
mod reference;
mod scalar;
mod schema;
mod sink;
mod sweep;
mod tree;
mod until;
mod words;
mod write;

use assay_workload::Workload;
use assay_workload::application::ApplicationKind;
use toml::de::DeTable;

use crate::Diagnostic;
use document::Document;
use sink::Sink;

pub use profiles::{Profile, profile, profiles};
pub use recognise::recognise;
pub use schema::{SCHEMA_FILE, schema};
pub use write::write;

/// Longer texts are refused: nobody writes them, and reading one takes about 60 times its size of memory.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Reads a plan. The workload is `None` exactly if one of the diagnostics is an error.
///
/// `name` is what positions say; its last part without ending names a plan that has no `name`. Any input ends, in
/// bounded time and memory: what is longer than [`TEXT_BYTES_MAX`] or stands for too many jobs is an error.
pub fn parse(name: &str, text: &str) -> (Option<Workload>, Vec<Diagnostic>) {
    parse_with(name, text, &[])
}

/// As [`parse`]; applications have to be of one of these kinds, with settings that it knows.
pub fn parse_with(
    name: &str,
    text: &str,
    applications: &'static [&'static dyn ApplicationKind],
) -> (Option<Workload>, Vec<Diagnostic>) {
    if text.len() > TEXT_BYTES_MAX {
        let mut sink = Sink::new(name, "");
        let message = format!("the plan has {} bytes, more than {TEXT_BYTES_MAX}", text.len());
        sink.error("too-large", 0..0, message, "a sweep says many points in few lines");
        return (None, sink.finish());
    }
    let mut sink = Sink::new(name, text);
    sink.applications = applications;
    let root = match DeTable::parse(text) {
        Ok(root) => root,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let help = "a string needs quotes: name = \"value\"; a list needs brackets";
            sink.error("toml-syntax", span, error.message(), help);
            return (None, sink.finish());
        }
    };
    let workload = Document::new(&mut sink).lower(stem(name), root.get_ref());
    let usable = !sink.has_errors();
    (usable.then_some(workload), sink.finish())
}

/// The file name without directories and ending; `plan` where nothing is left.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    if stem.is_empty() { "plan" } else { stem }
}

#[cfg(test)]
mod tests;
