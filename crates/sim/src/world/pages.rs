//! A set of cached pages with an order of replacement.

use assay_workload::rng::Rng;

use crate::model::Policy;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    page: u64,
    /// Towards the newest.
    newer: u32,
    /// Towards the oldest.
    older: u32,
}

/// At most a fixed number of pages: a doubly linked list over a fixed array, found through an open hash table. Nothing is
/// allocated once it is made.
#[derive(Debug)]
pub(crate) struct PageSet {
    policy: Policy,
    entries: Vec<Entry>,
    capacity: usize,
    /// Indexes into `entries`; linear probing, at most half full.
    table: Box<[u32]>,
    shift: u32,
    newest: u32,
    oldest: u32,
    /// First of the removed entries, chained by `older`.
    spare: u32,
    len: usize,
}

impl PageSet {
    pub(crate) fn new(capacity: usize, policy: Policy) -> PageSet {
        let capacity = capacity.max(1);
        let places = (capacity * 2).next_power_of_two().max(2);
        PageSet {
            policy,
            entries: Vec::with_capacity(capacity),
            capacity,
            table: vec![NONE; places].into_boxed_slice(),
            shift: 64 - places.trailing_zeros(),
            newest: NONE,
            oldest: NONE,
            spare: NONE,
            len: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home(&self, page: u64) -> usize {
        (page.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// The place in the table that holds `page`, or the empty one where it would go.
    #[inline]
    fn find(&self, page: u64) -> (usize, Option<u32>) {
        let mask = self.table.len() - 1;
        let mut place = self.home(page);
        loop {
            match self.table[place] {
                NONE => return (place, None),
                index if self.entries[index as usize].page == page => return (place, Some(index)),
                _ => place = (place + 1) & mask,
            }
        }
    }

    pub(crate) fn contains(&self, page: u64) -> bool {
        self.find(page).1.is_some()
    }

    fn unlink(&mut self, index: u32) {
        let Entry { newer, older, .. } = self.entries[index as usize];
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, index: u32) {
        let old = self.newest;
        let entry = &mut self.entries[index as usize];
        (entry.newer, entry.older) = (NONE, old);
        match old {
            NONE => self.oldest = index,
            old => self.entries[old as usize].newer = index,
        }
        self.newest = index;
    }

    /// Whether `page` is there; under LRU it becomes the newest.
    #[inline]
    pub(crate) fn touch(&mut self, page: u64) -> bool {
        let Some(index) = self.find(page).1 else { return false };
        if self.policy == Policy::Lru && self.newest != index {
            self.unlink(index);
            self.link_newest(index);
        }
        true
    }

    /// Adds `page`, which is not there, as the newest; makes room by the policy if there is none.
    pub(crate) fn insert(&mut self, page: u64, rng: &mut Rng) {
        if self.len == self.capacity {
            // A full set has no spare entries, so that every index is in use.
            let victim = match self.policy {
                Policy::Lru | Policy::Fifo => self.oldest,
                Policy::Random => rng.below(self.len as u64) as u32,
            };
            self.remove(self.entries[victim as usize].page);
        }
        let index = match self.spare {
            NONE => {
                self.entries.push(Entry { page, newer: NONE, older: NONE });
                self.entries.len() as u32 - 1
            }
            spare => {
                self.spare = self.entries[spare as usize].older;
                self.entries[spare as usize].page = page;
                spare
            }
        };
        let (place, _) = self.find(page);
        self.table[place] = index;
        self.link_newest(index);
        self.len += 1;
    }

    /// Takes `page` out; whether it was there.
    pub(crate) fn remove(&mut self, page: u64) -> bool {
        let (place, Some(index)) = self.find(page) else { return false };
        self.unlink(index);
        self.entries[index as usize].older = self.spare;
        self.spare = index;
        self.len -= 1;
        self.close_gap(place);
        true
    }

    /// Takes the oldest page out.
    pub(crate) fn pop_oldest(&mut self) -> Option<u64> {
        let page = self.entries.get(self.oldest as usize)?.page;
        self.remove(page);
        Some(page)
    }

    /// Empties a place, moving later members of its run back so that no search stops too early (Knuth 6.4, algorithm R).
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.table.len() - 1;
        let mut place = gap;
        loop {
            place = (place + 1) & mask;
            let index = self.table[place];
            if index == NONE {
                break;
            }
            let home = self.home(self.entries[index as usize].page);
            // The member may move if its home is not between the gap and itself, going round.
            if (place.wrapping_sub(home) & mask) >= (place.wrapping_sub(gap) & mask) {
                self.table[gap] = index;
                gap = place;
            }
        }
        self.table[gap] = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// The same operations on a plain list, newest at the front.
    fn against_a_list(policy: Policy, move_on_touch: bool) {
        let capacity = 50;
        let mut set = PageSet::new(capacity, policy);
        let mut list: VecDeque<u64> = VecDeque::new();
        let mut rng = Rng::new(3);
        for step in 0..50_000 {
            let page = rng.below(120);
            let found = list.iter().position(|&other| other == page);
            assert_eq!(set.contains(page), found.is_some(), "step {step}");
            match (rng.below(10), found) {
                (0, _) => {
                    assert_eq!(set.remove(page), found.is_some());
                    found.map(|index| list.remove(index));
                }
                (1, _) => assert_eq!(set.pop_oldest(), list.pop_back()),
                (_, Some(index)) => {
                    assert!(set.touch(page));
                    if move_on_touch {
                        list.remove(index);
                        list.push_front(page);
                    }
                }
                (_, None) => {
                    set.insert(page, &mut rng);
                    list.push_front(page);
                    list.truncate(capacity);
                }
            }
            assert_eq!(set.len(), list.len(), "step {step}");
        }
    }

    #[test]
    fn lru_and_fifo_agree_with_a_plain_list() {
        against_a_list(Policy::Lru, true);
        against_a_list(Policy::Fifo, false);
    }

    #[test]
    fn random_replacement_takes_any() {
        let mut rng = Rng::new(4);
        let mut set = PageSet::new(100, Policy::Random);
        (0..200).for_each(|page| set.insert(page, &mut rng));
        let old = (0..100).filter(|&page| set.contains(page)).count();
        assert_eq!(set.len(), 100);
        // Each of the first 100 survives 100 random replacements with probability 0.99^100 = 0.37.
        assert!((15..60).contains(&old), "{old}");
    }
}
