//! OLTP as a load: a database and five transactions derived from the TPC-C standard (revision 5.11), on PostgreSQL and on SQLite.
//!
//! Its results are not TPC results and cannot be compared with any; see `docs/decisions/2026-11-23-oltp.md`. Money is whole cents.
//! This crate knows nothing of how results are stored or shown, of arguments or of exit codes.

mod admin;
mod command;
mod conditions;
mod crash;
mod database;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod inputs;
mod kind;
mod ledger;
mod monitor;
mod options;
mod planned;
mod postgres;
mod presence;
mod progress;
mod rows;
mod scale;
mod schema;
mod session;
mod settings;
mod sqlite;
mod text;
mod user;

pub use command::{PreparedRun, build, build_scaled, check, prepare_run, prepare_scaled};
pub use conditions::{Checked, Held};
pub use crash::{Outside, crash, rounds as crash_rounds};
pub use database::{Here, Report};
pub use error::{Asked, Class, Error, Unfit};
pub use inputs::{HomeWarehouse, Mix};
pub use kind::{OPERATIONS, Oltp};
pub use options::{Given, OPTIONS, OptionWords, Verb, WHERE};
pub use planned::OltpInPlans;
pub use postgres::ServerUrl;
pub use progress::{Progress, Watcher};
pub use scale::Scale;
pub use settings::{KIND, Place, Settings, Synchronous};
