//! What the store does I/O through: a database file, log generations of 1 MiB and a checkpoint file. Each thread has a handle of
//! its own, so that what it does is timed where it is done. Real files are [`crate::files`]; tests have one in memory.

use std::io::{self, IoSlice, IoSliceMut};

/// Bytes of a log generation.
pub const GENERATION_BYTES: u64 = 1 << 20;

/// What an I/O is for: each class has figures of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// Pages that a transaction needs.
    DatabaseRead,
    /// Changed pages.
    DatabaseWrite,
    /// Commits.
    LogWrite,
    /// Replay, and what a copy of the database would fetch.
    LogRead,
    /// Verifying pages in the background.
    MaintenanceRead,
    /// Where replay begins.
    CheckpointWrite,
    /// Verifying pages at the end, or reading them for a backup.
    ScanRead,
    /// Pages that replay changes.
    RecoveryRead,
}

impl Class {
    /// All, by their numbers.
    pub const ALL: [Class; 8] = [
        Class::DatabaseRead,
        Class::DatabaseWrite,
        Class::LogWrite,
        Class::LogRead,
        Class::MaintenanceRead,
        Class::CheckpointWrite,
        Class::ScanRead,
        Class::RecoveryRead,
    ];

    /// The name of its operation in results.
    pub fn name(self) -> &'static str {
        match self {
            Class::DatabaseRead => "database read",
            Class::DatabaseWrite => "database write",
            Class::LogWrite => "log write",
            Class::LogRead => "log read",
            Class::MaintenanceRead => "maintenance read",
            Class::CheckpointWrite => "checkpoint write",
            Class::ScanRead => "scan read",
            Class::RecoveryRead => "recovery read",
        }
    }
}

/// A file of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileId {
    /// The pages.
    Database,
    /// A generation of the log.
    Log(u64),
    /// Where replay begins.
    Checkpoint,
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FileId::Database => f.write_str("database"),
            FileId::Log(generation) => write!(f, "log-{generation:08x}"),
            FileId::Checkpoint => f.write_str("checkpoint"),
        }
    }
}

/// One thread's way to the files. Offsets, lengths and addresses are multiples of 4 KiB.
pub trait Disk {
    /// Reads all of `into`.
    ///
    /// # Errors
    /// What the system says; `UnexpectedEof` behind the end.
    fn read(
        &mut self,
        class: Class,
        file: FileId,
        offset: u64,
        into: &mut [IoSliceMut<'_>],
    ) -> io::Result<()>;

    /// Writes all of `from`. What is written to the log and to the checkpoint is durable when it returns.
    ///
    /// # Errors
    /// What the system says.
    fn write(&mut self, class: Class, file: FileId, offset: u64, from: &[IoSlice<'_>]) -> io::Result<()>;

    /// Makes what was written to the database durable.
    ///
    /// # Errors
    /// What the system says.
    fn flush(&mut self) -> io::Result<()>;

    /// Makes a log generation that can be written, of the file of an old one that is not needed any more, if there is one. Its name
    /// is durable when it returns. It is there in its whole length or not at all.
    ///
    /// # Errors
    /// What the system says.
    fn make_generation(&mut self, generation: u64, of: Option<u64>) -> io::Result<()>;

    /// The log generations that exist, in order.
    ///
    /// # Errors
    /// What the system says.
    fn generations(&mut self) -> io::Result<Vec<u64>>;

    /// Bytes of a file.
    ///
    /// # Errors
    /// What the system says.
    fn length(&mut self, file: FileId) -> io::Result<u64>;

    /// Makes the database file so long.
    ///
    /// # Errors
    /// What the system says.
    fn extend(&mut self, bytes: u64) -> io::Result<()>;

    /// Nanoseconds on a clock that all handles share.
    fn now_ns(&self) -> u64;

    /// Called about every 20 ms where nothing is read or written.
    fn idle(&mut self) {}
}

/// A block of the log or of the checkpoint, aligned for O_DIRECT.
#[derive(Clone)]
#[repr(C, align(4096))]
pub struct Block(pub [u8; 4096]);

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Block")
    }
}

/// So many empty blocks.
pub fn blocks(number: usize) -> Vec<Block> {
    vec![Block([0; 4096]); number]
}

/// Blocks that hold `bytes`, zeros behind them.
pub fn blocks_of(bytes: &[u8]) -> Vec<Block> {
    let mut made = blocks(bytes.len().div_ceil(4096));
    for (block, part) in made.iter_mut().zip(bytes.chunks(4096)) {
        block.0[..part.len()].copy_from_slice(part);
    }
    made
}

/// As they are handed to [`Disk::write`].
pub fn slices(blocks: &[Block]) -> Vec<IoSlice<'_>> {
    blocks.iter().map(|block| IoSlice::new(&block.0)).collect()
}

/// Reads a file's range, whole blocks.
///
/// # Errors
/// As [`Disk::read`].
pub fn read_blocks(
    disk: &mut dyn Disk,
    class: Class,
    file: FileId,
    offset: u64,
    into: &mut [Block],
) -> io::Result<()> {
    let mut slices: Vec<IoSliceMut<'_>> =
        into.iter_mut().map(|block| IoSliceMut::new(&mut block.0)).collect();
    disk.read(class, file, offset, &mut slices)
}
