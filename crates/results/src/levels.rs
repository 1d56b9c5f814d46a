//! What came of service levels, as a run keeps it.

use serde::{Deserialize, Serialize};

/// One service level of a job of a phase, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceResult {
    /// The job.
    pub job: String,
    /// What is held against the limit: `new-order p95`, `rate`.
    pub what: String,
    /// What was measured, in `unit`; `None`: no such operation was completed.
    pub value: Option<f64>,
    /// It has to stay below, a rate at or above; in `unit`.
    pub limit: f64,
    /// `ns`, or `ops/s` for a rate.
    pub unit: String,
    /// Operations that it rests on.
    pub n: u64,
    /// Whether it was kept. Nothing measured is not kept.
    pub held: bool,
}

/// How many tiles kept all of their service levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TileScore {
    /// The score: the largest number of tiles at which every tile kept its levels, and with every smaller number as well.
    pub held: u32,
    /// The number of tiles at which one missed a level; `None`: none did, the storage may hold more.
    pub missed_at: Option<u32>,
    /// Tiles at most.
    pub planned: u32,
}
