//! When rate-controlled operations are meant to start.

use crate::job::{Arrival, OperationRates};
use crate::pattern::{AccessPattern, OpKind};
use crate::plan::{SliceRate, ThreadSlice};
use crate::rng::{Rng, derive_seed};

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

    /// The arrivals of all operations of a thread together, by the seed of its slice.
    pub fn of_thread(arrival: Arrival, rate_per_s: f64, slice_seed: u64) -> Self {
        ArrivalSource::new(arrival, rate_per_s, derive_seed(slice_seed, 3))
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

/// The arrivals of one thread.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// Of all operations; the mix says which.
    Together(ArrivalSource),
    /// Of each operation on its own.
    Each(Lanes),
}

impl Arrivals {
    /// Of a thread of a job with this pattern; `None`: a closed loop.
    pub fn of(arrival: Arrival, pattern: &AccessPattern, slice: &ThreadSlice) -> Option<Arrivals> {
        Some(match slice.rate? {
            SliceRate::Iops(iops) => Arrivals::Together(ArrivalSource::of_thread(arrival, iops, slice.seed)),
            SliceRate::Each(rates) => Arrivals::Each(Lanes::new(arrival, pattern, rates, slice.seed)),
        })
    }
}

/// The arrivals of one operation; without a source there is always one.
#[derive(Debug, Clone)]
struct Lane {
    kind: OpKind,
    /// Up to here, on 32 random bits, it is drawn.
    threshold: u32,
    source: Option<ArrivalSource>,
    next_ns: u64,
}

impl Lane {
    fn advance(&mut self) {
        if let Some(source) = &mut self.source {
            source.fill(std::slice::from_mut(&mut self.next_ns));
        }
    }
}

/// An arrival process for each operation. The mix decides among those that are due, as in fio.
#[derive(Debug, Clone)]
pub struct Lanes {
    lanes: Vec<Lane>,
    rng: Rng,
}

impl Lanes {
    fn new(arrival: Arrival, pattern: &AccessPattern, rates: OperationRates, seed: u64) -> Lanes {
        let mut share = 0.0;
        let lane = |kind: OpKind| {
            share += pattern.mix.share(kind);
            let source = |rate| ArrivalSource::new(arrival, rate, derive_seed(seed, 7 + kind as u64));
            let threshold = (share * f64::from(u32::MAX)) as u32;
            let mut lane = Lane { kind, threshold, source: rates.of(kind).map(source), next_ns: 0 };
            lane.advance();
            lane
        };
        Lanes { lanes: pattern.kinds().map(lane).collect(), rng: Rng::new(derive_seed(seed, 3)) }
    }

    /// The next operation and when it is meant to start, `now_ns` from the start of the job: one that is due, else the first
    /// that will be.
    pub fn next(&mut self, now_ns: u64) -> (OpKind, u64) {
        let draw = (self.rng.next_u64() >> 32) as u32;
        let drawn = self.lanes.iter().position(|lane| draw <= lane.threshold);
        let due = drawn.filter(|index| self.lanes[*index].next_ns <= now_ns);
        let first = || (0..self.lanes.len()).min_by_key(|index| self.lanes[*index].next_ns);
        let Some(index) = due.or_else(first) else { return (OpKind::Read, now_ns) };
        let lane = &mut self.lanes[index];
        let intended_ns = if lane.source.is_some() { lane.next_ns } else { now_ns };
        lane.advance();
        (lane.kind, intended_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::{Mix, Placement};

    fn lanes(rates: [Option<f64>; 3], read_percent: f64) -> Lanes {
        let pattern = AccessPattern::new(Mix::read_write(read_percent), 4096, Placement::random_map());
        Lanes::new(Arrival::Deterministic, &pattern, OperationRates::new(rates), 1)
    }

    /// Reads and writes of a storage that takes `service_ns` for each, in a second.
    fn in_a_second(mut lanes: Lanes, service_ns: u64) -> [u64; 2] {
        let (mut now, mut done) = (0, [0; 2]);
        loop {
            let (kind, intended_ns) = lanes.next(now);
            now = now.max(intended_ns) + service_ns;
            if now > 1_000_000_000 {
                return done;
            }
            done[kind as usize] += 1;
        }
    }

    #[test]
    fn each_operation_keeps_its_rate() {
        let done = in_a_second(lanes([Some(500.0), Some(50.0), None], 50.0), 1000);
        assert!((499..=500).contains(&done[0]) && (49..=50).contains(&done[1]), "{done:?}");
    }

    #[test]
    fn what_has_no_rate_takes_the_time_that_is_left() {
        let done = in_a_second(lanes([Some(500.0), None, None], 50.0), 100_000);
        assert!((499..=500).contains(&done[0]) && (9490..=9501).contains(&done[1]), "{done:?}");
        // Of ten reads in a hundred the limit of 5,000 does not hold back one.
        let done = in_a_second(lanes([Some(5000.0), None, None], 10.0), 100_000);
        assert!((900..1100).contains(&done[0]), "{done:?}");
    }

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
