//! What the checks judge by, beside the numbers themselves: kept with the run, so that it can be judged again.
//!
//! A value that is `None` was not known; it never means zero. Fields are added as checks need them, so each struct
//! reads a file that lacks some of them.

use assay_workload::empty_as_none;
use assay_workload::job::OperationRates;
use serde::{Deserialize, Serialize};

use crate::environment::CgroupDeviceLimit;
use crate::event::ShortTransfers;
use crate::histogram::LatencyHistogram;
use crate::hosts::CommonWindow;
use crate::over_time::IopsOverTime;
use crate::run::LatencySummary;

/// Facts about one job, or about the jobs of a group together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct JobEvidence {
    /// Indices of the jobs in the plan's phase: several for a group.
    pub plan_jobs: Vec<u32>,
    /// Whether every one of them reported its end.
    pub finished: bool,
    /// I/Os that moved less than was asked for and were continued with the rest.
    #[serde(default, skip_serializing_if = "ShortTransfers::is_none")]
    pub short: ShortTransfers,
    /// Threads that submitted.
    pub threads: u32,
    /// Start of the measured part, nanoseconds from the start of the phase.
    pub measured_start_ns: u64,
    /// Its length in nanoseconds.
    pub measured_ns: u64,
    /// Bytes of the targets that the jobs could reach, each byte counted once.
    pub active_bytes: u64,
    /// Operations a second that were offered; `None` in a closed loop.
    pub offered_iops: Option<f64>,
    /// Operations a second that were offered, where operations have rates of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_each: Option<OperationRates>,
    /// Arrivals of the measured part that were not completed within it, as a share of those offered; `None` in a
    /// closed loop.
    pub missed_share: Option<f64>,
    /// Nanoseconds in which queue slots were empty although work was pending, summed over the slots.
    pub idle_slot_ns: u64,
    /// Slot-nanoseconds an operation was outstanding.
    pub busy_slot_ns: u64,
    /// CPU of the job threads, user mode, nanoseconds.
    pub cpu_user_ns: u64,
    /// CPU of the job threads and of kernel workers on their behalf, kernel mode, nanoseconds.
    pub cpu_system_ns: u64,
    /// System calls that handed I/Os over.
    pub submit_calls: u64,
    /// How often the job threads waited (voluntary context switches).
    pub waits: u64,
    /// How often the processor was taken from them (involuntary context switches).
    pub preempted: u64,
    /// Time the job threads were ready to run and had no processor, all together, nanoseconds; `None`: the kernel did
    /// not say.
    pub run_queue_ns: Option<u64>,
    /// CPU and run-queue wait of the busiest job thread as a share of its time, 0 to 1; `None`: not known (runs made
    /// before it was recorded, other tools).
    pub busiest_thread_share: Option<f64>,
    /// How late a completion may have been stamped at most, nanoseconds.
    pub stamp_error_ns_max: u64,
    /// Why another engine than the one asked for was used; `None`, in JSON an empty string: none was.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub engine_fallback: Option<String>,
    /// Read buffers looked into.
    pub read_buffers_sampled: u64,
    /// Of them, those that were all zero.
    pub read_buffers_zero: u64,
    /// Each worker's part, where several hosts or processes shared the job.
    pub workers: Vec<WorkerReport>,
    /// The time that the totals of several hosts are over; `None`: one host, or no time in which all measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common: Option<CommonWindow>,
}

impl JobEvidence {
    /// CPU of the job threads in processors: 1.0 is one processor, all the time. 0 without measured time.
    pub fn cpus_used(&self) -> f64 {
        if self.measured_ns == 0 {
            return 0.0;
        }
        (self.cpu_user_ns as f64 + self.cpu_system_ns as f64) / self.measured_ns as f64
    }

    /// CPU and run-queue wait of the busiest job thread as a share of its time; where threads were not told apart, that of
    /// all of them together.
    pub fn busy_thread_share(&self) -> f64 {
        let waited_ns = self.run_queue_ns.unwrap_or(0) as f64 / self.measured_ns.max(1) as f64;
        let mean = (self.cpus_used() + waited_ns) / f64::from(self.threads.max(1));
        self.busiest_thread_share.unwrap_or(mean).min(1.0)
    }

    /// Share of the calls that handed I/Os over for which the thread did not have to sleep, 0 to 1: completions had been
    /// waiting when it looked, or came within the call. A thread sleeps about once a call where the storage sets the pace.
    /// `None` without calls.
    pub fn found_waiting_share(&self) -> Option<f64> {
        (self.submit_calls > 0).then(|| (1.0 - self.waits as f64 / self.submit_calls as f64).max(0.0))
    }

    /// Share of the time in which queue slots were empty although work was pending, 0 to 1.
    pub fn idle_slot_share(&self) -> f64 {
        let total = self.idle_slot_ns as f64 + self.busy_slot_ns as f64;
        if total == 0.0 { 0.0 } else { self.idle_slot_ns as f64 / total }
    }
}

/// One worker's part in a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorkerReport {
    /// Its name: the host, the pod, `local-1`.
    pub name: String,
    /// Reads, writes and trims it completed in the measured part.
    pub ios: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// When it started, nanoseconds after the first that did; of foreign results after the moment agreed on, and negative
    /// before it.
    pub start_skew_ns: i64,
    /// How far that may be off, because its clock is known only so well.
    pub start_error_ns: u64,
    /// Length of its measured part.
    pub measured_ns: u64,
    /// Completion latency of its operations in that part; `None`: it completed none, or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_ns: Option<WorkerLatency>,
    /// Why its numbers are missing or end early; `None`, in JSON an empty string: they are complete.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub lost_because: Option<String>,
    /// What it did over time; `None`: not recorded, or fewer than two reporting periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_time: Option<IopsOverTime>,
}

