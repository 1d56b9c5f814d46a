//! How much neighbouring values depend on each other, and how many independent ones they are worth.

use serde::{Deserialize, Serialize};

use super::{Moments, usable};

/// Autocorrelation at a lag, -1 to 1 (the usual estimate, divided by the sum of all squares).
///
/// `None` for a lag of n or more, or values without variation.
#[must_use]
pub fn autocorrelation(values: &[f64], lag: usize) -> Option<f64> {
    if !usable(values) || lag >= values.len() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    if squares <= 0.0 {
        return None;
    }
    let products: f64 = values.iter().zip(&values[lag..]).map(|(x, y)| (x - mean) * (y - mean)).sum();
    Some(products / squares)
}

/// Means of consecutive batches of this size; an incomplete last batch is left out.
#[must_use]
pub fn batch_means(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size.max(1)).map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect()
}

/// What a series of dependent values is worth for its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectiveSamples {
    /// Number of independent values that would give the mean the same uncertainty; 1 to n.
    pub n_effective: f64,
    /// Standard error of the mean that allows for the dependence, in the unit of the values.
    pub standard_error: f64,
    /// Size of the batches used.
    pub batch_size: u64,
    /// Number of batches used.
    pub batches: u64,
}

/// Effective sample size by batch means (batches of about the square root of n, as in Flegal and Jones 2010).
///
/// Batches much shorter than the dependence underestimate it, and a trend counts as dependence. `None` below
/// 16 values or without variation.
#[must_use]
pub fn effective_samples(values: &[f64]) -> Option<EffectiveSamples> {
    if !usable(values) || values.len() < 16 {
        return None;
    }
    let n = values.len() as f64;
    let size = n.sqrt().floor() as usize;
    let means = batch_means(values, size);
    let variance = Moments::of(values).variance()?;
    let of_means = Moments::of(&means).variance()?;
    if variance <= 0.0 {
        return None;
    }
    let ratio = (of_means * size as f64 / variance).max(1.0);
    let n_effective = (n / ratio).max(1.0);
    Some(EffectiveSamples {
        n_effective,
        standard_error: (variance / n_effective).sqrt(),
        batch_size: size as u64,
        batches: means.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;

    fn ar1(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut x = 0.0;
        (0..n)
            .map(|_| {
                x = phi * x + rng.normal();
                x
            })
            .collect()
    }

    #[test]
    fn autocorrelation_of_known_series() {
        let alternating: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert!((autocorrelation(&alternating, 1).unwrap() + 0.99).abs() < 1e-12);
        assert_eq!(autocorrelation(&alternating, 0), Some(1.0));
        assert_eq!(autocorrelation(&[1.0; 9], 1), None);
        assert_eq!(autocorrelation(&[1.0, 2.0], 2), None);
        let smooth = ar1(5_000, 0.8, 14);
        assert!((autocorrelation(&smooth, 1).unwrap() - 0.8).abs() < 0.05);
        assert!((autocorrelation(&smooth, 3).unwrap() - 0.512).abs() < 0.08);
    }

    #[test]
    fn effective_samples_fall_with_dependence() {
        let free = effective_samples(&ar1(4_000, 0.0, 15)).unwrap();
        assert!(free.n_effective > 2_500.0, "{free:?}");
        // AR(1) with 0.8: n (1 - 0.8) / (1 + 0.8) = 444.
        let bound = effective_samples(&ar1(4_000, 0.8, 16)).unwrap();
        assert!((250.0..900.0).contains(&bound.n_effective), "{bound:?}");
        assert!(bound.standard_error > free.standard_error);
        assert_eq!(effective_samples(&[2.0; 100]), None);
        assert_eq!(effective_samples(&[1.0, 2.0]), None);
    }

    #[test]
    fn batches_leave_out_the_rest() {
        assert_eq!(batch_means(&[1.0, 3.0, 5.0, 7.0, 100.0], 2), vec![2.0, 6.0]);
        assert_eq!(batch_means(&[1.0], 0), vec![1.0]);
    }
}
