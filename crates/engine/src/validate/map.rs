//! The last write of each key block, and who uses it now.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use assay_workload::block::{self, Expected, Identity};
use assay_workload::plan::VerifiedTarget;

use super::journal::{Keys, Kind, TargetJournal};
use super::zeroed::zeroed;
use crate::seam::EngineError;

/// A write is outstanding.
const WRITING: u32 = 1 << 31;
/// What the block holds is not known: it was trimmed, or written in part, or without headers.
const UNKNOWN: u32 = 1 << 30;
/// Writes that failed since the last one that did not.
const FAILED_SHIFT: u32 = 27;
const FAILED_MAX: u32 = 7;
/// Reads outstanding.
const READER: u32 = 1 << 22;
const READERS_MAX: u32 = 31;
/// The generation: the last write, failed ones included; 0: none in this run.
const GENERATION: u32 = block::GENERATION_MAX;

/// What is known of a key block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not written in this run.
    NotWritten,
    /// Nothing: any of several writes, or none.
    Nothing,
    /// Its last write.
    Write(Expected),
}

/// The key blocks of one target, shared by all threads that use it.
///
/// One I/O at a time changes a key block, and none reads it meanwhile, so that what a read should find is known exactly. A thread that
/// finds a block in use comes again later; nobody holds a block while waiting for another one.
#[derive(Debug)]
pub(crate) struct TargetMap {
    pub(crate) name: String,
    pub(super) id: u32,
    run: u64,
    pub(crate) key_bytes: u64,
    states: Box<[AtomicU32]>,
    /// Some blocks have no headers, so that what is laid out with headers is none of them.
    bare: bool,
    /// Where its writes are kept.
    pub(crate) journal: Option<TargetJournal>,
    /// What a run that crashed had written.
    pub(super) crash: Option<Crash>,
}

/// What a run that crashed had written to a target.
#[derive(Debug)]
pub(super) struct Crash {
    pub(super) keys: Keys,
    /// It wrote through the page cache.
    pub(super) buffered: bool,
}

impl TargetMap {
    pub(crate) fn new(name: &str, run: u64, target: &VerifiedTarget) -> Result<TargetMap, EngineError> {
        Ok(TargetMap {
            name: name.to_owned(),
            id: block::target_id(name),
            run,
            key_bytes: target.key_block_bytes,
            states: zeroed(target.key_blocks()).ok_or(EngineError::Memory(target.state_bytes()))?,
            bare: target.bare,
            journal: None,
            crash: None,
        })
    }

    /// The key blocks that a range touches.
    pub(crate) fn keys(&self, offset_bytes: u64, len_bytes: u64) -> Range<usize> {
        let first = (offset_bytes / self.key_bytes) as usize;
        let end = offset_bytes.saturating_add(len_bytes).div_ceil(self.key_bytes) as usize;
        first.min(self.states.len())..end.min(self.states.len())
    }

    /// The part of a key block that a range covers, as offsets in the range, and whether that is all of it.
    pub(crate) fn part(&self, key: usize, offset_bytes: u64, len_bytes: u64) -> (Range<usize>, bool) {
        let start = key as u64 * self.key_bytes;
        let (from, to) = (start.max(offset_bytes), (start + self.key_bytes).min(offset_bytes + len_bytes));
        let is_whole = to - from == self.key_bytes;
        ((from - offset_bytes) as usize..(to - offset_bytes) as usize, is_whole)
    }

    /// Takes the key blocks for an I/O, all or none of them; whether they were free.
    pub(crate) fn acquire(&self, keys: Range<usize>, exclusive: bool) -> bool {
        for key in keys.clone() {
            if !self.acquire_one(key, exclusive) {
                (keys.start..key).for_each(|taken| self.release(taken, exclusive));
                return false;
            }
        }
        true
    }

