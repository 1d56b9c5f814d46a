//! Jobs, phases, and the whole workload as it was asked for, before anything about this system is known.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::application::{Application, Body};
use crate::content::Content;
pub use crate::engine_kind::EngineKind;
use crate::file_operation::FileOperation;
use crate::host::{Host, HostRanges};
use crate::pattern::{AccessPattern, Mix, OpKind};
use crate::point::SweepPoint;
use crate::service::ServiceLevel;
use crate::steps::Until;
use crate::target::{Extent, Target};
pub use crate::tree::TreeWorkload;
use crate::units::Nanos;

/// Options of the I/O path that are never chosen silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct EngineOptions {
    /// io_uring: poll the device for completions (IORING_SETUP_IOPOLL); needs direct I/O and poll queues.
    pub iopoll: bool,
    /// io_uring: a kernel thread submits (IORING_SETUP_SQPOLL).
    pub sqpoll: bool,
    /// io_uring: NVMe passthrough commands on a character device (`/dev/ngXnY`).
    pub passthrough: bool,
    /// io_uring: do not register files and buffers with the ring.
    pub unregistered: bool,
    /// At most this many I/Os handed to the kernel in one call; 0: as the storage takes them best (all that are ready where
    /// they complete inside the call, else a quarter of the outstanding ones, 4 to 16).
    pub submit_batch_max: u32,
    /// Wait for this many completions before going on; 0 and 1: never delay a completion.
    pub reap_batch_min: u32,
}

/// How writes are made durable while opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OpenSync {
    /// Not.
    #[default]
    None,
    /// O_DSYNC: data and what is needed to read it again.
    Dsync,
    /// O_SYNC: data and all metadata.
    Sync,
}

/// Which flush call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlushCall {
    /// fsync(2).
    Fsync,
    /// fdatasync(2).
    Fdatasync,
}

/// Whether a periodic flush waits for the writes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FlushOrder {
    /// Issued when the write before it has completed, so that it makes that write durable.
    AfterWrite,
    /// Queued like any other request behind every so many writes, as fio does from 3.42 on: none behind the last write of a job.
    /// With several outstanding a flush may overtake its writes.
    Queued,
    /// Issued when nothing is outstanding, and nothing is issued until it is done (fio's libaio engine up to 3.3x).
    Barrier,
}

/// A flush after every so many writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PeriodicFlush {
    /// The call.
    pub call: FlushCall,
    /// After this many writes, at least 1.
    pub every_writes: u32,
    /// Whether it waits for them.
    pub order: FlushOrder,
}

/// The whole flush policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FlushPolicy {
    /// O_SYNC or O_DSYNC at open.
    pub open: OpenSync,
    /// During the job.
    pub periodic: Option<PeriodicFlush>,
    /// An fsync of every file when the job ends, inside its measured time.
    pub at_end: bool,
}

impl FlushPolicy {
    /// Whether every write is durable when the job counts it.
    pub fn every_write_durable(&self) -> bool {
        self.open != OpenSync::None || self.periodic.is_some_and(|flush| flush.every_writes == 1)
    }
}

/// Page cache or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Caching {
    /// Direct where the target can, else buffered; what was chosen is recorded.
    #[default]
    Auto,
    /// O_DIRECT.
    Direct,
    /// Through the page cache.
    Buffered,
}

/// How fast operations are offered.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// As fast as completions come.
    #[default]
    Unlimited,
    /// So many operations a second, over all threads of the job.
    Iops(f64),
    /// So many bytes a second, over all threads of the job.
    BytesPerS(f64),
    /// Per cent of what an earlier unlimited phase reached: resolved while running, and recorded.
    PercentOfMax(f64),
    /// Each operation at a rate of its own, over all threads of the job.
    Each(OperationRates),
}

