//! Reuse distances of a stream of accesses, in constant memory.

use std::collections::{BinaryHeap, HashMap};

use assay_workload::rng::splitmix64;

/// The most pages that are followed.
const PAGES_MAX: usize = 1 << 14;
/// Places of the tree; when they are used up, times are renumbered.
const TIMES: usize = PAGES_MAX * 4;
/// Buckets per doubling of the distance.
const STEPS: f64 = 8.0;
const BUCKETS: usize = 64 * STEPS as usize;

/// The number of distinct bytes between two uses of a page, sampled by SHARDS (Waldspurger et al., FAST 2015): only pages
/// whose hash is below a threshold are followed, all of their accesses, and distances among them are scaled up. The
/// threshold falls so that the number of pages stays bounded.
#[derive(Debug)]
pub(crate) struct ReuseDistances {
    page_bytes: u64,
    /// Pages with a hash below are followed.
    threshold: u64,
    /// Last use of each followed page.
    last: HashMap<u64, u32>,
    by_hash: BinaryHeap<(u64, u64)>,
    /// Fenwick tree over times: 1 where a page was used last.
    tree: Vec<u32>,
    now: usize,
    /// Accesses by distance, each weighted with what it stands for.
    buckets: Box<[f64]>,
    first_uses: f64,
    accesses: f64,
}

/// One access to a page that is followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reuse {
    /// The bucket of its distance; `None`: the page was not used before.
    pub(crate) bucket: Option<usize>,
    /// Accesses that it stands for.
    pub(crate) weight: f64,
}

fn hash(page: u64) -> u64 {
    let mut state = page;
    splitmix64(&mut state)
}

impl ReuseDistances {
    pub(crate) fn new(page_bytes: u64) -> Self {
        ReuseDistances {
            page_bytes,
            threshold: u64::MAX,
            last: HashMap::with_capacity(PAGES_MAX + 1),
            by_hash: BinaryHeap::with_capacity(PAGES_MAX + 1),
            tree: vec![0; TIMES + 1],
            now: 0,
            buckets: vec![0.0; BUCKETS].into_boxed_slice(),
            first_uses: 0.0,
            accesses: 0.0,
        }
    }

    fn change(&mut self, time: usize, up: bool) {
        let mut index = time + 1;
        while index < self.tree.len() {
            self.tree[index] = if up { self.tree[index] + 1 } else { self.tree[index] - 1 };
            index += index & index.wrapping_neg();
        }
    }

    /// Pages last used at or before `time`.
    fn count_to(&self, time: usize) -> u32 {
        let (mut index, mut count) = (time + 1, 0);
        while index > 0 {
            count += self.tree[index];
            index -= index & index.wrapping_neg();
        }
        count
    }

    /// An access to the page with this number. Of a page that is followed, what it is counted as.
    #[inline]
    pub(crate) fn add(&mut self, page: u64) -> Option<Reuse> {
        let hash = hash(page);
        (hash <= self.threshold).then(|| self.follow(page, hash))
    }

    fn follow(&mut self, page: u64, hash: u64) -> Reuse {
        let scale = u64::MAX as f64 / self.threshold as f64;
        self.accesses += scale;
        if self.now == TIMES {
            self.renumber();
        }
        let time = self.now;
        self.now += 1;
        let found = match self.last.insert(page, time as u32) {
            Some(before) => {
                let distance = self.last.len() as u32 - self.count_to(before as usize);
                let bucket = bucket(f64::from(distance) * scale * self.page_bytes as f64);
                self.buckets[bucket] += scale;
                self.change(before as usize, false);
                Some(bucket)
            }
            None => {
                self.first_uses += scale;
                self.by_hash.push((hash, page));
                None
            }
        };
        self.change(time, true);
        while self.last.len() > PAGES_MAX {
            let Some((hash, page)) = self.by_hash.pop() else { break };
            self.threshold = hash - 1;
            if let Some(time) = self.last.remove(&page) {
                self.change(time as usize, false);
            }
        }
        Reuse { bucket: found, weight: scale }
    }

    /// About the distance of a bucket, bytes.
    pub(crate) fn bytes_of(bucket: usize) -> f64 {
        2_f64.powf((bucket + 1) as f64 / STEPS)
    }

    /// Gives the followed pages the first times, in the order of their last use.
    fn renumber(&mut self) {
        let mut pages: Vec<(u32, u64)> = self.last.iter().map(|(page, time)| (*time, *page)).collect();
        pages.sort_unstable();
        self.tree.fill(0);
        self.now = pages.len();
        for (time, (_, page)) in pages.into_iter().enumerate() {
            self.last.insert(page, time as u32);
            self.change(time, true);
        }
    }

    /// The share of accesses that an LRU cache of this size answers; first uses count as misses.
    pub(crate) fn hit_ratio(&self, cache_bytes: u64) -> f64 {
        let position = (cache_bytes.max(1) as f64).log2() * STEPS;
        let full = (position as usize).min(BUCKETS - 1);
        let below: f64 = self.buckets[..full].iter().sum();
        (below + self.buckets[full] * (position - full as f64).min(1.0)) / self.accesses.max(1.0)
    }

    /// The distance that the share `quantile` of the accesses does not exceed; `None` if so many are first uses.
    pub(crate) fn distance(&self, quantile: f64) -> Option<u64> {
        let mut left = quantile * self.accesses;
        for (index, count) in self.buckets.iter().enumerate() {
            left -= count;
            if left <= 0.0 {
                return Some(2_f64.powf((index + 1) as f64 / STEPS) as u64);
            }
        }
        None
    }

    /// The share of accesses to pages not seen before.
    pub(crate) fn first_use_share(&self) -> f64 {
        self.first_uses / self.accesses.max(1.0)
    }
}

fn bucket(distance: f64) -> usize {
    (((distance.max(1.0)).log2() * STEPS) as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::rng::Rng;

    #[test]
    fn a_round_has_its_own_length_as_distance() {
        let mut distances = ReuseDistances::new(4096);
        for access in 0..200_000_u64 {
            distances.add(access % 5000);
        }
        let expected = 4999 * 4096;
        let found = distances.distance(0.5).unwrap();
        assert!((expected..expected * 11 / 10).contains(&found), "{found} for {expected}");
        assert!(distances.hit_ratio(4000 * 4096) < 0.001);
        assert!(distances.hit_ratio(6000 * 4096) > 0.97);
        assert!((distances.first_use_share() - 0.025).abs() < 1e-9);
    }

    /// Many more pages than are followed: even accesses hit by the size of the cache.
    #[test]
    fn sampling_keeps_the_ratio() {
        let mut distances = ReuseDistances::new(1);
        let mut rng = Rng::new(1);
        let pages = 60_000;
        for _ in 0..2_400_000 {
            distances.add(rng.below(pages));
        }
        let reused = 1.0 - distances.first_use_share();
        for part in [0.2, 0.5, 0.8] {
            let ratio = distances.hit_ratio((part * pages as f64) as u64) / reused;
            assert!((ratio - part).abs() < 0.03, "{part}: {ratio}");
        }
        assert!((distances.first_use_share() - 0.025).abs() < 0.002, "{}", distances.first_use_share());
    }
}
