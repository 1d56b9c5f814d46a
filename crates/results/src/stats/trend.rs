//! Did figures move with the order in which they were taken?

use serde::{Deserialize, Serialize};

use super::{Moments, usable};
use assay_workload::rng::Rng;

/// All orders are visited up to this many values; above it they are drawn.
const VISIT_LIMIT: usize = 7;
/// Up to this many values without ties Kendall's distribution is counted.
const KENDALL_LIMIT: usize = 150;

/// A rank correlation and its two-sided p.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankTrend {
    /// Kendall's tau-b or Spearman's rho, -1 to 1; 0 when one side has no variation.
    pub coefficient: f64,
    /// Two-sided p against no connection.
    pub p: f64,
    /// True when p was counted over all orders, false when orders were drawn.
    pub exact: bool,
}

/// A straight line through values at the places 0, 1, 2, .. by least squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineFit {
    /// Rise per place, in the unit of the values.
    pub slope: f64,
    /// Value of the line at the first place.
    pub first: f64,
    /// Value of the line at the last place.
    pub last: f64,
    /// Sum of squared distances to the line.
    pub squares_within: f64,
}

/// Fits a line by least squares; `None` below two values.
#[must_use]
pub fn line_fit(values: &[f64]) -> Option<LineFit> {
    if !usable(values) || values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let centre = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut products, mut squares) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let x = i as f64 - centre;
        products += x * (value - mean);
        squares += (value - mean) * (value - mean);
    }
    let spread = n * (n * n - 1.0) / 12.0;
    let slope = products / spread;
    Some(LineFit {
        slope,
        first: mean - slope * centre,
        last: mean + slope * centre,
        squares_within: (squares - slope * products).max(0.0),
    })
}

/// Kendall's tau-b between two series, two-sided.
///
/// Without ties p is counted exactly up to 150 values; with ties all orders are visited up to seven values,
/// else `draws` random ones. `None` below three values or for series of different length.
#[must_use]
pub fn kendall(x: &[f64], y: &[f64], draws: usize, seed: u64) -> Option<RankTrend> {
    if !usable(x) || !usable(y) || x.len() != y.len() || x.len() < 3 {
        return None;
    }
    let (xr, yr) = (midranks(x), midranks(y));
    let score = kendall_score(&xr, &yr);
    let pairs = |r: &[f64]| kendall_score_abs(r);
    let (px, py) = (pairs(&xr), pairs(&yr));
    if px == 0.0 || py == 0.0 {
        return Some(RankTrend { coefficient: 0.0, p: 1.0, exact: true });
    }
    let coefficient = score / (px * py).sqrt();
    let all = (x.len() * (x.len() - 1) / 2) as f64;
    if px == all && py == all && x.len() <= KENDALL_LIMIT {
        return Some(RankTrend { coefficient, p: kendall_p(x.len(), score), exact: true });
    }
    let (p, exact) = order_p(&yr, score, draws, seed, |order| kendall_score(&xr, order));
    Some(RankTrend { coefficient, p, exact })
}

/// Spearman's rho between two series, two-sided: all orders up to seven values, else `draws` random ones.
///
/// `None` below three values or for series of different length.
#[must_use]
pub fn spearman(x: &[f64], y: &[f64], draws: usize, seed: u64) -> Option<RankTrend> {
    if !usable(x) || !usable(y) || x.len() != y.len() || x.len() < 3 {
        return None;
    }
    let centred = |values: &[f64]| -> Vec<f64> {
        let middle = (values.len() + 1) as f64 / 2.0;
        midranks(values).iter().map(|r| r - middle).collect()
    };
    let (xr, yr) = (centred(x), centred(y));
    let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(p, q)| p * q).sum() };
    let scale = (product(&xr, &xr) * product(&yr, &yr)).sqrt();
    if scale == 0.0 {
        return Some(RankTrend { coefficient: 0.0, p: 1.0, exact: true });
    }
    let score = product(&xr, &yr);
    let (p, exact) = order_p(&yr, score, draws, seed, |order| product(&xr, order));
    Some(RankTrend { coefficient: score / scale, p, exact })
}

