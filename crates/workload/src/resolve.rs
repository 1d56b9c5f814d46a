//! From what was asked to what will be done: the only place where something about this system enters.

mod hosts;
pub mod misses;
mod steps;
mod tree;
mod verify;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::hosts::{PlanHost, PlanHosts, part_of};
use crate::application::Body;
pub use crate::bounds::{OUTSTANDING_MAX, TARGETS_MAX, THREADS_MAX};
use crate::host::HostId;
use crate::job::{
    Caching, EngineKind, FlushPolicy, Job, JobSeed, Limits, OperationRates, Phase, Rate, TargetSharing,
    Workload,
};
use crate::pattern::{BlockSizes, OpKind};
use crate::plan::{
    Carrier, End, Offered, Pace, Plan, PlannedEngine, PlannedJob, PlannedPhase, PlannedSite, PlannedTarget,
    SCHEMA, SliceRate, ThreadSlice,
};
use crate::point::SweepPoint;
use crate::rng::derive_seed;
use crate::target::{Extent, TargetKind};
use crate::units::Bytes;

/// What is known of a target before planning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// Absolute path.
    pub path: String,
    /// What it is, or will be.
    pub kind: TargetKind,
    /// Its size now; 0 where it does not exist.
    pub existing_bytes: u64,
    /// What O_DIRECT I/O must be aligned to; `None`: O_DIRECT is not possible there.
    pub direct_align_bytes: Option<u32>,
    /// The engine found best here by trial, and why: for one outstanding I/O and for several; `None`: no trial was needed.
    pub engine_choice: Option<[(EngineKind, String); 2]>,
    /// Why nothing may be opened or made there, where that is why direct I/O could not be looked up.
    #[serde(default)]
    pub direct_refused: Option<String>,
}

/// What is known of this system before planning.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inventory {
    /// By target name.
    pub targets: BTreeMap<String, TargetFacts>,
    /// Engines that work here.
    pub engines: Vec<EngineKind>,
    /// An engine that overrides what jobs ask for (`--engine`).
    pub engine_override: Option<EngineKind>,
    /// Bytes from the start of a target, by its name, that were read before, as by a probe: no read of them counts as one of a
    /// block not touched before.
    pub touched_bytes: BTreeMap<String, u64>,
    /// What is known of hosts, by their names. Of a host that is not here, what is known of this system is taken to hold.
    pub hosts: BTreeMap<String, Inventory>,
}

