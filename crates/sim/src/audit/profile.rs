//! What a stream of operations is like, and how far two are apart: is a synthetic workload like the application?
//!
//! Each dimension is a distribution, and the distance of two is the largest difference of their distribution functions
//! (Kolmogorov and Smirnov), or half the sum of differences where there is no order (mix, cores). Both are shares of the
//! operations, 0 to 1. What sampling alone makes of it (95 %) is told beside it.

use std::collections::BTreeMap;

use assay_workload::arrival::ArrivalSource;
use assay_workload::pattern::OpKind;
use assay_workload::plan::Plan;
use assay_workload::rng::derive_seed;
use serde::{Deserialize, Serialize};

use super::draw;
use crate::model::Model;

/// Different sizes that are kept apart.
const SIZES_MAX: usize = 4096;
/// Steps per doubling of distances and gaps.
const STEPS: f64 = 4.0;
/// A distance up to here is as good as none; up to the second the two are near.
const ALIKE: f64 = 0.05;
const NEAR: f64 = 0.15;
/// The share of the larger of two samples that is lost by chance in 5 % of cases: Kolmogorov's 1.36.
const KOLMOGOROV_95: f64 = 1.36;

/// What a stream of operations is like.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    ops: u64,
    mix: [u64; 3],
    sizes: BTreeMap<i64, u64>,
    seeks: BTreeMap<i64, u64>,
    gaps: BTreeMap<i64, u64>,
    outstanding: BTreeMap<i64, u64>,
    segments: BTreeMap<(u16, u64), u64>,
    cores: Vec<u64>,
    ends: Vec<u64>,
    last_ns: Option<u64>,
}

/// A dimension that streams are compared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Bytes of a request.
    Size,
    /// Reads, writes, trims.
    Mix,
    /// From the end of one request to the start of the next on the same target, forward or back.
    SeekDistance,
    /// How concentrated requests are: shares of segments, the hottest first.
    SegmentShare,
    /// Shares of the array's cores.
    CoreShare,
    /// Time between two requests.
    InterArrival,
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
            Dimension::SegmentShare => "segment share",
            Dimension::CoreShare => "core share",
            Dimension::InterArrival => "inter-arrival",
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
    /// What sampling alone may make of it.
    pub error: f64,
    /// What it comes to.
    pub closeness: Closeness,
    /// The typical value of the first: a median, or a share.
    pub first: String,
    /// That of the second.
    pub second: String,
}

impl Profile {
    /// Of nothing yet, on the array of `model`.
    pub fn new(model: &Model) -> Profile {
        Profile { cores: vec![0; model.front_end.cores() as usize], ..Profile::default() }
    }