impl Rate {
    /// `factor` times as many operations or bytes; a share stays the share.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Rate {
        match self {
            Rate::Unlimited | Rate::PercentOfMax(_) => self,
            Rate::Iops(iops) => Rate::Iops(iops * factor),
            Rate::BytesPerS(bytes) => Rate::BytesPerS(bytes * factor),
            Rate::Each(rates) => Rate::Each(rates.scaled(factor)),
        }
    }

    /// The mix that is done if the storage keeps up: rates of all operations decide it, whatever mix was asked for.
    pub fn mix(self, asked: Mix) -> Mix {
        let Rate::Each(rates) = self else { return asked };
        let of = |kind| if asked.share(kind) > 0.0 { rates.of(kind) } else { Some(0.0) };
        match OpKind::DATA.map(of) {
            [Some(read), Some(write), Some(trim)] if read + write + trim > 0.0 => {
                let percent = |rate| 100.0 * rate / (read + write + trim);
                Mix {
                    read_percent: percent(read),
                    write_percent: percent(write),
                    trim_percent: percent(trim),
                }
            }
            _ => asked,
        }
    }
}

/// Operations a second, by operation. Those without a rate are done as fast as completions come, as far as the mix lets them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OperationRates {
    /// Of reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<f64>,
    /// Of writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<f64>,
    /// Of trims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<f64>,
}

impl OperationRates {
    /// Of reads, writes and trims.
    pub const fn new([read, write, trim]: [Option<f64>; 3]) -> Self {
        OperationRates { read, write, trim }
    }

    /// Of one operation; `None`: it has none.
    pub fn of(&self, kind: OpKind) -> Option<f64> {
        match kind {
            OpKind::Read => self.read,
            OpKind::Write => self.write,
            OpKind::Trim => self.trim,
            OpKind::Fsync | OpKind::Fdatasync => None,
        }
    }

    /// The operations that have one.
    pub fn rated(self) -> impl Iterator<Item = (OpKind, f64)> {
        OpKind::DATA.into_iter().filter_map(move |kind| Some((kind, self.of(kind)?)))
    }

    /// `factor` times as many.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        OperationRates::new([self.read, self.write, self.trim].map(|rate| rate.map(|rate| rate * factor)))
    }

    /// Both together; what one of them does not limit, both do not.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |kind| Some(self.of(kind)? + other.of(kind)?);
        OperationRates::new(OpKind::DATA.map(sum))
    }

    /// One after the other, as plans show them: `500 read, 50 write`.
    pub fn describe(self) -> String {
        let rates: Vec<String> = self.rated().map(|(kind, rate)| format!("{rate} {}", kind.name())).collect();
        rates.join(", ")
    }
}

/// How intended arrivals are spaced in a rate-controlled job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Equal gaps.
    #[default]
    Deterministic,
    /// Exponential gaps: a Poisson process.
    Poisson,
    /// Gaps uniform between 0 and twice the mean.
    Uniform,
}

/// A pause between operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ThinkTime {
    /// How long.
    pub time: Nanos,
    /// After this many operations, at least 1.
    pub every_ios: u32,
}

/// Its share of the operations of all threads with one flow: none of them runs ahead of its weight (fio's `flow`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Jobs of one phase with the same number share a flow.
    pub id: u32,
    /// Operations of each thread, against those of the others, at least 1.
    pub weight: u32,
    /// What a thread that is ahead waits before it looks again; 0: it looks at once.
    pub pause: Nanos,
}

/// Zones of the active range that a thread works on one after the other (fio's `zonemode=strided`); only those that the range holds
/// whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Strides {
    /// Length of a zone.
    pub zone_bytes: u64,
    /// So many bytes are moved in a zone before the next one.
    pub turn_bytes: u64,
    /// Left out between a zone and the next one.
    pub skip_bytes: u64,
}

impl std::fmt::Display for Strides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |bytes: u64| crate::units::Bytes(bytes).short();
        write!(f, "in zones of {}, {} in each", short(self.zone_bytes), short(self.turn_bytes))?;
        if self.skip_bytes > 0 {
            write!(f, ", {} left out between them", short(self.skip_bytes))
        } else {
            Ok(())
        }
    }
}

/// What ends a job. The first that is reached counts; none at all: one pass over the active range.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Measured time, behind the ramp.
    pub time: Option<Nanos>,
    /// Bytes, per thread; blocks are whole, and the one that reaches them is the last.
    pub bytes: Option<u64>,
    /// Operations, per thread.
    pub ios: Option<u64>,
    /// Passes over the active range, per thread.
    pub passes: Option<u32>,
    /// It ends with other jobs of its phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_with: Option<EndsWith>,
    /// It ends once it is steady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyLimit>,
}

