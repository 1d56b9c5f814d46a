//! What the validation of data found.

use std::collections::BTreeMap;

pub use assay_workload::block::{Fault, Identity};
use serde::{Deserialize, Serialize};

/// Errors that are kept of a job, each with what was found; the others are counted.
pub const ERRORS_KEPT: usize = 50;
/// Earlier runs that are told apart.
const EARLIER_RUNS_KEPT: usize = 16;

/// A block that did not hold what was written there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataError {
    /// The host that read it, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Name of the target in the plan.
    pub target: String,
    /// Offset of the first sector at fault in the target, bytes.
    pub offset_bytes: u64,
    /// Sectors of 512 bytes at fault in its key block.
    pub sectors: u32,
    /// What is wrong.
    pub fault: Fault,
    /// What that sector should be.
    pub expected: Identity,
    /// Older generations that are as good, because writes failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_writes: u32,
    /// What it says of itself; `None`: nothing.
    pub found: Option<Identity>,
    /// The first bytes that it should hold, in hex; the checksum in bytes 8 to 11, which covers data that is not kept, is left out.
    pub expected_hex: String,
    /// The first bytes that it holds.
    pub found_hex: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl DataError {
    /// Where and what, in a sentence.
    pub fn describe(&self) -> String {
        let DataError { target, offset_bytes, sectors, fault, expected, .. } = self;
        let sectors = if *sectors == 1 { "1 sector".to_owned() } else { format!("{sectors} sectors") };
        let found = self.found.map_or("no header".to_owned(), |found| found.to_string());
        // Of an earlier run it is known that it wrote there, and no more.
        let expected = match expected.generation {
            0 => "a block of an earlier run".to_owned(),
            _ => expected.to_string(),
        };
        // What a damaged sector says of itself may be right: then it is the bytes behind that are not.
        let found = match self.found {
            Some(same) if *fault == Fault::Damaged && same.to_string() == expected => {
                "that header, and bytes behind it that do not match".to_owned()
            }
            _ => found,
        };
        let host = self.host.as_ref().map_or_else(String::new, |host| format!("{host}: "));
        if *fault == Fault::OtherThanPattern {
            let (expected, found) = (&self.expected_hex, &self.found_hex);
            return format!(
                "{host}{target} offset {offset_bytes}: {}; from there on, expected {expected}; found {found}",
                fault.describe()
            );
        }
        format!(
            "{host}{target} offset {offset_bytes}: {sectors} {}; expected {expected}; found {found}",
            fault.describe()
        )
    }
}

/// What blocks of a run that crashed hold, by its journal. What the storage lost is among the wrong blocks of [`DataChecks`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CrashChecks {
    /// Blocks with an acknowledged write, which were compared with it.
    pub acknowledged: u64,
    /// Blocks with a write that was not acknowledged when the run crashed.
    pub in_flight: u64,
    /// Blocks that hold such a write, whole.
    pub newer: u64,
    /// Blocks with sectors of such a write and of one before it.
    pub torn: u64,
    /// The first of them.
    pub torn_first: Vec<DataError>,
}

impl CrashChecks {
    fn merge(&mut self, other: &CrashChecks) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.acknowledged, other.acknowledged);
        add(&mut self.in_flight, other.in_flight);
        add(&mut self.newer, other.newer);
        add(&mut self.torn, other.torn);
        let room = ERRORS_KEPT.saturating_sub(self.torn_first.len());
        self.torn_first.extend(other.torn_first.iter().take(room).cloned());
    }
}

/// How much of a job's data was validated, and what was wrong. Blocks are key blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DataChecks {
    /// The number that sectors of this run carry.
    pub run: u64,
    /// Blocks written with a header.
    pub written: u64,
    /// Blocks read that this run had written, each compared with its last write; without headers, blocks compared with their pattern.
    pub verified: u64,
    /// Blocks read that an earlier run had written: they are whole and in their place, whether they are of its last write is not
    /// known.
    pub of_earlier_runs: u64,
    /// Of those, how many each earlier run wrote, by the number that its sectors carry: several where one wrote over another, or where
    /// the storage gives back what an older one wrote. Of more than 16 runs not all are told.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub earlier_runs: BTreeMap<u64, u64>,
    /// Blocks read of which nothing is known: this run did not write them, trimmed them, or wrote a part of them.
    pub unverifiable: u64,
    /// Blocks that did not hold what was written there.
    pub wrong: u64,
    /// I/Os that waited until another one on the same block was complete.
    pub waited: u64,
    /// The first errors.
    pub errors: Vec<DataError>,
    /// What was found of a run that crashed; `None`: it was no such check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crash: Option<CrashChecks>,
}

