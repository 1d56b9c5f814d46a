//! Files in memory whose power can be cut: at any I/O, with writes that were not flushed lost, torn or done in part.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::{Arc, Mutex, MutexGuard};

use assay_workload::rng::Rng;

use crate::disk::{Class, Disk, FileId, GENERATION_BYTES};

const SECTOR: usize = 512;

#[derive(Debug, Default)]
struct Content {
    durable: Vec<u8>,
    /// Writes that no flush has followed yet.
    pending: Vec<(u64, Vec<u8>)>,
}

fn apply(to: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let end = offset as usize + bytes.len();
    if to.len() < end {
        to.resize(end, 0);
    }
    to[offset as usize..end].copy_from_slice(bytes);
}

#[derive(Debug, Default)]
struct Files {
    files: BTreeMap<FileId, Content>,
    /// Writes until the power goes; `None`: it stays.
    budget: Option<u64>,
    off: bool,
    clock_ns: u64,
    /// Number, bytes of the I/Os of each class.
    counts: BTreeMap<Class, (u64, u64)>,
    /// Acknowledged and not done: the next write of this class.
    lose: Option<Class>,
}

/// A handle; copies are of the same files.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    files: Arc<Mutex<Files>>,
    rng: Arc<Mutex<Rng>>,
}

fn gone() -> io::Error {
    io::Error::other("the power is off")
}

impl Memory {
    pub(crate) fn new(seed: u64) -> Self {
        Memory { files: Arc::default(), rng: Arc::new(Mutex::new(Rng::new(seed))) }
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap()
    }

    /// The power goes at the `writes`-th write or flush from now on.
    pub(crate) fn cut_after(&self, writes: u64) {
        self.lock().budget = Some(writes);
    }

