//! Making the bytes that writes carry.
//!
//! [`Filler`] prepares a buffer before each write. Random bytes come from four interleaved xorshift streams that the
//! compiler turns into vector instructions; compressible content zeroes a share of every 4 KiB block, duplicates repeat
//! blocks of a small pool.

use crate::content::{Content, Payload, Refresh};
use crate::rng::{Rng, splitmix64};

mod placed;

pub use placed::{OFFSET_BYTES, PlacedPattern};

/// Granularity of stamps and of compressible content.
const UNIT: usize = 4096;
const LANES: usize = 8;

/// xorshift64 in eight lanes: not for statistics, but incompressible and far faster than memory writes need.
#[derive(Debug, Clone)]
struct Stream {
    lanes: [u64; LANES],
}

impl Stream {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        // A lane must not be 0.
        Stream { lanes: std::array::from_fn(|_| splitmix64(&mut state) | 1) }
    }

    #[inline]
    fn next(&mut self) -> [u64; LANES] {
        for lane in &mut self.lanes {
            *lane ^= *lane << 13;
            *lane ^= *lane >> 7;
            *lane ^= *lane << 17;
        }
        self.lanes
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        let mut chunks = bytes.chunks_exact_mut(8 * LANES);
        for chunk in &mut chunks {
            for (word, lane) in chunk.chunks_exact_mut(8).zip(self.next()) {
                word.copy_from_slice(&lane.to_le_bytes());
            }
        }
        let rest = chunks.into_remainder();
        let tail: Vec<u8> = if rest.is_empty() {
            Vec::new()
        } else {
            self.next().iter().flat_map(|lane| lane.to_le_bytes()).collect()
        };
        let len = rest.len();
        rest.copy_from_slice(&tail[..len]);
    }
}

/// Prepares write buffers as a [`Content`] asks for.
#[derive(Debug, Clone)]
pub struct Filler {
    content: Content,
    stream: Stream,
    rng: Rng,
    stamp: u64,
    /// Bytes at the end of each unit that are zero.
    zero_tail: usize,
    /// Per cent of the units that repeat one of a pool, as a threshold on 32 bits.
    duplicate_below: u32,
    duplicate_seeds: u64,
}

impl Filler {
    /// A filler whose bytes are fixed by `seed`.
    pub fn new(content: &Content, seed: u64) -> Self {
        let compressible = 1.0 - 1.0 / content.compression_ratio.max(1.0);
        let duplicate = 1.0 - 1.0 / content.dedup_ratio.max(1.0);
        Filler {
            content: content.clone(),
            stream: Stream::new(seed),
            rng: Rng::new(seed),
            stamp: seed,
            zero_tail: (UNIT as f64 * compressible) as usize,
            duplicate_below: (duplicate * f64::from(u32::MAX)) as u32,
            duplicate_seeds: 16,
        }
    }

    /// Fills `bytes` before the first use of a buffer, whatever the refresh policy is.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        match &self.content.payload {
            Payload::Zero => bytes.fill(0),
            Payload::Pattern(pattern) if pattern.is_empty() => bytes.fill(0),
            Payload::Pattern(pattern) => {
                for chunk in bytes.chunks_mut(pattern.len()) {
                    chunk.copy_from_slice(&pattern[..chunk.len()]);
                }
            }
            Payload::Random => self.fill_random(bytes),
        }
    }

    fn fill_random(&mut self, bytes: &mut [u8]) {
        if self.duplicate_below == 0 && self.zero_tail == 0 {
            self.stream.fill(bytes);
            return;
        }
        let unit = (self.content.dedup_unit_bytes as usize).max(512);
        for block in bytes.chunks_mut(unit) {
            let duplicate = self.duplicate_below > 0 && (self.rng.next_u64() as u32) < self.duplicate_below;
            if duplicate {
                Stream::new(1 + self.rng.below(self.duplicate_seeds)).fill(block);
            } else {
                self.stream.fill(block);
            }
            for part in block.chunks_mut(UNIT) {
                let keep = part.len() - (self.zero_tail * part.len()) / UNIT;
                part[keep..].fill(0);
            }
        }
    }

    /// Prepares `bytes` for the next write from the same buffer.
    #[inline]
    pub fn refresh(&mut self, bytes: &mut [u8]) {
        match self.content.refresh {
            Refresh::Never => {}
            Refresh::Stamp => self.restamp(bytes),
            Refresh::EveryWrite => self.fill(bytes),
        }
    }

    /// Changes eight bytes per unit, so that no two blocks ever written are equal.
    #[inline]
    fn restamp(&mut self, bytes: &mut [u8]) {
        if self.content.payload != Payload::Random || self.duplicate_below > 0 {
            return;
        }
        for block in bytes.chunks_mut(UNIT) {
            self.stamp = self.stamp.wrapping_add(0x9E37_79B9_7F4A_7C15);
            if let Some(word) = block.first_chunk_mut::<8>() {
                *word = self.stamp.to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(compression_ratio: f64, dedup_ratio: f64, refresh: Refresh) -> Content {
        Content { compression_ratio, dedup_ratio, refresh, ..Content::default() }
    }

    /// Order-0 entropy in bits per byte: 8 for incompressible bytes.
    fn entropy(bytes: &[u8]) -> f64 {
        let mut counts = [0_u32; 256];
        bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        let n = bytes.len() as f64;
        counts.iter().filter(|&&c| c > 0).map(|&c| f64::from(c) / n).map(|p| -p * p.log2()).sum()
    }

    #[test]
    fn random_bytes_are_incompressible_at_any_length() {
        for len in [1, 7, 64, 100, 1 << 20] {
            let mut bytes = vec![0; len];
            Filler::new(&content(1.0, 1.0, Refresh::EveryWrite), 1).fill(&mut bytes);
            if len == 1 << 20 {
                assert!(entropy(&bytes) > 7.999);
            }
        }
    }

    #[test]
    fn the_compression_ratio_is_the_share_of_zeros() {
        let mut bytes = vec![1; 1 << 20];
        Filler::new(&content(2.0, 1.0, Refresh::EveryWrite), 1).fill(&mut bytes);
        let zeros = bytes.iter().filter(|&&byte| byte == 0).count() as f64 / bytes.len() as f64;
        assert!((zeros - 0.502).abs() < 0.01, "{zeros}");
    }

    #[test]
    fn the_dedup_ratio_is_total_over_unique() {
        let mut bytes = vec![0; 16 << 20];
        Filler::new(&content(1.0, 2.0, Refresh::EveryWrite), 1).fill(&mut bytes);
        let unique: std::collections::HashSet<&[u8]> = bytes.chunks(UNIT).collect();
        let ratio = (bytes.len() / UNIT) as f64 / unique.len() as f64;
        assert!((ratio - 2.0).abs() < 0.15, "{ratio}");
    }

    #[test]
    fn stamped_blocks_are_never_equal() {
        let mut filler = Filler::new(&Content::default(), 1);
        let mut bytes = vec![0; 4 * UNIT];
        filler.fill(&mut bytes);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1000 {
            filler.refresh(&mut bytes);
            for block in bytes.chunks(UNIT) {
                assert!(seen.insert(block.to_vec()));
            }
        }
    }

    #[test]
    fn patterns_repeat() {
        let pattern = Content { payload: Payload::Pattern(b"abc".to_vec()), ..Content::default() };
        let mut bytes = vec![0; 8];
        Filler::new(&pattern, 1).fill(&mut bytes);
        assert_eq!(&bytes, b"abcabcab");
    }
}
