//! What a stream of operations is like, and how far two are apart: is a synthetic workload like the application?
//!
//! Most dimensions are distributions, and the distance of two is the largest difference of their distribution functions
//! (Kolmogorov and Smirnov), or half the sum of differences where there is no order (mix, cores): shares of the operations,
//! 0 to 1. How soon data is used again and how arrivals bunch are what distributions of single operations do not show, and
//! have dimensions of their own. What chance makes of each is found by exchanging parts of the two ([`blocks`]).

mod arrivals;
mod blocks;

use assay_results::audit::{Closeness, Comparison, Dimension};
use assay_workload::arrival::ArrivalSource;
use assay_workload::pattern::OpKind;
use assay_workload::plan::Plan;

use self::arrivals::{Arrivals, dispersion};
use self::blocks::{Blocks, Histogram, distance_and_noise};
use super::distances::ReuseDistances;
use super::draw;
use crate::model::Model;

/// Different sizes that are kept apart.
const SIZES_MAX: usize = 4096;
/// Steps per doubling of distances and gaps.
const STEPS: f64 = 4.0;
/// A distance up to here is as good as none; up to the second the two are near.
const ALIKE: f64 = 0.05;
const NEAR: f64 = 0.15;
/// The share of the larger of two samples that is lost by chance in 5 % of cases: Kolmogorov's 1.36. For streams of so few
/// operations that they have no parts.
const KOLMOGOROV_95: f64 = 1.36;
/// The page of reuse distances.
const PAGE_BYTES: u64 = 4096;
/// Of longer requests so many pages count for reuse.
const PAGES_MAX: u64 = 1024;
/// Pages of one target, numbered apart from those of others.
const TARGET_SHIFT: u32 = 44;
/// Stands for a page that was not used before: farther than any distance.
const FIRST_USE: i64 = i64::MAX;

/// The histograms of an operation.
const SIZE: usize = 0;
const MIX: usize = 1;
const SEEK: usize = 2;
const SEGMENT: usize = 3;
const CORE: usize = 4;
const GAP: usize = 5;
const OUTSTANDING: usize = 6;
const REUSE: usize = 7;
const HISTOGRAMS: usize = 8;
/// What is counted in the mix.
const MIX_FLUSH: i64 = 3;

/// What a stream of operations is like.
#[derive(Debug)]
pub struct Profile {
    ops: u64,
    sizes: std::collections::BTreeSet<u32>,
    blocks: Blocks<HISTOGRAMS>,
    reuse: ReuseDistances,
    arrivals: Arrivals,
    cores: usize,
    ends: Vec<u64>,
    last_ns: Option<u64>,
}

impl Profile {
    /// Of nothing yet, on the array of `model`.
    pub fn new(model: &Model) -> Profile {
        Profile {
            ops: 0,
            sizes: std::collections::BTreeSet::new(),
            blocks: Blocks::default(),
            reuse: ReuseDistances::new(PAGE_BYTES),
            arrivals: Arrivals::default(),
            cores: model.front_end.cores() as usize,
            ends: Vec::new(),
            last_ns: None,
        }
    }

    /// Operations so far, flushes among them.
    pub fn ops(&self) -> u64 {
        self.ops
    }

    /// Counts one: `at_ns` where its time is known, `outstanding` where it is known how many were, itself included.
    pub fn add(
        &mut self,
        model: &Model,
        (target, offset_bytes, len_bytes): (u16, u64, u32),
        kind: OpKind,
        at_ns: Option<u64>,
        outstanding: Option<u32>,
    ) {
        self.ops += 1;
        let block = self.blocks.next();
        let mut count =
            |which: usize, value: i64, weight: u64| *block[which].entry(value).or_default() += weight;
        if kind.is_flush() {
            count(MIX, MIX_FLUSH, 1);
            return;
        }
        count(MIX, kind as i64, 1);
        let known = self.sizes.contains(&len_bytes) || self.sizes.len() < SIZES_MAX;
        let size = if known { len_bytes } else { len_bytes.next_power_of_two() };
        self.sizes.insert(size);
        count(SIZE, i64::from(size), 1);
        let index = usize::from(target);
        if index >= self.ends.len() {
            self.ends.resize(index + 1, u64::MAX);
        }
        if self.ends[index] != u64::MAX {
            let distance = i128::from(offset_bytes) - i128::from(self.ends[index]);
            count(SEEK, signed_bucket(distance), 1);
        }
        self.ends[index] = offset_bytes.saturating_add(u64::from(len_bytes));
        let segment = offset_bytes / model.front_end.segment.0;
        count(SEGMENT, (i64::from(target) << TARGET_SHIFT) | segment as i64, 1);
        count(CORE, i64::from(model.front_end.core_of(segment)), 1);
        let pages = (u64::from(len_bytes).div_ceil(PAGE_BYTES)).clamp(1, PAGES_MAX);
        for page in offset_bytes / PAGE_BYTES..offset_bytes / PAGE_BYTES + pages {
            if let Some(reuse) = self.reuse.add((u64::from(target) << TARGET_SHIFT) | page) {
                count(
                    REUSE,
                    reuse.bucket.map_or(FIRST_USE, |bucket| bucket as i64),
                    reuse.weight.round() as u64,
                );
            }
        }
        if let Some(at) = at_ns {
            if let Some(last) = self.last_ns {
                count(GAP, signed_bucket(i128::from(at.saturating_sub(last))), 1);
            }
            self.last_ns = Some(self.last_ns.map_or(at, |last| last.max(at)));
            self.arrivals.add(at);
        }
        if let Some(outstanding) = outstanding {
            count(OUTSTANDING, i64::from(outstanding), 1);
        }
    }

