//! What an audit has found.

use assay_sim::Model;
use assay_sim::audit::{Audit, Change};

use super::source::Source;

/// What was audited, and what a repair makes of it.
pub(crate) struct Audited {
    pub(crate) source: Source,
    pub(crate) model: Model,
    pub(crate) audit: Audit,
    pub(crate) repaired: Option<Repaired>,
}

/// The repaired workload and its audit.
pub(crate) struct Repaired {
    pub(crate) source: Source,
    pub(crate) changes: Vec<Change>,
    pub(crate) audit: Audit,
}
