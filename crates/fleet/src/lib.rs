//! Many workers, one run: a coordinator that starts workers, gives each its part of a plan, starts phases at one instant, and passes on
//! what each tells; and the worker at the other end of the stream.
//!
//! [`Fleet`] is an [`assay_conduct::Executor`]: results, checks and renderers see hosts, not a fleet. A worker carries phases out through an
//! [`assay_conduct::workplace::Workplace`]; this crate knows no engine and measures nothing. Streams are the standard streams of processes
//! that a launcher started, and no port is open; but where workers are to join (`attach`), over mutual TLS.

pub mod attach;
mod clock;
pub mod coordinate;
mod error;
mod fleet;
pub mod frame;
pub mod kube;
pub mod launch;
mod links;
pub mod login;
pub mod message;
pub mod program;
pub mod session;
pub mod shell;
pub mod worker;

pub use error::{BadWords, FleetError};
pub use fleet::{BeforePhase, Fleet, OnLoss, Options, Terms};
pub use links::Patience;
