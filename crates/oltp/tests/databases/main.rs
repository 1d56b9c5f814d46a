//! Databases as users have them: built, run on, checked, killed.

#[path = "../../../../xtask/support/bounded.rs"]
mod bounded;
mod planned;
mod postgres;
mod power;
mod server;
#[path = "../../../../xtask/support/skip.rs"]
mod skip;
mod sqlite;
mod support;
