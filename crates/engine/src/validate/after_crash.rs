//! Comparing what a thread read with what a run that crashed must have left.

use assay_results::data::{CrashChecks, DataError, ERRORS_KEPT};
use assay_workload::block::{self, Diagnosis, Fault, SECTOR_BYTES, Survived, Survivor};

use super::checked::{Checked, expected_hex, hex};
use super::journal::KeyState;
use super::map::{Crash, TargetMap};

impl Checked {
    /// A key block was read that a run that crashed had written; whether it is as it must be.
    pub(super) fn read_after_crash(
        &mut self,
        map: &TargetMap,
        crash: &Crash,
        key: usize,
        bytes: &[u8],
    ) -> bool {
        let state = crash.keys.get(key);
        if state.last == 0 {
            return true;
        }
        let first = map.identity(key, state.acknowledged());
        let survivor = Survivor { first, torn_sectors: crash.buffered && state.in_flight() };
        let survived = block::after_crash(bytes, &survivor);
        // The journal may lack the last writes of all.
        self.count(state, matches!(survived, Survived::New | Survived::Torn(_)));
        match survived {
            Survived::Old => {}
            Survived::New => self.crash().newer += 1,
            Survived::Torn(torn) => {
                let error = error(map, &torn, bytes);
                let crash = self.crash();
                crash.torn += 1;
                if crash.torn_first.len() < ERRORS_KEPT {
                    crash.torn_first.push(error);
                }
            }
            Survived::Lost(lost) => {
                self.wrong(error(map, &lost, bytes));
                return false;
            }
        }
        true
    }

    /// The target ends before the end of a key block of a run that crashed; whether that may be.
    pub(super) fn missing_after_crash(
        &mut self,
        map: &TargetMap,
        crash: &Crash,
        key: usize,
        read: &[u8],
    ) -> bool {
        let state = crash.keys.get(key);
        if state.last == 0 {
            return true;
        }
        self.count(state, false);
        if state.acknowledged() == 0 {
            return true;
        }
        let expected = map.identity(key, state.acknowledged());
        let sectors_at_fault = map.key_bytes as usize / SECTOR_BYTES;
        let missing =
            Diagnosis { fault: Fault::Truncated, sector: 0, sectors_at_fault, expected, found: None };
        self.wrong(error(map, &missing, read));
        false
    }

    /// `is_newer`: it holds a write that was not acknowledged.
    fn count(&mut self, state: KeyState, is_newer: bool) {
        let is_acknowledged = u64::from(state.acknowledged() != 0);
        self.found.verified += is_acknowledged;
        let crash = self.crash();
        crash.acknowledged += is_acknowledged;
        crash.in_flight += u64::from(state.in_flight() || is_newer);
    }

    fn crash(&mut self) -> &mut CrashChecks {
        self.found.crash.get_or_insert_default()
    }
}

fn error(map: &TargetMap, wrong: &Diagnosis, bytes: &[u8]) -> DataError {
    DataError {
        host: None,
        target: map.name.clone(),
        offset_bytes: wrong.expected.offset_bytes,
        sectors: wrong.sectors_at_fault as u32,
        fault: wrong.fault,
        expected: wrong.expected,
        failed_writes: 0,
        found: wrong.found,
        expected_hex: expected_hex(&wrong.expected),
        found_hex: hex(bytes.get(wrong.sector * SECTOR_BYTES..).unwrap_or(&[])),
    }
}
