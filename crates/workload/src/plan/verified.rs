//! The targets whose data a plan verifies, and what that takes.

use std::collections::BTreeMap;

use super::{Carrier, Plan, PlannedJob, PlannedPhase, PlannedTarget};
use crate::block::SECTOR_BYTES;
use crate::content::{Acknowledged, DataJournal};
use crate::job::{OpenSync, PhaseKind};
use crate::pattern::OpKind;
use crate::target::TargetKind;

/// Bytes that are kept of each key block.
const KEY_BLOCK_STATE_BYTES: u64 = 4;
/// And of each in a journal: the last acknowledged write, and the last one.
const JOURNALED_STATE_BYTES: u64 = 8;

/// A target whose data is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedTarget {
    /// Bytes of a key block: what jobs write whole, and what has a generation.
    pub key_block_bytes: u64,
    /// End of the part that is verified.
    pub end_bytes: u64,
    /// The target that stands for all with the same path.
    pub stands_for: u32,
    /// Some job writes blocks without headers there.
    pub bare: bool,
}

impl VerifiedTarget {
    /// How many key blocks there are.
    pub fn key_blocks(&self) -> u64 {
        self.end_bytes.div_ceil(self.key_block_bytes)
    }

    /// Memory for what is known of each of them.
    pub fn state_bytes(&self) -> u64 {
        self.key_blocks().saturating_mul(KEY_BLOCK_STATE_BYTES)
    }
}

impl PlannedJob {
    /// Whether its data is verified: block I/O whose content says so, by an engine of this program that has data.
    pub fn verifies(&self, phase: &PlannedPhase) -> bool {
        let has_data = phase.carried_by == Carrier::Native && self.moves_data();
        self.content.verify && self.is_blocks() && has_data
    }

    /// Whether what it writes is read back at once.
    pub fn rereads(&self, phase: &PlannedPhase) -> bool {
        self.content.reread && self.verifies(phase)
    }

    /// Whether its writes are acknowledged when they complete, as a journal takes it.
    pub fn acknowledges_at_completion(&self) -> bool {
        let asked = self.content.journal.as_ref().map(|journal| journal.acknowledged);
        self.flush.open != OpenSync::None || asked == Some(Acknowledged::Completed)
    }

    /// Whether it changes data on a target.
    pub fn changes_data(&self) -> bool {
        self.is_blocks() && self.pattern.kinds().any(|kind| kind != OpKind::Read)
    }

    /// Whether it reads what was written before it in the run, and nothing else.
    pub fn reads_what_was_written(&self, phase: &PlannedPhase) -> bool {
        phase.kind == PhaseKind::Verify && self.verifies(phase) && !self.changes_data()
    }
}

impl Plan {
    /// The targets whose data some job verifies, by their number. Key blocks are so large that every job that verifies reads and
    /// writes whole ones.
    pub fn verified(&self) -> BTreeMap<u32, VerifiedTarget> {
        let mut places: BTreeMap<u32, VerifiedTarget> = BTreeMap::new();
        let jobs = self.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
        for (_, job) in jobs.filter(|(phase, job)| job.verifies(phase)) {
            let align = job.pattern.align();
            for site in job.slices.iter().flat_map(|slice| &slice.sites) {
                let Some(stands_for) = self.first_of_path(site.target) else { continue };
                let end_bytes = site.offset_bytes.saturating_add(site.length_bytes);
                let unknown = VerifiedTarget { key_block_bytes: 0, end_bytes: 0, stands_for, bare: false };
                let place = places.entry(stands_for).or_insert(unknown);
                let key = greatest_divisor(align, site.offset_bytes);
                place.key_block_bytes = greatest_divisor(place.key_block_bytes, key);
                place.end_bytes = place.end_bytes.max(end_bytes);
                place.bare |= job.content.pattern_blocks.as_ref().is_some_and(|blocks| !blocks.headers);
            }
        }
        let sector = SECTOR_BYTES as u64;
        // Jobs whose offsets are not whole sectors are refused.
        places.retain(|_, place| place.key_block_bytes > 0 && place.key_block_bytes.is_multiple_of(sector));
        let numbers = 0..self.targets.len() as u32;
        numbers.filter_map(|number| Some((number, *places.get(&self.first_of_path(number)?)?))).collect()
    }

    /// Memory for what is known of all verified targets.
    pub(super) fn verified_state_bytes(&self) -> u64 {
        let own = self.verified().into_iter().filter(|(number, target)| *number == target.stands_for);
        let known = own.fold(0_u64, |sum, (_, target)| sum.saturating_add(target.state_bytes()));
        let blocks = |target: &VerifiedTarget| target.key_blocks().saturating_mul(JOURNALED_STATE_BYTES);
        self.journaled().values().map(blocks).fold(known, u64::saturating_add)
    }

    /// The targets whose writes are kept in a journal, by their number: those that a job with a journal verifies, each path once.
    pub fn journaled(&self) -> BTreeMap<u32, VerifiedTarget> {
        let jobs = self.journals().map(|(job, _)| job);
        let sites = jobs.flat_map(|job| &job.slices).flat_map(|slice| &slice.sites);
        let numbers: Vec<u32> = sites.filter_map(|site| self.first_of_path(site.target)).collect();
        let mut targets = self.verified();
        targets.retain(|number, _| numbers.contains(number));
        targets
    }

    /// The directory that a job names for the journal.
    pub fn journal_directory(&self) -> Option<&str> {
        self.journals().find_map(|(_, journal)| journal.directory.as_deref())
    }

    /// The jobs whose writes are kept in a journal.
    pub(crate) fn journals(&self) -> impl Iterator<Item = (&PlannedJob, &DataJournal)> {
        let jobs = self.phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
        let verifying = jobs.filter(|(phase, job)| job.verifies(phase)).map(|(_, job)| job);
        verifying.filter_map(|job| Some((job, job.content.journal.as_ref()?)))
    }

    /// The first target with the path of this one; `None`: it has no data.
    fn first_of_path(&self, number: u32) -> Option<u32> {
        let target = self.targets.get(number as usize)?;
        let is_same = |other: &PlannedTarget| (other.host, &other.path) == (target.host, &target.path);
        let has_data = matches!(target.kind, TargetKind::File | TargetKind::BlockDevice);
        self.targets.iter().position(is_same).filter(|_| has_data).map(|first| first as u32)
    }
}

/// The greatest common divisor; with 0 the other one.
fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
