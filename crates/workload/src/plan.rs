//! What will be done: every default resolved, every seed fixed, sliced per thread. Printable and diffable.

mod check;
mod hosts;
mod load;
mod stored;
mod verified;

use std::fmt::Write as _;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

pub use self::check::{PlanFault, PlanPlace, PlanProblem};
pub use self::load::{LoadAspect, LoadDifference, Offer, load_differences};
use crate::application::Body;
use crate::empty_as_none;
pub use crate::engine_kind::PlannedEngine;
use crate::host::{HostId, PlannedHost};
use crate::job::{
    Arrival, EndsWith, EngineKind, FlushCall, FlushOrder, FlushPolicy, OpenSync, OperationRates, PhaseKind,
    Rate, SteadyLimit, Traits,
};
use crate::operation::OpId;
use crate::ops::{Generator, OneByOne, OpSource, SiteSpec, Strided, TrimFirst, WritesAsReads};
use crate::pattern::{AccessPattern, BlockSizes, Distribution, Mix, OpKind, Placement};
use crate::point::SweepPoint;
use crate::steps::Step;
use crate::target::TargetKind;
use crate::tree::{TreeLayout, TreeOperation, TreeWorkload};
use crate::units::{Bytes, Nanos};
pub use verified::VerifiedTarget;

/// The schema of a stored plan.
pub const SCHEMA: &str = "assay.plan/1";

/// A target as it will be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedTarget {
    /// The name jobs refer to it by.
    pub name: String,
    /// The host it is used from.
    #[serde(default, skip_serializing_if = "HostId::is_first")]
    pub host: HostId,
    /// Its absolute path.
    pub path: String,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes in use, from its start.
    pub size_bytes: u64,
    /// Its size before the run; 0 where it does not exist yet.
    pub existing_bytes: u64,
    /// What O_DIRECT offsets, lengths and addresses must be multiples of; `None`: O_DIRECT is not possible.
    pub direct_align_bytes: Option<u32>,
}

/// The part of one target one thread works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedSite {
    /// Index into [`Plan::targets`].
    pub target: u32,
    /// First byte.
    pub offset_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u64,
}

/// One thread's part of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadSlice {
    /// The host whose thread it is.
    #[serde(skip_serializing_if = "HostId::is_first")]
    pub host: HostId,
    /// Seed of its operations.
    pub seed: u64,
    /// Where it works.
    pub sites: Vec<PlannedSite>,
    /// Ends after this many operations.
    pub ios: Option<u64>,
    /// Ends with the operation that reaches this many bytes.
    pub bytes: Option<u64>,
    /// Its share of the job's rate; `None`: closed loop.
    pub rate: Option<SliceRate>,
}

/// What one thread is offered, operations a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SliceRate {
    /// All operations together.
    Iops(f64),
    /// Each operation at a rate of its own.
    Each(OperationRates),
}

impl SliceRate {
    /// Of all operations of a pattern together; `None`: one of them has no rate.
    pub fn total_iops(self, pattern: &AccessPattern) -> Option<f64> {
        match self {
            SliceRate::Iops(iops) => Some(iops),
            SliceRate::Each(rates) => pattern.kinds().map(|kind| rates.of(kind)).sum(),
        }
    }
}

/// What all threads of a job together are offered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// So many operations a second.
    Iops(f64),
    /// So many bytes a second.
    BytesPerS(f64),
    /// Each operation at a rate of its own.
    Each(OperationRates),
}

/// How operations are offered; the slices have each thread's share.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As fast as completions come.
    #[default]
    Closed,
    /// At a rate, whether or not earlier ones have completed.
    Open {
        /// The rate.
        offered: Offered,
        /// How arrivals are spaced.
        arrival: Arrival,
    },
    /// At a share of what an earlier phase reaches without a rate: the conductor makes it [`Pace::Open`] before the phase starts.
    OfMax {
        /// The share, per cent.
        percent: f64,
        /// How arrivals are spaced.
        arrival: Arrival,
    },
}

impl Pace {
    /// How arrivals are spaced; in a closed loop there are none, and it is the default.
    pub fn arrival(self) -> Arrival {
        match self {
            Pace::Closed => Arrival::default(),
            Pace::Open { arrival, .. } | Pace::OfMax { arrival, .. } => arrival,
        }
    }
}