    fn acquire_one(&self, key: usize, exclusive: bool) -> bool {
        let taken = |state: u32| {
            let readers = state / READER % (READERS_MAX + 1);
            match exclusive {
                _ if state & WRITING != 0 => None,
                true if readers == 0 => Some(state | WRITING),
                false if readers < READERS_MAX => Some(state + READER),
                _ => None,
            }
        };
        self.states[key].fetch_update(Ordering::Acquire, Ordering::Relaxed, taken).is_ok()
    }

    /// Gives a key block back as it was.
    pub(crate) fn release(&self, key: usize, exclusive: bool) {
        if exclusive {
            self.states[key].fetch_and(!WRITING, Ordering::Release);
        } else {
            self.states[key].fetch_sub(READER, Ordering::Release);
        }
    }

    /// The key blocks that a range covers whole, of those that it touches.
    fn whole_keys(&self, offset_bytes: u64, len_bytes: u64) -> Range<usize> {
        let touched = self.keys(offset_bytes, len_bytes);
        let first = (offset_bytes.div_ceil(self.key_bytes) as usize).clamp(touched.start, touched.end);
        let end = (offset_bytes.saturating_add(len_bytes) / self.key_bytes) as usize;
        first..end.clamp(first, touched.end)
    }

    /// Keeps in the journal what happens to key blocks that are held, by their next write; the number of the last record.
    fn keep(&self, journal: &TargetJournal, kind: Kind, keys: Range<usize>) -> Option<u64> {
        let (mut from, mut last) = (keys.start, None);
        while from < keys.end {
            let generation = self.next_generation(from);
            let alike = |key: &usize| self.next_generation(*key) == generation;
            let count = 1 + (from + 1..keys.end).take_while(alike).count();
            last = Some(journal.push(kind, from, count, generation));
            from += count;
        }
        last
    }

    /// A write to a range that is held is going to be handed over, or where it is none, something else that changes it.
    pub(crate) fn begins(&self, offset_bytes: u64, len_bytes: u64, is_write: bool) {
        let Some(journal) = &self.journal else { return };
        let touched = self.keys(offset_bytes, len_bytes);
        let whole =
            if is_write { self.whole_keys(offset_bytes, len_bytes) } else { touched.start..touched.start };
        let parts = [touched.start..whole.start, whole.end..touched.end];
        let unknown = parts.map(|part| self.keep(journal, Kind::Unknown, part));
        // Else a crash would find something there that looks like a loss.
        unknown.into_iter().flatten().for_each(|record| journal.keep(record));
        self.keep(journal, Kind::Issued, whole);
    }

    /// That write has succeeded, and nothing is known of it here yet. `acknowledged`: no flush is needed behind it.
    pub(crate) fn completed(&self, offset_bytes: u64, len_bytes: u64, acknowledged: bool) {
        let Some(journal) = &self.journal else { return };
        let kind = if acknowledged { Kind::Acknowledged } else { Kind::Completed };
        self.keep(journal, kind, self.whole_keys(offset_bytes, len_bytes));
    }

    fn next_generation(&self, key: usize) -> u32 {
        block::next_generation(self.states[key].load(Ordering::Relaxed) & GENERATION)
    }

    /// Who writes `key` next, at `offset_bytes` in it, as a whole or in part: what the first sector there is to say.
    pub(crate) fn next(&self, key: usize, offset_bytes: u64, is_whole: bool) -> Identity {
        let whole = self.identity(key, self.next_generation(key));
        Identity { offset_bytes, block_bytes: if is_whole { whole.block_bytes } else { 0 }, ..whole }
    }

    /// A write of a whole key block has ended; it is free again.
    pub(crate) fn written(&self, key: usize, succeeded: bool) {
        let state = self.states[key].load(Ordering::Relaxed);
        let generation = block::next_generation(state & GENERATION);
        let failed = state >> FAILED_SHIFT & FAILED_MAX;
        let known_before = state & GENERATION != 0 && state & UNKNOWN == 0;
        let new = match succeeded {
            true => generation,
            false if known_before && failed < FAILED_MAX => generation | (failed + 1) << FAILED_SHIFT,
            false => generation | UNKNOWN,
        };
        self.states[key].store(new, Ordering::Release);
    }