impl DataChecks {
    /// Says which host found it.
    pub(crate) fn found_on(&mut self, host: &str) {
        let torn = self.crash.iter_mut().flat_map(|crash| &mut crash.torn_first);
        self.errors.iter_mut().chain(torn).for_each(|error| error.host = Some(host.to_owned()));
    }

    /// Adds what another thread or host found.
    pub fn merge(&mut self, other: &DataChecks) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        self.run = if self.run == 0 { other.run } else { self.run };
        add(&mut self.written, other.written);
        add(&mut self.verified, other.verified);
        add(&mut self.of_earlier_runs, other.of_earlier_runs);
        other.earlier_runs.iter().for_each(|(run, blocks)| self.add_earlier_run(*run, *blocks));
        add(&mut self.unverifiable, other.unverifiable);
        add(&mut self.wrong, other.wrong);
        add(&mut self.waited, other.waited);
        let room = ERRORS_KEPT.saturating_sub(self.errors.len());
        self.errors.extend(other.errors.iter().take(room).cloned());
        if let Some(crash) = &other.crash {
            self.crash.get_or_insert_default().merge(crash);
        }
    }

    /// Counts a block that is of an earlier run, whole and in its place.
    pub fn of_earlier_run(&mut self, run: u64) {
        self.of_earlier_runs = self.of_earlier_runs.saturating_add(1);
        self.add_earlier_run(run, 1);
    }

    fn add_earlier_run(&mut self, run: u64, blocks: u64) {
        if self.earlier_runs.len() < EARLIER_RUNS_KEPT || self.earlier_runs.contains_key(&run) {
            let count = self.earlier_runs.entry(run).or_default();
            *count = count.saturating_add(blocks);
        }
    }

    /// In words: blocks of which earlier runs, where there are several.
    pub fn several_earlier_runs(&self) -> Option<String> {
        let each = self.earlier_runs.iter().map(|(run, blocks)| format!("{blocks} of run {run:016x}"));
        (self.earlier_runs.len() > 1).then(|| each.collect::<Vec<_>>().join(", "))
    }

    /// What several found together; `None`: nothing was validated.
    pub fn merged<'a>(parts: impl Iterator<Item = &'a DataChecks>) -> Option<DataChecks> {
        parts.fold(None, |sum, part| {
            let mut sum = sum.unwrap_or_default();
            sum.merge(part);
            Some(sum)
        })
    }

    /// Blocks that were read.
    pub fn read(&self) -> u64 {
        [self.of_earlier_runs, self.unverifiable]
            .iter()
            .fold(self.verified, |sum, more| sum.saturating_add(*more))
    }

    /// Share of the blocks read that could be compared with their last write; `None`: none were read.
    pub fn verified_share(&self) -> Option<f64> {
        let read = self.read();
        (read > 0).then(|| self.verified as f64 / read as f64)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn error(offset_bytes: u64) -> DataError {
        let expected = Identity { target: 0xab, offset_bytes, generation: 2, run: 3, ..Identity::default() };
        DataError {
            host: None,
            target: "data".to_owned(),
            offset_bytes,
            sectors: 8,
            fault: Fault::Stale,
            expected,
            failed_writes: 0,
            found: Some(Identity { generation: 1, ..expected }),
            expected_hex: String::new(),
            found_hex: String::new(),
        }
    }

    #[test]
    fn an_error_says_where_and_what() {
        assert_eq!(
            error(4096).describe(),
            "data offset 4096: 8 sectors stale (lost write); expected target 000000ab, offset 4096, generation 2, run \
             0000000000000003; found target 000000ab, offset 4096, generation 1, run 0000000000000003"
        );
    }

    #[test]
    fn all_are_counted_and_some_are_kept() {
        let part = DataChecks {
            verified: 30,
            wrong: 40,
            errors: (0..40).map(error).collect(),
            ..Default::default()
        };
        let sum = DataChecks::merged([&part, &part].into_iter()).unwrap();
        assert_eq!((sum.wrong, sum.errors.len(), sum.read()), (80, ERRORS_KEPT, 60));
        assert_eq!(DataChecks::merged(std::iter::empty()), None);
        let share = DataChecks { verified: 1, unverifiable: 2, of_earlier_runs: 1, ..DataChecks::default() };
        assert_eq!(share.verified_share(), Some(0.25));
    }
}
