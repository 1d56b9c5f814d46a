//! The order of phases, and the built-in series.
//!
//! A machine without I/O: it decides what starts when and passes events on; what a phase does is up to the
//! [`Executor`] that is injected. It knows no clock, no engine, no files.

mod after;
pub mod conductor;
mod curve;
mod following;
pub mod grid;
mod interleave;
pub mod multiply;
mod present;
mod rates;
mod search;
mod seen;
pub mod series;
mod steady;
pub mod tiles;
mod watch;
pub mod workplace;

pub use conductor::{Executor, HostInfo, PhaseOutcome, When, conduct};
pub use interleave::interleaved;
