//! Comparing what a thread read with what should be there.

use std::fmt::Write as _;
use std::ops::Range;

use assay_results::data::{DataChecks, DataError, ERRORS_KEPT};
use assay_workload::block::{self, Expected, FIO_MAGIC, Fault, Identity, SECTOR_BYTES, Sector};
use assay_workload::fill::PlacedPattern;

use super::checksum::checksums;
use super::map::{Known, TargetMap};

/// Bytes that are shown of what was expected and of what was found.
const SHOWN: usize = 64;

/// What one thread found.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) found: DataChecks,
    /// All that is read was written by this program: a block without headers is wrong, unless it has those of fio.
    pub(super) expects_headers: bool,
    /// The targets of the plan, as their sectors name them.
    pub(super) targets: Box<[u32]>,
}

impl Checked {
    pub(super) fn new(run: u64) -> Checked {
        // What the first errors need is there before the start.
        let errors = Vec::with_capacity(ERRORS_KEPT);
        let found = DataChecks { run, errors, ..DataChecks::default() };
        Checked { found, expects_headers: false, targets: Box::default() }
    }

    /// A key block was read; whether it is as it should be.
    #[inline]
    pub(super) fn read(&mut self, map: &TargetMap, key: usize, bytes: &[u8]) -> bool {
        match map.known(key) {
            Known::Write(expected) => {
                self.found.verified += 1;
                block::holds_by(bytes, &expected.first, checksums) || self.diagnose(map, &expected, bytes)
            }
            Known::NotWritten => self.read_unwritten(map, key, bytes),
            // What else wrote there may have left it as it was.
            Known::Nothing if self.expects_headers => self.read_unwritten(map, key, bytes),
            Known::Nothing => {
                self.found.unverifiable += 1;
                true
            }
        }
    }

