//! Dirty pages are written, the longest dirty first and their dirty neighbours with them, and the checkpoint follows.
//!
//! A write of pages goes so: their images and checksums are taken under the lock, and the log says that these writes begin; once that
//! is durable, the pages are written and flushed; then the log says so, by the write map. A crash in between leaves pages
//! that may be torn, and the log knows which: replaying it over a torn page gives the page, as it replays bytes, and the checksum proves it.

use crate::disk::{Class, Disk, FileId, GENERATION_BYTES, blocks_of, slices};
use crate::error::{Doing, StoreError};
use crate::log::LogPlace;
use crate::page::{PAGE_BYTES, Page, counter_byte};
use crate::pool::{Miss, State};
use crate::store::{Store, io_error, page_slices};

/// Pages that are written with one flush at most.
const BATCH_PAGES: usize = 16;
/// A neighbour is written early if its turn comes within this part of the time that pages stay dirty.
const NEIGHBOUR_SHARE: u64 = 8;
/// Pages of one write: 256 KiB.
const RUN_PAGES: usize = 8;
/// The database file grows by so many pages.
const GROWTH_PAGES: u32 = 512;
/// Log generations that are made ahead.
const GENERATIONS_AHEAD: u64 = 2;
/// A checkpoint is written when replay would begin so much later.
const CHECKPOINT_STEP_BYTES: u64 = GENERATION_BYTES;
const MAGIC: u32 = 0x504b_4341;
const CHECKPOINT_BYTES: usize = 80;

/// Where replay begins, as the checkpoint file says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Rises with each.
    pub sequence: u64,
    /// Where the first batch to be replayed begins.
    pub place: LogPlace,
    /// The log was durable up to here when it was made.
    pub durable_lsn: u64,
    /// The start that made it.
    pub life: u64,
    /// Which database.
    pub database: u32,
    /// Pages that the database file was durably long.
    pub file_pages: u32,
    /// The last log generation, and how many there were.
    pub last_generation: u64,
    /// See [`Checkpoint::last_generation`]; later ones are made of the oldest, or added.
    pub generations: u64,
}

impl Checkpoint {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CHECKPOINT_BYTES);
        bytes.extend([0; 4]);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(u64::from(self.database).to_le_bytes());
        let fields = [self.sequence, self.place.position, self.place.lsn, self.durable_lsn, self.life];
        let lengths = [u64::from(self.file_pages), self.last_generation, self.generations];
        for field in fields.into_iter().chain(lengths) {
            bytes.extend(field.to_le_bytes());
        }
        let crc = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// From a slot of the checkpoint file; `None`: there is none.
    pub fn decode(bytes: &[u8]) -> Option<Checkpoint> {
        let bytes = bytes.get(..CHECKPOINT_BYTES)?;
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (crc, magic) = (word(0)? as u32, (word(0)? >> 32) as u32);
        (crc == crc32c::crc32c(&bytes[4..]) && magic == MAGIC).then_some(())?;
        Some(Checkpoint {
            database: word(8)? as u32,
            sequence: word(16)?,
            place: LogPlace { position: word(24)?, lsn: word(32)? },
            durable_lsn: word(40)?,
            life: word(48)?,
            file_pages: word(56)? as u32,
            last_generation: word(64)?,
            generations: word(72)?,
        })
    }

    /// Writes it to its slot.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, disk: &mut dyn Disk) -> Result<(), StoreError> {
        let offset = self.sequence % 2 * 4096;
        let blocks = blocks_of(&self.encode());
        let written = disk.write(Class::CheckpointWrite, FileId::Checkpoint, offset, &slices(&blocks));
        written.map_err(io_error(Doing::Write, FileId::Checkpoint))
    }
}

/// Pages that are on their way.
struct Batch {
    /// Runs of pages that follow each other.
    runs: Vec<Vec<(u32, Box<Page>)>>,
    /// The log before the pages may be written.
    log_lsn: u64,
    /// The file before.
    file_pages: u32,
    /// Pages it has to have.
    needed_pages: u32,
}

impl State {
    /// Dirty pages to write next: the longest dirty, and beside each its neighbours whose turn would come soon. One that is written long
    /// before its turn is likely to be changed again, and then written again.
    fn choose(&self) -> Vec<Vec<u32>> {
        let oldest = self.by_age.first().map_or(0, |(lsn, _)| *lsn);
        let bound = oldest + self.log.next_lsn().saturating_sub(oldest) / NEIGHBOUR_SHARE;
        let is_due = |page: u32| {
            let since = self.peek(page).and_then(|frame| frame.dirty);
            !self.in_flight.contains_key(&page) && since.is_some_and(|since| since <= bound)
        };
        let (mut runs, mut number): (Vec<Vec<u32>>, usize) = (Vec::new(), 0);
        for (_, page) in self.by_age.iter().filter(|(_, page)| !self.in_flight.contains_key(page)) {
            if number >= BATCH_PAGES {
                break;
            }
            if runs.iter().flatten().any(|chosen| chosen == page) {
                continue;
            }
            let chosen = |page: u32| runs.iter().flatten().any(|chosen| *chosen == page);
            let takes = |page: u32| is_due(page) && !chosen(page);
            let (mut from, mut to) = (*page, *page + 1);
            while ((to - from) as usize) < RUN_PAGES && from > 0 && takes(from - 1) {
                from -= 1;
            }
            while ((to - from) as usize) < RUN_PAGES && takes(to) {
                to += 1;
            }
            number += (to - from) as usize;
            runs.push((from..to).collect());
        }
        runs
    }

