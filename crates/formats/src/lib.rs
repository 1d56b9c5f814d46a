//! Workload files to and from the workload model: fio job files, vdbench parameter files, Assay's TOML, traces.
//!
//! Pure: a parser gets text and a [`loader::Loader`] for includes, and returns a value *and* diagnostics with positions.
//! It never prints, never exits, never touches the system. Every option of a foreign file is either honoured or
//! reported with its line and the nearest equivalent.

pub mod diagnostic;
pub mod fio;
pub mod loader;
pub mod native;
pub mod near;
pub mod terms;
pub mod trace;
pub mod vdbench;

pub use diagnostic::{Diagnostic, Position, Severity};
