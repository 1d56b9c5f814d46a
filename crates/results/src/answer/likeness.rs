//! What kind of storage a run's figures are like, by stated bounds: `docs/methodology/answer.md` has them as a table.
//!
//! Only what was measured counts, not what a device calls itself: a virtual disk calls itself anything.

use super::Quoted;
use crate::run::Verdict;

const US: f64 = 1e3;
const MS: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

/// Blocks of small random operations are at most this large, bytes.
const SMALL_MAX: u64 = 16 << 10;
/// Blocks of sequential operations are at least this large.
const LARGE_MIN: u64 = 64 << 10;
/// With more outstanding I/Os, latency holds time in queues: it is then an upper bound only.
const ALONE_MAX: u64 = 4;
/// Outstanding I/Os from which on storage shows how many it serves side by side.
const MANY_MIN: u64 = 16;

/// A kind of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageKind {
    /// Memory, or a cache in front of whatever.
    Memory,
    /// Flash on PCI Express.
    Nvme,
    /// Flash behind SATA.
    SataSsd,
    /// Turning disks.
    HardDisk,
    /// Storage behind a network.
    Network,
}

/// What figures of a kind are within.
struct Bounds {
    kind: StorageKind,
    /// Median latency of small random reads with up to four outstanding.
    read_ns: (f64, f64),
    /// Median latency of small durable writes, likewise.
    durable_ns: (f64, f64),
    /// The most bytes a second.
    bytes_per_s_max: f64,
    /// The most small random reads a second.
    iops_max: f64,
    /// Least ratio of sequential to random bytes a second.
    ratio_min: f64,
    /// How many times as many small random reads there are with 16 or more outstanding as with few: least and most.
    gain: (f64, f64),
}

const ANY: (f64, f64) = (0.0, f64::INFINITY);

const KINDS: [Bounds; 5] = [
    Bounds {
        kind: StorageKind::Memory,
        read_ns: (0.0, 25.0 * US),
        durable_ns: (0.0, 25.0 * US),
        bytes_per_s_max: f64::INFINITY,
        iops_max: f64::INFINITY,
        ratio_min: 0.0,
        gain: ANY,
    },
    Bounds {
        kind: StorageKind::Nvme,
        read_ns: (25.0 * US, 200.0 * US),
        durable_ns: (5.0 * US, 10.0 * MS),
        bytes_per_s_max: 16_000.0 * MIB,
        iops_max: 4e6,
        ratio_min: 0.0,
        gain: ANY,
    },
    Bounds {
        kind: StorageKind::SataSsd,
        read_ns: (60.0 * US, 500.0 * US),
        durable_ns: (20.0 * US, 30.0 * MS),
        // The link moves 600 MB/s and holds 32 commands.
        bytes_per_s_max: 600e6,
        iops_max: 105e3,
        ratio_min: 0.0,
        gain: ANY,
    },
    Bounds {
        kind: StorageKind::HardDisk,
        read_ns: (2.0 * MS, 40.0 * MS),
        durable_ns: (500.0 * US, 100.0 * MS),
        bytes_per_s_max: 350.0 * MIB,
        iops_max: 1500.0,
        // Arms are fast only where they need not move.
        ratio_min: 20.0,
        gain: (0.0, 6.0),
    },
    Bounds {
        kind: StorageKind::Network,
        read_ns: (200.0 * US, 20.0 * MS),
        durable_ns: (200.0 * US, 50.0 * MS),
        bytes_per_s_max: 12_500e6,
        iops_max: 4e6,
        ratio_min: 0.0,
        gain: (6.0, f64::INFINITY),
    },
];

/// A figure that the kind is known by, with the kinds that fit it.
#[derive(Debug, Clone)]
pub struct Fit<'r> {
    /// The figure.
    pub quoted: Quoted<'r>,
    /// The kinds whose bounds it is within.
    pub kinds: Vec<StorageKind>,
}

/// What a run's storage behaves like.
#[derive(Debug, Clone, Default)]
pub struct Likeness<'r> {
    /// The kinds that fit every figure: one, or two that cannot be told apart. Empty: none fits all, or too many do.
    pub kinds: Vec<StorageKind>,
    /// Small random reads with the fewest outstanding.
    pub read: Option<Fit<'r>>,
    /// Small durable writes with the fewest outstanding.
    pub durable: Option<Fit<'r>>,
    /// The most sequential bytes a second.
    pub sequential: Option<Fit<'r>>,
}

