//! [`Run`]: one executed plan, as stored in `run.json` (schema `assay.run/1`).

use assay_workload::{PhaseKind, Plan, PlannedPhase, SweepPoint, empty_as_none};
use serde::{Deserialize, Serialize};

use crate::data::DataChecks;
use crate::done_by::DoneBy;
use crate::environment::Environment;
use crate::event::RunEnd;
use crate::evidence::{JobEvidence, PhaseEvidence, Remark};
use crate::histogram::{LatencyHistogram, SparseHistogram};
use crate::hosts::{HostPhase, RunHost};
use crate::levels::{ServiceResult, TileScore};
pub use crate::metric::{Metric, Moment};
use crate::over_time::LatencyOverTime;
use crate::probe::Probe;

/// The schema of `run.json`.
pub const SCHEMA: &str = "assay.run/1";

/// Whether a run may be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing speaks against it.
    Valid,
    /// A warning applies.
    Suspect,
    /// A finding says the numbers do not mean what they seem to.
    Invalid,
    /// It was stopped before its end.
    Incomplete,
}

impl Verdict {
    /// The word for it, as in `run.json`.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Suspect => "suspect",
            Verdict::Invalid => "invalid",
            Verdict::Incomplete => "incomplete",
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Worth knowing.
    Info,
    /// Could not be checked here, and why.
    Unchecked,
    /// The number may be off by as much as stated.
    Warning,
    /// The number does not mean what it seems to.
    Invalid,
}

/// What a check found. Made once, in this crate; shown by every renderer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The check's id (DESIGN section 6), part of the contract.
    pub id: String,
    /// How much it matters.
    pub severity: FindingSeverity,
    /// Name of the phase, if it belongs to one.
    pub phase: Option<String>,
    /// Which repetition of that phase, from 0; `None`: there is only one, or it is about all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Name of the job, if it belongs to one.
    pub job: Option<String>,
    /// One sentence: what was found, with numbers.
    pub message: String,
    /// The possible bias in words: `IOPS 0-7 % high`; `None`, in JSON an empty string: none can be stated.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub bias: Option<String>,
    /// The same in numbers; `None`: its size is not known, or it is not of the quoted figure. Of response times where the evidence has
    /// `effect_of` with that word: a target rate that was met is no measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Numbers the message rests on, by name, pointing into the run.
    pub evidence: serde_json::Map<String, serde_json::Value>,
    /// What to do about it.
    pub advice: String,
}

impl Finding {
    /// The possible bias; empty where none can be stated.
    #[cfg(test)]
    pub(crate) fn bias_words(&self) -> &str {
        self.bias.as_deref().unwrap_or_default()
    }

    /// How much it may do to the quoted figure, as a share; 0: not known in numbers.
    pub fn size(&self) -> f64 {
        self.effect.map_or(0.0, Effect::largest)
    }

    /// The order in which causes are named: the gravest first, then by what they may do to the figure; what is known in words
    /// alone comes behind what has a number.
    pub fn by_weight(
        (a_severity, a): (FindingSeverity, &Finding),
        (b_severity, b): (FindingSeverity, &Finding),
    ) -> std::cmp::Ordering {
        b_severity.cmp(&a_severity).then_with(|| b.size().total_cmp(&a.size()))
    }

    /// The one that may do most, the first of those alike: what is named where there is room for one.
    pub fn worst<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Option<&'f Finding> {
        let larger =
            |worst: &'f Finding, one: &'f Finding| if one.size() > worst.size() { one } else { worst };
        findings.into_iter().reduce(larger)
    }
}

/// What a finding may do to the quoted figure, as shares of that figure: it may be `low` too low (0 or negative) to `high`
/// too high (0 or positive).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// Negative: the storage may do so much more.
    pub low: f64,
    /// Positive: so much of the storage's own figure may have been added. 1000 stands for no bound: the figure is not the storage's.
    pub high: f64,
}

impl Effect {
    /// No effect is larger: what is beyond is not told apart. A `high` of this has no bound: the figure is not the storage's at all.
    pub const UNBOUNDED: f64 = 1000.0;

