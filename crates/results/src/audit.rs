//! What an audit finds: where traffic lands on an array, what a repair changes, how like two streams are. How it is found is
//! the affair of `sim`, and how it is shown of `report`.

mod document;
mod simulated;

use std::collections::BTreeMap;

use assay_workload::Plan;
use serde::{Deserialize, Serialize};

use crate::Finding;
pub use document::{Compared, Document, RepairedAudit, SimulatedAudit, SimulatedRun};
pub use simulated::{
    BoundPoint, CacheLoad, CoreLoad, Imbalance, Load, Observations, SCHEMA as OBSERVATIONS_SCHEMA,
    StationLoad, StationShares,
};

/// The schema of an audit.
pub const SCHEMA: &str = "assay.audit/1";

/// A segment and its share of the traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SegmentShare {
    /// The target's name.
    pub target: String,
    /// First byte within the target.
    pub offset: u64,
    /// Share of the operation's requests, 0 to 1.
    pub share: f64,
}

/// The fewest bytes that hold a share of the traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkingSet {
    /// Half of it.
    pub p50_bytes: u64,
    /// 90 %.
    pub p90_bytes: u64,
    /// 99 %.
    pub p99_bytes: u64,
}

/// What an LRU cache of a size would answer of reads like these, once it is full.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheExpectation {
    /// Its size.
    pub bytes: u64,
    /// The share of accesses it answers, 0 to 1.
    pub hit_ratio: f64,
}

/// How soon data is used again.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reuse {
    /// Distinct bytes between two uses, for half of the accesses; `None`: so many are not used again.
    pub p50_bytes: Option<u64>,
    /// The same for 90 %.
    pub p90_bytes: Option<u64>,
    /// Share of the accesses that were the first to their data; `None` where it is computed as if it went on for ever.
    pub first_use_share: Option<f64>,
    /// For each cache size that was asked for.
    pub caches: Vec<CacheExpectation>,
}

/// How a share was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Computed.
    ClosedForm,
    /// Drawn from the generator.
    Drawn,
}

/// Where one operation of a job lands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobAudit {
    /// The phase's name.
    pub phase: String,
    /// The job's name.
    pub name: String,
    /// `read`, `write` or `trim`.
    pub op: String,
    /// Share of the job's operations, 0 to 1.
    pub share_of_job: f64,
    /// How it was found.
    pub method: Method,
    /// What a share of a core may be off by: 0 where it is computed, three standard errors where it is drawn.
    pub error: f64,
    /// The hottest segments, hottest first.
    pub segments_top: Vec<SegmentShare>,
    /// Share of each core, controller by controller.
    pub cores: Vec<f64>,
    /// Share of each controller.
    pub controllers: Vec<f64>,
    /// The busiest core's share over the mean; 1: balanced.
    pub max_over_mean: f64,
    /// How much data it is.
    pub working_set: WorkingSet,
    /// How soon it is used again, as if the job had the array alone.
    pub reuse: Reuse,
    /// Operations in a row that follow each other without a gap, on average.
    pub sequential_run_ios: f64,
    /// Share of the requests that more than one segment serves, 0 to 1.
    pub crossing: f64,
    /// On an array that places data by what it holds: share of the segments of data that occur more than once, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated_data_share: Option<f64>,
}

/// All jobs of a phase together, each with its share of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseAudit {
    /// The phase's name.
    pub phase: String,
    /// Share of each core.
    pub cores: Vec<f64>,
    /// Share of each controller.
    pub controllers: Vec<f64>,
    /// The busiest core's share over the mean.
    pub max_over_mean: f64,
}

/// The audit of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// [`SCHEMA`].
    pub schema: String,
    /// The array model's name.
    pub array: String,
    /// Each operation of each job.
    pub jobs: Vec<JobAudit>,
    /// Each phase.
    pub phases: Vec<PhaseAudit>,
    /// What is wrong, and how to repair it.
    pub findings: Vec<Finding>,
}

/// A dimension that streams are compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Bytes of a request.
    Size,
    /// Reads, writes, trims, flushes.
    Mix,
    /// From the end of one request to the start of the next on the same target, forward or back.
    SeekDistance,
    /// Distinct bytes between two uses of a page: how many accesses a cache of each size answers.
    ReuseDistance,
    /// How concentrated requests are: shares of segments, the hottest first.
    SegmentShare,
    /// Shares of the array's cores.
    CoreShare,
    /// Time between two requests.
    InterArrival,
    /// How arrivals bunch: the index of dispersion for counts, at the time scale where the two differ most.
    Burstiness,
    /// How long requests would wait at a server that the first stream keeps busy for 80 % of the time.
    QueueWait,
    /// Requests outstanding when one is issued.
    Outstanding,
}

