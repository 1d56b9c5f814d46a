//! `/proc/stat`, `/proc/vmstat`, `/proc/meminfo`, `/proc/pressure`.

use assay_results::counters::{CpuTimes, PressureTotals, SystemCounters};

use super::kernel::KernelThreads;
use super::source::Source;
use super::tick_ns;
use crate::root::{HostRoot, keyed_number};

#[derive(Debug)]
pub(super) struct SystemSampler {
    stat: Source,
    vmstat: Source,
    meminfo: Source,
    cpu_pressure: Source,
    memory_pressure: Source,
    io_pressure: Source,
    kernel_threads: KernelThreads,
}

impl SystemSampler {
    pub(super) fn new(root: &HostRoot) -> Self {
        Self {
            stat: Source::new(root, "/proc/stat"),
            vmstat: Source::new(root, "/proc/vmstat"),
            meminfo: Source::new(root, "/proc/meminfo"),
            cpu_pressure: Source::new(root, "/proc/pressure/cpu"),
            memory_pressure: Source::new(root, "/proc/pressure/memory"),
            io_pressure: Source::new(root, "/proc/pressure/io"),
            kernel_threads: KernelThreads::new(root),
        }
    }

    pub(super) fn snapshot(&mut self) -> SystemCounters {
        let mut counters =
            SystemCounters { kernel_threads_ns: self.kernel_threads.total_ns(), ..SystemCounters::default() };
        if let Some(stat) = self.stat.read() {
            read_stat(stat, &mut counters);
        }
        if let Some(vmstat) = self.vmstat.read() {
            read_vmstat(vmstat, &mut counters);
        }
        if let Some(meminfo) = self.meminfo.read() {
            let bytes = |key| keyed_number(meminfo, key).map(|kib| kib * 1024);
            counters.dirty_bytes = bytes("Dirty");
            counters.writeback_bytes = bytes("Writeback");
            counters.cached_bytes = bytes("Cached");
            counters.available_bytes = bytes("MemAvailable");
        }
        let total = |source: &mut Source, kind| source.read().and_then(|text| pressure_total(text, kind));
        counters.pressure = PressureTotals {
            cpu_some_us: total(&mut self.cpu_pressure, "some"),
            memory_some_us: total(&mut self.memory_pressure, "some"),
            memory_full_us: total(&mut self.memory_pressure, "full"),
            io_some_us: total(&mut self.io_pressure, "some"),
            io_full_us: total(&mut self.io_pressure, "full"),
        };
        counters
    }
}

fn read_stat(text: &str, counters: &mut SystemCounters) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(key) = words.next() else { continue };
        let mut first = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        match key {
            "cpu" => counters.cpu = cpu_times(line),
            "ctxt" => counters.context_switches = first(),
            "intr" => counters.interrupts = first(),
            "procs_running" => counters.runnable = first(),
            "procs_blocked" => counters.blocked = first(),
            _ if key.starts_with("cpu") => counters.cpus.push(cpu_times(line)),
            _ => {}
        }
    }
}

/// `cpuN user nice system idle iowait irq softirq steal guest guest_nice`; guest is contained in user.
fn cpu_times(line: &str) -> CpuTimes {
    let mut ticks = [0_u64; 8];
    for (tick, word) in ticks.iter_mut().zip(line.split_whitespace().skip(1)) {
        *tick = word.parse().unwrap_or(0);
    }
    let ns = |ticks: u64| ticks.saturating_mul(tick_ns());
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    CpuTimes {
        user_ns: ns(user + nice),
        system_ns: ns(system),
        idle_ns: ns(idle),
        iowait_ns: ns(iowait),
        interrupt_ns: ns(irq + softirq),
        steal_ns: ns(steal),
    }
}

/// The file has some 180 lines, so one pass.
fn read_vmstat(text: &str, counters: &mut SystemCounters) {
    for line in text.lines() {
        let Some((key, value)) = line.split_once(' ') else { continue };
        let Ok(value) = value.parse::<u64>() else { continue };
        match key {
            // Counted in KiB whatever the page size.
            "pgpgin" => counters.paged_in_bytes = Some(value * 1024),
            "pgpgout" => counters.paged_out_bytes = Some(value * 1024),
            "pswpin" => counters.swapped_in_pages = Some(value),
            "pswpout" => counters.swapped_out_pages = Some(value),
            "pgmajfault" => counters.major_faults = Some(value),
            "pgsteal_direct" => counters.direct_reclaim_pages = Some(value),
            // One counter before 5.9.
            "workingset_refault_file" | "workingset_refault" => counters.refaulted_file_pages = Some(value),
            "oom_kill" => counters.oom_kills = Some(value),
            _ => {}
        }
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`
pub(super) fn pressure_total(text: &str, kind: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(kind))?;
    line.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}
