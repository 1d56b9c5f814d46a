//! A job with every option resolved: what fio would run.

use std::sync::Arc;

use super::distribution::{Distribution, SplitPart};
use super::pattern::Pattern;
use super::settings::Settings;
use super::value::{Size, SteadyCriterion};

/// Per direction: reads, writes, trims.
pub type PerDirection<T> = [T; 3];

/// Which operations a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
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

/// What `rw=...:N` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Postfix {
    /// Nothing.
    None,
    /// Sequential: each next offset is moved by so many bytes; negative walks backwards.
    Stride(i64),
    /// Random: a new offset only every so many I/Os.
    Every(u64),
}

/// What happens between the random offsets of `rw=rand...:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sequencer {
    /// Go on behind the previous block.
    #[default]
    Sequential,
    /// The same block again.
    Identical,
}

/// Block sizes of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockSizes {
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
    pub fn min_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { min, .. } => *min,
            Self::Split(parts) => parts.iter().map(|part| part.bytes).min().unwrap_or(0),
        }
    }

    /// The largest size in bytes.
    pub fn max_bytes(&self) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Range { max, .. } => *max,
            Self::Split(parts) => parts.iter().map(|part| part.bytes).max().unwrap_or(0),
        }
    }
}

/// Which operation, how large, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Access {
    /// Which operations.
    pub direction: Direction,
    /// Whether `rw` is one of the random ones.
    pub random: bool,
    /// `rw=...:N`.
    pub postfix: Postfix,
    /// Between random offsets.
    pub sequencer: Sequencer,
    /// Per cent of reads in a mixed job.
    pub read_percent: u8,
    /// Block sizes.
    pub sizes: PerDirection<BlockSizes>,
    /// Sizes need not be multiples of the smallest.
    pub unaligned: bool,
    /// The read sizes are for sequential I/O and the write sizes for random I/O.
    pub sizes_by_randomness: bool,
    /// Random offsets are multiples of this; `None`: of the smallest block.
    pub align_bytes: PerDirection<Option<u64>>,
    /// For random jobs: per cent of I/Os with a new random offset.
    pub random_percent: PerDirection<u8>,
    /// Where random offsets go.
    pub distribution: Distribution,
    /// Whether each block is visited once per pass.
    pub random_map: bool,
    /// Name of the generator of random numbers.
    pub generator: &'static str,
    /// The seed; `None`: another one in each run.
    pub seed: Option<i64>,
    /// Whether each pass begins with the seed again.
    pub repeats: bool,
}

/// Which part of the files is worked on.
#[derive(Debug, Clone, PartialEq)]
pub struct Region {
    /// Bytes of all files of one clone; `None`: what the files hold.
    pub size: Option<Size>,
    /// Bytes to transfer, if not once the region.
    pub io_size: Option<Size>,
    /// Length of each file in bytes, drawn between the two.
    pub file_size: Option<(u64, u64)>,
    /// Start within each file.
    pub offset: Size,
    /// Added to the start once per clone number.
    pub offset_increment: Size,
    /// Percentages of offsets are rounded up to this many bytes; 0: to the smallest block.
    pub offset_align_bytes: u64,
}

