//! Which operation, how large, and where, in fio's words.

use assay_workload::job::{Job, JobSeed};
use assay_workload::pattern::{
    AccessPattern, BlockSizes, Distribution, Mix, OpKind, Placement, Random, Sequential, Zone, ZoneSize,
};
use assay_workload::target::Extent;

use super::{Lines, Writer};
use crate::distribution::{normal_deviation, normal_stddev};

/// fio's limit on the entries of a split or of zones.
const ENTRIES_MAX: usize = 64;

/// Whether fio repeats the passes of such a job unless a seed is given: not within a time, and not what it seeds once.
pub(super) fn may_repeat(job: &Job) -> bool {
    let limits = &job.limits;
    let by_time = limits.time.is_some() && (limits.bytes, limits.ios, limits.passes) == (None, None, None);
    let (Placement::Random(random) | Placement::Mixed { random, .. }) = &job.pattern.placement else {
        return false;
    };
    let seeded_once = matches!(
        random.distribution,
        Distribution::Zipf { .. } | Distribution::Pareto { .. } | Distribution::Normal { .. }
    );
    !by_time && !seeded_once
}

impl Writer<'_> {
    pub(crate) fn access(&mut self, job: &Job, lines: &mut Lines) {
        let pattern = &job.pattern;
        let (word, read_percent) = self.operation(&job.name, &pattern.mix);
        let (random, stride) = match &pattern.placement {
            Placement::Sequential(walk) => (false, self.walk(job, walk)),
            Placement::Random(_) | Placement::Mixed { .. } => (true, 0),
            // No workload has it.
            Placement::Unknown => (false, 0),
        };
        let prefix = if random { "rand" } else { "" };
        let postfix = if stride > 0 { format!(":{stride}") } else { String::new() };
        lines.set("rw", format!("{prefix}{word}{postfix}"));
        if let Some(percent) = read_percent {
            lines.set("rwmixread", percent);
        }
        self.sizes(&job.name, pattern, lines);
        if random {
            self.repetition(job, lines);
        }
        match &pattern.placement {
            Placement::Sequential(_) | Placement::Unknown => {}
            Placement::Random(random) => self.random(job, random, lines),
            Placement::Mixed { random_percent, random, .. } => {
                self.random(job, random, lines);
                let whole = self.whole(&job.name, "percentage_random", *random_percent);
                lines.set("percentage_random", whole);
            }
        }
        if let Some(align) = pattern.align_bytes
            && random
            && align != pattern.min_block_bytes()
        {
            lines.set("ba", align);
            let help = "an alignment other than the smallest block switches fio's random map off";
            self.note("fio-align-without-map", &job.name, help);
        }
    }

    fn whole(&mut self, job: &str, option: &str, percent: f64) -> f64 {
        let whole = percent.round().clamp(0.0, 100.0);
        if (whole - percent).abs() > 1e-9 {
            let help = format!("{option} has whole per cents: {percent} becomes {whole}");
            self.lost("fio-whole-percent", job, &help);
        }
        whole
    }

    /// The word for the mix, and the share of reads where both are done.
    fn operation(&mut self, job: &str, mix: &Mix) -> (&'static str, Option<f64>) {
        let [read, write, trim] = [mix.read_percent, mix.write_percent, mix.trim_percent];
        if trim > 0.0 {
            if read == 0.0 && write == 0.0 {
                return ("trim", None);
            }
            if read == 0.0 {
                let help = "fio trims each block and writes it; other mixes of trims and writes it has not";
                self.lost("fio-trimwrite", job, help);
                return ("trimwrite", None);
            }
            self.lost("fio-trim-in-mix", job, "fio has no mix of reads and trims; the trims are left out");
        }
        match (read > 0.0, write > 0.0) {
            (true, true) => {
                let percent = self.whole(job, "rwmixread", 100.0 * read / (read + write));
                ("rw", Some(percent))
            }
            (false, true) => ("write", None),
            _ => ("read", None),
        }
    }

    fn walk(&mut self, job: &Job, walk: &Sequential) -> u64 {
        if walk.skip_min_bytes != walk.skip_max_bytes {
            let help = "fio skips the same distance behind each block: the smallest one is written";
            self.lost("fio-random-skip", &job.name, help);
        }
        if walk.random_start {
            let help = "fio's sequential jobs start at the start of the region";
            self.lost("fio-random-start", &job.name, help);
        }
        let mixed = job.pattern.kinds().count() > 1;
        if mixed && !walk.cursor_per_operation {
            self.lost("fio-shared-cursor", &job.name, "in fio reads and writes walk each on their own");
        }
        walk.skip_min_bytes
    }

    fn sizes(&mut self, job: &str, pattern: &AccessPattern, lines: &mut Lines) {
        let used: Vec<OpKind> = pattern.kinds().collect();
        // What an unused direction says does not matter; it takes the first used one.
        let fallback = used.first().copied().unwrap_or(OpKind::Read);
        let all = OpKind::DATA.map(|kind| pattern.sizes(if used.contains(&kind) { kind } else { fallback }));
        let one = |texts: [String; 3]| {
            if texts[0] == texts[1] && texts[1] == texts[2] { texts[0].clone() } else { texts.join(",") }
        };
        if all.iter().any(|sizes| matches!(sizes, BlockSizes::Weighted(_))) {
            let texts = all.map(|sizes| self.split_text(job, sizes));
            return lines.set("bssplit", one(texts));
        }
        if all.iter().all(|sizes| matches!(sizes, BlockSizes::Fixed(_))) {
            return lines.set("bs", one(all.map(|sizes| sizes.min_bytes().to_string())));
        }
        let steps = all.iter().filter_map(|sizes| match sizes {
            BlockSizes::Range { min_bytes, step_bytes, .. } if step_bytes != min_bytes => Some(*step_bytes),
            _ => None,
        });
        let steps: Vec<u64> = steps.collect();
        if steps.contains(&1) {
            lines.flag("bs_unaligned");
        }
        if steps.iter().any(|step| *step != 1) {
            self.lost("fio-range-step", job, "fio's sizes are multiples of the smallest of the range");
        }
        lines.set("bsrange", one(all.map(|sizes| format!("{}-{}", sizes.min_bytes(), sizes.max_bytes()))));
    }

    fn split_text(&mut self, job: &str, sizes: &BlockSizes) -> String {
        let list: Vec<(u64, f64)> = match sizes {
            BlockSizes::Unknown => Vec::new(),
            BlockSizes::Fixed(bytes) => vec![(*bytes, 1.0)],
            BlockSizes::Weighted(list) => list.clone(),
            BlockSizes::Range { min_bytes, max_bytes, step_bytes } => {
                let step = usize::try_from((*step_bytes).max(1)).unwrap_or(usize::MAX);
                (*min_bytes..=*max_bytes)
                    .step_by(step)
                    .take(ENTRIES_MAX + 1)
                    .map(|bytes| (bytes, 1.0))
                    .collect()
            }
        };
        if list.len() > ENTRIES_MAX {
            self.lost("fio-split-entries", job, "fio keeps 64 block sizes; the others are left out");
        }
        let list = &list[..list.len().min(ENTRIES_MAX)];
        let weights: Vec<f64> = list.iter().map(|(_, weight)| *weight).collect();
        let shares = self.percents(job, "bssplit", &weights);
        let kept = list.iter().zip(shares).filter(|(_, share)| *share > 0);
        kept.map(|((bytes, _), share)| format!("{bytes}/{share}")).collect::<Vec<_>>().join(":")
    }

    /// Whole per cents that total 100, as near to the weights as they can be.
    fn percents(&mut self, job: &str, option: &str, weights: &[f64]) -> Vec<u32> {
        let total: f64 = weights.iter().sum();
        let exact: Vec<f64> = weights.iter().map(|weight| 100.0 * weight / total).collect();
        let mut shares: Vec<u32> = exact.iter().map(|share| share.max(0.0).floor() as u32).collect();
        let mut order: Vec<usize> = (0..exact.len()).collect();
        order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
        let missing = 100_u32.saturating_sub(shares.iter().sum());
        for index in order.iter().cycle().take(if order.is_empty() { 0 } else { missing as usize }) {
            shares[*index] += 1;
        }
        if exact.iter().zip(&shares).any(|(exact, share)| (exact - f64::from(*share)).abs() > 1e-6) {
            self.lost("fio-whole-percent", job, &format!("{option} has whole per cents: shares are rounded"));
        }
        shares
    }

    /// fio begins every run and every pass with the same seed, unless it is told otherwise or given one.
    fn repetition(&mut self, job: &Job, lines: &mut Lines) {
        let repeats = job.pattern.repeat_passes;
        match job.seed {
            None => {}
            Some(JobSeed::Fresh) => return lines.set("randrepeat", 0),
            Some(JobSeed::Given(seed)) => {
                return lines.set("randseed", i64::try_from(seed).unwrap_or(i64::MAX));
            }
        }
        let (job, may_repeat) = (job.name.as_str(), may_repeat(job));
        match (self.seed, repeats) {
            (_, true) if !may_repeat => {
                let what = "fio takes another order in each pass of such a job";
                self.note("fio-repeats", job, what);
            }
            (None, false) => lines.set("randrepeat", 0),
            (None, true) => {
                self.note("fio-repeats", job, "fio then has the same addresses in every run, too")
            }
            (Some(_), true) if !self.own_seed => {
                let help = "with a seed that is given, fio takes another order in each pass";
                self.note("fio-repeats", job, help);
            }
            (Some(_), _) => {}
        }
    }

    fn random(&mut self, job: &Job, random: &Random, lines: &mut Lines) {
        let name = &job.name;
        if random.distribution == Distribution::Uniform && !random.once_per_pass {
            lines.flag("norandommap");
        }
        match &random.distribution {
            Distribution::Uniform => {}
            Distribution::Zipf { theta } => lines.set("random_distribution", format!("zipf:{theta}")),
            Distribution::Pareto { h } => lines.set("random_distribution", format!("pareto:{h}")),
            Distribution::Normal { stddev_percent, scattered } => {
                self.normal(name, *stddev_percent, *scattered, lines);
            }
            Distribution::Sequence { blocks, advances } => {
                let blocks: Vec<String> = blocks.iter().map(u64::to_string).collect();
                lines.set("random_distribution", format!("sequence:{}", blocks.join(",")));
                if *advances {
                    lines.set("random_sequence_stride", 1);
                }
            }
            Distribution::Zoned(zones) => self.zones(name, zones, lines),
            Distribution::HitArea { read_percent, write_percent, bytes } => {
                self.hit_area(job, *read_percent, *write_percent, *bytes, lines);
            }
            Distribution::Exponential { .. }
            | Distribution::Hotband { .. }
            | Distribution::ReadMiss { .. } => {
                let help = "fio does not have this distribution; offsets are uniform";
                self.lost("fio-distribution", name, help);
            }
        }
    }

    fn normal(&mut self, job: &str, stddev_percent: f64, scattered: bool, lines: &mut Lines) {
        if !scattered {
            self.lost("fio-normal", job, "fio scatters the blocks of a normal distribution over the region");
        }
        let deviation = normal_deviation(stddev_percent);
        if (normal_stddev(deviation) - stddev_percent).abs() > 0.01 {
            let help =
                "the standard deviations of fio's normal are 8.3 to 16.7 per cent: the nearest is written";
            self.lost("fio-normal-width", job, help);
        }
        lines.set("random_distribution", format!("normal:{deviation}"));
    }

    fn zones(&mut self, job: &str, zones: &[Zone], lines: &mut Lines) {
        let zones = &zones[..zones.len().min(ENTRIES_MAX)];
        let weights: Vec<f64> = zones.iter().map(|zone| zone.access_percent).collect();
        let bytes = |zone: &Zone| if let ZoneSize::Bytes(bytes) = zone.size { Some(bytes) } else { None };
        let percent =
            |zone: &Zone| if let ZoneSize::RangePercent(share) = zone.size { Some(share) } else { None };
        let bytes: Option<Vec<u64>> = zones.iter().map(bytes).collect();
        let percents: Option<Vec<f64>> = zones.iter().map(percent).collect();
        let (kind, lengths) = match (bytes, percents) {
            _ if zones.is_empty() => return,
            (Some(bytes), _) => ("zoned_abs", bytes),
            (None, Some(percents)) => {
                let whole = percents.iter().map(|percent| self.whole(job, "zoned", *percent) as u64);
                ("zoned", whole.collect())
            }
            (None, None) => {
                let help = "fio's zones are all in bytes or all in per cent; offsets are uniform";
                return self.lost("fio-distribution", job, help);
            }
        };
        let shares = self.percents(job, "random_distribution", &weights);
        let list: Vec<String> =
            shares.iter().zip(lengths).map(|(share, length)| format!("{share}/{length}")).collect();
        lines.set("random_distribution", format!("{kind}:{}", list.join(":")));
    }

    /// Two zones per direction, where the length of the region is known.
    fn hit_area(&mut self, job: &Job, read: f64, write: f64, bytes: u64, lines: &mut Lines) {
        let sizes: Option<Vec<u64>> =
            job.targets.iter().map(|name| self.targets[*self.by_name.get(name.as_str())?].size).collect();
        let size = sizes.and_then(|sizes| sizes.into_iter().min());
        let region = match (job.length, size) {
            (Some(Extent::Bytes(length)), _) => Some(length),
            (Some(length), Some(size)) => Some(length.of(size)),
            (None, Some(size)) => Some(size.saturating_sub(job.offset.of(size))),
            _ => None,
        };
        let Some(region) = region.filter(|region| *region > bytes) else {
            let help = "the hit area needs a region of known length; offsets are uniform";
            return self.lost("fio-distribution", &job.name, help);
        };
        let mut one = |percent: f64| {
            let hit = self.whole(&job.name, "the hit area", percent);
            format!("{hit}/{bytes}:{}/{}", 100.0 - hit, region - bytes)
        };
        let (read, write) = (one(read), one(write));
        lines.set("random_distribution", format!("zoned_abs:{read},{write}"));
        self.note("fio-hit-area", &job.name, "the hit area is written as two zones");
    }
}
