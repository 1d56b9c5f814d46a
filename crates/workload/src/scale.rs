//! Fitting a plan to the room and the time there is, with a record of what was changed.

use std::collections::BTreeMap;
use std::fmt;

use crate::job::{Job, Phase, PhaseKind, TargetSelection, TargetSharing, Workload};
use crate::pattern::{Distribution, Placement, ZoneSize};
use crate::target::{Extent, Target, TargetKind};
use crate::units::{Bytes, Nanos};

/// Targets share at most one part of this many of the room.
const ROOM_DIVISOR: u64 = 2;
/// Sizes are rounded down to this, and where they are smaller to [`SMALL_GRANULE_BYTES`].
const GRANULE_BYTES: u64 = 1 << 20;
const SMALL_GRANULE_BYTES: u64 = 4096;

/// One value that is not as the plan says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it belongs to: `target data0`, or `16 targets, data0 to data15`, or `job fill: hit area`.
    pub what: String,
    /// As the plan says.
    pub from: String,
    /// As it is now.
    pub to: String,
}

impl fmt::Display for Change {
    /// `target data0: 20 GiB -> 1.50 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.what, self.from, self.to)
    }
}

/// What [`scale_to`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaled {
    /// What it changed, in the order of the plan; empty where everything fits as it is.
    pub changes: Vec<Change>,
    /// What the targets that count take now, in bytes.
    pub total_bytes: u64,
    /// What they may take, in bytes.
    pub budget_bytes: u64,
}

impl Scaled {
    /// Whether the targets take no more than they may. They do where the least sizes already exceed it.
    pub fn fits(&self) -> bool {
        self.total_bytes <= self.budget_bytes
    }
}

/// Shrinks the files of a plan so that they fit into `bytes_available` of free space.
///
/// The rule: files (targets of kind file or of no kind that have a size) may take half of the room together. If they
/// ask for more, all shrink in the same ratio, rounded down to 1 MiB (to 4 KiB where less than that is left), but
/// none below one block for each outstanding I/O it gets, the jobs of a phase added up. Offsets, lengths, zones, hit areas
/// and hot bands that are given in bytes shrink with the files of their job, rounded down to its alignment; those of a
/// job that has a target which did not shrink stay. Strides, block sizes, times and amounts (`bytes`, `ios`) stay
/// always, and so do devices, directories and targets without a size. Nothing ever grows. A path of a device that the
/// plan gives no kind counts as a file: a caller that knows better sets the kind first.
pub fn scale_to(workload: &mut Workload, bytes_available: u64) -> Scaled {
    let budget_bytes = bytes_available / ROOM_DIVISOR;
    let total =
        |workload: &Workload| workload.targets.iter().filter_map(file_size).fold(0, u64::saturating_add);
    let asked = total(workload);
    let changes = if asked > budget_bytes { shrink(workload, asked, budget_bytes) } else { Vec::new() };
    Scaled { changes, total_bytes: total(workload), budget_bytes }
}

/// Measuring phases are not shortened below this by [`scale_by`].
const RUNTIME_MIN: Nanos = Nanos(1_000_000_000);

/// Makes a plan smaller by one factor, `share` of 1: its files, to at least 1 MiB and as [`scale_to`] does, and the runtimes and ramps
/// of its measuring phases, to at least a second. What it writes shrinks with the files where amounts are passes. Nothing grows.
pub fn scale_by(workload: &mut Workload, share: f64) -> Vec<Change> {
    let asked: u64 = workload.targets.iter().filter_map(file_size).fold(0, u64::saturating_add);
    let files = workload.targets.iter().filter_map(file_size).count() as u64;
    let budget = ((asked as f64 * share) as u64).max(files * GRANULE_BYTES);
    let mut changes = if budget < asked { shrink(workload, asked, budget) } else { Vec::new() };
    let measured = workload.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure);
    for job in measured.flat_map(|phase| &mut phase.jobs) {
        let mut shorten = |what: &str, from: Nanos, least: Nanos| {
            let to = Nanos((from.0 as f64 * share) as u64).max(least).min(from);
            let what = format!("job {}: {what}", job.name);
            let change = Change { what, from: from.to_string(), to: to.to_string() };
            if to < from && !changes.contains(&change) {
                changes.push(change);
            }
            to
        };
        let time = job.limits.time.map(|time| shorten("runtime", time, RUNTIME_MIN));
        let ramp = shorten("ramp", job.ramp, Nanos(0));
        (job.limits.time, job.ramp) = (time, ramp);
    }
    changes
}

