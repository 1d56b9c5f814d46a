//! Storage and workload definitions, and the runs over them.

use std::collections::BTreeMap;

use assay_workload::job::{Caching, EngineKind, Job, Phase, Rate, TargetSharing};
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, OpKind, Placement, Sequential};
use assay_workload::target::{Extent, Target, TargetKind};

use super::super::number::show;
use super::{Writer, skews};

impl<'w> Writer<'w> {
    /// One run over devices and files, with a workload definition for each job.
    pub(super) fn storage_phase(&mut self, phase: &Phase, jobs: &[&Job]) {
        let mut names = Vec::new();
        let offered: Vec<f64> = jobs.iter().map(|job| offered(job)).collect();
        let (rate, per_workload) = self.rates(phase, jobs, &offered);
        for (job, extra) in jobs.iter().zip(per_workload) {
            self.job_losses(job);
            let name = self.workload_names.fresh(&job.name, "wd");
            let line = self.workload_line(&name, job) + &extra;
            self.wds.push(line);
            names.push(name);
        }
        let run = self.run_names.fresh(&phase.name, "rd");
        let threads = self.threads(phase, jobs);
        let mut line = format!("rd={run},wd={},iorate={rate},threads={threads}", list(&names));
        line += &self.hit_area(phase, jobs);
        line += &self.run_tail(phase, jobs);
        line += &self.data_limit(phase, jobs);
        self.rds.push(line);
    }

    /// The run's rate, and what each workload adds to its own line.
    fn rates(&mut self, phase: &Phase, jobs: &[&Job], offered: &[f64]) -> (String, Vec<String>) {
        let none = || vec![String::new(); jobs.len()];
        if jobs.iter().any(|job| matches!(job.rate, Rate::BytesPerS(_))) {
            let what = "a rate in bytes is written as operations of the mean size";
            self.note("rate-in-bytes", &phase.name, format!("phase `{}`: {what}", phase.name), "");
        }
        let of_each = |(job, _): &(&&Job, &f64)| matches!(job.rate, Rate::Each(_));
        for (job, rate) in jobs.iter().zip(offered).filter(of_each) {
            let what = if *rate > 0.0 {
                "its operations share one rate, in their mix"
            } else {
                "the rate of one operation is left out"
            };
            self.lose_of_job(job, "rates-of-operations", what, "one job for each operation");
        }
        let percents: Vec<f64> = jobs.iter().filter_map(|job| percent_of_max(job)).collect();
        if let Some(first) = percents.first() {
            if percents.len() < jobs.len() || percents.iter().any(|p| p != first) {
                let what = "one percentage of the maximum holds for the whole run";
                self.lose_of_phase(phase, "rates-differ", what, "use one phase for each");
            }
            return (format!("{}%", show(*first)), none());
        }
        if jobs.iter().all(|job| job.rate == Rate::Unlimited) {
            return ("max".to_owned(), none());
        }
        if offered.iter().all(|rate| *rate > 0.0) {
            let total: f64 = offered.iter().sum();
            let skew = |s: Option<String>| s.map_or_else(String::new, |s| format!(",skew={s}"));
            return (show(total), skews(offered).into_iter().map(skew).collect());
        }
        let extra = |rate: &f64| match *rate {
            r if r > 0.0 => format!(",iorate={},priority=1", show(r)),
            _ => ",priority=2".to_owned(),
        };
        ("max".to_owned(), offered.iter().map(extra).collect())
    }

