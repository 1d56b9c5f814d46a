//! The event queue: what happens next, first come first served among equals.

mod heap;

use heap::Heap;

/// Bits of a key in the heap that hold the payload.
const PAYLOAD_BITS: u32 = 24;
/// Slots of the wheel at first, and at most.
const SLOTS_START: usize = 4096;
const SLOTS_MAX: usize = 1 << 18;
/// Slots in a word of the map of those in use.
const WORD: usize = u64::BITS as usize;
/// Width of a slot at first: 2^10 ns.
const SHIFT_START: u32 = 10;
/// Events between two looks whether slots have the right width.
const RETUNE_EVENTS: u32 = 8192;
/// No payload.
const NONE: u32 = u32::MAX;

/// An event taken from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// When.
    pub(crate) at_ns: u64,
    /// What.
    pub(crate) payload: u32,
}

/// What the queue knows of a payload that is in it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at_ns: u64,
    /// The payload behind it in its slot.
    next: u32,
    /// The last of its slot, if it is the first there; else of no meaning.
    last: u32,
}

/// Events in order of time and then of insertion; a payload is in the queue at most once.
///
/// A calendar queue (Brown 1988): a wheel of slots a quarter to half as wide as events are apart on average, so that nearly
/// all hold one event or none, and processors guess right which: a wrong guess costs as much as a whole insertion. Which are
/// in use is a map of bits, found by counting zeros. A slot is a chain through an array by payload, so that nothing is moved,
/// and nothing is allocated once the queue has seen its largest payload. What lies beyond the wheel waits in a heap.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The next event; `u64::MAX` and `NONE`: there is none.
    first_ns: u64,
    first: u32,
    shift: u32,
    /// The slot of the last event taken, and of this moment or before: the wheel's turn begins here.
    base: u64,
    entries: Vec<Entry>,
    /// The first payload by slot number modulo their count; of no meaning where none is in use.
    wheel: Box<[u32]>,
    /// A bit for each slot of the wheel: whether it holds anything.
    used: Box<[u64]>,
    /// Events in the wheel.
    near: usize,
    /// All events a turn ahead of `base` or more.
    far: Heap,
    /// The slot of the first of them; `u64::MAX`: there are none.
    far_slot: u64,
    far_inserted: u64,
    until_tuned: u32,
    tuned_ns: u64,
}

#[inline]
fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

#[inline]
fn payload_of(key: u128) -> u32 {
    key as u32 & EventQueue::PAYLOAD_MAX
}

/// The bit of a slot in its word.
#[inline(always)]
fn bit(index: usize) -> u64 {
    1 << (index % WORD)
}

impl EventQueue {
    /// The largest payload.
    pub(crate) const PAYLOAD_MAX: u32 = (1 << PAYLOAD_BITS) - 1;

    pub(crate) fn new() -> Self {
        EventQueue {
            first_ns: u64::MAX,
            first: NONE,
            shift: SHIFT_START,
            base: 0,
            entries: Vec::new(),
            wheel: vec![NONE; SLOTS_START].into_boxed_slice(),
            used: vec![0; SLOTS_START / WORD].into_boxed_slice(),
            near: 0,
            far: Heap::default(),
            far_slot: u64::MAX,
            far_inserted: 0,
            until_tuned: RETUNE_EVENTS,
            tuned_ns: 0,
        }
    }

    /// When the first event is due; `u64::MAX`: there is none.
    #[inline(always)]
    pub(crate) fn first_ns(&self) -> u64 {
        self.first_ns
    }

    /// Adds an event, not before the last one taken; its payload is not in the queue.
    #[inline(always)]
    pub(crate) fn push(&mut self, at_ns: u64, payload: u32) {
        debug_assert!(payload <= Self::PAYLOAD_MAX);
        if payload as usize >= self.entries.len() {
            self.entries.resize(payload as usize + 1, Entry { at_ns: 0, next: NONE, last: NONE });
        }
        if at_ns < self.first_ns {
            (self.first_ns, self.first) = (at_ns, payload);
        }
        let slot = at_ns >> self.shift;
        if slot - self.base < self.wheel.len() as u64 {
            self.place(slot, at_ns, payload);
        } else {
            self.push_far(slot, at_ns, payload);
        }
    }

