//! How many samples a percentile needs, and which order statistics bound it.

use serde::{Deserialize, Serialize};

use super::special::{binomial_cdf, normal_quantile};

/// Error allowed on each side when each bound alone is to hold with 95 %.
pub const TAIL_ONE_SIDED_95: f64 = 0.05;
/// Error allowed on each side when both bounds together are to hold with 95 %.
pub const TAIL_TWO_SIDED_95: f64 = 0.025;

/// Ranks (from 1) of the sorted samples between which a percentile lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankBounds {
    /// The percentile is at or above the sample of this rank.
    pub low: u64,
    /// The percentile is at or below the sample of this rank.
    pub high: u64,
}

/// Fewest samples at which the percentile `p` (a share, 0.999 for p99.9) has both a lower and an upper bound
/// among the samples, each wrong with probability at most `tail`.
///
/// Distribution free: the largest of n samples lies below the percentile with probability `p^n`, the smallest
/// above it with `(1 - p)^n`. With `tail` 0.05: 299 for p99, 2995 for p99.9, 29956 for p99.99. `None` for `p`
/// or `tail` outside the open interval (0, 1).
#[must_use]
pub fn samples_for_percentile(p: f64, tail: f64) -> Option<u64> {
    let inside = |x: f64| x > 0.0 && x < 1.0;
    if !inside(p) || !inside(tail) {
        return None;
    }
    let for_extreme = |share: f64| (tail.ln() / share.ln()).ceil() as u64;
    Some(for_extreme(p).max(for_extreme(1.0 - p)))
}

/// Ranks that bound the percentile `p` of `n` independent samples, each wrong with probability at most `tail`.
///
/// `None` when `n` is below [`samples_for_percentile`]. Exact binomial; above 4000 expected samples on both
/// sides the ranks come from the normal limit, one rank wider on each side.
#[must_use]
pub fn percentile_ranks(n: u64, p: f64, tail: f64) -> Option<RankBounds> {
    if n < samples_for_percentile(p, tail)? {
        return None;
    }
    let nf = n as f64;
    if nf * p.min(1.0 - p) > 4000.0 {
        let spread = -normal_quantile(tail) * (nf * p * (1.0 - p)).sqrt();
        let low = (nf * p - spread).floor() as u64 - 1;
        let high = (nf * p + spread).ceil() as u64 + 2;
        return Some(RankBounds { low: low.max(1), high: high.min(n) });
    }
    // low: the largest rank with P(fewer than `rank` samples are at or below the percentile) <= tail
    let low = largest(n, |rank| binomial_cdf(rank - 1, n, p) <= tail)?;
    // high: its mirror image, counted from the largest sample down
    let from_top = largest(n, |rank| binomial_cdf(rank - 1, n, 1.0 - p) <= tail)?;
    Some(RankBounds { low, high: n + 1 - from_top })
}

/// Largest rank in `1..=n` for which a condition holds that is true up to some rank and false after it.
fn largest(n: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (0, n + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle } else { high = middle }
    }
    (low > 0).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;

    #[test]
    fn sample_sizes_match_the_known_ones() {
        for (p, n) in [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995), (0.9999, 29956)] {
            assert_eq!(samples_for_percentile(p, TAIL_ONE_SIDED_95), Some(n), "{p}");
            assert_eq!(percentile_ranks(n - 1, p, TAIL_ONE_SIDED_95), None, "{p}");
            assert_eq!(percentile_ranks(n, p, TAIL_ONE_SIDED_95).unwrap().high, n, "{p}");
        }
        assert_eq!(samples_for_percentile(0.01, TAIL_ONE_SIDED_95), Some(299));
        assert_eq!(samples_for_percentile(1.0, 0.05), None);
    }

    #[test]
    fn exact_and_limit_ranks_agree_where_they_meet() {
        let exact = percentile_ranks(79_999, 0.95, TAIL_TWO_SIDED_95).unwrap();
        let limit = percentile_ranks(80_001, 0.95, TAIL_TWO_SIDED_95).unwrap();
        assert!(
            limit.low.abs_diff(exact.low) <= 4 && limit.high.abs_diff(exact.high) <= 5,
            "{exact:?} {limit:?}"
        );
    }

    #[test]
    fn bounds_cover_the_percentile() {
        let mut rng = Rng::new(4);
        let (n, p, trials) = (400usize, 0.9, 400);
        let ranks = percentile_ranks(n as u64, p, TAIL_TWO_SIDED_95).unwrap();
        let truth = -(1.0f64 - p).ln();
        let covered = (0..trials)
            .filter(|_| {
                let below = (0..n).filter(|_| rng.exponential() <= truth).count() as u64;
                ranks.low <= below && below < ranks.high
            })
            .count();
        assert!(binomial_cdf(covered as u64, trials, 0.95) > 1e-3, "{covered} of {trials}");
    }
}