    /// Of a phase of a plan: `draws` of its operations, its arrivals where all jobs have a rate, its outstanding I/Os where none
    /// has.
    pub fn of_phase(plan: &Plan, phase: usize, model: &Model, draws: u64) -> Option<Profile> {
        let planned = plan.phases.get(phase)?;
        let jobs: Vec<_> = planned.jobs.iter().filter(|job| draw::has_addresses(job)).collect();
        let closed = jobs.iter().all(|job| job.slices.iter().all(|slice| job.slice_iops(slice).is_none()));
        let total: u64 = jobs.iter().map(|job| job.outstanding_io()).sum();
        let outstanding = closed.then_some(total as u32);
        let rates = jobs.iter().map(|job| job.slices_iops()).sum::<Option<f64>>();
        let mut times = Vec::new();
        for (job, slice) in jobs.iter().flat_map(|job| job.slices.iter().map(move |slice| (job, slice))) {
            let (Some(rates), Some(rate)) = (rates, job.slice_iops(slice)) else { break };
            let mut source = ArrivalSource::of_thread(job.pace.arrival(), rate, slice.seed);
            let mut arrivals = vec![0; (draws as f64 * rate / rates) as usize + 1];
            source.fill(&mut arrivals);
            times.extend(arrivals);
        }
        times.sort_unstable();
        // Jobs of different policies stand side by side: each write brings the mean of their flushes.
        let flushes = |job: &&&assay_workload::PlannedJob| {
            job.flush.periodic.map_or(0.0, |flush| 1.0 / f64::from(flush.every_writes.max(1)))
        };
        let per_write = jobs.iter().map(|job| flushes(&job)).sum::<f64>() / jobs.len().max(1) as f64;
        let (mut profile, mut times, mut owed) = (Profile::new(model), times.into_iter(), 0.0);
        draw::phase(plan, phase, draws, |op| {
            let place = (op.target, op.offset_bytes, op.len_bytes);
            profile.add(model, place, op.kind, times.next(), outstanding);
            owed += if op.kind == OpKind::Write { per_write } else { 0.0 };
            if owed >= 1.0 {
                owed -= 1.0;
                profile.add(model, (op.target, 0, 0), OpKind::Fsync, None, None);
            }
        })?;
        Some(profile)
    }

    /// How far two streams are apart, dimension by dimension.
    pub fn compare(&self, other: &Profile) -> Vec<Comparison> {
        let bytes = |value: f64| assay_workload::units::Bytes(value as u64).to_string();
        let seek = |bucket: f64| match bucket as i64 {
            0 => "none: sequential".to_owned(),
            bucket if bucket > 0 => format!("{} forward", bytes(value_of(bucket))),
            bucket => format!("{} back", bytes(value_of(-bucket))),
        };
        let time = |bucket: f64| assay_workload::units::Nanos(value_of(bucket as i64) as u64).to_string();
        let reuse = |bucket: f64| match bucket as i64 {
            FIRST_USE => "most used once".to_owned(),
            bucket => bytes(ReuseDistances::bytes_of(bucket as usize)),
        };
        vec![
            self.ordered(other, Dimension::Size, SIZE, bytes),
            self.mixes(other),
            self.ordered(other, Dimension::SeekDistance, SEEK, seek),
            self.ordered(other, Dimension::ReuseDistance, REUSE, reuse),
            self.segments(other),
            self.cores_of(other),
            self.ordered(other, Dimension::InterArrival, GAP, time),
            self.burstiness(other),
            self.queue_wait(other),
            self.ordered(other, Dimension::Outstanding, OUTSTANDING, |n| format!("{n}")),
        ]
    }

