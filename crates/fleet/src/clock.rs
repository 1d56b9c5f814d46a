//! How far another host's monotonic clock is from ours, and how well that is known.
//!
//! An exchange shows that the other clock was read between two readings of ours (Cristian, "Probabilistic clock
//! synchronization", 1989): the offset is taken at the middle, and half the round trip is the most it can be off. The shortest of
//! several round trips says most; with time, what two clocks drift apart adds to its error.

use assay_results::event::HostClock;

/// Exchanges before a phase starts.
pub(crate) const EXCHANGES: u32 = 16;
/// How far two clocks drift apart at most: 50 ppm of a poor oscillator each, and as much again for what NTP slews.
const DRIFT_PPM: u64 = 200;

/// One exchange: the offset is what is added to the other clock to have ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    offset_ns: i64,
    error_ns: u64,
    at_ns: u64,
}

impl Sample {
    fn error_at(&self, now_ns: u64) -> u64 {
        let age_ns = now_ns.saturating_sub(self.at_ns);
        self.error_ns.saturating_add(age_ns.div_ceil(1_000_000) * DRIFT_PPM)
    }
}

/// What is known of one host's clock.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClockEstimate {
    best: Option<Sample>,
    /// The shortest round trip of all, nanoseconds.
    pub(crate) round_trip_ns_min: Option<u64>,
}

impl ClockEstimate {
    /// Takes an exchange: asked and answered on our clock, and the other clock in between. Says by how much the two cannot both be
    /// right where it contradicts what was known.
    pub(crate) fn feed(&mut self, asked_ns: u64, answered_ns: u64, theirs_ns: u64) -> Option<u64> {
        let round_trip_ns = answered_ns.saturating_sub(asked_ns);
        let middle_ns = asked_ns + round_trip_ns / 2;
        let sample = Sample {
            offset_ns: middle_ns.wrapping_sub(theirs_ns).cast_signed(),
            error_ns: round_trip_ns / 2 + 1,
            at_ns: answered_ns,
        };
        self.round_trip_ns_min = self.round_trip_ns_min.into_iter().chain([round_trip_ns]).min();
        let Some(known) = self.best else {
            self.best = Some(sample);
            return None;
        };
        let apart_ns = known.offset_ns.abs_diff(sample.offset_ns);
        let contradiction = apart_ns.checked_sub(known.error_at(answered_ns).saturating_add(sample.error_ns));
        if contradiction.is_some() || sample.error_ns <= known.error_at(answered_ns) {
            self.best = Some(sample);
        }
        contradiction.filter(|by_ns| *by_ns > 0)
    }

    /// The offset as it is known at `now_ns`; `None`: it is not.
    pub(crate) fn at(&self, now_ns: u64) -> Option<HostClock> {
        let sample = self.best?;
        Some(HostClock { offset_ns: sample.offset_ns, error_ns: sample.error_at(now_ns) })
    }
}

/// A moment of ours on the clock of a host.
pub(crate) fn theirs(ours_ns: u64, clock: HostClock) -> u64 {
    ours_ns.saturating_add_signed(clock.offset_ns.saturating_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts_and_its_error_covers_the_truth() {
        let mut clock = ClockEstimate::default();
        // Theirs is 1,000 s behind. The way there takes longer than the way back.
        let behind_ns = 1_000_000_000_000;
        for (n, (there_ns, back_ns)) in
            [(900_000, 100_000), (60_000, 40_000), (5_000_000, 0)].into_iter().enumerate()
        {
            let asked_ns = behind_ns + 10_000_000 * n as u64;
            let theirs_ns = asked_ns + there_ns - behind_ns;
            assert_eq!(clock.feed(asked_ns, asked_ns + there_ns + back_ns, theirs_ns), None);
        }
        assert_eq!(clock.round_trip_ns_min, Some(100_000));
        let known = clock.at(behind_ns + 25_000_000).expect("known");
        assert!(known.offset_ns.abs_diff(behind_ns.cast_signed()) <= known.error_ns, "{known:?}");
        assert!((50_000..60_000).contains(&known.error_ns), "{known:?}");
        assert_eq!(theirs(behind_ns + 7, HostClock { offset_ns: behind_ns.cast_signed(), error_ns: 0 }), 7);
    }

    #[test]
    fn the_error_grows_until_it_is_measured_again() {
        let mut clock = ClockEstimate::default();
        clock.feed(0, 100, 50);
        assert_eq!(clock.at(1_000_000_000).map(|known| known.error_ns), Some(51 + 200_000));
        clock.feed(1_000_000_000, 1_000_001_000, 1_000_000_500);
        assert_eq!(clock.at(1_000_001_000).map(|known| known.error_ns), Some(501));
    }

    #[test]
    fn a_clock_that_jumps_is_noticed() {
        let mut clock = ClockEstimate::default();
        assert_eq!(clock.feed(0, 1_000, 500), None);
        let jumped = clock.feed(2_000, 3_000, 5_002_500).expect("a contradiction");
        assert!((4_990_000..5_000_000).contains(&jumped), "{jumped}");
        assert_eq!(clock.at(3_000).map(|known| known.offset_ns), Some(-5_000_000));
    }
}
