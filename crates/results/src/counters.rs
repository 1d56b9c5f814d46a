//! What the kernel counted while a run was measured: devices, processes, the system, the control group.
//!
//! Filled by crate `host` once a second. Each type carries running totals as the kernel gives them and, where
//! the doc says *gauge*, values of the moment. `delta(earlier, later)` subtracts the totals and keeps the
//! later gauges; a total that went backwards (a counter reset, a replaced device) yields 0, never a wrapped
//! giant. `None` means
//! *not known*: the kernel does not count it or did not let us read it.

use serde::{Deserialize, Serialize};

mod cgroup;
mod device;
mod interface;
mod process;
mod system;

pub use cgroup::{CgroupCounters, CgroupIo};
pub use device::DeviceCounters;
pub use interface::InterfaceCounters;
pub use process::{PULSE_NS, ProcessCounters, ProcessRole, ThreadCounters};
pub use system::{CpuTimes, PressureTotals, SystemCounters};

/// All counters at one moment, or (from [`Counters::delta`]) over a span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Monotonic clock when the snapshot was begun; in a delta, the time between the two.
    pub at_ns: u64,
    /// One entry a device asked for, in that order.
    pub devices: Vec<DeviceCounters>,
    /// One entry a network interface asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceCounters>,
    /// One entry a process asked for.
    pub processes: Vec<ProcessCounters>,
    /// The whole machine.
    pub system: SystemCounters,
    /// The control group of the first process.
    pub cgroup: Option<CgroupCounters>,
}

impl Counters {
    /// What happened between two snapshots. Devices and processes that are not in both are left out.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        let pair = |name: &str| earlier.devices.iter().find(|d| d.name == name);
        Self {
            at_ns: later.at_ns.saturating_sub(earlier.at_ns),
            devices: later
                .devices
                .iter()
                .filter_map(|b| pair(&b.name).map(|a| DeviceCounters::delta(a, b)))
                .collect(),
            interfaces: later
                .interfaces
                .iter()
                .filter_map(|b| {
                    let a = earlier.interfaces.iter().find(|a| a.name == b.name)?;
                    Some(InterfaceCounters::delta(a, b))
                })
                .collect(),
            processes: later
                .processes
                .iter()
                .filter_map(|b| {
                    let a = earlier.processes.iter().find(|p| p.pid == b.pid)?;
                    Some(ProcessCounters::delta(a, b))
                })
                .collect(),
            system: SystemCounters::delta(&earlier.system, &later.system),
            cgroup: earlier
                .cgroup
                .as_ref()
                .zip(later.cgroup.as_ref())
                .map(|(a, b)| CgroupCounters::delta(a, b)),
        }
    }

    /// The device of this kernel name.
    pub fn device(&self, name: &str) -> Option<&DeviceCounters> {
        self.devices.iter().find(|d| d.name == name)
    }
}

/// Difference of two totals that may both be unknown.
pub(crate) fn known_delta(earlier: Option<u64>, later: Option<u64>) -> Option<u64> {
    earlier.zip(later).map(|(a, b)| b.saturating_sub(a))
}

#[cfg(test)]
mod tests;
