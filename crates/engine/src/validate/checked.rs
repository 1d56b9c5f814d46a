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
}

impl Checked {
    pub(super) fn new(run: u64) -> Checked {
        // What the first errors need is there before the start.
        let errors = Vec::with_capacity(ERRORS_KEPT);
        Checked { found: DataChecks { run, errors, ..DataChecks::default() }, expects_headers: false }
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
        let (mut of_earlier, mut run) = (0, 0);
        for (index, sector) in bytes.chunks_exact(SECTOR_BYTES).enumerate() {
            let mut expected = map.identity(key, 0);
            expected.offset_bytes += (index * SECTOR_BYTES) as u64;
            let (found, is_whole) = match block::inspect(sector) {
                Sector::NotOurs if self.expects_headers && !bytes.starts_with(&FIO_MAGIC) => {
                    let zeros = sector.iter().all(|byte| *byte == 0);
                    let fault = if zeros { Fault::Zeros } else { Fault::NotOurs };
                    self.unlike(map, expected, fault, None, sector);
                    return false;
                }
                Sector::NotOurs => continue,
                Sector::Damaged(found) => (found, false),
                Sector::Whole(found) => (found, true),
            };
            let in_place = (found.target, found.offset_bytes) == (expected.target, expected.offset_bytes);
            let fault = match () {
                () if in_place && !is_whole => Fault::Damaged,
                () if in_place => {
                    of_earlier += 1;
                    run = found.run;
                    continue;
                }
                () if self.expects_headers && is_whole && found.target == expected.target => Fault::Misplaced,
                // What was here before may have been written under another name, or moved by the previous owner of the storage.
                () if found.run != expected.run || !is_whole => continue,
                () if found.target != expected.target => Fault::OtherTarget,
                () => Fault::Misplaced,
            };
            self.unlike(map, expected, fault, Some(found), sector);
            return false;
        }
        if of_earlier * SECTOR_BYTES == bytes.len() {
            self.found.of_earlier_run(run);
        } else {
            self.found.unverifiable += 1;
        }
        true
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
