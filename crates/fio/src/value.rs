//! What an option line means once it is read.

use std::sync::Arc;

use super::distribution::{Distribution, SplitPart};
use super::pattern::Pattern;

/// A length that may depend on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Bytes.
    Bytes(u64),
    /// Per cent of the file or device.
    Percent(u8),
    /// Zones of a zoned device.
    Zones(u64),
}

/// Limit of the steady state detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SteadyCriterion {
    /// `iops`, `bw`, `lat`, or one of them with `_slope`.
    pub(crate) metric: &'static str,
    /// The allowed deviation or slope: in per cent, or in the metric's own unit.
    pub(crate) limit: f64,
    /// Whether `limit` is per cent.
    pub(crate) percent: bool,
}

/// The value of one option, by the shape its table entry names.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// Text as written.
    Text(String),
    /// A flag or a boolean.
    Flag(bool),
    /// One number.
    Number(i64),
    /// Read, write, trim; `None` where nothing was said.
    Triple([Option<u64>; 3]),
    /// A length.
    Size(Size),
    /// A time in microseconds.
    Micros(u64),
    /// Low and high, in bytes or microseconds.
    Span(u64, u64),
    /// Low and high in bytes for read, write, trim.
    Ranges([Option<(u64, u64)>; 3]),
    /// A word, and what follows it behind a colon.
    Word(&'static str, Option<String>),
    /// Words, and what follows them behind a colon.
    Words(Vec<&'static str>, Option<String>),
    /// Numbers.
    Floats(Vec<f64>),
    /// Block sizes with shares for read, write, trim.
    Splits(Box<[Vec<SplitPart>; 3]>),
    /// Where random I/O goes.
    Distribution(Box<Distribution>),
    /// File names, each joined to the directory that held at its line.
    Files(Arc<Vec<String>>),
    /// Bytes of a buffer.
    Pattern(Arc<Pattern>),
    /// Processor numbers.
    Cpus(Vec<u32>),
    /// Tolerated errors of reads, writes, verification.
    Errors(Box<[Vec<String>; 3]>),
    /// A steady state criterion.
    Steady(SteadyCriterion),
}
