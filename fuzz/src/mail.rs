//! A mail database in memory, as a crash left it, and what may be damaged of it.

use std::collections::BTreeMap;
use std::io::{self, IoSlice, IoSliceMut};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use assay_mail::disk::{Class, Disk, FileId, GENERATION_BYTES};
use assay_mail::key::Key;
use assay_mail::load::{Loader, NewDatabase};
use assay_mail::page::{PAGE_BYTES, Page};
use assay_mail::recover;
use assay_mail::store::Tuning;

const LOG_HEADER: usize = 48;
const CHECKPOINT: usize = 80;
const DAMAGE: usize = 8;
/// A damaged store may not grow beyond this.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// The files.
#[derive(Debug, Default)]
pub struct Image {
    files: BTreeMap<FileId, Vec<u8>>,
    clock_ns: AtomicU64,
}

impl Disk for Image {
    fn read(&mut self, _: Class, file: FileId, offset: u64, into: &mut [IoSliceMut<'_>]) -> io::Result<()> {
        let content = self.files.get(&file).ok_or(io::ErrorKind::NotFound)?;
        let mut from = usize::try_from(offset).map_err(io::Error::other)?;
        for slice in into {
            let there = content.get(from..from.saturating_add(slice.len()));
            slice.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            from += slice.len();
        }
        Ok(())
    }

    fn write(&mut self, _: Class, file: FileId, offset: u64, from: &[IoSlice<'_>]) -> io::Result<()> {
        let bytes: Vec<u8> = from.iter().flat_map(|slice| slice.iter().copied()).collect();
        let end = offset.saturating_add(bytes.len() as u64);
        if end > FILE_BYTES_MAX {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let content = self.files.entry(file).or_default();
        content.resize(content.len().max(end as usize), 0);
        content[offset as usize..end as usize].copy_from_slice(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn make_generation(&mut self, generation: u64, of: Option<u64>) -> io::Result<()> {
        let old = of.and_then(|old| self.files.remove(&FileId::Log(old)));
        self.files.insert(FileId::Log(generation), old.unwrap_or(vec![0; GENERATION_BYTES as usize]));
        Ok(())
    }

    fn generations(&mut self) -> io::Result<Vec<u64>> {
        let number =
            |file: &FileId| if let FileId::Log(generation) = file { Some(*generation) } else { None };
        Ok(self.files.keys().filter_map(number).collect())
    }

    fn length(&mut self, file: FileId) -> io::Result<u64> {
        Ok(self.files.get(&file).ok_or(io::ErrorKind::NotFound)?.len() as u64)
    }

    fn extend(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > FILE_BYTES_MAX {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let content = self.files.entry(FileId::Database).or_default();
        content.resize(content.len().max(bytes as usize), 0);
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.clock_ns.fetch_add(1000, Relaxed)
    }
}

/// How it is run.
pub fn tuning() -> Tuning {
    Tuning {
        pool_pages_min: 48,
        pool_pages_max: 64,
        checkpoint_depth_bytes: 1 << 20,
        lazy_ns: 50_000,
        log_buffer_bytes: 64 << 10,
        keeps_log: false,
        flush_patience_ns: 0,
    }
}

/// A database with pages that were written and a log behind them: it was not closed.
pub fn image() -> Image {
    let mut disk = Image::default();
    let new = NewDatabase { database: 1, capacity: 200, fill: 0.75, mailboxes: 6, folders: 4, seed: 1 };
    let mut loader = Loader::new(&mut disk, new).expect("memory takes it");
    for number in 0..240_u64 {
        let key = Key::new((number / 40) as u32, (number / 10 % 4) as u32, number);
        let bytes = if number % 31 == 0 { 9000 + number * 40 } else { 30 + number * 7 };
        loader.add(&key, &vec![number as u8; bytes as usize]).expect("it has room");
    }
    loader.finish().expect("memory takes it");
    let (store, ..) = recover::open(&mut disk, 1, tuning()).expect("it is whole");
    for number in 0..80_u64 {
        let key = Key::new(number as u32 % 6, 0, 1000 + number);
        let now_ns = disk.now_ns();
        let lsn = store.with(&mut disk, &mut |state| {
            state.put(&key, &[number as u8; 2000])?;
            Ok(state.commit(now_ns))
        });
        store.commit(&mut disk, lsn.expect("it has room"), true).expect("memory takes it");
        if number % 16 == 0 {
            store.tend(&mut disk).expect("memory takes it");
        }
    }
    disk
}

fn reseal_page(database: &mut [u8], page: usize) {
    let Some(bytes) = database.get_mut(page * PAGE_BYTES..(page + 1) * PAGE_BYTES) else { return };
    let mut whole = Page::zeroed();
    whole.0.copy_from_slice(bytes);
    whole.seal(whole.counter());
    bytes.copy_from_slice(&whole.0);
}

fn reseal_batch(log: &mut [u8], at: usize) {
    let Some(batch) = log.get_mut(at..) else { return };
    let Some(length) =
        batch.get(12..16).map(|field| u32::from_le_bytes([field[0], field[1], field[2], field[3]]))
    else {
        return;
    };
    let Some(whole) = batch.get_mut(..LOG_HEADER.saturating_add(length as usize)) else { return };
    whole[4..8].fill(0);
    let sum = crc32c::crc32c(whole);
    whole[4..8].copy_from_slice(&sum.to_le_bytes());
}

fn reseal_checkpoint(slots: &mut [u8], slot: usize) {
    if let Some(bytes) = slots.get_mut(slot * 4096..slot * 4096 + CHECKPOINT) {
        let sum = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Changes bytes at a place; where that is.
fn change(bytes: &mut [u8], unit: usize, [low, high, offset_low, offset_high, how, value]: [u8; 6]) -> usize {
    let units = (bytes.len() / unit).max(1);
    let first = usize::from(u16::from_le_bytes([low, high])) % units;
    let within = usize::from(u16::from_le_bytes([offset_low, offset_high])) % unit;
    let at = first * unit + within;
    let wide = match how % 4 {
        0 => 1,
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let Some(place) = bytes.get_mut(at..at + wide) else { return first };
    match how / 4 % 4 {
        0 => place[0] = value,
        1 => place.fill(value),
        2 => place[0] = place[0].wrapping_add(value),
        _ => place[usize::from(value) % wide] ^= 1 << (value % 8),
    }
    first
}

/// The image with the damages that `data` says.
pub fn damaged(image: &Image, data: &[u8]) -> Image {
    let mut disk = Image { files: image.files.clone(), clock_ns: AtomicU64::new(image.now_ns()) };
    let logs: Vec<FileId> =
        disk.files.keys().filter(|file| matches!(file, FileId::Log(_))).copied().collect();
    for damage in data.chunks_exact(DAMAGE).take(64) {
        let [which, keep, rest @ ..] = *<&[u8; DAMAGE]>::try_from(damage).expect("as long");
        let is_resealed = keep % 8 != 0;
        match which % 8 {
            0..=3 => {
                let Some(database) = disk.files.get_mut(&FileId::Database) else { continue };
                // The maps and the first slots are read more than bodies.
                let place =
                    if which & 8 == 0 { [rest[0], 0, rest[2], rest[3] & 1, rest[4], rest[5]] } else { rest };
                let page = change(database, PAGE_BYTES, place);
                if is_resealed {
                    reseal_page(database, page);
                }
            }
            4..=5 => {
                let file = logs[usize::from(which >> 3) % logs.len()];
                let Some(log) = disk.files.get_mut(&file) else { continue };
                // Of the header and the first records, mostly.
                let place = [rest[0], 0, rest[2], rest[3] & 1, rest[4], rest[5]];
                let block = change(log, 4096, place);
                if is_resealed {
                    reseal_batch(log, block * 4096);
                }
            }
            6 => {
                let Some(slots) = disk.files.get_mut(&FileId::Checkpoint) else { continue };
                let slot = change(slots, 4096, [rest[0], 0, rest[2] % CHECKPOINT as u8, 0, rest[4], rest[5]]);
                if is_resealed {
                    reseal_checkpoint(slots, slot);
                }
            }
            _ => drop(disk.files.remove(&logs[usize::from(rest[0]) % logs.len()])),
        }
    }
    disk
}
