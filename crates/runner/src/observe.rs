//! Following another program: its counters, the files it works on, and the time before and after it.

mod files;
mod follow;
mod made;
mod members;

pub use files::{OpenFile, OpenFiles};
pub use follow::{CommandOutput, Following, ObservedCommand, follow};
pub use made::{Followed, run_of_followed};
pub use members::Members;