    fn workload_line(&mut self, name: &str, job: &Job) -> String {
        let sds: Vec<String> = job.targets.iter().map(|t| self.storage_names.of(t, "sd")).collect();
        let mut line = format!("wd={name},sd={}", list(&sds));
        line += &self.sizes(job);
        let mix = job.rate.mix(job.pattern.mix);
        let reads = mix.read_percent + mix.trim_percent;
        if reads.fract() != 0.0 {
            self.lose_of_job(job, "rdpct-whole", "the percentage of reads is cut to a whole number", "");
        }
        line += &format!(",rdpct={}", show(reads.trunc()));
        line += &self.placement(job);
        line += &self.open_flags(job);
        line += &self.host_words(job);
        if let Some(streams) = streams(job) {
            line += &format!(",streams={streams}");
        } else {
            if job.offset_increment.of(u64::MAX) != 0 {
                self.lose_of_job(job, "offset-increment", "all threads use the same range", "use streams");
            }
            line += &self.range(job);
        }
        self.engine_note(job);
        line
    }

    fn sizes(&mut self, job: &Job) -> String {
        let pattern = &job.pattern;
        let (reads, writes) = (pattern.mix.share(OpKind::Read) > 0.0, pattern.mix.share(OpKind::Write) > 0.0);
        if reads && writes && pattern.read_sizes != pattern.write_sizes {
            let what = "reads and writes have one size, that of reads";
            self.lose_of_job(job, "sizes-differ", what, "use one workload for reads and one for writes");
        }
        let sizes = if reads || !writes { &pattern.read_sizes } else { &pattern.write_sizes };
        format!(",xfersize={}", show_sizes(sizes))
    }

    fn placement(&mut self, job: &Job) -> String {
        if let Placement::Sequential(s) = &job.pattern.placement
            && s.skip_max_bytes > 0
            && !s.wrap
        {
            let what = "a walk with gaps begins again at the end of the sd";
            self.lose_of_job(job, "stride-wraps", what, "give maxdata=");
        }
        let walk = |s: &Sequential| {
            if s.skip_max_bytes > 0 {
                format!(",seekpct=100,stride=({},{})", s.skip_min_bytes, s.skip_max_bytes)
            } else if !s.wrap || (job.limits.time.is_none() && job.limits.bytes.is_none()) {
                ",seekpct=eof".to_owned()
            } else if s.random_start {
                ",seekpct=seqnz".to_owned()
            } else {
                ",seekpct=0".to_owned()
            }
        };
        match &job.pattern.placement {
            Placement::Sequential(s) => walk(s),
            // No workload has it.
            Placement::Unknown => String::new(),
            Placement::Random(random) => {
                if random.once_per_pass {
                    let what = "blocks are drawn independently, not once per pass";
                    self.lose_of_job(job, "random-map", what, "");
                }
                self.distribution(job, &random.distribution)
            }
            Placement::Mixed { random_percent, random, .. } => {
                if !matches!(random.distribution, Distribution::Uniform | Distribution::HitArea { .. }) {
                    self.lose_of_job(job, "distribution", "the random part is uniform", "");
                }
                let hits = self.distribution(job, &random.distribution);
                format!("{},seekpct={}", hits.replace(",seekpct=100", ""), show(*random_percent))
            }
        }
    }

    fn distribution(&mut self, job: &Job, distribution: &Distribution) -> String {
        let lost = match distribution {
            Distribution::Uniform => return ",seekpct=100".to_owned(),
            Distribution::HitArea { read_percent, write_percent, .. } => {
                return format!(",seekpct=100,rhpct={},whpct={}", show(*read_percent), show(*write_percent));
            }
            Distribution::Exponential { midpoint } => {
                return format!(",seekpct=(poisson,{})", show(*midpoint));
            }
            Distribution::Hotband { corrected: false, .. } => return ",seekpct=100".to_owned(),
            Distribution::Hotband { .. } => {
                let what = "vdbench's hotband has its unit error again";
                self.lose_of_job(job, "hotband-unit-error", what, "one wd for each core, staggered by 1 MiB");
                return ",seekpct=100".to_owned();
            }
            Distribution::Zipf { .. } => "zipf",
            Distribution::Pareto { .. } => "pareto",
            Distribution::Normal { .. } => "normal",
            Distribution::Sequence { .. } => "sequence",
            Distribution::Zoned(_) => "zoned",
            Distribution::ReadMiss { .. } => "read-miss",
        };
        let what = format!("the {lost} distribution becomes uniform");
        let help = "use rhpct with hitarea, or one wd with range and skew for each zone";
        self.lose_of_job(job, "distribution", what, help);
        ",seekpct=100".to_owned()
    }

