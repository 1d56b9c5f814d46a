//! Which operation, how large, and where: one job's access pattern.

use serde::{Deserialize, Serialize};

use crate::target::Extent;

/// Read, write or trim. The discriminants index per-operation arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum OpKind {
    /// Read.
    Read = 0,
    /// Write.
    Write = 1,
    /// Trim: discard on a device, hole punching in a file.
    Trim = 2,
    /// fsync: a flush of data and metadata. Never drawn from the mix; issued by the flush policy.
    Fsync = 3,
    /// fdatasync. As [`OpKind::Fsync`].
    Fdatasync = 4,
}

impl OpKind {
    /// The three that carry data or address, in the order results list them.
    pub const DATA: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

    /// Lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Trim => "trim",
            OpKind::Fsync => "fsync",
            OpKind::Fdatasync => "fdatasync",
        }
    }

    /// Whether it is fsync or fdatasync.
    pub fn is_flush(self) -> bool {
        matches!(self, OpKind::Fsync | OpKind::Fdatasync)
    }
}

/// Shares of the operations in per cent; they total 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Percentage of reads.
    pub read_percent: f64,
    /// Per cent of writes.
    pub write_percent: f64,
    /// Per cent of trims.
    pub trim_percent: f64,
}

impl Mix {
    /// Reads alone.
    pub const READ: Mix = Mix { read_percent: 100.0, write_percent: 0.0, trim_percent: 0.0 };
    /// Writes alone.
    pub const WRITE: Mix = Mix { read_percent: 0.0, write_percent: 100.0, trim_percent: 0.0 };
    /// Trims alone.
    pub const TRIM: Mix = Mix { read_percent: 0.0, write_percent: 0.0, trim_percent: 100.0 };

    /// `percent` reads, the rest writes.
    pub fn read_write(percent: f64) -> Mix {
        Mix { read_percent: percent, write_percent: 100.0 - percent, trim_percent: 0.0 }
    }

    /// The share of `kind`, 0 to 1; 0 for flushes.
    pub fn share(&self, kind: OpKind) -> f64 {
        match kind {
            OpKind::Read => self.read_percent / 100.0,
            OpKind::Write => self.write_percent / 100.0,
            OpKind::Trim => self.trim_percent / 100.0,
            OpKind::Fsync | OpKind::Fdatasync => 0.0,
        }
    }
}

/// Block sizes of one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BlockSizes {
    /// Always this many bytes.
    Fixed(u64),
    /// Sizes in bytes with weights; weights need not total anything.
    Weighted(Vec<(u64, f64)>),
    /// Uniform over the multiples of `step_bytes` from `min_bytes` to `max_bytes`.
    Range {
        /// Smallest.
        min_bytes: u64,
        /// Largest.
        max_bytes: u64,
        /// Granularity.
        step_bytes: u64,
    },
    /// Not known: of a command that was only observed. No workload asks for it.
    Unknown,
}

impl BlockSizes {
    /// The smallest size that can be drawn; 0: not known.
    pub fn min_bytes(&self) -> u64 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Weighted(list) => list.iter().map(|entry| entry.0).min().unwrap_or(0),
            BlockSizes::Range { min_bytes, .. } => *min_bytes,
            BlockSizes::Unknown => 0,
        }
    }

    /// The largest size that can be drawn.
    pub fn max_bytes(&self) -> u64 {
        match self {
            BlockSizes::Fixed(size) => *size,
            BlockSizes::Weighted(list) => list.iter().map(|entry| entry.0).max().unwrap_or(0),
            BlockSizes::Range { max_bytes, .. } => *max_bytes,
            BlockSizes::Unknown => 0,
        }
    }

    /// The mean size in bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            BlockSizes::Fixed(size) => *size as f64,
            BlockSizes::Weighted(list) => {
                let total: f64 = list.iter().map(|entry| entry.1).sum();
                list.iter().map(|entry| entry.0 as f64 * entry.1).sum::<f64>() / total
            }
            BlockSizes::Range { min_bytes, max_bytes, .. } => (*min_bytes + *max_bytes) as f64 / 2.0,
            BlockSizes::Unknown => 0.0,
        }
    }
}

/// A zone of [`Distribution::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Per cent of the accesses.
    pub access_percent: f64,
    /// How much of the range, from where the previous zone ended.
    pub size: ZoneSize,
}

/// The size of a [`Zone`]. A share stays one in a plan: the threads of a job work on ranges of different lengths.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ZoneSize {
    /// Bytes.
    Bytes(u64),
    /// Per cent of the range that a thread works on in a target, 0 to 100. Older plans call it `percent`.
    #[serde(alias = "percent")]
    RangePercent(f64),
}

impl ZoneSize {
    /// In bytes, of a range of `length_bytes`.
    pub fn of(self, length_bytes: u64) -> u64 {
        match self {
            ZoneSize::Bytes(bytes) => bytes,
            ZoneSize::RangePercent(percent) => Extent::Percent(percent).of(length_bytes),
        }
    }
}

