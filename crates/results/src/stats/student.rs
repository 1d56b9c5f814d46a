//! Student's t distribution.

use super::special::ln_gamma;

/// Two-sided tail of Student's t with `df` degrees of freedom: the chance of a value at least as far from zero as `t`.
/// `df` is at least 1; infinity stands for the normal distribution.
#[must_use]
pub fn student_p(t: f64, df: f64) -> f64 {
    if df.is_infinite() {
        return 2.0 * super::normal_cdf(-t.abs());
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + t * t)).clamp(0.0, 1.0)
}

/// The value that Student's t with `df` degrees of freedom exceeds on either side with chance `p` together; by bisection
/// of [`student_p`]. Infinity for a `p` of zero or less.
#[must_use]
pub fn student_quantile(p: f64, df: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_p(high, df) > p && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_p(middle, df) > p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function, by Lentz's method on its continued fraction (DLMF 8.17.22).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges fast below this point only; above it the complement is taken.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let scale = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let away = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..300 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    scale * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_tables() {
        for (df, p, expected) in [
            (1.0, 0.05, 12.706_205),
            (2.0, 0.05, 4.302_653),
            (4.0, 0.05, 2.776_445),
            (9.0, 0.05, 2.262_157),
            (9.0, 0.01, 3.249_836),
            (30.0, 0.001, 3.645_959),
            (f64::INFINITY, 0.05, 1.959_964),
        ] {
            let t = student_quantile(p, df);
            assert!((t - expected).abs() < 1e-5, "{df} {p}: {t}");
            assert!((student_p(-t, df) - p).abs() < 1e-9);
        }
        assert_eq!(student_p(0.0, 3.0), 1.0);
        // One degree is Cauchy's: 1 - 2 atan(t) / pi.
        assert!((student_p(3.0, 1.0) - (1.0 - 2.0 * 3.0_f64.atan() / std::f64::consts::PI)).abs() < 1e-12);
    }
}
