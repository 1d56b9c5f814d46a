//! What a key block must hold after a crash: the last write that was acknowledged, or one that was under way.

use super::{Diagnosis, Fault, GENERATION_MAX, Identity, SECTOR_BYTES, Sector, generations_behind, inspect};

/// A key block of a run that crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survivor {
    /// Of its first sector, with the generation that was acknowledged last; 0: none was, and the block may hold anything that this
    /// run wrote there and whatever was there before.
    pub first: Identity,
    /// A sector may be torn within itself where a write was under way: written back from a page cache while it was being changed.
    pub torn_sectors: bool,
}

/// What it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survived {
    /// What was acknowledged last; where nothing was, what was there before this run.
    Old,
    /// A write that was not acknowledged, whole.
    New,
    /// Sectors of several writes, none of them older than what was acknowledged. Storage promises whole sectors, and no more of
    /// what is under way.
    Torn(Diagnosis),
    /// Not what was acknowledged.
    Lost(Diagnosis),
}

impl Survivor {
    fn sector(&self, index: usize) -> Identity {
        Identity { offset_bytes: self.first.offset_bytes + (index * SECTOR_BYTES) as u64, ..self.first }
    }

    /// Whether a generation of this run is the acknowledged one or one behind it.
    fn allows(&self, generation: u64) -> bool {
        let acknowledged = self.first.generation;
        let newer = generations_behind(generation, acknowledged);
        acknowledged == 0 || newer.is_some_and(|by| by <= u64::from(GENERATION_MAX) / 2)
    }

    /// What is wrong with a sector, and what it says of itself.
    fn fault_of(&self, sector: &[u8], expected: Identity) -> (Option<Fault>, Option<Identity>) {
        let must_be_ours = self.first.generation != 0;
        let (found, is_whole) = match inspect(sector) {
            Sector::Whole(found) => (found, true),
            Sector::Damaged(found) => (found, false),
            Sector::NotOurs => {
                let fault = if sector.iter().all(|byte| *byte == 0) { Fault::Zeros } else { Fault::NotOurs };
                return (must_be_ours.then_some(fault), None);
            }
        };
        let in_place = (found.target, found.offset_bytes) == (expected.target, expected.offset_bytes);
        let of_this_run = found.run == expected.run;
        let fault = match () {
            () if !is_whole && of_this_run && in_place && self.torn_sectors => None,
            // Of an earlier run, which nothing is known of.
            () if !of_this_run && !must_be_ours => None,
            () if !is_whole => Some(Fault::Damaged),
            () if found.target != expected.target => Some(Fault::OtherTarget),
            () if !in_place => Some(Fault::Misplaced),
            () if !of_this_run => Some(Fault::OtherRun),
            () if self.allows(found.generation) => None,
            () => Some(Fault::Stale),
        };
        // Half of one write and half of another is neither.
        (fault, Some(found).filter(|_| is_whole || fault.is_some()))
    }
}

/// What a key block holds after a crash.
pub fn after_crash(bytes: &[u8], block: &Survivor) -> Survived {
    let sectors: Vec<(usize, Option<Fault>, Option<Identity>)> = bytes
        .chunks_exact(SECTOR_BYTES)
        .enumerate()
        .map(|(index, sector)| {
            let (fault, found) = block.fault_of(sector, block.sector(index));
            (index, fault, found)
        })
        .collect();
    let of_this_run = |found: &Identity| found.run == block.first.run;
    let writer = |found: Option<Identity>| found.filter(of_this_run).map(|found| found.generation);
    let at_fault = sectors.iter().filter_map(|(index, fault, found)| Some((*index, (*fault)?, *found)));
    // What is damaged or elsewhere says more than what is old.
    if let Some((sector, fault, found)) = at_fault.clone().min_by_key(|entry| entry.1) {
        let count = at_fault.clone().count();
        let all_old = at_fault.clone().all(|entry| matches!(entry.1, Fault::Stale | Fault::OtherRun));
        let mixed = count < sectors.len() || at_fault.clone().any(|entry| writer(entry.2) != writer(found));
        let fault = if all_old && mixed { Fault::Torn } else { fault };
        let expected = block.sector(sector);
        return Survived::Lost(Diagnosis { fault, sector, sectors_at_fault: count, expected, found });
    }
    let first = sectors.first().and_then(|entry| writer(entry.2));
    let odd: Vec<_> = sectors.iter().filter(|entry| writer(entry.2) != first).collect();
    // A sector that is torn within itself is of no write, as is what was there before where none was acknowledged.
    let is_whole = odd.is_empty() && (first.is_some() || block.first.generation == 0);
    let acknowledged = (block.first.generation != 0).then_some(block.first.generation);
    match odd.first().copied().or(sectors.first()) {
        Some((sector, _, found)) if !is_whole => Survived::Torn(Diagnosis {
            fault: Fault::Torn,
            sector: *sector,
            sectors_at_fault: odd.len().max(1),
            expected: block.sector(*sector),
            found: *found,
        }),
        _ if first == acknowledged => Survived::Old,
        _ => Survived::New,
    }
}