    fn open_flags(&mut self, job: &Job) -> String {
        let flags = super::open_flags(job.caching != Caching::Buffered, &job.flush);
        if flags.is_empty() && job.targets.iter().any(|t| is_raw(self.target(t))) {
            let what = "vdbench refuses a raw device without an open flag";
            self.lose_of_job(job, "raw-needs-openflags", what, "add openflags=o_direct");
        }
        match flags.len() {
            0 => String::new(),
            _ => format!(",openflags={}", list(&flags)),
        }
    }

    fn target(&self, name: &str) -> Option<&Target> {
        self.targets.get(name).copied()
    }

    /// `range=` or `hotband=`; nothing where vdbench uses that part by itself.
    fn range(&mut self, job: &Job) -> String {
        let hot = match &job.pattern.placement {
            Placement::Random(random) => match random.distribution {
                Distribution::Hotband { low_bytes, high_bytes, .. } => Some((low_bytes, high_bytes)),
                _ => None,
            },
            _ => None,
        };
        let first = job.targets.first().and_then(|t| self.target(t));
        let (size, raw) = (first.and_then(|t| t.size).map(|s| s.0), is_raw(first));
        let largest =
            job.targets.first().and_then(|t| self.largest.get(t.as_str())).map_or(1, |n| *n.max(&1));
        let keyword = if hot.is_some() { "hotband" } else { "range" };
        let (mut low, mut high) = (job.offset, end(job.offset, job.length, size));
        if let (Some((from, to)), Extent::Bytes(start)) = (hot, job.offset)
            && (from > 0 || to < u64::MAX)
        {
            low = Extent::Bytes(start.saturating_add(from));
            high = Some(Extent::Bytes(start.saturating_add(to)));
        }
        let from_start = match low {
            Extent::Bytes(n) => n == 0 || (raw && n == largest),
            Extent::Percent(p) => p == 0.0,
        };
        let to_end = match high {
            Some(Extent::Bytes(n)) => size.is_some_and(|size| n.saturating_add(largest) > size),
            Some(Extent::Percent(p)) => p >= 100.0,
            None => {
                let what = "its range mixes percent and bytes; the whole target is used";
                self.lose_of_job(job, "range-mixed", what, "give the target a size");
                true
            }
        };
        if from_start && to_end {
            return if hot.is_some() { format!(",{keyword}=(0,100)") } else { String::new() };
        }
        let low = if from_start { Extent::Percent(0.0) } else { low };
        let high = if to_end { Extent::Percent(100.0) } else { high.unwrap_or(Extent::Percent(100.0)) };
        format!(",{keyword}=({},{})", bound(low), bound(high))
    }

    fn engine_note(&mut self, job: &Job) {
        if !matches!(job.engine, EngineKind::Auto | EngineKind::Psync) {
            let what = format!("vdbench has synchronous threads only, not {}", job.engine.name());
            self.lose_of_job(job, "engine", what, "each outstanding I/O becomes a thread");
        }
    }

    /// Threads for each target of the run; vdbench shares them among all workloads of the target.
    fn threads(&mut self, phase: &Phase, jobs: &[&Job]) -> u64 {
        let mut per_target: BTreeMap<&str, u64> = BTreeMap::new();
        for job in jobs {
            let outstanding = self.threads_of(job) as u64 * u64::from(job.outstanding_per_thread);
            let targets = job.targets.len().max(1) as u64;
            if job.sharing == TargetSharing::Shared && targets > 1 {
                let what = "its outstanding I/O is split evenly over its targets";
                self.note("shared-targets", &job.name, format!("job `{}`: {what}", job.name), "");
            }
            for target in &job.targets {
                *per_target.entry(target).or_default() += outstanding.div_ceil(targets);
            }
        }
        let most = per_target.values().copied().max().unwrap_or(1);
        if per_target.values().any(|n| *n != most) {
            let what = format!("every target gets {most} threads, the most that one has");
            self.lose_of_phase(phase, "threads-differ", what, "use one phase for each depth");
        }
        most
    }

