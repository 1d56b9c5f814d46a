//! A random map in O(1) memory: a keyed permutation of 0..n instead of a bitmap of blocks already visited.
//!
//! fio keeps a bitmap per job so that each block is visited once per pass; at a terabyte of 4 KiB blocks that is
//! 32 MiB to miss the cache in. A permutation of the block numbers gives the same guarantee from a few registers:
//! an invertible mixing function on the next power of two (alternating odd multiplications and xor-shifts, both
//! bijections modulo 2^k), walked until it lands below n (cycle walking, Black and Rogaway 2002).

use crate::rng::splitmix64;

/// A permutation of `0..n`, chosen by a key.
#[derive(Debug, Clone)]
pub struct Permutation {
    n: u64,
    mask: u64,
    shift: u32,
    multiply: [u64; 3],
    add: [u64; 3],
}

impl Permutation {
    /// The permutation of `0..n` that belongs to `key`. `n` is at least 1 and at most 2^62.
    pub fn new(n: u64, key: u64) -> Self {
        let n = n.clamp(1, 1 << 62);
        let bits = (64 - (n - 1).leading_zeros()).max(2);
        let mut state = key;
        Permutation {
            n,
            mask: (1 << bits) - 1,
            shift: bits.div_ceil(2),
            multiply: std::array::from_fn(|_| splitmix64(&mut state) | 1),
            add: std::array::from_fn(|_| splitmix64(&mut state)),
        }
    }

    /// How many numbers are permuted.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Never: a permutation has at least one element.
    pub fn is_empty(&self) -> bool {
        false
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        for round in 0..3 {
            x = x.wrapping_mul(self.multiply[round]).wrapping_add(self.add[round]) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }

    /// The `index`-th number of the permuted sequence; `index` below `n`.
    ///
    /// The power of two is below 2n, so the walk takes two steps on average at worst.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        let mut x = self.mix(index);
        while x >= self.n {
            x = self.mix(x);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn visits_every_number_once(n in 1_u64..5_000, key: u64) {
            let permutation = Permutation::new(n, key);
            let mut seen = vec![false; n as usize];
            for i in 0..n {
                let x = permutation.at(i) as usize;
                prop_assert!(!seen[x]);
                seen[x] = true;
            }
        }
    }

    /// Block order must look random: neighbours in time should not be neighbours on the device.
    #[test]
    fn successive_numbers_are_far_apart() {
        let n = 1 << 16;
        let permutation = Permutation::new(n, 99);
        let mean = (1..n).map(|i| permutation.at(i).abs_diff(permutation.at(i - 1)) as f64).sum::<f64>()
            / (n - 1) as f64;
        // Two independent uniform numbers are n/3 apart on average.
        assert!((mean / (n as f64 / 3.0) - 1.0).abs() < 0.05, "{mean}");
    }

    /// The first part of a pass must already be spread evenly over the range.
    #[test]
    fn a_prefix_covers_the_range_evenly() {
        for n in [1_u64 << 20, 1_000_003] {
            let permutation = Permutation::new(n, 5);
            let mut bins = [0_u32; 16];
            for i in 0..n / 16 {
                bins[(permutation.at(i) * 16 / n) as usize] += 1;
            }
            let expected = n as f64 / 256.0;
            for bin in bins {
                assert!((f64::from(bin) / expected - 1.0).abs() < 0.12, "{bins:?}");
            }
        }
    }
}
