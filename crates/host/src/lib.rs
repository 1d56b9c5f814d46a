//! What this machine is, what it does while a run is measured, and what may be written on it.
//!
//! * [`environment`]: facts recorded with a run, from the kernel down to the lowest device under each target.
//! * [`counters`]: samplers for devices, processes, the system and the control group.
//! * [`guard`], [`workdir`], [`cleanup`], [`space`]: consent before anything is written, directories that Assay may
//!   remove again, and room to write in.
//! * [`output`]: the one way to write a file that a user names.
//! * [`inventory`]: what this machine offers to the engines (`assay doctor`).
//! * [`extents`], [`cache`]: holes in files, and the page cache.
//!
//! All of it reads below a [`HostRoot`], so that a recorded or invented `/proc` and `/sys` serve as well as
//! the real ones. The crate knows nothing of engines, of the network or of how anything is shown.

pub mod cache;
mod cgroup;
pub mod claim;
pub mod cleanup;
pub mod counters;
mod devices;
pub mod environment;
pub mod extents;
pub mod guard;
mod identity;
pub mod inventory;
mod mounts;
mod network;
mod node;
pub mod output;
mod root;
pub mod space;
pub mod workdir;

#[cfg(test)]
mod testing;

pub use devices::{list_block_devices, read_block_device};
pub use identity::storage_identity;
pub use mounts::{Mount, MountTable};
pub use root::HostRoot;