impl From<Extent> for ZoneSize {
    fn from(extent: Extent) -> ZoneSize {
        match extent {
            Extent::Bytes(bytes) => ZoneSize::Bytes(bytes),
            Extent::Percent(percent) => ZoneSize::RangePercent(percent),
        }
    }
}

impl From<ZoneSize> for Extent {
    fn from(size: ZoneSize) -> Extent {
        match size {
            ZoneSize::Bytes(bytes) => Extent::Bytes(bytes),
            ZoneSize::RangePercent(percent) => Extent::Percent(percent),
        }
    }
}

/// How random positions are distributed over the active range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every block alike.
    Uniform,
    /// Zipf with exponent `theta` over the blocks, ranks scattered over the range by a hash (as fio does).
    Zipf {
        /// Exponent, above 0 and not 1.
        theta: f64,
    },
    /// fio's Pareto with power `h`, scattered like zipf.
    Pareto {
        /// Power, between 0 and 1.
        h: f64,
    },
    /// Normal around the middle of the range.
    Normal {
        /// Standard deviation in per cent of the range.
        stddev_percent: f64,
        /// Whether neighbours are scattered over the range, as with zipf (fio).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        scattered: bool,
    },
    /// Blocks of the range in the order of a list, again and again, each operation on its own.
    Sequence {
        /// Their numbers, from 0.
        blocks: Vec<u64>,
        /// Whether each round goes on behind the one before, as many blocks on as the list has; a thread ends when a block lies behind
        /// the range.
        advances: bool,
    },
    /// Zones one behind the other, each with a share of the accesses.
    Zoned(Vec<Zone>),
    /// vdbench's hit area: a share of reads and of writes goes to the first `bytes` of the range, the rest behind it.
    HitArea {
        /// Percentage of reads that go to the area.
        read_percent: f64,
        /// Per cent of writes (and trims) that go to the area.
        write_percent: f64,
        /// Size of the area.
        bytes: u64,
    },
    /// vdbench's `poisson`: exponential from the start of the range with mean range / `midpoint`, wrapped.
    Exponential {
        /// Range divided by the mean.
        midpoint: f64,
    },
    /// vdbench's hotband, with its unit error or corrected.
    Hotband {
        /// Start of the band in bytes within the range.
        low_bytes: u64,
        /// End of the band in bytes within the range.
        high_bytes: u64,
        /// Whether the unit error of the original is repaired.
        corrected: bool,
    },
    /// A share of the reads goes to blocks that were not touched before, each of them once; other reads and all writes go to
    /// blocks that this thread has touched. A thread ends when it has touched every block of its range.
    ReadMiss {
        /// Per cent of the reads that go to blocks not touched before.
        miss_percent: f64,
        /// The others go to the blocks touched last that together have this many bytes; `u64::MAX`: to all touched.
        hit_bytes: u64,
    },
}

/// Steps of a sequential walk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sequential {
    /// Bytes skipped behind each block: uniform from `skip_min_bytes` to `skip_max_bytes`.
    pub skip_min_bytes: u64,
    /// See `skip_min_bytes`; equal to it for a constant stride.
    pub skip_max_bytes: u64,
    /// Whether the walk starts at a random block instead of the start of the range.
    pub random_start: bool,
    /// Whether reads, writes and trims walk on their own cursor each (fio) or share one (vdbench).
    pub cursor_per_operation: bool,
    /// Whether the walk goes on at the start when it reaches the end. If not, the job ends where the next block does not
    /// fit behind the last one on any of its targets; within a mix with random access it goes on all the same.
    pub wrap: bool,
}

impl Default for Sequential {
    fn default() -> Self {
        Sequential {
            skip_min_bytes: 0,
            skip_max_bytes: 0,
            random_start: false,
            cursor_per_operation: true,
            wrap: true,
        }
    }
}

/// Random placement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// The shape.
    pub distribution: Distribution,
    /// Whether each block is visited once per pass (uniform only): the random map.
    pub once_per_pass: bool,
}

impl Random {
    /// Whether each block is visited once per pass.
    pub fn is_map(&self) -> bool {
        self.once_per_pass && self.distribution == Distribution::Uniform
    }
}

/// Where the operations go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// One block behind the other.
    Sequential(Sequential),
    /// By a distribution.
    Random(Random),
    /// Each operation is random with this share, else continues behind the previous one.
    Mixed {
        /// Per cent of the operations that are random.
        random_percent: f64,
        /// The random part.
        random: Random,
        /// The sequential part.
        sequential: Sequential,
    },
    /// Not known: of a command that was only observed. No workload asks for it.
    Unknown,
}

impl Placement {
    /// Uniform random with the random map on: what `randread` and friends mean.
    pub fn random_map() -> Placement {
        Placement::Random(Random { distribution: Distribution::Uniform, once_per_pass: true })
    }