    /// Up to this share too high.
    pub fn high(share: f64) -> Option<Effect> {
        Effect::between(0.0, share)
    }

    /// Up to this share too low.
    pub fn low(share: f64) -> Option<Effect> {
        Effect::between(-share, 0.0)
    }

    /// Of a figure that would be `twin` without what was found.
    pub fn against(figure: f64, twin: f64) -> Option<Effect> {
        if figure < twin { Effect::low(twin / figure - 1.0) } else { Effect::high(figure / twin - 1.0) }
    }

    /// Up to so much too low and so much too high; `None` where one is not a number.
    pub fn between(low: f64, high: f64) -> Option<Effect> {
        let known = !low.is_nan() && !high.is_nan();
        known.then(|| Effect {
            low: low.clamp(-Effect::UNBOUNDED, 0.0),
            high: high.clamp(0.0, Effect::UNBOUNDED),
        })
    }

    /// The larger of both, as a share.
    pub fn largest(self) -> f64 {
        self.high.max(-self.low)
    }
}

/// A figure that is quoted: a test over all of its repetitions, with a verdict of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The test: phase, point, and the job where the phase has several.
    pub name: String,
    /// Name of its phase.
    pub phase: String,
    /// The point of a curve or sweep, as `name=value` words; empty where it stands alone.
    pub point: SweepPoint,
    /// Name of its job.
    pub job: String,
    /// Whether the figure may be believed.
    pub verdict: Verdict,
    /// Operations a second (bytes a second where only they are known): the median of the repetitions with its interval; of a
    /// single one with the interval that its reporting periods allow, where they do.
    pub figure: Metric,
    /// Repetitions, from 0, that were disturbed and that the median does not rest on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<u32>,
    /// Ids of the findings that speak against it, the gravest first; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The message of the first of them, of several findings of it that of the one that may do most; `None`: nothing speaks against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub because: Option<String>,
}

/// A latency distribution in brief. Nanoseconds. A percentile with too few values is `None`: see
/// [`LatencySummary::of`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the percentiles")]
pub struct LatencySummary {
    pub n: u64,
    pub min: u64,
    pub mean: f64,
    pub stddev: f64,
    pub p50: Option<u64>,
    pub p90: Option<u64>,
    pub p95: Option<u64>,
    pub p99: Option<u64>,
    pub p99_9: Option<u64>,
    pub p99_99: Option<u64>,
    pub max: u64,
}

/// One operation's result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpResult {
    /// Completed operations; 0 although bytes were moved: not known.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Operations per second of measured time.
    pub iops: f64,
    /// Bytes per second of measured time.
    pub bytes_per_s: f64,
    /// Block size in bytes: the one size, or the mean of a distribution; 0: not known.
    pub block_size: u64,
    /// Submission to completion.
    pub completion_ns: LatencySummary,
    /// Intended arrival to completion; `None` in a closed loop.
    pub response_ns: Option<LatencySummary>,
    /// Time in the submitting call; `None` where it cannot be told from waiting.
    pub submit_ns: Option<LatencySummary>,
    /// From the return of the submitting call to completion; `None` where calls were not timed one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ns: Option<LatencySummary>,
    /// The whole distribution behind `completion_ns`, for charts and for merging runs. `None` for the total of reads, writes
    /// and trims: [`JobResult::completion_histogram`] merges theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_histogram: Option<SparseHistogram>,
    /// The whole distribution behind `response_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_histogram: Option<SparseHistogram>,
    /// The whole distribution behind `submit_ns`, where each call was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit_histogram: Option<SparseHistogram>,
    /// The whole distribution behind `service_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_histogram: Option<SparseHistogram>,
}

