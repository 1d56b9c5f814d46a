//! What receives the I/O.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// What a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file, created and extended as needed.
    File,
    /// A block device; written only with consent that names it.
    BlockDevice,
    /// A directory below which files are made ([`crate::job::TreeWorkload`]).
    Directory,
    /// Nothing real: the null engine and the simulator.
    Null,
}

impl TargetKind {
    /// The name in plans and messages.
    pub fn name(self) -> &'static str {
        match self {
            TargetKind::File => "file",
            TargetKind::BlockDevice => "block device",
            TargetKind::Directory => "directory",
            TargetKind::Null => "nothing",
        }
    }
}

/// A named thing to do I/O on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The name jobs refer to it by.
    pub name: String,
    /// Its path; relative to the working directory of the run.
    pub path: String,
    /// What it is; `None`: found out when the plan is made.
    pub kind: Option<TargetKind>,
    /// How much of it there is to use; `None`: all of an existing file or device.
    pub size: Option<Bytes>,
}

/// The part of a target that may be accessed (SNIA PTS: ActiveRange). Half open, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ActiveRange {
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u64,
}

impl ActiveRange {
    /// The byte behind the last.
    pub fn end(&self) -> u64 {
        self.offset_bytes + self.length_bytes
    }
}

/// A bound given before the size is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Per cent of the target's size, 0 to 100.
    Percent(f64),
}

impl Extent {
    /// In bytes, of a target of `size` bytes.
    pub fn of(self, size: u64) -> u64 {
        match self {
            Extent::Bytes(bytes) => bytes,
            Extent::Percent(percent) => (size as f64 * percent / 100.0) as u64,
        }
    }
}
