//! The self-describing sector: what is written says itself what it is, so that what is read can be told from what should be there.
//!
//! Every 512 bytes, the smallest unit that storage moves, start with a header, little endian:
//!
//! | bytes | what |
//! |---|---|
//! | 0-7 | the magic word `ASSAYSEC` |
//! | 8-11 | CRC-32C (Castagnoli, as iSCSI and ext4 use) of all bytes behind it |
//! | 12-15 | the target: CRC-32C of its name in the plan, which is the same on every host |
//! | 16-23 | offset of the sector in its target, bytes |
//! | 24-27 | generation: which write of its key block in this run it was, from 1 |
//! | 28-31 | sectors of the block that was written as a whole with it, which begins at a multiple of its length; 0: not known |
//! | 32-39 | the run that wrote it, a number drawn for each run |
//!
//! A key block is what is written as a whole at least: the alignment of the jobs' offsets. Its sectors have one generation.

use serde::{Deserialize, Serialize};

mod crash;

pub use crash::{Survived, Survivor, after_crash};

/// Bytes of a sector.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a header.
pub const HEADER_BYTES: usize = 40;
/// Sectors whose checksums are computed together: 4 KiB.
pub const GROUP: usize = 8;
/// Generations are counted up to here, and from 1 again.
pub const GENERATION_MAX: u32 = (1 << 22) - 1;
/// What a block begins with that fio wrote with `verify=` (`verify.h`: `FIO_HDR_MAGIC`, little-endian).
pub const FIO_MAGIC: [u8; 2] = 0xacca_u16.to_le_bytes();
const MAGIC: [u8; 8] = *b"ASSAYSEC";
/// Where the checksummed part starts.
const SUMMED: usize = 12;

/// What a sector says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Identity {
    /// CRC-32C of the target's name.
    pub target: u32,
    /// Where it belongs, bytes from the start of the target.
    pub offset_bytes: u64,
    /// Which write of its key block it was, from 1; 0: the key block was not written in this run.
    pub generation: u64,
    /// The run that wrote it.
    pub run: u64,
    /// The aligned block that was written as a whole with it, bytes; 0: not known, or written in part.
    #[serde(skip)]
    pub block_bytes: u32,
}

impl Identity {
    /// Whether another sector is in the block that was written as a whole with this one.
    pub fn is_of_block_with(&self, other: &Identity) -> bool {
        let block = |sector: &Identity| sector.offset_bytes.checked_div(u64::from(self.block_bytes));
        self.block_bytes > 0 && block(self) == block(other)
    }

    /// Whether a target cannot hold both sectors, each in its place: each was written together with the place of the other one.
    pub fn excludes(&self, other: &Identity) -> bool {
        writer(*self) != writer(*other) && self.is_of_block_with(other) && other.is_of_block_with(self)
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Identity { target, offset_bytes, generation, run, .. } = *self;
        write!(f, "target {target:08x}, offset {offset_bytes}, generation {generation}, run {run:016x}")
    }
}

/// The target's part of an identity.
pub fn target_id(name: &str) -> u32 {
    crc32c::crc32c(name.as_bytes())
}

/// The generation behind `generation`.
pub fn next_generation(generation: u32) -> u32 {
    if generation >= GENERATION_MAX { 1 } else { generation + 1 }
}

/// Whether generation `a` was written after `b`.
pub fn is_newer(a: u32, b: u32) -> bool {
    let behind = generations_behind(u64::from(a), u64::from(b));
    behind.is_some_and(|behind| (1..=u64::from(GENERATION_MAX) / 2).contains(&behind))
}

/// How many writes `older` is behind `newer`; about half of all generations are ahead of it instead.
fn generations_behind(newer: u64, older: u64) -> Option<u64> {
    let count = u64::from(GENERATION_MAX);
    if !(1..=count).contains(&newer) || !(1..=count).contains(&older) {
        return None;
    }
    Some((newer + count - older) % count)
}

/// What a key block should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Of its first sector, with the newest generation that it may hold.
    pub first: Identity,
    /// So many generations before it are as good: writes that failed may have reached the storage or not.
    pub failed_writes: u32,
}

impl Expected {
    fn sector(&self, index: usize) -> Identity {
        Identity { offset_bytes: self.first.offset_bytes + (index * SECTOR_BYTES) as u64, ..self.first }
    }

    fn allows(&self, generation: u64) -> bool {
        generations_behind(self.first.generation, generation)
            .is_some_and(|behind| behind <= u64::from(self.failed_writes))
    }
}

