//! From an access pattern to where it lands, in closed form.

use std::collections::BTreeSet;

use assay_workload::distribution::Sampler;
use assay_workload::pattern::{AccessPattern, BlockSizes, Distribution, OpKind, Placement, Sequential};
use assay_workload::rng::derive_seed;

use super::density::{Class, Density, Span};
use super::hotband;
use super::ranks::Ranks;
use crate::normal::normal_cdf;

/// Even pieces a smooth curve is cut into; each has its exact share.
const PIECES: u64 = 4096;
/// The most positions of a strided walk that are looked at one by one.
const STRIDES_MAX: u64 = 1 << 18;
/// The most scattered blocks that are placed one by one, over all threads.
const SCATTERED_MAX: u64 = 1 << 18;

/// The part of a target that one thread of a job works on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    pub(crate) target: u16,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Seed of the thread's draws on this site.
    pub(crate) seed: u64,
    /// Share of the job's operations.
    pub(crate) weight: f64,
    /// Bytes after which the thread ends; `u64::MAX`: not by bytes.
    pub(crate) bytes_max: u64,
}

/// Where the operations of `kind` of `pattern` go; `None` where there is no closed form.
pub(crate) fn closed_form(
    pattern: &AccessPattern,
    kind: OpKind,
    sites: &[Site],
    cores: u32,
) -> Option<Density> {
    let mut density = Density::default();
    let mut ranks: Option<(Ranks, u64)> = None;
    for site in sites {
        match &pattern.placement {
            Placement::Mixed { .. } | Placement::Unknown => return None,
            Placement::Random(_) if pattern.has_read_misses() => return None,
            Placement::Sequential(sequential) => walk(&mut density, pattern, kind, sequential, site)?,
            Placement::Random(random) => {
                let blocks = blocks_of(pattern, site);
                match Ranks::of(&random.distribution, blocks) {
                    Some(own) => {
                        scatter(&mut density, pattern, kind, site, &own, sites.len() as u64, cores);
                        ranks = Some((own, blocks));
                    }
                    None => {
                        for stretch in stretches(&random.distribution, kind, blocks, pattern.align()) {
                            cover(&mut density, pattern.align(), pattern.sizes(kind), site, stretch);
                        }
                    }
                }
            }
        }
    }
    if let Some((ranks, blocks)) = ranks {
        density.classes = Some(classes(pattern, kind, &ranks, blocks, sites));
    }
    Some(density)
}

/// Number of blocks a random position is drawn from, as the generator counts them.
fn blocks_of(pattern: &AccessPattern, site: &Site) -> u64 {
    (site.length.saturating_sub(pattern.max_block_bytes()) / pattern.align() + 1).max(1)
}

/// Stretches of blocks: first, behind the last, share.
fn stretches(distribution: &Distribution, kind: OpKind, blocks: u64, align: u64) -> Vec<(f64, f64, f64)> {
    let all = blocks as f64;
    match distribution {
        Distribution::Zoned(zones) => {
            let total: f64 = zones.iter().map(|zone| zone.access_percent).sum();
            let mut first = 0;
            let mut result = Vec::with_capacity(zones.len());
            for zone in zones {
                let count = (zone.size.of(blocks * align) / align).min(blocks - first);
                result.push((first as f64, (first + count) as f64, zone.access_percent / total));
                first += count;
            }
            result
        }
        Distribution::HitArea { read_percent, write_percent, bytes } => {
            let area = (bytes / align).clamp(1, blocks.saturating_sub(1).max(1)) as f64;
            let share = if kind == OpKind::Read { read_percent } else { write_percent } / 100.0;
            vec![(0.0, area, share), (area, all.max(area + 1.0), 1.0 - share)]
        }
        Distribution::Exponential { midpoint } => {
            // Wrapped: a geometric series of the rounds. Beyond 40 means there is nothing.
            let mean = all / midpoint;
            curve((0.0, all.min(40.0 * mean)), |x| -(-x / mean).exp_m1() / -(-all / mean).exp_m1())
        }
        Distribution::Normal { stddev_percent, .. } => {
            let stddev = all * stddev_percent / 100.0;
            let z = |x: f64| normal_cdf((x - all / 2.0) / stddev);
            let (low, high) = (z(0.0), z(all));
            let reach = (all / 2.0).min(8.0 * stddev);
            curve((all / 2.0 - reach, all / 2.0 + reach), |x| (z(x) - low) / (high - low))
        }
        Distribution::Hotband { low_bytes, high_bytes, corrected } => {
            let high = (*high_bytes).min(blocks * align);
            let band = (high.saturating_sub(*low_bytes) / align).max(1);
            let shift = if kind == OpKind::Read { 0 } else { band / 100 };
            let unit = if *corrected { 1e6 } else { 1e3 };
            let low = (low_bytes / align) as f64;
            hotband::stretches(low, band as f64, shift as f64, unit / align as f64)
        }
        _ => vec![(0.0, all, 1.0)],
    }
}

