//! The I/O path: the [`Engine`] and [`Clock`] seams, the job loop, and the engines.
//!
//! All unsafe code of the project lives here. The job loop is a resumable step machine, so that real engines drive
//! it from one thread per job thread and the simulator drives many of them from one event heap in virtual time.
//! In the measured phase nothing here allocates, locks or logs. This crate knows nothing of file formats, of how
//! results are stored or shown, and nothing of arguments or exit codes.

pub mod available;
mod blocks;
#[cfg(test)]
#[path = "../../../xtask/support/bounded.rs"]
mod bounded;
pub mod buffers;
pub mod choose;
pub mod clock;
pub mod driver;
pub mod ending;
pub mod engines;
mod errno;
pub mod extents;
pub mod file_calls;
pub mod fio_bridge;
mod flow;
pub mod in_flight;
pub mod job_loop;
pub mod kind;
pub mod last_words;
pub mod loops;
pub mod memory;
pub mod operations;
pub mod outcome;
pub mod preparation;
pub mod quota;
pub mod recorder;
pub mod sampler;
pub mod seam;
pub mod standard_streams;
pub mod targets;
pub mod tracing;
pub mod tree;
mod validate;
pub mod watchdog;

pub use blocks::{Blocks, LaidOut};
pub use kind::{JobKind, JobRunner, Machine, PhaseContext, PreparedJobs, ThisMachine, ThreadIndex};
pub use seam::{
    Buffer, BufferPool, Capabilities, Clock, Completion, Completions, Engine, EngineError, Io, OpenTarget,
    QueueFull, Submitted, TargetTable, Wait,
};
pub use tree::Trees;
pub use validate::{CrashedRun, Journal, JournalError, JournalOf, JournaledTarget, Validation};
