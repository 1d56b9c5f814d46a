//! From the times of re-reads to the sizes of caches.

use serde::{Deserialize, Serialize};

use assay_workload::units::Bytes;

use super::ProbeStage;
use crate::stats::median;
use crate::steady::{StationarityRule, StationarityVerdict, stationarity};

/// Re-reads that differ by less than this factor are served by the same level.
const FACTOR_MIN: f64 = 1.6;
/// Bytes over which the pace of first touches is taken, as a share of all.
const BATCHES: usize = 60;
/// A fall of pace below this share is none worth a word.
const FALL_MIN: f64 = 0.2;

/// A cache that was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CacheLevel {
    /// Re-reads up to this span were served by it (or by a faster one).
    pub holds_bytes: u64,
    /// Re-reads of this span were not; `None`: no larger span was tried.
    pub exceeded_bytes: Option<u64>,
    /// Median time of a read that it serves, nanoseconds.
    pub read_ns: u64,
}

/// First touches that were fast until something was used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct BurstCredit {
    /// Bytes that were read before the pace fell.
    pub after_bytes: u64,
    /// Seconds of reading until then.
    pub after_s: f64,
    /// Bytes a second before.
    pub before_bytes_per_s: f64,
    /// Bytes a second from then on.
    pub then_bytes_per_s: f64,
}

/// Stages of growing spans of about the same pace: the largest span of them, and the pace.
struct Plateau {
    last_span: u64,
    next_span: Option<u64>,
    read_ns: f64,
    /// Median over its stages of the times of re-reads to those of first touches of the same time.
    to_first: f64,
}

/// Stages of growing spans, the smallest first.
fn grown(stages: &[ProbeStage]) -> Vec<&ProbeStage> {
    let mut grown: Vec<&ProbeStage> = stages.iter().filter(|stage| !stage.refining).collect();
    grown.sort_by_key(|stage| stage.span_bytes);
    grown
}

/// Times of re-reads to those of first touches of the same time.
fn to_first(stage: &ProbeStage) -> Option<f64> {
    (stage.first.n > 0).then(|| stage.again.p50.max(1) as f64 / stage.first.p50.max(1) as f64)
}

/// The spans that were served again although a smaller one had been as slow as first touches, and their medians set to
/// what that one took: a cache that keeps what was read more than once serves those re-reads of larger spans that are not
/// the first ones of their chunks, and how much of new data it can hold is known from the smaller span.
fn served_again(grown: &[&ProbeStage]) -> (Vec<u64>, Vec<f64>) {
    let (mut spans, mut slow_ns) = (Vec::new(), 0.0_f64);
    let mut served = false;
    let paces = grown.iter().map(|stage| {
        let own_ns = stage.again.p50.max(1) as f64;
        let hit = to_first(stage).is_some_and(|ratio| ratio * FACTOR_MIN <= 1.0);
        served |= hit;
        if hit && own_ns * FACTOR_MIN < slow_ns {
            spans.push(stage.span_bytes);
            return slow_ns;
        }
        if served && !hit {
            slow_ns = slow_ns.max(own_ns);
        }
        own_ns
    });
    let paces = paces.collect();
    (spans, paces)
}

/// What to say of spans that were served again behind one that was not.
pub(super) fn kept_longer(stages: &[ProbeStage]) -> Option<String> {
    let (spans, _) = served_again(&grown(stages));
    let (least, most) = (spans.first()?, spans.last()?);
    let which = if least == most {
        Bytes(*least).to_string()
    } else {
        format!("{} to {}", Bytes(*least), Bytes(*most))
    };
    Some(format!(
        "Re-reads of {which} were served again although those of a smaller span were not: the cache keeps what was read more than once for longer than what is new, and the size is that for new data."
    ))
}

