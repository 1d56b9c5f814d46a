//! When rate-controlled operations are meant to start.

use crate::job::Arrival;
use crate::rng::Rng;

/// The intended start times of one thread, drawn ahead of time: a device that stalls does not stop the clock of those
/// who would have come meanwhile.
#[derive(Debug, Clone)]
pub struct ArrivalSource {
    arrival: Arrival,
    mean_gap_ns: f64,
    next_ns: f64,
    rng: Rng,
}

impl ArrivalSource {
    /// Arrivals at `rate_per_s` (above 0), the first around one gap after time 0.
    pub fn new(arrival: Arrival, rate_per_s: f64, seed: u64) -> Self {
        let mut source =
            ArrivalSource { arrival, mean_gap_ns: 1e9 / rate_per_s, next_ns: 0.0, rng: Rng::new(seed) };
        // Deterministic threads would otherwise all start together.
        source.next_ns = match arrival {
            Arrival::Deterministic => source.rng.unit() * source.mean_gap_ns,
            Arrival::Poisson | Arrival::Uniform => source.gap_ns(),
        };
        source
    }

    fn gap_ns(&mut self) -> f64 {
        match self.arrival {
            Arrival::Deterministic => self.mean_gap_ns,
            Arrival::Poisson => self.rng.exponential() * self.mean_gap_ns,
            Arrival::Uniform => self.rng.unit() * 2.0 * self.mean_gap_ns,
        }
    }

    /// Fills `times_ns` with the next intended starts, in nanoseconds from the start of the job, ascending.
    pub fn fill(&mut self, times_ns: &mut [u64]) {
        for time in times_ns {
            *time = self.next_ns as u64;
            self.next_ns += self.gap_ns();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(arrival: Arrival, n: usize) -> Vec<f64> {
        let mut times = vec![0; n + 1];
        ArrivalSource::new(arrival, 20_000.0, 11).fill(&mut times);
        times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect()
    }

    #[test]
    fn every_process_keeps_the_mean_rate() {
        for arrival in [Arrival::Deterministic, Arrival::Poisson, Arrival::Uniform] {
            let gaps = gaps(arrival, 100_000);
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((mean / 50_000.0 - 1.0).abs() < 0.01, "{arrival:?}: {mean}");
        }
    }

    /// Kolmogorov-Smirnov distance of the gaps from an exponential distribution.
    #[test]
    fn poisson_gaps_are_exponential() {
        let mut gaps = gaps(Arrival::Poisson, 50_000);
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                let expected = 1.0 - (-gap / 50_000.0).exp();
                (expected - i as f64 / n).abs().max(((i + 1) as f64 / n - expected).abs())
            })
            .fold(0.0, f64::max);
        // The 1 % critical value is 1.63 / sqrt(n).
        assert!(distance < 1.63 / n.sqrt(), "{distance}");
    }
}
