//! The event queue: what happens next, first come first served among equals.

mod heap;

use heap::Heap;

/// Bits of a key that hold the payload.
const PAYLOAD_BITS: u32 = 24;
/// Slots of the wheel at first, and at most.
const SLOTS_START: usize = 1024;
const SLOTS_MAX: usize = 1 << 16;
/// Width of a slot at first: 2^12 ns.
const SHIFT_START: u32 = 12;
/// Events between two looks whether slots have the right width.
const RETUNE_EVENTS: u64 = 8192;

/// An event taken from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// When.
    pub(crate) at_ns: u64,
    /// What.
    pub(crate) payload: u32,
}

/// Events in order of time and then of insertion, which together with the payload make a key of 128 bits.
///
/// A calendar queue (Brown 1988): a wheel of slots as wide as events are apart on average, so that finding the next one
/// rarely has to compare anything. The events of the slot whose turn it is are kept sorted; what lies beyond the wheel waits
/// in a heap. Slots keep their memory, so that nothing is allocated once the queue has been as full as it gets.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The events of slot `front_slot` and before, the next one last.
    front: Vec<u128>,
    front_slot: u64,
    /// By slot number modulo their count; only slots behind `front_slot`, less than a turn ahead.
    wheel: Vec<Vec<u128>>,
    /// A bit for each slot of the wheel that holds something.
    used: Vec<u64>,
    far: Heap,
    /// The slot of the first of them; `u64::MAX`: there are none.
    far_slot: u64,
    shift: u32,
    len: usize,
    inserted: u64,
    taken: u64,
    tuned_ns: u64,
}

fn unpack(key: u128) -> Event {
    Event { at_ns: time_of(key), payload: key as u32 & ((1 << PAYLOAD_BITS) - 1) }
}

#[inline]
fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

impl EventQueue {
    /// The largest payload.
    pub(crate) const PAYLOAD_MAX: u32 = (1 << PAYLOAD_BITS) - 1;

    pub(crate) fn new() -> Self {
        EventQueue {
            front: Vec::with_capacity(64),
            front_slot: 0,
            wheel: vec![Vec::new(); SLOTS_START],
            used: vec![0; SLOTS_START / 64],
            far: Heap::default(),
            far_slot: u64::MAX,
            shift: SHIFT_START,
            len: 0,
            inserted: 0,
            taken: 0,
            tuned_ns: 0,
        }
    }

    /// When the first event is due; `u64::MAX`: there is none.
    #[inline]
    pub(crate) fn first_ns(&self) -> u64 {
        self.front.last().map_or(u64::MAX, |key| time_of(*key))
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<Event> {
        self.front.last().copied().map(unpack)
    }

    /// Adds an event, not before the last one taken. 2^40 insertions are three orders of magnitude more than a run has,
    /// and a wrap would only reorder equals.
    #[inline]
    pub(crate) fn push(&mut self, at_ns: u64, payload: u32) {
        debug_assert!(payload <= Self::PAYLOAD_MAX);
        self.inserted = self.inserted.wrapping_add(1);
        let key = u128::from(at_ns) << 64 | u128::from(self.inserted << PAYLOAD_BITS | u64::from(payload));
        self.len += 1;
        self.place(key);
    }

    /// Events there is room for, for tests of what is held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.front.capacity() + self.wheel.iter().map(Vec::capacity).sum::<usize>()
    }

