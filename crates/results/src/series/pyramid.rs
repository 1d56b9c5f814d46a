//! Sums of ten seconds and of a minute, made as the periods come in.

use std::collections::BTreeMap;

use super::{Frame, Level};
use crate::interval::{Interval, IntervalKey};

/// Phase, job, and whether it is ramp: what is never summed with another.
type Track = (u32, u32, bool);

/// The number of the sum of `level` that an interval belongs to; `None`: it is as long as the sum itself.
pub(super) fn slot_of(level: Level, key: &IntervalKey) -> Option<u32> {
    if level == Level::Period || key.length_ns >= level.length_ns() {
        return None;
    }
    u32::try_from(key.start_ns / level.length_ns()).ok()
}

pub(super) fn track_of(key: &IntervalKey) -> Track {
    (key.phase, key.job, key.ramp)
}

/// The sums that are not complete yet.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    open: BTreeMap<(Level, Track), Interval>,
}

impl Pyramid {
    /// Adds a period. Sums that it completes (it belongs to the next) go to `done`.
    pub(super) fn add(&mut self, interval: &Interval, done: &mut Vec<Frame>) {
        for level in Level::SUMS {
            self.add_at(level, interval, done);
        }
    }

    pub(super) fn add_at(&mut self, level: Level, interval: &Interval, done: &mut Vec<Frame>) {
        let Some(slot) = slot_of(level, &interval.key) else { return };
        let place = (level, track_of(&interval.key));
        if self.open.get(&place).is_some_and(|sum| sum.key.index != slot)
            && let Some(interval) = self.open.remove(&place)
        {
            done.push(Frame { level, interval });
        }
        match self.open.get_mut(&place) {
            Some(sum) => add_to(sum, interval),
            None => {
                let key = IntervalKey { index: slot, ..interval.key };
                self.open.insert(place, Interval { key, counts: interval.counts.clone() });
            }
        }
    }

    /// The sums of what there is, complete or not.
    pub(super) fn finish(&mut self) -> Vec<Frame> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().map(|((level, _), interval)| Frame { level, interval }).collect()
    }
}

fn add_to(sum: &mut Interval, interval: &Interval) {
    let end = |key: &IntervalKey| key.start_ns.saturating_add(key.length_ns);
    let last = end(&sum.key).max(end(&interval.key));
    sum.key.start_ns = sum.key.start_ns.min(interval.key.start_ns);
    sum.key.length_ns = last - sum.key.start_ns;
    sum.counts.merge(&interval.counts);
}