/// A smooth curve as even pieces, by its distribution function over blocks. Pieces end where blocks do.
fn curve(range: (f64, f64), share_below: impl Fn(f64) -> f64) -> Vec<(f64, f64, f64)> {
    let pieces = PIECES.min((range.1 - range.0).ceil() as u64).max(1);
    let edge = |index: u64| (range.0 + (range.1 - range.0) * index as f64 / pieces as f64).round();
    let piece = |index| {
        let (from, to) = (edge(index), edge(index + 1));
        (from, to, share_below(to) - share_below(from))
    };
    (0..pieces).map(piece).collect()
}

/// Sizes in bytes with their shares; a long range is represented by sixteen of them.
fn size_shares(sizes: &BlockSizes) -> Vec<(u64, f64)> {
    match sizes {
        BlockSizes::Fixed(size) => vec![(*size, 1.0)],
        BlockSizes::Unknown => Vec::new(),
        BlockSizes::Weighted(list) => {
            let total: f64 = list.iter().map(|entry| entry.1).sum();
            list.iter().map(|&(size, weight)| (size, weight / total)).collect()
        }
        BlockSizes::Range { min_bytes, max_bytes, step_bytes } => {
            let steps = (max_bytes - min_bytes) / (*step_bytes).max(1) + 1;
            let used = steps.min(16);
            let size = |index: u64| min_bytes + (index * (steps - 1) / (used - 1).max(1)) * step_bytes;
            (0..used).map(|index| (size(index), 1.0 / used as f64)).collect()
        }
    }
}

/// Adds the bytes that requests starting in a stretch of blocks cover: more than the stretch where they are longer than
/// the alignment, with ramps at both ends.
fn cover(density: &mut Density, align: u64, sizes: &BlockSizes, site: &Site, stretch: (f64, f64, f64)) {
    let (from, to, share) = stretch;
    if share <= 0.0 || to <= from {
        return;
    }
    let unit = align as f64;
    let start = site.offset as f64 + from * unit;
    let len = (to - from) * unit;
    let spans = density.target(site.target);
    for (size, part) in size_shares(sizes) {
        let share = share * part * site.weight;
        if size <= align {
            spans.push(Span { start, len, share, fill: size as f64 / unit });
            continue;
        }
        if to - from <= 1.0 {
            spans.push(Span { start, len: size as f64, share, fill: 1.0 });
            continue;
        }
        // A request covers size / align blocks with that part of itself each: so many stretches, one block apart, and
        // in steps of several blocks where there are many.
        let steps = size.div_ceil(align).min(16);
        let shift = size as f64 / steps as f64;
        for step in 0..steps {
            let begin = start + step as f64 * shift;
            // Each step stands for the blocks up to the next one.
            spans.push(Span {
                start: begin,
                len: len - unit + shift,
                share: share / steps as f64,
                fill: 1.0,
            });
        }
    }
}

