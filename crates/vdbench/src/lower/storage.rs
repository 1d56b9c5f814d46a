//! Jobs on devices and single files.

use std::collections::BTreeMap;

use assay_workload::job::{Caching, FlushPolicy, Job, OpenSync, Rate, TargetSelection, TargetSharing};
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, Mix, Placement, Random, Sequential};
use assay_workload::target::Extent;

use super::super::access::{Amount, OpenFlags, Seek, Sizes};
use super::super::args::to_u64;
use super::super::expand::{ExpandedRun, RunRate};
use super::super::file::ParameterFile;
use super::super::loops::{LoopKind, LoopValue};
use super::super::resolve::{
    RunWorkload, loop_value, open_flags, storage_hit_area, storage_threads, storage_workloads, workloads,
};
use super::super::run::RunDef;
use super::super::{StorageDef, WorkloadDef};
use super::area::area;
use super::rates::{limit_data, rate, set_rate, weight, weights_per_storage};
use super::{Lowering, Named as _, narrow, placed};

/// For each storage definition the largest transfer that any run makes on it; `pairs` counts the work.
pub(super) fn largest_transfers(file: &ParameterFile, pairs: &mut usize, pairs_max: usize) -> Vec<u64> {
    let mut largest = vec![0u64; file.storages.len()];
    for rd in &file.runs {
        let looped = rd.loops.iter().find(|l| l.kind == LoopKind::TransferSize).map(|l| {
            let size = |v: &LoopValue| super::super::loop_u64(*v).unwrap_or(0);
            l.values.iter().map(size).max().unwrap_or(0)
        });
        for wd in workloads(file, rd) {
            let size = looped.unwrap_or_else(|| wd.transfer.largest());
            let storages = rd.storages.as_ref().unwrap_or(&wd.storages);
            *pairs += storages.len() + 1;
            if *pairs > pairs_max {
                return largest;
            }
            for sd in storages {
                if let Some(slot) = largest.get_mut(*sd) {
                    *slot = size.max(*slot);
                }
            }
        }
    }
    largest
}

