//! Counters of a process and its threads.

use serde::{Deserialize, Serialize};

/// How often the thread wakes that sees whether the process runs, nanoseconds.
pub const PULSE_NS: u64 = 5_000_000;

/// Whose process it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRole {
    /// Assay's own.
    Assay,
    /// The program that does the I/O for Assay (fio), or the command that is judged.
    Command,
}

/// One process: `/proc/PID/io`, `/proc/PID/stat`, `/proc/PID/task/*/schedstat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessCounters {
    /// Process id.
    pub pid: u32,
    /// Command name as the kernel knows it, at most 15 bytes.
    pub command: String,
    /// Whose it is; `None` in journals of earlier releases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<ProcessRole>,
    /// Bytes asked for by read(2) and its kin, whatever served them. The kernel counts neither io_uring nor
    /// libaio here, so for those engines this is no measure of what was asked.
    pub asked_read_bytes: Option<u64>,
    /// Bytes given to write(2) and its kin; io_uring and libaio are not counted.
    pub asked_write_bytes: Option<u64>,
    /// Calls of read(2) and its kin; io_uring and libaio are not counted.
    pub asked_reads: Option<u64>,
    /// Calls of write(2) and its kin.
    pub asked_writes: Option<u64>,
    /// Bytes the kernel fetched from storage for this process (page cache misses, read ahead and direct
    /// reads).
    pub storage_read_bytes: Option<u64>,
    /// Bytes this process caused to be sent to storage: charged when a page becomes dirty.
    pub storage_write_bytes: Option<u64>,
    /// Bytes that were charged as written and then thrown away before they reached storage.
    pub cancelled_write_bytes: Option<u64>,
    /// CPU time in user mode, of all threads, in steps of a clock tick.
    pub user_ns: u64,
    /// CPU time in kernel mode, of all threads and of the kernel workers that io_uring made for the process.
    pub system_ns: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Time threads waited for block I/O, where the kernel accounts it.
    pub block_wait_ns: Option<u64>,
    /// Gauge: threads, kernel workers included.
    pub threads: u64,
    /// Gauge: io_uring kernel workers (`iou-wrk-*`). More than none means that requests did not complete
    /// inline.
    pub io_workers: u64,
    /// Gauge: io_uring submission pollers (`iou-sqp-*`).
    pub submission_pollers: u64,
    /// Time in which it was stopped (a signal, a freezer, a paused machine), as its thread that only sleeps woke late: what it was
    /// late by, which leaves out up to [`PULSE_NS`] of each stop. `None`: not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
    /// Stops that were seen so; `None`: not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stops: Option<u64>,
    /// Each thread, when threads were asked for.
    pub thread_list: Vec<ThreadCounters>,
}

impl ProcessCounters {
    /// What the process did between two snapshots. A thread that was not there at first counts from zero.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        let total = |field: fn(&Self) -> u64| field(later).saturating_sub(field(earlier));
        let maybe = |field: fn(&Self) -> Option<u64>| super::known_delta(field(earlier), field(later));
        let none = ThreadCounters::default();
        Self {
            pid: later.pid,
            command: later.command.clone(),
            role: later.role,
            asked_read_bytes: maybe(|p| p.asked_read_bytes),
            asked_write_bytes: maybe(|p| p.asked_write_bytes),
            asked_reads: maybe(|p| p.asked_reads),
            asked_writes: maybe(|p| p.asked_writes),
            storage_read_bytes: maybe(|p| p.storage_read_bytes),
            storage_write_bytes: maybe(|p| p.storage_write_bytes),
            cancelled_write_bytes: maybe(|p| p.cancelled_write_bytes),
            user_ns: total(|p| p.user_ns),
            system_ns: total(|p| p.system_ns),
            minor_faults: total(|p| p.minor_faults),
            major_faults: total(|p| p.major_faults),
            block_wait_ns: maybe(|p| p.block_wait_ns),
            threads: later.threads,
            io_workers: later.io_workers,
            submission_pollers: later.submission_pollers,
            stopped_ns: maybe(|p| p.stopped_ns),
            stops: maybe(|p| p.stops),
            thread_list: later
                .thread_list
                .iter()
                .map(|b| {
                    let a = earlier.thread_list.iter().find(|a| a.tid == b.tid).unwrap_or(&none);
                    ThreadCounters::delta(a, b)
                })
                .collect(),
        }
    }

    /// Whether it did the I/O for Assay. Earlier releases followed no such process but fio.
    pub fn is_command(&self) -> bool {
        self.role.map_or_else(|| self.command.starts_with("fio"), |role| role == ProcessRole::Command)
    }

    /// CPU time in user and kernel mode.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// CPU time of the listed threads by the scheduler's own count, which has nanosecond steps.
    /// `None` when threads were not listed.
    pub fn scheduled_ns(&self) -> Option<u64> {
        (!self.thread_list.is_empty()).then(|| self.thread_list.iter().map(|t| t.run_ns).sum())
    }
}

/// One thread: `/proc/PID/task/TID/schedstat`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadCounters {
    /// Thread id.
    pub tid: u32,
    /// Thread name, at most 15 bytes.
    pub name: String,
    /// Time on a processor; of a running thread as of the last clock tick.
    pub run_ns: u64,
    /// Time ready to run, waiting for a processor.
    pub wait_ns: u64,
    /// Times it was put on a processor.
    pub timeslices: u64,
}

impl ThreadCounters {
    /// What the thread did between two snapshots.
    pub fn delta(earlier: &Self, later: &Self) -> Self {
        Self {
            tid: later.tid,
            name: later.name.clone(),
            run_ns: later.run_ns.saturating_sub(earlier.run_ns),
            wait_ns: later.wait_ns.saturating_sub(earlier.wait_ns),
            timeslices: later.timeslices.saturating_sub(earlier.timeslices),
        }
    }
}
