//! Counters of a control group.

use serde::{Deserialize, Serialize};

use crate::environment::CgroupDeviceLimit;

/// `cpu.stat`, `memory.current`, `io.stat` of a control group, from either version's files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupCounters {
    /// CPU time of the group.
    pub cpu_ns: Option<u64>,
    /// Quota periods that passed.
    pub periods: Option<u64>,
    /// Of them, periods in which the group ran out of quota.
    pub throttled_periods: Option<u64>,
    /// Time for which threads were held back by the quota, summed over processors.
    pub throttled_ns: Option<u64>,
    /// Gauge: memory charged to the group, page cache included.
    pub memory_bytes: Option<u64>,
    /// Times the group hit its memory limit.
    pub memory_limit_hits: Option<u64>,
    /// Time for which some thread of the group waited for I/O.
    pub io_some_us: Option<u64>,
    /// Bytes and I/Os for each device.
    pub io: Vec<CgroupIo>,
    /// Gauge: limits on devices, the tightest of the group and of all groups above it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_limits: Vec<CgroupDeviceLimit>,
}

impl CgroupCounters {
    /// What the group did between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        let maybe = |field: fn(&Self) -> Option<u64>| super::known_delta(field(earlier), field(later));
        let none = CgroupIo::default();
        Self {
            cpu_ns: maybe(|c| c.cpu_ns),
            periods: maybe(|c| c.periods),
            throttled_periods: maybe(|c| c.throttled_periods),
            throttled_ns: maybe(|c| c.throttled_ns),
            memory_bytes: later.memory_bytes,
            memory_limit_hits: maybe(|c| c.memory_limit_hits),
            io_some_us: maybe(|c| c.io_some_us),
            device_limits: later.device_limits.clone(),
            io: later
                .io
                .iter()
                .map(|b| {
                    // A device appears on its first I/O, so an absent earlier entry is a true zero.
                    let a = earlier.io.iter().find(|a| a.device == b.device).unwrap_or(&none);
                    CgroupIo::delta(a, b)
                })
                .collect(),
        }
    }
}

/// What a control group did on one device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CgroupIo {
    /// `MAJOR:MINOR` of the device.
    pub device: String,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

impl CgroupIo {
    /// What was done between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        Self {
            device: later.device.clone(),
            read_bytes: later.read_bytes.saturating_sub(earlier.read_bytes),
            write_bytes: later.write_bytes.saturating_sub(earlier.write_bytes),
            reads: later.reads.saturating_sub(earlier.reads),
            writes: later.writes.saturating_sub(earlier.writes),
        }
    }
}
