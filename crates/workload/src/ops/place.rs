//! Where operations go: walks, and draws from a distribution.

use crate::distribution::Sampler;
use crate::map::{MAP_BLOCKS_MAX, Map};
use crate::pattern::{AccessPattern, OpKind, Placement, Random, Sequential};
use crate::rng::Rng;
use crate::target::ActiveRange;

use super::Op;
use super::sizes::Sizes;

/// A walk through one range.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    sequential: Sequential,
    /// Where it starts.
    start: u64,
    /// One per operation, or the first for all.
    cursors: [u64; 3],
    /// Whether it has come to the end of a range that it does not begin again.
    ended: bool,
}

impl Walk {
    fn new(sequential: &Sequential, range: ActiveRange, align: u64, rng: &mut Rng) -> Walk {
        let start = if sequential.random_start {
            range.offset_bytes + rng.below((range.length_bytes / align).max(1)) * align
        } else {
            range.offset_bytes
        };
        Walk { sequential: *sequential, start, cursors: [start; 3], ended: false }
    }

    fn restart(&mut self) {
        self.cursors = [self.start; 3];
        self.ended = false;
    }

    #[inline]
    fn next(&mut self, op: &mut Op, grid: &Grid<'_>, rng: &mut Rng) {
        let Grid { range, align, sizes } = *grid;
        let index = if self.sequential.cursor_per_operation { (op.kind as usize).min(2) } else { 0 };
        let cursor = &mut self.cursors[index];
        let len = u64::from(op.len_bytes);
        if *cursor + len > range.end() {
            let room = range.end().saturating_sub(*cursor);
            if room > 0 && range.length_bytes < len {
                op.len_bytes = room as u32;
            } else if sizes.fit(op, room, rng) {
                // A smaller block ends with the range.
            } else if self.sequential.wrap {
                *cursor = range.offset_bytes;
            } else {
                self.ended = true;
                return;
            }
        }
        op.offset_bytes = *cursor;
        let skip = &self.sequential;
        let extra = match skip.skip_max_bytes - skip.skip_min_bytes {
            0 => skip.skip_min_bytes,
            width => skip.skip_min_bytes + rng.below(width / align + 1) * align,
        };
        *cursor += u64::from(op.len_bytes) + extra;
    }
}

/// What blocks look like before they are placed.
#[derive(Debug, Clone, Copy)]
struct BlockShape {
    /// They start at multiples of it.
    align: u64,
    /// The smallest.
    min_block: u64,
    /// Where a random map of the smallest blocks is kept, which cuts larger ones: the smallest of each operation.
    mapped: Option<[u64; 3]>,
}

/// Within which limits a block is placed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a> {
    /// The part of the target.
    pub(super) range: ActiveRange,
    /// Blocks start at multiples of it.
    pub(super) align: u64,
    /// Other sizes, where one does not fit.
    pub(super) sizes: &'a Sizes,
}

#[derive(Debug, Clone)]
pub(super) struct RandomPositions {
    sampler: Sampler,
    blocks: u64,
}

impl RandomPositions {
    fn new(random: &Random, range: ActiveRange, blocks_of: &BlockShape, seed: u64) -> RandomPositions {
        let BlockShape { align, min_block, mapped } = *blocks_of;
        let all = range.length_bytes / align;
        if let Some(units) = mapped.filter(|_| random.is_map() && all <= MAP_BLOCKS_MAX) {
            let map = Map::new(range.length_bytes, units);
            return RandomPositions { sampler: Sampler::Mapped(Box::new(map)), blocks: all };
        }
        // The last block that fits starts the smallest size before the end; a larger one is drawn again there.
        let blocks = ((range.length_bytes.saturating_sub(min_block)) / align + 1).max(1);
        RandomPositions {
            sampler: Sampler::new(&random.distribution, random.once_per_pass, blocks, align, seed),
            blocks,
        }
    }

    /// The stage for a whole block: uniform cases get loops of their own.
    pub(super) fn fill(&mut self, ops: &mut [Op], grid: &Grid<'_>, rng: &mut Rng) {
        self.fill_offsets(ops, grid.range.offset_bytes, grid.align, rng);
        if matches!(grid.sizes, Sizes::PerKind(_)) {
            let end = grid.range.end();
            for op in ops.iter_mut().filter(|op| op.offset_bytes + u64::from(op.len_bytes) > end) {
                if !grid.sizes.fit(op, end - op.offset_bytes, rng) {
                    // Smaller blocks of another operation would fit; this one takes the last place where it does.
                    let last = grid.range.length_bytes.saturating_sub(u64::from(op.len_bytes));
                    op.offset_bytes = grid.range.offset_bytes + last / grid.align * grid.align;
                }
            }
        }
    }