/// Why a workload cannot become a plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ResolveError {
    /// No phases, or a phase without jobs.
    #[error("there is nothing to do: {0} has no jobs")]
    Empty(String),
    /// A job names a target that is not defined.
    #[error("job '{job}' uses target '{target}', which is not defined")]
    UnknownTarget {
        /// The job.
        job: String,
        /// The target.
        target: String,
    },
    /// Nothing is known of a target.
    #[error("target '{0}' was not looked at")]
    NoFacts(String),
    /// A size is missing or zero.
    #[error("target '{0}' has no size: give one, or name something that exists and is not empty")]
    NoSize(String),
    /// A size is missing, and the host that has the target was not looked at.
    #[error("target '{target}' has no size, and host '{host}' was not looked at: give one")]
    NoSizeOnHost {
        /// The target.
        target: String,
        /// The host.
        host: String,
    },
    /// A job names a host that is not defined.
    #[error("job '{job}' runs on host '{host}', which is not defined")]
    UnknownHost {
        /// The job.
        job: String,
        /// The host.
        host: String,
    },
    /// Two hosts have one name.
    #[error("there are two hosts with the name '{0}'")]
    HostTwice(String),
    /// There are more hosts than can be numbered.
    #[error("more than {max} hosts")]
    TooManyHosts {
        /// The bound.
        max: usize,
    },
    /// More is asked for than a device holds.
    #[error("target '{target}' holds {existing}, less than the {asked} asked for")]
    TooSmall {
        /// The target.
        target: String,
        /// What it holds.
        existing: Bytes,
        /// What was asked.
        asked: Bytes,
    },
    /// The active range is empty or smaller than a block.
    #[error("job '{job}': its range of {range} on '{target}' is smaller than its largest block of {block}")]
    RangeTooSmall {
        /// The job.
        job: String,
        /// The target.
        target: String,
        /// The range.
        range: Bytes,
        /// The largest block.
        block: Bytes,
    },
    /// A number out of its bounds.
    #[error("job '{job}': {what}")]
    Invalid {
        /// The job.
        job: String,
        /// What is wrong, with the bound.
        what: String,
    },
    /// An engine that does not work here was asked for by name.
    #[error(
        "job '{job}' asks for engine {engine}, which does not work here ('assay doctor' says why); '--engine auto' takes one that does"
    )]
    EngineUnavailable {
        /// The job.
        job: String,
        /// Its name.
        engine: &'static str,
    },
    /// An engine that needs something to read or write, on targets that are nothing.
    #[error(
        "job '{job}' asks for engine {engine}, and its target is of kind \"null\", which holds nothing; leave the engine out, or give the target a path"
    )]
    NothingThere {
        /// The job.
        job: String,
        /// The engine's name.
        engine: &'static str,
    },
    /// Blocks that repeat would make too many phases.
    #[error("with all rounds of '{name}' the plan has more than {max} phases; fewer points or fewer rounds")]
    TooManyRounds {
        /// A phase of the block.
        name: String,
        /// The bound.
        max: usize,
    },
    /// Direct I/O was asked for and is not possible.
    #[error("job '{job}' asks for direct I/O, but {why}")]
    DirectImpossible {
        /// The job.
        job: String,
        /// The reason.
        why: String,
    },
    /// Direct I/O was asked for, and nothing may be opened or made where the target is.
    #[error("job '{job}', target '{target}': {why}")]
    TargetRefused {
        /// The job.
        job: String,
        /// The target.
        target: String,
        /// The reason.
        why: String,
    },
}

/// Resolves `workload` for this system. `seed` is used where the workload fixes none, and by jobs that ask for another one in each run.
///
/// # Errors
/// [`ResolveError`]: the first contradiction found, naming job and target.
pub fn plan(workload: &Workload, inventory: &Inventory, seed: u64) -> Result<Plan, ResolveError> {
    let (drawn, seed_given) = (seed, workload.seed.is_some());
    let seed = workload.seed.unwrap_or(drawn);
    if workload.phases.is_empty() {
        return Err(ResolveError::Empty(format!("'{}'", workload.name)));
    }
    let places = PlanHosts::new(workload, inventory)?;
    let mut repeats: BTreeMap<(&str, &SweepPoint), u32> = BTreeMap::new();
    let mut phases = Vec::with_capacity(workload.phases.len());
    let unrolled = steps::unrolled(&workload.phases)?;
    for (phase_index, (phase, step)) in unrolled.iter().enumerate() {
        if phase.jobs.is_empty() {
            return Err(ResolveError::Empty(format!("phase '{}'", phase.name)));
        }
        let jobs = phase.jobs.iter().enumerate().map(|(job_index, job)| {
            let own = match job.seed {
                None => seed,
                Some(JobSeed::Given(own)) => own,
                Some(JobSeed::Fresh) => drawn,
            };
            Planner { job, places: places.of(job)?, targets: &places.targets, inventory }
                .plan(derive_seed(derive_seed(own, phase_index as u64), job_index as u64))
        });
        let repeat = repeats.entry((&phase.name, &phase.point)).or_default();
        phases.push(PlannedPhase {
            name: phase.name.clone(),
            kind: phase.kind,
            jobs: jobs.collect::<Result<_, _>>()?,
            drain_after: phase.drain_after,
            pause_after: phase.pause_after,
            point: phase.point.clone(),
            repeat: *repeat,
            step: *step,
            carried_by: carrier(phase, inventory),
            despite_failure: phase.despite_failure,
        });
        *repeat += 1;
    }
    let mut plan = Plan {
        schema: SCHEMA.to_owned(),
        name: workload.name.clone(),
        series: None,
        seed,
        seed_given,
        hosts: places.planned(),
        targets: places.targets,
        phases,
    };
    misses::divide(&mut plan, &inventory.touched_bytes)?;
    verify::check(&plan)?;
    Ok(plan)
}