/// Shrinks the files, which take `asked` bytes together, to `budget_bytes`, and what is counted in bytes of them.
fn shrink(workload: &mut Workload, asked: u64, budget_bytes: u64) -> Vec<Change> {
    let mut changes = Vec::new();
    let least = least_sizes(workload);
    let (mut ratios, mut resized) = (BTreeMap::new(), Vec::new());
    for target in &mut workload.targets {
        let Some(size) = file_size(target) else { continue };
        let share = u128::from(size) * u128::from(budget_bytes) / u128::from(asked);
        let floor = least.get(&target.name).copied().unwrap_or(0).max(SMALL_GRANULE_BYTES);
        let scaled = round_down(share as u64).max(floor).min(size);
        if scaled < size {
            Resized::add(&mut resized, &target.name, Bytes(size), Bytes(scaled));
            target.size = Some(Bytes(scaled));
            ratios.insert(target.name.clone(), scaled as f64 / size as f64);
        }
    }
    changes.extend(resized.iter().map(Resized::change));
    for job in workload.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        scale_job(job, &ratios, &mut changes);
    }
    changes
}

/// The size of a target that takes room on a file system.
fn file_size(target: &Target) -> Option<u64> {
    let is_file = matches!(target.kind, None | Some(TargetKind::File));
    target.size.filter(|_| is_file).map(|size| size.0)
}

fn round_down(bytes: u64) -> u64 {
    let granule = if bytes >= GRANULE_BYTES { GRANULE_BYTES } else { SMALL_GRANULE_BYTES };
    bytes - bytes % granule
}

/// Targets one behind the other whose sizes changed alike.
struct Resized {
    first: String,
    last: String,
    count: u64,
    from: Bytes,
    to: Bytes,
}

impl Resized {
    fn add(list: &mut Vec<Resized>, name: &str, from: Bytes, to: Bytes) {
        match list.last_mut() {
            Some(group) if (group.from, group.to) == (from, to) => {
                group.count += 1;
                group.last = name.to_owned();
            }
            _ => list.push(Resized { first: name.to_owned(), last: name.to_owned(), count: 1, from, to }),
        }
    }

    fn change(&self) -> Change {
        let what = match self.count {
            1 => format!("target {}", self.first),
            count => format!("{count} targets, {} to {}", self.first, self.last),
        };
        Change { what, from: self.from.to_string(), to: self.to.to_string() }
    }
}

/// The least size of each target: one block for each outstanding I/O in the phase that has most of them.
fn least_sizes(workload: &Workload) -> BTreeMap<String, u64> {
    let mut least: BTreeMap<String, u64> = BTreeMap::new();
    for phase in &workload.phases {
        let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
        for job in &phase.jobs {
            let bytes = least_bytes(job);
            for target in &job.targets {
                let sum = sums.entry(target).or_default();
                *sum = sum.saturating_add(bytes);
            }
        }
        for (name, sum) in sums {
            let size = sum.checked_next_multiple_of(SMALL_GRANULE_BYTES).unwrap_or(sum);
            let known = least.entry(name.to_owned()).or_default();
            *known = size.max(*known);
        }
    }
    least
}

/// One block for each I/O that a job may have outstanding on one of its targets, within its active range.
fn least_bytes(job: &Job) -> u64 {
    let targets = job.targets.len().max(1) as u64;
    let (threads, each) = (u64::from(job.threads), u64::from(job.outstanding_per_thread));
    let outstanding = match (job.sharing, job.selection) {
        (TargetSharing::PerThread, _) => threads.div_ceil(targets) * each,
        (TargetSharing::Shared, TargetSelection::Sequential) => threads * each,
        (TargetSharing::Shared, _) => (threads * each).div_ceil(targets),
    };
    let bytes = outstanding.saturating_mul(job.pattern.max_block_bytes());
    match job.length {
        Some(Extent::Percent(percent)) if percent > 0.0 => (bytes as f64 * 100.0 / percent) as u64,
        _ => bytes,
    }
}

