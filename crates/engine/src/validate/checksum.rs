//! The checksums of several sectors side by side.
//!
//! The processor's instruction for CRC-32C has its result after three cycles and can begin another one each cycle, but each step of
//! a checksum needs the one before it. So the steps of several sectors take turns.

use assay_workload::block::{self, GROUP, SECTOR_BYTES};

/// The checksum of each sector of a group.
#[inline]
pub(crate) fn checksums(group: &[[u8; SECTOR_BYTES]; GROUP]) -> [u32; GROUP] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instruction.
        return unsafe { by_instruction(group) };
    }
    block::checksums(group)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn by_instruction(group: &[[u8; SECTOR_BYTES]; GROUP]) -> [u32; GROUP] {
    use std::arch::x86_64::{_mm_crc32_u32, _mm_crc32_u64};

    const WORDS: usize = SECTOR_BYTES / 8;
    const NONE: &[[u8; 8]; WORDS] = &[[0; 8]; WORDS];
    let words = group.each_ref().map(|sector| sector.as_chunks().0.first_chunk().unwrap_or(NONE));
    let mut sums = [0_u64; GROUP];
    for (sum, words) in sums.iter_mut().zip(words) {
        // The second half of this word is the first that is summed.
        let half = (u64::from_le_bytes(words[1]) >> 32) as u32;
        *sum = u64::from(_mm_crc32_u32(u32::MAX, half));
    }
    for index in 2..WORDS {
        for (sum, words) in sums.iter_mut().zip(words) {
            *sum = _mm_crc32_u64(*sum, u64::from_le_bytes(words[index]));
        }
    }
    sums.map(|sum| !(sum as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_sectors_one_by_one() {
        let mut rng = assay_workload::rng::Rng::new(3);
        for _ in 0..100 {
            let group: [[u8; SECTOR_BYTES]; GROUP] =
                std::array::from_fn(|_| std::array::from_fn(|_| rng.next_u64() as u8));
            assert_eq!(checksums(&group), block::checksums(&group));
        }
    }
}
