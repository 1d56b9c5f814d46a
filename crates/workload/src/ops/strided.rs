//! Operations in one part of a range after the other, as fio's `zonemode=strided` has them.

use crate::job::Strides;
use crate::pattern::OpKind;
use crate::target::ActiveRange;

use super::{Generator, OpBlock, OpSource};

/// The operations of a generator that works on the first zone of a range, moved to the zone whose turn it is.
#[derive(Debug, Clone)]
pub struct Strided {
    /// Ends a pass where a turn ends.
    zone: Generator,
    /// From one zone to the next.
    step_bytes: u64,
    /// The last zone that the range holds whole begins so far behind the first.
    last_bytes: u64,
    shift_bytes: u64,
}

impl Strides {
    /// The first zone of a range.
    pub fn zone_of(&self, range: ActiveRange) -> ActiveRange {
        ActiveRange { length_bytes: self.zone_bytes.min(range.length_bytes), ..range }
    }
}

impl Strided {
    /// Over the zones of `range`; `zone` works on the first one, see [`Strides::zone_of`].
    pub fn new(zone: Generator, strides: &Strides, range: ActiveRange) -> Strided {
        let step_bytes = strides.zone_bytes.saturating_add(strides.skip_bytes).max(1);
        let room = range.length_bytes - strides.zone_of(range).length_bytes;
        Strided {
            zone: zone.with_turns(strides.turn_bytes),
            step_bytes,
            last_bytes: room / step_bytes * step_bytes,
            shift_bytes: 0,
        }
    }

    fn shift(&mut self, block: &mut OpBlock) {
        block.ops[..block.len].iter_mut().for_each(|op| op.offset_bytes += self.shift_bytes);
        if block.pass_ends {
            block.pass_ends = false;
            let last = self.shift_bytes >= self.last_bytes;
            self.shift_bytes = if last { 0 } else { self.shift_bytes + self.step_bytes };
        }
    }
}

impl OpSource for Strided {
    fn fill(&mut self, block: &mut OpBlock) {
        self.zone.fill(block);
        self.shift(block);
    }

    fn fill_one(&mut self, block: &mut OpBlock, kind: OpKind) {
        self.zone.fill_one(block, kind);
        self.shift(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::TargetSelection;
    use crate::ops::SiteSpec;
    use crate::pattern::{AccessPattern, Mix, Placement};

    const BLOCK: u64 = 4096;

    /// Blocks of `count` reads of a range that begins at block 100.
    fn blocks(placement: Placement, blocks: u64, strides: Strides, count: u64, repeat: bool) -> Vec<u64> {
        let range = ActiveRange { offset_bytes: 100 * BLOCK, length_bytes: blocks * BLOCK };
        let pattern =
            AccessPattern { repeat_passes: repeat, ..AccessPattern::new(Mix::READ, BLOCK, placement) };
        let sites = [SiteSpec { target: 0, range: strides.zone_of(range) }];
        let zone = Generator::new(&pattern, &sites, TargetSelection::default(), 5, Some(count), None);
        let (mut source, mut block, mut all) =
            (Strided::new(zone, &strides, range), OpBlock::default(), Vec::new());
        while !block.last {
            source.fill(&mut block);
            assert!(!block.pass_ends, "nothing waits between zones");
            all.extend(block.ops[..block.len].iter().map(|op| op.offset_bytes / BLOCK - 100));
        }
        all
    }

    fn strides(zone: u64, turn: u64, skip: u64) -> Strides {
        Strides { zone_bytes: zone * BLOCK, turn_bytes: turn * BLOCK, skip_bytes: skip * BLOCK }
    }

    #[test]
    fn walks_begin_each_zone_at_its_start() {
        let walk = |zone| blocks(Placement::sequential(), 10, zone, 9, false);
        assert_eq!(walk(strides(2, 2, 2)), [0, 1, 4, 5, 8, 9, 0, 1, 4]);
        assert_eq!(walk(strides(4, 2, 1)), [0, 1, 5, 6, 0, 1, 5, 6, 0], "a turn is shorter than the zone");
        assert_eq!(walk(strides(2, 3, 3)), [0, 1, 0, 5, 6, 5, 0, 1, 0], "a turn is longer than the zone");
        assert_eq!(walk(strides(20, 2, 0)), [0, 1, 0, 1, 0, 1, 0, 1, 0], "the range has no second zone");
    }

    #[test]
    fn random_maps_begin_anew_in_each_zone() {
        let once = |zone, repeat| blocks(Placement::random_map(), 64, zone, 256, repeat);
        for repeat in [false, true] {
            let seen = once(strides(8, 8, 0), repeat);
            for (turn, blocks) in seen.chunks(8).enumerate() {
                let mut blocks = blocks.to_vec();
                blocks.sort_unstable();
                let first = turn as u64 % 8 * 8;
                assert_eq!(blocks, (first..first + 8).collect::<Vec<_>>(), "turn {turn}");
            }
            let order = |turn: usize| seen[turn * 8..][..8].iter().map(|block| block % 8).collect::<Vec<_>>();
            assert_eq!((1..8).all(|turn| order(turn) == order(0)), repeat);
        }
        // Of each zone a part: which one is drawn again each time, and no block twice in a turn.
        let seen = once(strides(16, 8, 0), false);
        let all: std::collections::BTreeSet<u64> = seen.iter().copied().collect();
        assert!(all.len() > 56, "{}", all.len());
        for turn in seen.chunks(8) {
            assert_eq!(turn.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
        }
    }
}
