//! A mail workload, Jetstress-like, on a page store of its own; not Microsoft Jetstress, and its results are not comparable with
//! those of the Exchange Solution Reviewed Program (ESRP).
//!
//! The store is what a mail server's database engine is to the storage below it: pages of 32 KiB in a B+-tree ([`tree`]) behind
//! a buffer pool ([`pool`]), a log in generations of 1 MiB ([`log`]), writes of dirty pages that a checkpoint depth drives
//! ([`flush`]), maintenance that reads and verifies in the background ([`scan`]), and recovery by replay ([`recover`]). It does its
//! I/O through [`disk::Disk`], so that tests run it in memory with crashes; [`files`] is the real one, which times each I/O.
//! [`Mail`] makes it a kind of job whose sessions do transactions; [`plan`] makes the plans of tests, [`report`] shows their results.
//!
//! This crate knows nothing of arguments, of exit codes, and of how runs are stored.

pub mod disk;
pub mod error;
pub mod files;
pub mod flush;
mod instance;
pub mod key;
mod kind;
pub mod layout;
pub mod ledger;
pub mod load;
pub mod log;
pub mod message;
pub mod operations;
pub mod page;
pub mod plan;
mod planned;
pub mod pool;
pub mod recover;
pub mod report;
pub mod scan;
mod session;
pub mod settings;
pub mod store;
pub mod tree;
mod whole;

#[cfg(test)]
mod memory;
#[cfg(test)]
mod tests;

pub use kind::Mail;
pub use plan::{Action, asked, workload};
pub use planned::MailInPlans;
pub use settings::Settings;
