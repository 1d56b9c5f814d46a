//! Many tests at once, and how many runs it takes before any of them can speak.

use super::special::choose;

/// Holm's step-down adjustment (1979): p-values that keep the chance of any false alarm below alpha, whatever
/// the dependence. Same order as the input; a p that is not finite counts as 1.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let clean: Vec<f64> = p_values.iter().map(|p| if p.is_finite() { *p } else { 1.0 }).collect();
    let mut order: Vec<usize> = (0..clean.len()).collect();
    order.sort_by(|i, j| clean[*i].total_cmp(&clean[*j]));
    let mut adjusted = vec![1.0; clean.len()];
    let mut highest = 0.0f64;
    for (place, i) in order.iter().enumerate() {
        highest = highest.max(clean[*i] * (clean.len() - place) as f64).min(1.0);
        adjusted[*i] = highest;
    }
    adjusted
}

/// How a test stands among others when significance is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A single comparison.
    Alone,
    /// A suite judged by the permutation distribution of its largest statistic ([`super::max_t`]): the passes
    /// are relabelled jointly, so the smallest p does not depend on the number of tests.
    MaxT,
    /// A suite of this many tests whose p-values are adjusted by [`holm`].
    Holm {
        /// Number of tests in the suite.
        tests: usize,
    },
}

/// Fewest runs per side at which a two-sided test on ranks or by permutation can reach `alpha` at all: n with
/// `2 m / C(2n, n) <= alpha`, m being 1 or Holm's number of tests. 4 alone, 7 in a suite of 26 by Holm (at 5 %).
///
/// Being able to reach significance is not being likely to: see [`super::power`]. `None` when `alpha` is not
/// positive or more than 500 runs would be needed.
#[must_use]
pub fn smallest_n_per_side(alpha: f64, family: Family) -> Option<usize> {
    let factor = match family {
        Family::Alone | Family::MaxT => 1.0,
        Family::Holm { tests } => tests.max(1) as f64,
    };
    (1..=500).find(|n| alpha > 0.0 && 2.0 * factor / choose(2 * n, *n) <= alpha * (1.0 + 1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_matches_a_worked_example() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[f64::NAN, 0.6]), vec![1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn smallest_n_for_significance() {
        assert_eq!(smallest_n_per_side(0.05, Family::Alone), Some(4));
        assert_eq!(smallest_n_per_side(0.10, Family::Alone), Some(3));
        assert_eq!(smallest_n_per_side(0.01, Family::Alone), Some(5));
        assert_eq!(smallest_n_per_side(0.05, Family::MaxT), Some(4));
        assert_eq!(smallest_n_per_side(0.05, Family::Holm { tests: 26 }), Some(7));
        assert_eq!(smallest_n_per_side(0.0, Family::Alone), None);
    }
}
