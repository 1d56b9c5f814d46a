//! Each trap that a storage benchmark falls into, staged for real, once: the check must speak of it, and of nothing where
//! nothing is staged. One after the other, because they share the machine.

#[path = "../../../../xtask/support/bounded.rs"]
mod bounded;
#[path = "../../../../xtask/support/skip.rs"]
mod skip;

mod cache;
mod clean;
mod device;
mod generator;
mod judge;
mod look;
mod network;
mod probe;
mod stage;
mod trace;
mod tries;