    /// Uniform random, blocks drawn independently.
    pub fn random_independent() -> Placement {
        Placement::Random(Random { distribution: Distribution::Uniform, once_per_pass: false })
    }

    /// From the start of the range to its end, again and again.
    pub fn sequential() -> Placement {
        Placement::Sequential(Sequential::default())
    }

    /// Whether any of it is random, as far as is known.
    pub fn is_random(&self) -> bool {
        self.known_random() == Some(true)
    }

    /// Whether any of it is random; `None`: not known.
    pub fn known_random(&self) -> Option<bool> {
        match self {
            Placement::Sequential(_) => Some(false),
            Placement::Random(_) | Placement::Mixed { .. } => Some(true),
            Placement::Unknown => None,
        }
    }

    /// Whether it comes to an end of its range and begins again: random blocks without a map never do.
    pub fn has_passes(&self) -> bool {
        !matches!(self, Placement::Random(random) if !random.is_map())
    }
}

/// Which operation, how large, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AccessPattern {
    /// Shares of the operations.
    pub mix: Mix,
    /// Sizes of reads.
    pub read_sizes: BlockSizes,
    /// Sizes of writes.
    pub write_sizes: BlockSizes,
    /// Sizes of trims.
    pub trim_sizes: BlockSizes,
    /// Where they go.
    pub placement: Placement,
    /// Blocks begin at multiples of this, counted from the start of the active range; `None`: of the smallest block size in the mix.
    pub align_bytes: Option<u64>,
    /// Each further pass of a thread over its range does what the first did, in the same order, as fio has it between the passes
    /// of `loops`. Without a random map a pass is over once it has moved as many bytes as the range has.
    #[serde(default)]
    pub repeat_passes: bool,
}

impl AccessPattern {
    /// A pattern with one block size for all operations.
    pub fn new(mix: Mix, block_size_bytes: u64, placement: Placement) -> Self {
        let sizes = BlockSizes::Fixed(block_size_bytes);
        AccessPattern {
            mix,
            read_sizes: sizes.clone(),
            write_sizes: sizes.clone(),
            trim_sizes: sizes,
            placement,
            align_bytes: None,
            repeat_passes: false,
        }
    }

    /// Of a command that was only observed: what it did is known, and neither where nor in which sizes.
    pub fn unknown(mix: Mix) -> Self {
        let [read_sizes, write_sizes, trim_sizes] = [const { BlockSizes::Unknown }; 3];
        let placement = Placement::Unknown;
        AccessPattern {
            mix,
            read_sizes,
            write_sizes,
            trim_sizes,
            placement,
            align_bytes: None,
            repeat_passes: false,
        }
    }

    /// The block sizes of `kind`.
    pub fn sizes(&self, kind: OpKind) -> &BlockSizes {
        match kind {
            OpKind::Read => &self.read_sizes,
            OpKind::Trim => &self.trim_sizes,
            _ => &self.write_sizes,
        }
    }

    /// The operations that occur in the mix.
    pub fn kinds(&self) -> impl Iterator<Item = OpKind> + '_ {
        OpKind::DATA.into_iter().filter(|kind| self.mix.share(*kind) > 0.0)
    }

    /// Whether its targets must hold data: reads of holes and trims of them reach no storage.
    pub fn needs_data(&self) -> bool {
        self.kinds().any(|kind| matches!(kind, OpKind::Read | OpKind::Trim))
    }

    /// The largest block of any operation that occurs.
    pub fn max_block_bytes(&self) -> u64 {
        self.kinds().map(|kind| self.sizes(kind).max_bytes()).max().unwrap_or(0)
    }

    /// The smallest block of any operation that occurs.
    pub fn min_block_bytes(&self) -> u64 {
        self.kinds().map(|kind| self.sizes(kind).min_bytes()).min().unwrap_or(0)
    }

    /// Bytes that one pass over a range of `length_bytes` moves. A walk and a random map take the whole blocks that fit; drawn
    /// independently, blocks are not bound to places.
    pub fn pass_bytes(&self, length_bytes: u64) -> u64 {
        let unit = match &self.placement {
            Placement::Random(random) if random.is_map() => self.align(),
            Placement::Sequential(_) if self.max_block_bytes() == self.min_block_bytes() => {
                self.min_block_bytes()
            }
            _ => 1,
        };
        length_bytes - length_bytes % unit.max(1)
    }

    /// What blocks begin at multiples of, counted from the start of the active range.
    pub fn align(&self) -> u64 {
        let align = self.align_bytes.unwrap_or_else(|| self.min_block_bytes()).max(1);
        // A block that reached into the next one would touch it.
        if self.has_read_misses() { self.max_block_bytes().next_multiple_of(align) } else { align }
    }

    /// Whether a share of the reads has to go to blocks that were not touched before.
    pub fn has_read_misses(&self) -> bool {
        matches!(&self.placement, Placement::Random(random) if matches!(random.distribution, Distribution::ReadMiss { .. }))
    }
}