    /// A key block may hold anything from now on; it is free again.
    pub(crate) fn overwritten(&self, key: usize) {
        let generation = self.next_generation(key);
        self.states[key].store(generation | UNKNOWN, Ordering::Release);
    }

    /// Whatever is in a range is not ours: nothing is outstanding there.
    pub(crate) fn forget(&self, offset_bytes: u64, len_bytes: u64) {
        let written = |key: &usize| self.states[*key].load(Ordering::Relaxed) != 0;
        let mut keys = self.keys(offset_bytes, len_bytes);
        let mut last = None;
        while let Some(from) = keys.find(written) {
            let end = (from..keys.end).find(|key| !written(key)).unwrap_or(keys.end);
            if let Some(journal) = &self.journal {
                last = self.keep(journal, Kind::Unknown, from..end);
            }
            (from..end).for_each(|key| self.overwritten(key));
            keys.start = end;
        }
        // Nothing is written before that is known.
        if let Some((journal, record)) = self.journal.as_ref().zip(last) {
            journal.keep(record);
        }
    }

    /// Gives the sectors of `bytes`, which are written at `offset_bytes` before a phase, their headers.
    pub(crate) fn seal_layout(&self, bytes: &mut [u8], offset_bytes: u64) {
        let skipped = (offset_bytes.next_multiple_of(block::SECTOR_BYTES as u64) - offset_bytes) as usize;
        let start = offset_bytes + skipped as u64;
        let Some(bytes) = bytes.get_mut(skipped..) else { return };
        for key in self.keys(start, bytes.len() as u64) {
            let (part, is_whole) = self.part(key, start, bytes.len() as u64);
            let first = self.next(key, start + part.start as u64, is_whole);
            block::seal(&mut bytes[part], &first);
        }
    }

    /// A range was written before a phase and flushed, and nothing is outstanding there.
    pub(crate) fn laid_out(&self, offset_bytes: u64, len_bytes: u64) {
        self.completed(offset_bytes, len_bytes, true);
        for key in self.keys(offset_bytes, len_bytes) {
            match self.part(key, offset_bytes, len_bytes) {
                (_, true) if !self.bare => self.written(key, true),
                _ => self.overwritten(key),
            }
        }
    }

    /// What is known of a key block that is held.
    pub(crate) fn known(&self, key: usize) -> Known {
        let state = self.states[key].load(Ordering::Relaxed);
        let generation = state & GENERATION;
        match generation {
            _ if state & UNKNOWN != 0 => Known::Nothing,
            0 => Known::NotWritten,
            _ => Known::Write(Expected {
                first: self.identity(key, generation),
                failed_writes: state >> FAILED_SHIFT & FAILED_MAX,
            }),
        }
    }

    /// What the first sector of a key block says of itself if `generation` is its last.
    pub(crate) fn identity(&self, key: usize, generation: u32) -> Identity {
        Identity {
            target: self.id,
            offset_bytes: key as u64 * self.key_bytes,
            generation: u64::from(generation),
            run: self.run,
            block_bytes: u32::try_from(self.key_bytes).unwrap_or(0),
        }
    }

    /// The part of the target that is to be read: all that a run that crashed had written, else what is asked for.
    pub(crate) fn read_range(&self, offset_bytes: u64, len_bytes: u64) -> (u64, u64) {
        let whole = (0, self.states.len() as u64 * self.key_bytes);
        if self.crash.is_some() { whole } else { (offset_bytes, len_bytes) }
    }

    /// The first key block of a range whose last write is known, and the end of those that follow it without a gap, as many as
    /// `most`.
    pub(crate) fn next_written(&self, keys: Range<usize>, most: usize) -> Option<Range<usize>> {
        let is_written = |key: &usize| match &self.crash {
            Some(crash) => crash.keys.get(*key).last != 0,
            None => matches!(self.known(*key), Known::Write(_)),
        };
        let first = keys.clone().find(is_written)?;
        let run = (first..keys.end).take(most.max(1)).take_while(is_written).count();
        Some(first..first + run)
    }
}

#[cfg(test)]
mod tests;
