//! Validation of data: what is written carries headers ([`assay_workload::block`]), what is read is compared with the last write.
//!
//! [`Validation`] knows for a whole run which write of each key block was the last. Jobs that verify run through an
//! [`engine::ValidatedEngine`] around theirs; for all others the job loop is as it was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_workload::plan::{Plan, VerifiedTarget};

use crate::seam::EngineError;

mod after_crash;
mod checked;
mod checksum;
pub(crate) mod engine;
mod journal;
mod map;
mod written;
mod zeroed;

pub(crate) use journal::TargetJournal;
pub use journal::{CrashedRun, Journal, JournalError, JournalOf, JournaledTarget};
use map::Crash;
pub(crate) use map::TargetMap;
pub(crate) use written::WrittenBlocks;

/// What a run has written.
#[derive(Debug)]
pub struct Validation {
    run: u64,
    known: Mutex<Known>,
    /// Where writes are kept.
    journal: Option<Arc<Journal>>,
}

#[derive(Debug, Default)]
struct Known {
    /// By number of the target.
    maps: BTreeMap<u32, Arc<TargetMap>>,
    /// Phases whose writes without headers are taken into account.
    phases: usize,
}

impl Default for Validation {
    /// Of a run that has no number.
    fn default() -> Self {
        Validation::new(1)
    }
}

impl Validation {
    /// Of the run whose sectors carry the number `run`.
    pub fn new(run: u64) -> Validation {
        Validation { run, known: Mutex::default(), journal: None }
    }

    /// Of a run whose writes are kept in a journal.
    pub fn journaled(run: u64, journal: Arc<Journal>) -> Validation {
        Validation { journal: Some(journal), ..Validation::new(run) }
    }

    /// Of a plan that reads what a run that crashed had written: its targets are those of the journals, in their order.
    ///
    /// # Errors
    /// [`EngineError::Memory`]
    pub fn after_crash(crashed: Vec<CrashedRun>) -> Result<Validation, EngineError> {
        let mut maps = BTreeMap::new();
        let first = crashed.first().map_or(1, |crashed| crashed.run);
        let each = crashed.into_iter().flat_map(|CrashedRun { run, targets, keys, .. }| {
            targets.into_iter().zip(keys).map(move |(target, keys)| (run, target, keys))
        });
        for (number, (run, target, keys)) in (0..).zip(each) {
            let JournaledTarget { key_block_bytes, end_bytes, buffered, .. } = target;
            let verified = VerifiedTarget { key_block_bytes, end_bytes, stands_for: number, bare: false };
            let mut map = TargetMap::new(&target.name, run, &verified)?;
            map.crash = Some(Crash { keys, buffered });
            maps.insert(number, Arc::new(map));
        }
        let known = Mutex::new(Known { maps, phases: 0 });
        Ok(Validation { known, ..Validation::new(first) })
    }

    /// The journal, where there is one.
    pub fn journal(&self) -> Option<&Arc<Journal>> {
        self.journal.as_ref()
    }

    /// Before a phase: makes room for what is going to be known, and forgets what jobs without headers overwrite.
    pub(crate) fn prepare(&self, plan: &Plan, phase: usize) -> Result<(), EngineError> {
        let verified = plan.verified();
        if verified.is_empty() {
            return Ok(());
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, target) in verified {
            if known.maps.contains_key(&number) {
                continue;
            }
            let map = match known.maps.get(&target.stands_for) {
                Some(map) => Arc::clone(map),
                None => {
                    let name = &plan.targets[target.stands_for as usize].name;
                    let mut map = TargetMap::new(name, self.run, &target)?;
                    map.journal = self.journal.as_ref().and_then(|journal| journal.of(target.stands_for));
                    Arc::new(map)
                }
            };
            known.maps.insert(number, map);
        }
        for phase in &plan.phases[known.phases.min(phase)..=phase] {
            let plain = phase.jobs.iter().filter(|job| job.changes_data() && !job.verifies(phase));
            for site in plain.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites) {
                if let Some(map) = known.maps.get(&site.target) {
                    map.forget(site.offset_bytes, site.length_bytes);
                }
            }
        }
        known.phases = phase + 1;
        Ok(())
    }

    /// The number that its sectors carry.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// What is known of a target; `None`: its data is not verified.
    pub(crate) fn map(&self, target: u32) -> Option<Arc<TargetMap>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.maps.get(&target).cloned()
    }

    /// All targets whose data is verified, as their sectors name them.
    pub(crate) fn targets(&self) -> Box<[u32]> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.maps.values().map(|map| map.id).collect()
    }
}

#[cfg(test)]
mod tests;