/// What ends a job beside the operations and bytes of its slices.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// Measured time, behind the ramp; `None`: until `ios` or `bytes` of every slice.
    pub time: Option<Nanos>,
    /// Passes over the active range, per thread. The bytes of a slice have them already; trees have them only here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// It ends with other jobs of its phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_with: Option<EndsWith>,
    /// It ends once it is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyLimit>,
}

/// A job with nothing left open. What it shares with the job as it was asked for is reached through it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedJob {
    /// What it does and how.
    #[serde(rename = "job")]
    pub traits: Traits,
    /// The I/O path.
    pub engine: PlannedEngine,
    /// Why, where the job left the choice to us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_reason: Option<String>,
    /// Whether targets are opened with O_DIRECT.
    pub direct: bool,
    /// How fast.
    pub pace: Pace,
    /// What ends it.
    #[serde(flatten)]
    pub end: End,
    /// The names of its operations beside read, write, trim and flush, by their number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// One per thread.
    pub slices: Vec<ThreadSlice>,
}

impl Deref for PlannedJob {
    type Target = Traits;

    fn deref(&self) -> &Traits {
        &self.traits
    }
}

impl DerefMut for PlannedJob {
    fn deref_mut(&mut self) -> &mut Traits {
        &mut self.traits
    }
}

impl PlannedJob {
    /// How far the file of one of its sites is laid out before it begins: as far as it reaches, or whole.
    pub fn layout_end(&self, site: &PlannedSite, target: &PlannedTarget) -> u64 {
        let end = site.offset_bytes.saturating_add(site.length_bytes);
        if self.layout.is_as_needed() { end } else { end.max(target.size_bytes) }
    }

    /// Whether its I/Os move data of a storage: neither the null engine's nor mere calls on files do.
    pub fn moves_data(&self) -> bool {
        self.engine != PlannedEngine::Null && self.file_operation.is_none()
    }

    /// The operations of one of its threads on these sites; `passes`: blocks of them end where a pass does.
    pub fn source(&self, sites: &[SiteSpec], slice: &ThreadSlice, passes: bool) -> Box<dyn OpSource> {
        // Of a trim and its write one is drawn.
        let share =
            |limit: Option<u64>| if self.trim_first { limit.map(|all| all.div_ceil(2)) } else { limit };
        let (ios, bytes) = (share(slice.ios), share(slice.bytes));
        if let Some(percent) = self.content.written_beside_reads_percent {
            let pattern = AccessPattern { mix: Mix::read_write(percent), ..self.pattern.clone() };
            let made = Generator::new(&pattern, sites, self.selection, slice.seed, ios, bytes);
            return Box::new(WritesAsReads::new(made.with_open_sites(self.open_targets)));
        }
        let with = |pattern: &AccessPattern| {
            let made = Generator::new(pattern, sites, self.selection, slice.seed, ios, bytes)
                .with_open_sites(self.open_targets);
            if passes { made.with_passes() } else { made }
        };
        if let (Some(strides), [site]) = (&self.strides, sites) {
            let first = [SiteSpec { range: strides.zone_of(site.range), ..*site }];
            let zone = Generator::new(&self.pattern, &first, self.selection, slice.seed, ios, bytes);
            let strided = Strided::new(zone, strides, site.range);
            return if self.flow.is_some() { Box::new(OneByOne::new(strided)) } else { Box::new(strided) };
        }
        let writes = || AccessPattern { mix: Mix::WRITE, ..self.pattern.clone() };
        match (self.trim_first, self.flow.is_some()) {
            (true, false) => Box::new(TrimFirst::new(with(&writes()))),
            (true, true) => Box::new(OneByOne::new(TrimFirst::new(with(&writes())))),
            (false, true) => Box::new(OneByOne::new(with(&self.pattern))),
            (false, false) => Box::new(with(&self.pattern)),
        }
    }

    /// How many I/Os one of its threads does at most beside flushes; `None`: as many as its time allows.
    pub fn ios_max(&self, slice: &ThreadSlice) -> Option<u64> {
        let sizes = |kind| self.pattern.sizes(kind).min_bytes();
        let least = self.pattern.kinds().map(sizes).min().unwrap_or(1).max(1);
        slice.ios.or(slice.bytes.map(|bytes| bytes.div_ceil(least)))
    }

