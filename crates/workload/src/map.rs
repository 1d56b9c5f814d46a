//! fio's random map where block sizes vary: which of the smallest blocks of a range were done in this pass.
//!
//! With one size a permutation does the same without memory. With several, a block that meets one that was done is cut
//! there, so that a pass touches every byte exactly once; the fuller the map, the smaller the blocks.

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
}

impl Map {
    /// An empty map of `blocks` blocks, at least one.
    pub(crate) fn new(blocks: u64) -> Self {
        let blocks = blocks.max(1);
        let words = vec![0; blocks.div_ceil(64) as usize];
        Map { words, blocks, free: blocks }
    }

    /// A random place for `wanted` blocks: the first block, and how many of them are free there (at least one).
    pub(crate) fn draw(&mut self, wanted: u64, rng: &mut Rng) -> (u64, u64) {
        if self.is_full() {
            self.clear();
        }
        let first = self.next_free(rng.below(self.blocks));
        let mut count = 0;
        while count < wanted.max(1) && first + count < self.blocks && !self.is_done(first + count) {
            self.words[((first + count) / 64) as usize] |= 1 << ((first + count) % 64);
            count += 1;
        }
        self.free -= count;
        (first, count)
    }

    /// Whether every block was done.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.free == 0
    }

    /// Forgets what was done.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
        self.free = self.blocks;
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
            let (mut map, mut rng) = (Map::new(blocks), Rng::new(blocks));
            for _ in 0..3 {
                let mut done = vec![false; blocks as usize];
                let mut cut = 0;
                while done.iter().any(|done| !done) {
                    let (first, count) = map.draw(8, &mut rng);
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
            let (first, _) = Map::new(1 << 20).draw(4, &mut Rng::new(seed));
            halves[(first >> 19) as usize] += 1;
        }
        assert!(halves.iter().all(|count| (850..1150).contains(count)), "{halves:?}");
    }
}
