//! Has it settled? Three different questions, kept apart.
//!
//! * [`snia`]: SNIA's rule over rounds of minutes. This, and nothing else here, is called steady state.
//! * [`fio`]: fio's `steadystate` criteria, for plans that carry them.
//! * [`stationary`]: whether a short measured window moved while it was measured. A window that did not move
//!   says nothing about what comes after it, so it is never called steady.
//!
//! The rules and what they do not catch: `docs/methodology/steady-state.md`.

pub mod fio;
mod rounds;
pub mod snia;
pub mod stationary;

pub use fio::{FioCriterion, FioRule, FioVerdict};
pub use rounds::{RoundChoice, RoundLimits, RoundReason, round_length};
pub use snia::{SniaFailure, SniaOutcome, SniaRule, SniaVerdict, SniaWindow};
pub use stationary::{Stationarity, StationarityRule, StationarityVerdict, stationarity};