    /// The name of the engine in a phase that `carrier` carries out.
    pub fn engine_name(&self, carrier: Carrier) -> &'static str {
        match (self.engine, carrier) {
            (PlannedEngine::Foreign, Carrier::Fio) => EngineKind::Fio.name(),
            (PlannedEngine::Foreign, Carrier::Simulated) => EngineKind::Sim.name(),
            (engine, _) => engine.name(),
        }
    }

    /// The engine as plans show it, with what is to be known of the choice.
    pub fn describe_engine(&self, carrier: Carrier) -> String {
        let name = self.engine_name(carrier);
        match (carrier, &self.engine_reason) {
            (Carrier::Fio, _) if self.engine != PlannedEngine::Foreign => {
                format!("fio (with its engine {name})")
            }
            (_, None) => name.to_owned(),
            (_, Some(reason)) => format!("{name} ({reason})"),
        }
    }

    /// Whether cached pages are dropped before each further pass. As fio, where there are passes: measured with fio 3.33, which
    /// drops them once only in a random job without a map, whatever ends it.
    pub fn drops_pages_between_passes(&self) -> bool {
        self.invalidate && self.invalidate_each_pass && !self.direct && self.pattern.placement.has_passes()
    }

    /// Whether its files are cut to nothing before each further pass, where there are passes.
    pub fn empties_between_passes(&self) -> bool {
        self.empty_each_pass && self.pattern.placement.has_passes()
    }

    /// The name of an operation.
    pub fn operation_name(&self, operation: OpId) -> Option<&str> {
        let named = self.operations.get(usize::from(operation.number())).map(String::as_str);
        named.or((operation == OpId::REREAD).then_some(OpId::REREAD_NAME))
    }

    /// Outstanding I/Os in total: threads x per thread.
    pub fn outstanding_io(&self) -> u64 {
        self.slices.len() as u64 * u64::from(self.outstanding_per_thread)
    }

    /// Operations a second that all threads are offered; `None`: closed loop, or a share of a maximum not known yet.
    pub fn offered_iops(&self) -> Option<f64> {
        match self.pace {
            Pace::Open { offered: Offered::Iops(iops), .. } => Some(iops),
            // The plan has cut it into operations a second for each thread.
            Pace::Open { offered: Offered::BytesPerS(_) | Offered::Each(_), .. } => self.slices_iops(),
            Pace::Closed | Pace::OfMax { .. } => None,
        }
    }

    /// Operations a second that a thread is offered; `None`: closed loop, or some operation has no rate.
    pub fn slice_iops(&self, slice: &ThreadSlice) -> Option<f64> {
        slice.rate?.total_iops(&self.pattern)
    }

    /// Operations a second that the threads of this plan are offered; `None`: one of them has no rate for all its operations.
    pub fn slices_iops(&self) -> Option<f64> {
        self.slices.iter().map(|slice| self.slice_iops(slice)).sum()
    }

    /// Operations a second that are offered of each operation, where they have rates of their own.
    pub fn offered_each(&self) -> Option<OperationRates> {
        match self.pace {
            Pace::Open { offered: Offered::Each(rates), .. } => Some(rates),
            _ => None,
        }
    }

    /// The mix that is done if the storage keeps up.
    pub fn mix(&self) -> Mix {
        let asked = self.pattern.mix;
        self.offered_each().map_or(asked, |rates| Rate::Each(rates).mix(asked))
    }

    /// Bytes this job will write at most before it ends; `None`: limited by time only.
    pub fn write_bytes_max(&self) -> Option<u64> {
        let pattern = &self.pattern;
        match self.body() {
            Body::Blocks(_) => {}
            Body::Tree(tree) => return self.tree_write_bytes_max(tree),
            Body::Application(_) => return None,
        }
        if pattern.mix.share(OpKind::Write) == 0.0 {
            return Some(0);
        }
        let largest = pattern.write_sizes.max_bytes().max(1);
        let by_ios = |ios: u64| ios.saturating_mul(largest);
        // The last block is a whole one.
        let by_bytes = |bytes: u64| match pattern.write_sizes {
            BlockSizes::Fixed(size) => bytes.checked_next_multiple_of(size.max(1)).unwrap_or(u64::MAX),
            _ => bytes.saturating_add(largest - 1),
        };
        self.slices.iter().map(|slice| slice.bytes.map(by_bytes).or(slice.ios.map(by_ios))).sum()
    }
}