/// How figures moved over passes or runs in order, first third against last third.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Mean of the first third, in the unit of the values.
    pub first: f64,
    /// Mean of the last third, in the unit of the values.
    pub last: f64,
    /// `last / first - 1`; `None` when the first third is zero.
    pub relative: Option<f64>,
    /// Kendall's trend over all values, in order.
    pub trend: RankTrend,
}

/// Drift of independent figures (runs) over their order. `None` below three values.
///
/// Significance comes from the trend over all of them, the size from the thirds. Four values are needed before
/// p can fall to 0.083, five for 0.017.
#[must_use]
pub fn drift(values: &[f64], draws: usize, seed: u64) -> Option<Drift> {
    let places: Vec<f64> = (0..values.len()).map(|i| i as f64).collect();
    let trend = kendall(&places, values, draws, seed)?;
    let third = (values.len() / 3).max(1);
    let first = Moments::of(&values[..third]).mean()?;
    let last = Moments::of(&values[values.len() - third..]).mean()?;
    Some(Drift { first, last, relative: (first != 0.0).then(|| last / first - 1.0), trend })
}

/// Ranks from 1, equal values sharing the mean of theirs.
fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|i, j| values[*i].total_cmp(&values[*j]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let same = order[start..].iter().take_while(|i| values[**i] == values[order[start]]).count();
        for i in &order[start..start + same] {
            ranks[*i] = start as f64 + (same + 1) as f64 / 2.0;
        }
        start += same;
    }
    ranks
}

/// Concordant minus discordant pairs.
fn kendall_score(x: &[f64], y: &[f64]) -> f64 {
    let mut score = 0i64;
    for i in 1..x.len() {
        for j in 0..i {
            let product = (x[i] - x[j]) * (y[i] - y[j]);
            score += i64::from(product > 0.0) - i64::from(product < 0.0);
        }
    }
    score as f64
}

/// Number of pairs that are not tied.
fn kendall_score_abs(x: &[f64]) -> f64 {
    kendall_score(x, x)
}

/// Two-sided p of Kendall's score without ties: the number of discordant pairs of a random order is a sum of
/// independent uniform counts 0..=i.
fn kendall_p(n: usize, score: f64) -> f64 {
    let mut mass = vec![1.0f64];
    for i in 1..n {
        let mut next = vec![0.0; mass.len() + i];
        for (k, share) in mass.iter().enumerate() {
            for place in &mut next[k..=k + i] {
                *place += share / (i + 1) as f64;
            }
        }
        mass = next;
    }
    let pairs = (n * (n - 1) / 2) as f64;
    let fewer = ((pairs - score.abs()) / 2.0).round() as usize;
    (2.0 * mass[..=fewer].iter().sum::<f64>()).min(1.0)
}

/// Share of orders of `y` whose score is as far from zero as the one seen; scores have mean zero.
fn order_p(y: &[f64], seen: f64, draws: usize, seed: u64, score: impl Fn(&[f64]) -> f64) -> (f64, bool) {
    let limit = seen.abs() * (1.0 - 1e-9) - 1e-12;
    let mut order = y.to_vec();
    let (mut reached, mut all) = (0u64, 0u64);
    if y.len() <= VISIT_LIMIT {
        visit_orders(&mut order, y.len(), &mut |order| {
            all += 1;
            reached += u64::from(score(order).abs() >= limit);
        });
        return (reached as f64 / all as f64, true);
    }
    let mut rng = Rng::new(seed);
    for _ in 0..draws {
        rng.shuffle(&mut order);
        reached += u64::from(score(&order).abs() >= limit);
    }
    ((reached + 1) as f64 / (draws + 1) as f64, false)
}

