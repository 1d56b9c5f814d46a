//! Faults of a storage, injected by a file system of our own, and what a run says of them: what was injected is what is
//! reported.

use assay_workload::job::EngineKind;

mod faults {
    pub(crate) mod content;
    pub(crate) mod device;
    pub(crate) mod hang;
    pub(crate) mod matrix;
    pub(crate) mod power;
    pub(crate) mod stage;
}
#[path = "../../../xtask/support/bounded.rs"]
mod bounded;
#[path = "../../../xtask/support/skip.rs"]
mod skip;
mod support;

/// The engines that reach the kernel in different ways.
const ENGINES: [EngineKind; 3] = [EngineKind::Psync, EngineKind::Libaio, EngineKind::IoUring];