impl PlannedJob {
    fn tree_write_bytes_max(&self, tree: &TreeWorkload) -> Option<u64> {
        let operations = tree.weighted_operations(self.pattern.mix.share(OpKind::Read)).ok()?;
        if !operations.iter().any(|(o, _)| matches!(o, TreeOperation::Write | TreeOperation::Copy)) {
            return Some(0);
        }
        if self.end.time.is_some() {
            return None;
        }
        let limited = self.slices.iter().map(|slice| slice.bytes).sum::<Option<u64>>();
        // Without a limit each file of each tree is written once a pass, by whichever thread.
        let mut sites: Vec<PlannedSite> = self.slices.iter().flat_map(|slice| slice.sites.clone()).collect();
        sites.sort_unstable_by_key(|site| site.target);
        sites.dedup_by_key(|site| site.target);
        let pass = sites.iter().fold(0_u64, |sum, site| sum.saturating_add(site.length_bytes));
        let passes = u64::from(self.end.passes.unwrap_or(1));
        Some(limited.unwrap_or(pass.saturating_mul(passes)))
    }
}

/// What carries out a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// Assay's own engines.
    #[default]
    Native,
    /// Real fio, with its engine of the name of each job's.
    Fio,
    /// The array model, in virtual time.
    Simulated,
}

impl Carrier {
    fn is_native(&self) -> bool {
        *self == Carrier::Native
    }
}

/// Jobs side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedPhase {
    /// The name in results.
    pub name: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// Its jobs.
    pub jobs: Vec<PlannedJob>,
    /// Write back dirty pages behind it.
    pub drain_after: bool,
    /// Idle time behind it.
    pub pause_after: Nanos,
    /// The point of a curve or sweep, as `name=value` words; empty where it stands alone.
    pub point: SweepPoint,
    /// Which repetition of the phase of that name and point, from 0.
    pub repeat: u32,
    /// What it is in a block that repeats until a rule holds; `None`: it is in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// What carries it out.
    #[serde(skip_serializing_if = "Carrier::is_native")]
    pub carried_by: Carrier,
    /// It runs although a phase before it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub despite_failure: bool,
}

/// What a thread's histograms and lists take beside its buffers, bytes: two halves of 13 histograms, as far as they are used.
const THREAD_BYTES: u64 = 600 << 10;
/// Buffers are whole pages.
const PAGE_BYTES: u64 = 4096;

impl PlannedPhase {
    /// Memory the threads take at most, bytes: a buffer of the largest block for each outstanding I/O, and what counts.
    pub fn memory_bytes(&self) -> u64 {
        let of_job = |job: &PlannedJob| {
            let block = job.pattern.max_block_bytes().max(1).next_multiple_of(PAGE_BYTES);
            let thread = block.saturating_mul(u64::from(job.outstanding_per_thread)) + THREAD_BYTES;
            thread.saturating_mul(job.slices.len() as u64)
        };
        self.jobs.iter().map(of_job).fold(0, u64::saturating_add)
    }

    /// How long it takes at most, ramp included, where that is known.
    pub fn expected_time(&self) -> Option<Nanos> {
        self.jobs
            .iter()
            .map(|job| job.end.time.map(|time| time.0 + job.ramp.0 + job.start_delay.0))
            .try_fold(0, |longest, time| Some(longest.max(time?)))
            .map(|time: u64| Nanos(time + self.pause_after.0))
    }
}

/// Everything that will be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: String,
    /// The name of the run.
    pub name: String,
    /// The series it belongs to (`stb-2.1`, `assay-1`); in JSON an empty string where there is none.
    #[serde(with = "empty_as_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub series: Option<String>,
    /// The seed everything random derives from.
    pub seed: u64,
    /// The file or the command line gave the seed, so that each run has the same addresses.
    #[serde(default)]
    pub seed_given: bool,
    /// The hosts it is for, by [`HostId`]; none: the machine that carries it out, which is [`HostId::FIRST`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<PlannedHost>,
    /// What receives the I/O.
    pub targets: Vec<PlannedTarget>,
    /// In sequence.
    pub phases: Vec<PlannedPhase>,
}

impl Plan {
    /// Whether some phase is carried out by `carrier`.
    pub fn uses(&self, carrier: Carrier) -> bool {
        self.phases.iter().any(|phase| phase.carried_by == carrier)
    }

