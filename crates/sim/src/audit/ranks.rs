//! How popular the blocks of a skewed distribution are, by rank.

use assay_workload::pattern::Distribution;

/// Terms of the zeta sum that are added one by one; the rest is an integral with corrections.
const EXACT_TERMS: u64 = 64;

/// A distribution over ranks 0 to n - 1, the most popular first.
#[derive(Debug, Clone)]
pub(crate) enum Ranks {
    /// Probability proportional to 1 / (rank + 1)^theta.
    Zipf { theta: f64, total: f64 },
    /// The first k of n ranks receive (k / n)^exponent.
    Pareto { blocks: f64, exponent: f64 },
}

/// The sum of 1 / i^theta for i from 1 to n: exactly for the first terms, then by Euler and Maclaurin's formula, whose
/// error behind 64 terms is far below 1e-12.
fn zeta(n: u64, theta: f64) -> f64 {
    let exact = n.min(EXACT_TERMS);
    let sum: f64 = (1..=exact).map(|i| (i as f64).powf(-theta)).sum();
    if n <= EXACT_TERMS {
        return sum;
    }
    let (a, b) = (EXACT_TERMS as f64, n as f64);
    let log = (b / a).ln();
    let t = (1.0 - theta) * log;
    // Integral of x^-theta from a to b, continuous in theta at 1.
    let ratio = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
    let integral = a.powf(1.0 - theta) * ratio * log;
    let (fa, fb) = (a.powf(-theta), b.powf(-theta));
    sum + integral + (fb - fa) / 2.0 + theta / 12.0 * (fa / a - fb / b)
}

impl Ranks {
    /// Of a distribution over `blocks` blocks; `None` where it does not go by rank.
    pub(crate) fn of(distribution: &Distribution, blocks: u64) -> Option<Ranks> {
        match distribution {
            Distribution::Zipf { theta } => Some(Ranks::Zipf { theta: *theta, total: zeta(blocks, *theta) }),
            Distribution::Pareto { h } => {
                Some(Ranks::Pareto { blocks: blocks as f64, exponent: (1.0 - h).ln() / h.ln() })
            }
            _ => None,
        }
    }

    /// The share of one rank.
    pub(crate) fn share_of(&self, rank: u64) -> f64 {
        match self {
            Ranks::Zipf { theta, total } => ((rank + 1) as f64).powf(-theta) / total,
            Ranks::Pareto { .. } => self.share_below(rank + 1) - self.share_below(rank),
        }
    }

    /// The share of the first `count` ranks.
    pub(crate) fn share_below(&self, count: u64) -> f64 {
        match self {
            Ranks::Zipf { theta, total } => zeta(count, *theta) / total,
            Ranks::Pareto { blocks, exponent } => (count as f64 / blocks).min(1.0).powf(*exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_agrees_with_adding_up() {
        for theta in [0.5, 0.99, 1.0, 1.2] {
            for n in [10, 64, 65, 1000, 100_000] {
                let plain: f64 = (1..=n).map(|i| (i as f64).powf(-theta)).sum();
                assert!((zeta(n, theta) / plain - 1.0).abs() < 1e-9, "{theta} {n}");
            }
        }
    }

    #[test]
    fn pareto_gives_the_share_it_is_named_for() {
        let ranks = Ranks::of(&Distribution::Pareto { h: 0.2 }, 1_000_000).unwrap();
        assert!((ranks.share_below(200_000) - 0.8).abs() < 1e-9);
        assert!((ranks.share_below(1_000_000) - 1.0).abs() < 1e-12);
    }
}
