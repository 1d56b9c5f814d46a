//! A job with every option resolved: what fio would run.

use std::cell::OnceCell;
use std::sync::Arc;

use assay_workload::job::FileLayout;

use super::distribution::{Distribution, SplitPart};
use super::pattern::Pattern;
use super::settings::Settings;
use super::substitute::replace_keyword;
use super::value::{Size, SteadyCriterion};

/// Per direction: reads, writes, trims.
pub(crate) type PerDirection<T> = [T; 3];

/// Which operations a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// Reads and writes.
    ReadWrite,
    /// Each block is trimmed and then written.
    TrimWrite,
}

impl Direction {
    /// What it does, as indices of [`PerDirection`].
    pub(crate) fn slots(self) -> &'static [usize] {
        match self {
            Direction::Read => &[0],
            Direction::Write => &[1],
            Direction::Trim => &[2],
            Direction::ReadWrite => &[0, 1],
            Direction::TrimWrite => &[1, 2],
        }
    }
}

/// What `rw=...:N` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Postfix {
    /// Nothing.
    None,
    /// Sequential: each next offset is moved by so many bytes; negative walks backwards.
    Stride(i64),
    /// Random: a new offset only every so many I/Os.
    Every(u64),
}

/// What happens between the random offsets of `rw=rand...:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sequencer {
    /// Go on behind the previous block.
    #[default]
    Sequential,
    /// The same block again.
    Identical,
}

/// Block sizes of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BlockSizes {
    /// One size in bytes.
    Fixed(u64),
    /// Uniform between two sizes in bytes; rounded down to multiples of the smaller unless `unaligned`.
    Range {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// Sizes with shares, in fio's order (ascending share).
    Split(Vec<SplitPart>),
}

impl BlockSizes {
    /// The smallest size in bytes.
    pub(crate) fn min_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { min, .. } => *min,
            Self::Split(parts) => parts.iter().map(|part| part.bytes).min().unwrap_or(0),
        }
    }

    /// The largest size in bytes.
    pub(crate) fn max_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { max, .. } => *max,
            Self::Split(parts) => parts.iter().map(|part| part.bytes).max().unwrap_or(0),
        }
    }
}

/// Which operation, how large, and where.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    /// Which operations.
    pub(crate) direction: Direction,
    /// Whether `rw` is one of the random ones.
    pub(crate) random: bool,
    /// `rw=...:N`.
    pub(crate) postfix: Postfix,
    /// Between random offsets.
    pub(crate) sequencer: Sequencer,
    /// Percentage of reads in a mixed job.
    pub(crate) read_percent: u8,
    /// Block sizes.
    pub(crate) sizes: PerDirection<BlockSizes>,
    /// Sizes need not be multiples of the smallest.
    pub(crate) unaligned: bool,
    /// The read sizes are for sequential I/O and the write sizes for random I/O.
    pub(crate) sizes_by_randomness: bool,
    /// Random offsets are multiples of this; `None`: of the smallest block.
    pub(crate) align_bytes: PerDirection<Option<u64>>,
    /// For random jobs: per cent of I/Os with a new random offset.
    pub(crate) random_percent: PerDirection<u8>,
    /// Where random offsets go.
    pub(crate) distribution: Distribution,
    /// Whether each block is visited once per pass.
    pub(crate) random_map: bool,
    /// Name of the generator of random numbers.
    pub(crate) generator: &'static str,
    /// The seed; `None`: another one in each run.
    pub(crate) seed: Option<i64>,
    /// Whether each pass begins with the seed again.
    pub(crate) repeats: bool,
}

impl Access {
    /// The block sizes of each operation that is done.
    fn sizes_used(&self) -> impl Iterator<Item = &BlockSizes> {
        self.direction.slots().iter().map(|slot| &self.sizes[*slot])
    }

    /// The smallest block, in bytes.
    pub(crate) fn min_bytes(&self) -> u64 {
        self.sizes_used().map(BlockSizes::min_bytes).min().unwrap_or(0)
    }

    /// The largest block, in bytes.
    pub(crate) fn max_bytes(&self) -> u64 {
        self.sizes_used().map(BlockSizes::max_bytes).max().unwrap_or(0)
    }
}

/// Which part of the files is worked on.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    /// Bytes of all files of one clone; `None`: what the files hold.
    pub(crate) size: Option<Size>,
    /// Bytes to transfer, if not once the region.
    pub(crate) io_size: Option<Size>,
    /// Length of the files that are laid out for a job that works on names; `None`: it works on what is in them.
    pub(crate) named_bytes: Option<u64>,
    /// Length of each file in bytes, drawn between the two.
    pub(crate) file_size: Option<(u64, u64)>,
    /// Start within each file.
    pub(crate) offset: Size,
    /// Added to the start once per clone number.
    pub(crate) offset_increment: Size,
    /// `zonemode`.
    pub(crate) zones: ZoneMode,
}