    /// Entries there is room for, for tests of what is held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.entries.capacity() + self.wheel.len()
    }

    /// 2^40 insertions are three orders of magnitude more than a run has, and a wrap would only reorder equals.
    #[cold]
    fn push_far(&mut self, slot: u64, at_ns: u64, payload: u32) {
        self.far_inserted = self.far_inserted.wrapping_add(1);
        let behind = self.far_inserted << PAYLOAD_BITS | u64::from(payload);
        self.far.push(u128::from(at_ns) << 64 | u128::from(behind));
        self.far_slot = self.far_slot.min(slot);
    }

    /// Chains an event into its slot of the wheel, behind those of the same time.
    #[inline(always)]
    fn place(&mut self, slot: u64, at_ns: u64, payload: u32) {
        self.near += 1;
        let index = slot as usize & (self.wheel.len() - 1);
        self.entries[payload as usize] = Entry { at_ns, next: NONE, last: payload };
        let used = &mut self.used[index / WORD];
        if *used & bit(index) == 0 {
            *used |= bit(index);
            self.wheel[index] = payload;
        } else {
            self.place_among(index, at_ns, payload);
        }
    }

    /// Chains an event into a slot that is in use.
    #[inline(never)]
    fn place_among(&mut self, index: usize, at_ns: u64, payload: u32) {
        let first = self.wheel[index];
        let last = self.entries[first as usize].last;
        if self.entries[last as usize].at_ns <= at_ns {
            self.entries[last as usize].next = payload;
            self.entries[first as usize].last = payload;
        } else if self.entries[first as usize].at_ns > at_ns {
            self.entries[payload as usize] = Entry { at_ns, next: first, last };
            self.wheel[index] = payload;
        } else {
            self.place_within(first, at_ns, payload);
        }
    }

    /// Chains an event in behind `before` or one of those after it, but not at the end.
    fn place_within(&mut self, before: u32, at_ns: u64, payload: u32) {
        let (mut before, mut next) = (before, self.entries[before as usize].next);
        while self.entries[next as usize].at_ns <= at_ns {
            (before, next) = (next, self.entries[next as usize].next);
        }
        self.entries[before as usize].next = payload;
        self.entries[payload as usize].next = next;
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = Event { at_ns: self.first_ns, payload: self.first };
        if event.payload == NONE {
            return None;
        }
        self.base = event.at_ns >> self.shift;
        if self.far_slot - self.base < self.wheel.len() as u64 {
            self.take_far();
        }
        self.near -= 1;
        let index = self.base as usize & (self.wheel.len() - 1);
        let Entry { next, last, .. } = self.entries[event.payload as usize];
        if next == NONE {
            self.used[index / WORD] &= !bit(index);
            self.find_first(index);
        } else {
            let entry = &mut self.entries[next as usize];
            entry.last = last;
            (self.first, self.first_ns) = (next, entry.at_ns);
            self.wheel[index] = next;
        }
        self.until_tuned -= 1;
        if self.until_tuned == 0 {
            self.retune(event.at_ns);
        }
        Some(event)
    }

    /// Finds the next event when slot `index` of the wheel, that of `base`, is empty. A word of bits is at least 16 times
    /// as long as events are apart, so that few are looked at: how many slots there are in a turn does not matter.
    #[inline(always)]
    fn find_first(&mut self, index: usize) {
        if self.near == 0 {
            return self.find_first_far();
        }
        let mut word = index / WORD;
        // Slots before this one are those of the next turn, and looked at when the wheel has gone round.
        let mut bits = self.used[word] & (u64::MAX << (index % WORD));
        while bits == 0 {
            word = (word + 1) & (self.used.len() - 1);
            bits = self.used[word];
        }
        let first = self.wheel[word * WORD + bits.trailing_zeros() as usize];
        (self.first, self.first_ns) = (first, self.entries[first as usize].at_ns);
    }

    /// What is far has no entry yet.
    #[cold]
    fn find_first_far(&mut self) {
        (self.first, self.first_ns) =
            self.far.first().map_or((NONE, u64::MAX), |key| (payload_of(key), time_of(key)));
    }

    /// Moves what is less than a turn ahead to the wheel: before anything else can come into its slots, so that equals stay
    /// in order.
    #[cold]
    fn take_far(&mut self) {
        self.far_slot = loop {
            let Some(key) = self.far.first() else { break u64::MAX };
            let slot = time_of(key) >> self.shift;
            if slot - self.base >= self.wheel.len() as u64 {
                break slot;
            }
            self.place(slot, time_of(key), payload_of(key));
            self.far.pop();
        };
    }

    /// Gives slots their width by the mean distance between events, and the wheel 16 times as many as hold something.
    #[cold]
    fn retune(&mut self, now_ns: u64) {
        let gap = (now_ns - self.tuned_ns) / u64::from(RETUNE_EVENTS);
        (self.until_tuned, self.tuned_ns) = (RETUNE_EVENTS, now_ns);
        // Over a quarter and up to half of that distance; they may stay as they are if they are up to half as wide.
        let shift = gap.max(2).ilog2() - 1;
        let slots = (self.near * 16).next_power_of_two().clamp(SLOTS_START, SLOTS_MAX);
        if (shift == self.shift || shift == self.shift + 1) && slots <= self.wheel.len() {
            return;
        }
        let events = self.drain();
        self.shift = shift;
        self.base = now_ns >> shift;
        if slots > self.wheel.len() {
            self.wheel = vec![NONE; slots].into_boxed_slice();
            self.used = vec![0; slots / WORD].into_boxed_slice();
        }
        events.into_iter().for_each(|event| self.push(event.at_ns, event.payload));
    }

    /// Takes everything out, in order.
    fn drain(&mut self) -> Vec<Event> {
        let mut events = Vec::with_capacity(self.near);
        let turn = self.wheel.len() as u64;
        for slot in self.base..self.base + turn {
            let index = (slot & (turn - 1)) as usize;
            if self.used[index / WORD] & bit(index) == 0 {
                continue;
            }
            let mut payload = self.wheel[index];
            while payload != NONE {
                let Entry { at_ns, next, .. } = self.entries[payload as usize];
                events.push(Event { at_ns, payload });
                payload = next;
            }
        }
        while let Some(key) = self.far.first() {
            events.push(Event { at_ns: time_of(key), payload: payload_of(key) });
            self.far.pop();
        }
        self.used.fill(0);
        (self.first, self.first_ns, self.far_slot, self.near) = (NONE, u64::MAX, u64::MAX, 0);
        events
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
                    queue.push(at, inserted);
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
