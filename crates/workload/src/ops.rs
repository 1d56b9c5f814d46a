//! Operations in blocks of 32: what the job loop submits.
//!
//! Every stage of [`Generator`] fills a whole block before the next one runs, so that the choice of what to do
//! is made once per block and the loops over it have nothing to decide.

use crate::distribution::Sampler;
use crate::job::TargetSelection;
use crate::map::{MAP_BLOCKS_MAX, Map};
use crate::pattern::{AccessPattern, BlockSizes, Distribution, OpKind, Placement, Random, Sequential};
use crate::rng::{Rng, derive_seed};
use crate::target::ActiveRange;

/// Operations in a block.
pub const BLOCK_OPS: usize = 32;

/// One operation to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Byte offset within the target.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub len_bytes: u32,
    /// Index of the target in the job's list.
    pub target: u16,
    /// What to do.
    pub kind: OpKind,
}

impl Op {
    const EMPTY: Op = Op { offset_bytes: 0, len_bytes: 0, target: 0, kind: OpKind::Read };
}

/// Up to [`BLOCK_OPS`] operations.
#[derive(Debug, Clone)]
pub struct OpBlock {
    /// The operations; those from `len` on are stale.
    pub ops: [Op; BLOCK_OPS],
    /// How many are valid.
    pub len: usize,
    /// Whether no more come behind them.
    pub last: bool,
    /// Whether a pass over the active range ends behind them.
    pub pass_ends: bool,
}

impl Default for OpBlock {
    fn default() -> Self {
        OpBlock { ops: [Op::EMPTY; BLOCK_OPS], len: 0, last: false, pass_ends: false }
    }
}

/// Where operations come from.
pub trait OpSource: Send {
    /// Fills `block` from its start and says whether it is the last; only the last may be empty.
    fn fill(&mut self, block: &mut OpBlock);
}

#[derive(Debug, Clone)]
enum Kinds {
    Single(OpKind),
    /// Thresholds on 32 random bits: below the first a read, below the second a write, else a trim.
    Mixed(u32, u32),
}

impl Kinds {
    fn new(pattern: &AccessPattern) -> Kinds {
        let mut kinds = pattern.kinds();
        match (kinds.next(), kinds.next()) {
            (Some(kind), None) => Kinds::Single(kind),
            _ => {
                let scale = f64::from(u32::MAX);
                let read = pattern.mix.share(OpKind::Read);
                Kinds::Mixed(
                    (read * scale) as u32,
                    ((read + pattern.mix.share(OpKind::Write)) * scale) as u32,
                )
            }
        }
    }

    fn fill(&self, ops: &mut [Op], rng: &mut Rng) {
        match *self {
            Kinds::Single(kind) => ops.iter_mut().for_each(|op| op.kind = kind),
            Kinds::Mixed(read, write) => {
                for op in ops {
                    let draw = (rng.next_u64() >> 32) as u32;
                    op.kind = match draw {
                        d if d < read => OpKind::Read,
                        d if d < write => OpKind::Write,
                        _ => OpKind::Trim,
                    };
                }
            }
        }
    }
}

