//! Which reporting period a line shows, where several hosts and jobs tell of each.

use std::collections::BTreeSet;

use assay_results::live::LastRates;
use assay_results::{HostId, Interval};

/// A period as far as it has come in, and which hosts and jobs told of it.
#[derive(Debug)]
struct Coming {
    period: Interval,
    parts: BTreeSet<(HostId, u32)>,
}

/// The periods as they come in.
#[derive(Debug, Default)]
pub(super) struct Periods {
    coming: Option<Coming>,
    /// How many told of the period before.
    parts: usize,
    hosts: BTreeSet<HostId>,
    rates: LastRates,
}

impl Periods {
    /// A host takes part.
    pub(super) fn announce(&mut self, host: HostId) {
        self.hosts.insert(host);
    }

    /// Operations per second in the period that is shown: of several hosts what each did last.
    fn iops(&self, period: &Interval) -> f64 {
        match self.hosts.len() {
            0 | 1 => period.counts.data_ios() as f64 * 1e9 / period.key.length_ns.max(1) as f64,
            _ => self.rates.together().0,
        }
    }

    /// Takes an interval and calls `show` with the newest period and its rate: of several hosts when all have told of it, or the next
    /// one begins. What comes late of an older period is not shown.
    pub(super) fn hear(&mut self, host: HostId, interval: &Interval, mut show: impl FnMut(&Interval, f64)) {
        let (key, part) = (&interval.key, (host, interval.key.job));
        match &mut self.coming {
            Some(coming) if coming.period.key.is_same_period(key) => {
                coming.period.merge(interval);
                coming.parts.insert(part);
            }
            Some(coming) if coming.period.key.is_later_than(key) => {
                self.rates.hear(host, interval);
                return;
            }
            coming => {
                let next = Coming { period: interval.clone(), parts: BTreeSet::from([part]) };
                if let Some(before) = coming.replace(next) {
                    self.parts = before.parts.len();
                    show(&before.period, self.iops(&before.period));
                }
            }
        }
        self.rates.hear(host, interval);
        let is_whole =
            |coming: &&Coming| self.hosts.len() < 2 || self.parts > 0 && coming.parts.len() >= self.parts;
        if let Some(coming) = self.coming.as_ref().filter(is_whole) {
            show(&coming.period, self.iops(&coming.period));
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_results::{IntervalKey, JobCounts};

    use super::*;

    fn interval(index: u32) -> Interval {
        let start_ns = u64::from(index) * 1_000_000_000;
        let key = IntervalKey { phase: 0, job: 0, index, ramp: false, start_ns, length_ns: 1_000_000_000 };
        let mut counts = JobCounts::default();
        counts.ops[0].ios = 100;
        Interval { key, counts }
    }

    /// What is shown after each of these, by host and index.
    fn shown(hosts: u16, told: &[(u16, u32)]) -> Vec<Option<u64>> {
        let mut periods = Periods::default();
        (0..hosts).for_each(|host| periods.announce(HostId(host)));
        let mut last = None;
        let mut hear = |(host, index): &(u16, u32)| {
            periods.hear(HostId(*host), &interval(*index), |_, iops| last = Some(iops as u64));
            last
        };
        told.iter().map(&mut hear).collect()
    }

    #[test]
    fn a_part_of_a_fleet_is_no_rate() {
        let told = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (0, 3)];
        let expected = [[None; 3], [Some(300); 3], [Some(300); 3]].concat();
        assert_eq!(shown(3, &told), expected);
        // One that lags a period behind counts with what it did last.
        let lagging = [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (0, 2), (2, 1), (1, 2), (0, 3)];
        assert_eq!(shown(3, &lagging)[3..], [Some(300); 6]);
    }

    #[test]
    fn one_host_is_shown_at_once() {
        assert_eq!(shown(1, &[(0, 0), (0, 1)]), [Some(100), Some(100)]);
    }
}
