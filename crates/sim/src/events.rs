//! The event heap: what happens next, first come first served among equals.

/// Bits of a key that hold the payload.
const PAYLOAD_BITS: u32 = 24;
/// Children per node: four 16-byte keys are one cache line, and the heap is half as deep as a binary one.
const ARITY: usize = 4;

/// A 4-ary min-heap of (time, order of insertion, payload), packed into one 128-bit key each, so that one comparison
/// orders events by time and then by insertion. Memory is what the largest number of events at a time needs.
#[derive(Debug, Default)]
pub(crate) struct EventHeap {
    keys: Vec<u128>,
    inserted: u64,
}

/// An event taken from the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// When.
    pub(crate) at_ns: u64,
    /// What.
    pub(crate) payload: u32,
}

fn unpack(key: u128) -> Event {
    Event { at_ns: (key >> 64) as u64, payload: key as u32 & ((1 << PAYLOAD_BITS) - 1) }
}

impl EventHeap {
    /// The largest payload.
    pub(crate) const PAYLOAD_MAX: u32 = (1 << PAYLOAD_BITS) - 1;

    pub(crate) fn with_capacity(capacity: usize) -> Self {
        EventHeap { keys: Vec::with_capacity(capacity), inserted: 0 }
    }

    /// 2^40 insertions are three orders of magnitude more than a run has, and a wrap would only reorder equals.
    #[inline]
    fn pack(&mut self, at_ns: u64, payload: u32) -> u128 {
        debug_assert!(payload <= Self::PAYLOAD_MAX);
        self.inserted = self.inserted.wrapping_add(1);
        u128::from(at_ns) << 64 | u128::from(self.inserted << PAYLOAD_BITS | u64::from(payload))
    }

    /// When the first event is due; `u64::MAX`: there is none.
    #[inline]
    pub(crate) fn first_ns(&self) -> u64 {
        self.keys.first().map_or(u64::MAX, |key| (key >> 64) as u64)
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<Event> {
        self.keys.first().copied().map(unpack)
    }

    #[inline]
    pub(crate) fn push(&mut self, at_ns: u64, payload: u32) {
        let key = self.pack(at_ns, payload);
        let mut hole = self.keys.len();
        self.keys.push(key);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let first = *self.keys.first()?;
        let last = self.keys.pop()?;
        if !self.keys.is_empty() {
            self.sift_down(last);
        }
        Some(unpack(first))
    }

    /// Replaces the first event, which saves half of a pop and a push.
    #[inline]
    pub(crate) fn replace_first(&mut self, at_ns: u64, payload: u32) {
        let key = self.pack(at_ns, payload);
        self.sift_down(key);
    }

    /// Puts `key` where it belongs, starting from a hole at the root.
    fn sift_down(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut hole = 0;
        loop {
            let start = hole * ARITY + 1;
            let Some(children) = keys.get(start..(start + ARITY).min(keys.len())) else { break };
            let Some((offset, &least)) = children.iter().enumerate().min_by_key(|entry| entry.1) else {
                break;
            };
            if key <= least {
                break;
            }
            keys[hole] = least;
            hole = start + offset;
        }
        keys[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;

    #[test]
    fn events_come_in_order_of_time_and_then_of_insertion() {
        let mut heap = EventHeap::default();
        let mut rng = Rng::new(1);
        let mut expected: Vec<(u64, u32)> = (0..2000).map(|i| (rng.below(50), i)).collect();
        for &(at, payload) in &expected {
            heap.push(at, payload);
        }
        expected.sort();
        for (at_ns, payload) in expected {
            assert_eq!(heap.pop(), Some(Event { at_ns, payload }));
        }
        assert_eq!(heap.pop(), None);
        assert_eq!(heap.first_ns(), u64::MAX);
    }

    #[test]
    fn replacing_the_first_is_popping_and_pushing() {
        let (mut one, mut other) = (EventHeap::default(), EventHeap::default());
        let mut rng = Rng::new(2);
        for payload in 0..100 {
            let at = rng.below(1000);
            one.push(at, payload);
            other.push(at, payload);
        }
        for _ in 0..10_000 {
            let first = one.pop().unwrap();
            assert_eq!(other.first(), Some(first));
            let at = first.at_ns + rng.below(100);
            one.push(at, first.payload);
            other.replace_first(at, first.payload);
        }
    }
}
