//! Measured intervals of several hosts, until it is known which of them count: that is when all hosts have ended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::interval::{Interval, IntervalKey};
use crate::series;
use crate::varint::{put, take};

/// Intervals of one host's part in a job, one behind the other as in a series: a day of a thousand workers has to fit.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldIntervals {
    /// Length and payload of each.
    packed: Vec<u8>,
    /// Where one is packed first.
    one: Vec<u8>,
}

impl HeldIntervals {
    pub(super) fn push(&mut self, interval: &Interval) {
        self.one.clear();
        series::pack(interval, &mut self.one);
        if self.packed.capacity() - self.packed.len() < self.one.len() + size_of::<u64>() {
            // By an eighth: what doubles is half empty on average.
            self.packed.reserve_exact((self.packed.len() / 8).max(4 * self.one.len()));
        }
        put(&mut self.packed, self.one.len() as u64);
        self.packed.extend_from_slice(&self.one);
    }

    /// As they came, each still packed.
    fn payloads(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.packed[..];
        std::iter::from_fn(move || {
            let length = usize::try_from(take(&mut rest)?).ok()?;
            let (payload, behind) = rest.split_at_checked(length)?;
            rest = behind;
            Some(payload)
        })
    }

    /// As they came, but without what was counted.
    pub(super) fn keys(&self) -> impl Iterator<Item = IntervalKey> + '_ {
        self.payloads().map_while(series::unpacked_key)
    }
}

/// What several sources hold, each with the nanoseconds that it began later, in the order of time: the number of the source, and the interval.
/// Of those that wait only the start is unpacked: there may be a thousand, and an interval is large.
pub(super) fn in_order<'a>(
    sources: impl Iterator<Item = (u64, &'a HeldIntervals)>,
) -> impl Iterator<Item = (usize, Interval)> {
    let mut sources: Vec<_> = sources.map(|(delay_ns, held)| (delay_ns, held.payloads())).collect();
    let number = sources.len();
    let mut following = move |number: usize| {
        let (delay_ns, payloads) = &mut sources[number];
        let payload = payloads.next()?;
        let at_ns = series::unpacked_key(payload)?.start_ns.saturating_add(*delay_ns);
        Some(Reverse((at_ns, number, payload)))
    };
    let mut next: BinaryHeap<Reverse<(u64, usize, &[u8])>> = (0..number).filter_map(&mut following).collect();
    std::iter::from_fn(move || {
        let Reverse((_, number, payload)) = next.pop()?;
        next.extend(following(number));
        Some((number, series::unpacked(payload)?))
    })
}

#[cfg(test)]
mod tests {
    use assay_workload::pattern::OpKind;

    use super::*;
    use crate::fixture::interval;

    #[test]
    fn they_come_back_whole_and_in_the_order_of_time() {
        let all: Vec<Interval> =
            (0..50).map(|index| interval(0, index, OpKind::Read, 10 + u64::from(index))).collect();
        let mut parts = [HeldIntervals::default(), HeldIntervals::default()];
        for (index, one) in all.iter().enumerate() {
            parts[index % 2].push(one);
        }
        let sources = parts.iter().map(|part| (0, part));
        let back: Vec<Interval> = in_order(sources).map(|(_, interval)| interval).collect();
        assert_eq!(back, all);
        let period_ns = all[1].key.start_ns - all[0].key.start_ns;
        // The second begins four periods later.
        let sources = [0, 4 * period_ns].into_iter().zip(&parts);
        let order: Vec<usize> = in_order(sources).map(|(source, _)| source).take(6).collect();
        assert_eq!(order, [0, 0, 0, 1, 0, 1]);
    }
}
