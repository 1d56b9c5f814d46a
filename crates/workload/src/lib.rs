//! What to do: targets, access patterns, jobs, phases, and the resolved [`Plan`].
//!
//! Pure: no I/O, no clock, no threads, no async; randomness comes from a seed that is a parameter. What was asked is a
//! [`Workload`]; what will be done is a [`Plan`], in which every default is resolved and every seed fixed.
//! This crate knows nothing of engines, files on disk, results or reports.

pub mod application;
pub mod arrival;
pub mod block;
mod bounds;
pub mod content;
pub mod distribution;
pub mod empty_as_none;
mod engine_kind;
mod file_operation;
pub mod fill;
pub mod growth;
pub mod host;
pub mod job;
pub mod lun;
mod map;
pub mod operation;
pub mod ops;
pub mod pattern;
pub mod permutation;
pub mod plan;
mod point;
pub mod resolve;
pub mod rng;
pub mod scale;
pub mod service;
pub mod steps;
pub mod target;
pub mod tree;
pub mod units;

pub use file_operation::FileOperation;
pub use job::{Job, Phase, PhaseKind, Workload};
pub use pattern::AccessPattern;
pub use plan::{Plan, PlannedJob, PlannedPhase};
pub use point::SweepPoint;
pub use target::{ActiveRange, Target};