    /// Operations so far.
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
        if kind.is_flush() {
            return;
        }
        self.ops += 1;
        self.mix[kind as usize] += 1;
        let full = self.sizes.len() >= SIZES_MAX;
        let size = if full { i64::from(len_bytes.next_power_of_two()) } else { i64::from(len_bytes) };
        *self.sizes.entry(size).or_default() += 1;
        let index = usize::from(target);
        if index >= self.ends.len() {
            self.ends.resize(index + 1, u64::MAX);
        }
        if self.ends[index] != u64::MAX {
            let distance = i128::from(offset_bytes) - i128::from(self.ends[index]);
            *self.seeks.entry(signed_bucket(distance)).or_default() += 1;
        }
        self.ends[index] = offset_bytes.saturating_add(u64::from(len_bytes));
        let segment = offset_bytes / model.front_end.segment.0;
        *self.segments.entry((target, segment)).or_default() += 1;
        self.cores[model.front_end.core_of(segment) as usize] += 1;
        if let Some(at) = at_ns {
            if let Some(last) = self.last_ns {
                *self.gaps.entry(signed_bucket(i128::from(at.saturating_sub(last)))).or_default() += 1;
            }
            self.last_ns = Some(self.last_ns.map_or(at, |last| last.max(at)));
        }
        if let Some(outstanding) = outstanding {
            *self.outstanding.entry(i64::from(outstanding)).or_default() += 1;
        }
    }

    /// Of a phase of a plan: `draws` of its operations, its arrivals where all jobs have a rate, its outstanding I/Os where none
    /// has.
    pub fn of_phase(plan: &Plan, phase: usize, model: &Model, draws: u64) -> Option<Profile> {
        let planned = plan.phases.get(phase)?;
        let jobs: Vec<_> = planned.jobs.iter().filter(|job| draw::has_addresses(job)).collect();
        let closed = jobs.iter().all(|job| job.slices.iter().all(|slice| slice.rate_per_s.is_none()));
        let total: u64 = jobs.iter().map(|job| job.outstanding_io()).sum();
        let outstanding = closed.then_some(total as u32);
        let mut profile = Profile::new(model);
        draw::phase(plan, phase, draws, |op| {
            profile.add(model, (op.target, op.offset_bytes, op.len_bytes), op.kind, None, outstanding);
        })?;
        let mut times = Vec::new();
        let rates: f64 = jobs.iter().flat_map(|job| &job.slices).filter_map(|slice| slice.rate_per_s).sum();
        let open = jobs.iter().all(|job| job.slices.iter().all(|slice| slice.rate_per_s.is_some()));
        for (job, slice) in jobs.iter().flat_map(|job| job.slices.iter().map(move |slice| (job, slice))) {
            let Some(rate) = slice.rate_per_s.filter(|_| open) else { break };
            let mut source = ArrivalSource::new(job.job.arrival, rate, derive_seed(slice.seed, 3));
            let mut arrivals = vec![0; (draws.min(1_000_000) as f64 * rate / rates) as usize];
            source.fill(&mut arrivals);
            times.extend(arrivals);
        }
        times.sort_unstable();
        for pair in times.windows(2) {
            *profile.gaps.entry(signed_bucket(i128::from(pair[1] - pair[0]))).or_default() += 1;
        }
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
        vec![
            ordered(Dimension::Size, &self.sizes, &other.sizes, bytes),
            self.mixes(other),
            ordered(Dimension::SeekDistance, &self.seeks, &other.seeks, seek),
            ordered(Dimension::SegmentShare, &self.ranked(), &other.ranked(), |rank| {
                format!("half in {} segments", rank + 1.0)
            }),
            self.cores_of(other),
            ordered(Dimension::InterArrival, &self.gaps, &other.gaps, time),
            ordered(Dimension::Outstanding, &self.outstanding, &other.outstanding, |n| format!("{n}")),
        ]
    }

    /// Requests by the rank of their segment, the hottest first.
    fn ranked(&self) -> BTreeMap<i64, u64> {
        let mut counts: Vec<u64> = self.segments.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.into_iter().enumerate().map(|(rank, count)| (rank as i64, count)).collect()
    }

    fn mixes(&self, other: &Profile) -> Comparison {
        let reads = |profile: &Profile| format!("{:.1} % reads", share(profile.mix[0], profile.ops) * 100.0);
        unordered(Dimension::Mix, &self.mix, &other.mix, (reads(self), reads(other)))
    }

    fn cores_of(&self, other: &Profile) -> Comparison {
        let busiest = |profile: &Profile| {
            let most = profile.cores.iter().copied().max().unwrap_or(0);
            format!("busiest {:.1} %", share(most, profile.ops) * 100.0)
        };
        unordered(Dimension::CoreShare, &self.cores, &other.cores, (busiest(self), busiest(other)))
    }
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

fn median(counts: &BTreeMap<i64, u64>) -> Option<i64> {
    let total: u64 = counts.values().sum();
    let mut below = 0;
    counts.iter().find_map(|(value, count)| {
        below += count;
        (2 * below >= total && total > 0).then_some(*value)
    })
}