/// One job's result, or that of the jobs of one group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobResult {
    /// The job's name, or the group's.
    pub name: String,
    /// Hosts or processes it ran on.
    pub workers: u32,
    /// Reads; `None` if there were none.
    pub read: Option<OpResult>,
    /// Writes.
    pub write: Option<OpResult>,
    /// Trims.
    pub trim: Option<OpResult>,
    /// fsync and fdatasync.
    pub flush: Option<OpResult>,
    /// Operations that the job names (on files and directories: mkdir, rmdir, create, delete, open, close, getattr, setattr,
    /// access, copy, move), those done beside others included; jobs on blocks have at most `reread`: writes that were read back at
    /// once to be compared, which no other figure of the job counts.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub ops: std::collections::BTreeMap<String, OpResult>,
    /// Everything that was asked for together: reads, writes and trims; of the named operations those that were not done beside
    /// others.
    pub total: OpResult,
    /// Threads x outstanding per thread, as asked; 0: not known.
    pub outstanding_io: u64,
    /// Mean number outstanding, time-weighted, from our own stamps.
    pub outstanding_io_mean: f64,
    /// User and system CPU per operation, nanoseconds.
    pub cpu_ns_per_io: f64,
    /// The engine that did the I/O.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub engine: DoneBy,
    /// What the engine chose.
    pub engine_notes: Vec<String>,
    /// Whether O_DIRECT was in effect.
    pub direct: bool,
    /// Whether O_DIRECT was in effect for a part of the I/O only: a judged command opened some files with it and others
    /// without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly_direct: bool,
    /// How writes were made durable, in words.
    pub durability: String,
    /// The access pattern in words.
    pub pattern: String,
    /// Measured time in seconds.
    pub measured_s: f64,
    /// How much later than intended operations were handed over (open loop).
    pub lateness_ns: Option<LatencySummary>,
    /// Share of read bytes that did not come from a device: page cache or holes; `None`: not known. Where several
    /// jobs of a phase read side by side, the kernel's count is theirs together, and so is this.
    pub cached_read_share: Option<f64>,
    /// How late a completion may have been stamped: mean, nanoseconds.
    pub stamp_error_ns_mean: f64,
    /// Failed operations.
    pub errors: u64,
    /// Errno names with counts.
    pub errors_by_kind: Vec<(String, u64)>,
    /// What validating data found; `None`: none was validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataChecks>,
    /// Operations completed in each reporting period, ramp excluded: start in seconds, length, read, write, trim.
    pub series: Vec<SeriesPoint>,
    /// Completion latencies over time; `None`: fewer than two reporting periods, or latencies by period are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_over_time: Option<LatencyOverTime>,
    /// What the checks judge by.
    #[serde(default)]
    pub evidence: JobEvidence,
}

/// One reporting period, for charts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesPoint {
    /// Start, seconds from the start of the measured part.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// Operations per second: reads, writes and trims together.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Median completion latency in nanoseconds; `None` where nothing completed.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
}

/// One phase's result. A phase that never started has none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseResult {
    /// The phase's name.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// From the start of the first job's measured part to the end of the last one's, seconds.
    pub measured_s: f64,
    /// The point of a curve or sweep, as `name=value` words; empty where it stands alone.
    pub point: SweepPoint,
    /// Which repetition, from 0.
    pub repeat: u32,
    /// Its jobs.
    pub jobs: Vec<JobResult>,
    /// Named values beside the operations' own (transactions, bytes written by the device).
    pub metrics: std::collections::BTreeMap<String, Metric>,
    /// What happened meanwhile, as its jobs know it (checkpoints of a database), in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// What the device counters said meanwhile, if they could be read.
    pub device: Option<DeviceTruth>,
    /// Its index in the plan.
    #[serde(default)]
    pub plan_phase: u32,
    /// What the checks judge by, beside `device`.
    #[serde(default)]
    pub evidence: PhaseEvidence,
    /// Each host, where there are several: `device` and `evidence` are then of all together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPhase>,
    /// The service levels of its jobs, where they have any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service: Vec<ServiceResult>,
}

