//! Operations in blocks of 32: what the job loop submits.
//!
//! Every stage of [`Generator`] fills a whole block before the next one runs, so that the choice of what to do
//! is made once per block and the loops over it have nothing to decide.

use crate::job::TargetSelection;
use crate::pattern::{AccessPattern, OpKind};
use crate::rng::{Rng, derive_seed};
use crate::target::ActiveRange;

mod one_by_one;
mod place;
mod sizes;
mod strided;
mod trim_first;
mod writes_as_reads;

pub use one_by_one::OneByOne;
use place::{Grid, Positions, Site};
pub use sizes::BlockSizer;
use sizes::Sizes;
pub use strided::Strided;
pub use trim_first::TrimFirst;
pub use writes_as_reads::WritesAsReads;

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

    /// As [`OpSource::fill`], one operation of this kind, whatever the mix is.
    fn fill_one(&mut self, block: &mut OpBlock, kind: OpKind);
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
    /// The first `live` of them get operations.
    sites: Vec<Site>,
    live: usize,
    /// So many of these at most have operations at a time.
    open: usize,
    selection: TargetSelection,
    current: usize,
    current_bytes: u64,
    ios_left: u64,
    bytes_left: u64,
    /// Whether walks end with their ranges.
    ends: bool,
    /// Whether a site whose random map is full waits until those of all sites are.
    rounds: bool,
    /// Whether the first pass of maps is the last: no more than its bytes are asked for, and passes are the same. Where operations count in
    /// different blocks it may end before.
    one_round: bool,
    /// Operations of a pass, and how many of this one are left; `u64::MAX` where they do not decide.
    pass_ios: u64,
    pass_left: u64,
    /// The same in bytes.
    pass_bytes: u64,
    pass_bytes_left: u64,
    /// Whether passes are turns in a zone, cut at their bytes: the next one begins at the start of a zone.
    turns: bool,
    /// The random state that every pass begins with, where each repeats the first.
    start: Option<Rng>,
}

impl Generator {
    /// Operations of `pattern` over `sites` (at least one), fixed by `seed`; ends after `ios` operations, or with the one
    /// that reaches `bytes` bytes.
    pub fn new(
        pattern: &AccessPattern,
        sites: &[SiteSpec],
        selection: TargetSelection,
        seed: u64,
        ios: Option<u64>,
        bytes: Option<u64>,
    ) -> Generator {
        let mut rng = Rng::new(seed);
        let sizes = Sizes::new(pattern);
        let site = |entry: (usize, &SiteSpec)| {
            Site::new(pattern, &sizes, entry, derive_seed(seed, 1 + entry.0 as u64), &mut rng)
        };
        let sites: Vec<Site> = sites.iter().enumerate().map(site).collect();
        let ends = sites.iter().any(|site| site.place.ends());
        let one_map = sites.len() == 1 && matches!(sizes, Sizes::Fixed(_));
        let rounds = sites.iter().all(|site| site.place.has_map()) && !one_map;
        let pass_bytes: u64 = sites.iter().map(|site| site.range.length_bytes).sum();
        let one_round = rounds && pattern.repeat_passes && bytes.is_some_and(|bytes| bytes <= pass_bytes);
        let made = Generator {
            one_round,
            kinds: Kinds::new(pattern),
            align: pattern.align(),
            ends,
            rounds: rounds && (bytes.is_some() || pattern.repeat_passes),
            live: sites.len(),
            open: usize::MAX,
            sites,
            sizes,
            selection,
            current: 0,
            current_bytes: 0,
            ios_left: ios.unwrap_or(u64::MAX),
            bytes_left: bytes.unwrap_or(u64::MAX),
            pass_ios: u64::MAX,
            pass_left: u64::MAX,
            pass_bytes: u64::MAX,
            pass_bytes_left: u64::MAX,
            turns: false,
            start: None,
            rng,
        };
        // Where walks end with their ranges, there is one pass.
        if pattern.repeat_passes && !ends { made.with_repeated_passes() } else { made }
    }

    /// No more than `open` sites have operations at a time: the next one begins where one is done.
    #[must_use]
    pub fn with_open_sites(self, open: Option<u32>) -> Self {
        let open = open.map_or(usize::MAX, |open| (open as usize).max(1));
        // Where all are open, there is nothing to look after.
        Generator { open: if open < self.sites.len() { open } else { usize::MAX }, ..self }
    }