/// Visits every order of the first k items (Heap's algorithm).
fn visit_orders(items: &mut [f64], k: usize, visit: &mut impl FnMut(&[f64])) {
    if k <= 1 {
        visit(items);
        return;
    }
    for i in 0..k {
        visit_orders(items, k - 1, visit);
        let other = if k.is_multiple_of(2) { i } else { 0 };
        if i + 1 < k {
            items.swap(other, k - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(n: usize) -> Vec<f64> {
        (0..n).map(|i| i as f64).collect()
    }

    #[test]
    fn all_orders_are_visited_once() {
        let mut seen = Vec::new();
        visit_orders(&mut [1.0, 2.0, 3.0, 4.0], 4, &mut |o| {
            seen.push(o.iter().map(|x| *x as u8).collect::<Vec<_>>())
        });
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 24);
    }

    #[test]
    fn exact_p_of_a_perfect_order() {
        for (n, p) in [(4usize, 2.0 / 24.0), (5, 2.0 / 120.0), (7, 2.0 / 5040.0)] {
            let x = places(n);
            let tau = kendall(&x, &x, 0, 1).unwrap();
            let rho = spearman(&x, &x, 0, 1).unwrap();
            assert!((tau.p - p).abs() < 1e-12 && (rho.p - p).abs() < 1e-12, "{tau:?} {rho:?}");
            assert!((tau.coefficient - 1.0).abs() < 1e-12 && (rho.coefficient - 1.0).abs() < 1e-12);
            assert!(tau.exact && rho.exact);
        }
    }

    #[test]
    fn kendall_matches_tables_and_enumeration() {
        // n = 10: a score of 23 has two-sided p 0.0466 (tables: 0.023 one-sided), 21 has 0.0726.
        assert!((kendall_p(10, 23.0) - 0.046_6).abs() < 2e-4, "{}", kendall_p(10, 23.0));
        assert!((kendall_p(10, -21.0) - 0.072_6).abs() < 2e-4, "{}", kendall_p(10, 21.0));
        let y = [2.0, 1.0, 4.0, 3.0, 6.0, 5.0];
        let x = places(6);
        let by_count = kendall(&x, &y, 0, 1).unwrap();
        let (by_visit, _) = order_p(&midranks(&y), 9.0, 0, 1, |o| kendall_score(&x, o));
        assert!((by_count.p - by_visit).abs() < 1e-12);
        assert!((by_count.coefficient - 0.6).abs() < 1e-12);
    }

    #[test]
    fn ties_and_constants() {
        let tied = kendall(&places(6), &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0], 0, 1).unwrap();
        assert!(tied.exact && (tied.p - 2.0 / 90.0).abs() < 1e-12, "{tied:?}");
        assert_eq!(kendall(&places(5), &[4.0; 5], 0, 1).unwrap().p, 1.0);
        assert_eq!(spearman(&places(5), &[4.0; 5], 0, 1).unwrap().coefficient, 0.0);
        assert_eq!(kendall(&places(3), &places(4), 0, 1), None);
        assert_eq!(spearman(&[1.0, 2.0], &[1.0, 2.0], 0, 1), None);
    }

    #[test]
    fn drawn_orders_agree_with_the_count() {
        let y = [3.0, 1.0, 2.0, 6.0, 4.0, 9.0, 5.0, 8.0, 7.0, 10.0];
        let x = places(10);
        let exact = kendall(&x, &y, 0, 1).unwrap();
        let (drawn, visited) =
            order_p(&midranks(&y), kendall_score(&x, &y), 1_999, 2, |o| kendall_score(&x, o));
        assert!(!visited && (drawn - exact.p).abs() < 0.01, "{drawn} {}", exact.p);
        assert!(spearman(&x, &y, 1_999, 3).unwrap().p < 0.02);
    }

    #[test]
    fn drift_tells_size_and_significance() {
        let falling = drift(&[100.0, 98.0, 95.0, 93.0, 91.0, 90.0], 0, 1).unwrap();
        assert!((falling.relative.unwrap() - (90.5 / 99.0 - 1.0)).abs() < 1e-12);
        assert!(falling.trend.coefficient < -0.99 && falling.trend.p < 0.01);
        let still = drift(&[100.0, 98.0, 101.0, 99.0, 102.0, 97.0], 0, 1).unwrap();
        assert!(still.trend.p > 0.5);
    }

    #[test]
    fn line_through_known_points() {
        let line = line_fit(&[1.0, 3.0, 5.0, 7.0]).unwrap();
        assert!((line.slope - 2.0).abs() < 1e-12 && (line.first - 1.0).abs() < 1e-12);
        assert!((line.last - 7.0).abs() < 1e-12 && line.squares_within < 1e-20);
        assert_eq!(line_fit(&[1.0]), None);
    }
}
