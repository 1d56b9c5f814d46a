//! Exponential and normal variables by the ziggurat method (Marsaglia and Tsang 2000): exact, and several times as fast as
//! logarithms. The simulator draws one or more for every station a request visits.

use std::sync::LazyLock;

use assay_workload::rng::Rng;

/// Layers of equal area.
const LAYERS: usize = 256;
/// Where the lowest layer's tail begins, and the area of a layer, for 256 layers under exp(-x) and exp(-x^2 / 2).
const EXPONENTIAL: (f64, f64) = (7.697_117_470_131_05, 0.003_949_659_822_581_557);
const NORMAL: (f64, f64) = (3.654_152_885_361_009, 0.004_928_673_233_974_655);

/// Right edges of the layers, from the bottom up, and the density there.
#[derive(Debug)]
struct Ziggurat {
    x: [f64; LAYERS + 1],
    f: [f64; LAYERS + 1],
}

impl Ziggurat {
    fn new((tail, area): (f64, f64), density: fn(f64) -> f64, inverse: fn(f64) -> f64) -> Ziggurat {
        let (mut x, mut f) = ([0.0; LAYERS + 1], [1.0; LAYERS + 1]);
        // The bottom layer is a rectangle and the tail; its width is that of a rectangle of the same area.
        (x[0], x[1]) = (area / density(tail), tail);
        (f[0], f[1]) = (density(x[0]), density(tail));
        for layer in 2..LAYERS {
            f[layer] = f[layer - 1] + area / x[layer - 1];
            x[layer] = inverse(f[layer]);
        }
        Ziggurat { x, f }
    }
}

static EXPONENTIAL_TABLE: LazyLock<Ziggurat> =
    LazyLock::new(|| Ziggurat::new(EXPONENTIAL, |x| (-x).exp(), |y| -y.ln()));
static NORMAL_TABLE: LazyLock<Ziggurat> =
    LazyLock::new(|| Ziggurat::new(NORMAL, |x| (-x * x / 2.0).exp(), |y| (-2.0 * y.ln()).sqrt()));

/// 53 of the bits of a draw, uniform in [0, 1); the layer is taken from other bits.
#[inline]
fn unit(bits: u64) -> f64 {
    // Through a signed number, which takes one instruction.
    (bits >> 11) as i64 as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A time in whole nanoseconds, rounded.
#[inline]
pub(crate) fn whole_ns(ns: f64) -> u64 {
    (ns + 0.5) as i64 as u64
}

/// Exponential with mean 1.
#[inline(always)]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    let table = &*EXPONENTIAL_TABLE;
    let bits = rng.next_u64();
    let layer = (bits & 0xFF) as usize;
    let x = unit(bits) * table.x[layer];
    // 99 of 100 draws.
    if x < table.x[layer + 1] { x } else { exponential_at_edge(bits, rng) }
}

#[cold]
fn exponential_at_edge(bits: u64, rng: &mut Rng) -> f64 {
    let table = &*EXPONENTIAL_TABLE;
    let mut bits = bits;
    loop {
        let layer = (bits & 0xFF) as usize;
        let x = unit(bits) * table.x[layer];
        if x < table.x[layer + 1] {
            return x;
        }
        if layer == 0 {
            return EXPONENTIAL.0 + rng.exponential();
        }
        if between(table, layer, rng) < (-x).exp() {
            return x;
        }
        bits = rng.next_u64();
    }
}

/// Normal with mean 0 and standard deviation 1.
#[inline]
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let table = &*NORMAL_TABLE;
    loop {
        let bits = rng.next_u64();
        let layer = (bits & 0xFF) as usize;
        let sign = if bits & 0x100 == 0 { 1.0 } else { -1.0 };
        let x = unit(bits) * table.x[layer];
        if x < table.x[layer + 1] {
            return sign * x;
        }
        if layer == 0 {
            return sign * normal_tail(rng);
        }
        if between(table, layer, rng) < (-x * x / 2.0).exp() {
            return sign * x;
        }
    }
}

/// A height within a layer.
#[inline]
fn between(table: &Ziggurat, layer: usize, rng: &mut Rng) -> f64 {
    table.f[layer] + rng.unit() * (table.f[layer + 1] - table.f[layer])
}

#[cold]
fn normal_tail(rng: &mut Rng) -> f64 {
    loop {
        let x = rng.exponential() / NORMAL.0;
        if 2.0 * rng.exponential() > x * x {
            return NORMAL.0 + x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal::normal_cdf;

    /// Kolmogorov-Smirnov at 1 %, and the tail beyond the last layer.
    fn follows(draw: fn(&mut Rng) -> f64, cdf: impl Fn(f64) -> f64, tail: f64) {
        let mut rng = Rng::new(4);
        let n = 400_000;
        let mut draws: Vec<f64> = (0..n).map(|_| draw(&mut rng)).collect();
        draws.sort_by(f64::total_cmp);
        let distance = draws.iter().enumerate().map(|(index, x)| {
            let expected = cdf(*x);
            let (below, above) = (f64::from(index as u32), f64::from(index as u32 + 1));
            (expected - below / f64::from(n)).max(above / f64::from(n) - expected)
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.63 / f64::from(n).sqrt(), "{distance}");
        let expected = (1.0 - cdf(tail)) * f64::from(n);
        let beyond = draws.iter().filter(|x| **x > tail).count() as f64;
        assert!((beyond - expected).abs() < 5.0 * expected.sqrt().max(1.0), "{beyond} for {expected}");
    }

    #[test]
    fn exponential_draws_follow_their_distribution() {
        follows(exponential, |x| 1.0 - (-x).exp(), EXPONENTIAL.0);
    }

    #[test]
    fn normal_draws_follow_their_distribution() {
        follows(normal, normal_cdf, NORMAL.0);
    }
}