/// Why a block is not what was written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A sector has a header, and its bytes do not match its checksum.
    Damaged,
    /// A sector belongs to another offset: a write was misdirected or duplicated.
    Misplaced,
    /// A sector belongs to another target.
    OtherTarget,
    /// A sector holds nothing that Assay wrote.
    NotOurs,
    /// A sector holds zeros only.
    Zeros,
    /// Some sectors are of the last write, others of one before it.
    Torn,
    /// An older write of this run: the last one was lost.
    Stale,
    /// A write of another run: all of this run's were lost, or the other one overwrote them.
    OtherRun,
    /// A generation that this run has not written.
    Unwritten,
    /// The target ends before the end of the block.
    Truncated,
    /// A block without headers holds something else than its pattern.
    OtherThanPattern,
}

impl Fault {
    /// In the words of reports.
    pub fn describe(self) -> &'static str {
        match self {
            Fault::Damaged => "damaged (checksum does not match)",
            Fault::Misplaced => "misplaced (misdirected or duplicated write)",
            Fault::OtherTarget => "of another target (misdirected write)",
            Fault::NotOurs => "not written by Assay",
            Fault::Zeros => "zeros",
            Fault::Torn => "torn (sectors of different writes)",
            Fault::Stale => "stale (lost write)",
            Fault::OtherRun => "of another run (lost write, or overwritten)",
            Fault::Unwritten => "of a write that this run did not make",
            Fault::Truncated => "missing (the target ends before it)",
            Fault::OtherThanPattern => "not the pattern",
        }
    }
}

/// What is wrong with a key block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Diagnosis {
    /// What.
    pub fault: Fault,
    /// The first sector at fault.
    pub sector: usize,
    /// How many are.
    pub sectors_at_fault: usize,
    /// What that sector should be.
    pub expected: Identity,
    /// What it says of itself; `None`: it has no header.
    pub found: Option<Identity>,
}

/// What a sector is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sector {
    /// It has no header.
    NotOurs,
    /// It has one, and the bytes do not match.
    Damaged(Identity),
    /// It is whole.
    Whole(Identity),
}

/// The checksums of a group, each of the bytes from 12 on, one sector after the other.
pub fn checksums(group: &[[u8; SECTOR_BYTES]; GROUP]) -> [u32; GROUP] {
    std::array::from_fn(|index| checksum(&group[index]))
}

#[inline]
fn checksum(sector: &[u8; SECTOR_BYTES]) -> u32 {
    crc32c::crc32c(&sector[SUMMED..])
}

/// Makes every whole sector of `bytes` self-describing; `first` is of the first one. Bytes behind the headers are left as they are.
pub fn seal(bytes: &mut [u8], first: &Identity) {
    seal_by(bytes, first, checksums);
}

/// As [`seal`], with another way to the checksums of a group.
#[inline]
pub fn seal_by(
    bytes: &mut [u8],
    first: &Identity,
    checksums: impl Fn(&[[u8; SECTOR_BYTES]; GROUP]) -> [u32; GROUP],
) {
    let mut written = header(first);
    let mut offset = first.offset_bytes;
    let mut identify = |sector: &mut [u8; SECTOR_BYTES]| {
        written[16..24].copy_from_slice(&offset.to_le_bytes());
        sector[..HEADER_BYTES].copy_from_slice(&written);
        offset += SECTOR_BYTES as u64;
    };
    let sum_up = |sector: &mut [u8; SECTOR_BYTES], sum: u32| {
        sector[8..SUMMED].copy_from_slice(&sum.to_le_bytes());
    };
    let (groups, rest) = bytes.as_chunks_mut::<SECTOR_BYTES>().0.as_chunks_mut::<GROUP>();
    for group in groups {
        group.iter_mut().for_each(&mut identify);
        let sums = checksums(group);
        group.iter_mut().zip(sums).for_each(|(sector, sum)| sum_up(sector, sum));
    }
    for sector in rest {
        identify(sector);
        let sum = checksum(sector);
        sum_up(sector, sum);
    }
}

/// The header that a sector should have, its checksum left at 0.
pub fn header(identity: &Identity) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[12..16].copy_from_slice(&identity.target.to_le_bytes());
    header[16..24].copy_from_slice(&identity.offset_bytes.to_le_bytes());
    header[24..28].copy_from_slice(&(identity.generation as u32).to_le_bytes());
    header[28..32].copy_from_slice(&(identity.block_bytes / SECTOR_BYTES as u32).to_le_bytes());
    header[32..40].copy_from_slice(&identity.run.to_le_bytes());
    header
}

/// Whether every whole sector of `bytes` is what was sealed with `first`.
pub fn holds(bytes: &[u8], first: &Identity) -> bool {
    holds_by(bytes, first, checksums)
}