    fn hit_area(&mut self, phase: &Phase, jobs: &[&Job]) -> String {
        let mut areas = Vec::new();
        for job in jobs {
            let (Placement::Random(random) | Placement::Mixed { random, .. }) = &job.pattern.placement else {
                continue;
            };
            if let Distribution::HitArea { bytes, .. } = random.distribution {
                let raw = job.targets.iter().any(|t| is_raw(self.target(t)));
                let largest = job.targets.first().and_then(|t| self.largest.get(t.as_str()));
                let first = largest.copied().filter(|_| raw).unwrap_or(0);
                areas.push(bytes.saturating_add(first));
            }
        }
        areas.sort_unstable();
        areas.dedup();
        if areas.len() > 1 {
            let what = "all workloads get the largest hit area";
            self.lose_of_phase(phase, "hit-area", what, "use one phase for each");
        }
        areas.last().map_or_else(String::new, |bytes| format!(",forhitarea={bytes}"))
    }

    fn data_limit(&mut self, phase: &Phase, jobs: &[&Job]) -> String {
        let bytes: u64 = jobs
            .iter()
            .filter_map(|job| Some(job.limits.bytes?.saturating_mul(u64::from(job.threads))))
            .sum();
        if bytes > 100 {
            return format!(",maxdata={bytes}");
        }
        let one_pass = |job: &&&Job| {
            let limits = &job.limits;
            (limits.time.is_none() && limits.ios.is_none())
                .then_some(limits.passes.unwrap_or(1))
                .or(limits.passes)
        };
        let by_end =
            |job: &&&Job| matches!(&job.pattern.placement, Placement::Sequential(s) if s.skip_max_bytes == 0);
        let passes: Vec<u32> =
            jobs.iter().filter(|job| !by_end(job)).filter_map(|job| one_pass(&job)).collect();
        match passes.iter().max() {
            Some(n) if *n < 100 => format!(",maxdata={n}"),
            Some(_) => {
                let what = "more than 99 passes cannot be written";
                self.lose_of_phase(phase, "limit-passes", what, "give a time");
                String::new()
            }
            None => String::new(),
        }
    }

    /// The storage definitions that were used.
    pub(super) fn storages(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let alignments = self.alignments();
        for target in &self.workload.targets {
            let Some(name) = self.storage_names.known(&target.name).map(str::to_owned) else { continue };
            if target.kind == Some(TargetKind::Null) {
                let message = format!("target `{}`: vdbench has no null target", target.name);
                self.lose("null-target", &target.name, message, "name a file");
            }
            let mut line = format!("sd={name},{}", self.luns(target));
            if let Some(size) = target.size {
                line += &format!(",size={}", size.0);
            }
            if let Some(align) = alignments.get(target.name.as_str()) {
                line += &format!(",align={align}");
            }
            lines.push(line);
        }
        lines
    }

    /// The alignment of each target, where it is not the transfer size anyway.
    fn alignments(&mut self) -> BTreeMap<&'w str, u64> {
        let mut all: BTreeMap<&str, u64> = BTreeMap::new();
        let workload = self.workload;
        for job in workload.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.is_blocks()) {
            let align = job.pattern.align_bytes.filter(|align| is_sector_multiple(*align, &job.pattern));
            for (target, align) in job.targets.iter().filter_map(|t| Some((t, align?))) {
                let known = all.entry(target).or_insert(align);
                if *known != align {
                    *known = align.max(*known);
                    let message =
                        format!("target `{target}`: one alignment holds for all workloads, the largest");
                    self.lose("align-differs", target, message, "write a file for each");
                }
            }
        }
        all
    }
}