    /// Says where a pass over the sites ends, and ends a block there.
    #[must_use]
    pub fn with_passes(mut self) -> Self {
        if self.rounds {
            return self;
        }
        let bytes: u64 = self.sites.iter().map(|site| site.range.length_bytes).sum();
        match self.sizes {
            Sizes::Fixed(size) => {
                let size = u64::from(size);
                let whole = |site: &Site| site.range.length_bytes / size;
                let maps = self.sites.iter().all(|site| site.place.has_map());
                // A map holds the blocks that fit. Without one a pass is over once it has moved as many bytes.
                let ios = if maps { self.sites.iter().map(whole).sum() } else { bytes.div_ceil(size) };
                self.pass_ios = ios.max(1);
            }
            Sizes::PerKind(_) => self.pass_bytes = bytes.max(1),
        }
        (self.pass_left, self.pass_bytes_left) = (self.pass_ios, self.pass_bytes);
        self
    }

    /// Ends a pass after so many bytes, whatever the sites have, and begins the next one at their start.
    fn with_turns(mut self, turn_bytes: u64) -> Self {
        (self.turns, self.rounds, self.one_round, self.pass_bytes) = (true, false, false, turn_bytes.max(1));
        self.pass_ios = u64::MAX;
        (self.pass_left, self.pass_bytes_left) = (self.pass_ios, self.pass_bytes);
        self
    }

    fn with_repeated_passes(self) -> Self {
        let made = self.with_passes();
        Generator { start: Some(made.rng.clone()), ..made }
    }

    /// Begins the next pass; what limits the whole job goes on.
    #[cold]
    fn begin_pass(&mut self) {
        (self.pass_left, self.pass_bytes_left) = (self.pass_ios, self.pass_bytes);
        if self.rounds || (self.open != usize::MAX && self.start.is_some()) {
            self.live = self.sites.len();
            self.sites.iter_mut().for_each(|site| site.turn_bytes_left = site.range.length_bytes);
            self.sites.sort_unstable_by_key(|site| site.number);
        }
        if let Some(start) = &self.start {
            self.rng.clone_from(start);
            (self.current, self.current_bytes) = (0, 0);
            self.sites.iter_mut().for_each(Site::restart);
        } else if self.turns {
            self.sites.iter_mut().for_each(Site::renew);
        }
    }

    /// Which site the next operation goes to, where there are several.
    fn select(&mut self, len: u64) -> usize {
        let open = self.live.min(self.open);
        match self.selection {
            TargetSelection::RoundRobin => {
                let site = self.current;
                self.current = if site + 1 >= open { 0 } else { site + 1 };
                site
            }
            TargetSelection::Random => self.rng.below(open as u64) as usize,
            // It leaves when its map is full.
            TargetSelection::Sequential if self.rounds => self.current,
            TargetSelection::Sequential => {
                if self.current_bytes + len > self.sites[self.current].range.length_bytes {
                    self.current = (self.current + 1) % self.live;
                    self.current_bytes = 0;
                }
                self.current_bytes += len;
                self.current
            }
        }
    }

    /// Places an operation on one of the live sites; which.
    #[inline]
    fn place_one(&mut self, op: &mut Op) -> usize {
        let index = if self.live == 1 { 0 } else { self.select(u64::from(op.len_bytes)) };
        self.sites[index].place(op, self.align, &self.sizes, &mut self.rng);
        if self.open != usize::MAX && !self.ends && !self.rounds {
            self.give_way(index, u64::from(op.len_bytes));
        }
        index
    }

    /// Where not all sites are open: one that has come round lets the next one have its place, and has no turn before all others had theirs.
    /// What is drawn without a map never comes round.
    #[cold]
    fn give_way(&mut self, index: usize, len_bytes: u64) {
        let site = &mut self.sites[index];
        site.turn_bytes_left = site.turn_bytes_left.saturating_sub(len_bytes);
        if site.turn_bytes_left < len_bytes && site.place.comes_round() {
            site.turn_bytes_left = site.range.length_bytes;
            self.sites[index..self.live].rotate_left(1);
            self.live -= 1;
            if self.current > index {
                self.current -= 1;
            }
            if self.live == 0 {
                self.live = self.sites.len();
                self.sites.sort_unstable_by_key(|site| site.number);
            }
            if self.current >= self.live.min(self.open) {
                self.current = 0;
            }
        }
    }

    /// Where walks end: a site that has ended is left out, and when all have, nothing more comes. Returns how many were placed.
    fn place_until_ended(&mut self, ops: &mut [Op]) -> usize {
        for (placed, op) in ops.iter_mut().enumerate() {
            loop {
                if self.live == 0 {
                    return placed;
                }
                let index = self.place_one(op);
                if !self.sites[index].place.has_ended() {
                    break;
                }
                self.leave(index);
            }
        }
        ops.len()
    }

