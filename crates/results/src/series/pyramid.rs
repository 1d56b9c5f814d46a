//! Sums of ten seconds and of a minute, made as the periods come in.

use std::collections::BTreeMap;

use super::{Frame, Level};
use crate::event::HostId;
use crate::interval::{Interval, IntervalKey};

/// Host, phase, job, and whether it is ramp: what is never summed with another.
pub(super) type Track = (HostId, u32, u32, bool);

/// The number of the sum of `level` that an interval belongs to; `None`: it is as long as the sum itself.
pub(super) fn slot_of(level: Level, key: &IntervalKey) -> Option<u32> {
    if level == Level::Period || key.length_ns >= level.length_ns() {
        return None;
    }
    u32::try_from(key.start_ns / level.length_ns()).ok()
}

pub(super) fn track_of(host: HostId, key: &IntervalKey) -> Track {
    (host, key.phase, key.job, key.ramp)
}

/// The sums that are not complete yet, by number: behind one that is complete, a late interval may open it again.
#[derive(Debug, Default)]
pub(super) struct Pyramid {
    open: BTreeMap<(Level, Track, u32), Interval>,
}

impl Pyramid {
    /// Adds a period. Sums that it completes (it belongs to a later one) go to `done`.
    pub(super) fn add(&mut self, host: HostId, interval: &Interval, done: &mut Vec<Frame>) {
        for level in Level::SUMS {
            self.add_at(level, host, interval, done);
        }
    }

    pub(super) fn add_at(&mut self, level: Level, host: HostId, interval: &Interval, done: &mut Vec<Frame>) {
        let Some(slot) = slot_of(level, &interval.key) else { return };
        let track = track_of(host, &interval.key);
        let complete = self.open.range((level, track, 0)..(level, track, slot)).map(|entry| *entry.0);
        for place in complete.collect::<Vec<_>>() {
            done.extend(self.open.remove(&place).map(|interval| Frame { host, level, interval }));
        }
        match self.open.get_mut(&(level, track, slot)) {
            Some(sum) => sum.merge(interval),
            None => {
                let key = IntervalKey { index: slot, ..interval.key };
                self.open.insert((level, track, slot), Interval { key, counts: interval.counts.clone() });
            }
        }
    }

    /// The sums of what there is, complete or not.
    pub(super) fn finish(&mut self) -> Vec<Frame> {
        let open = std::mem::take(&mut self.open);
        let frame = |((level, (host, ..), _), interval): ((Level, Track, u32), Interval)| Frame {
            host,
            level,
            interval,
        };
        open.into_iter().map(frame).collect()
    }
}