    /// Both in groups. Reuse is that of streams of one length: the longer one has seen more.
    fn groups(&self, other: &Profile, which: usize) -> (Vec<Histogram>, Vec<Histogram>) {
        let ops = if which == REUSE { self.ops.min(other.ops) } else { u64::MAX };
        (self.blocks.groups(which, ops), other.blocks.groups(which, ops))
    }

    /// A distribution with an order, told by its median.
    fn ordered(
        &self,
        other: &Profile,
        dimension: Dimension,
        which: usize,
        words: impl Fn(f64) -> String,
    ) -> Comparison {
        let (a, b) = self.groups(other, which);
        let typical = |groups: &[Histogram]| {
            median(&sum(groups)).map_or_else(|| "not known".to_owned(), |value| words(value as f64))
        };
        judged(dimension, &a, &b, largest_difference, (typical(&a), typical(&b)))
    }

    /// Requests by the rank of their segment, the hottest first.
    fn segments(&self, other: &Profile) -> Comparison {
        let (a, b) = self.groups(other, SEGMENT);
        let words = |groups: &[Histogram]| {
            let counts: Vec<u64> = sum(groups).into_values().collect();
            let (ranked, total) = (ranked(&counts), counts.iter().sum::<u64>());
            let mut below = 0;
            let half = ranked.iter().position(|count| {
                below += count;
                2 * below >= total
            });
            half.map_or_else(|| "not known".to_owned(), |rank| format!("half in {} segments", rank + 1))
        };
        let distance = |a: &[u64], b: &[u64]| largest_difference(&ranked(a), &ranked(b));
        judged(Dimension::SegmentShare, &a, &b, distance, (words(&a), words(&b)))
    }

    fn mixes(&self, other: &Profile) -> Comparison {
        let (a, b) = self.groups(other, MIX);
        let words = |groups: &[Histogram]| {
            let all = sum(groups);
            let of = |kind: i64| share(all.get(&kind).copied().unwrap_or(0), all.values().sum()) * 100.0;
            let flushes = of(MIX_FLUSH);
            let more = if flushes > 0.0 { format!(", {flushes:.1} % flushes") } else { String::new() };
            format!("{:.1} % reads{more}", of(OpKind::Read as i64))
        };
        judged(Dimension::Mix, &a, &b, half_of_differences, (words(&a), words(&b)))
    }

    fn cores_of(&self, other: &Profile) -> Comparison {
        let (a, b) = self.groups(other, CORE);
        let busiest = |groups: &[Histogram]| {
            let all = sum(groups);
            let most = all.values().copied().max().unwrap_or(0);
            format!("busiest of {} {:.1} %", self.cores, share(most, all.values().sum()) * 100.0)
        };
        judged(Dimension::CoreShare, &a, &b, half_of_differences, (busiest(&a), busiest(&b)))
    }

