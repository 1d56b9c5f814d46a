//! Ratios of interleaved pairs (A B A B ..): slow changes of the machine cancel inside a pair.

use super::summary::{median_of_sorted, median_rank};
use super::{Estimate, Interval95, logs, shift::order_interval};

/// Logarithms of `b / a`, sorted; `None` for no pairs or values that are not positive.
fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let mut ratios: Vec<f64> = logs(&b)?.iter().zip(logs(&a)?).map(|(y, x)| y - x).collect();
    ratios.sort_by(f64::total_cmp);
    Some(ratios)
}

fn as_ratio(value: f64, n: usize, interval: Option<Interval95>) -> Estimate {
    let interval = interval.map(|i| i.map(f64::exp));
    Estimate { value: value.exp(), n: n as u64, interval, unit: "ratio".to_owned() }
}

/// Median of `b / a` over pairs `(a, b)`, with the order-statistic interval (the sign test inverted).
///
/// Assumes only that the pairs are independent. Six pairs are needed for 95 %. `None` for no pairs or values
/// that are not positive.
#[must_use]
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios = log_ratios(pairs)?;
    let n = ratios.len();
    let interval = (n >= 2).then(|| {
        let (rank, level) = median_rank(n);
        Interval95 { low: ratios[rank - 1], high: ratios[n - rank], level }
    });
    Some(as_ratio(median_of_sorted(&ratios), n, interval))
}

/// Typical `b / a` over pairs `(a, b)`: the median of the means of all two log ratios (Hodges and Lehmann),
/// with the interval that inverts Wilcoxon's signed-rank test.
///
/// Narrower than [`paired_ratio`], at the price of assuming that the log ratios are symmetric around their
/// centre, which holds when the two orders within a pair are equally frequent. Six pairs are needed for 95 %.
/// `None` for no pairs, more than 1000, or values that are not positive.
#[must_use]
pub fn paired_ratio_signed_rank(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios = log_ratios(pairs)?;
    let n = ratios.len();
    if n > 1000 {
        return None;
    }
    let mut means: Vec<f64> =
        (0..n).flat_map(|i| ratios[i..].iter().map(|r| 0.5 * (ratios[i] + r)).collect::<Vec<_>>()).collect();
    means.sort_by(f64::total_cmp);
    let interval = order_interval(&means, &signed_rank_cdf(n));
    Some(as_ratio(median_of_sorted(&means), n, interval))
}

/// `P(V <= v)` of Wilcoxon's signed-rank statistic of n values, for v from 0 to `n (n + 1) / 2`.
fn signed_rank_cdf(n: usize) -> Vec<f64> {
    let top = n * (n + 1) / 2;
    let mut mass = vec![0.0f64; top + 1];
    mass[0] = 1.0;
    for rank in 1..=n {
        let reached = rank * (rank + 1) / 2;
        for v in (0..=reached).rev() {
            let with = if v >= rank { mass[v - rank] } else { 0.0 };
            mass[v] = 0.5 * (mass[v] + with);
        }
    }
    let mut sum = 0.0;
    mass.iter()
        .map(|m| {
            sum += m;
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial_cdf;
    use assay_workload::rng::Rng;

    #[test]
    fn signed_rank_matches_tables() {
        // Largest V with two-sided p <= 0.05: n = 6 -> 0, n = 10 -> 8, n = 20 -> 52.
        for (n, v) in [(6, 0), (10, 8), (20, 52)] {
            let cdf = signed_rank_cdf(n);
            assert!(2.0 * cdf[v] <= 0.05 && 2.0 * cdf[v + 1] > 0.05, "{n}");
            assert!((cdf[cdf.len() - 1] - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_drift_common_to_both_cancels() {
        // Both sides fall by half meanwhile; the pairs still tell 3 %.
        let pairs: Vec<(f64, f64)> = (0..8)
            .map(|i| {
                let level = 1000.0 * (1.0 - 0.06 * f64::from(i));
                (level, level * 1.03 * (1.0 + 0.0001 * f64::from(i % 3)))
            })
            .collect();
        for ratio in [paired_ratio(&pairs).unwrap(), paired_ratio_signed_rank(&pairs).unwrap()] {
            assert!((ratio.value - 1.03).abs() < 0.001);
            let interval = ratio.interval.unwrap();
            assert!(interval.reaches_95() && interval.low > 1.02 && interval.high < 1.04);
        }
    }

    #[test]
    fn few_pairs_say_so() {
        let pairs = [(1.0, 1.1); 5];
        assert_eq!(paired_ratio(&pairs).unwrap().interval.unwrap().level, 0.9375);
        assert_eq!(paired_ratio_signed_rank(&pairs).unwrap().interval.unwrap().level, 0.9375);
        assert_eq!(paired_ratio(&pairs[..1]).unwrap().interval, None);
        assert_eq!(paired_ratio(&[]), None);
        assert_eq!(paired_ratio(&[(0.0, 1.0)]), None);
    }

    #[test]
    fn both_intervals_cover_as_often_as_they_say() {
        let mut rng = Rng::new(7);
        let trials = 1_500;
        let (mut signs, mut ranks, mut levels) = (0, 0, (0.0, 0.0));
        for _ in 0..trials {
            let pairs: Vec<(f64, f64)> = (0..9)
                .map(|_| {
                    let base = 100.0 * (0.3 * rng.normal()).exp();
                    (base, base * 1.2 * (0.02 * rng.normal()).exp())
                })
                .collect();
            let by_sign = paired_ratio(&pairs).unwrap().interval.unwrap();
            let by_rank = paired_ratio_signed_rank(&pairs).unwrap().interval.unwrap();
            levels = (by_sign.level, by_rank.level);
            signs += u64::from(by_sign.contains(1.2));
            ranks += u64::from(by_rank.contains(1.2));
        }
        for (covered, level) in [(signs, levels.0), (ranks, levels.1)] {
            let tail = binomial_cdf(covered, trials, level);
            assert!(tail > 1e-4 && tail < 1.0 - 1e-4, "{covered} of {trials} at {level}");
        }
    }
}