/// What carries a phase out, by the engines its jobs ask for.
fn carrier(phase: &Phase, inventory: &Inventory) -> Carrier {
    let asks = |kind| phase.jobs.iter().any(|job| inventory.engine_override.unwrap_or(job.engine) == kind);
    match () {
        () if asks(EngineKind::Fio) => Carrier::Fio,
        () if asks(EngineKind::Sim) => Carrier::Simulated,
        () => Carrier::Native,
    }
}

fn plan_target(target: &crate::Target, inventory: &Inventory) -> Result<PlannedTarget, ResolveError> {
    let facts =
        inventory.targets.get(&target.name).ok_or_else(|| ResolveError::NoFacts(target.name.clone()))?;
    let size = target.size.map_or(facts.existing_bytes, |size| size.0);
    if size == 0 && facts.kind != TargetKind::Directory {
        return Err(ResolveError::NoSize(target.name.clone()));
    }
    if facts.kind == TargetKind::BlockDevice && size > facts.existing_bytes {
        return Err(ResolveError::TooSmall {
            target: target.name.clone(),
            existing: Bytes(facts.existing_bytes),
            asked: Bytes(size),
        });
    }
    Ok(PlannedTarget {
        name: target.name.clone(),
        host: HostId::FIRST,
        path: facts.path.clone(),
        kind: facts.kind,
        size_bytes: size,
        existing_bytes: facts.existing_bytes,
        direct_align_bytes: facts.direct_align_bytes,
    })
}

/// Resolves one job.
struct Planner<'a> {
    job: &'a Job,
    /// The hosts it runs on.
    places: Vec<&'a PlanHost<'a>>,
    targets: &'a [PlannedTarget],
    inventory: &'a Inventory,
}

