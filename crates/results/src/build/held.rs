//! Measured intervals of several hosts, until it is known which of them count: that is when all hosts have ended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::interval::Interval;
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

    /// As they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = Interval> + '_ {
        let mut rest = &self.packed[..];
        std::iter::from_fn(move || {
            let length = usize::try_from(take(&mut rest)?).ok()?;
            let (payload, behind) = rest.split_at_checked(length)?;
            rest = behind;
            series::unpacked(payload)
        })
    }
}

/// What several sources have, each with the nanoseconds that it began later, in the order of time: the number of the source, and the interval.
pub(super) fn in_order<I: Iterator<Item = Interval>>(
    sources: Vec<(u64, I)>,
) -> impl Iterator<Item = (usize, Interval)> {
    let begun = |(delay_ns, mut source): (u64, I)| {
        let first = source.next();
        (delay_ns, source, first)
    };
    let mut sources: Vec<(u64, I, Option<Interval>)> = sources.into_iter().map(begun).collect();
    let at_ns = |delay_ns: u64, interval: &Interval| interval.key.start_ns.saturating_add(delay_ns);
    let mut next: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
    for (number, (delay_ns, _, first)) in sources.iter().enumerate() {
        next.extend(first.as_ref().map(|first| Reverse((at_ns(*delay_ns, first), number))));
    }
    std::iter::from_fn(move || {
        let Reverse((_, number)) = next.pop()?;
        let (delay_ns, source, waiting) = &mut sources[number];
        let interval = std::mem::replace(waiting, source.next())?;
        next.extend(waiting.as_ref().map(|waiting| Reverse((at_ns(*delay_ns, waiting), number))));
        Some((number, interval))
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
        let sources = parts.iter().map(|part| (0, part.iter())).collect();
        let back: Vec<Interval> = in_order(sources).map(|(_, interval)| interval).collect();
        assert_eq!(back, all);
        let period_ns = all[1].key.start_ns - all[0].key.start_ns;
        // The second begins four periods later.
        let sources =
            parts.iter().zip([0, 4 * period_ns]).map(|(part, delay_ns)| (delay_ns, part.iter())).collect();
        let order: Vec<usize> = in_order(sources).map(|(source, _)| source).take(6).collect();
        assert_eq!(order, [0, 0, 0, 1, 0, 1]);
    }
}