/// As [`holds`], with another way to the checksums of a group.
#[inline]
pub fn holds_by(
    bytes: &[u8],
    first: &Identity,
    checksums: impl Fn(&[[u8; SECTOR_BYTES]; GROUP]) -> [u32; GROUP],
) -> bool {
    let mut expected = header(first);
    let mut offset = first.offset_bytes;
    let mut is_expected = |sector: &[u8; SECTOR_BYTES], sum: u32| {
        expected[8..SUMMED].copy_from_slice(&sum.to_le_bytes());
        expected[16..24].copy_from_slice(&offset.to_le_bytes());
        offset += SECTOR_BYTES as u64;
        sector[..HEADER_BYTES] == expected
    };
    let (groups, rest) = bytes.as_chunks::<SECTOR_BYTES>().0.as_chunks::<GROUP>();
    let in_groups = groups
        .iter()
        .all(|group| group.iter().zip(checksums(group)).all(|(sector, sum)| is_expected(sector, sum)));
    in_groups && rest.iter().all(|sector| is_expected(sector, checksum(sector)))
}

/// Makes sure that a buffer does not hold what a read of it should find before it is read: storage that says that it has read
/// something and has not is found then.
#[inline]
pub fn spoil(bytes: &mut [u8]) {
    for sector in bytes.as_chunks_mut::<SECTOR_BYTES>().0 {
        sector[..8].fill(0);
    }
}

/// What a sector is.
pub fn inspect(sector: &[u8]) -> Sector {
    let Some(header) = sector.first_chunk::<HEADER_BYTES>().filter(|header| header[..8] == MAGIC) else {
        return Sector::NotOurs;
    };
    let word = |at: usize| header[at..].first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let identity = Identity {
        target: (word(8) >> 32) as u32,
        offset_bytes: word(16),
        generation: u64::from(word(24) as u32),
        run: word(32),
        block_bytes: ((word(24) >> 32) as u32).saturating_mul(SECTOR_BYTES as u32),
    };
    if word(8) as u32 == crc32c::crc32c(&sector[SUMMED..]) {
        Sector::Whole(identity)
    } else {
        Sector::Damaged(identity)
    }
}

/// What is wrong with a key block; `None`: nothing.
#[cold]
pub fn diagnose(bytes: &[u8], expected: &Expected) -> Option<Diagnosis> {
    let faults = bytes.chunks_exact(SECTOR_BYTES).enumerate().map(|(index, sector)| {
        let (fault, found) = fault_of(sector, expected, expected.sector(index));
        (index, fault, found)
    });
    let faults: Vec<(usize, Option<Fault>, Option<Identity>)> = faults.collect();
    let at_fault: Vec<(usize, Fault, Option<Identity>)> =
        faults.iter().filter_map(|(index, fault, found)| Some((*index, (*fault)?, *found))).collect();
    // What is damaged or elsewhere says more than what is old.
    let &(sector, fault, found) = at_fault.iter().min_by_key(|entry| entry.1)?;
    let all_old = at_fault.iter().all(|entry| matches!(entry.1, Fault::Stale | Fault::OtherRun));
    let is_mixed = at_fault.len() < faults.len()
        || at_fault.iter().any(|entry| entry.2.map(writer) != found.map(writer));
    Some(Diagnosis {
        fault: if all_old && is_mixed { Fault::Torn } else { fault },
        sector,
        sectors_at_fault: at_fault.len(),
        expected: expected.sector(sector),
        found,
    })
}

fn writer(identity: Identity) -> (u64, u64) {
    (identity.run, identity.generation)
}

fn fault_of(sector: &[u8], block: &Expected, expected: Identity) -> (Option<Fault>, Option<Identity>) {
    let found = match inspect(sector) {
        Sector::NotOurs if sector.iter().all(|byte| *byte == 0) => return (Some(Fault::Zeros), None),
        Sector::NotOurs => return (Some(Fault::NotOurs), None),
        Sector::Damaged(found) => return (Some(Fault::Damaged), Some(found)),
        Sector::Whole(found) => found,
    };
    let newer = || {
        generations_behind(expected.generation, found.generation)
            .is_none_or(|behind| behind > u64::from(GENERATION_MAX) / 2)
    };
    let fault = match () {
        () if found.target != expected.target => Some(Fault::OtherTarget),
        () if found.offset_bytes != expected.offset_bytes => Some(Fault::Misplaced),
        () if found.run != expected.run => Some(Fault::OtherRun),
        () if block.allows(found.generation) => None,
        () if newer() => Some(Fault::Unwritten),
        () => Some(Fault::Stale),
    };
    (fault, Some(found))
}

#[cfg(test)]
mod tests;