impl Lowering<'_> {
    /// The jobs of one run: for each workload one, or several where its targets differ in more than their name.
    pub(super) fn storage_jobs(&mut self, run: &ExpandedRun) -> Vec<Job> {
        let Some(rd) = run.definition.and_then(|i| self.file.runs.get(i)) else { return Vec::new() };
        let mut estimate = 1usize;
        for wd in workloads(self.file, rd) {
            estimate += rd.storages.as_ref().unwrap_or(&wd.storages).len() + 1;
        }
        self.pairs = self.pairs.saturating_add(estimate);
        if self.exhausted() {
            return Vec::new();
        }
        let parts = storage_workloads(self.file, run);
        let weights = weights_per_storage(&parts);
        let mut jobs = Vec::new();
        for part in &parts {
            if self.file.general.concatenate_sds {
                jobs.extend(self.concatenated(run, rd, part));
            } else {
                jobs.extend(self.workload_jobs(run, rd, part, &weights));
            }
        }
        self.share_losses(rd, run, &parts, &weights);
        limit_data(rd, &mut jobs);
        self.max_data_losses(rd, &jobs);
        jobs
    }

    fn workload_jobs(
        &mut self,
        run: &ExpandedRun,
        rd: &RunDef,
        part: &RunWorkload,
        weights: &BTreeMap<usize, f64>,
    ) -> Vec<Job> {
        let wd = &part.workload;
        let mut jobs: Vec<Job> = Vec::new();
        for index in &part.storages {
            let Some(sd) = self.file.storages.get(*index) else { continue };
            self.storages_used.insert(*index);
            let total = weights.get(index).copied().unwrap_or(1.0);
            let threads = storage_threads(run, sd) as f64 * weight(part) / total.max(f64::MIN_POSITIVE);
            let outstanding = to_u64(threads.round()).max(1);
            let mut job = self.one_job(run, rd, wd, sd, *index);
            set_rate(&mut job, rate(run, rd, part, part.storages.len()), rd.arrivals.kind);
            if let Some(streams) = wd.streams {
                split_streams(&mut job, streams, outstanding);
                self.stream_losses(wd, outstanding, streams);
            } else {
                job.outstanding_per_thread = narrow(outstanding);
            }
            for job in self.on_hosts(job, wd, sd) {
                // The hosts may have shared out the job before in two parts.
                let alike = |last: &&mut Job| wd.streams.is_none() && same_but_target(last, &job);
                match jobs.iter_mut().rev().take(2).find(alike) {
                    Some(last) => merge(last, &job),
                    None => jobs.push(job),
                }
            }
        }
        name_parts(&mut jobs, &wd.name);
        jobs
    }

    /// One workload on one target with one thread; the caller sets rate and depth.
    fn one_job(
        &mut self,
        run: &ExpandedRun,
        rd: &RunDef,
        wd: &WorkloadDef,
        sd: &StorageDef,
        index: usize,
    ) -> Job {
        let largest = self.largest.get(index).copied().unwrap_or(0).max(wd.transfer.largest());
        let part = area(sd, wd, largest);
        if part.wraps {
            let what = format!("the range ends at the end of sd `{}` and does not wrap", sd.name);
            self.lose_of(wd, "range-wraps", "range", what, "use two workloads with shares by size");
        }
        if part.inexact {
            let what =
                format!("the range on sd `{}` mixes units; without size= it is near, not exact", sd.name);
            self.lose_of(wd, "range-mixed", "range", what, "give size= or one unit for both bounds");
        }
        let hit = self.hit_area(run, wd, sd, if part.shifted { largest } else { 0 });
        let mut pattern = AccessPattern::new(Mix::read_write(wd.read_pct), 4096, self.placement(wd, hit));
        let sizes = block_sizes(&wd.transfer);
        (pattern.read_sizes, pattern.write_sizes, pattern.trim_sizes) = (sizes.clone(), sizes.clone(), sizes);
        pattern.align_bytes = (sd.align > 0).then_some(sd.align);
        let mut job = Job::new(&wd.name, &[&sd.name], pattern);
        (job.offset, job.length) = (part.offset, part.length);
        job.content = self.content(run, &sd.dedup);
        if let Some(journal) = &mut job.content.journal {
            journal.directory.clone_from(&sd.journal);
        }
        let flags = open_flags(Some(rd), wd, sd);
        self.set_flags(&mut job, &flags, wd);
        self.set_times(run, &mut job);
        if wd.seek == Seek::UntilEnd {
            job.limits.passes = Some(1);
        }
        self.storage_losses(wd, sd);
        job
    }

    /// Caching and durability by open flags.
    pub(super) fn set_flags(&mut self, job: &mut Job, flags: &OpenFlags, wd: &WorkloadDef) {
        (job.caching, job.flush) = caching(flags);
        if flags.raw & !KNOWN_BITS != 0 {
            let what = format!("the open flags {:#x} are not all known", flags.raw);
            let help = "0x4000 is O_DIRECT, 0x1000 O_DSYNC, 0x101000 O_SYNC on x86";
            self.lose_of(wd, "open-flags", "openflags", what, help);
        }
    }

    /// Size of the hit area, where hits are asked for or the run names one, and no other rule forbids it.
    fn hit_area(&mut self, run: &ExpandedRun, wd: &WorkloadDef, sd: &StorageDef, first: u64) -> Option<u64> {
        let asked = (wd.read_hit_pct + wd.write_hit_pct).trunc() >= 1.0;
        if !asked && loop_value(run, LoopKind::HitArea).is_none() {
            return None;
        }
        let bytes = match (storage_hit_area(run, sd), sd.size) {
            (Amount::Bytes(n), _) => n,
            (Amount::Percent(p), Some(size)) => to_u64(size as f64 * p / 100.0),
            (Amount::Percent(_), None) => {
                let message = format!("sd `{}`: a hit area in percent needs size=", sd.name);
                self.lose("hit-area", wd.place("rhpct"), "hitarea", message, "give hitarea in bytes");
                return None;
            }
        };
        let random = matches!(wd.seek, Seek::Random(_));
        if !random || wd.hot_band.is_some() || wd.streams.is_some() || wd.stride.is_some() {
            let what = "hits are kept for plain random access only; the hit area is left out";
            let help = "give seekpct=100 without hotband, streams or stride";
            self.lose_of(wd, "hit-area", "rhpct", what, help);
            return None;
        }
        Some(bytes.saturating_sub(first).max(wd.transfer.largest()))
    }

    fn placement(&mut self, wd: &WorkloadDef, hit: Option<u64>) -> Placement {
        let distribution = match (hit, wd.seek, wd.hot_band) {
            (Some(bytes), ..) => Distribution::HitArea {
                read_percent: wd.read_hit_pct,
                write_percent: wd.write_hit_pct,
                bytes,
            },
            (None, _, Some(_)) => {
                let corrected = self.file.hotband_corrected;
                Distribution::Hotband { low_bytes: 0, high_bytes: u64::MAX, corrected }
            }
            (None, Seek::Poisson { midpoint }, None) => Distribution::Exponential { midpoint },
            _ => Distribution::Uniform,
        };
        let random = Random { distribution, once_per_pass: false };
        let walk = Sequential { cursor_per_operation: false, ..Sequential::default() };
        if let Some((skip_min_bytes, skip_max_bytes)) = wd.stride {
            return Placement::Sequential(Sequential { skip_min_bytes, skip_max_bytes, ..walk });
        }
        match wd.seek {
            Seek::Random(percent) if percent < 100.0 => {
                Placement::Mixed { random_percent: percent, random, sequential: walk }
            }
            Seek::Random(_) | Seek::Poisson { .. } => Placement::Random(random),
            Seek::Sequential => Placement::Sequential(walk),
            Seek::SequentialFromRandom => Placement::Sequential(Sequential { random_start: true, ..walk }),
            Seek::UntilEnd => Placement::Sequential(Sequential { wrap: false, ..walk }),
        }
    }

    fn storage_losses(&mut self, wd: &WorkloadDef, sd: &StorageDef) {
        if let Some(other) = sd.luns.get(1).filter(|_| !self.several_hosts) {
            let message = format!(
                "sd `{}` has a path for each host; only the first is used, not `{}`",
                sd.name, other.path
            );
            self.lose("lun-per-host", sd.place("lun"), "lun", message, "use one path that all hosts have");
        }
        if wd.priority.is_some() {
            let what = "the priority is not kept; workloads compete as equals";
            self.lose_of(wd, "priority", "priority", what, "give each its own rate");
        }
    }

    fn stream_losses(&mut self, wd: &WorkloadDef, outstanding: u64, streams: u64) {
        if !outstanding.is_multiple_of(streams) {
            let what = format!("{outstanding} threads are no multiple of {streams} streams; rounded");
            self.lose_of(wd, "streams", "streams", what, "make threads a multiple of streams");
        }
    }

    /// Several workloads on one target: vdbench lets them share the threads, here each has its part.
    fn share_losses(
        &mut self,
        rd: &RunDef,
        run: &ExpandedRun,
        parts: &[RunWorkload],
        weights: &BTreeMap<usize, f64>,
    ) {
        let shared =
            parts.iter().any(|p| p.storages.iter().any(|sd| weights.get(sd).is_some_and(|w| *w > weight(p))));
        if shared {
            let message = format!(
                "rd `{}`: the threads of an sd are split among its workloads by their shares",
                rd.name
            );
            self.note("threads-split", rd.at, &rd.name, message, "each keeps its own outstanding I/O");
        }
        let unlimited = matches!(run.rate, RunRate::Max | RunRate::Curve);
        if unlimited && run.controlled && parts.len() > 1 {
            let message = format!(
                "rd `{}`: at the maximum rate the skew is approached by splitting outstanding I/Os, not enforced",
                rd.name
            );
            self.lose("skew-at-max", rd.at, &rd.name, message, "give a rate, which is split exactly by skew");
        }
    }

    /// All targets of a workload as one long one.
    fn concatenated(&mut self, run: &ExpandedRun, rd: &RunDef, part: &RunWorkload) -> Vec<Job> {
        let wd = &part.workload;
        let Some((first, rest)) = part.storages.split_first() else { return Vec::new() };
        let Some(sd) = self.file.storages.get(*first) else { return Vec::new() };
        let mut job = self.one_job(run, rd, wd, sd, *first);
        self.storages_used.extend(part.storages.iter().copied());
        job.targets.extend(rest.iter().filter_map(|i| self.file.storages.get(*i)).map(|sd| sd.name.clone()));
        job.sharing = TargetSharing::Shared;
        let random = job.pattern.placement.is_random();
        job.selection = if random { TargetSelection::Random } else { TargetSelection::Sequential };
        set_rate(&mut job, rate(run, rd, part, 1), rd.arrivals.kind);
        let looped = loop_value(run, LoopKind::Threads).and_then(super::super::loop_u64);
        let threads = looped.unwrap_or_else(|| to_u64(wd.threads.unwrap_or(sd.threads)));
        job.outstanding_per_thread = narrow(threads.max(1));
        let at = placed(&self.file.general.set, "concatenatesds", wd.at);
        let message = "concatenated sds are used one behind the other or at random, each with its own range";
        self.lose("concatenation", at, "concatenatesds", message, "use a striped or linear device");
        if let Some(streams) = wd.streams {
            job.threads = narrow(streams);
            job.outstanding_per_thread = narrow((threads / streams).max(1));
            let share = Extent::Percent(100.0 / streams as f64);
            (job.offset_increment, job.length) = (share, Some(share));
        }
        self.on_hosts(job, wd, sd)
    }

    /// The inserted run that writes missing file targets once.
    pub(super) fn storage_format(&mut self) -> Vec<Job> {
        const FORMAT_BYTES: u64 = 128 << 10;
        const FORMAT_THREADS: u32 = 2;
        let size = self.file.general.format_transfer_bytes.unwrap_or(FORMAT_BYTES);
        let mut jobs: Vec<Job> = Vec::new();
        for index in &self.file.unformatted {
            let Some(sd) = self.file.storages.get(*index) else { continue };
            self.storages_used.insert(*index);
            let walk = Sequential { wrap: false, cursor_per_operation: false, ..Sequential::default() };
            let pattern = AccessPattern::new(Mix::WRITE, size, Placement::Sequential(walk));
            let mut job = Job::new("SD_format", &[&sd.name], pattern);
            job.outstanding_per_thread = FORMAT_THREADS;
            job.limits.passes = Some(1);
            job.content.verify = self.file.general.validation.is_some();
            (job.caching, job.flush) = caching(&sd.open_flags.clone().unwrap_or_default());
            job.invalidate = false;
            self.on_one_host(&mut job, sd);
            match jobs.last_mut() {
                Some(last) if same_but_target(last, &job) => merge(last, &job),
                _ => jobs.push(job),
            }
        }
        name_parts(&mut jobs, "SD_format");
        jobs
    }

    fn max_data_losses(&mut self, rd: &RunDef, jobs: &[Job]) {
        let kept = |job: &Job| job.limits.bytes.is_some() || job.limits.passes.is_some();
        let asked = rd.max_data.is_some() || rd.max_data_read.is_some() || rd.max_data_written.is_some();
        if asked && !jobs.iter().all(kept) {
            let at = placed(&rd.set, super::max_data_key(rd), rd.at);
            let message = format!("rd `{}`: the limit on data is not kept for every workload", rd.name);
            let help = "give maxdata in bytes, or a whole number of sizes";
            self.lose("max-data", at, "maxdata", message, help);
        }
    }
}

