//! Counters of one network interface.

use serde::{Deserialize, Serialize};

/// `/sys/class/net/NAME/statistics`: whole frames of all programs, without preamble and gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InterfaceCounters {
    /// Kernel name of the interface.
    pub name: String,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

impl InterfaceCounters {
    /// What passed between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        Self {
            name: later.name.clone(),
            received_bytes: later.received_bytes.saturating_sub(earlier.received_bytes),
            sent_bytes: later.sent_bytes.saturating_sub(earlier.sent_bytes),
        }
    }
}
