//! `series.bin`: every reporting period of a run, with its histograms.
//!
//! A header, then frames that each carry their length and a checksum, so that a file cut anywhere is readable up to
//! there. One frame is one [`Interval`]; behind those of ten seconds and of a minute comes their sum, so that a reader
//! of a long run need not decode each second. Sums merge histograms; no percentile is stored.
//! The layout is described in `docs/formats/series.md`, with its changelog.

mod checksum;
mod codec;
mod pyramid;
mod reader;
mod writer;

use std::io;

use crate::event::HostId;
use crate::interval::{Interval, IntervalKey};

pub use reader::{LevelContent, SeriesReader, Tail, read_level};
pub use writer::{SeriesEncoder, SeriesWriter};

/// The first bytes of the file.
pub const MAGIC: [u8; 8] = *b"ASSAYSER";
/// Files of another major version are not read.
pub const MAJOR: u16 = 1;
/// Files of a later minor version are read; what this program does not know in them is left out.
pub const MINOR: u16 = 1;
/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 16;
/// A longer frame is not written, and when reading means damage. The 52 histograms of a
/// tree job, were they full, would take 3.1 MB.
pub const FRAME_BYTES_MAX: u32 = 1 << 22;

/// How much time one frame stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One reporting period, a second as a rule.
    Period,
    /// The periods that start within the same ten seconds of the phase.
    TenSeconds,
    /// Those of the same minute.
    Minute,
}

impl Level {
    /// The sums, finest first.
    pub const SUMS: [Level; 2] = [Level::TenSeconds, Level::Minute];

    /// Its length in nanoseconds; 0 for [`Level::Period`], whose frames carry theirs.
    pub fn length_ns(self) -> u64 {
        match self {
            Level::Period => 0,
            Level::TenSeconds => 10_000_000_000,
            Level::Minute => 60_000_000_000,
        }
    }
}

/// One frame: an interval, or the sum of several.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Which host's.
    pub host: HostId,
    /// How much time it stands for.
    pub level: Level,
    /// What was counted. Of a sum, `key.index` is the number of its ten seconds or minute from the start of the phase.
    pub interval: Interval,
}

/// An interval as it is sent from host to host: the payload of its frame.
pub fn encode_interval(interval: &Interval) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    codec::encode(HostId::FIRST, Level::Period, interval, &mut out);
    out
}

/// What [`encode_interval`] made; `None` for what makes no sense.
pub fn decode_interval(payload: &[u8]) -> Option<Interval> {
    codec::decode_head(payload)?.decode().map(|frame| frame.interval)
}

/// Why a file cannot be read as a series.
#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    /// It does not begin as a series does.
    #[error("not a series file")]
    NotASeries,
    /// It was written by a program with another format.
    #[error("series format {found} is not readable by this program, which reads {MAJOR}")]
    OtherMajor {
        /// The major version in the file.
        found: u16,
    },
    /// Reading or writing failed.
    #[error("series: {0}")]
    Io(#[from] io::Error),
}

/// An interval in as little memory as in a frame.
pub(crate) fn pack(interval: &Interval, payload: &mut Vec<u8>) {
    codec::encode(HostId::FIRST, Level::Period, interval, payload);
}

/// What [`pack`] made of its key.
pub(crate) fn unpacked_key(payload: &[u8]) -> Option<IntervalKey> {
    Some(codec::decode_head(payload)?.key)
}

/// What [`pack`] made.
pub(crate) fn unpacked(payload: &[u8]) -> Option<Interval> {
    Some(codec::decode_head(payload)?.decode()?.interval)
}

#[cfg(test)]
mod tests;
