//! The stream of events of a run: the live screen, the journal and every other consumer see the same.

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use assay_workload::host::HostId;
use assay_workload::units::{Bytes, Nanos};
use assay_workload::{Plan, PlannedPhase, empty_as_none};
use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::data::DataChecks;
use crate::environment::Environment;
use crate::interval::Interval;
use crate::metric::{Metric, Moment};
use crate::probe::Probe;

/// How a job ended, beside its counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobOutcome {
    /// The engine that did the I/O.
    pub engine: String,
    /// Why another engine than the one asked for was used; `None`, in JSON an empty string: none was.
    #[serde(with = "empty_as_none")]
    pub engine_fallback: Option<String>,
    /// What the engine chose: setup flags, registered buffers, the clock.
    pub engine_notes: Vec<String>,
    /// Whether O_DIRECT was in effect.
    pub direct: bool,
    /// Start of the measured part in nanoseconds from the start of the phase.
    pub measured_start_ns: u64,
    /// Its length: from there to the last completion, the flush at the end included.
    pub measured_ns: u64,
    /// User CPU of the job threads in the measured part, nanoseconds.
    pub cpu_user_ns: u64,
    /// System CPU of the job threads and of kernel workers on their behalf, nanoseconds.
    pub cpu_system_ns: u64,
    /// How late a completion may have been stamped at most, nanoseconds: the longest time between two looks.
    pub stamp_error_ns_max: u64,
    /// The mean of the same.
    pub stamp_error_ns_mean: f64,
    /// Reads and writes that moved less than was asked for; each was continued with the rest.
    #[serde(default, skip_serializing_if = "ShortTransfers::is_none")]
    pub short: ShortTransfers,
    /// I/O errors by errno name, with counts; blocks that did not hold what was written count as `verify`.
    pub errors_by_kind: Vec<(String, u64)>,
    /// What validating data found; `None`: none was validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataChecks>,
    /// Sampled read buffers, and how many of them were all zero.
    pub read_buffers_sampled: u64,
    /// See `read_buffers_sampled`.
    pub read_buffers_zero: u64,
    /// System calls that handed I/Os over.
    pub submit_calls: u64,
    /// Voluntary context switches of the job threads: how often they waited.
    pub waits: u64,
    /// Involuntary context switches: how often the processor was taken from them.
    pub preempted: u64,
    /// Time the job threads were ready to run and had no processor, all together, nanoseconds; `None`: not known.
    pub run_queue_ns: Option<u64>,
    /// CPU and run-queue wait of the busiest job thread as a share of its time, 0 to 1; `None`: not known.
    pub busiest_thread_share: Option<f64>,
    /// Figures that its kind of job has beside what is counted of operations, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Metric>,
    /// What happened meanwhile, as its kind of job knows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
}

/// I/Os that moved less than was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShortTransfers {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

impl ShortTransfers {
    /// Whether there were none.
    pub fn is_none(&self) -> bool {
        *self == ShortTransfers::default()
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// All phases were done.
    Completed,
    /// A signal or the user stopped it; what was measured is kept.
    Interrupted,
    /// An error stopped it; what was measured is kept.
    Failed,
}

/// Why nothing comes from a host any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum LostReason {
    /// The connection to it was closed.
    ConnectionClosed,
    /// It did not answer.
    NoAnswer {
        /// For so long, milliseconds.
        for_ms: u64,
    },
    /// Its process ended.
    Exited {
        /// The exit status; `None`: a signal ended it.
        status: Option<i32>,
    },
    /// It said that it could not go on.
    Failed {
        /// In its words.
        error: String,
    },
    /// What it did in the phase was not told, or not all of it.
    NoResult,
    /// Another process answered in its place.
    Restarted,
}

impl std::fmt::Display for LostReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LostReason::ConnectionClosed => f.write_str("connection closed"),
            LostReason::NoAnswer { for_ms } => write!(f, "no answer for {:.1} s", *for_ms as f64 / 1e3),
            // What a worker ends with that was interrupted, or whose lease ran out.
            LostReason::Exited { status: Some(5) } => f.write_str(
                "its process ended by itself: it was interrupted, or heard nothing from this one for too long",
            ),
            LostReason::Exited { status: Some(status) } => {
                write!(f, "its process ended with status {status}")
            }
            LostReason::Exited { status: None } => f.write_str("its process was killed"),
            LostReason::Failed { error } => f.write_str(error),
            LostReason::NoResult => f.write_str("no complete result received"),
            LostReason::Restarted => f.write_str("its process was started again"),
        }
    }
}

/// Which I/O it is: `read of 4 KiB at offset 8192 of data`. Flushes are of no place; they and trims have no length.
pub fn which_io(operation: &str, len_bytes: u32, offset_bytes: Option<u64>, target: &str) -> String {
    let length = if len_bytes > 0 { format!(" of {}", Bytes(u64::from(len_bytes))) } else { String::new() };
    let place = offset_bytes.map_or_else(String::new, |offset| format!(" at offset {offset}"));
    format!("{operation}{length}{place} of {target}")
}

/// An I/O or an operation on files that does not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HungIo {
    /// The name of its job; empty for what is done before a phase starts.
    pub job: String,
    /// What it does: `read`, `fsync`, `mkdir`.
    pub operation: Cow<'static, str>,
    /// The path of its target.
    pub target: String,
    /// Where it begins; `None`: flushes and operations on whole files.
    pub offset_bytes: Option<u64>,
    /// How long it is; 0 for trims, flushes and operations on whole files.
    pub len_bytes: u32,
    /// When it was handed over, from the start of the phase, or of its preparation.
    pub since: Nanos,
    /// How long ago that was.
    pub outstanding_for: Nanos,
}

