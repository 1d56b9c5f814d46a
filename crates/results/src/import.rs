//! Results of other tools as a [`Run`]: the JSON of fio 3.x, and the flat file of vdbench.
//!
//! What the other tool measured is kept as it said it: latencies keep its definition, which
//! [`Producer::latency_definition`](crate::run::Producer::latency_definition) and a remark state, and percentiles that
//! cannot be had without adding up others are not there. What it did not say is not known: most checks then say so.
//!
//! Any text is read in bounded time and memory, and without a panic.

mod assemble;
pub mod fio_bins;
mod fio_job;
mod fio_json;
mod fio_options;
mod pool;
mod vdbench_flatfile;
mod vdbench_run;

pub use fio_json::fio_json;
pub use vdbench_flatfile::vdbench_flatfile;

use crate::run::Run;

/// Longer texts are refused.
pub const TEXT_BYTES_MAX: usize = 128 << 20;
/// More jobs, or more rows of results, are refused.
pub const ENTRIES_MAX: usize = 100_000;

/// A kind of result that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFormat {
    /// JSON or JSON+ of fio 3.x.
    FioJson,
    /// `flatfile.html` of vdbench.
    VdbenchFlatfile,
}

/// Why a text is not a result that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// It is longer than [`TEXT_BYTES_MAX`].
    #[error("the text is longer than {} MiB", TEXT_BYTES_MAX >> 20)]
    TooLong,
    /// It is none of the formats.
    #[error("this is neither fio's JSON nor a flat file of vdbench")]
    Unknown,
    /// fio's terse output, which does not say under which conditions its numbers hold.
    #[error(
        "fio's terse output does not say the block size, the engine or how much was outstanding; \
         --output-format=json+ does (terse,json+ writes both)"
    )]
    Terse,
    /// It began as JSON, and is not.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but not of fio.
    #[error("this JSON is not fio's: {0}")]
    NotFio(String),
    /// fio before 3.0 counted in microseconds and KiB under other names.
    #[error("{0} is not readable: fio 3.0 or later is")]
    OldFio(String),
    /// There is no result in it.
    #[error("there is no result in it: {0}")]
    Empty(String),
    /// More than [`ENTRIES_MAX`] jobs or rows.
    #[error("it holds more than {ENTRIES_MAX} results")]
    TooMany,
}

/// What a text is, by its content.
pub fn detect(text: &str) -> Option<ForeignFormat> {
    if text.contains("\"fio version\"") {
        return Some(ForeignFormat::FioJson);
    }
    vdbench_flatfile::is_flatfile(text).then_some(ForeignFormat::VdbenchFlatfile)
}

/// Reads a result of any of the formats.
///
/// # Errors
/// Where it is none of them, or one without a result.
pub fn import(text: &str) -> Result<Run, ImportError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(ImportError::TooLong);
    }
    match detect(text) {
        Some(ForeignFormat::FioJson) => fio_json(text),
        Some(ForeignFormat::VdbenchFlatfile) => vdbench_flatfile(text),
        None if is_terse(text) => Err(ImportError::Terse),
        None => Err(ImportError::Unknown),
    }
}

/// Whether there is a line of fio's terse output, version 3 to 5.
fn is_terse(text: &str) -> bool {
    let starts = ["3;fio-", "4;fio-", "5;fio-"];
    text.lines().any(|line| starts.iter().any(|start| line.starts_with(start)))
}