    fn burstiness(&self, other: &Profile) -> Comparison {
        let words = |groups: &[Histogram], length_ns: u64| {
            let all = sum(groups);
            let (values, counts): (Vec<i64>, Vec<u64>) = all.into_iter().unzip();
            let length = assay_workload::units::Nanos(length_ns);
            format!("dispersion {:.2} in {length}", dispersion(&values, &counts))
        };
        let found = self.arrivals.scales(&other.arrivals).into_iter().map(|(length_ns, a, b)| {
            let mut values: Vec<i64> = a.iter().chain(&b).flat_map(|group| group.keys().copied()).collect();
            values.sort_unstable();
            values.dedup();
            // The root, so that a factor of 1.4 is a distance of 0.15.
            let distance = |a: &[u64], b: &[u64]| {
                let (a, b) = (dispersion(&values, a), dispersion(&values, b));
                // Arrivals more even than 1 in 20 of Poisson's variance are even.
                1.0 - (a.min(b).max(0.05) / a.max(b).max(0.05)).sqrt()
            };
            judged(Dimension::Burstiness, &a, &b, distance, (words(&a, length_ns), words(&b, length_ns)))
        });
        let worst = |a: &Comparison, b: &Comparison| {
            (a.closeness, a.distance)
                .partial_cmp(&(b.closeness, b.distance))
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        found.max_by(worst).unwrap_or_else(|| unknown(Dimension::Burstiness))
    }

    fn queue_wait(&self, other: &Profile) -> Comparison {
        let service_ns = self.arrivals.service_ns().filter(|_| other.arrivals.gap_mean_ns().is_some());
        let Some(service_ns) = service_ns else { return unknown(Dimension::QueueWait) };
        let (a, b) = (self.arrivals.waits(service_ns), other.arrivals.waits(service_ns));
        let words = |groups: &[Histogram]| {
            let all = sum(groups);
            let total: f64 = all.iter().map(|(bucket, n)| value_of(*bucket) * *n as f64).sum();
            let mean = total / 100.0 / all.values().sum::<u64>().max(1) as f64;
            format!("mean {mean:.2} service times")
        };
        judged(Dimension::QueueWait, &a, &b, largest_difference, (words(&a), words(&b)))
    }
}

/// Comparisons in the light of what captures of one program differ by: no less than that is a difference.
pub fn beside_repeats(mut comparisons: Vec<Comparison>, repeats: &[Vec<Comparison>]) -> Vec<Comparison> {
    for one in &mut comparisons {
        let same = repeats.iter().flatten().filter(|repeat| repeat.dimension == one.dimension);
        one.error = same.filter_map(|repeat| repeat.distance).fold(one.error, f64::max);
        one.closeness = one.distance.map_or(Closeness::Unknown, |distance| closeness(distance, one.error));
    }
    comparisons
}

fn sum(groups: &[Histogram]) -> Histogram {
    let mut all = Histogram::new();
    for (value, count) in groups.iter().flatten() {
        *all.entry(*value).or_default() += count;
    }
    all
}

fn ranked(counts: &[u64]) -> Vec<u64> {
    let mut counts = counts.to_vec();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A number on a log scale that keeps its sign; 0 stays 0.
fn signed_bucket(value: i128) -> i64 {
    let bucket = |magnitude: f64| ((magnitude + 1.0).log2() * STEPS).ceil() as i64;
    match value {
        0 => 0,
        value if value > 0 => bucket(value as f64),
        value => -bucket(-(value as f64)),
    }
}

/// About the value of a bucket.
fn value_of(bucket: i64) -> f64 {
    (2_f64.powf(bucket as f64 / STEPS) - 1.0).max(0.0)
}

fn median(counts: &Histogram) -> Option<i64> {
    let total: u64 = counts.values().sum();
    let mut below = 0;
    counts.iter().find_map(|(value, count)| {
        below += count;
        (2 * below >= total && total > 0).then_some(*value)
    })
}

/// Kolmogorov's distance of two distributions.
fn largest_difference(a: &[u64], b: &[u64]) -> f64 {
    let (n, m): (u64, u64) = (a.iter().sum(), b.iter().sum());
    let (mut below_a, mut below_b, mut distance) = (0, 0, 0.0_f64);
    for (x, y) in a.iter().zip(b) {
        below_a += x;
        below_b += y;
        distance = distance.max((share(below_a, n) - share(below_b, m)).abs());
    }
    distance
}

/// Half the sum of differences of shares.
fn half_of_differences(a: &[u64], b: &[u64]) -> f64 {
    let (n, m): (u64, u64) = (a.iter().sum(), b.iter().sum());
    a.iter().zip(b).map(|(x, y)| (share(*x, n) - share(*y, m)).abs()).sum::<f64>() / 2.0
}

fn unknown(dimension: Dimension) -> Comparison {
    let [first, second] = ["not known"; 2].map(str::to_owned);
    Comparison { dimension, distance: None, error: 0.0, closeness: Closeness::Unknown, first, second }
}

fn judged(
    dimension: Dimension,
    a: &[Histogram],
    b: &[Histogram],
    distance: impl Fn(&[u64], &[u64]) -> f64,
    (first, second): (String, String),
) -> Comparison {
    let total = |groups: &[Histogram]| groups.iter().flat_map(Histogram::values).sum::<u64>();
    let (n, m) = (total(a), total(b));
    if n == 0 || m == 0 {
        return Comparison { first, second, ..unknown(dimension) };
    }
    let (distance, noise) = distance_and_noise(a, b, distance);
    let independent = || KOLMOGOROV_95 * ((n + m) as f64 / (n as f64 * m as f64)).sqrt();
    let error = noise.unwrap_or_else(independent);
    let closeness = closeness(distance, error);
    Comparison { dimension, distance: Some(distance), error, closeness, first, second }
}

fn closeness(distance: f64, error: f64) -> Closeness {
    match distance {
        distance if distance <= ALIKE => Closeness::Alike,
        distance if distance <= error && distance <= NEAR => Closeness::Alike,
        distance if distance <= error => Closeness::Unclear,
        distance if distance <= NEAR => Closeness::Near,
        _ => Closeness::Different,
    }
}

#[cfg(test)]
mod tests;