/// How a file is cut into zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZoneMode {
    /// It is not.
    Whole,
    /// Length of a zone, bytes to move in it, bytes left out behind it.
    Strided { zone: u64, turn: u64, skip: u64 },
    /// `zonemode=strided` without `zonesize`.
    Unsized,
    /// The zones of a zoned block device.
    Device,
}

/// The files of one clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileSet {
    /// Named by `filename`.
    Named(Arc<Vec<String>>),
    /// Made from `filename_format`.
    Generated {
        /// The directory, if any.
        directory: Option<String>,
        /// The format with everything but `$filenum` replaced.
        format: String,
        /// Number of files.
        count: u64,
    },
    /// None: another clone has the same name, and this one does no I/O (a trap of fio).
    Taken {
        /// The name both would have.
        name: String,
    },
}

impl FileSet {
    /// Number of files.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Named(names) => names.len() as u64,
            Self::Generated { count, .. } => *count,
            Self::Taken { .. } => 0,
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of file `index`, from 0.
    pub(crate) fn name(&self, index: u64) -> Option<String> {
        match self {
            Self::Named(names) => names.get(usize::try_from(index).ok()?).cloned(),
            Self::Generated { directory, format, count } if index < *count => {
                let file = replace_keyword(format, "$filenum", &index.to_string());
                Some(match directory {
                    Some(directory) => format!("{}/{file}", directory.trim_end_matches('/')),
                    None => file,
                })
            }
            _ => None,
        }
    }
}

/// Which file the next I/O goes to.
#[derive(Debug, Clone)]
pub(crate) struct FileService {
    /// `roundrobin`, `random`, `sequential`, `zipf`, `pareto`, `normal` or `gauss`.
    pub(crate) order: &'static str,
    /// What follows behind the colon: I/Os per turn, or the distribution's parameter.
    pub(crate) parameter: Option<String>,
    /// What files are made of first.
    pub(crate) layout: FileLayout,
    /// Files open at a time; 0: all.
    pub(crate) open: u64,
    /// They are made when they are opened, not before.
    pub(crate) create_on_open: bool,
    /// They are removed at the end.
    pub(crate) remove: bool,
    /// They are removed between loops.
    pub(crate) remove_each_loop: bool,
}

/// How many I/Os are in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Depth {
    /// `iodepth` as written.
    pub(crate) asked: u32,
    /// What the engine keeps: 1 on synchronous engines.
    pub(crate) effective: u32,
    /// Whether the engine queues I/Os: also one at a time.
    pub(crate) asynchronous: bool,
    /// Submitted in one go.
    pub(crate) batch_submit: u32,
    /// Waited for in one go; 0 polls.
    pub(crate) batch_complete_min: u32,
    /// Taken in one go at most.
    pub(crate) batch_complete_max: u32,
    /// A full queue is drained to this before it is filled again.
    pub(crate) low: u32,
    /// Another thread submits.
    pub(crate) offload: bool,
}

/// How fast, with pauses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pacing {
    /// Bytes per second of one clone.
    pub(crate) rate_bytes_per_s: PerDirection<Option<u64>>,
    /// I/Os per second of one clone.
    pub(crate) rate_iops: PerDirection<Option<u64>>,
    /// Whether arrivals are a Poisson process instead of evenly spaced.
    pub(crate) poisson: bool,
    /// Whether pauses do not count for the rate.
    pub(crate) ignore_think_time: bool,
    /// Pause in microseconds.
    pub(crate) think_us: u64,
    /// A pause after so many I/Os.
    pub(crate) think_blocks: u64,
    /// Its weight in a flow, the number of the flow, and what it waits where it is ahead, in microseconds.
    pub(crate) flow: Option<(u32, u32, u64)>,
}

impl Pacing {
    /// Whether any rate is set.
    pub(crate) fn is_limited(&self) -> bool {
        self.rate_bytes_per_s.iter().chain(&self.rate_iops).any(|rate| rate.is_some_and(|rate| rate > 0))
    }
}

/// The search for the depth that keeps a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LatencyTarget {
    /// The latency to keep, in microseconds.
    pub(crate) target_us: u64,
    /// Each depth is tried this long, in microseconds.
    pub(crate) window_us: u64,
    /// Per cent of the I/Os that have to keep it.
    pub(crate) percentile: f64,
    /// Whether the load goes on at the depth found.
    pub(crate) keep_running: bool,
}