/// Judges the figures that are not invalid and that met the storage.
pub fn likeness<'r>(quoted: &[Quoted<'r>]) -> Likeness<'r> {
    let usable: Vec<&Quoted<'r>> =
        quoted.iter().filter(|quoted| quoted.on_storage && quoted.row.verdict != Verdict::Invalid).collect();
    let block = |quoted: &Quoted<'_>| quoted.job.total.block_size;
    let small = |quoted: &Quoted<'_>| (1..=SMALL_MAX).contains(&block(quoted)) && quoted.random == Some(true);
    let closed = |quoted: &Quoted<'_>| quoted.job.evidence.offered_iops.is_none();
    let reads: Vec<&Quoted<'r>> = usable
        .iter()
        .copied()
        .filter(|quoted| small(quoted) && quoted.only_reads() && closed(quoted))
        .collect();
    let fewest = |of: &[&Quoted<'r>]| {
        let known =
            of.iter().copied().filter(|quoted| quoted.p50_ns.is_some() && quoted.job.outstanding_io > 0);
        known.min_by_key(|quoted| (quoted.job.outstanding_io, block(quoted))).cloned()
    };
    let durable: Vec<&Quoted<'r>> = usable
        .iter()
        .copied()
        .filter(|quoted| quoted.durable && quoted.only_writes() && block(quoted) <= SMALL_MAX)
        .collect();
    let sequential =
        usable.iter().copied().filter(|quoted| quoted.random == Some(false) && block(quoted) >= LARGE_MIN);
    let sequential = sequential.max_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s)).cloned();
    let (read, durable) = (fewest(&reads), fewest(&durable));
    let iops_max = reads.iter().map(|quoted| quoted.row.figure.value).fold(0.0, f64::max);
    let gain = gain(&reads);
    let ratio = read
        .as_ref()
        .zip(sequential.as_ref())
        .map(|(read, sequential)| sequential.bytes_per_s / read.bytes_per_s);

    let read = read.map(|quoted| {
        let fits = |bounds: &Bounds| {
            within(&quoted, bounds.read_ns)
                && iops_max <= bounds.iops_max
                && gain.is_none_or(|gain| (bounds.gain.0..=bounds.gain.1).contains(&gain))
                && ratio.is_none_or(|ratio| ratio >= bounds.ratio_min)
        };
        Fit { kinds: kinds(fits), quoted }
    });
    let durable =
        durable.map(|quoted| Fit { kinds: kinds(|bounds| within(&quoted, bounds.durable_ns)), quoted });
    let sequential = sequential
        .map(|quoted| Fit { kinds: kinds(|bounds| quoted.bytes_per_s <= bounds.bytes_per_s_max), quoted });
    let found: Vec<&Fit<'r>> = [&read, &durable, &sequential].into_iter().flatten().collect();
    let all = |bounds: &Bounds| found.iter().all(|fit| fit.kinds.contains(&bounds.kind));
    // Bandwidth alone tells no kind.
    let told = read.is_some() || durable.is_some();
    let kinds = Some(kinds(all)).filter(|kinds| told && kinds.len() <= 2).unwrap_or_default();
    Likeness { kinds, read, durable, sequential }
}

fn kinds(fits: impl Fn(&Bounds) -> bool) -> Vec<StorageKind> {
    KINDS.iter().filter(|bounds| fits(bounds)).map(|bounds| bounds.kind).collect()
}

/// Whether a latency is within bounds; one that holds time in queues says only what the storage is not slower than.
fn within(quoted: &Quoted<'_>, (low, high): (f64, f64)) -> bool {
    let queued = quoted.job.outstanding_io > ALONE_MAX;
    quoted.p50_ns.is_some_and(|ns| ns >= low && (queued || ns < high))
}

/// How many times as many operations many outstanding I/Os bring as one does.
fn gain(reads: &[&Quoted<'_>]) -> Option<f64> {
    let of = |such: fn(u64) -> bool| {
        let such = reads.iter().filter(move |quoted| such(quoted.job.outstanding_io));
        such.map(|quoted| quoted.row.figure.value)
            .fold(None, |most: Option<f64>, iops| Some(most.unwrap_or(0.0).max(iops)))
    };
    let (few, many) = (of(|outstanding| outstanding == 1)?, of(|outstanding| outstanding >= MANY_MIN)?);
    (few > 0.0).then_some(many / few)
}

#[cfg(test)]
#[path = "likeness/tests.rs"]
mod tests;
