//! Counters of the whole machine.

use serde::{Deserialize, Serialize};

/// `/proc/stat`, `/proc/vmstat`, `/proc/meminfo` and `/proc/pressure`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SystemCounters {
    /// All processors together.
    pub cpu: CpuTimes,
    /// Each online processor, in the kernel's order.
    pub cpus: Vec<CpuTimes>,
    /// Time of the kernel's own threads (workers, flushers, block devices' threads) since counting began, those that serve
    /// soft interrupts left out: their time is among [`CpuTimes::interrupt_ns`]. `None`: not known.
    pub kernel_threads_ns: Option<u64>,
    /// Context switches.
    pub context_switches: u64,
    /// Interrupts served.
    pub interrupts: u64,
    /// Gauge: threads ready to run or running.
    pub runnable: u64,
    /// Gauge: threads blocked on I/O.
    pub blocked: u64,
    /// Bytes paged in from storage, file data included.
    pub paged_in_bytes: Option<u64>,
    /// Bytes paged out to storage, file data included.
    pub paged_out_bytes: Option<u64>,
    /// Pages swapped in.
    pub swapped_in_pages: Option<u64>,
    /// Pages swapped out.
    pub swapped_out_pages: Option<u64>,
    /// Page faults that needed I/O.
    pub major_faults: Option<u64>,
    /// Pages reclaimed by processes that had to wait for it.
    pub direct_reclaim_pages: Option<u64>,
    /// File pages that were dropped and soon needed again: the working set does not fit the page cache.
    pub refaulted_file_pages: Option<u64>,
    /// Processes killed for want of memory.
    pub oom_kills: Option<u64>,
    /// Gauge: dirty page cache.
    pub dirty_bytes: Option<u64>,
    /// Gauge: page cache being written back.
    pub writeback_bytes: Option<u64>,
    /// Gauge: page cache.
    pub cached_bytes: Option<u64>,
    /// Gauge: memory that could be allocated without swapping.
    pub available_bytes: Option<u64>,
    /// Stall times for want of a resource.
    pub pressure: PressureTotals,
}

impl SystemCounters {
    /// What happened between two snapshots. Processors are paired by position; none are listed when their
    /// number changed.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        let maybe = |field: fn(&Self) -> Option<u64>| super::known_delta(field(earlier), field(later));
        let same = earlier.cpus.len() == later.cpus.len();
        Self {
            cpu: CpuTimes::delta(&earlier.cpu, &later.cpu),
            cpus: if same {
                earlier.cpus.iter().zip(&later.cpus).map(|(a, b)| CpuTimes::delta(a, b)).collect()
            } else {
                Vec::new()
            },
            kernel_threads_ns: maybe(|s| s.kernel_threads_ns),
            context_switches: later.context_switches.saturating_sub(earlier.context_switches),
            interrupts: later.interrupts.saturating_sub(earlier.interrupts),
            paged_in_bytes: maybe(|s| s.paged_in_bytes),
            paged_out_bytes: maybe(|s| s.paged_out_bytes),
            swapped_in_pages: maybe(|s| s.swapped_in_pages),
            swapped_out_pages: maybe(|s| s.swapped_out_pages),
            major_faults: maybe(|s| s.major_faults),
            direct_reclaim_pages: maybe(|s| s.direct_reclaim_pages),
            refaulted_file_pages: maybe(|s| s.refaulted_file_pages),
            oom_kills: maybe(|s| s.oom_kills),
            pressure: PressureTotals::delta(&earlier.pressure, &later.pressure),
            // Gauges.
            runnable: later.runnable,
            blocked: later.blocked,
            dirty_bytes: later.dirty_bytes,
            writeback_bytes: later.writeback_bytes,
            cached_bytes: later.cached_bytes,
            available_bytes: later.available_bytes,
        }
    }
}

/// Time of processors by what they did, in steps of a clock tick. Guest time is contained in user time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuTimes {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode.
    pub system_ns: u64,
    /// Nothing to do.
    pub idle_ns: u64,
    /// Nothing to do while I/O was outstanding.
    pub iowait_ns: u64,
    /// Hard and soft interrupts.
    pub interrupt_ns: u64,
    /// Ready to run, but the hypervisor gave the CPU to another guest.
    pub steal_ns: u64,
}

impl CpuTimes {
    /// What the processors did between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        Self {
            user_ns: later.user_ns.saturating_sub(earlier.user_ns),
            system_ns: later.system_ns.saturating_sub(earlier.system_ns),
            idle_ns: later.idle_ns.saturating_sub(earlier.idle_ns),
            iowait_ns: later.iowait_ns.saturating_sub(earlier.iowait_ns),
            interrupt_ns: later.interrupt_ns.saturating_sub(earlier.interrupt_ns),
            steal_ns: later.steal_ns.saturating_sub(earlier.steal_ns),
        }
    }

    /// Time in which instructions of this machine ran.
    pub fn busy_ns(&self) -> u64 {
        self.user_ns + self.system_ns + self.interrupt_ns
    }

    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.busy_ns() + self.idle_ns + self.iowait_ns + self.steal_ns
    }

    /// Of a delta: share stolen by the hypervisor, 0 to 1. `None` for an empty span.
    pub fn steal_share(&self) -> Option<f64> {
        (self.total_ns() > 0).then(|| self.steal_ns as f64 / self.total_ns() as f64)
    }

    /// Of a delta: share in which the processors worked, 0 to 1. `None` for an empty span.
    pub fn busy_share(&self) -> Option<f64> {
        (self.total_ns() > 0).then(|| self.busy_ns() as f64 / self.total_ns() as f64)
    }
}

/// Pressure stall information: time in which threads waited for a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PressureTotals {
    /// Some thread waited for a processor.
    pub cpu_some_us: Option<u64>,
    /// Some thread waited for memory.
    pub memory_some_us: Option<u64>,
    /// All runnable threads waited for memory.
    pub memory_full_us: Option<u64>,
    /// Some thread waited for I/O.
    pub io_some_us: Option<u64>,
    /// All runnable threads waited for I/O.
    pub io_full_us: Option<u64>,
}

impl PressureTotals {
    /// Stall time between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        let maybe = |field: fn(&Self) -> Option<u64>| super::known_delta(field(earlier), field(later));
        Self {
            cpu_some_us: maybe(|p| p.cpu_some_us),
            memory_some_us: maybe(|p| p.memory_some_us),
            memory_full_us: maybe(|p| p.memory_full_us),
            io_some_us: maybe(|p| p.io_some_us),
            io_full_us: maybe(|p| p.io_full_us),
        }
    }
}
