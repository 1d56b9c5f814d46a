//! Another machine behind one login of the user: what it is, this program's copy there, and what a shell does where this program does
//! not run.

mod connection;
mod copy;
mod directory;
mod machine;
mod recorded;
mod relay;

pub use connection::{Connection, EndedCommand, LoginError, all_of, last_line};
pub use copy::{forget_copies, settle};
pub use directory::{TaggedDirectory, cleanup_command};
pub use machine::{Machine, SEARCH_PATH};
pub use recorded::{Recorded, fetch, forget};
pub use relay::{FAILURE_MARK, relay};