/// Which other jobs end a job with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EndsWith {
    /// The first thread that ends, of any job of the phase that says so, ends all of them (fio's `exitall`).
    First,
    /// It ends when all jobs of the phase that do not say so have ended (vdbench, with workloads of `seekpct=eof`).
    Others,
}

/// What is watched until it is steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SteadyFigure {
    /// Operations a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// Mean completion latency, nanoseconds.
    Latency,
}

/// fio's `steadystate`: a job ends when its figures lie close together over a window of reporting intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SteadyLimit {
    /// Which figure.
    pub figure: SteadyFigure,
    /// Whether the slope of their least-squares line, per interval, is held to the limit instead of the largest distance
    /// from their mean.
    pub slope: bool,
    /// The limit, per cent of the mean; it has to stay below it.
    pub percent_max: f64,
    /// Length of the window.
    pub window: Nanos,
    /// At the start of the job, not looked at.
    pub skip: Nanos,
}

/// What a file is made of before a job that uses it begins. Jobs that read or trim find data in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileLayout {
    /// Data as far as the job reads or trims; files that it only writes grow by its writes.
    #[default]
    AsNeeded,
    /// The whole size: data where the job reads or trims, else its length without space (fio `fallocate=truncate`).
    Length,
    /// The whole size: data where the job reads or trims, else allocated space, where
    /// there is room for it (fio's default).
    Allocated,
    /// As `allocated`, but the length grows by writes (fio `fallocate=keep`).
    Reserved,
    /// The whole size with data (fio `overwrite=1`).
    Data,
}

impl FileLayout {
    /// Whether nothing is done beyond what reads and trims need.
    pub fn is_as_needed(&self) -> bool {
        *self == FileLayout::AsNeeded
    }
}

/// How threads share the targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetSharing {
    /// Every thread works on all targets of the job.
    #[default]
    Shared,
    /// Thread i works on target i modulo their number, alone where there are enough (fio clones without `filename`).
    PerThread,
}

/// Which target the next operation goes to, where a thread has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TargetSelection {
    /// In turn.
    #[default]
    RoundRobin,
    /// At random.
    Random,
    /// One after the other, each to its end.
    Sequential,
}

/// What a job does and how, wherever and however fast it does it: what [`Job`] and [`PlannedJob`](crate::plan::PlannedJob) have
/// in common. Nothing in it depends on the system it runs on, so that nothing is left to resolve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Traits {
    /// The name in results.
    pub name: String,
    /// Jobs of one group are reported as one; `None`: on its own.
    pub group: Option<String>,
    /// Which target comes next.
    pub selection: TargetSelection,
    /// Which operation, how large, and where.
    pub pattern: AccessPattern,
    /// What each I/O is where it is no read or write of data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_operation: Option<FileOperation>,
    /// File-tree workload instead of block I/O.
    pub tree: Option<TreeWorkload>,
    /// The load of an application instead of block I/O; the pattern says nothing of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Latencies that it has to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_levels: Vec<ServiceLevel>,
    /// Outstanding I/Os per thread (fio `iodepth`); 0: not known, of a command that was only observed.
    pub outstanding_per_thread: u32,
    /// Pauses.
    pub think_time: Option<ThinkTime>,
    /// Its share among the jobs of its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<Flow>,
    /// Not measured, at the start.
    pub ramp: Nanos,
    /// Start this long after the phase starts.
    pub start_delay: Nanos,
    /// The delay counts from the start of the run, not of the phase (fio's `startdelay` behind a `stonewall`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delay_from_run: bool,
    /// What is written.
    pub content: Content,
    /// How it is made durable.
    pub flush: FlushPolicy,
    /// Drop the target's clean pages before the job starts.
    pub invalidate: bool,
    /// With `invalidate`: do so again whenever a thread begins another pass over its active range, once what is outstanding has completed
    /// (fio opens its files anew for each pass).
    pub invalidate_each_pass: bool,
    /// Cut its files to nothing whenever a thread begins another pass over its active range (fio's `unlink_each_loop`): each pass allocates
    /// anew. For jobs that only write.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty_each_pass: bool,
    /// Tell the kernel for buffered I/O whether blocks are going to be read at random or one behind the other
    /// (posix_fadvise; fio's `fadvise_hint`): it reads ahead less or more.
    #[serde(default)]
    pub access_hint: bool,
    /// What files are made of before the job begins.
    #[serde(default, skip_serializing_if = "FileLayout::is_as_needed")]
    pub layout: FileLayout,
    /// Each write follows a trim of the same block (fio's `trimwrite`); shares of trims and writes in the pattern do not matter then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trim_first: bool,
    /// At most so many targets of a thread have I/O at a time: the next one begins where one is done (fio's `openfiles`); `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_targets: Option<u32>,
    /// The zones that it works on one after the other; `None`: the whole range at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strides: Option<Strides>,
    /// Remove its files when the run has ended, as far as Assay may write to them (fio's `unlink`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove_files: bool,
    /// Options of the I/O path.
    pub engine_options: EngineOptions,
    /// Go on after this many errors; 0: stop at the first.
    pub errors_tolerated: u64,
}

