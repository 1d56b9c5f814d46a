//! Samplers for a running measurement.
//!
//! A [`Sampler`] keeps the kernel's files open and reads each again at every snapshot; nothing but the
//! snapshot itself is allocated. One snapshot of two devices and one process takes well under a millisecond,
//! so a sampler thread can run once a second beside a measurement. The records and their differences are in
//! [`assay_results::counters`].

use assay_results::counters::{Counters, DeviceCounters, ProcessCounters};
use rustix::time::{ClockId, clock_gettime};

use crate::root::HostRoot;

mod cgroup;
mod device;
mod interface;
mod kernel;
mod process;
mod pulse;
mod source;
mod system;

use cgroup::CgroupSampler;
use device::DeviceSampler;
use interface::InterfaceSampler;
use process::ProcessSampler;
pub use process::process_tree;
pub use pulse::Pulse;
use system::SystemSampler;

/// What to sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Kernel names of block devices, partitions included.
    pub devices: Vec<String>,
    /// Kernel names of network interfaces.
    pub interfaces: Vec<String>,
    /// Process ids; [`own_pid`] for this process.
    pub processes: Vec<u32>,
    /// Whether to list each thread of each process.
    pub threads: bool,
}

/// The id of this process.
pub fn own_pid() -> u32 {
    std::process::id()
}

/// Reads all counters of a selection, again and again.
#[derive(Debug)]
pub struct Sampler {
    root: HostRoot,
    devices: Vec<DeviceSampler>,
    interfaces: Vec<InterfaceSampler>,
    processes: Vec<ProcessSampler>,
    threads: bool,
    system: SystemSampler,
    cgroup: CgroupSampler,
}

impl Sampler {
    /// Opens what is needed. What is missing is left out of the snapshots.
    pub fn new(root: &HostRoot, selection: &Selection) -> Self {
        let mut sampler = Self {
            root: root.clone(),
            devices: selection.devices.iter().map(|name| DeviceSampler::new(root, name)).collect(),
            interfaces: selection.interfaces.iter().map(|name| InterfaceSampler::new(root, name)).collect(),
            processes: Vec::new(),
            threads: selection.threads,
            system: SystemSampler::new(root),
            cgroup: CgroupSampler::of_self(root),
        };
        sampler.select_processes(&selection.processes);
        sampler
    }

    /// Changes the processes to follow, as when a watched command has made children. Those that stay keep
    /// their open files.
    pub fn select_processes(&mut self, pids: &[u32]) {
        self.processes.retain(|process| pids.contains(&process.pid()));
        for &pid in pids {
            if !self.processes.iter().any(|process| process.pid() == pid) {
                self.processes.push(ProcessSampler::new(&self.root, pid));
            }
        }
    }

    /// All counters now. Devices that vanished and processes that ended are left out.
    pub fn snapshot(&mut self) -> Counters {
        let threads = self.threads;
        Counters {
            at_ns: monotonic_ns(),
            devices: self.devices.iter_mut().filter_map(DeviceSampler::snapshot).collect(),
            interfaces: self.interfaces.iter_mut().filter_map(InterfaceSampler::snapshot).collect(),
            processes: self.processes.iter_mut().filter_map(|process| process.snapshot(threads)).collect(),
            system: self.system.snapshot(),
            cgroup: self.cgroup.snapshot(),
        }
    }

    /// The devices alone: the cheapest look at what is in flight.
    pub fn device_snapshot(&mut self) -> Vec<DeviceCounters> {
        self.devices.iter_mut().filter_map(DeviceSampler::snapshot).collect()
    }

    /// The processes alone.
    pub fn process_snapshot(&mut self) -> Vec<ProcessCounters> {
        let threads = self.threads;
        self.processes.iter_mut().filter_map(|process| process.snapshot(threads)).collect()
    }
}

/// CLOCK_MONOTONIC.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// Nanoseconds of a clock tick, in which the kernel counts processor time for user space.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

#[cfg(test)]
mod tests;
