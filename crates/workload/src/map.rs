//! fio's random map where block sizes vary: which of the smallest blocks of a range were done in this pass.
//!
//! With one size a permutation does the same without memory. With several, a block that meets one that was done is cut
//! there, so that a pass touches every byte exactly once; the fuller the map, the smaller the blocks.
//!
//! Operations with different smallest blocks share one map, and each counts in its own: an operation of one size is never
//! cut. Their counts do not mean the same places, so that a pass is over when one of them finds no free place of its own.

use crate::pattern::OpKind;
use crate::rng::Rng;

/// Smallest blocks that a map may have: 128 MiB of memory. Larger ranges get the permutation, whose blocks may overlap.
pub(crate) const MAP_BLOCKS_MAX: u64 = 1 << 30;

/// A bit for each of the smallest blocks.
#[derive(Debug, Clone)]
pub struct Map {
    /// Set bits are blocks that were done.
    words: Vec<u64>,
    blocks: u64,
    free: u64,
    /// The smallest block of each operation.
    units: [Unit; 3],
    /// Whether the last block was the first of a new pass: the blocks left were beyond what its operation can reach.
    overflowed: bool,
}

/// What an operation counts in.
#[derive(Debug, Clone, Copy)]
struct Unit {
    bytes: u64,
    /// How many the range holds, at least one.
    count: u64,
}

impl Map {
    /// An empty map of a range for operations whose smallest blocks are these; operations that never occur have 0.
    pub(crate) fn new(range_bytes: u64, min_bytes: [u64; 3]) -> Self {
        let smallest = min_bytes.into_iter().filter(|bytes| *bytes > 0).min().unwrap_or(1);
        let unit = |bytes: u64| {
            let bytes = if bytes == 0 { smallest } else { bytes };
            Unit { bytes, count: (range_bytes / bytes).max(1) }
        };
        let blocks = unit(smallest).count;
        let words = vec![0; blocks.div_ceil(64) as usize];
        Map { words, blocks, free: blocks, units: min_bytes.map(unit), overflowed: false }
    }

    /// The smallest block of an operation.
    #[inline]
    pub(crate) fn unit_bytes(&self, kind: OpKind) -> u64 {
        self.unit(kind).bytes
    }

    #[inline]
    fn unit(&self, kind: OpKind) -> Unit {
        self.units[(kind as usize).min(2)]
    }

    /// A random place for `wanted` of the smallest blocks of `kind`: the first block, and how many of them are free there
    /// (at least one).
    pub(crate) fn draw(&mut self, wanted: u64, kind: OpKind, rng: &mut Rng) -> (u64, u64) {
        if self.is_full() {
            self.clear();
        }
        let reach = self.unit(kind).count;
        let mut first = self.next_free(rng.below(reach));
        if first >= reach {
            self.clear();
            self.overflowed = true;
            first = rng.below(reach);
        }
        let mut count = 0;
        while count < wanted.max(1) && first + count < reach && !self.is_done(first + count) {
            self.words[((first + count) / 64) as usize] |= 1 << ((first + count) % 64);
            count += 1;
        }
        self.free -= count;
        (first, count)
    }

    /// Whether the pass is over.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.free == 0 || self.overflowed
    }

    /// Whether the last block was the first of a new pass, as its operation found no free place in the one before.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    /// Forgets what was done.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        self.free = self.blocks;
        self.overflowed = false;
    }

    fn is_done(&self, block: u64) -> bool {
        self.words[(block / 64) as usize] & (1 << (block % 64)) != 0
    }

    /// The first free block from `from` on, around the end; there is one.
    fn next_free(&self, from: u64) -> u64 {
        let word_count = self.words.len();
        let start = (from / 64) as usize;
        // The first word counts from the bit on, and once more whole at the end of the round.
        (0..=word_count)
            .find_map(|step| {
                let index = (start + step) % word_count;
                let skipped = if step == 0 { (1_u64 << (from % 64)) - 1 } else { 0 };
                let free = !(self.words[index] | skipped);
                let block = index as u64 * 64 + u64::from(free.trailing_zeros());
                (free != 0 && block < self.blocks).then_some(block)
            })
            .unwrap_or(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_does_every_block_once_and_cuts_what_meets_another() {
        for blocks in [1, 63, 64, 65, 1000] {
            let (mut map, mut rng) = (Map::new(blocks * 512, [512; 3]), Rng::new(blocks));
            for _ in 0..3 {
                let mut done = vec![false; blocks as usize];
                let mut cut = 0;
                while done.iter().any(|done| !done) {
                    let (first, count) = map.draw(8, OpKind::Read, &mut rng);
                    assert!((1..=8).contains(&count));
                    cut += u64::from(count < 8);
                    for block in first..first + count {
                        assert!(
                            !std::mem::replace(&mut done[block as usize], true),
                            "{block} of {blocks} twice"
                        );
                    }
                }
                assert!(blocks < 64 || cut > 0, "some meet others");
            }
        }
    }

    #[test]
    fn the_first_places_are_drawn_evenly() {
        let mut halves = [0; 2];
        for seed in 0..2000 {
            let (first, _) = Map::new(1 << 20, [1, 0, 0]).draw(4, OpKind::Read, &mut Rng::new(seed));
            halves[(first >> 19) as usize] += 1;
        }
        assert!(halves.iter().all(|count| (850..1150).contains(count)), "{halves:?}");
    }

    #[test]
    fn an_operation_of_one_size_is_never_cut_by_smaller_ones() {
        let (mut map, mut rng) = (Map::new(1 << 26, [4096, 65536, 0]), Rng::new(7));
        let mut passes = 0;
        for turn in 0..40_000 {
            let kind = if turn % 2 == 0 { OpKind::Read } else { OpKind::Write };
            let (first, count) = map.draw(1, kind, &mut rng);
            assert_eq!(count, 1);
            assert!((first + 1) * map.unit_bytes(kind) <= 1 << 26, "{kind:?} {first} lies in the range");
            passes += u64::from(map.is_full());
        }
        assert!(passes > 10, "a pass ends where writes find no place: {passes}");
    }
}
