//! Validation of data: what is written carries headers ([`assay_workload::block`]), what is read is compared with the last write.
//!
//! [`Validation`] knows for a whole run which write of each key block was the last. Jobs that verify run through an
//! [`engine::ValidatedEngine`] around theirs; for all others the job loop is as it was.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use assay_workload::plan::Plan;

use crate::seam::EngineError;

mod checked;
mod checksum;
pub(crate) mod engine;
mod map;
mod written;

pub(crate) use map::TargetMap;
pub(crate) use written::WrittenBlocks;

/// What a run has written.
#[derive(Debug)]
pub struct Validation {
    run: u64,
    known: Mutex<Known>,
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
        Validation { run, known: Mutex::default() }
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
                    Arc::new(TargetMap::new(name, self.run, &target)?)
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
}

#[cfg(test)]
mod tests;
