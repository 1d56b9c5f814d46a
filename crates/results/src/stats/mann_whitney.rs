//! The Mann-Whitney test with its exact null distribution.

use serde::{Deserialize, Serialize};

use super::special::normal_cdf;
use super::usable;

/// Up to this many values in both groups together the null distribution without ties is counted exactly.
pub(crate) const EXACT_LIMIT: usize = 120;
/// Up to this many values in both groups together the null distribution with ties is counted exactly.
const EXACT_LIMIT_TIES: usize = 50;

/// Outcome of a two-sided Mann-Whitney test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MannWhitney {
    /// Pairs in which the value of `b` is the larger one, ties counted as one half; from 0 to `n_a * n_b`.
    pub u: f64,
    /// Two-sided p.
    pub p: f64,
    /// True when p was counted and not taken from the normal limit.
    pub exact: bool,
    /// True when some values were equal.
    pub ties: bool,
}

/// Do two groups of runs come from the same distribution? Two-sided.
///
/// Exact rule, ties included: equal values share the mean of their ranks, and p is the share of all ways to
/// divide the pooled values into groups of these sizes whose rank sum is at least as far from its expectation
/// as the one seen. Above 120 values (50 with ties) the normal limit with tie and continuity corrections.
/// `None` when a group is empty or holds a value that is not finite.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<MannWhitney> {
    if !usable(a) || !usable(b) {
        return None;
    }
    let (n, m) = (a.len(), b.len());
    let (ranks, tie_sizes) = doubled_ranks(a, b);
    let ties = tie_sizes.iter().any(|t| *t > 1);
    let doubled_sum: usize = ranks[n..].iter().sum();
    // U of b = W_b - m (m + 1) / 2, everything doubled to stay in whole numbers.
    let doubled_u = doubled_sum - m * (m + 1);
    let distance = doubled_u.abs_diff(n * m);
    let exact = n + m <= if ties { EXACT_LIMIT_TIES } else { EXACT_LIMIT };
    let p = if !exact {
        normal_p(n, m, distance, &tie_sizes)
    } else if ties {
        tied_p(&ranks, m, distance)
    } else {
        // Without ties the doubled U is even, and the distribution symmetric around n m / 2.
        let lower = (n * m - distance) / 2;
        (2.0 * null_cdf(n, m)[lower]).min(1.0)
    };
    Some(MannWhitney { u: doubled_u as f64 / 2.0, p, exact, ties })
}

/// Twice the midranks of the pooled values, in input order (`a`, then `b`), and the sizes of groups of equals.
fn doubled_ranks(a: &[f64], b: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let pooled: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut order: Vec<usize> = (0..pooled.len()).collect();
    order.sort_by(|i, j| pooled[*i].total_cmp(&pooled[*j]));
    let mut ranks = vec![0; pooled.len()];
    let mut sizes = Vec::new();
    let mut start = 0;
    while start < order.len() {
        let same = order[start..].iter().take_while(|i| pooled[**i] == pooled[order[start]]).count();
        for i in &order[start..start + same] {
            ranks[*i] = 2 * start + same + 1;
        }
        sizes.push(same);
        start += same;
    }
    (ranks, sizes)
}

/// `P(U <= u)` for u from 0 to `n * m` without ties.
///
/// The counts are the coefficients of the Gaussian binomial, built as the product over i of
/// `(1 - x^(m+i)) / (1 - x^i)`. Wrapping 128-bit arithmetic makes the counts exact up to 120 values: the true
/// counts fit, and everything in between is right modulo 2^128. Above that limit this answers with the
/// distribution of the normal limit.
pub(crate) fn null_cdf(n: usize, m: usize) -> Vec<f64> {
    let top = n * m;
    if n + m > EXACT_LIMIT {
        let sigma = (top as f64 * (n + m + 1) as f64 / 12.0).sqrt();
        let centre = top as f64 / 2.0;
        return (0..=top).map(|u| normal_cdf((u as f64 + 0.5 - centre) / sigma)).collect();
    }
    let mut counts = vec![0u128; top + 1];
    counts[0] = 1;
    for i in 1..=n {
        for u in (m + i..=top).rev() {
            counts[u] = counts[u].wrapping_sub(counts[u - m - i]);
        }
        for u in i..=top {
            counts[u] = counts[u].wrapping_add(counts[u - i]);
        }
    }
    let total: u128 = counts.iter().fold(0, |sum: u128, c| sum.wrapping_add(*c));
    let mut sum = 0u128;
    counts
        .iter()
        .map(|count| {
            sum += count;
            sum as f64 / total as f64
        })
        .collect()
}