/// Whether an alignment needs to be written: vdbench aligns to the transfer size by itself.
fn is_sector_multiple(align: u64, pattern: &AccessPattern) -> bool {
    let range = matches!(pattern.read_sizes, BlockSizes::Range { .. });
    align.is_multiple_of(512) && (range || align != pattern.max_block_bytes())
}

fn is_raw(target: Option<&Target>) -> bool {
    target.is_some_and(|t| t.path.starts_with("/dev") || t.kind == Some(TargetKind::BlockDevice))
}

/// Threads on equal pieces, one behind the other: what `streams=` does.
fn streams(job: &Job) -> Option<u32> {
    let Extent::Percent(step) = job.offset_increment else { return None };
    let equal = (step * f64::from(job.threads) - 100.0).abs() < 0.01;
    (job.threads > 1 && job.length == Some(job.offset_increment) && equal).then_some(job.threads)
}

/// Operations a second that a job offers; 0 where it is not limited.
fn offered(job: &Job) -> f64 {
    match job.rate {
        Rate::Iops(rate) => rate,
        Rate::BytesPerS(bytes) => {
            let mix = &job.pattern.mix;
            let mean: f64 =
                OpKind::DATA.iter().map(|k| mix.share(*k) * job.pattern.sizes(*k).mean_bytes()).sum();
            bytes / mean.max(1.0)
        }
        Rate::Each(rates) => {
            job.pattern.kinds().map(|kind| rates.of(kind)).sum::<Option<f64>>().unwrap_or(0.0)
        }
        Rate::Unlimited | Rate::PercentOfMax(_) => 0.0,
    }
}

fn percent_of_max(job: &Job) -> Option<f64> {
    match job.rate {
        Rate::PercentOfMax(percent) => Some(percent),
        _ => None,
    }
}

fn end(offset: Extent, length: Option<Extent>, size: Option<u64>) -> Option<Extent> {
    match (offset, length) {
        (_, None) => Some(Extent::Percent(100.0)),
        (Extent::Bytes(a), Some(Extent::Bytes(n))) => Some(Extent::Bytes(a.saturating_add(n))),
        (Extent::Percent(a), Some(Extent::Percent(n))) => Some(Extent::Percent(a + n)),
        (a, Some(n)) => size.map(|size| Extent::Bytes(a.of(size).saturating_add(n.of(size)))),
    }
}

fn bound(extent: Extent) -> String {
    match extent {
        Extent::Bytes(n) => n.to_string(),
        Extent::Percent(p) => show(p),
    }
}

/// One name, or a list in parentheses.
pub(super) fn list(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        many => format!("({})", many.join(",")),
    }
}

/// Sizes as the language writes them.
pub(super) fn show_sizes(sizes: &BlockSizes) -> String {
    match sizes {
        BlockSizes::Fixed(n) => n.to_string(),
        BlockSizes::Weighted(list) => weighted(list),
        BlockSizes::Range { min_bytes, max_bytes, step_bytes } => {
            format!("({min_bytes},{max_bytes},{step_bytes})")
        }
        BlockSizes::Unknown => String::new(),
    }
}

/// Sizes with shares; the shares are brought to a sum of 100.
pub(super) fn weighted(list: &[(u64, f64)]) -> String {
    let total: f64 = list.iter().map(|(_, w)| w).sum();
    if let [(size, _)] = list {
        return size.to_string();
    }
    let share = |w: f64| show((w / total * 1e4).round() / 100.0);
    let pairs: Vec<String> = list.iter().map(|(size, w)| format!("{size},{}", share(*w))).collect();
    format!("({})", pairs.join(","))
}
