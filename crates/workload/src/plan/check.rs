//! Whether a plan can be carried out at all: for one that comes from elsewhere (a file, another machine). What is planned here
//! is so by construction.

use std::path::Path;

use super::{Offered, Pace, Plan, PlannedJob, PlannedPhase, PlannedTarget, SCHEMA, SliceRate, ThreadSlice};
use crate::application::Body;
use crate::bounds::{OUTSTANDING_MAX, TARGETS_MAX, THREADS_MAX};
use crate::content::Payload;
use crate::fill::OFFSET_BYTES;
use crate::host::HostId;
use crate::operation::OpId;
use crate::pattern::{AccessPattern, BlockSizes, Distribution, OpKind, Placement, ZoneSize};
use crate::target::TargetKind;
use crate::tree::{TreeError, TreeLayout};
use crate::units::{Bytes, Nanos};

/// Times are below this, 50 years: four of them added up are a time as well.
const TIME_MAX: Nanos = Nanos::from_secs(50 * 365 * 86_400);
/// Bytes of a target, as the kernel numbers them.
const TARGET_BYTES_MAX: u64 = i64::MAX as u64;
/// Bytes of a block.
const BLOCK_BYTES_MAX: u64 = u32::MAX as u64 / 2;

/// What in a plan cannot be, and where.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {fault}")]
pub struct PlanProblem {
    /// Where.
    pub place: PlanPlace,
    /// What.
    pub fault: PlanFault,
}

/// A place in a plan, by indices from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanPlace {
    /// The whole.
    Plan,
    /// A target.
    Target(usize),
    /// A phase.
    Phase(usize),
    /// A job of a phase.
    Job(usize, usize),
    /// A thread of a job of a phase.
    Slice(usize, usize, usize),
}

impl std::fmt::Display for PlanPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlanPlace::Plan => f.write_str("the plan"),
            PlanPlace::Target(target) => write!(f, "targets[{target}]"),
            PlanPlace::Phase(phase) => write!(f, "phases[{phase}]"),
            PlanPlace::Job(phase, job) => write!(f, "phases[{phase}].jobs[{job}]"),
            PlanPlace::Slice(phase, job, slice) => write!(f, "phases[{phase}].jobs[{job}].slices[{slice}]"),
        }
    }
}