    /// The image of a page as it is written next; from now on it is clean and in flight.
    fn image(&mut self, page: u32) -> Option<(u32, Box<Page>)> {
        let since = self.clean(page)?;
        self.in_flight.insert(page, since);
        let frame = self.peek_mut(page)?;
        let counter = frame.page.counter() + 1;
        let checksum = frame.page.seal(counter);
        let copy = frame.page.clone();
        self.note_write(page, counter, checksum);
        Some((page, copy))
    }

    fn begin_writes(&mut self, now_ns: u64) -> Option<Batch> {
        let chosen = self.choose();
        let needed_pages = chosen.iter().flatten().copied().max()? + 1;
        let mut runs = Vec::with_capacity(chosen.len());
        for run in &chosen {
            runs.push(run.iter().filter_map(|page| self.image(*page)).collect());
        }
        let log_lsn = self.commit(now_ns);
        Some(Batch { runs, log_lsn, file_pages: self.file_pages, needed_pages })
    }

    /// Bytes of log that a restart would replay.
    pub fn depth_bytes(&self) -> u64 {
        self.log.end().position.saturating_sub(self.log.place_of(self.redo_lsn()).position)
    }

    /// What was written is durable: the write map says so.
    fn end_writes(&mut self, runs: &[Vec<(u32, Box<Page>)>], now_ns: u64) -> Result<(), Miss> {
        self.begin();
        for (number, page) in runs.iter().flatten() {
            let byte = counter_byte(page.counter());
            self.written[*number as usize] = byte;
            if *number >= self.layout.first_data() {
                let (map, at) = self.layout.write_byte(*number);
                self.change(map, |map| map.0[at] = byte)?;
            }
        }
        self.commit(now_ns);
        for (number, _) in runs.iter().flatten() {
            self.in_flight.remove(number);
        }
        Ok(())
    }
}

impl Store {
    /// Writes some of the longest dirty pages; how many. 0: none is dirty that is not being written.
    ///
    /// # Errors
    /// What the storage says.
    pub fn flush_some(&self, disk: &mut dyn Disk) -> Result<usize, StoreError> {
        self.flush_within(disk, 0)
    }

    /// The same by a thread that is in no hurry: the log has to be durable before the pages are written, and the next durable commit
    /// makes it so. Only where none comes within `patience_ns`, the log is written for these pages.
    fn flush_within(&self, disk: &mut dyn Disk, patience_ns: u64) -> Result<usize, StoreError> {
        let mut state = self.lock();
        Store::check(&state)?;
        let now_ns = disk.now_ns();
        let Some(batch) = state.begin_writes(now_ns) else { return Ok(0) };
        drop(state);
        self.await_log(disk, batch.log_lsn, patience_ns);
        let written = self.write_pages(disk, &batch);
        if let Err(error) = written {
            return Err(self.fail(error));
        }
        let now_ns = disk.now_ns();
        let ended = self.lock().end_writes(&batch.runs, now_ns);
        self.notify();
        match ended {
            Ok(()) => Ok(batch.runs.iter().map(Vec::len).sum()),
            // The maps are always in memory.
            Err(_) => Err(self.fail(StoreError::Stopped("the write map is not in memory".to_owned()))),
        }
    }

    fn write_pages(&self, disk: &mut dyn Disk, batch: &Batch) -> Result<(), StoreError> {
        self.flush_log(disk, batch.log_lsn)?;
        if batch.needed_pages > batch.file_pages {
            self.extend(disk, batch.needed_pages)?;
        }
        for run in batch.runs.iter().filter(|run| !run.is_empty()) {
            let offset = u64::from(run[0].0) * PAGE_BYTES as u64;
            let written = disk.write(Class::DatabaseWrite, FileId::Database, offset, &page_slices(run));
            written.map_err(io_error(Doing::Write, FileId::Database))?;
        }
        let file_pages = self.lock().file_pages;
        disk.flush().map_err(io_error(Doing::Flush, FileId::Database))?;
        let mut state = self.lock();
        state.durable_file_pages = state.durable_file_pages.max(file_pages);
        Ok(())
    }