    /// The power comes back: of what was not flushed each write is there, in part, or not.
    pub(crate) fn power_on(&self) {
        let (mut files, mut rng) = (self.lock(), self.rng.lock().unwrap());
        (files.budget, files.off) = (None, false);
        for content in files.files.values_mut() {
            for (offset, bytes) in std::mem::take(&mut content.pending) {
                match rng.below(3) {
                    0 => {}
                    1 => apply(&mut content.durable, offset, &bytes),
                    _ => {
                        // Any of its sectors, as a drive may write them in any order.
                        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
                            if rng.below(2) == 0 {
                                apply(&mut content.durable, offset + (index * SECTOR) as u64, sector);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Number and bytes of the I/Os of a class.
    pub(crate) fn count(&self, class: Class) -> (u64, u64) {
        self.lock().counts.get(&class).copied().unwrap_or_default()
    }

    /// The next write of this class is acknowledged and not done.
    pub(crate) fn lose_next(&self, class: Class) {
        self.lock().lose = Some(class);
    }

    /// What a file holds, to change it behind the store's back.
    pub(crate) fn tamper(&self, file: FileId, change: impl FnOnce(&mut Vec<u8>)) {
        let mut files = self.lock();
        let content = files.files.get_mut(&file).expect("a file");
        for (offset, bytes) in std::mem::take(&mut content.pending) {
            apply(&mut content.durable, offset, &bytes);
        }
        change(&mut content.durable);
    }

    /// A file disappears.
    pub(crate) fn remove(&self, file: FileId) {
        self.lock().files.remove(&file).expect("a file");
    }

    /// Whether the power is still on after one more write; of the last one a part may be done.
    fn spend(files: &mut Files) -> io::Result<bool> {
        if files.off {
            return Err(gone());
        }
        match &mut files.budget {
            Some(0) => {
                files.off = true;
                Ok(false)
            }
            Some(budget) => {
                *budget -= 1;
                Ok(true)
            }
            None => Ok(true),
        }
    }
}

impl Disk for Memory {
    fn read(
        &mut self,
        class: Class,
        file: FileId,
        offset: u64,
        into: &mut [IoSliceMut<'_>],
    ) -> io::Result<()> {
        let mut files = self.lock();
        if files.off {
            return Err(gone());
        }
        let content = files.files.get(&file).ok_or(io::ErrorKind::NotFound)?;
        let sum: usize = into.iter().map(|slice| slice.len()).sum();
        let (from, to) = (offset as usize, offset as usize + sum);
        let ends = content.pending.iter().map(|(at, bytes)| *at as usize + bytes.len());
        if to > ends.fold(content.durable.len(), usize::max) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut whole = vec![0; sum];
        let durable = content.durable.get(from..to.min(content.durable.len())).unwrap_or_default();
        whole[..durable.len()].copy_from_slice(durable);
        for (at, bytes) in &content.pending {
            let at = *at as usize;
            let (first, last) = (at.max(from), (at + bytes.len()).min(to));
            if first < last {
                whole[first - from..last - from].copy_from_slice(&bytes[first - at..last - at]);
            }
        }
        let mut rest = &whole[..];
        for slice in into {
            let (head, tail) = rest.split_at(slice.len());
            slice.copy_from_slice(head);
            rest = tail;
        }
        let count = files.counts.entry(class).or_default();
        *count = (count.0 + 1, count.1 + sum as u64);
        Ok(())
    }

    fn write(&mut self, class: Class, file: FileId, offset: u64, from: &[IoSlice<'_>]) -> io::Result<()> {
        let mut files = self.lock();
        let stays = Memory::spend(&mut files)?;
        let bytes: Vec<u8> = from.iter().flat_map(|slice| slice.iter().copied()).collect();
        assert!(offset.is_multiple_of(4096) && bytes.len().is_multiple_of(4096), "whole blocks");
        let count = files.counts.entry(class).or_default();
        *count = (count.0 + 1, count.1 + bytes.len() as u64);
        if files.lose == Some(class) {
            files.lose = None;
            return Ok(());
        }
        let content = files.files.entry(file).or_default();
        // What was under way when the power went is as if it had not been flushed.
        if file == FileId::Database || !stays {
            content.pending.push((offset, bytes));
        } else {
            apply(&mut content.durable, offset, &bytes);
        }
        if stays { Ok(()) } else { Err(gone()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut files = self.lock();
        if !Memory::spend(&mut files)? {
            return Err(gone());
        }
        if let Some(content) = files.files.get_mut(&FileId::Database) {
            for (offset, bytes) in std::mem::take(&mut content.pending) {
                apply(&mut content.durable, offset, &bytes);
            }
        }
        Ok(())
    }

    fn make_generation(&mut self, generation: u64, of: Option<u64>) -> io::Result<()> {
        let mut files = self.lock();
        if files.off {
            return Err(gone());
        }
        let old = of.and_then(|old| files.files.remove(&FileId::Log(old)));
        let new = || Content { durable: vec![0; GENERATION_BYTES as usize], pending: Vec::new() };
        files.files.insert(FileId::Log(generation), old.unwrap_or_else(new));
        Ok(())
    }

    fn generations(&mut self) -> io::Result<Vec<u64>> {
        let files = self.lock();
        let generation = |file: &FileId| match file {
            FileId::Log(generation) => Some(*generation),
            _ => None,
        };
        Ok(files.files.keys().filter_map(generation).collect())
    }

    fn length(&mut self, file: FileId) -> io::Result<u64> {
        let files = self.lock();
        let content = files.files.get(&file).ok_or(io::ErrorKind::NotFound)?;
        let ends = content.pending.iter().map(|(at, bytes)| *at + bytes.len() as u64);
        Ok(ends.fold(content.durable.len() as u64, u64::max))
    }

    fn extend(&mut self, bytes: u64) -> io::Result<()> {
        let mut files = self.lock();
        let content = files.files.entry(FileId::Database).or_default();
        let length = content.durable.len().max(bytes as usize);
        content.durable.resize(length, 0);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        let mut files = self.lock();
        files.clock_ns += 1000;
        files.clock_ns
    }
}
