//! What is needed to read results of other tools as a [`Run`](crate::run::Run), and to write a run as theirs.
//!
//! What the other tool measured is kept as it said it: latencies keep its definition, which
//! [`Producer::latency_definition`](crate::run::Producer::latency_definition) and a remark state, and percentiles that
//! cannot be had without adding up others are not there. What it did not say is not known: most checks then say so.
//! Which tools there are is not known here.

mod assemble;
mod contradictions;
mod moment;
mod pool;
mod reported;

pub use assemble::{Found, assemble, cut, engine_of};
pub use contradictions::Contradictions;
pub use moment::Moment;
pub use pool::{Latency, pool_latency, pool_ops, total_of};
pub use reported::{planned_of, reported_phases};

/// Longer texts are refused.
pub const TEXT_BYTES_MAX: usize = 128 << 20;
/// More jobs, or more rows of results, are refused.
pub const ENTRIES_MAX: usize = 100_000;