    fn fill_offsets(&mut self, ops: &mut [Op], base: u64, align: u64, rng: &mut Rng) {
        let blocks = self.blocks;
        match &mut self.sampler {
            Sampler::Uniform => {
                ops.iter_mut().for_each(|op| op.offset_bytes = base + rng.below(blocks) * align)
            }
            Sampler::OncePerPass(pass) => {
                pass.draw_each(ops.len(), |index, block| {
                    if let Some(op) = ops.get_mut(index) {
                        op.offset_bytes = base + block * align;
                    }
                });
            }
            Sampler::Mapped(map) => {
                for op in ops {
                    let unit = map.unit_bytes(op.kind);
                    let (first, count) = map.draw(u64::from(op.len_bytes).div_ceil(unit), op.kind, rng);
                    op.offset_bytes = base + first * unit;
                    op.len_bytes = u64::from(op.len_bytes).min(count * unit) as u32;
                }
            }
            sampler => {
                for op in ops {
                    op.offset_bytes = base + sampler.draw(blocks, op.kind, rng) * align;
                }
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Positions {
    Sequential(Walk),
    Random(RandomPositions),
    Mixed { random_share: f64, draw: RandomPositions, walk: Walk },
}

impl Positions {
    fn new(
        pattern: &AccessPattern,
        range: ActiveRange,
        sizes: &Sizes,
        seed: u64,
        rng: &mut Rng,
    ) -> Positions {
        let align = pattern.align();
        // Where a block must not reach into the next, the last place has room for the largest.
        let min_block = if pattern.has_read_misses() { align } else { pattern.min_block_bytes() };
        let units = || {
            OpKind::DATA.map(|kind| match pattern.mix.share(kind) > 0.0 {
                true => pattern.sizes(kind).min_bytes(),
                false => 0,
            })
        };
        // Among sequential blocks, a draw that meets one of the draws before it goes to the next free block, as in fio: that is
        // more often one that was read behind another.
        let mixed = matches!(pattern.placement, Placement::Mixed { .. });
        let mapped = ((mixed || matches!(sizes, Sizes::PerKind(_))) && align == min_block).then(units);
        let shape = BlockShape { align, min_block, mapped };
        let draw = |random| RandomPositions::new(random, range, &shape, seed);
        match &pattern.placement {
            Placement::Sequential(sequential) => {
                Positions::Sequential(Walk::new(sequential, range, align, rng))
            }
            // No plan that is carried out has it.
            Placement::Unknown => Positions::Sequential(Walk::new(&Sequential::default(), range, align, rng)),
            Placement::Random(random) => Positions::Random(draw(random)),
            Placement::Mixed { random_percent, random, sequential } => Positions::Mixed {
                random_share: random_percent / 100.0,
                draw: draw(random),
                // The next seek takes it away from the end, so that there is always a next block.
                walk: Walk::new(&Sequential { wrap: true, ..*sequential }, range, align, rng),
            },
        }
    }

    /// Whether it comes to an end by itself: a walk that does not begin again, reads of what was not touched before.
    pub(super) fn ends(&self) -> bool {
        match self {
            Positions::Sequential(walk) => !walk.sequential.wrap,
            Positions::Random(draw) => draw.sampler.runs_out(),
            Positions::Mixed { .. } => false,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        match self {
            Positions::Sequential(walk) => walk.ended,
            Positions::Random(draw) => draw.sampler.has_run_out(),
            Positions::Mixed { .. } => false,
        }
    }

    /// Whether it is done with a range at some time: it meets each block of it once before it begins again.
    pub(super) fn comes_round(&self) -> bool {
        matches!(self, Positions::Sequential(_)) || self.has_map()
    }

    /// Whether all of it is placed by a random map.
    pub(super) fn has_map(&self) -> bool {
        matches!(self, Positions::Random(draw) if draw.sampler.is_map())
    }

    /// Whether it is a random map in which every block was visited.
    #[inline]
    pub(super) fn map_is_full(&self) -> bool {
        matches!(self, Positions::Random(draw) if draw.sampler.map_is_full())
    }

    /// Whether the last block was the first of a new pass of a random map that could not be filled.
    pub(super) fn map_overflowed(&self) -> bool {
        matches!(self, Positions::Random(RandomPositions { sampler: Sampler::Mapped(map), .. }) if map.has_overflowed())
    }

    fn restart(&mut self) {
        match self {
            Positions::Sequential(walk) => walk.restart(),
            Positions::Random(draw) => draw.sampler.restart(),
            Positions::Mixed { draw, walk, .. } => {
                draw.sampler.restart();
                walk.restart();
            }
        }
    }
}

/// One target as a generator sees it.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) target: u16,
    /// Its place in the job's list.
    pub(super) number: u16,
    pub(super) range: ActiveRange,
    pub(super) place: Positions,
    /// Bytes until it gives way to another one, where not all sites are open.
    pub(super) turn_bytes_left: u64,
}

impl Site {
    pub(super) fn new(
        pattern: &AccessPattern,
        sizes: &Sizes,
        (number, spec): (usize, &super::SiteSpec),
        seed: u64,
        rng: &mut Rng,
    ) -> Site {
        let place = Positions::new(pattern, spec.range, sizes, seed, rng);
        let turn_bytes_left = spec.range.length_bytes;
        Site { target: spec.target, number: number as u16, range: spec.range, place, turn_bytes_left }
    }

    /// As it was made.
    pub(super) fn restart(&mut self) {
        self.place.restart();
    }

    /// From its start, with other draws.
    pub(super) fn renew(&mut self) {
        match &mut self.place {
            Positions::Sequential(walk) => walk.restart(),
            Positions::Random(draw) => draw.sampler.renew(),
            Positions::Mixed { draw, walk, .. } => {
                draw.sampler.renew();
                walk.restart();
            }
        }
    }

    #[inline]
    pub(super) fn place(&mut self, op: &mut Op, align: u64, sizes: &Sizes, rng: &mut Rng) {
        op.target = self.target;
        let grid = Grid { range: self.range, align, sizes };
        match &mut self.place {
            Positions::Sequential(walk) => walk.next(op, &grid, rng),
            Positions::Random(draw) => draw.fill(std::slice::from_mut(op), &grid, rng),
            Positions::Mixed { random_share, draw, walk } => {
                if rng.unit() < *random_share {
                    draw.fill(std::slice::from_mut(op), &grid, rng);
                    // A sequential run goes on behind the block the last seek went to.
                    walk.cursors = [op.offset_bytes + u64::from(op.len_bytes); 3];
                } else {
                    walk.next(op, &grid, rng);
                }
            }
        }
    }
}