/// The files of one clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileSet {
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
    pub fn len(&self) -> u64 {
        match self {
            Self::Named(names) => names.len() as u64,
            Self::Generated { count, .. } => *count,
            Self::Taken { .. } => 0,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of file `index`, from 0.
    pub fn name(&self, index: u64) -> Option<String> {
        match self {
            Self::Named(names) => names.get(usize::try_from(index).ok()?).cloned(),
            Self::Generated { directory, format, count } if index < *count => {
                let file = super::expand::replace_keyword(format, "$filenum", &index.to_string());
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
#[derive(Debug, Clone, PartialEq)]
pub struct FileService {
    /// `roundrobin`, `random`, `sequential`, `zipf`, `pareto`, `normal` or `gauss`.
    pub order: &'static str,
    /// What follows behind the colon: I/Os per turn, or the distribution's parameter.
    pub parameter: Option<String>,
}

/// How many I/Os are in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// `iodepth` as written.
    pub asked: u32,
    /// What the engine keeps: 1 on synchronous engines.
    pub effective: u32,
    /// Whether the engine queues I/Os: also one at a time.
    pub asynchronous: bool,
    /// Submitted in one go.
    pub batch_submit: u32,
    /// Waited for in one go; 0 polls.
    pub batch_complete_min: u32,
    /// Taken in one go at most.
    pub batch_complete_max: u32,
    /// A full queue is drained to this before it is filled again.
    pub low: u32,
}

/// How fast, with pauses.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pacing {
    /// Bytes per second of one clone.
    pub rate_bytes_per_s: PerDirection<Option<u64>>,
    /// I/Os per second of one clone.
    pub rate_iops: PerDirection<Option<u64>>,
    /// Below this many bytes per second the job fails.
    pub rate_bytes_per_s_min: PerDirection<Option<u64>>,
    /// Below this many I/Os per second the job fails.
    pub rate_iops_min: PerDirection<Option<u64>>,
    /// Whether arrivals are a Poisson process instead of evenly spaced.
    pub poisson: bool,
    /// Whether pauses do not count for the rate.
    pub ignore_think_time: bool,
    /// Pause in microseconds.
    pub think_us: u64,
    /// The part of the pause that is spent busy, in microseconds.
    pub think_spin_us: u64,
    /// A pause after so many I/Os.
    pub think_blocks: u64,
    /// Whether issued instead of completed I/Os count.
    pub think_by_issue: bool,
    /// Pauses only come after this much I/O time, in microseconds.
    pub think_iotime_us: u64,
}

impl Pacing {
    /// Whether any rate is set.
    pub fn is_limited(&self) -> bool {
        self.rate_bytes_per_s.iter().chain(&self.rate_iops).any(|rate| rate.is_some_and(|rate| rate > 0))
    }
}

/// The search for the depth that keeps a latency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencyTarget {
    /// The latency to keep, in microseconds.
    pub target_us: u64,
    /// Each depth is tried this long, in microseconds.
    pub window_us: u64,
    /// Per cent of the I/Os that have to keep it.
    pub percentile: f64,
    /// Whether the load goes on at the depth found.
    pub keep_running: bool,
}

/// How long.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lifetime {
    /// Upper limit in microseconds, behind the ramp; 0: none.
    pub runtime_us: u64,
    /// Whether the load repeats until `runtime_us`.
    pub time_based: bool,
    /// Not measured, in microseconds.
    pub ramp_us: u64,
    /// Delay from the start of the run in microseconds: between the two.
    pub start_delay_us: (u64, u64),
    /// Passes.
    pub loops: u64,
    /// I/Os per pass; 0: no limit.
    pub number_ios: u64,
}

/// How writes reach the medium.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Durability {
    /// Past the page cache.
    pub direct: bool,
    /// `none`, `sync` or `dsync` at open.
    pub open_sync: &'static str,
    /// fsync after so many writes; 0: never.
    pub fsync_every: u64,
    /// fdatasync after so many writes; 0: never.
    pub fdatasync_every: u64,
    /// sync_file_range with these flags after so many writes.
    pub sync_file_range: Option<(Vec<&'static str>, u64)>,
    /// fsync when the job ends.
    pub end_fsync: bool,
    /// syncfs when the job ends.
    pub end_syncfs: bool,
    /// fsync at each close.
    pub fsync_on_close: bool,
    /// Drop clean pages when a file is opened.
    pub invalidate: bool,
    /// Tell the kernel the order of access.
    pub access_hint: bool,
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Content {
    /// Zeros.
    pub zero: bool,
    /// New random bytes for each write.
    pub refill: bool,
    /// A few bytes changed for each write.
    pub scramble: bool,
    /// A repeated pattern.
    pub pattern: Option<Arc<Pattern>>,
    /// Compressible share in per cent.
    pub compress_percent: u8,
    /// Bytes within which that share is kept; 0: the block.
    pub compress_chunk_bytes: u64,
    /// Share of duplicates in per cent.
    pub dedupe_percent: u8,
    /// `repeat` or `working_set`.
    pub dedupe_mode: &'static str,
    /// Whether duplicates are shared among jobs.
    pub dedupe_global: bool,
}

/// Checking what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verify {
    /// fio's name of the method.
    pub method: &'static str,
    /// Whether the job reads back what it wrote.
    pub read_back: bool,
    /// Only check an earlier run's data.
    pub only: bool,
    /// Stop at the first bad block.
    pub fatal: bool,
    /// Check after so many writes; 0: at the end.
    pub backlog: u64,
    /// Bytes between headers; 0: the block.
    pub interval_bytes: u64,
    /// The pattern of the pattern methods.
    pub pattern: Option<Arc<Pattern>>,
}

/// When the load counts as steady and stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The criterion.
    pub criterion: SteadyCriterion,
    /// Length of the window in microseconds; 0: off.
    pub duration_us: u64,
    /// Before the first window, in microseconds.
    pub ramp_us: u64,
    /// Between samples, in microseconds.
    pub interval_us: u64,
}