    /// Memory the phase that takes most takes at most, with what is kept of verified data, bytes.
    pub fn memory_bytes_max(&self) -> u64 {
        let phases = self.phases.iter().map(PlannedPhase::memory_bytes).max().unwrap_or(0);
        phases.saturating_add(self.verified_state_bytes())
    }

    /// The seed as reports have it: one that was given says what follows from it.
    pub fn describe_seed(&self) -> String {
        match self.seed_given {
            true => format!("fixed seed {}: every run uses the same addresses", self.seed),
            false => format!("seed {}", self.seed),
        }
    }

    /// The plan as text, one fact a line, stable: what `--dry-run` prints and what two plans are compared by.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let series = self.series.as_ref().map_or_else(String::new, |series| format!(", series {series}"));
        let _ = writeln!(text, "plan {}{series}, {}", self.name, self.describe_seed());
        for host in &self.hosts {
            let _ = writeln!(text, "host {}: {}", host.name, host.describe());
        }
        for target in &self.targets {
            let on = self.on_host(target.host);
            let _ = writeln!(text, "target {}{on}: {}", target.name, describe_target(target));
        }
        // The further rounds of a block say nothing new.
        for phase in self.phases.iter().filter(|phase| phase.step.is_none_or(|step| step.round == 0)) {
            if let Some(step) = phase.step {
                let _ = writeln!(text, "repeated: {}", step.until.describe());
            }
            let _ = writeln!(text, "phase {}: {}", phase.point.title(&phase.name), phase.kind.name());
            for job in &phase.jobs {
                for line in describe_job(job, phase, self) {
                    let _ = writeln!(text, "  job {}: {line}", job.name);
                }
            }
            if phase.drain_after {
                let _ = writeln!(text, "  then: write back dirty pages");
            }
            if phase.pause_after.0 > 0 {
                let _ = writeln!(text, "  then: idle {}", phase.pause_after);
            }
        }
        text
    }

    /// The lines in which two plans differ: `-` only in `self`, `+` only in `other`.
    pub fn diff(&self, other: &Plan) -> Vec<String> {
        let (mine, theirs) = (self.describe(), other.describe());
        let (mine, theirs): (Vec<&str>, Vec<&str>) = (mine.lines().collect(), theirs.lines().collect());
        let gone = mine.iter().filter(|line| !theirs.contains(line)).map(|line| format!("- {line}"));
        let new = theirs.iter().filter(|line| !mine.contains(line)).map(|line| format!("+ {line}"));
        gone.chain(new).collect()
    }
}

fn describe_target(target: &PlannedTarget) -> String {
    let kind = target.kind.name();
    let state = match target.existing_bytes {
        0 if target.kind == TargetKind::File => ", new",
        existing if existing < target.size_bytes && target.kind == TargetKind::File => ", extended",
        _ => "",
    };
    format!("{kind} {}, {}{state}", target.path, Bytes(target.size_bytes))
}

fn describe_job(job: &PlannedJob, phase: &PlannedPhase, plan: &Plan) -> Vec<String> {
    let mut lines = vec![
        describe_work(job, phase.kind),
        format!(
            "{} thread{} x {} outstanding = {}, engine {}, {}, {}",
            job.slices.len(),
            if job.slices.len() == 1 { "" } else { "s" },
            job.outstanding_per_thread,
            job.outstanding_io(),
            job.describe_engine(phase.carried_by),
            if job.direct { "direct" } else { "buffered" },
            describe_flush(&job.flush),
        ),
        format!("{}, {}", describe_pace(job.pace), describe_limits(job)),
    ];
    lines.extend(plan.describe_hosts_of(job));
    for (index, slice) in job.slices.iter().enumerate() {
        let sites = slice.sites.iter().map(|site| {
            let name = plan.targets.get(site.target as usize).map_or("?", |target| target.name.as_str());
            format!("{name}[{}+{}]", Bytes(site.offset_bytes).short(), Bytes(site.length_bytes).short())
        });
        let sites: Vec<String> = sites.collect();
        let on = plan.on_host(slice.host);
        lines.push(format!("thread {index}{on}: seed {}, {}", slice.seed, sites.join(" ")));
    }
    lines
}