/// The plateaus of the re-reads. Times never fall with a growing span but by chance, so a stage that is faster than the
/// one before is put together with it (pool adjacent violators, in the logarithm).
fn plateaus(stages: &[ProbeStage]) -> Vec<Plateau> {
    let grown = grown(stages);
    // Sum of logarithms, number of stages.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for pace in served_again(&grown).1 {
        let mut pool = (pace.ln(), 1);
        while let Some(last) = pools.last().filter(|last| last.0 / last.1 as f64 >= pool.0 / pool.1 as f64) {
            pool = (pool.0 + last.0, pool.1 + last.1);
            pools.pop();
        }
        pools.push(pool);
    }
    let smooth = pools.iter().flat_map(|(sum, n)| std::iter::repeat_n((sum / *n as f64).exp(), *n));
    let smooth: Vec<f64> = smooth.collect();
    let mut found: Vec<Plateau> = Vec::new();
    let mut begun = 0;
    for at in 1..=smooth.len() {
        if at < smooth.len() && smooth[at] < FACTOR_MIN * smooth[begun] {
            continue;
        }
        found.push(Plateau {
            last_span: grown[at - 1].span_bytes,
            next_span: grown.get(at).map(|stage| stage.span_bytes),
            read_ns: median(&smooth[begun..at]).unwrap_or(0.0),
            to_first: median(
                &grown[begun..at].iter().filter_map(|stage| to_first(stage)).collect::<Vec<_>>(),
            )
            .unwrap_or(0.0),
        });
        begun = at;
    }
    found
}

/// Between which spans the re-reads change pace, and the time that divides both paces.
pub(super) fn boundaries(stages: &[ProbeStage]) -> Vec<(u64, u64, f64)> {
    let found = plateaus(stages);
    let pairs = found.windows(2).filter_map(|pair| {
        let divide = (pair[0].read_ns * pair[1].read_ns).sqrt();
        Some((pair[0].last_span, pair[0].next_span?, divide))
    });
    pairs.collect()
}

/// The levels that are faster than first touches: than all of them, `cold_ns` being their median, and than those of the
/// same time, because storage that becomes slower meanwhile is no cache.
pub(super) fn levels(stages: &[ProbeStage], cold_ns: u64) -> Vec<CacheLevel> {
    let found = plateaus(stages);
    let mut levels = Vec::new();
    for (at, plateau) in found.iter().enumerate() {
        if plateau.read_ns * FACTOR_MIN > cold_ns as f64 || plateau.to_first * FACTOR_MIN > 1.0 {
            break;
        }
        let (mut holds, mut exceeded) = (plateau.last_span, plateau.next_span);
        let next_ns = found.get(at + 1).map_or(cold_ns as f64, |next| next.read_ns);
        let divide = (plateau.read_ns * next_ns).sqrt();
        // What the halvings say of this boundary.
        for stage in stages.iter().filter(|stage| stage.refining) {
            let within = stage.span_bytes > holds && exceeded.is_some_and(|end| stage.span_bytes < end);
            match (within, (stage.again.p50 as f64) <= divide) {
                (false, _) => {}
                (true, true) => holds = stage.span_bytes,
                (true, false) => exceeded = Some(stage.span_bytes),
            }
        }
        levels.push(CacheLevel {
            holds_bytes: holds,
            exceeded_bytes: exceeded,
            read_ns: plateau.read_ns as u64,
        });
    }
    levels
}

/// Whether the pace of first touches fell once. `fills` are bytes and nanoseconds of each, in order.
pub(super) fn burst(fills: &[(u64, u64)]) -> Option<BurstCredit> {
    let size = fills.len().div_ceil(BATCHES).max(1);
    let pace = |part: &[(u64, u64)]| {
        let (bytes, ns) = part.iter().fold((0, 0), |sum, fill| (sum.0 + fill.0, sum.1 + fill.1));
        bytes as f64 * 1e9 / ns.max(1) as f64
    };
    let paces: Vec<f64> = fills.chunks(size).map(pace).collect();
    let found = stationarity(&paces, &StationarityRule::default(), 1)?;
    if found.verdict != StationarityVerdict::Step || found.step_share > -FALL_MIN {
        return None;
    }
    let (before, then) = fills.split_at((found.step_at * size).min(fills.len()));
    Some(BurstCredit {
        after_bytes: before.iter().map(|fill| fill.0).sum(),
        after_s: before.iter().map(|fill| fill.1).sum::<u64>() as f64 / 1e9,
        before_bytes_per_s: pace(before),
        then_bytes_per_s: pace(then),
    })
}
