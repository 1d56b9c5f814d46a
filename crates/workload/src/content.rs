//! What is written: the specification. [`crate::fill`] makes the bytes.

use serde::{Deserialize, Serialize};

/// How the bytes of write buffers look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// Incompressible.
    Random,
    /// All zero. A device that detects zeros stores nothing.
    Zero,
    /// This pattern again and again.
    Pattern(Vec<u8>),
}

/// When the bytes change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// Made anew for every write (fio `refill_buffers`).
    EveryWrite,
    /// A few bytes per 4 KiB block are changed for every write, so that no two blocks are equal
    /// (fio `scramble_buffers`, vdbench's default).
    Stamp,
    /// Never: the same buffers are written again and again.
    Never,
}

/// When a write counts as acknowledged: from then on no crash may lose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Acknowledged {
    /// When a flush that began after it had completed has succeeded; with O_SYNC or O_DSYNC when it completes.
    #[default]
    Flushed,
    /// When it completes: for direct writes to storage without a volatile cache, and for crashes of the program alone.
    Completed,
}

/// How a run remembers its writes across a crash.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DataJournal {
    /// What the storage must not lose.
    pub acknowledged: Acknowledged,
    /// The directory of the journal; `None`: that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// How blocks hold a pattern that is verified.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PatternBlocks {
    /// Each sector begins with a header; without headers what is read is compared with the pattern itself.
    pub headers: bool,
    /// Positions in the pattern where eight bytes are the offset in the target, little endian, of the block, or of the part of it in
    /// which the pattern begins again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offset_at: Vec<u32>,
    /// The pattern begins again after so many bytes of a block; 0: with each block only.
    pub restart_bytes: u64,
}

/// Content of writes, with the reduction a reducing target should find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The incompressible or fixed part.
    pub payload: Payload,
    /// When they change.
    pub refresh: Refresh,
    /// Target compression ratio, 1.0 = incompressible, 2.0 = half is compressible.
    pub compression_ratio: f64,
    /// Target deduplication ratio, 1.0 = every block unique, 2.0 = every second block is a duplicate.
    pub dedup_ratio: f64,
    /// The unit within which duplicates are made, in bytes.
    pub dedup_unit_bytes: u64,
    /// Whether writes carry self-describing blocks ([`crate::block`]) and reads check them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub verify: bool,
    /// With `verify`: what was written is read back and compared at once (vdbench `-vr`, fio `verify_backlog=1`). These reads are
    /// counted apart from those of the pattern.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reread: bool,
    /// With `verify`: all that is read was written by this program, in this run or in an earlier one, so that a block without headers is
    /// wrong, as for fio; else nothing is known of it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub written: bool,
    /// With `verify`: how blocks hold the pattern of the payload; `None`: behind headers, without offsets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern_blocks: Option<PatternBlocks>,
    /// With `written` and reads alone: what is read is what a job of the same pattern with this share of reads, per cent, writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_beside_reads_percent: Option<f64>,
    /// With `verify`: a thread ends its job at this many wrong blocks, at least 1, which do not count among the errors that a job
    /// tolerates; `None`: they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_errors_max: Option<u64>,
    /// With `verify`: a journal of the writes, by which they are proved after a crash; `None`: none is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<DataJournal>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Default for Content {
    /// Random, stamped for every write, neither compressible nor duplicate.
    fn default() -> Self {
        Content {
            payload: Payload::Random,
            refresh: Refresh::Stamp,
            compression_ratio: 1.0,
            dedup_ratio: 1.0,
            dedup_unit_bytes: 4096,
            verify: false,
            reread: false,
            written: false,
            pattern_blocks: None,
            written_beside_reads_percent: None,
            data_errors_max: None,
            journal: None,
        }
    }
}