    #[inline]
    fn place(&mut self, key: u128) {
        let slot = time_of(key) >> self.shift;
        if self.front.is_empty() {
            // An empty front means an empty queue.
            self.front_slot = slot;
            self.front.push(key);
        } else if slot <= self.front_slot {
            let index = self.front.iter().rposition(|other| *other > key).map_or(0, |index| index + 1);
            self.front.insert(index, key);
        } else if slot - self.front_slot < self.wheel.len() as u64 {
            let index = slot as usize & (self.wheel.len() - 1);
            self.wheel[index].push(key);
            self.used[index / 64] |= 1 << (index % 64);
        } else {
            self.far.push(key);
            self.far_slot = self.far_slot.min(slot);
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let first = self.front.pop()?;
        self.len -= 1;
        self.taken += 1;
        if self.front.is_empty() {
            if self.taken >= RETUNE_EVENTS {
                self.retune(time_of(first));
            }
            if self.len > 0 && self.front.is_empty() {
                self.refill();
            }
        }
        Some(unpack(first))
    }

    /// The number of slots from the front's to the next used one of the wheel.
    #[inline]
    fn distance_to_next(&self) -> Option<u64> {
        let slots = self.wheel.len();
        let start = (self.front_slot as usize + 1) & (slots - 1);
        let near = self.used[start / 64] >> (start % 64);
        if near != 0 { Some(u64::from(near.trailing_zeros()) + 1) } else { self.distance_beyond(start) }
    }

    fn distance_beyond(&self, start: usize) -> Option<u64> {
        let (slots, words) = (self.wheel.len(), self.used.len());
        // The first word is looked at from the start on, and at last from its beginning.
        for step in 0..=words {
            let word = (start / 64 + step) & (words - 1);
            let mask = if step == 0 { u64::MAX << (start % 64) } else { u64::MAX };
            let found = self.used[word] & mask;
            if found != 0 {
                let index = word * 64 + found.trailing_zeros() as usize;
                return Some((index.wrapping_sub(start) & (slots - 1)) as u64 + 1);
            }
        }
        None
    }

    /// Makes the next slot that holds something the front.
    fn refill(&mut self) {
        let near = self.distance_to_next().map_or(u64::MAX, |distance| self.front_slot + distance);
        self.front_slot = near.min(self.far_slot);
        if near <= self.far_slot {
            let index = near as usize & (self.wheel.len() - 1);
            std::mem::swap(&mut self.front, &mut self.wheel[index]);
            self.used[index / 64] &= !(1 << (index % 64));
        }
        if self.far_slot == self.front_slot {
            self.take_far();
        }
        if self.front.len() > 1 {
            self.front.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// Moves what is far and belongs to the front there.
    fn take_far(&mut self) {
        self.far_slot = loop {
            match self.far.first() {
                Some(key) if time_of(key) >> self.shift == self.front_slot => {
                    self.front.push(key);
                    self.far.pop();
                }
                Some(key) => break time_of(key) >> self.shift,
                None => break u64::MAX,
            }
        };
    }

    /// Gives slots the width of the mean distance between events, and the wheel four turns of what is pending. Called with
    /// an empty front.
    #[cold]
    fn retune(&mut self, now_ns: u64) {
        let gap = (now_ns - self.tuned_ns) / self.taken;
        (self.taken, self.tuned_ns) = (0, now_ns);
        let shift = gap.max(1).ilog2();
        let slots = (self.len * 4).next_power_of_two().clamp(SLOTS_START, SLOTS_MAX);
        if shift.abs_diff(self.shift) < 2 && slots <= self.wheel.len() {
            return;
        }
        let mut keys: Vec<u128> = self.wheel.iter_mut().flat_map(std::mem::take).collect();
        while let Some(key) = self.far.first() {
            keys.push(key);
            self.far.pop();
        }
        (self.shift, self.far_slot) = (shift, u64::MAX);
        if slots > self.wheel.len() {
            self.wheel = vec![Vec::new(); slots];
            self.used = vec![0; slots / 64];
        }
        self.used.fill(0);
        keys.sort_unstable();
        keys.into_iter().for_each(|key| self.place(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn events_come_in_order_of_time_and_then_of_insertion() {
        let mut queue = EventQueue::new();
        let mut rng = Rng::new(1);
        let mut expected: Vec<(u64, u32)> = (0..2000).map(|i| (rng.below(50), i)).collect();
        for &(at, payload) in &expected {
            queue.push(at, payload);
        }
        expected.sort();
        for (at_ns, payload) in expected {
            assert_eq!(queue.pop(), Some(Event { at_ns, payload }));
        }
        assert_eq!(queue.pop(), None);
        assert_eq!(queue.first_ns(), u64::MAX);
    }

    /// Against a sorted map, over nine orders of magnitude of distances, with the number pending going up and down.
    #[test]
    fn the_queue_agrees_with_a_sorted_map() {
        for seed in 0..4 {
            let (mut queue, mut map) = (EventQueue::new(), BTreeMap::new());
            let mut rng = Rng::new(seed);
            let (mut now, mut inserted) = (0, 0_u32);
            for step in 0..120_000_u32 {
                let wanted = [1, 2000, 30, 200][(step / 30_000) as usize];
                // Some rounds grow, some shrink, some stay.
                if map.len() < wanted || (map.len() == wanted && rng.below(2) == 0) {
                    let magnitude = rng.below(9) as u32;
                    let at = now + rng.below(10_u64.pow(magnitude));
                    queue.push(at, inserted & 0xFF_FFFF);
                    map.insert((at, inserted), inserted);
                    inserted += 1;
                } else {
                    let ((at_ns, _), payload) = map.pop_first().unwrap();
                    assert_eq!(queue.first_ns(), at_ns);
                    assert_eq!(queue.pop(), Some(Event { at_ns, payload }), "seed {seed} step {step}");
                    now = at_ns;
                }
            }
        }
    }

    #[test]
    fn many_events_at_the_same_time_are_no_trouble() {
        let mut queue = EventQueue::new();
        for round in 0..10_u64 {
            (0..5000).for_each(|payload| queue.push(round * 1000, payload));
            (0..5000).for_each(|payload| assert_eq!(queue.pop().unwrap().payload, payload));
        }
    }
}
