//! Histograms of consecutive parts of a stream, and how far two streams would be apart by chance.
//!
//! Operations of a program depend on those before them, so their number says nothing about chance. Parts of a stream that
//! are longer than that dependence do not: if two streams are of one program, part i of the one could as well be part i of
//! the other. Exchanging them at random shows which distances come about without a difference (a permutation test of
//! blocks); what both do at the same place, such as warming up, stays as it is.

use std::collections::BTreeMap;

use assay_workload::rng::Rng;

/// Counts by value.
pub(super) type Histogram = BTreeMap<i64, u64>;

/// Parts that are kept at most; then neighbours are joined.
const BLOCKS_MAX: usize = 64;
/// Operations of a part at first.
const OPS_MIN: u64 = 64;
/// Parts that streams are compared in.
pub(super) const GROUPS: usize = 16;
/// With fewer parts there are too few ways to exchange them.
const GROUPS_MIN: usize = 6;
/// Exchanges at most, at least, and the entries that all of them together may touch.
const DRAWS: usize = 200;
const DRAWS_MIN: usize = 40;
const ENTRIES_MAX: usize = 40_000_000;
/// The exchanges are the same every time.
const SEED: u64 = 7;

/// The parts of a stream so far, each with `N` histograms.
#[derive(Debug, Clone)]
pub(super) struct Blocks<const N: usize> {
    blocks: Vec<[Histogram; N]>,
    ops_of_each: u64,
    ops_of_last: u64,
}

impl<const N: usize> Default for Blocks<N> {
    fn default() -> Self {
        Blocks { blocks: Vec::new(), ops_of_each: OPS_MIN, ops_of_last: OPS_MIN }
    }
}

impl<const N: usize> Blocks<N> {
    /// The part that the next operation belongs to.
    pub(super) fn next(&mut self) -> &mut [Histogram; N] {
        if self.ops_of_last == self.ops_of_each || self.blocks.is_empty() {
            if self.blocks.len() == BLOCKS_MAX {
                self.join();
            }
            self.blocks.push(std::array::from_fn(|_| Histogram::new()));
            self.ops_of_last = 0;
        }
        self.ops_of_last += 1;
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    fn join(&mut self) {
        let mut joined: Vec<[Histogram; N]> = Vec::with_capacity(BLOCKS_MAX);
        let mut blocks = std::mem::take(&mut self.blocks).into_iter();
        while let Some(mut first) = blocks.next() {
            for (into, from) in first.iter_mut().zip(blocks.next().into_iter().flatten()) {
                add(into, &from);
            }
            joined.push(first);
        }
        self.blocks = joined;
        self.ops_of_each *= 2;
    }

    /// One of the histograms in consecutive groups of the first `ops` operations.
    pub(super) fn groups(&self, which: usize, ops: u64) -> Vec<Histogram> {
        let blocks = (ops.div_ceil(self.ops_of_each) as usize).min(self.blocks.len());
        let mut groups = vec![Histogram::new(); GROUPS.min(blocks)];
        for (index, block) in self.blocks[..blocks].iter().enumerate() {
            let group = index * groups.len() / blocks;
            add(&mut groups[group], &block[which]);
        }
        groups
    }
}

fn add(into: &mut Histogram, from: &Histogram) {
    for (value, count) in from {
        *into.entry(*value).or_default() += count;
    }
}

/// The distance of two streams given in groups, and what exchanging groups exceeds in one case of twenty; `None` of the
/// latter: too few groups for that. `distance` gets the counts of both by value, in the order of values.
pub(super) fn distance_and_noise(
    a: &[Histogram],
    b: &[Histogram],
    distance: impl Fn(&[u64], &[u64]) -> f64,
) -> (f64, Option<f64>) {
    let mut values: Vec<i64> = a.iter().chain(b).flat_map(|group| group.keys().copied()).collect();
    values.sort_unstable();
    values.dedup();
    let index = |value: &i64| values.binary_search(value).unwrap_or(0);
    let dense = |groups: &[Histogram]| -> Vec<Vec<(usize, u64)>> {
        groups
            .iter()
            .map(|group| group.iter().map(|(value, count)| (index(value), *count)).collect())
            .collect()
    };
    let (a, b) = (dense(a), dense(b));
    let groups = a.len().min(b.len());
    let sums = |swapped: &dyn Fn(usize) -> bool| {
        let (mut first, mut second) = (vec![0; values.len()], vec![0; values.len()]);
        for (index, (one, other)) in a.iter().zip(&b).enumerate() {
            let (one, other) = if swapped(index) { (other, one) } else { (one, other) };
            one.iter().for_each(|(at, count)| first[*at] += count);
            other.iter().for_each(|(at, count)| second[*at] += count);
        }
        distance(&first, &second)
    };
    let seen = sums(&|_| false);
    if groups < GROUPS_MIN || a.len() != b.len() {
        return (seen, None);
    }
    let entries = values.len() + a.iter().chain(&b).map(Vec::len).sum::<usize>();
    let draws = (ENTRIES_MAX / entries.max(1)).clamp(DRAWS_MIN, DRAWS);
    let mut rng = Rng::new(SEED);
    let mut drawn: Vec<f64> = (0..draws)
        .map(|_| {
            let swap = rng.next_u64();
            sums(&|index| swap >> index & 1 == 1)
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    (seen, Some(drawn[draws * 95 / 100]))
}
