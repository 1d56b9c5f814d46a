//! Distribution functions, each by the plainest method that is exact enough for a benchmark (about 1e-12).

use std::f64::consts::PI;

/// Distribution function of the standard normal.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    if z < 0.0 {
        return normal_upper(-z);
    }
    1.0 - normal_upper(z)
}

/// Upper tail of the standard normal for `z >= 0`: a power series near zero, a continued fraction in the tail.
fn normal_upper(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    if z < 2.5 {
        // Phi(z) - 1/2 = density * (z + z^3/3 + z^5/(3*5) + ...)
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term > 1e-17 * sum {
            k += 2.0;
            term *= z * z / k;
            sum += term;
        }
        return 0.5 - density * sum;
    }
    // density / (z + 1/(z + 2/(z + 3/(z + ...)))), from the inside out
    let tail = (1..=120).rev().fold(z, |inner, k| z + f64::from(k) / inner);
    density / tail
}

/// Quantile of the standard normal, by bisection of its distribution function.
///
/// `p` outside the open interval (0, 1) gives minus or plus infinity.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (-39.0, 39.0);
    for _ in 0..70 {
        let middle = 0.5 * (low + high);
        if normal_cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Logarithm of the gamma function for `x > 0` (Stirling's series after shifting `x` above 10).
pub(super) fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - shift
}

/// Number of ways to choose `k` of `n`, as a float; infinite when it does not fit.
pub(crate) fn choose(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    (0..k.min(n - k)).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

/// `P(X <= k)` for X binomial with `n` trials and success probability `p`.
///
/// Sums terms outward from the one nearest the mode, so it stays accurate and takes about `sqrt(n)` steps.
#[must_use]
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    // Sum the shorter side: terms fall from the boundary term away from the mean.
    if k as f64 <= n as f64 * p {
        binomial_sum_down(k, n, p)
    } else {
        1.0 - binomial_sum_down(n - k - 1, n, 1.0 - p)
    }
}

/// `P(X <= k)` for `k` at or below the mean, from the term at `k` downward.
fn binomial_sum_down(k: u64, n: u64, p: f64) -> f64 {
    let (kf, nf) = (k as f64, n as f64);
    let ln_term = ln_gamma(nf + 1.0) - ln_gamma(kf + 1.0) - ln_gamma(nf - kf + 1.0)
        + kf * p.ln()
        + (nf - kf) * (-p).ln_1p();
    let mut term = ln_term.exp();
    let (mut sum, mut i) = (term, kf);
    let odds = (1.0 - p) / p;
    while i > 0.0 && term > 1e-17 * sum {
        term *= i / (nf - i + 1.0) * odds;
        sum += term;
        i -= 1.0;
    }
    sum.min(1.0)
}

/// Upper tail of Kolmogorov's limiting distribution, `P(K > x)`.
#[must_use]
pub fn kolmogorov_tail(x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x < 1.0 {
        // The dual series converges fast where the usual one does not.
        let sum: f64 = (1..=8)
            .map(|k| {
                let odd = f64::from(2 * k - 1);
                (-odd * odd * PI * PI / (8.0 * x * x)).exp()
            })
            .sum();
        return (1.0 - (2.0 * PI).sqrt() / x * sum).clamp(0.0, 1.0);
    }
    let tail: f64 = (1..=20)
        .map(|k| {
            let sign = if k % 2 == 1 { 2.0 } else { -2.0 };
            sign * (-2.0 * f64::from(k * k) * x * x).exp()
        })
        .sum();
    tail.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_matches_tables() {
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.841_344_746_068_5), (1.959_963_984_540, 0.975), (3.0, 0.998_650_101_968)]
        {
            assert!((normal_cdf(z) - p).abs() < 1e-11, "{z}");
            assert!((normal_cdf(-z) - (1.0 - p)).abs() < 1e-11, "-{z}");
        }
        assert!((normal_cdf(-6.0) / 9.865_876_450_377e-10 - 1.0).abs() < 1e-9);
        assert!((normal_cdf(-2.499_999) - normal_cdf(-2.500_001) - 2e-6 * 0.017_528_3).abs() < 1e-11);
        assert!((normal_quantile(0.975) - 1.959_963_984_540).abs() < 1e-9);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
    }

    #[test]
    fn binomial_matches_direct_sums() {
        for n in [1u64, 5, 17, 40] {
            for p in [0.03, 0.5, 0.9] {
                let mut sum = 0.0;
                for k in 0..=n {
                    sum += choose(n as usize, k as usize)
                        * f64::powi(p, k as i32)
                        * f64::powi(1.0 - p, (n - k) as i32);
                    assert!((binomial_cdf(k, n, p) - sum).abs() < 1e-12, "n {n} k {k} p {p}");
                }
            }
        }
    }

    #[test]
    fn binomial_of_many_trials_is_near_normal() {
        let n = 1_000_000_000u64;
        let sigma = (n as f64 * 0.25).sqrt();
        let k = n / 2 + (1.959_963_984_540 * sigma) as u64;
        assert!((binomial_cdf(k, n, 0.5) - 0.975).abs() < 1e-5);
    }

    #[test]
    fn kolmogorov_matches_tables_and_its_series_meet() {
        assert!((kolmogorov_tail(1.358_1) - 0.05).abs() < 1e-5);
        assert!((kolmogorov_tail(1.627_6) - 0.01).abs() < 1e-5);
        assert!((kolmogorov_tail(0.999_999_9) - kolmogorov_tail(1.0)).abs() < 1e-6);
        assert!((kolmogorov_tail(0.2) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn choose_is_exact_for_small_numbers() {
        assert_eq!(choose(10, 5), 252.0);
        assert_eq!(choose(14, 7), 3432.0);
        assert_eq!(choose(3, 4), 0.0);
    }
}