/// What the devices under the targets and the kernel counted during a phase, ramp included, against what was asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DeviceTruth {
    /// Names of the devices at the bottom.
    pub devices: Vec<String>,
    /// Bytes the jobs read.
    pub asked_read_bytes: u64,
    /// Bytes the kernel fetched from storage on behalf of this process (`/proc/self/io`), of a command that was observed without
    /// those of its program and libraries where the devices of its targets tell.
    pub process_read_bytes: Option<u64>,
    /// Bytes the devices read, for whomever.
    pub device_read_bytes: Option<u64>,
    /// Bytes the jobs wrote.
    pub asked_written_bytes: u64,
    /// Bytes this process caused to be sent to storage, charged when a page became dirty (`/proc/self/io`).
    pub process_written_bytes: Option<u64>,
    /// Bytes the devices wrote, for whomever.
    pub device_written_bytes: Option<u64>,
    /// The bytes of the devices are what their requests moved at most: only these were counted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bytes_at_most: bool,
    /// Read requests the devices completed.
    pub device_reads: Option<u64>,
    /// Write requests the devices completed.
    pub device_writes: Option<u64>,
    /// Flush requests the devices completed; `None` where the kernel does not count them.
    pub device_flushes: Option<u64>,
    /// Mean number of requests in flight at the devices together, time-weighted over the measured part.
    pub device_depth_mean: Option<f64>,
    /// Share of the measured part in which the busiest device had something in flight, 0 to 1.
    pub device_busy_share: Option<f64>,
    /// Length of the measured part that the two above are over, seconds.
    pub depth_window_s: f64,
    /// Whether what was asked for is not known, because the command that asked was only observed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_unknown: bool,
    /// Why something above is missing; `None`, in JSON an empty string: nothing is.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub unknown_because: Option<String>,
}

/// Which Assay made a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Producer {
    /// Version.
    pub version: String,
    /// Commit, where it is known; in JSON an empty string where there is none.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub commit: Option<String>,
    /// The engine most jobs used.
    pub engine: String,
    /// This machine's generator overhead per I/O on the null engine, nanoseconds, where it was measured.
    pub overhead_ns_per_io: Option<f64>,
    /// What the latencies of the run mean where they are another tool's (`fio clat: ..`), in words; `None`: Assay's
    /// own, as [`OpResult`] says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub latency_definition: Option<String>,
}

/// One executed plan with its environment, numbers and findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: String,
    /// Identifier: the last word of the run directory's name.
    pub id: String,
    /// The plan's name.
    pub name: String,
    /// Start in UTC, RFC 3339.
    pub started: String,
    /// How long it took, seconds.
    pub elapsed_s: f64,
    /// Whether it may be believed.
    pub verdict: Verdict,
    /// What made it.
    pub assay: Producer,
    /// Where: of several hosts, the first.
    pub environment: Environment,
    /// The hosts, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RunHost>,
    /// What was to be done.
    pub plan: Plan,
    /// What was done.
    pub phases: Vec<PhaseResult>,
    /// What the checks found.
    pub findings: Vec<Finding>,
    /// The figures that are quoted, each with its own verdict, in the order they were first measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<Row>,
    /// The same of the steps of a search that are not its answer: they do not count for the verdict of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Row>,
    /// How many tiles kept their service levels, where tiles were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<TileScore>,
    /// What probes found of caches below the targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
    /// Things said on the way, as sentences.
    pub notes: Vec<String>,
    /// The same with what they are about, for the checks.
    #[serde(default)]
    pub remarks: Vec<Remark>,
    /// How it ended; `None`: no end was recorded, it was killed.
    #[serde(default)]
    pub end: Option<RunEnd>,
    /// What stopped it, if anything did; in JSON an empty string where there is none.
    #[serde(default, with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub error: Option<String>,
    /// Whether names of hosts, servers and directories were replaced when it was exported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub names_removed: bool,
    /// Whether it was still being recorded when it was read.
    #[serde(skip)]
    pub going: bool,
}

impl DeviceTruth {
    /// Why something is missing, as the end of a sentence.
    pub fn why_unknown(&self) -> &str {
        self.unknown_because.as_deref().unwrap_or("nothing says why")
    }
}