/// How long.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lifetime {
    /// Upper limit in microseconds, behind the ramp; 0: none.
    pub(crate) runtime_us: u64,
    /// Whether the load repeats until `runtime_us`.
    pub(crate) time_based: bool,
    /// Not measured, in microseconds.
    pub(crate) ramp_us: u64,
    /// Delay from the start of the run in microseconds: between the two.
    pub(crate) start_delay_us: (u64, u64),
    /// Passes.
    pub(crate) loops: u64,
    /// I/Os per pass; 0: no limit.
    pub(crate) number_ios: u64,
}

/// How writes reach the medium.
#[derive(Debug, Clone, Default)]
pub(crate) struct Durability {
    /// Past the page cache.
    pub(crate) direct: bool,
    /// `none`, `sync` or `dsync` at open.
    pub(crate) open_sync: &'static str,
    /// fsync after so many writes; 0: never.
    pub(crate) fsync_every: u64,
    /// fdatasync after so many writes; 0: never.
    pub(crate) fdatasync_every: u64,
    /// fsync when the job ends.
    pub(crate) end_fsync: bool,
    /// fsync at each close.
    pub(crate) fsync_on_close: bool,
    /// Drop clean pages when a file is opened.
    pub(crate) invalidate: bool,
    /// Tell the kernel the order of access.
    pub(crate) access_hint: bool,
}

/// What is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    /// Zeros.
    pub(crate) zero: bool,
    /// New random bytes for each write.
    pub(crate) refill: bool,
    /// A few bytes changed for each write.
    pub(crate) scramble: bool,
    /// A repeated pattern.
    pub(crate) pattern: Option<Arc<Pattern>>,
    /// Compressible share in per cent.
    pub(crate) compress_percent: u8,
    /// Share of duplicates in per cent.
    pub(crate) dedupe_percent: u8,
}

/// Which data is checked, and when.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verify {
    /// The method; `None`: nothing is checked.
    pub(crate) method: Option<&'static str>,
    /// What blocks hold instead of random bytes.
    pub(crate) pattern: Option<Arc<Pattern>>,
    /// Bytes of a block after which the pattern begins again; 0: with the next block.
    pub(crate) pattern_interval: u64,
    /// What was written is read back behind the last write of the job.
    pub(crate) read_back: bool,
    /// Nothing is written: what an earlier run wrote is checked.
    pub(crate) only: bool,
    /// Blocks written before they are read back; 0: all of them.
    pub(crate) backlog: u64,
    /// The first wrong block ends the job, whatever errors it tolerates.
    pub(crate) fatal: bool,
    /// I/Os on the same blocks are done one after the other.
    pub(crate) serialized: bool,
}

/// When the load counts as steady and stops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steady {
    /// The criterion.
    pub(crate) criterion: SteadyCriterion,
    /// Length of the window in microseconds; 0: off.
    pub(crate) duration_us: u64,
    /// Before the first window, in microseconds.
    pub(crate) ramp_us: u64,
    /// Between samples, in microseconds.
    pub(crate) interval_us: u64,
}

/// One job or clone, in the order fio creates them.
///
/// Its options are read where they are asked for, and each that is asked for while a workload is made of it counts as
/// read: see `resolve::Given`.
#[derive(Debug, Clone)]
pub struct ResolvedJob {
    /// The name that is reported.
    pub(crate) name: String,
    /// Index of its section among the jobs, from 0.
    pub(crate) section_index: usize,
    /// Number among the clones of its section, from 0 (`$jobnum`).
    pub(crate) clone_number: u32,
    /// Number in the whole run, from 1 (in log file names).
    pub(crate) thread_number: u32,
    /// Number of clones of the section.
    pub(crate) clones: u32,
    /// Jobs of one stage run side by side, from 0; a stage starts when the one before has ended.
    pub(crate) stage: u32,
    /// Reporting group, from 0.
    pub(crate) group: u32,
    /// Whether the members of the group are reported as one.
    pub(crate) group_reporting: bool,
    /// Starts when all jobs of this name have ended.
    pub(crate) wait_for: Option<String>,
    /// The files.
    pub(crate) files: FileSet,
    pub(super) settings: Settings,
    pub(super) marks: bool,
    pub(super) read: Read,
}

/// What was read of a job's options so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    pub(super) access: OnceCell<Access>,
    pub(super) region: OnceCell<Region>,
    pub(super) depth: OnceCell<Depth>,
    pub(super) pacing: OnceCell<Pacing>,
    pub(super) lifetime: OnceCell<Lifetime>,
    pub(super) durability: OnceCell<Durability>,
    pub(super) content: OnceCell<Content>,
}