impl HungIo {
    /// Which it is: `read of 4 KiB at offset 8192 of data`.
    pub fn which(&self) -> String {
        which_io(&self.operation, self.len_bytes, self.offset_bytes, &self.target)
    }

    /// Whether it is the same as `other`, seen at another time.
    pub fn is(&self, other: &HungIo) -> bool {
        HungIo { outstanding_for: other.outstanding_for, ..self.clone() } == *other
    }

    /// For a line that has little room: `read of 4 KiB at offset 8192 of data hangs for 12 s`.
    pub fn in_short(&self) -> String {
        let name = self.target.rsplit('/').next().unwrap_or_default().to_owned();
        let short = HungIo { target: name, ..self.clone() };
        format!("{} hangs for {} s", short.which(), self.outstanding_for.0 / 1_000_000_000)
    }
}

/// What the clock of a host shows against that of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostClock {
    /// What is added to a time of the host's monotonic clock to have that of the run's, nanoseconds.
    pub offset_ns: i64,
    /// How far from it the offset may be, nanoseconds.
    pub error_ns: u64,
}

/// Something that happened. What a host measures comes as [`RunEvent::Host`]; the others are the conductor's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The first event.
    RunStarted {
        /// The run's identifier.
        id: String,
        /// Start in UTC, RFC 3339.
        started: String,
        /// What will be done.
        plan: Box<Plan>,
        /// Where: of several hosts, the first.
        environment: Box<Environment>,
        /// The version of Assay.
        version: String,
        /// Its commit, where it is known; in JSON an empty string where there is none.
        #[serde(with = "empty_as_none")]
        commit: Option<String>,
    },
    /// A phase begins.
    PhaseStarted {
        /// Its index in the plan.
        phase: u32,
        /// Milliseconds since the start of the run.
        at_ms: u64,
    },
    /// A phase became something else than the plan said, by what was known from those before it: its rates, its place in a search
    /// or in rounds. What it is from here on.
    PhaseResolved {
        /// Its index in the plan.
        phase: u32,
        /// What it is now.
        planned: Box<PlannedPhase>,
    },
    /// A phase ended.
    PhaseFinished {
        /// Its index in the plan.
        phase: u32,
        /// Milliseconds since the start of the run.
        at_ms: u64,
    },
    /// The last event.
    RunFinished {
        /// How it ended.
        end: RunEnd,
        /// Milliseconds since the start of the run.
        at_ms: u64,
        /// What went wrong, if anything did; in JSON an empty string where there is none.
        #[serde(with = "empty_as_none")]
        error: Option<String>,
    },
    /// Something that a host tells. In a journal its fields stand beside `event`, and the first host is not named.
    #[serde(untagged)]
    Host {
        /// Which.
        #[serde(default, skip_serializing_if = "HostId::is_first")]
        host: HostId,
        /// What.
        #[serde(flatten)]
        event: HostEvent,
    },
}

/// Something that happened on a host, in its own time: nanoseconds of its monotonic clock, or from its own start of the
/// phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HostEvent {
    /// What the host is; comes before everything else of it. Where there is one host, `RunStarted` says it.
    Environment {
        /// Its name.
        name: String,
        /// What it is.
        environment: Box<Environment>,
    },
    /// What its clock shows against that of the run, from here on.
    Clock(HostClock),
    /// Its threads of a phase are let go, at a moment that the conductor gave. Without it, the first counters of a phase mark its
    /// start on the host.
    Started {
        /// The phase.
        phase: u32,
        /// When, on its monotonic clock.
        at_ns: u64,
    },
    /// A reporting period of one job is complete. Kept in `series.bin`, not in the journal.
    #[serde(skip)]
    Interval(Box<Interval>),
    /// Counters of devices, process and machine at a moment: start, each second, end of a phase. Those of a phase that
    /// come before its `PhaseStarted` or after its `PhaseFinished` bound a window in which Assay itself did nothing:
    /// what the devices did then was for other processes.
    Counters {
        /// The phase.
        phase: u32,
        /// What was read. The first reading in a phase marks its start on this host.
        record: Box<Counters>,
    },
    /// A job ended.
    JobFinished {
        /// Its phase.
        phase: u32,
        /// Its index in the phase.
        job: u32,
        /// How.
        outcome: Box<JobOutcome>,
    },
    /// What a probe found of caches below the targets, to accompany the run.
    Probed {
        /// What it found.
        probe: Box<Probe>,
    },
    /// Something a reader of the result should know.
    Note {
        /// The phase it belongs to, if to one.
        phase: Option<u32>,
        /// A stable word (`drain`, `prefill`). The ids `cache-drop-failed`, `clock-unstable`, `verify-failed`, `short-run`,
        /// `server-on-this-host` and `volatile-write-cache` are findings.
        id: String,
        /// A sentence.
        text: String,
    },
    /// The I/O that has been outstanding for longest, where that is long; told again each period, for those who watch. Not kept:
    /// notes say what became of it.
    #[serde(skip)]
    Hung {
        /// The phase.
        phase: u32,
        /// `None`: it has completed, and no other is outstanding for long.
        io: Option<Box<HungIo>>,
    },
    /// Nothing more comes from it. What it measured until then counts.
    Lost {
        /// The phase it was lost in.
        phase: u32,
        /// Why.
        why: LostReason,
    },
}

impl HostEvent {
    /// As an event of the run.
    pub fn of(self, host: HostId) -> RunEvent {
        RunEvent::Host { host, event: self }
    }
}

impl From<HostEvent> for RunEvent {
    /// As an event of the first host.
    fn from(event: HostEvent) -> RunEvent {
        event.of(HostId::FIRST)
    }
}

/// Takes what hosts tell.
pub type HostSink<'a> = dyn FnMut(HostId, HostEvent) + 'a;