/// Exact two-sided p given doubled midranks: the share of choices of `m` of them at least this far out.
fn tied_p(ranks: &[usize], m: usize, distance: usize) -> f64 {
    let top: usize = ranks.iter().sum();
    // ways[k][s]: choices of k of the ranks seen so far with doubled sum s; below 2^53 for 50 values.
    let mut ways = vec![vec![0.0f64; top + 1]; m + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        for k in (1..=m.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(k);
            for s in *rank..=top {
                more[0][s] += fewer[k - 1][s - rank];
            }
        }
    }
    let centre = m * (ranks.len() + 1);
    let (mut far, mut all) = (0.0, 0.0);
    for (s, count) in ways[m].iter().enumerate() {
        all += count;
        if s.abs_diff(centre) >= distance {
            far += count;
        }
    }
    far / all
}

/// Two-sided p of the normal limit with tie correction and a continuity correction of one half.
fn normal_p(n: usize, m: usize, doubled_distance: usize, tie_sizes: &[usize]) -> f64 {
    let (nf, mf) = (n as f64, m as f64);
    let total = nf + mf;
    let ties: f64 = tie_sizes.iter().map(|t| (t * t * t - t) as f64).sum();
    let variance = nf * mf / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = (doubled_distance as f64 / 2.0 - 0.5).max(0.0);
    (2.0 * normal_cdf(-distance / variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::special::choose;

    fn apart(n: usize, m: usize) -> f64 {
        let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
        let b: Vec<f64> = (0..m).map(|i| 1000.0 + i as f64).collect();
        mann_whitney(&a, &b).unwrap().p
    }

    #[test]
    fn smallest_p_values_match_tables() {
        for (n, p) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0), (7, 2.0 / 3432.0), (10, 2.0 / 184_756.0)]
        {
            assert!((apart(n, n) - p).abs() < 1e-12, "{n} against {n}");
        }
        assert!((apart(3, 5) - 2.0 / 56.0).abs() < 1e-12);
        assert_eq!(apart(1, 1), 1.0);
    }

    #[test]
    fn null_distribution_matches_published_critical_values() {
        // Largest U with two-sided p <= 0.05: 5,5 -> 2; 6,8 -> 8; 10,10 -> 23; 20,20 -> 127.
        for (n, m, u) in [(5, 5, 2), (6, 8, 8), (10, 10, 23), (20, 20, 127)] {
            let cdf = null_cdf(n, m);
            assert!(2.0 * cdf[u] <= 0.05 && 2.0 * cdf[u + 1] > 0.05, "{n}, {m}: {}", 2.0 * cdf[u]);
        }
    }

    #[test]
    fn counts_stay_exact_at_the_limit() {
        let cdf = null_cdf(60, 60);
        assert_eq!(cdf[3600], 1.0);
        assert!((cdf[0] * choose(120, 60) - 1.0).abs() < 1e-9);
        assert!((cdf[1800] - (1.0 - cdf[1799])).abs() < 1e-12, "symmetric around 1800");
    }

    #[test]
    fn ties_are_counted_over_all_divisions() {
        // By hand: pooled 1 1 2 | 2 3 3, ranks 1.5 1.5 3.5 3.5 5.5 5.5; expectation of the sum of three is 10.5.
        // Of the 20 choices, 2 give 6.5 and 2 give 14.5: p = 0.2.
        let test = mann_whitney(&[1.0, 1.0, 2.0], &[2.0, 3.0, 3.0]).unwrap();
        assert!(test.ties && test.exact);
        assert!((test.p - 0.2).abs() < 1e-12, "{}", test.p);
        assert_eq!(test.u, 8.5);
        assert_eq!(mann_whitney(&[1.0; 5], &[1.0; 5]).unwrap().p, 1.0);
    }

    #[test]
    fn tied_and_untied_counting_agree_without_ties() {
        let a = [1.0, 4.0, 5.0, 9.0];
        let b = [2.0, 7.0, 8.0, 10.0, 11.0];
        let plain = mann_whitney(&a, &b).unwrap();
        let (ranks, _) = doubled_ranks(&a, &b);
        let distance = ((2.0 * plain.u) as usize).abs_diff(20);
        assert!((tied_p(&ranks, 5, distance) - plain.p).abs() < 1e-12);
    }

    #[test]
    fn limit_and_exact_agree_for_many_values() {
        let a: Vec<f64> = (0..55).map(|i| f64::from(i * 2)).collect();
        let b: Vec<f64> = (0..55).map(|i| f64::from(i * 2 + 25)).collect();
        let plain = mann_whitney(&a, &b).unwrap();
        let exact = null_cdf(55, 55);
        let lower = plain.u.min(3025.0 - plain.u).floor() as usize;
        let limit = normal_p(55, 55, (2.0 * plain.u) as usize - 3025, &[1; 110]);
        assert!((2.0 * exact[lower] - limit).abs() < 1e-3, "{} {limit}", 2.0 * exact[lower]);
    }

    #[test]
    fn unusable_input_has_no_answer() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], &[f64::INFINITY]), None);
    }
}