/// Which errors do not end the job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Errors {
    /// `none`, `read`, `write`, `io`, `verify` or `all`.
    pub continue_on: &'static str,
    /// Names or numbers that are tolerated for reads, writes, verification; empty: EIO and EILSEQ.
    pub ignore: PerDirection<Vec<String>>,
}

/// One job or clone, in the order fio creates them, with everything resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedJob {
    /// The name that is reported.
    pub name: String,
    /// The name of its section.
    pub section: String,
    /// Index of its section among the jobs, from 0.
    pub section_index: usize,
    /// Number among the clones of its section, from 0 (`$jobnum`).
    pub clone_number: u32,
    /// Number in the whole run, from 1 (in log file names).
    pub thread_number: u32,
    /// Number of clones of the section.
    pub clones: u32,
    /// Jobs of one stage run side by side, from 0; a stage starts when the one before has ended.
    pub stage: u32,
    /// Reporting group, from 0.
    pub group: u32,
    /// Whether the members of the group are reported as one.
    pub group_reporting: bool,
    /// Starts when all jobs of this name have ended.
    pub wait_for: Option<String>,
    /// fio's name of the engine.
    pub engine: String,
    /// Private options of the engine: name and value as written.
    pub engine_options: Vec<(&'static str, String)>,
    /// Free text of the job.
    pub description: Option<String>,
    /// Which operation, how large, and where.
    pub access: Access,
    /// Which part of the files.
    pub region: Region,
    /// The files.
    pub files: FileSet,
    /// Which file next.
    pub service: FileService,
    /// In flight.
    pub depth: Depth,
    /// How fast.
    pub pacing: Pacing,
    /// Latency search, if asked.
    pub latency_target: Option<LatencyTarget>,
    /// An I/O slower than this many microseconds ends the job; 0: none does.
    pub latency_us_max: u64,
    /// How long.
    pub lifetime: Lifetime,
    /// How writes reach the medium.
    pub durability: Durability,
    /// What is written.
    pub content: Content,
    /// Checking, if asked.
    pub verify: Option<Verify>,
    /// Steady state, if asked.
    pub steady: Option<Steady>,
    /// Tolerated errors.
    pub errors: Errors,
    /// Weight and id of the flow it belongs to.
    pub flow: Option<(i64, i64)>,
    /// Processors it may run on; empty: all.
    pub cpus: Vec<u32>,
    /// Whether its end ends the others, and which.
    pub exit_all: Option<&'static str>,
    /// How files are allocated: `native`, `none`, `posix`, `keep`, `truncate`.
    pub fallocate: &'static str,
    /// Whether its files are removed at the end.
    pub unlink: bool,
    /// Whether writes keep an existing file (and its length) instead of laying it out.
    pub overwrite: bool,
    pub(super) settings: Settings,
}
