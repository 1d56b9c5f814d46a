//! The self-describing block: what is written says itself where it belongs and whether it is whole.
//!
//! A block is cut into units of one size (the alignment of the job's offsets), and every unit starts with a header, little
//! endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0-7 | the magic word `ASSAYBLK` |
//! | 8-11 | CRC-32C (Castagnoli, as iSCSI and ext4 use) of all bytes behind it |
//! | 12-15 | length of the unit in bytes |
//! | 16-23 | offset of the unit in its target, bytes |
//! | 24-31 | which write of its writer it was, from 1 |
//! | 32-39 | the seed of the run that wrote it |
//!
//! A unit that is torn, damaged, left over from elsewhere or never written is told apart by what is wrong in it.

/// Bytes of a header; no unit is shorter than a sector, so there is always data behind it.
pub const HEADER_BYTES: usize = 40;
const MAGIC: [u8; 8] = *b"ASSAYBLK";
/// Where the checksummed part starts.
const SUMMED: usize = 12;

/// Why a unit is not what was written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no header: never written by Assay, or the start was lost.
    #[error("holds no block of ours")]
    NoHeader,
    /// The bytes do not match their checksum: damaged or torn.
    #[error("does not match its checksum: {stored:#010x} stored, {computed:#010x} computed")]
    Damaged {
        /// As the header says.
        stored: u32,
        /// Of the bytes that were read.
        computed: u32,
    },
    /// A whole unit that belongs elsewhere: misdirected.
    #[error("belongs to offset {offset_bytes}")]
    Misplaced {
        /// Where it belongs.
        offset_bytes: u64,
    },
}

/// What a whole unit says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Where it belongs, bytes from the start of the target.
    pub offset_bytes: u64,
    /// Which write of its writer it was.
    pub sequence: u64,
    /// The seed of the run that wrote it.
    pub run_seed: u64,
}

/// Makes the bytes a unit: header and checksum. Bytes behind the header are left as they are. Shorter than a header: nothing
/// is done.
#[inline]
pub fn seal(unit: &mut [u8], identity: &Identity) {
    let len = unit.len() as u32;
    let Some(header) = unit.first_chunk_mut::<HEADER_BYTES>() else { return };
    header[..8].copy_from_slice(&MAGIC);
    header[12..16].copy_from_slice(&len.to_le_bytes());
    header[16..24].copy_from_slice(&identity.offset_bytes.to_le_bytes());
    header[24..32].copy_from_slice(&identity.sequence.to_le_bytes());
    header[32..40].copy_from_slice(&identity.run_seed.to_le_bytes());
    let sum = crc32c::crc32c(&unit[SUMMED..]);
    unit[8..SUMMED].copy_from_slice(&sum.to_le_bytes());
}

/// Checks the unit that was read at `offset_bytes`.
///
/// # Errors
/// [`Fault`]: what is wrong with it.
#[inline]
pub fn check(unit: &[u8], offset_bytes: u64) -> Result<Identity, Fault> {
    let header = unit.first_chunk::<HEADER_BYTES>().filter(|header| header[..8] == MAGIC);
    let header = header.ok_or(Fault::NoHeader)?;
    let word = |at: usize| header[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let stored = word(8) as u32;
    let computed = crc32c::crc32c(&unit[SUMMED..]);
    if stored != computed {
        return Err(Fault::Damaged { stored, computed });
    }
    let identity = Identity { offset_bytes: word(16), sequence: word(24), run_seed: word(32) };
    if identity.offset_bytes != offset_bytes {
        return Err(Fault::Misplaced { offset_bytes: identity.offset_bytes });
    }
    Ok(identity)
}

/// Checks every unit of `unit_bytes` of what was read at `offset_bytes`.
///
/// # Errors
/// The first [`Fault`], and the offset of its unit.
pub fn check_all(bytes: &[u8], offset_bytes: u64, unit_bytes: usize) -> Result<(), (u64, Fault)> {
    let mut at = offset_bytes;
    for unit in bytes.chunks(unit_bytes.max(HEADER_BYTES)) {
        check(unit, at).map_err(|fault| (at, fault))?;
        at += unit.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(len: usize, offset_bytes: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
        seal(&mut bytes, &Identity { offset_bytes, sequence: 7, run_seed: 9 });
        bytes
    }

    #[test]
    fn a_unit_says_what_it_is() {
        let identity = Identity { offset_bytes: 8192, sequence: 7, run_seed: 9 };
        assert_eq!(check(&unit(4096, 8192), 8192), Ok(identity));
    }

    #[test]
    fn faults_are_told_apart() {
        assert_eq!(check(&[0; 4096], 0), Err(Fault::NoHeader));
        assert_eq!(check(&[0; 8], 0), Err(Fault::NoHeader));
        assert_eq!(check(&unit(512, 512), 1024), Err(Fault::Misplaced { offset_bytes: 512 }));
        // The second half of a torn unit is that of the write before it.
        let mut torn = unit(4096, 0);
        torn[2048..].fill(0);
        assert!(matches!(check(&torn, 0), Err(Fault::Damaged { .. })));
    }

    #[test]
    fn the_unit_at_fault_is_named() {
        let mut bytes = [unit(512, 4096), unit(512, 4608), unit(512, 5120)].concat();
        assert_eq!(check_all(&bytes, 4096, 512), Ok(()));
        bytes[1024 + 100] ^= 1;
        assert!(matches!(check_all(&bytes, 4096, 512), Err((5120, Fault::Damaged { .. }))));
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(len in 64_usize..5000, at: usize, bit in 0_u32..8) {
            let mut bytes = unit(len, 4096);
            bytes[at % len] ^= 1_u8 << bit;
            prop_assert!(check(&bytes, 4096).is_err());
        }
    }
}