/// Shrinks what `job` says in bytes about its targets, if all of these shrank, in the ratio of the one that shrank most.
fn scale_job(job: &mut Job, ratios: &BTreeMap<String, f64>, changes: &mut Vec<Change>) {
    let mine: Option<Vec<f64>> = job.targets.iter().map(|name| ratios.get(name).copied()).collect();
    let ratio = match mine {
        Some(mine) if !mine.is_empty() => mine.into_iter().fold(1.0, f64::min),
        _ => return,
    };
    let align = job.pattern.align();
    let block = job.pattern.max_block_bytes();
    let name = job.name.clone();
    let mut shrink = |what: &str, bytes: &mut u64, least: u64| {
        let scaled = (*bytes as f64 * ratio) as u64;
        let scaled = (scaled - scaled % align).max(least).min(*bytes);
        if scaled != *bytes {
            let what = format!("job {name}: {what}");
            changes.push(Change { what, from: Bytes(*bytes).to_string(), to: Bytes(scaled).to_string() });
            *bytes = scaled;
        }
    };
    let extents = [("offset", &mut job.offset, 0), ("offset increment", &mut job.offset_increment, align)];
    for (what, extent, least) in extents {
        if let Extent::Bytes(bytes) = extent {
            shrink(what, bytes, least);
        }
    }
    if let Some(Extent::Bytes(bytes)) = &mut job.length {
        shrink("length", bytes, block);
    }
    if let Some(strides) = &mut job.traits.strides {
        shrink("zone", &mut strides.zone_bytes, block);
        shrink("bytes moved in a zone", &mut strides.turn_bytes, block);
        shrink("bytes between zones", &mut strides.skip_bytes, 0);
    }
    let (Placement::Random(random) | Placement::Mixed { random, .. }) = &mut job.pattern.placement else {
        return;
    };
    match &mut random.distribution {
        Distribution::HitArea { bytes, .. } => shrink("hit area", bytes, block),
        Distribution::ReadMiss { hit_bytes, .. } if *hit_bytes != u64::MAX => {
            shrink("size of what hits come from", hit_bytes, block);
        }
        Distribution::Hotband { low_bytes, high_bytes, .. } => {
            shrink("start of the hot band", low_bytes, 0);
            shrink("end of the hot band", high_bytes, block);
        }
        Distribution::Zoned(zones) => {
            for zone in zones {
                if let ZoneSize::Bytes(bytes) = &mut zone.size {
                    shrink("zone", bytes, block);
                }
            }
        }
        _ => {}
    }
}

/// Gives every measured job this runtime, and says what that changes.
///
/// The rule: in phases that measure, each job runs for `runtime`; one that ends by an amount or a pass ends at whichever
/// comes first. Where that is shorter than the plan says, the ramp shrinks in the same ratio; it never grows. Phases
/// that purge, fill, warm up, verify or clean keep their times.
pub fn override_runtime(workload: &mut Workload, runtime: Nanos) -> Vec<Change> {
    let mut changes = Vec::new();
    let measured = |phase: &&mut Phase| phase.kind == PhaseKind::Measure;
    for job in workload.phases.iter_mut().filter(measured).flat_map(|phase| &mut phase.jobs) {
        let before = job.limits.time;
        if before == Some(runtime) {
            continue;
        }
        let name = job.name.clone();
        let mut say = |what: &str, from: String, to: Nanos| {
            let change = Change { what: format!("job {name}: {what}"), from, to: to.to_string() };
            if !changes.contains(&change) {
                changes.push(change);
            }
        };
        say("runtime", before.map_or("not limited".to_owned(), |time| time.to_string()), runtime);
        job.limits.time = Some(runtime);
        let Some(before) = before.filter(|before| *before > runtime && job.ramp > Nanos(0)) else { continue };
        let ramp = u128::from(job.ramp.0) * u128::from(runtime.0) / u128::from(before.0);
        let ramp = Nanos(u64::try_from(ramp).unwrap_or(u64::MAX));
        say("ramp", job.ramp.to_string(), ramp);
        job.ramp = ramp;
    }
    changes
}
