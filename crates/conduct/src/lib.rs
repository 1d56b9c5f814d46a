//! Who goes next: the order of phases, and the built-in series.
//!
//! A machine without I/O: it decides what starts when and passes events on; what a phase does is up to the
//! [`Executor`] that is injected. It knows no clock, no engine, no files.

pub mod conductor;
pub mod series;

pub use conductor::{Executor, PhaseOutcome, conduct};