impl WorkerReport {
    /// Operations a second over its own measured part; `None`: it measured nothing.
    pub fn iops(&self) -> Option<f64> {
        (self.measured_ns > 0).then(|| self.ios as f64 * 1e9 / self.measured_ns as f64)
    }
}

/// Completion latency of one worker in brief, nanoseconds. Percentiles of several are those of the merged distribution, which the job has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct WorkerLatency {
    /// Median; `None`: too few operations.
    pub p50: Option<u64>,
    /// 99th percentile; `None`: too few operations.
    pub p99: Option<u64>,
    /// Maximum.
    pub max: u64,
}

impl WorkerLatency {
    /// `None` of a distribution without values.
    pub(crate) fn of_some(histogram: &LatencyHistogram) -> Option<Self> {
        let brief = LatencySummary::of_some(histogram)?;
        Some(WorkerLatency { p50: brief.p50, p99: brief.p99, max: brief.max })
    }
}

/// Facts about the machine while one phase ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PhaseEvidence {
    /// Time between the first and the last counters of the phase, nanoseconds; 0: there were none.
    pub span_ns: u64,
    /// Share of all processors' time in which they worked, 0 to 1.
    pub cpu_busy_share: Option<f64>,
    /// Share of all processors' time that the hypervisor gave to other guests, 0 to 1.
    pub steal_share: Option<f64>,
    /// CPUs that interrupts and the kernel's own threads used, for all processes: completions, loop devices, write-back; `None`:
    /// not known.
    pub kernel_cpus_used: Option<f64>,
    /// CPU of the whole process in processors.
    pub process_cpus_used: Option<f64>,
    /// Share of the control group's quota periods in which it ran out, 0 to 1; `None` without a quota.
    pub throttled_period_share: Option<f64>,
    /// Time threads were held back by the quota, nanoseconds.
    pub throttled_ns: Option<u64>,
    /// Time in which Assay did not run, stopped or frozen, nanoseconds: at least this. `None`: not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
    /// How often it was stopped; `None`: not watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stops: Option<u64>,
    /// Limits of the control group on devices, with when each held; empty: there was none, or they were not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_limits: Vec<LimitInForce>,
    /// Most io_uring kernel workers seen.
    pub io_workers_max: u64,
    /// Most dirty page cache seen, bytes.
    pub dirty_bytes_max: Option<u64>,
    /// What passed the network interfaces to the targets' servers, of all programs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceUse>,
    /// What others did to the devices right before the phase.
    pub quiet_before: Option<QuietWindow>,
    /// What others did to the devices right after it.
    pub quiet_after: Option<QuietWindow>,
    /// The machine from second to second, for charts and for level shifts.
    pub seconds: Vec<MachineSecond>,
}

/// What passed a network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct InterfaceUse {
    /// Kernel name.
    pub name: String,
    /// Bytes a second received, mean over the phase.
    pub received_bytes_per_s: f64,
    /// Bytes a second sent.
    pub sent_bytes_per_s: f64,
}

/// A limit on a device, and the readings of the counters between which it held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LimitInForce {
    /// The limit.
    pub limit: CgroupDeviceLimit,
    /// First reading that showed it, seconds from the first reading of the phase.
    pub start_s: f64,
    /// Last reading that showed it.
    pub end_s: f64,
}

/// A window in which Assay did nothing, and what the devices under the targets did in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QuietWindow {
    /// Its length, nanoseconds.
    pub span_ns: u64,
    /// Requests completed.
    pub ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Of the bytes read, those that the kernel fetched for Assay itself.
    pub own_read_bytes: u64,
    /// Of the bytes written, those that may be Assay's own: the journal of the run.
    pub own_written_bytes: u64,
    /// Share of the window in which the busiest of the devices had something in flight, 0 to 1.
    pub busy_share: Option<f64>,
}

/// Some seconds of the machine between two readings of the counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MachineSecond {
    /// Start, seconds from the first reading of the phase.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Share of all processors' time in which they worked, 0 to 1.
    pub cpu_busy_share: Option<f64>,
    /// Share the hypervisor gave to other guests, 0 to 1.
    pub steal_share: Option<f64>,
    /// Bytes a second the devices under the targets read.
    pub device_read_bytes_per_s: Option<f64>,
    /// Bytes a second they wrote.
    pub device_written_bytes_per_s: Option<f64>,
    /// Requests in flight at them together, mean over the time.
    pub device_depth_mean: Option<f64>,
}

/// Something said on the way, with what it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Remark {
    /// Index of the phase in the plan, if it belongs to one.
    pub phase: Option<u32>,
    /// A stable word.
    pub id: String,
    /// A sentence.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_never_slept_found_everything_waiting() {
        let share = |submit_calls, waits| {
            JobEvidence { submit_calls, waits, ..JobEvidence::default() }.found_waiting_share()
        };
        assert_eq!(share(0, 0), None);
        assert_eq!(share(1000, 0), Some(1.0));
        assert_eq!(share(1000, 750), Some(0.25));
        // Some sleeps have other reasons, such as a page that had to be read.
        assert_eq!(share(1000, 1010), Some(0.0));
    }
}
