//! Drives, and how addresses map to them.

use serde::{Deserialize, Serialize};

use super::Size;
use crate::service::{Service, Time};

/// How data is spread over the drives and protected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Protection {
    /// Striped.
    Raid0 {
        /// Bytes on one drive before the next one's turn.
        stripe: Size,
    },
    /// Everything on every drive.
    Raid1,
    /// Striped over pairs of drives.
    Raid10 {
        /// Bytes on one pair before the next one's turn.
        stripe: Size,
    },
    /// Striped with one parity unit a row, whose place rotates. A part of a row is written by reading and rewriting data
    /// and parity.
    Raid5 {
        /// Bytes on one drive before the next one's turn.
        stripe: Size,
    },
    /// Each unit on a drive that a hash of its number picks: evenly, whatever the pattern.
    Spread {
        /// Bytes that stay together.
        unit: Size,
    },
    /// Segments are objects with copies on several controllers (nodes), which hold the drives. Reads go to the first copy;
    /// a write is done when all copies are.
    Replicated {
        /// Copies in all.
        copies: u16,
        /// From one node to another and back.
        network: Service,
        /// Work of a node for a copy it stores, on the first free of its cores.
        store: Service,
    },
}

/// A solid-state drive: servers (dies, channels) that work side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ssd {
    /// How many.
    pub servers: u16,
    /// Reading one chunk.
    pub read: Service,
    /// Writing one chunk.
    pub write: Service,
    /// Larger requests are spread over the servers in pieces of this size.
    pub chunk: Size,
    /// Bytes a second of reads, all servers together.
    pub read_bytes_per_s: f64,
    /// Bytes a second of writes, all servers together.
    pub write_bytes_per_s: f64,
}

/// A disk: one head; a seek, a wait for the sector, a transfer. Requests are served in the order they come (no reordering).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hdd {
    /// Revolutions a minute.
    pub rpm: f64,
    /// Bytes.
    pub capacity: Size,
    /// Seek to the next track.
    pub seek_min: Time,
    /// Seek over the whole disk; in between the time grows with the root of the distance.
    pub seek_max: Time,
    /// Bytes a second at the outer edge, where addresses start.
    pub outer_bytes_per_s: f64,
    /// Bytes a second at the inner edge.
    pub inner_bytes_per_s: f64,
    /// Command processing.
    #[serde(default)]
    pub overhead: Service,
}

/// What a drive is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drive {
    /// Flash.
    Ssd(Ssd),
    /// A disk.
    Hdd(Hdd),
}

/// The drives of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackEnd {
    /// How many.
    pub drives: u16,
    /// How data is spread.
    pub protection: Protection,
    /// What they are.
    pub drive: Drive,
}