/// Kolmogorov's distance of two distributions, with their medians.
fn ordered(
    dimension: Dimension,
    a: &BTreeMap<i64, u64>,
    b: &BTreeMap<i64, u64>,
    words: impl Fn(f64) -> String,
) -> Comparison {
    let typical = |counts: &BTreeMap<i64, u64>| {
        median(counts).map_or_else(|| "not known".to_owned(), |value| words(value as f64))
    };
    let (first, second) = (typical(a), typical(b));
    let (n, m): (u64, u64) = (a.values().sum(), b.values().sum());
    if n == 0 || m == 0 {
        let closeness = Closeness::Unknown;
        return Comparison { dimension, distance: None, error: 0.0, closeness, first, second };
    }
    let mut values: Vec<i64> = a.keys().chain(b.keys()).copied().collect();
    values.sort_unstable();
    values.dedup();
    let (mut below_a, mut below_b, mut distance) = (0, 0, 0.0_f64);
    for value in values {
        below_a += a.get(&value).copied().unwrap_or(0);
        below_b += b.get(&value).copied().unwrap_or(0);
        distance = distance.max((share(below_a, n) - share(below_b, m)).abs());
    }
    judged(dimension, distance, error_of(n, m), (first, second))
}

/// Half the sum of differences of shares.
fn unordered(dimension: Dimension, a: &[u64], b: &[u64], words: (String, String)) -> Comparison {
    let (n, m): (u64, u64) = (a.iter().sum(), b.iter().sum());
    let distance: f64 = a.iter().zip(b).map(|(x, y)| (share(*x, n) - share(*y, m)).abs()).sum::<f64>() / 2.0;
    judged(dimension, distance, error_of(n, m), words)
}

fn error_of(n: u64, m: u64) -> f64 {
    KOLMOGOROV_95 * ((n + m) as f64 / (n as f64 * m as f64).max(1.0)).sqrt()
}

fn judged(dimension: Dimension, distance: f64, error: f64, (first, second): (String, String)) -> Comparison {
    let closeness = match distance - error.min(ALIKE) {
        beyond if beyond <= ALIKE => Closeness::Alike,
        beyond if beyond <= NEAR => Closeness::Near,
        _ => Closeness::Different,
    };
    Comparison { dimension, distance: Some(distance), error, closeness, first, second }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;

    fn random(seed: u64, block: u32, reads: f64, n: u64) -> Profile {
        let model = Model::shipped("two-brick").unwrap();
        let (mut profile, mut rng, mut now) = (Profile::new(&model), Rng::new(seed), 0);
        for _ in 0..n {
            now += rng.below(20_000);
            let kind = if rng.unit() < reads { OpKind::Read } else { OpKind::Write };
            let offset = rng.below(1 << 18) * 4096;
            profile.add(&model, (0, offset, block), kind, Some(now), Some(1 + rng.below(8) as u32));
        }
        profile
    }

    fn closeness(a: &Profile, b: &Profile) -> Vec<Closeness> {
        a.compare(b).into_iter().map(|comparison| comparison.closeness).collect()
    }

    #[test]
    fn the_same_workload_with_another_seed_is_alike_in_all_dimensions() {
        let found = closeness(&random(1, 4096, 0.7, 50_000), &random(2, 4096, 0.7, 50_000));
        assert_eq!(found, [Closeness::Alike; 7]);
    }

    #[test]
    fn each_difference_shows_in_its_own_dimension() {
        let base = random(1, 4096, 0.7, 50_000);
        let sized = base.compare(&random(2, 8192, 0.7, 50_000));
        assert_eq!(sized[0].distance, Some(1.0));
        assert_eq!((sized[0].first.as_str(), sized[0].second.as_str()), ("4 KiB", "8 KiB"));
        assert_eq!(sized[1].closeness, Closeness::Alike);
        let mixed = base.compare(&random(2, 4096, 0.6, 50_000));
        assert!((mixed[1].distance.unwrap() - 0.1).abs() < 0.01 && mixed[1].closeness == Closeness::Near);
        let model = Model::shipped("two-brick").unwrap();
        let mut walk = Profile::new(&model);
        (0..50_000).for_each(|i| walk.add(&model, (0, i * 4096, 4096), OpKind::Read, None, None));
        let walked = base.compare(&walk);
        assert_eq!(walked[2].second, "none: sequential");
        assert_eq!(walked[2].closeness, Closeness::Different);
        assert_eq!((walked[5].closeness, walked[6].closeness), (Closeness::Unknown, Closeness::Unknown));
    }
}