impl Traits {
    /// What it consists of.
    pub fn body(&self) -> Body<'_> {
        match (&self.application, &self.tree) {
            (Some(application), _) => Body::Application(application),
            (None, Some(tree)) => Body::Tree(tree),
            (None, None) => Body::Blocks(&self.pattern),
        }
    }

    /// Whether it is block I/O.
    pub fn is_blocks(&self) -> bool {
        matches!(self.body(), Body::Blocks(_))
    }

    /// What each I/O does to the name of a file or directory, where that is what it is about.
    pub fn by_name(&self) -> Option<FileOperation> {
        self.file_operation.filter(|operation| operation.is_by_name())
    }

    /// Whether it works on files that are there before it begins, or are made for it: all but names of files to create, and of
    /// directories.
    pub fn has_files(&self) -> bool {
        self.is_blocks() && self.file_operation.is_none_or(FileOperation::needs_file)
    }

    /// Whether it may change what is stored: trees and applications always do.
    pub fn may_write(&self) -> bool {
        match self.body() {
            Body::Blocks(_) if self.file_operation.is_some() => {
                self.file_operation.is_some_and(|operation| !operation.is_stat())
            }
            Body::Blocks(pattern) => pattern.kinds().any(|kind| kind != OpKind::Read),
            Body::Tree(_) | Body::Application(_) => true,
        }
    }
}

/// A seed that a job has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSeed {
    /// This one.
    Given(u64),
    /// Another one in each run.
    Fresh,
}

/// One kind of load with its execution parameters, as it was asked for. What it shares with planned jobs is reached through it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What it does and how.
    pub traits: Traits,
    /// Names of its targets.
    pub targets: Vec<String>,
    /// Names of the hosts that do it, each with all of its threads; none: all hosts of the workload.
    pub hosts: Vec<String>,
    /// How these hosts share the active range.
    pub host_ranges: HostRanges,
    /// How threads share them.
    pub sharing: TargetSharing,
    /// Start of the active range within each target.
    pub offset: Extent,
    /// Added to `offset` once per thread index.
    pub offset_increment: Extent,
    /// Length of the active range; `None`: to the end of the target.
    pub length: Option<Extent>,
    /// Threads (fio `numjobs`, vdbench `threads`), on each host.
    pub threads: u32,
    /// How fast, all hosts together.
    pub rate: Rate,
    /// How arrivals are spaced.
    pub arrival: Arrival,
    /// What ends it.
    pub limits: Limits,
    /// Page cache or not.
    pub caching: Caching,
    /// The I/O path.
    pub engine: EngineKind,
    /// The seed of what it draws; `None`: that of the workload.
    pub seed: Option<JobSeed>,
}

impl Deref for Job {
    type Target = Traits;

    fn deref(&self) -> &Traits {
        &self.traits
    }
}

impl DerefMut for Job {
    fn deref_mut(&mut self) -> &mut Traits {
        &mut self.traits
    }
}