    fn extend(&self, disk: &mut dyn Disk, needed: u32) -> Result<(), StoreError> {
        // Under the lock, as no other thread may make it shorter again; it happens once in 16 MiB.
        let mut state = self.lock();
        if needed > state.file_pages {
            let pages = needed.next_multiple_of(GROWTH_PAGES).min(state.layout.capacity);
            disk.extend(u64::from(pages) * PAGE_BYTES as u64)
                .map_err(io_error(Doing::Make, FileId::Database))?;
            state.file_pages = pages;
        }
        Ok(())
    }

    /// Whether dirty pages should be written: the checkpoint is too far behind, or too few frames are clean.
    pub fn wants_flush(&self) -> bool {
        let state = self.lock();
        let dirty = state.by_age.len() + state.in_flight.len();
        let deep = !self.tuning.keeps_log
            && state.depth_bytes() + CHECKPOINT_STEP_BYTES > self.tuning.checkpoint_depth_bytes;
        deep || dirty > state.frames_max() / 2
    }

    /// Writes a checkpoint if replay would begin much later than the last one says, or `always`.
    ///
    /// # Errors
    /// What the storage says.
    pub fn checkpoint(&self, disk: &mut dyn Disk, always: bool) -> Result<(), StoreError> {
        let mut state = self.lock();
        Store::check(&state)?;
        let redo = state.redo_lsn();
        let last = state.log.place_of(state.checkpoint_lsn).position;
        let ahead = state.log.place_of(redo).position.saturating_sub(last);
        if state.checkpointing || !always && (ahead < CHECKPOINT_STEP_BYTES || self.tuning.keeps_log) {
            return Ok(());
        }
        state.checkpointing = true;
        let lsn = state.log.next_lsn();
        drop(state);
        let written = self.write_checkpoint(disk, redo, lsn);
        let mut state = self.lock();
        state.checkpointing = false;
        if written.is_ok() {
            state.checkpoint_lsn = redo;
            state.log.forget_before(redo);
        }
        drop(state);
        written.map_err(|error| self.fail(error))
    }

    /// Until `lsn` the log says which writes of pages have ended that began before `redo`: that has to be durable first.
    fn write_checkpoint(&self, disk: &mut dyn Disk, redo: u64, lsn: u64) -> Result<(), StoreError> {
        self.flush_log(disk, lsn)?;
        let mut state = self.lock();
        state.checkpoint_count += 1;
        let checkpoint = Checkpoint {
            sequence: state.checkpoint_count,
            place: state.log.place_of(redo),
            durable_lsn: state.log.durable_lsn(),
            life: state.log.life(),
            database: state.database,
            file_pages: state.durable_file_pages,
            last_generation: *state.generations.end(),
            generations: (state.generations.end() - state.generations.start()).saturating_add(1),
        };
        drop(state);
        checkpoint.write(disk)
    }

    /// What is done in the background, a step of it: writes what waits too long, makes log generations ahead, writes dirty pages and
    /// checkpoints. Returns whether there was anything to do.
    ///
    /// # Errors
    /// What the storage says.
    pub fn tend(&self, disk: &mut dyn Disk) -> Result<bool, StoreError> {
        let now_ns = disk.now_ns();
        let (late, ahead) = {
            let state = self.lock();
            let age_ns = now_ns.saturating_sub(state.log.oldest_ns);
            let late = state.log.waiting_bytes() > 0 && age_ns >= self.tuning.lazy_ns;
            let current = state.log.end().position / GENERATION_BYTES;
            let last = *state.generations.end();
            let ahead = (last < current + GENERATIONS_AHEAD && !state.making).then_some(last + 1);
            (late.then(|| state.log.next_lsn()), ahead)
        };
        if let Some(lsn) = late {
            self.flush_log(disk, lsn)?;
        }
        if let Some(generation) = ahead {
            self.make_generation(disk, generation).map_err(|error| self.fail(error))?;
        }
        let flushed = self.wants_flush() && self.flush_within(disk, self.tuning.flush_patience_ns)? > 0;
        self.checkpoint(disk, false)?;
        Ok(flushed)
    }

    /// Writes everything that is dirty, and a checkpoint behind it.
    ///
    /// # Errors
    /// What the storage says.
    pub fn close(&self, disk: &mut dyn Disk) -> Result<(), StoreError> {
        // Writing pages changes the write map, once more.
        for _ in 0..3 {
            while self.flush_some(disk)? > 0 {}
        }
        let lsn = self.lock().log.next_lsn();
        self.flush_log(disk, lsn)?;
        self.checkpoint(disk, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_is_whole_or_none() {
        let checkpoint = Checkpoint {
            sequence: 9,
            place: LogPlace { position: 1 << 33, lsn: 77 },
            durable_lsn: 99,
            life: 4,
            database: 2,
            file_pages: 700,
            last_generation: 8193,
            generations: 5,
        };
        let bytes = checkpoint.encode();
        assert_eq!(bytes.len(), CHECKPOINT_BYTES);
        assert_eq!(Checkpoint::decode(&bytes), Some(checkpoint));
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert_eq!(Checkpoint::decode(&bad), None);
        }
    }
}