fn describe_limits(job: &PlannedJob) -> String {
    let mut parts = Vec::new();
    if job.start_delay.0 > 0 {
        parts.push(format!("after {}", job.start_delay));
    }
    if job.ramp.0 > 0 {
        parts.push(format!("ramp {}", job.ramp));
    }
    if let Some(time) = job.end.time {
        parts.push(format!("for {time}"));
    }
    if let Some(bytes) = job.slices.first().and_then(|slice| slice.bytes) {
        parts.push(format!("{} per thread", Bytes(bytes)));
    }
    if let Some(ios) = job.slices.first().and_then(|slice| slice.ios) {
        parts.push(format!("{ios} I/Os per thread"));
    }
    parts.join(", ")
}

fn describe_pace(pace: Pace) -> String {
    let spacing = match pace.arrival() {
        Arrival::Deterministic => "even arrivals",
        Arrival::Poisson => "Poisson arrivals",
        Arrival::Uniform => "uniform arrivals",
    };
    match pace {
        Pace::Closed => "closed loop".to_owned(),
        Pace::Open { offered: Offered::Iops(iops), .. } => format!("{iops} IOPS offered, {spacing}"),
        Pace::Open { offered: Offered::BytesPerS(bytes), .. } => {
            format!("{}/s offered, {spacing}", Bytes(bytes as u64))
        }
        Pace::Open { offered: Offered::Each(rates), .. } => {
            format!("{} IOPS offered, {spacing}", rates.describe())
        }
        Pace::OfMax { percent, .. } => format!("{percent} % of the unlimited rate offered, {spacing}"),
    }
}

/// The durability of writes in a few words.
pub fn describe_flush(flush: &FlushPolicy) -> String {
    let mut parts = Vec::new();
    match flush.open {
        OpenSync::None => {}
        OpenSync::Dsync => parts.push("O_DSYNC".to_owned()),
        OpenSync::Sync => parts.push("O_SYNC".to_owned()),
    }
    if let Some(periodic) = flush.periodic {
        let call = match periodic.call {
            FlushCall::Fsync => "fsync",
            FlushCall::Fdatasync => "fdatasync",
        };
        let order = match periodic.order {
            FlushOrder::AfterWrite => "",
            FlushOrder::Queued => ", queued",
            FlushOrder::Barrier => ", alone",
        };
        match periodic.every_writes {
            1 => parts.push(format!("{call} after each write{order}")),
            n => parts.push(format!("{call} after every {n} writes{order}")),
        }
    }
    if flush.at_end {
        parts.push("fsync at the end".to_owned());
    }
    if parts.is_empty() { "not flushed".to_owned() } else { parts.join(" and ") }
}

/// Block sizes in a few characters: `4k`, `4k/60,64k/40`, `4k-64k`.
pub fn describe_sizes(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed(size) => Bytes(*size).short(),
        BlockSizes::Weighted(list) => {
            let parts = list.iter().map(|(size, weight)| format!("{}/{weight}", Bytes(*size).short()));
            parts.collect::<Vec<_>>().join(",")
        }
        BlockSizes::Range { min_bytes, max_bytes, .. } => {
            format!("{}-{}", Bytes(*min_bytes).short(), Bytes(*max_bytes).short())
        }
        BlockSizes::Unknown => "of unknown size".to_owned(),
    }
}

/// What a job does in a phase of kind `kind`, in a few words: its access pattern, or what it does to which tree.
pub fn describe_work(job: &Traits, kind: PhaseKind) -> String {
    let tree = match job.body() {
        Body::Blocks(pattern) => {
            let mut words = describe_pattern(pattern);
            if let Some(operation) = job.file_operation {
                words = format!("{} in the place of {words}", operation.name());
            }
            return job.strides.map_or(words.clone(), |strides| format!("{words}, {strides}"));
        }
        Body::Application(of) => return of.words.clone(),
        Body::Tree(tree) => tree,
    };
    let operations = tree.weighted_operations(job.pattern.mix.share(OpKind::Read)).unwrap_or_default();
    let total: f64 = operations.iter().map(|entry| entry.1).sum();
    let words = operations.iter().map(|(operation, weight)| {
        let name = match operation {
            TreeOperation::Read => format!("read {}", describe_sizes(&job.pattern.read_sizes)),
            TreeOperation::Write | TreeOperation::Copy => {
                format!("{} {}", operation.name(), describe_sizes(&job.pattern.write_sizes))
            }
            other => other.name().to_owned(),
        };
        if operations.len() == 1 || kind.in_steps() {
            name
        } else {
            format!("{} % {name}", (weight / total * 1000.0).round() / 10.0)
        }
    });
    let words = words.collect::<Vec<_>>().join(if kind.in_steps() { ", then " } else { ", " });
    let data = operations.iter().any(|(o, _)| matches!(o, TreeOperation::Read | TreeOperation::Write));
    let within = match (data && !kind.in_steps(), tree.random_io) {
        (false, _) => "",
        (true, true) => "random in each file, ",
        (true, false) => "sequential in each file, ",
    };
    let shape = TreeLayout::new(tree).map_or_else(|error| error.to_string(), |layout| layout.describe());
    format!("{words}, {within}tree of {shape}")
}