const DIRECT_BIT: u32 = 0x4000;
const DSYNC_BIT: u32 = 0x1000;
const SYNC_BITS: u32 = 0x10_1000;
const KNOWN_BITS: u32 = DIRECT_BIT | SYNC_BITS;

/// Page cache and durability by open flags.
pub(super) fn caching(flags: &OpenFlags) -> (Caching, FlushPolicy) {
    let direct = flags.direct || flags.raw & DIRECT_BIT != 0;
    let open = if flags.raw & SYNC_BITS == SYNC_BITS {
        OpenSync::Sync
    } else if flags.dsync || flags.raw & DSYNC_BIT != 0 {
        OpenSync::Dsync
    } else {
        OpenSync::None
    };
    let caching = if direct { Caching::Direct } else { Caching::Buffered };
    (caching, FlushPolicy { open, periodic: None, at_end: flags.fsync_at_close })
}

/// Splits a target into `streams` equal pieces with a thread each.
fn split_streams(job: &mut Job, streams: u64, outstanding: u64) {
    let share = Extent::Percent(100.0 / streams as f64);
    job.threads = narrow(streams);
    job.outstanding_per_thread = narrow((outstanding / streams).max(1));
    (job.offset_increment, job.length) = (share, Some(share));
    let walk = Sequential { cursor_per_operation: false, ..Sequential::default() };
    job.pattern.placement = Placement::Sequential(walk);
}