    /// A part of a block without headers was read, which begins at `block_offset_bytes`; whether the key block there is as it should be.
    #[inline]
    pub(super) fn read_pattern(
        &mut self,
        map: &TargetMap,
        key: usize,
        pattern: &mut PlacedPattern,
        block_offset_bytes: u64,
        part: Range<usize>,
        bytes: &[u8],
    ) -> bool {
        let written = match map.known(key) {
            // A write that failed may have left what was there before.
            Known::Write(expected) => expected.failed_writes == 0,
            Known::NotWritten | Known::Nothing => self.expects_headers,
        };
        let Some(found) = bytes.get(part.clone()).filter(|_| written) else {
            self.found.unverifiable += 1;
            return true;
        };
        self.found.verified += 1;
        match pattern.first_wrong(block_offset_bytes, part.start, found) {
            None => true,
            Some(wrong) => {
                self.other_than_pattern(map, key, pattern, block_offset_bytes, part.start + wrong, bytes);
                false
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn other_than_pattern(
        &mut self,
        map: &TargetMap,
        key: usize,
        pattern: &mut PlacedPattern,
        block_offset_bytes: u64,
        wrong: usize,
        bytes: &[u8],
    ) {
        let mut expected = vec![0; bytes.len()];
        pattern.fill(block_offset_bytes, &mut expected);
        let start = wrong / SECTOR_BYTES * SECTOR_BYTES;
        let mut identity = map.identity(key, 0);
        identity.offset_bytes = block_offset_bytes + start as u64;
        self.wrong(DataError {
            host: None,
            target: map.name.clone(),
            offset_bytes: block_offset_bytes + wrong as u64,
            sectors: 1,
            fault: Fault::OtherThanPattern,
            expected: identity,
            failed_writes: 0,
            found: None,
            expected_hex: hex(&expected[wrong..]),
            found_hex: hex(&bytes[wrong..]),
        });
    }

    #[cold]
    #[inline(never)]
    fn diagnose(&mut self, map: &TargetMap, expected: &Expected, bytes: &[u8]) -> bool {
        let Some(wrong) = block::diagnose(bytes, expected) else { return true };
        let start = wrong.sector * SECTOR_BYTES;
        self.wrong(DataError {
            host: None,
            target: map.name.clone(),
            offset_bytes: wrong.expected.offset_bytes,
            sectors: wrong.sectors_at_fault as u32,
            fault: wrong.fault,
            expected: wrong.expected,
            failed_writes: expected.failed_writes,
            found: wrong.found,
            expected_hex: expected_hex(&wrong.expected),
            found_hex: hex(&bytes[start..]),
        });
        false
    }

    /// Of a block that this run did not write, an earlier one may have: then it is checked by itself. What is of this run is here
    /// by mistake.
    #[cold]
    #[inline(never)]
    fn read_unwritten(&mut self, map: &TargetMap, key: usize, bytes: &[u8]) -> bool {
        if let Some(crash) = &map.crash {
            return self.read_after_crash(map, crash, key, bytes);
        }
        let (mut of_earlier, mut is_mixed, mut before) = (0, false, None::<Identity>);
        for (index, sector) in bytes.chunks_exact(SECTOR_BYTES).enumerate() {
            let mut expected = map.identity(key, 0);
            expected.offset_bytes += (index * SECTOR_BYTES) as u64;
            let (fault, found) = match block::inspect(sector) {
                Sector::NotOurs if self.expects_headers && !bytes.starts_with(&FIO_MAGIC) => {
                    let zeros = sector.iter().all(|byte| *byte == 0);
                    (Some(if zeros { Fault::Zeros } else { Fault::NotOurs }), None)
                }
                Sector::NotOurs => continue,
                Sector::Damaged(found) => match self.is_unknown(&found, &expected) {
                    true => continue,
                    false => (Some(Fault::Damaged), Some(found)),
                },
                Sector::Whole(found) => (self.place_fault(&found, &expected), Some(found)),
            };
            if let Some(fault) = fault {
                self.unlike(map, expected, fault, found, sector);
                return false;
            }
            let Some(found) = found.filter(|found| self.is_in_place(found, &expected)) else { continue };
            of_earlier += 1;
            // The first sector of the block that was written as a whole.
            let first = before.filter(|before| before.is_of_block_with(&found)).unwrap_or(found);
            before = Some(first);
            is_mixed |= found.excludes(&first);
            // Any of several writes by this run, some of which failed, says nothing.
            if is_mixed && self.expects_headers && matches!(map.known(key), Known::NotWritten) {
                let expected = Identity { offset_bytes: found.offset_bytes, ..first };
                self.unlike(map, expected, Fault::Torn, Some(found), sector);
                return false;
            }
        }
        match before {
            Some(written) if of_earlier * SECTOR_BYTES == bytes.len() && !is_mixed => {
                self.found.of_earlier_run(written.run);
            }
            _ => self.found.unverifiable += 1,
        }
        true
    }

    /// Whether a sector whose checksum does not match says nothing against the storage.
    fn is_unknown(&self, found: &Identity, expected: &Identity) -> bool {
        let in_place = (found.target, found.offset_bytes) == (expected.target, expected.offset_bytes);
        !in_place && !self.expects_headers
    }

    /// Whether a whole sector is where it was written. A file that was renamed since has sectors of another name.
    fn is_in_place(&self, found: &Identity, expected: &Identity) -> bool {
        let renamed =
            self.expects_headers && found.run != expected.run && !self.targets.contains(&found.target);
        found.offset_bytes == expected.offset_bytes && (found.target == expected.target || renamed)
    }

    /// What the place of a whole sector says against the storage.
    fn place_fault(&self, found: &Identity, expected: &Identity) -> Option<Fault> {
        let other_target = found.target != expected.target;
        match () {
            () if self.is_in_place(found, expected) => None,
            // What was here before may have been written under another name, or moved by the previous owner of the storage.
            () if !self.expects_headers && found.run != expected.run => None,
            () if other_target && (!self.expects_headers || self.targets.contains(&found.target)) => {
                Some(Fault::OtherTarget)
            }
            () => Some(Fault::Misplaced),
        }
    }

    /// A sector of an earlier run is not what it should be.
    fn unlike(
        &mut self,
        map: &TargetMap,
        expected: Identity,
        fault: Fault,
        found: Option<Identity>,
        sector: &[u8],
    ) {
        self.wrong(DataError {
            host: None,
            target: map.name.clone(),
            offset_bytes: expected.offset_bytes,
            sectors: 1,
            fault,
            expected,
            failed_writes: 0,
            found,
            expected_hex: String::new(),
            found_hex: hex(sector),
        });
    }

    /// A key block could not be read because the target ends before its end; whether that is as it should be.
    #[cold]
    pub(super) fn missing(&mut self, map: &TargetMap, key: usize, read: &[u8]) -> bool {
        if let Some(crash) = &map.crash {
            return self.missing_after_crash(map, crash, key, read);
        }
        let Known::Write(expected) = map.known(key) else { return true };
        self.found.verified += 1;
        self.wrong(DataError {
            host: None,
            target: map.name.clone(),
            offset_bytes: expected.first.offset_bytes,
            sectors: (map.key_bytes as usize / SECTOR_BYTES) as u32,
            fault: Fault::Truncated,
            expected: expected.first,
            failed_writes: expected.failed_writes,
            found: None,
            expected_hex: expected_hex(&expected.first),
            found_hex: hex(read),
        });
        false
    }

    pub(super) fn wrong(&mut self, error: DataError) {
        self.found.wrong += 1;
        if self.found.errors.len() < ERRORS_KEPT {
            self.found.errors.push(error);
        }
    }
}

/// The header that should be there; what its checksum covers is not known any more.
pub(super) fn expected_hex(expected: &block::Identity) -> String {
    let header = block::header(expected);
    format!("{}........{}", hex(&header[..8]), hex(&header[12..]))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * SHOWN);
    for byte in bytes.iter().take(SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
