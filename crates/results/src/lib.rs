//! What happened: the records of a run and what is concluded from them.

pub mod counters;
pub mod environment;