/// What cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanFault {
    /// It is of another version.
    #[error("its schema is '{0}'; this version of Assay carries out '{SCHEMA}'")]
    Schema(String),
    /// A list without entries.
    #[error("it has no {0}")]
    Without(&'static str),
    /// A list with too many.
    #[error("{number} {what}; {max} are possible")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        number: usize,
        /// How many there may be.
        max: usize,
    },
    /// A path that depends on where it is used.
    #[error("its path '{0}' is not absolute")]
    RelativePath(String),
    /// A number of a host that the plan does not have.
    #[error("host {0}, which the plan does not have")]
    Host(u16),
    /// A number of a target that the plan does not have, or that another host has.
    #[error("target {0}, which its host does not have")]
    Target(u32),
    /// A range that is not in the target, or no block fits in.
    #[error(
        "a range of {} from byte {offset_bytes} on, which is not in its target of {} or holds no block of {}",
        Bytes(*length_bytes), Bytes(*size_bytes), Bytes(*block_bytes)
    )]
    Range {
        /// Its start.
        offset_bytes: u64,
        /// Its length.
        length_bytes: u64,
        /// The size of the target.
        size_bytes: u64,
        /// The largest block, aligned.
        block_bytes: u64,
    },
    /// A whole number out of its bounds.
    #[error("{what} of {value}; {min} to {max} are possible")]
    Number {
        /// Which.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The smallest possible.
        min: u64,
        /// The largest possible.
        max: u64,
    },
    /// A share, a rate or a parameter that is none.
    #[error("{what} of {value}")]
    Share {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A tree that cannot be.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

type Checked = Result<(), PlanFault>;

fn number(what: &'static str, value: u64, min: u64, max: u64) -> Checked {
    if (min..=max).contains(&value) { Ok(()) } else { Err(PlanFault::Number { what, value, min, max }) }
}

fn time(what: &'static str, value: Nanos) -> Checked {
    number(what, value.0, 0, TIME_MAX.0)
}

/// Finite, and as `holds` says.
fn share(what: &'static str, value: f64, holds: impl Fn(f64) -> bool) -> Checked {
    if value.is_finite() && holds(value) { Ok(()) } else { Err(PlanFault::Share { what, value }) }
}

fn percent(what: &'static str, value: f64) -> Checked {
    share(what, value, |value| (0.0..=100.0).contains(&value))
}

fn rate(value: f64) -> Checked {
    share("a rate", value, |rate| rate > 0.0)
}

fn some(what: &'static str, number: usize, max: usize) -> Checked {
    match number {
        0 => Err(PlanFault::Without(what)),
        number if number > max => Err(PlanFault::TooMany { what, number, max }),
        _ => Ok(()),
    }
}

impl Plan {
    /// Whether it can be carried out, whatever made it: every number within its bounds, every index of something that is there.
    /// What the targets are is not looked at.
    ///
    /// # Errors
    /// [`PlanProblem`]: the first thing that cannot be.
    pub fn check(&self) -> Result<(), PlanProblem> {
        let at = |place: PlanPlace| move |fault| PlanProblem { place, fault };
        self.check_whole().map_err(at(PlanPlace::Plan))?;
        for (index, target) in self.targets.iter().enumerate() {
            self.check_target(target).map_err(at(PlanPlace::Target(index)))?;
        }
        for (phase, planned) in self.phases.iter().enumerate() {
            check_phase(planned).map_err(at(PlanPlace::Phase(phase)))?;
            for (job, planned) in planned.jobs.iter().enumerate() {
                self.check_job(planned).map_err(at(PlanPlace::Job(phase, job)))?;
                for (slice, part) in planned.slices.iter().enumerate() {
                    self.check_slice(planned, part).map_err(at(PlanPlace::Slice(phase, job, slice)))?;
                }
            }
        }
        Ok(())
    }

    fn check_whole(&self) -> Checked {
        if self.schema != SCHEMA {
            return Err(PlanFault::Schema(self.schema.chars().take(40).collect()));
        }
        some("phases", self.phases.len(), usize::MAX)
    }

    fn check_host(&self, host: HostId) -> Checked {
        let known = usize::from(host.0) < self.hosts.len().max(1);
        if known { Ok(()) } else { Err(PlanFault::Host(host.0)) }
    }

    fn check_target(&self, target: &PlannedTarget) -> Checked {
        self.check_host(target.host)?;
        // What other hosts use, each of them finds in a directory of its own before it carries out its part.
        let here = self.hosts.is_empty() && target.kind != TargetKind::Null;
        if here && !Path::new(&target.path).is_absolute() {
            return Err(PlanFault::RelativePath(target.path.clone()));
        }
        number("a size", target.size_bytes, 0, TARGET_BYTES_MAX)?;
        number("an existing size", target.existing_bytes, 0, TARGET_BYTES_MAX)?;
        number("an alignment", target.direct_align_bytes.map_or(1, u64::from), 1, BLOCK_BYTES_MAX)
    }

    fn check_job(&self, job: &PlannedJob) -> Checked {
        let threads_max = THREADS_MAX as usize * self.hosts.len().max(1);
        if job.slices.len() > threads_max {
            let number = job.slices.len();
            return Err(PlanFault::TooMany { what: "threads", number, max: threads_max });
        }
        let names_max = usize::from(OpId::COUNT_MAX);
        if job.operations.len() > names_max {
            let number = job.operations.len();
            return Err(PlanFault::TooMany { what: "names of operations", number, max: names_max });
        }
        match job.body() {
            Body::Blocks(pattern) => check_pattern(pattern)?,
            Body::Tree(tree) => {
                check_pattern(&job.pattern)?;
                tree.check(job.pattern.mix.share(OpKind::Read))?;
                TreeLayout::new(tree)?;
            }
            // Its kind knows its settings.
            Body::Application(_) => {}
        }
        let outstanding = u64::from(job.outstanding_per_thread);
        number("I/Os outstanding per thread", outstanding, 1, u64::from(OUTSTANDING_MAX))?;
        time("a ramp", job.ramp)?;
        time("a start delay", job.start_delay)?;
        time("a time", job.end.time.unwrap_or_default())?;
        if let Some(think) = job.think_time {
            time("a think time", think.time)?;
            number("operations per think time", u64::from(think.every_ios), 1, u64::MAX)?;
        }
        if let Some(flow) = job.flow {
            time("a pause of a flow", flow.pause)?;
            number("a weight of a flow", u64::from(flow.weight), 1, u64::from(u32::MAX))?;
        }
        if let Some(strides) = job.strides {
            number("bytes of a zone", strides.zone_bytes, job.pattern.max_block_bytes().max(1), u64::MAX)?;
            number("bytes moved in a zone", strides.turn_bytes, 1, u64::MAX)?;
        }
        if let Some(flush) = job.flush.periodic {
            number("writes per flush", u64::from(flush.every_writes), 1, u64::MAX)?;
        }
        if let Some(steady) = job.end.steady {
            share("a limit of the steady state", steady.percent_max, |limit| limit > 0.0)?;
            time("a window of the steady state", steady.window)?;
            time("a skipped time", steady.skip)?;
        }
        share("a compression ratio", job.content.compression_ratio, |ratio| ratio >= 1.0)?;
        share("a deduplication ratio", job.content.dedup_ratio, |ratio| ratio >= 1.0)?;
        number("a deduplication unit", job.content.dedup_unit_bytes, 1, TARGET_BYTES_MAX)?;
        if let Payload::Pattern(bytes) = &job.content.payload {
            some("bytes in its pattern", bytes.len(), usize::MAX)?;
            let mut offsets = job.content.pattern_blocks.iter().flat_map(|blocks| &blocks.offset_at);
            let len = bytes.len() as u64;
            offsets.try_for_each(|at| {
                number("the end of an offset in the pattern", u64::from(*at) + OFFSET_BYTES as u64, 0, len)
            })?;
        }
        if let Some(percent) = job.content.written_beside_reads_percent {
            share("a share of reads", percent, |percent| (0.0..=100.0).contains(&percent))?;
        }
        check_pace(job.pace)
    }

    fn check_slice(&self, job: &PlannedJob, slice: &ThreadSlice) -> Checked {
        self.check_host(slice.host)?;
        // An application may have no target.
        some("sites", slice.sites.len().max(usize::from(job.application.is_some())), TARGETS_MAX)?;
        match slice.rate {
            Some(SliceRate::Iops(iops)) => rate(iops)?,
            Some(SliceRate::Each(rates)) => rates.rated().try_for_each(|(_, iops)| rate(iops))?,
            None => {}
        }
        for site in &slice.sites {
            let target = self.targets.get(site.target as usize).filter(|target| target.host == slice.host);
            let size_bytes = target.ok_or(PlanFault::Target(site.target))?.size_bytes;
            let end = site.offset_bytes.checked_add(site.length_bytes);
            let (block_bytes, end_max) = match job.body() {
                Body::Blocks(pattern) => (pattern.max_block_bytes().max(pattern.align()), size_bytes),
                // A site of a tree says how much it holds.
                Body::Tree(_) | Body::Application(_) => (0, TARGET_BYTES_MAX),
            };
            if end.is_none_or(|end| end > end_max) || site.length_bytes < block_bytes {
                let (offset_bytes, length_bytes) = (site.offset_bytes, site.length_bytes);
                return Err(PlanFault::Range { offset_bytes, length_bytes, size_bytes, block_bytes });
            }
        }
        Ok(())
    }
}

fn check_phase(phase: &PlannedPhase) -> Checked {
    some("jobs", phase.jobs.len(), usize::MAX)?;
    time("a pause", phase.pause_after)
}

fn check_pace(pace: Pace) -> Checked {
    match pace {
        Pace::Closed => Ok(()),
        Pace::Open { offered: Offered::Iops(value) | Offered::BytesPerS(value), .. } => rate(value),
        Pace::Open { offered: Offered::Each(rates), .. } => {
            rates.rated().try_for_each(|(_, value)| rate(value))
        }
        Pace::OfMax { percent, .. } => rate(percent),
    }
}

fn check_pattern(pattern: &AccessPattern) -> Checked {
    let mix = &pattern.mix;
    let shares = [mix.read_percent, mix.write_percent, mix.trim_percent];
    shares.into_iter().try_for_each(|value| percent("a share of its mix", value))?;
    share("a mix", shares.iter().sum(), |sum| (sum - 100.0).abs() <= 0.01)?;
    pattern.kinds().try_for_each(|kind| check_sizes(pattern.sizes(kind)))?;
    number("an alignment", pattern.align_bytes.unwrap_or(1), 0, BLOCK_BYTES_MAX)?;
    match &pattern.placement {
        Placement::Random(random) => check_distribution(&random.distribution),
        Placement::Mixed { random_percent, random, .. } => {
            percent("a random share", *random_percent)?;
            check_distribution(&random.distribution)
        }
        Placement::Sequential(_) => Ok(()),
        Placement::Unknown => Err(PlanFault::Without("access pattern")),
    }?;
    match &pattern.placement {
        Placement::Sequential(walk) | Placement::Mixed { sequential: walk, .. } => {
            number("a skipped distance", walk.skip_max_bytes, walk.skip_min_bytes, TARGET_BYTES_MAX)
        }
        _ => Ok(()),
    }
}

fn check_sizes(sizes: &BlockSizes) -> Checked {
    number("a block size", sizes.min_bytes(), 1, BLOCK_BYTES_MAX)?;
    number("a block size", sizes.max_bytes(), sizes.min_bytes(), BLOCK_BYTES_MAX)?;
    match sizes {
        BlockSizes::Weighted(list) => {
            list.iter().try_for_each(|(_, weight)| share("a weight", *weight, |weight| weight >= 0.0))?;
            share("weights", list.iter().map(|entry| entry.1).sum(), |sum| sum > 0.0)
        }
        BlockSizes::Range { step_bytes, .. } => number("a step of sizes", *step_bytes, 1, BLOCK_BYTES_MAX),
        BlockSizes::Fixed(_) | BlockSizes::Unknown => Ok(()),
    }
}

fn check_distribution(distribution: &Distribution) -> Checked {
    let above_0 = |what, value| share(what, value, |value| value > 0.0);
    match distribution {
        Distribution::Uniform | Distribution::Hotband { .. } => Ok(()),
        Distribution::Zipf { theta } => share("a theta", *theta, |theta| theta > 0.0 && theta != 1.0),
        Distribution::Pareto { h } => share("a power", *h, |h| h > 0.0 && h < 1.0),
        Distribution::Normal { stddev_percent, .. } => {
            // Positions are drawn until one lies in the range.
            share("a standard deviation", *stddev_percent, |value| (0.0..=1000.0).contains(&value))
        }
        Distribution::Exponential { midpoint } => above_0("a midpoint", *midpoint),
        Distribution::HitArea { read_percent, write_percent, .. } => {
            percent("a share of reads", *read_percent)?;
            percent("a share of writes", *write_percent)
        }
        Distribution::Sequence { blocks, .. } => some("blocks of a list", blocks.len(), usize::MAX),
        Distribution::ReadMiss { miss_percent, .. } => percent("a share of misses", *miss_percent),
        Distribution::Zoned(zones) => {
            some("zones", zones.len(), usize::MAX)?;
            for zone in zones {
                percent("a share of accesses", zone.access_percent)?;
                if let ZoneSize::RangePercent(size) = zone.size {
                    percent("the size of a zone", size)?;
                }
            }
            above_0("shares of accesses", zones.iter().map(|zone| zone.access_percent).sum())
        }
    }
}

#[cfg(test)]
mod tests;
