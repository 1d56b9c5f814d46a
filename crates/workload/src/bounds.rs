//! How much there may be in a plan.

/// Targets a plan may have.
pub const TARGETS_MAX: usize = u16::MAX as usize;
/// Outstanding I/Os a thread may have.
pub const OUTSTANDING_MAX: u32 = 65_536;
/// Threads a job may have.
pub const THREADS_MAX: u32 = 16_384;