pub(super) fn block_sizes(sizes: &Sizes) -> BlockSizes {
    match sizes {
        Sizes::Fixed(n) | Sizes::Around(n) => BlockSizes::Fixed(*n),
        Sizes::Mixed(list) => BlockSizes::Weighted(list.clone()),
        Sizes::Uniform { min, max, align } => {
            BlockSizes::Range { min_bytes: *min, max_bytes: *max, step_bytes: *align }
        }
    }
}

/// Whether two jobs differ in their targets only; `whole` may already hold several.
fn same_but_target(whole: &Job, one: &Job) -> bool {
    let single = |rate: Rate, targets: usize| match rate {
        Rate::Iops(r) => Rate::Iops(r / targets as f64),
        other => other,
    };
    let close = |a: Rate, b: Rate| match (a, b) {
        (Rate::Iops(a), Rate::Iops(b)) => (a - b).abs() <= 1e-9 * b.abs(),
        _ => a == b,
    };
    if !close(single(whole.rate, whole.targets.len()), one.rate) {
        return false;
    }
    let bare = Job { targets: Vec::new(), threads: 1, rate: one.rate, sharing: one.sharing, ..whole.clone() };
    bare == Job { targets: Vec::new(), ..one.clone() }
}

/// Adds a target with a thread of its own.
fn merge(whole: &mut Job, one: &Job) {
    whole.targets.extend(one.targets.iter().cloned());
    whole.threads += 1;
    whole.sharing = TargetSharing::PerThread;
    if let (Rate::Iops(sum), Rate::Iops(more)) = (&mut whole.rate, one.rate) {
        *sum += more;
    }
}

/// Where a workload needed several jobs, each is named after its first target, and they are reported as one.
fn name_parts(jobs: &mut [Job], name: &str) {
    if jobs.len() > 1 {
        for job in jobs {
            let target = job.targets.first().cloned().unwrap_or_default();
            let host = job.hosts.first().map_or(String::new(), |host| format!("@{host}"));
            job.name = format!("{name}@{target}{host}");
            job.group = Some(name.to_owned());
        }
    }
}
