//! Block sizes of operations.

use crate::pattern::{AccessPattern, BlockSizes, OpKind};
use crate::rng::Rng;

use super::Op;

/// Draws of a size that fits before the smallest is taken.
const FITTING_DRAWS: usize = 64;

/// Sizes of one operation, by table.
#[derive(Debug, Clone)]
pub(super) enum SizeTable {
    Fixed(u32),
    /// Cumulative share on 32 random bits, size.
    Weighted(Vec<(u32, u32)>),
    Steps {
        min: u64,
        step: u64,
        count: u64,
    },
}

impl SizeTable {
    fn new(sizes: &BlockSizes) -> SizeTable {
        match sizes {
            BlockSizes::Fixed(size) => SizeTable::Fixed(*size as u32),
            // No plan that is carried out has it.
            BlockSizes::Unknown => SizeTable::Fixed(0),
            BlockSizes::Weighted(list) => {
                let total: f64 = list.iter().map(|entry| entry.1).sum();
                let mut share = 0.0;
                let table = list.iter().map(|&(size, weight)| {
                    share += weight / total;
                    ((share * f64::from(u32::MAX)) as u32, size as u32)
                });
                SizeTable::Weighted(table.collect())
            }
            BlockSizes::Range { min_bytes, max_bytes, step_bytes } => SizeTable::Steps {
                min: *min_bytes,
                step: (*step_bytes).max(1),
                count: (max_bytes - min_bytes) / (*step_bytes).max(1) + 1,
            },
        }
    }

    fn min(&self) -> u32 {
        match self {
            SizeTable::Fixed(size) => *size,
            SizeTable::Weighted(table) => table.iter().map(|entry| entry.1).min().unwrap_or(0),
            SizeTable::Steps { min, .. } => *min as u32,
        }
    }

    fn draw(&self, rng: &mut Rng) -> u32 {
        match self {
            SizeTable::Fixed(size) => *size,
            SizeTable::Weighted(table) => {
                let draw = (rng.next_u64() >> 32) as u32;
                let index = table.partition_point(|entry| entry.0 < draw).min(table.len().saturating_sub(1));
                table.get(index).map_or(0, |entry| entry.1)
            }
            SizeTable::Steps { min, step, count } => (min + step * rng.below(*count)) as u32,
        }
    }
}

/// Draws the block sizes of one operation, one at a time.
#[derive(Debug, Clone)]
pub struct BlockSizer(SizeTable);

impl BlockSizer {
    /// For these sizes.
    pub fn new(sizes: &BlockSizes) -> Self {
        BlockSizer(SizeTable::new(sizes))
    }

    /// The next size in bytes.
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        self.0.draw(rng)
    }
}

#[derive(Debug, Clone)]
pub(super) enum Sizes {
    Fixed(u32),
    PerKind(Box<[SizeTable; 3]>),
}

impl Sizes {
    pub(super) fn new(pattern: &AccessPattern) -> Sizes {
        let tables = OpKind::DATA.map(|kind| SizeTable::new(pattern.sizes(kind)));
        let mut used = pattern.kinds().map(|kind| &tables[kind as usize]);
        if let Some(SizeTable::Fixed(size)) = used.next() {
            let size = *size;
            if used.all(|table| matches!(table, SizeTable::Fixed(other) if *other == size)) {
                return Sizes::Fixed(size);
            }
        }
        Sizes::PerKind(Box::new(tables))
    }

    /// Gives `op` a size that fits into `room` bytes, where one of its sizes does; as fio, another draw decides which.
    #[cold]
    pub(super) fn fit(&self, op: &mut Op, room: u64, rng: &mut Rng) -> bool {
        let Sizes::PerKind(tables) = self else { return u64::from(op.len_bytes) <= room };
        let table = &tables[(op.kind as usize).min(2)];
        if u64::from(table.min()) > room {
            return false;
        }
        let drawn = (0..FITTING_DRAWS).map(|_| table.draw(rng)).find(|size| u64::from(*size) <= room);
        op.len_bytes = drawn.unwrap_or_else(|| table.min());
        true
    }

    pub(super) fn fill(&self, ops: &mut [Op], rng: &mut Rng) {
        match self {
            Sizes::Fixed(size) => ops.iter_mut().for_each(|op| op.len_bytes = *size),
            Sizes::PerKind(tables) => {
                for op in ops {
                    op.len_bytes = tables[(op.kind as usize).min(2)].draw(rng);
                }
            }
        }
    }
}
