//! What is kept of a job over time beside its rates: how many I/Os had which latency, and what each worker did. Both are cut into
//! so few steps that a run of days stays small.

use serde::{Deserialize, Serialize};

/// Completion latencies over time: what a heat map shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyOverTime {
    /// Start of the first step, seconds from the start of the measured part.
    pub start_s: f64,
    /// Length of a step, seconds.
    pub step_s: f64,
    /// The edges of the rows of latency, nanoseconds, ascending: one more than there are rows.
    pub edges_ns: Vec<u64>,
    /// I/Os completed in each step, by row of latency. An I/O belongs to the step in whose reporting period it completed.
    pub ios: Vec<Vec<u64>>,
}

/// What one worker did over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IopsOverTime {
    /// Length of a step, seconds; the first starts with the time in which all workers measured.
    pub step_s: f64,
    /// I/Os per second in each step, to four digits.
    pub iops: Vec<f64>,
}