/// A walk: everything it passes, or as far as it gets.
fn walk(
    density: &mut Density,
    pattern: &AccessPattern,
    kind: OpKind,
    sequential: &Sequential,
    site: &Site,
) -> Option<()> {
    let sizes = pattern.sizes(kind);
    let skip = (sequential.skip_min_bytes, sequential.skip_max_bytes);
    let limit = if sequential.random_start { u64::MAX } else { site.bytes_max };
    if skip.1 == 0 {
        let len = site.length.min(limit) as f64;
        let span = Span { start: site.offset as f64, len, share: site.weight, fill: 1.0 };
        density.target(site.target).push(span);
        return Some(());
    }
    let (BlockSizes::Fixed(size), true) = (sizes, skip.0 == skip.1) else { return None };
    let step = size + skip.0;
    let count = (site.length.saturating_sub(*size) / step + 1).min((limit / size).max(1));
    if count > STRIDES_MAX || sequential.random_start {
        return None;
    }
    let share = site.weight / count as f64;
    let spans = (0..count).map(|index| Span {
        start: (site.offset + index * step) as f64,
        len: *size as f64,
        share,
        fill: 1.0,
    });
    density.target(site.target).extend(spans);
    Some(())
}

/// Places the most popular blocks one by one where the generator's permutation puts them; the rest is taken as even.
fn scatter(
    density: &mut Density,
    pattern: &AccessPattern,
    kind: OpKind,
    site: &Site,
    ranks: &Ranks,
    sites: u64,
    cores: u32,
) {
    let blocks = blocks_of(pattern, site);
    let Placement::Random(random) = &pattern.placement else { return };
    let align = pattern.align();
    let sampler = Sampler::new(&random.distribution, random.once_per_pass, blocks, align, site.seed);
    let permutation = match &sampler {
        Sampler::Zipf(both) => &both.1,
        Sampler::Pareto(_, scatter) => scatter.as_ref(),
        _ => return,
    };
    let head = blocks.min((SCATTERED_MAX / sites.max(1)).max(1));
    for rank in 0..head {
        let block = permutation.at(rank) as f64;
        let share = ranks.share_of(rank);
        cover(density, align, pattern.sizes(kind), site, (block, block + 1.0, share));
    }
    let left = 1.0 - ranks.share_below(head);
    if head < blocks {
        cover(density, align, pattern.sizes(kind), site, (0.0, blocks as f64, left));
        // What one core gets of the rest varies like a sum of independent choices, none larger than the first one's share.
        let largest = ranks.share_of(head);
        density.error += 3.0 * (left * largest / f64::from(cores)).sqrt() * site.weight;
    }
}

/// Popularity by rank. Every thread scatters with its own key, so that each has its own hot blocks; together they cannot
/// be more than there is.
fn classes(pattern: &AccessPattern, kind: OpKind, ranks: &Ranks, blocks: u64, sites: &[Site]) -> Vec<Class> {
    let bytes = pattern.sizes(kind).mean_bytes().min(pattern.align() as f64) * sites.len() as f64;
    let mut edges: Vec<u64> = (0..=64.min(blocks)).collect();
    while let Some(&last) = edges.last().filter(|last| **last < blocks) {
        edges.push((last + last / 64).max(last + 1).min(blocks));
    }
    let ranges: BTreeSet<(u16, u64, u64)> =
        sites.iter().map(|site| (site.target, site.offset, site.length)).collect();
    let mut left: f64 = ranges.iter().map(|range| range.2 as f64).sum();
    let class = |pair: &[u64]| {
        let bytes = ((pair[1] - pair[0]) as f64 * bytes).min(left);
        left -= bytes;
        // What no longer has bytes of its own falls on those of others.
        Class { bytes: bytes.max(1.0), share: ranks.share_below(pair[1]) - ranks.share_below(pair[0]) }
    };
    edges.windows(2).map(class).collect()
}

/// The seed of a thread's draws on its site of that index, as the generator derives it.
pub(crate) fn site_seed(slice_seed: u64, index: usize) -> u64 {
    derive_seed(slice_seed, 1 + index as u64)
}
