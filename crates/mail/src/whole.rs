//! Whether the files of a database are all there and as long as they have to be, before anything of them is used. A file that was cut
//! behind its used pages, or a log that replay would not read, is damage as well: something else than Assay changed the directory.

use crate::disk::{Disk, FileId, GENERATION_BYTES};
use crate::error::{Doing, StoreError};
use crate::files::Files;
use crate::flush::Checkpoint;
use crate::page::PAGE_BYTES;
use crate::store::io_error;

/// Refuses a file that is shorter than `expected`; how long it is.
///
/// # Errors
/// It is shorter, or the system says something.
pub(crate) fn expect_length(
    disk: &mut dyn Disk,
    database: u32,
    file: FileId,
    expected: u64,
) -> Result<u64, StoreError> {
    let found = disk.length(file).map_err(io_error(Doing::Read, file))?;
    if found < expected {
        return Err(StoreError::Short { name: Files::name(database, file), found, expected });
    }
    Ok(found)
}

/// Holds the log's files against a checkpoint; which there are, in order.
///
/// From the one that replay begins in to the last that the checkpoint knows, all have to be there. Older ones may have become newer ones
/// since; their number does not shrink by that.
///
/// # Errors
/// One is missing or short, or the system says something.
pub(crate) fn expect_logs(disk: &mut dyn Disk, checkpoint: &Checkpoint) -> Result<Vec<u64>, StoreError> {
    let found = disk.generations().map_err(io_error(Doing::Read, FileId::Log(0)))?;
    let database = checkpoint.database;
    let missing = |generation| StoreError::Missing { name: Files::name(database, FileId::Log(generation)) };
    let first_needed = checkpoint.place.position / GENERATION_BYTES;
    let Some((first, last)) = found.first().copied().zip(found.last().copied()) else {
        return Err(missing(first_needed));
    };
    if let Some(pair) = found.windows(2).find(|pair| pair[0].saturating_add(1) != pair[1]) {
        return Err(missing(pair[0].saturating_add(1)));
    }
    if first > first_needed && first_needed <= checkpoint.last_generation {
        return Err(missing(first - 1));
    }
    if last < checkpoint.last_generation {
        return Err(missing(last.saturating_add(1)));
    }
    if (found.len() as u64) < checkpoint.generations {
        return Err(missing(first.saturating_sub(1)));
    }
    for generation in &found {
        expect_length(disk, database, FileId::Log(*generation), GENERATION_BYTES)?;
    }
    Ok(found)
}

/// Holds the database file against a checkpoint; how many pages it has.
///
/// # Errors
/// It is short, or the system says something.
pub(crate) fn expect_pages(disk: &mut dyn Disk, checkpoint: &Checkpoint) -> Result<u32, StoreError> {
    let expected = u64::from(checkpoint.file_pages) * PAGE_BYTES as u64;
    let found = expect_length(disk, checkpoint.database, FileId::Database, expected)?;
    Ok((found / PAGE_BYTES as u64).try_into().unwrap_or(u32::MAX))
}