impl Dimension {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Dimension::Size => "size",
            Dimension::Mix => "mix",
            Dimension::SeekDistance => "seek distance",
            Dimension::ReuseDistance => "reuse distance",
            Dimension::SegmentShare => "segment share",
            Dimension::CoreShare => "core share",
            Dimension::InterArrival => "inter-arrival",
            Dimension::Burstiness => "burstiness",
            Dimension::QueueWait => "queue wait",
            Dimension::Outstanding => "outstanding",
        }
    }
}

/// How near two streams are in a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Closeness {
    /// One of the two does not say.
    Unknown,
    /// No difference that matters.
    Alike,
    /// Each of the two varies so much in itself that a difference that matters could not be told.
    Unclear,
    /// A difference that may matter.
    Near,
    /// Another workload in this dimension.
    Different,
}

/// Two streams in one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Which.
    pub dimension: Dimension,
    /// The distance, 0 to 1; `None`: one of the two does not say.
    pub distance: Option<f64>,
    /// What chance alone may make of it: exceeded in one case of twenty.
    pub error: f64,
    /// What it comes to.
    pub closeness: Closeness,
    /// The typical value of the first: a median, or a share.
    pub first: String,
    /// That of the second.
    pub second: String,
}

/// Shares of a grid: addresses of all targets, one behind the other, by time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Bytes of all targets together.
    pub bytes: u64,
    /// Where each target begins, and its name.
    pub targets: Vec<(u64, String)>,
    /// What the columns span: operations, or nanoseconds of a trace.
    pub span: u64,
    /// Share of a column's operations by row (lowest addresses first), then by column; 0 to 1.
    pub rows: Vec<Vec<f64>>,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The phase's name.
    pub phase: String,
    /// The job's name, as it was.
    pub job: String,
    /// What is different now, in words.
    pub what: String,
}

/// What an array is made of, as far as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// The model's name.
    pub name: String,
    /// Bytes of a segment.
    pub segment_bytes: u64,
    /// How segments are given to cores, in words.
    pub layout: &'static str,
    /// The controller of each core.
    pub controllers: Vec<u32>,
    /// Bytes of the cache, where there is one.
    pub cache_bytes: Option<u64>,
    /// Drives, where there are some.
    pub drives: Option<u32>,
    /// The share of a read's time on cores that is bound to its address, where it has one.
    pub bound_share: Option<f64>,
}

/// A plan, and where it lands.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Its audit.
    pub audit: &'a Audit,
}

/// Everything that is shown of an audited workload.
#[derive(Debug, Clone, Copy)]
pub struct Audited<'a> {
    /// The workload's name.
    pub name: &'a str,
    /// The array it is audited on.
    pub array: &'a Array,
    /// Names of targets whose size is assumed.
    pub assumed: &'a [String],
    /// The workload as it is.
    pub before: Planned<'a>,
    /// Repaired, and what was changed.
    pub after: Option<(Planned<'a>, &'a [Change])>,
}

/// Draws the operations that a picture is made of.
pub trait HeatSource {
    /// The first operations of a phase, over all addresses.
    fn whole(&self, plan: &Plan, phase: usize) -> Option<Heat>;

    /// The same around a place (target, first byte), a row a segment, with the core that owns each row.
    fn near(&self, plan: &Plan, phase: usize, place: (u16, u64)) -> Option<(Heat, Vec<u32>)>;
}

/// What a repair changed, a sentence each; what several phases share is said once.
pub fn sentences(changes: &[Change]) -> Vec<String> {
    let mut said: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for change in changes {
        let phases = said.entry((&change.job, &change.what)).or_default();
        if !phases.contains(&change.phase.as_str()) {
            phases.push(&change.phase);
        }
    }
    let line = |((job, what), phases): ((&str, &str), Vec<&str>)| match phases.as_slice() {
        [one] if *one == job => format!("{job}: {what}"),
        [one] => format!("{one} / {job}: {what}"),
        [first, .., last] => format!("{first} to {last} / {job}: {what}"),
        [] => String::new(),
    };
    said.into_iter().map(line).collect()
}
