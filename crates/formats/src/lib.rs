//! What the languages of workload files share, Assay's own language, and traces.
//!
//! Pure: a parser gets text and a [`loader::Loader`] for includes, and returns a value *and* diagnostics with positions.
//! It never prints, never exits, never touches the system. Every option of a foreign file is either honoured or
//! reported with its line and the nearest equivalent.

pub mod diagnostic;
pub mod foreign_command;
pub mod loader;
pub mod native;
pub mod near;
pub mod recognise;
pub mod shell;
pub mod terms;
pub mod trace;

pub use diagnostic::{Affects, Collector, Diagnostic, Position, Severity, WordPosition};