impl Job {
    /// A job with the defaults: one thread, one outstanding I/O, unlimited, one pass, engine and caching chosen here.
    pub fn new(name: &str, targets: &[&str], pattern: AccessPattern) -> Self {
        Job {
            traits: Traits {
                name: name.to_owned(),
                group: None,
                selection: TargetSelection::default(),
                pattern,
                file_operation: None,
                tree: None,
                application: None,
                service_levels: Vec::new(),
                outstanding_per_thread: 1,
                think_time: None,
                flow: None,
                ramp: Nanos(0),
                start_delay: Nanos(0),
                delay_from_run: false,
                content: Content::default(),
                flush: FlushPolicy::default(),
                invalidate: true,
                invalidate_each_pass: true,
                empty_each_pass: false,
                access_hint: false,
                layout: FileLayout::default(),
                trim_first: false,
                open_targets: None,
                strides: None,
                remove_files: false,
                engine_options: EngineOptions::default(),
                errors_tolerated: 0,
            },
            targets: targets.iter().map(|&target| target.to_owned()).collect(),
            hosts: Vec::new(),
            host_ranges: HostRanges::default(),
            sharing: TargetSharing::default(),
            offset: Extent::Bytes(0),
            offset_increment: Extent::Bytes(0),
            length: None,
            threads: 1,
            rate: Rate::default(),
            arrival: Arrival::default(),
            limits: Limits::default(),
            caching: Caching::default(),
            engine: EngineKind::default(),
            seed: None,
        }
    }

    /// The job with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Job)) -> Self {
        change(&mut self);
        self
    }
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// Bring the target back to fresh.
    Purge,
    /// Fill so that nothing is read unwritten, or age the device.
    Precondition,
    /// Load without measuring.
    Ramp,
    /// Measure.
    #[default]
    Measure,
    /// Check what was written.
    Verify,
    /// Remove.
    Cleanup,
}

impl PhaseKind {
    /// The name in workload files, plans and results.
    pub const fn name(self) -> &'static str {
        match self {
            PhaseKind::Purge => "purge",
            PhaseKind::Precondition => "precondition",
            PhaseKind::Ramp => "ramp",
            PhaseKind::Measure => "measure",
            PhaseKind::Verify => "verify",
            PhaseKind::Cleanup => "cleanup",
        }
    }

    /// Whether jobs on trees do their operations one after the other, each to its end, instead of mixed.
    pub fn in_steps(self) -> bool {
        matches!(self, PhaseKind::Purge | PhaseKind::Precondition | PhaseKind::Cleanup)
    }
}

/// Jobs that run side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    /// The name in results.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// Its jobs, started together.
    pub jobs: Vec<Job>,
    /// Wait until dirty pages are written back (syncfs) before the next phase.
    pub drain_after: bool,
    /// Idle time behind it.
    pub pause_after: Nanos,
    /// The point of a curve or sweep it stands for.
    pub point: SweepPoint,
    /// It runs although a phase before it failed (fio goes on behind a `stonewall`).
    pub despite_failure: bool,
    /// Repeat it until a rule holds; neighbouring phases of one name and rule are one block. `None`: once.
    pub until: Option<Until>,
}

impl Phase {
    /// A measuring phase of these jobs.
    pub fn measure(name: &str, jobs: Vec<Job>) -> Self {
        Phase {
            name: name.to_owned(),
            kind: PhaseKind::Measure,
            jobs,
            drain_after: false,
            pause_after: Nanos(0),
            point: SweepPoint::default(),
            despite_failure: false,
            until: None,
        }
    }
}

/// Everything that was asked: hosts, targets, and phases in sequence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workload {
    /// The name of the run.
    pub name: String,
    /// The seed; `None`: chosen when the plan is made, printed and stored.
    pub seed: Option<u64>,
    /// The machines that do it; none: the one it is planned on.
    pub hosts: Vec<Host>,
    /// What receives the I/O.
    pub targets: Vec<Target>,
    /// In sequence.
    pub phases: Vec<Phase>,
}

impl Workload {
    /// Whether some job on the target leaves the choice of its engine to us. Others need no trial, which reads the target. `engine` is
    /// that of all jobs, where one is asked for.
    pub fn leaves_engine_open(&self, target: &Target, engine: Option<EngineKind>) -> bool {
        let jobs = self.phases.iter().flat_map(|phase| &phase.jobs);
        let mut on_it = jobs.filter(|job| job.file_operation.is_none() && job.targets.contains(&target.name));
        on_it.any(|job| engine.unwrap_or(job.engine) == EngineKind::Auto)
    }
}