#[cfg(test)]
mod tests {
    use super::super::seal;
    use super::*;

    const BLOCK: usize = 4 * SECTOR_BYTES;

    fn identity(generation: u64) -> Identity {
        Identity { target: 9, offset_bytes: 8192, generation, run: 5, block_bytes: 0 }
    }

    fn survivor(acknowledged: u64) -> Survivor {
        Survivor { first: identity(acknowledged), torn_sectors: false }
    }

    /// Sectors of these generations; 0: not written.
    fn block(generations: [u64; 4]) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK];
        for (index, generation) in generations.into_iter().enumerate().filter(|entry| entry.1 > 0) {
            let offset_bytes = 8192 + (index * SECTOR_BYTES) as u64;
            let range = index * SECTOR_BYTES..(index + 1) * SECTOR_BYTES;
            seal(&mut bytes[range], &Identity { offset_bytes, ..identity(generation) });
        }
        bytes
    }

    fn lost(survived: Survived) -> (Fault, usize, usize) {
        match survived {
            Survived::Lost(found) => (found.fault, found.sector, found.sectors_at_fault),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_acknowledged_or_came_later_is_there() {
        assert_eq!(after_crash(&block([3; 4]), &survivor(3)), Survived::Old);
        assert_eq!(after_crash(&block([4; 4]), &survivor(3)), Survived::New);
        assert_eq!(after_crash(&block([1; 4]), &survivor(u64::from(GENERATION_MAX))), Survived::New);
        assert_eq!(lost(after_crash(&block([2; 4]), &survivor(3))), (Fault::Stale, 0, 4));
        assert_eq!(lost(after_crash(&block([0; 4]), &survivor(3))), (Fault::Zeros, 0, 4));
        assert_eq!(lost(after_crash(&block([3, 2, 3, 4]), &survivor(3))), (Fault::Torn, 1, 1));
        assert_eq!(lost(after_crash(&[7; BLOCK], &survivor(3))), (Fault::NotOurs, 0, 4));
    }

    #[test]
    fn what_was_under_way_may_be_torn_between_sectors() {
        let Survived::Torn(torn) = after_crash(&block([3, 4, 4, 3]), &survivor(3)) else { panic!() };
        assert_eq!((torn.fault, torn.sector, torn.sectors_at_fault), (Fault::Torn, 1, 2));
        assert_eq!(torn.found.map(|found| found.generation), Some(4));
        assert!(matches!(after_crash(&block([5, 4, 6, 4]), &survivor(4)), Survived::Torn(_)));
    }

    #[test]
    fn nothing_is_asked_of_what_was_not_acknowledged() {
        assert_eq!(after_crash(&block([0; 4]), &survivor(0)), Survived::Old);
        assert_eq!(after_crash(&[7; BLOCK], &survivor(0)), Survived::Old);
        assert_eq!(after_crash(&block([1; 4]), &survivor(0)), Survived::New);
        assert!(matches!(after_crash(&block([0, 0, 1, 0]), &survivor(0)), Survived::Torn(_)));
        // But this run's sectors have a place.
        let moved = Survivor { first: Identity { offset_bytes: 0, ..identity(0) }, torn_sectors: false };
        assert_eq!(lost(after_crash(&block([1; 4]), &moved)), (Fault::Misplaced, 0, 4));
        // Those of another run may be anything.
        let other = Survivor { first: Identity { run: 6, ..identity(0) }, torn_sectors: false };
        assert_eq!(after_crash(&block([1, 2, 3, 4]), &other), Survived::Old);
        let other = Survivor { first: Identity { run: 6, ..identity(2) }, torn_sectors: false };
        assert_eq!(lost(after_crash(&block([2; 4]), &other)), (Fault::OtherRun, 0, 4));
    }

    #[test]
    fn a_damaged_sector_is_a_loss_but_where_a_page_was_being_changed() {
        let mut bytes = block([3; 4]);
        bytes[SECTOR_BYTES + 100] ^= 1;
        assert_eq!(lost(after_crash(&bytes, &survivor(3))), (Fault::Damaged, 1, 1));
        assert_eq!(lost(after_crash(&bytes, &survivor(0))), (Fault::Damaged, 1, 1));
        let changing = Survivor { torn_sectors: true, ..survivor(3) };
        assert!(matches!(after_crash(&bytes, &changing), Survived::Torn(_)));
        bytes[100] ^= 1;
        bytes[2 * SECTOR_BYTES + 100] ^= 1;
        bytes[3 * SECTOR_BYTES + 100] ^= 1;
        assert!(matches!(after_crash(&bytes, &changing), Survived::Torn(_)), "all sectors are");
    }
}
