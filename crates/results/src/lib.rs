//! What happened: the records of a run and what is concluded from them.
//!
//! [`event::RunEvent`]s stream in while a run goes; the builder makes a [`Run`] of them, the same way while
//! recording and when a killed run is recovered. Verdicts are made here once and shown by every renderer.
//! Only the module `store` touches files. This crate knows nothing of engines, clocks or renderers.

pub mod answer;
pub mod audit;
pub mod baseline;
pub mod build;
pub mod checks;
pub mod compare;
pub mod counters;
pub mod crosscheck;
pub mod data;
mod done_by;
pub mod environment;
pub mod event;
pub mod evidence;
#[cfg(test)]
pub(crate) mod fixture;
pub mod foreign;
pub mod histogram;
pub mod hosts;
pub mod interval;
pub mod keys;
pub mod knee;
mod levels;
pub mod live;
mod metric;
pub mod over_time;
pub mod probe;
pub mod run;
#[cfg(feature = "samples")]
pub mod samples;
#[cfg(any(test, feature = "schema"))]
pub mod schema;
pub mod search;
pub mod series;
pub mod service;
pub mod stats;
pub mod steady;
pub mod store;
pub mod summary;
mod varint;
pub mod worker_grid;

pub use build::RunBuilder;
pub use done_by::DoneBy;
pub use event::{HostEvent, HostId, HostSink, JobOutcome, RunEnd, RunEvent, ShortTransfers};
pub use histogram::LatencyHistogram;
pub use interval::{Interval, IntervalKey, JobCounts, NamedCounts, OpCounts};
pub use run::{Finding, FindingSeverity, Run, Verdict};