impl Planner<'_> {
    fn plan(&self, seed: u64) -> Result<PlannedJob, ResolveError> {
        self.check_numbers()?;
        let indices = self.target_indices()?;
        match self.job.body() {
            Body::Blocks(_) => {}
            Body::Tree(tree) => return self.plan_tree(tree, &indices, seed),
            Body::Application(_) => return Ok(self.plan_application(&indices, seed)),
        }
        self.check_names(&indices.concat())?;
        let (engine, engine_reason) = self.engine()?;
        let slices = self.threads(seed).map(|thread| self.slice(&thread, &indices[thread.part]));
        let slices = slices.collect::<Result<Vec<_>, _>>()?;
        // Calls on files move no data that could pass the cache.
        let moves_data = engine != PlannedEngine::Null && self.job.file_operation.is_none();
        let direct = moves_data && self.direct(&indices.concat(), &slices)?;
        Ok(PlannedJob {
            traits: self.job.traits.clone(),
            engine,
            engine_reason,
            direct,
            pace: self.pace(),
            end: self.end(None),
            operations: Vec::new(),
            slices,
        })
    }

    /// What works on names has files, or directories, and nothing that could be flushed.
    fn check_names(&self, indices: &[u32]) -> Result<(), ResolveError> {
        let Some(operation) = self.job.by_name() else { return Ok(()) };
        let fits = |kind| match kind {
            TargetKind::File => true,
            TargetKind::Directory => operation.is_on_directories(),
            TargetKind::BlockDevice | TargetKind::Null => false,
        };
        let targets = indices.iter().map(|index| &self.targets[*index as usize]);
        if let Some(target) = targets.into_iter().find(|target| !fits(target.kind)) {
            let (name, kind, path) = (operation.name(), target.kind.name(), &target.path);
            return Err(self.invalid(format!("{name} of {path}, which is a {kind}")));
        }
        if self.job.flush != FlushPolicy::default() {
            return Err(self.invalid(format!("a flush, and {} leaves nothing to flush", operation.name())));
        }
        Ok(())
    }

    /// Its threads have the whole targets, and another program may do the I/O.
    fn plan_application(&self, indices: &[Vec<u32>], seed: u64) -> PlannedJob {
        let limits = &self.job.limits;
        let site = |index: u32| {
            let length_bytes = self.targets[index as usize].size_bytes;
            PlannedSite { target: index, offset_bytes: 0, length_bytes }
        };
        let slice = |thread: PlannedThread| ThreadSlice {
            host: thread.host,
            seed: thread.seed,
            sites: self.targets_of(&thread, &indices[thread.part]).into_iter().map(site).collect(),
            ios: limits.ios,
            bytes: limits.bytes,
            rate: self.slice_rate(),
        };
        PlannedJob {
            traits: self.job.traits.clone(),
            engine: PlannedEngine::Foreign,
            engine_reason: None,
            // What it opens is its own business; this is what it says of it.
            direct: self.job.caching == Caching::Direct,
            pace: self.pace(),
            end: self.end(limits.passes),
            operations: Vec::new(),
            slices: self.threads(seed).map(slice).collect(),
        }
    }

    fn pace(&self) -> Pace {
        let arrival = self.job.arrival;
        match self.job.rate {
            Rate::Unlimited => Pace::Closed,
            Rate::Iops(rate) => Pace::Open { offered: Offered::Iops(rate), arrival },
            Rate::BytesPerS(rate) => Pace::Open { offered: Offered::BytesPerS(rate), arrival },
            Rate::Each(rates) => Pace::Open { offered: Offered::Each(rates), arrival },
            Rate::PercentOfMax(percent) => Pace::OfMax { percent, arrival },
        }
    }

    fn end(&self, passes: Option<u32>) -> End {
        let Limits { time, ends_with, steady, .. } = self.job.limits;
        End { time, passes, ends_with, steady }
    }

    /// The I/O path that was asked for, by the job or for all of them.
    fn asked_engine(&self) -> EngineKind {
        self.inventory.engine_override.unwrap_or(self.job.engine)
    }

    fn invalid(&self, what: impl Into<String>) -> ResolveError {
        ResolveError::Invalid { job: self.job.name.clone(), what: what.into() }
    }

    fn check_numbers(&self) -> Result<(), ResolveError> {
        let job = self.job;
        let mix = &job.pattern.mix;
        let total = mix.read_percent + mix.write_percent + mix.trim_percent;
        if job.application.is_none() && (total - 100.0).abs() > 0.01 {
            return Err(self.invalid(format!("its mix totals {total} %, not 100 %")));
        }
        if [mix.read_percent, mix.write_percent, mix.trim_percent].iter().any(|share| *share < 0.0) {
            return Err(self.invalid("a share of its mix is below 0"));
        }
        if job.threads == 0 || job.threads > THREADS_MAX {
            return Err(self.invalid(format!("{} threads; 1 to {THREADS_MAX} are possible", job.threads)));
        }
        if job.outstanding_per_thread == 0 || job.outstanding_per_thread > OUTSTANDING_MAX {
            let asked = job.outstanding_per_thread;
            return Err(self.invalid(format!("{asked} outstanding; 1 to {OUTSTANDING_MAX} are possible")));
        }
        if job.pattern.kinds().any(|kind| job.pattern.sizes(kind).min_bytes() == 0) {
            return Err(self.invalid("a block size of 0"));
        }
        if job.pattern.max_block_bytes() > u64::from(u32::MAX / 2) {
            return Err(self.invalid("a block size above 2 GiB"));
        }
        match job.rate {
            Rate::Iops(rate) | Rate::BytesPerS(rate) | Rate::PercentOfMax(rate)
                if !(rate.is_finite() && rate > 0.0) =>
            {
                Err(self.invalid(format!("a rate of {rate}")))
            }
            Rate::Each(rates) => self.check_rates(rates),
            _ => Ok(()),
        }
    }

    fn check_rates(&self, rates: OperationRates) -> Result<(), ResolveError> {
        if !self.job.is_blocks() {
            let what = "rates of single operations; of a tree or an application the rate is of all together";
            return Err(self.invalid(what));
        }
        if rates == OperationRates::default() {
            return Err(self.invalid("rates of single operations without any"));
        }
        for (kind, rate) in rates.rated() {
            if !(rate.is_finite() && rate > 0.0) {
                return Err(self.invalid(format!("a {} rate of {rate}", kind.name())));
            }
            if self.job.pattern.mix.share(kind) == 0.0 {
                return Err(self.invalid(format!("a rate of {0}s, but no {0}s in its mix", kind.name())));
            }
        }
        Ok(())
    }

    /// Its targets on each of its hosts.
    fn target_indices(&self) -> Result<Vec<Vec<u32>>, ResolveError> {
        if self.job.targets.is_empty() && self.job.application.is_none() {
            return Err(self.invalid("no target"));
        }
        let on = |place: &&PlanHost<'_>| {
            self.job.targets.iter().map(|name| self.target_index(place, name)).collect()
        };
        self.places.iter().map(on).collect()
    }

    fn target_index(&self, place: &PlanHost<'_>, name: &str) -> Result<u32, ResolveError> {
        place.index(name).ok_or_else(|| ResolveError::UnknownTarget {
            job: self.job.name.clone(),
            target: name.to_owned(),
        })
    }

    /// All threads of the job, host by host, with their seeds.
    fn threads(&self, seed: u64) -> impl Iterator<Item = PlannedThread> {
        self.places.iter().enumerate().flat_map(move |(part, place)| {
            let seed = place.seed(seed);
            (0..self.job.threads).map(move |number| PlannedThread {
                part,
                host: place.id,
                number,
                seed: derive_seed(seed, u64::from(number)),
            })
        })
    }

    /// Those of a job's targets that one of its threads uses.
    fn targets_of(&self, thread: &PlannedThread, indices: &[u32]) -> Vec<u32> {
        match self.job.sharing {
            TargetSharing::Shared => indices.to_vec(),
            TargetSharing::PerThread => {
                indices.get(thread.number as usize % indices.len().max(1)).into_iter().copied().collect()
            }
        }
    }

    /// Whether all targets of the job are of the kind that holds nothing.
    fn has_nothing_there(&self) -> bool {
        let kind =
            |name: &String| self.targets.iter().find(|target| target.name == *name).map(|target| target.kind);
        !self.job.targets.is_empty()
            && self.job.targets.iter().all(|name| kind(name) == Some(TargetKind::Null))
    }

    fn engine(&self) -> Result<(PlannedEngine, Option<String>), ResolveError> {
        let works = |kind| self.places.iter().all(|place| place.inventory.engines.contains(&kind));
        let deep = self.job.outstanding_per_thread > 1;
        let named = self.asked_engine();
        let job = || self.job.name.clone();
        if self.has_nothing_there() {
            return match named {
                EngineKind::Auto => {
                    Ok((PlannedEngine::Null, Some("auto: there is nothing to read or write".to_owned())))
                }
                EngineKind::Null | EngineKind::Sim | EngineKind::Fio => Ok((named.into(), None)),
                _ => Err(ResolveError::NothingThere { job: job(), engine: named.name() }),
            };
        }
        if self.job.file_operation.is_some() && !matches!(named, EngineKind::Fio | EngineKind::Sim) {
            // Its calls have no asynchronous form.
            return Ok((PlannedEngine::Psync, None));
        }
        if named != EngineKind::Auto {
            let unavailable = || ResolveError::EngineUnavailable { job: job(), engine: named.name() };
            return works(named).then_some((named.into(), None)).ok_or_else(unavailable);
        }
        let facts = self.places.first().map_or(self.inventory, |place| place.inventory);
        let trial = self.job.targets.iter().find_map(|name| facts.targets.get(name)?.engine_choice.as_ref());
        let (kind, reason) = match trial {
            Some([single, several]) => {
                if deep {
                    several.clone()
                } else {
                    single.clone()
                }
            }
            None if works(EngineKind::IoUring) => {
                (EngineKind::IoUring, "auto: the least CPU per I/O here".to_owned())
            }
            None if deep && works(EngineKind::Libaio) => {
                (EngineKind::Libaio, "auto: io_uring is unavailable".to_owned())
            }
            None => (EngineKind::Psync, "auto: no asynchronous engine is available".to_owned()),
        };
        Ok((kind.into(), Some(reason)))
    }

    /// Whether to open with O_DIRECT, by what was asked and what the targets, block sizes and ranges allow.
    fn direct(&self, indices: &[u32], slices: &[ThreadSlice]) -> Result<bool, ResolveError> {
        self.direct_unless(indices, |align| self.misaligned(slices, align))
    }

    /// As [`Planner::direct`], with what is not a multiple of an alignment told by `misaligned`.
    fn direct_unless(
        &self,
        indices: &[u32],
        misaligned: impl Fn(u64) -> Option<String>,
    ) -> Result<bool, ResolveError> {
        let obstacle = indices.iter().find_map(|&index| {
            let target = &self.targets[index as usize];
            match target.direct_align_bytes {
                None => Some(format!("'{}' does not support it", target.name)),
                Some(align) => misaligned(u64::from(align)).map(|what| {
                    format!("{what} is not a multiple of {align} bytes, which '{}' needs", target.name)
                }),
            }
        });
        match (self.job.caching, obstacle) {
            (Caching::Buffered, _) | (Caching::Auto, Some(_)) => Ok(false),
            (Caching::Auto | Caching::Direct, None) => Ok(true),
            (Caching::Direct, Some(why)) => Err(self
                .refusal(indices)
                .unwrap_or_else(|| ResolveError::DirectImpossible { job: self.job.name.clone(), why })),
        }
    }

    /// That nothing may be opened or made at one of these targets: what they take of direct I/O is not known then.
    fn refusal(&self, indices: &[u32]) -> Option<ResolveError> {
        let inventories = self.places.iter().map(|place| place.inventory).chain([self.inventory]);
        let mut facts = inventories.flat_map(|inventory| {
            indices.iter().filter_map(|&index| {
                let name = &self.targets[index as usize].name;
                Some((name, inventory.targets.get(name)?.direct_refused.as_ref()?))
            })
        });
        let (target, why) = facts.next()?;
        let (job, target, why) = (self.job.name.clone(), target.clone(), why.clone());
        Some(ResolveError::TargetRefused { job, target, why })
    }

    fn misaligned(&self, slices: &[ThreadSlice], align: u64) -> Option<String> {
        let pattern = &self.job.pattern;
        if let Some(what) = pattern.kinds().find_map(|kind| misaligned_sizes(pattern.sizes(kind), align)) {
            return Some(what);
        }
        let own = pattern.align();
        if !own.is_multiple_of(align) {
            return Some(format!("an alignment of {own}"));
        }
        let starts = slices.iter().flat_map(|slice| &slice.sites).map(|site| site.offset_bytes);
        let bad = starts.into_iter().find(|start| !start.is_multiple_of(align));
        bad.map(|start| format!("the start of its range, byte {start},"))
    }

    fn slice(&self, thread: &PlannedThread, indices: &[u32]) -> Result<ThreadSlice, ResolveError> {
        let job = self.job;
        let mine = self.targets_of(thread, indices);
        let sites = mine.into_iter().map(|index| self.site(thread, index)).collect::<Result<Vec<_>, _>>()?;
        let pass_bytes: u64 = sites.iter().map(|site| job.pattern.pass_bytes(site.length_bytes)).sum();
        let limits = &job.limits;
        let unlimited = limits.time.is_none() && limits.bytes.is_none() && limits.ios.is_none();
        let passes = limits.passes.or(unlimited.then_some(1));
        let by_passes = passes.map(|passes| pass_bytes.saturating_mul(u64::from(passes)));
        Ok(ThreadSlice {
            host: thread.host,
            seed: thread.seed,
            sites,
            ios: limits.ios,
            bytes: [limits.bytes, by_passes].into_iter().flatten().min(),
            rate: self.slice_rate(),
        })
    }

    /// A thread's share of the job's rate; `None`: closed loop, or resolved later.
    fn slice_rate(&self) -> Option<SliceRate> {
        let share = |iops: f64| Some(SliceRate::Iops(iops / self.thread_count()));
        match self.job.rate {
            Rate::Unlimited | Rate::PercentOfMax(_) => None,
            Rate::Iops(iops) => share(iops),
            Rate::BytesPerS(bytes) => share(bytes / self.mean_block_bytes()),
            Rate::Each(rates) => Some(SliceRate::Each(rates.scaled(1.0 / self.thread_count()))),
        }
    }

    /// On all hosts.
    fn thread_count(&self) -> f64 {
        f64::from(self.job.threads) * self.places.len() as f64
    }

    fn mean_block_bytes(&self) -> f64 {
        let pattern = &self.job.pattern;
        OpKind::DATA.iter().map(|&kind| pattern.mix.share(kind) * pattern.sizes(kind).mean_bytes()).sum()
    }

    fn site(&self, thread: &PlannedThread, index: u32) -> Result<PlannedSite, ResolveError> {
        let job = self.job;
        let target = &self.targets[index as usize];
        let size = target.size_bytes;
        let step = job.offset_increment.of(size).saturating_mul(u64::from(thread.number));
        let align = job.pattern.align();
        let start = job.offset.of(size).saturating_add(step);
        // Bytes are kept to. A share of the target names none: it begins with the next whole block, as in fio.
        let share = |extent: &Extent| matches!(extent, Extent::Percent(percent) if *percent > 0.0);
        let shares = [job.offset, job.offset_increment].iter().any(share);
        let offset = if shares { start.checked_next_multiple_of(align).unwrap_or(start) } else { start };
        let rest = size.saturating_sub(offset);
        let length = job.length.map_or(rest, |length| length.of(size)).min(rest);
        let whole = PlannedSite { target: index, offset_bytes: offset, length_bytes: length };
        let site = part_of(whole, job.host_ranges, (thread.part, self.places.len()), align);
        let length = site.length_bytes;
        if length < job.pattern.max_block_bytes() {
            return Err(ResolveError::RangeTooSmall {
                job: job.name.clone(),
                target: target.name.clone(),
                range: Bytes(length),
                block: Bytes(job.pattern.max_block_bytes()),
            });
        }
        Ok(site)
    }
}

/// One thread of a job.
struct PlannedThread {
    /// Position of its host among those of the job.
    part: usize,
    host: HostId,
    /// On its host.
    number: u32,
    seed: u64,
}

/// The first of some block sizes that is not a multiple of `align`, in words.
fn misaligned_sizes(sizes: &BlockSizes, align: u64) -> Option<String> {
    let bad = |size: &u64| !size.is_multiple_of(align);
    let size = match sizes {
        BlockSizes::Fixed(size) => Some(*size).filter(bad),
        BlockSizes::Weighted(list) => list.iter().map(|entry| entry.0).find(bad),
        BlockSizes::Range { min_bytes, step_bytes, .. } => [*min_bytes, *step_bytes].into_iter().find(bad),
        BlockSizes::Unknown => None,
    };
    size.map(|size| format!("a block size of {size}"))
}

#[cfg(test)]
mod tests;