/// The access pattern in a few words: `70 % read 4k, 30 % write 8k, uniform random (each block once per pass)`.
pub fn describe_pattern(pattern: &AccessPattern) -> String {
    let mix: Vec<String> = pattern
        .kinds()
        .map(|kind| {
            let share = (pattern.mix.share(kind) * 1000.0).round() / 10.0;
            let sizes = describe_sizes(pattern.sizes(kind));
            if share == 100.0 {
                format!("{} {sizes}", kind.name())
            } else {
                format!("{share} % {} {sizes}", kind.name())
            }
        })
        .collect();
    format!("{}, {}", mix.join(", "), describe_placement(&pattern.placement, pattern.repeat_passes))
}

/// What is said of the access pattern of a command that was only observed.
pub const PATTERN_UNKNOWN: &str = "access pattern not known";

fn describe_placement(placement: &Placement, repeat_passes: bool) -> String {
    let same = if repeat_passes { "same order every pass" } else { "" };
    let random = |random: &crate::pattern::Random| {
        let words = match &random.distribution {
            Distribution::Uniform => "uniform random".to_owned(),
            other => format!("random {}", describe_distribution(other)),
        };
        let passes = [if random.once_per_pass { "each block once per pass" } else { "" }, same];
        let passes: Vec<&str> = passes.into_iter().filter(|part| !part.is_empty()).collect();
        if passes.is_empty() { words } else { format!("{words} ({})", passes.join(", ")) }
    };
    match placement {
        Placement::Sequential(sequential) if sequential.skip_max_bytes > 0 => {
            let (min, max) =
                (Bytes(sequential.skip_min_bytes).short(), Bytes(sequential.skip_max_bytes).short());
            if min == max {
                format!("sequential, skipping {max}")
            } else {
                format!("sequential, skipping {min}-{max}")
            }
        }
        Placement::Sequential(_) => "sequential".to_owned(),
        Placement::Random(part) => random(part),
        Placement::Mixed { random_percent, random: part, .. } => {
            format!("{random_percent} % {}, the rest sequential", random(part))
        }
        Placement::Unknown => PATTERN_UNKNOWN.to_owned(),
    }
}

fn describe_distribution(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Uniform => "uniform".to_owned(),
        Distribution::Zipf { theta } => format!("zipf {theta}"),
        Distribution::Pareto { h } => format!("Pareto {h}"),
        Distribution::Normal { stddev_percent, scattered } => {
            format!("normal {stddev_percent} %{}", if *scattered { ", scattered" } else { "" })
        }
        Distribution::Sequence { blocks, .. } => format!("in a list of {} blocks", blocks.len()),
        Distribution::Zoned(zones) => format!("in {} zones", zones.len()),
        Distribution::HitArea { read_percent, write_percent, bytes } => {
            format!(
                "hit area {} for {read_percent} % of reads, {write_percent} % of writes",
                Bytes(*bytes).short()
            )
        }
        Distribution::Exponential { midpoint } => format!("exponential, midpoint {midpoint}"),
        Distribution::Hotband { low_bytes, high_bytes, corrected } => {
            let band = match (*low_bytes, *high_bytes) {
                (0, u64::MAX) => String::new(),
                (low, u64::MAX) => format!(" from {}", Bytes(low).short()),
                (low, high) => format!(" {}-{}", Bytes(low).short(), Bytes(high).short()),
            };
            format!("hotband{band}{}", if *corrected { ", units corrected" } else { "" })
        }
        Distribution::ReadMiss { miss_percent, hit_bytes } => {
            let hits = match *hit_bytes {
                u64::MAX => "blocks read before".to_owned(),
                bytes => format!("the last {} read", Bytes(bytes).short()),
            };
            format!("{miss_percent} % of reads to blocks not read before, the rest to {hits}")
        }
    }
}