impl PhaseResult {
    /// Its name with the point of the curve or sweep that it is.
    pub fn title(&self) -> String {
        self.point.title(&self.name)
    }

    /// Whether both are repetitions of one phase.
    pub fn repeats(&self, other: &PhaseResult) -> bool {
        (&self.name, &self.point, &self.kind) == (&other.name, &other.point, &other.kind)
    }
}

impl Run {
    /// How often a phase was done, or was to be done where the run ended before.
    pub fn repeats_of(&self, phase: &PhaseResult) -> usize {
        let same = |planned: &&PlannedPhase| {
            planned.step.is_none()
                && (&planned.name, &planned.point, &planned.kind) == (&phase.name, &phase.point, &phase.kind)
        };
        let planned = self.plan.phases.iter().filter(same).count();
        planned.max(self.phases.iter().filter(|other| other.repeats(phase)).count())
    }
}

impl Row {
    /// The verdict with its reason: `suspect: others used the device`.
    pub fn judgement(&self) -> String {
        let because = self.because.as_ref().map_or_else(String::new, |because| format!(": {because}"));
        format!("{}{because}", self.verdict.word())
    }

    fn is_of(&self, phase: &PhaseResult, job: &JobResult) -> bool {
        (&self.phase, &self.point, &self.job) == (&phase.name, &phase.point, &job.name)
    }
}

impl OpResult {
    /// Leaves the distributions to those that it is the total of.
    pub fn forget_distributions(&mut self) {
        (self.completion_histogram, self.response_histogram) = (None, None);
        (self.submit_histogram, self.service_histogram) = (None, None);
    }

    /// Operations a second; `None` where only the bytes are known.
    pub fn known_iops(&self) -> Option<f64> {
        (self.ios > 0 || self.bytes == 0).then_some(self.iops)
    }

    /// The mean size of an operation where the block size is not known: of a command that was only observed.
    pub fn request_bytes_mean(&self) -> Option<u64> {
        self.bytes.checked_div(self.ios).filter(|mean| self.block_size == 0 && *mean > 0)
    }
}

impl Run {
    /// The row of a job's figure, where it is quoted.
    pub fn row(&self, phase: &PhaseResult, job: &JobResult) -> Option<&Row> {
        self.rows.iter().find(|row| row.is_of(phase, job))
    }

    /// The same also of the steps of a search that are not its answer.
    pub fn row_or_step(&self, phase: &PhaseResult, job: &JobResult) -> Option<&Row> {
        self.row(phase, job).or_else(|| self.steps.iter().find(|row| row.is_of(phase, job)))
    }

    /// What each host is.
    pub fn environments(&self) -> impl Iterator<Item = &Environment> {
        let only = self.hosts.is_empty().then_some(&self.environment);
        only.into_iter().chain(self.hosts.iter().map(|host| &host.environment))
    }
}

impl JobResult {
    /// The operations that occurred, with their names: read, write, trim, those that the job names, flush.
    pub fn operations(&self) -> impl Iterator<Item = (&str, &OpResult)> {
        let data = [("read", &self.read), ("write", &self.write), ("trim", &self.trim)].into_iter();
        let data = data.filter_map(|(name, op)| op.as_ref().map(|op| (name, op)));
        let named = self.ops.iter().map(|(name, op)| (name.as_str(), op));
        data.chain(named).chain(self.flush.as_ref().map(|op| ("flush", op)))
    }

    /// Completion latencies of everything that was asked for together; empty where none were stored.
    pub fn completion_histogram(&self) -> LatencyHistogram {
        if let Some(sparse) = self.total.completion_histogram.as_ref().filter(|_| !self.ops.is_empty()) {
            return LatencyHistogram::from_sparse(sparse);
        }
        let mut merged = LatencyHistogram::new();
        for op in [&self.read, &self.write, &self.trim].into_iter().flatten() {
            if let Some(sparse) = &op.completion_histogram {
                merged.merge(&LatencyHistogram::from_sparse(sparse));
            }
        }
        merged
    }
}