/// Sizes of one operation, by table.
#[derive(Debug, Clone)]
enum SizeTable {
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
enum Sizes {
    Fixed(u32),
    PerKind(Box<[SizeTable; 3]>),
}

impl Sizes {
    fn new(pattern: &AccessPattern) -> Sizes {
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

    fn fill(&self, ops: &mut [Op], rng: &mut Rng) {
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

/// A walk through one range.
#[derive(Debug, Clone)]
struct Walk {
    sequential: Sequential,
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
        Walk { sequential: *sequential, cursors: [start; 3], ended: false }
    }

    #[inline]
    fn next(&mut self, op: &mut Op, range: ActiveRange, align: u64, rng: &mut Rng) {
        let index = if self.sequential.cursor_per_operation { (op.kind as usize).min(2) } else { 0 };
        let cursor = &mut self.cursors[index];
        let len = u64::from(op.len_bytes);
        if *cursor + len > range.end() {
            if range.end() > *cursor && range.length_bytes < len {
                op.len_bytes = (range.end() - *cursor) as u32;
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

#[derive(Debug, Clone)]
struct Draw {
    sampler: Sampler,
    blocks: u64,
}

impl Draw {
    /// `mapped`: blocks differ in size and begin at multiples of the smallest, so that a random map cuts them.
    fn new(random: &Random, range: ActiveRange, align: u64, max_block: u64, mapped: bool, seed: u64) -> Draw {
        let all = range.length_bytes / align;
        let once = random.once_per_pass && random.distribution == Distribution::Uniform;
        if mapped && once && all <= MAP_BLOCKS_MAX {
            return Draw { sampler: Sampler::Mapped(Box::new(Map::new(all))), blocks: all };
        }
        // The last block that fits starts max_block before the end; with one size this is length / size.
        let blocks = ((range.length_bytes.saturating_sub(max_block)) / align + 1).max(1);
        Draw {
            sampler: Sampler::new(&random.distribution, random.once_per_pass, blocks, align, seed),
            blocks,
        }
    }

    /// The stage for a whole block: uniform cases get loops of their own.
    fn fill(&mut self, ops: &mut [Op], base: u64, align: u64, rng: &mut Rng) {
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
                    let (first, count) = map.draw(u64::from(op.len_bytes).div_ceil(align), rng);
                    op.offset_bytes = base + first * align;
                    op.len_bytes = u64::from(op.len_bytes).min(count * align) as u32;
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
enum Place {
    Sequential(Walk),
    Random(Draw),
    Mixed { random_share: f64, draw: Draw, walk: Walk },
}

impl Place {
    /// Whether it comes to an end by itself: a walk that does not begin again.
    fn ends(&self) -> bool {
        matches!(self, Place::Sequential(walk) if !walk.sequential.wrap)
    }

    fn has_ended(&self) -> bool {
        matches!(self, Place::Sequential(walk) if walk.ended)
    }
}

/// One target as a generator sees it.
#[derive(Debug, Clone)]
struct Site {
    range: ActiveRange,
    place: Place,
}

/// What a generator needs to know of a target.
#[derive(Debug, Clone, Copy)]
pub struct SiteSpec {
    /// Index of the target in the job's list.
    pub target: u16,
    /// The part that may be accessed.
    pub range: ActiveRange,
}

/// The seeded operations of one thread.
#[derive(Debug, Clone)]
pub struct Generator {
    rng: Rng,
    kinds: Kinds,
    sizes: Sizes,
    align: u64,
    sites: Vec<Site>,
    targets: Vec<u16>,
    selection: TargetSelection,
    current: usize,
    current_bytes: u64,
    ios_left: u64,
    bytes_left: u64,
    /// Whether walks end with their ranges.
    ends: bool,
    /// Operations of a pass, and how many of this one are left; `u64::MAX` where nobody asks.
    pass_ios: u64,
    pass_left: u64,
    /// What the first pass began as, where each further one repeats it.
    start: Option<Box<Generator>>,
}

impl Generator {
    /// Operations of `pattern` over `sites` (at least one), fixed by `seed`; ends after `ios` operations or `bytes` bytes.
    pub fn new(
        pattern: &AccessPattern,
        sites: &[SiteSpec],
        selection: TargetSelection,
        seed: u64,
        ios: Option<u64>,
        bytes: Option<u64>,
    ) -> Generator {
        let mut rng = Rng::new(seed);
        let align = pattern.align();
        let max_block = pattern.max_block_bytes();
        let block_sizes = Sizes::new(pattern);
        let mapped = matches!(block_sizes, Sizes::PerKind(_)) && align == pattern.min_block_bytes();
        let site = |(index, spec): (usize, &SiteSpec)| {
            let seed = derive_seed(seed, 1 + index as u64);
            let walk = |sequential, rng: &mut Rng| Walk::new(sequential, spec.range, align, rng);
            let draw = |random| Draw::new(random, spec.range, align, max_block, mapped, seed);
            let place = match &pattern.placement {
                Placement::Sequential(sequential) => Place::Sequential(walk(sequential, &mut rng)),
                Placement::Random(random) => Place::Random(draw(random)),
                Placement::Mixed { random_percent, random, sequential } => Place::Mixed {
                    random_share: random_percent / 100.0,
                    draw: draw(random),
                    // The next seek takes it away from the end, so that there is always a next block.
                    walk: walk(&Sequential { wrap: true, ..*sequential }, &mut rng),
                },
            };
            Site { range: spec.range, place }
        };
        let sites_built: Vec<Site> = sites.iter().enumerate().map(site).collect();
        let made = Generator {
            kinds: Kinds::new(pattern),
            sizes: block_sizes,
            align,
            ends: sites_built.iter().any(|site| site.place.ends()),
            sites: sites_built,
            targets: sites.iter().map(|spec| spec.target).collect(),
            selection,
            current: 0,
            current_bytes: 0,
            ios_left: ios.unwrap_or(u64::MAX),
            bytes_left: bytes.unwrap_or(u64::MAX),
            pass_ios: u64::MAX,
            pass_left: u64::MAX,
            start: None,
            rng,
        };
        // Where walks end with their ranges, there is one pass.
        if pattern.repeat_passes && !made.ends { made.with_repeated_passes() } else { made }
    }

    /// Ends a block wherever a pass over the sites ends, and says so.
    #[must_use]
    pub fn with_passes(mut self) -> Self {
        let bytes: u64 = self.sites.iter().map(|site| site.range.length_bytes).sum();
        self.pass_ios = match self.sizes {
            Sizes::Fixed(size) => (bytes / u64::from(size)).max(1),
            // Of mixed sizes the smallest decides how many blocks a pass has, as with the random map.
            Sizes::PerKind(_) => (bytes / self.align).max(1),
        };
        self.pass_left = self.pass_ios;
        self
    }

    fn with_repeated_passes(self) -> Self {
        let made = self.with_passes();
        Generator { start: Some(Box::new(made.clone())), ..made }
    }

    /// Begins the next pass; what limits the whole job goes on.
    #[cold]
    fn begin_pass(&mut self) {
        self.pass_left = self.pass_ios;
        if let Some(start) = self.start.take() {
            let limits = (self.ios_left, self.bytes_left);
            self.clone_from(&start);
            (self.ios_left, self.bytes_left) = limits;
            self.start = Some(start);
        }
    }

    /// Which site the next operation goes to, where there are several.
    fn select(&mut self, len: u64) -> usize {
        match self.selection {
            TargetSelection::RoundRobin => {
                let site = self.current;
                self.current = if site + 1 == self.sites.len() { 0 } else { site + 1 };
                site
            }
            TargetSelection::Random => self.rng.below(self.sites.len() as u64) as usize,
            TargetSelection::Sequential => {
                if self.current_bytes + len > self.sites[self.current].range.length_bytes {
                    self.current = (self.current + 1) % self.sites.len();
                    self.current_bytes = 0;
                }
                self.current_bytes += len;
                self.current
            }
        }
    }

    #[inline]
    fn place_one(&mut self, op: &mut Op, index: usize) {
        let site = &mut self.sites[index];
        op.target = self.targets[index];
        let (range, align, rng) = (site.range, self.align, &mut self.rng);
        match &mut site.place {
            Place::Sequential(walk) => walk.next(op, range, align, rng),
            Place::Random(draw) => draw.fill(std::slice::from_mut(op), range.offset_bytes, align, rng),
            Place::Mixed { random_share, draw, walk } => {
                if rng.unit() < *random_share {
                    draw.fill(std::slice::from_mut(op), range.offset_bytes, align, rng);
                    // A sequential run goes on behind the block the last seek went to.
                    walk.cursors = [op.offset_bytes + u64::from(op.len_bytes); 3];
                } else {
                    walk.next(op, range, align, rng);
                }
            }
        }
    }

    fn place_each(&mut self, ops: &mut [Op]) {
        for op in ops {
            let index = if self.sites.len() == 1 { 0 } else { self.select(u64::from(op.len_bytes)) };
            self.place_one(op, index);
        }
    }

    /// As [`Generator::place_each`], where walks end: a site that has ended is left out, and when all have, nothing
    /// more comes. Returns how many were placed.
    fn place_until_ended(&mut self, ops: &mut [Op]) -> usize {
        for (placed, op) in ops.iter_mut().enumerate() {
            loop {
                if self.sites.is_empty() {
                    return placed;
                }
                let index = if self.sites.len() == 1 { 0 } else { self.select(u64::from(op.len_bytes)) };
                self.place_one(op, index);
                if !self.sites[index].place.has_ended() {
                    break;
                }
                self.leave(index);
            }
        }
        ops.len()
    }

    /// Leaves out a site; those behind it move up, and the one whose turn it is keeps it.
    #[cold]
    fn leave(&mut self, index: usize) {
        self.sites.remove(index);
        self.targets.remove(index);
        if self.current > index {
            self.current -= 1;
        }
        if self.current >= self.sites.len() {
            self.current = 0;
        }
        if index == self.current {
            self.current_bytes = 0;
        }
    }

    fn place(&mut self, ops: &mut [Op]) {
        if let [Site { range, place: Place::Random(draw) }] = self.sites.as_mut_slice() {
            let target = self.targets[0];
            ops.iter_mut().for_each(|op| op.target = target);
            draw.fill(ops, range.offset_bytes, self.align, &mut self.rng);
        } else {
            self.place_each(ops);
        }
    }

    /// Cuts the block where the byte limit is reached; returns how many operations stay.
    fn cut(&mut self, ops: &mut [Op]) -> usize {
        for (index, op) in ops.iter_mut().enumerate() {
            if self.bytes_left == 0 {
                return index;
            }
            if u64::from(op.len_bytes) > self.bytes_left {
                op.len_bytes = self.bytes_left as u32;
            }
            self.bytes_left -= u64::from(op.len_bytes);
        }
        ops.len()
    }
}

impl OpSource for Generator {
    fn fill(&mut self, block: &mut OpBlock) {
        let mut len = self.ios_left.min(self.pass_left).min(BLOCK_OPS as u64) as usize;
        let wanted = len;
        self.kinds.fill(&mut block.ops[..len], &mut self.rng);
        self.sizes.fill(&mut block.ops[..len], &mut self.rng);
        if self.ends {
            len = self.place_until_ended(&mut block.ops[..len]);
        } else {
            self.place(&mut block.ops[..len]);
        }
        if self.bytes_left != u64::MAX {
            len = self.cut(&mut block.ops[..len]);
        }
        if self.ios_left != u64::MAX {
            self.ios_left -= len as u64;
        }
        block.last = self.ios_left == 0 || len < wanted || self.bytes_left == 0;
        block.pass_ends = false;
        if self.pass_left != u64::MAX {
            self.pass_left -= len as u64;
            if self.pass_left == 0 {
                self.begin_pass();
                block.pass_ends = true;
            }
        }
        block.len = len;
    }
}

#[cfg(test)]
mod tests;