    /// Where maps wait for each other: places up to the end of the pass, and says how many that are.
    fn place_in_rounds(&mut self, ops: &mut [Op]) -> usize {
        for (placed, op) in ops.iter_mut().enumerate() {
            loop {
                if self.live == 0 {
                    return placed;
                }
                let index = self.place_one(op);
                // Of another pass, where there is none.
                let beyond = self.one_round && self.sites[index].place.map_overflowed();
                if self.sites[index].place.map_is_full() {
                    self.leave(index);
                }
                if !beyond {
                    break;
                }
            }
            if self.live == 0 {
                return placed + 1;
            }
        }
        ops.len()
    }

    /// Leaves out a site; those behind it move up, and the one whose turn it is keeps it.
    #[cold]
    fn leave(&mut self, index: usize) {
        self.sites[index..self.live].rotate_left(1);
        self.live -= 1;
        if self.current > index {
            self.current -= 1;
        }
        if self.current >= self.live.min(self.open) {
            self.current = 0;
        }
        if index == self.current {
            self.current_bytes = 0;
        }
    }

    /// Returns how many were placed.
    fn place(&mut self, ops: &mut [Op]) -> usize {
        if self.ends {
            return self.place_until_ended(ops);
        }
        if self.rounds {
            return self.place_in_rounds(ops);
        }
        if let [Site { target, range, place: Positions::Random(draw), .. }] = self.sites.as_mut_slice() {
            ops.iter_mut().for_each(|op| op.target = *target);
            draw.fill(ops, &Grid { range: *range, align: self.align, sizes: &self.sizes }, &mut self.rng);
        } else {
            ops.iter_mut().for_each(|op| {
                self.place_one(op);
            });
        }
        ops.len()
    }

    /// Takes the bytes of a block of operations off what is left of a pass; returns how many of them belong to it.
    fn end_pass_of_bytes(&mut self, ops: &[Op]) -> usize {
        let len = up_to(ops, &mut self.pass_bytes_left);
        // What lies behind the end comes again where the pass is repeated, and would be lost where it is not.
        if self.start.is_some() || self.turns { len } else { ops.len() }
    }
}

/// How many operations it takes until their bytes reach `bytes_left`, which they are taken off. Blocks are whole: the last
/// one may go beyond.
fn up_to(ops: &[Op], bytes_left: &mut u64) -> usize {
    for (index, op) in ops.iter().enumerate() {
        if *bytes_left == 0 {
            return index;
        }
        *bytes_left = bytes_left.saturating_sub(u64::from(op.len_bytes));
    }
    ops.len()
}

impl Generator {
    /// The stages behind the choice of kinds, for the first `wanted` operations.
    #[inline(always)]
    fn fill_rest(&mut self, block: &mut OpBlock, wanted: usize) {
        self.sizes.fill(&mut block.ops[..wanted], &mut self.rng);
        let mut len = self.place(&mut block.ops[..wanted]);
        let ended = (self.ends && len < wanted) || (self.one_round && self.live == 0);
        if self.pass_bytes != u64::MAX {
            len = self.end_pass_of_bytes(&block.ops[..len]);
        }
        if self.bytes_left != u64::MAX {
            len = up_to(&block.ops[..len], &mut self.bytes_left);
        }
        if self.ios_left != u64::MAX {
            self.ios_left -= len as u64;
        }
        if self.pass_ios != u64::MAX {
            self.pass_left -= len as u64;
        }
        block.last = self.ios_left == 0 || self.bytes_left == 0 || ended;
        block.pass_ends = self.pass_left == 0 || self.pass_bytes_left == 0 || (self.rounds && self.live == 0);
        if block.pass_ends {
            self.begin_pass();
        }
        block.len = len;
    }
}

impl OpSource for Generator {
    fn fill(&mut self, block: &mut OpBlock) {
        let wanted = self.ios_left.min(self.pass_left).min(BLOCK_OPS as u64) as usize;
        self.kinds.fill(&mut block.ops[..wanted], &mut self.rng);
        self.fill_rest(block, wanted);
    }

    fn fill_one(&mut self, block: &mut OpBlock, kind: OpKind) {
        let wanted = self.ios_left.min(self.pass_left).min(1) as usize;
        block.ops[..wanted].iter_mut().for_each(|op| op.kind = kind);
        self.fill_rest(block, wanted);
    }
}

#[cfg(test)]
mod tests;
