//! A heap of keys, for events that are far away.

/// Children per node: four 16-byte keys are one cache line, and the heap is half as deep as a binary one.
const ARITY: usize = 4;

/// A 4-ary min-heap.
#[derive(Debug, Default)]
pub(super) struct Heap {
    keys: Vec<u128>,
}

impl Heap {
    #[inline]
    pub(super) fn first(&self) -> Option<u128> {
        self.keys.first().copied()
    }

    pub(super) fn push(&mut self, key: u128) {
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

    /// Removes the first.
    pub(super) fn pop(&mut self) {
        let Some(key) = self.keys.pop() else { return };
        if self.keys.is_empty() {
            return;
        }
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
    fn keys_come_out_in_order() {
        let mut heap = Heap::default();
        let mut rng = Rng::new(1);
        let mut expected: Vec<u128> = (0..3000).map(|_| u128::from(rng.below(500))).collect();
        expected.iter().for_each(|key| heap.push(*key));
        expected.sort_unstable();
        for key in expected {
            assert_eq!(heap.first(), Some(key));
            heap.pop();
        }
        assert_eq!(heap.first(), None);
    }
}
