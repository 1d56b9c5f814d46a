//! Opening a database: the log behind the last checkpoint is replayed, whether or not it was closed.
//!
//! Records are after-images of bytes, and are replayed from the checkpoint on whatever a page on disk holds of them already. So it
//! does not matter which of a page's blocks an interrupted write has reached. What a page must be is known twice: the log
//! has the checksum of each write that was begun, and the write map the counter of the last one that was flushed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::IoSliceMut;
use std::path::Path;

use crate::disk::{Block, Class, Disk, FileId, GENERATION_BYTES, blocks, read_blocks};
use crate::error::{Doing, LogDamage, StoreError};
use crate::files::{FileDisk, Files};
use crate::flush::Checkpoint;
use crate::layout::{Header, Layout, VERSION};
use crate::log::{Batch, LogPlace, LogState, Record, decode};
use crate::page::{PAGE_BYTES, Page, PageFault, PageKind, counter_byte};
use crate::pool::{Miss, State};
use crate::store::{Store, Tuning, io_error};
use crate::whole::{expect_length, expect_logs, expect_pages};

/// What opening did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Log generations that were read.
    pub generations: u64,
    /// Bytes of log files.
    pub log_bytes: u64,
    /// Groups that were replayed: transactions, and what the background wrote.
    pub groups: u64,
    /// Pages that they changed.
    pub pages: u64,
    /// Pages that were torn by the end of the last run, and are whole again.
    pub torn_repaired: u64,
    /// How long it took until the database could be used, nanoseconds.
    pub ns: u64,
}

/// What was on disk where a page should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// A whole page, of this write.
    Whole(u64),
    /// Zeros.
    Nothing,
    /// Not a whole page.
    Broken(PageFault),
    /// Not read: the log begins with an empty page.
    Unread,
}

/// A page as replay makes it.
#[derive(Debug)]
struct Replayed {
    page: Box<Page>,
    base: Base,
    /// The writes of it that the log knows, by their counters.
    writes: Vec<u64>,
    /// Whether replay gives what the last of them was.
    matches: bool,
}

/// Reads the log from a place on.
struct Reader<'d> {
    disk: &'d mut dyn Disk,
    database: u32,
    generations: HashSet<u64>,
    at: LogPlace,
    life: u64,
    /// The generation that is in memory.
    loaded: Option<u64>,
    bytes: Vec<u8>,
    read_count: u64,
}

impl<'d> Reader<'d> {
    fn new(disk: &'d mut dyn Disk, checkpoint: &Checkpoint) -> Result<Self, StoreError> {
        let found = disk.generations().map_err(io_error(Doing::Read, FileId::Log(0)))?;
        Ok(Reader {
            disk,
            database: checkpoint.database,
            generations: found.into_iter().collect(),
            at: checkpoint.place,
            life: 0,
            loaded: None,
            bytes: Vec::new(),
            read_count: 0,
        })
    }

    fn load(&mut self, generation: u64) -> Result<bool, StoreError> {
        if self.loaded == Some(generation) {
            return Ok(true);
        }
        if !self.generations.contains(&generation) {
            return Ok(false);
        }
        let mut into: Vec<Block> = blocks(GENERATION_BYTES as usize / 4096);
        let file = FileId::Log(generation);
        for (index, part) in into.chunks_mut(64).enumerate() {
            let offset = index as u64 * (64 * 4096);
            read_blocks(self.disk, Class::LogRead, file, offset, part)
                .map_err(io_error(Doing::Read, file))?;
        }
        self.bytes.clear();
        into.iter().for_each(|block| self.bytes.extend(block.0));
        (self.loaded, self.read_count) = (Some(generation), self.read_count + 1);
        Ok(true)
    }

    fn batch_at(&mut self, position: u64) -> Result<Option<Batch>, StoreError> {
        let (generation, offset) = (position / GENERATION_BYTES, (position % GENERATION_BYTES) as usize);
        let there = self.load(generation)?;
        Ok(self
            .bytes
            .get(offset..)
            .filter(|_| there)
            .and_then(|bytes| Batch::read(self.database, position, bytes)))
    }

    /// The next batch; `None`: the log ends.
    fn next(&mut self) -> Result<Option<Batch>, StoreError> {
        let here = self.at.position;
        // A damaged checkpoint may name any position.
        let next_generation = here.checked_next_multiple_of(GENERATION_BYTES);
        for position in [Some(here), next_generation].into_iter().flatten() {
            let Some(batch) = self.batch_at(position)? else { continue };
            let follows = batch.place.lsn == self.at.lsn && (position == here || batch.previous == here);
            if follows && batch.life >= self.life {
                (self.at, self.life) = (batch.end(), batch.life);
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// A whole batch that was written behind the end: what is in between was acknowledged.
    fn later_batch(&mut self) -> Result<Option<u64>, StoreError> {
        let first = self.at.position / GENERATION_BYTES;
        for generation in first..first + 2 {
            let Some(end) = (generation + 1).checked_mul(GENERATION_BYTES) else { break };
            let start = self.at.position.max(generation * GENERATION_BYTES);
            for position in (start..end).step_by(4096) {
                let found = self.batch_at(position)?;
                if found.is_some_and(|batch| batch.place.lsn > self.at.lsn && batch.life >= self.life) {
                    return Ok(Some(position));
                }
            }
        }
        Ok(None)
    }
}

/// The pages of a pass over the log.
struct Pass<'d> {
    disk: &'d mut dyn Disk,
    checkpoint: Checkpoint,
    pages: HashMap<u32, Replayed>,
    groups: u64,
}

fn read_page(disk: &mut dyn Disk, database: u32, number: u32) -> Result<(Box<Page>, Base), StoreError> {
    let mut page = Page::zeroed();
    let offset = u64::from(number) * PAGE_BYTES as u64;
    let read = disk.read(Class::RecoveryRead, FileId::Database, offset, &mut [IoSliceMut::new(&mut page.0)]);
    let base = match read {
        // The file had not grown so far yet.
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Base::Nothing,
        Err(error) => return Err(io_error(Doing::Read, FileId::Database)(error)),
        Ok(()) if page.is_zero() => Base::Nothing,
        Ok(()) => match page.verify(database, number) {
            Ok(()) => Base::Whole(page.counter()),
            Err(fault) => Base::Broken(fault),
        },
    };
    Ok((page, base))
}

impl Pass<'_> {
    fn page(&mut self, number: u32, formatted: bool) -> Result<&mut Replayed, StoreError> {
        match self.pages.entry(number) {
            std::collections::hash_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let (mut page, base) = match formatted {
                    true => (Page::zeroed(), Base::Unread),
                    false => read_page(self.disk, self.checkpoint.database, number)?,
                };
                page.identify(self.checkpoint.database, number);
                Ok(entry.insert(Replayed { page, base, writes: Vec::new(), matches: true }))
            }
        }
    }

    fn apply(&mut self, lsn: u64, record: &Record<'_>) -> Result<(), StoreError> {
        let formatted = matches!(record, Record::Format { .. });
        let replayed = self.page(record.page(), formatted)?;
        match *record {
            Record::Format { kind, level, .. } => {
                replayed.page.format(kind, level);
                replayed.page.set_lsn(lsn);
            }
            Record::Bytes { offset, data, .. } => {
                let at = usize::from(offset);
                let into = replayed.page.0.get_mut(at..at + data.len()).ok_or(StoreError::Record(lsn))?;
                into.copy_from_slice(data);
                replayed.page.set_lsn(lsn);
            }
            Record::Written { counter, checksum, .. } => {
                replayed.matches = replayed.page.seal(counter) == checksum;
                replayed.writes.push(counter);
            }
        }
        Ok(())
    }

    fn replay(&mut self, batch: &Batch, takes: &dyn Fn(u32) -> bool) -> Result<(), StoreError> {
        for (lsn, mut group) in batch.groups() {
            self.groups += 1;
            while !group.is_empty() {
                let record = decode(&mut group).ok_or(StoreError::Record(lsn))?;
                if takes(record.page()) {
                    self.apply(lsn, &record)?;
                }
            }
        }
        Ok(())
    }
}

impl Replayed {
    /// The writes that the write map does not say the end of. There may be several: an interrupted replay begins a write of its own
    /// before the log says how the one before ended.
    fn open_writes(&self, flushed: Option<u8>) -> &[u64] {
        let ended = self.writes.iter().rposition(|counter| Some(counter_byte(*counter)) == flushed);
        &self.writes[ended.map_or(0, |ended| ended + 1)..]
    }

    /// Whether what was on disk is what the log and the write map say; `flushed`: the byte of the write map, `None` for pages that it
    /// does not speak of. Returns whether it was torn.
    fn judge(&self, flushed: Option<u8>) -> Result<bool, PageFault> {
        let open = self.open_writes(flushed);
        let lost = match (self.base, flushed) {
            (Base::Whole(found), Some(expected)) => {
                let found_byte = counter_byte(found);
                let lost = found_byte != expected && !open.contains(&found);
                lost.then_some(PageFault::Lost { found: found_byte, expected })
            }
            (Base::Nothing, Some(expected)) if expected != 0 => Some(PageFault::Zero { expected }),
            _ => None,
        };
        match (self.base, lost) {
            // What is on disk says best why replay gives something else.
            (Base::Broken(fault), _) if open.is_empty() || !self.matches => Err(fault),
            (_, Some(fault)) => Err(fault),
            _ if !self.matches => {
                Err(PageFault::Unrepaired { counter: self.writes.last().copied().unwrap_or(0) })
            }
            (base, None) => Ok(matches!(base, Base::Broken(_))),
        }
    }

    /// The page with the highest write counter that was ever used.
    fn into_page(self) -> (Box<Page>, u64) {
        let found = match self.base {
            Base::Whole(counter) => counter,
            _ => 0,
        };
        let counter = self.writes.iter().copied().fold(found, u64::max);
        (self.page, counter)
    }
}

/// The later of the two checkpoints that are whole.
fn read_checkpoint(disk: &mut dyn Disk) -> Result<Checkpoint, StoreError> {
    let mut slots = blocks(2);
    read_blocks(disk, Class::LogRead, FileId::Checkpoint, 0, &mut slots)
        .map_err(io_error(Doing::Read, FileId::Checkpoint))?;
    let found = slots.iter().filter_map(|slot| Checkpoint::decode(&slot.0));
    found.max_by_key(|checkpoint| checkpoint.sequence).ok_or(StoreError::Checkpoint)
}

/// What the first pass over the log finds: the pages before the tree, and which pages of the tree are changed.
struct FirstPass {
    meta: HashMap<u32, Replayed>,
    data: HashSet<u32>,
    end: LogPlace,
    life: u64,
    generations: u64,
    groups: u64,
}

fn first_pass(disk: &mut dyn Disk, checkpoint: Checkpoint, layout: Layout) -> Result<FirstPass, StoreError> {
    let first_data = layout.first_data();
    let mut reader = Reader::new(disk, &checkpoint)?;
    let mut data = HashSet::new();
    while let Some(batch) = reader.next()? {
        for (lsn, mut group) in batch.groups() {
            while !group.is_empty() {
                let page = decode(&mut group).map(|record| record.page());
                let page = page.filter(|page| *page < layout.capacity).ok_or(StoreError::Record(lsn))?;
                if page >= first_data {
                    data.insert(page);
                }
            }
        }
    }
    let (end, life, generations) = (reader.at, reader.life.max(checkpoint.life), reader.read_count);
    let damaged = |why| StoreError::Log { end: end.lsn, position: end.position, why };
    if end.lsn < checkpoint.durable_lsn {
        return Err(damaged(LogDamage::Checkpoint(checkpoint.durable_lsn)));
    }
    if let Some(position) = reader.later_batch()? {
        return Err(damaged(LogDamage::LaterBatch(position)));
    }
    let (meta, groups) = replay(disk, checkpoint, &|page| page < first_data)?;
    Ok(FirstPass { meta, data, end, life, generations, groups })
}

/// Replays the log for some pages.
fn replay(
    disk: &mut dyn Disk,
    checkpoint: Checkpoint,
    takes: &dyn Fn(u32) -> bool,
) -> Result<(HashMap<u32, Replayed>, u64), StoreError> {
    let mut reader = Reader::new(disk, &checkpoint)?;
    let mut pages = HashMap::new();
    let mut groups = 0;
    while let Some(batch) = reader.next()? {
        let mut pass = Pass { disk: &mut *reader.disk, checkpoint, pages, groups };
        pass.replay(&batch, takes)?;
        (pages, groups) = (pass.pages, pass.groups);
    }
    Ok((pages, groups))
}

/// Page 0 as it is on disk, as far as it says how large the maps are: that never changes.
fn read_capacity(disk: &mut dyn Disk) -> Result<Header, StoreError> {
    let mut page = Page::zeroed();
    disk.read(Class::RecoveryRead, FileId::Database, 0, &mut [IoSliceMut::new(&mut page.0)])
        .map_err(io_error(Doing::Read, FileId::Database))?;
    let header = Header::read(&page).ok_or(StoreError::Version(0))?;
    if header.version != VERSION {
        return Err(StoreError::Version(header.version));
    }
    if header.built { Ok(header) } else { Err(StoreError::HalfBuilt) }
}

/// Whether the building of a database did not end; `false` also where it cannot be told.
pub(crate) fn is_half_built(directory: &Path, number: u32) -> bool {
    let files = Files::open(directory, number, false, false);
    files.is_ok_and(|files| matches!(read_capacity(&mut FileDisk::new(&files)), Err(StoreError::HalfBuilt)))
}

/// Opens database `number`, replaying its log.
///
/// # Errors
/// What is not as it was acknowledged, or what the system says.
pub fn open(
    disk: &mut dyn Disk,
    number: u32,
    tuning: Tuning,
) -> Result<(Store, Header, Recovered), StoreError> {
    let begun_ns = disk.now_ns();
    expect_length(disk, number, FileId::Database, PAGE_BYTES as u64)?;
    let mut header = read_capacity(disk)?;
    expect_length(disk, number, FileId::Checkpoint, 2 * 4096)?;
    let checkpoint = read_checkpoint(disk)?;
    let file_pages = expect_pages(disk, &checkpoint)?;
    let logs = expect_logs(disk, &checkpoint)?;
    let (layout, database) = (header.layout, checkpoint.database);
    let FirstPass { mut meta, data, end, life, generations, groups } = first_pass(disk, checkpoint, layout)?;
    let mut log = LogState::new(database, life + 1, end);
    if end.lsn > checkpoint.place.lsn {
        log.remember(checkpoint.place);
    }
    let mut state = State::new(database, layout, log, tuning.pool_pages_min, tuning.pool_pages_max);
    let mut recovered = Recovered {
        generations,
        groups,
        log_bytes: end.position - checkpoint.place.position,
        pages: data.len() as u64 + meta.len() as u64,
        ..Recovered::default()
    };
    for number in 0..layout.first_data() {
        recovered.torn_repaired +=
            u64::from(take_meta(disk, &mut state, &mut meta, number, checkpoint.place.lsn)?);
    }
    read_maps(&mut state);
    let root = state.peek(0).and_then(|frame| Header::read(&frame.page)).ok_or(StoreError::Version(0))?;
    (header, state.root) = (root, root.root);
    (state.file_pages, state.durable_file_pages) = (file_pages, checkpoint.file_pages);
    state.checkpoint_lsn = checkpoint.place.lsn;
    state.checkpoint_count = checkpoint.sequence;
    let current = end.position / GENERATION_BYTES;
    let last = logs.last().copied().filter(|last| *last >= current);
    state.generations = logs.first().copied().unwrap_or(current).min(current)..=last.unwrap_or(current);
    if last.is_none() {
        disk.make_generation(current, None).map_err(io_error(Doing::Make, FileId::Log(current)))?;
    }
    let store = Store::new(state, tuning);
    recovered.torn_repaired += replay_data(disk, &store, checkpoint, &data)?;
    store.close(disk)?;
    recovered.ns = disk.now_ns().saturating_sub(begun_ns);
    Ok((store, header, recovered))
}

/// Takes a page before the tree into the pool; whether it was torn.
fn take_meta(
    disk: &mut dyn Disk,
    state: &mut State,
    meta: &mut HashMap<u32, Replayed>,
    number: u32,
    redo_lsn: u64,
) -> Result<bool, StoreError> {
    let fault = |fault| StoreError::Page { page: number, fault };
    let no_room = |_: Miss| StoreError::Stopped("the buffer pool is too small for the maps".to_owned());
    let (replayed, changed) = match meta.remove(&number) {
        Some(replayed) => (replayed, true),
        None => {
            let (page, base) = read_page(disk, state.database, number)?;
            (Replayed { page, base, writes: Vec::new(), matches: true }, false)
        }
    };
    let torn = replayed.judge(None).map_err(fault)?;
    if replayed.base == Base::Nothing {
        return Err(fault(PageFault::Zero { expected: 1 }));
    }
    if replayed.page.kind() != Some(state.layout.kind_of(number)) {
        return Err(StoreError::Version(0));
    }
    let (mut page, counter) = replayed.into_page();
    page.set_counter(counter);
    state.written[number as usize] = counter_byte(counter);
    if changed {
        state.install_dirty(number, page, redo_lsn).map_err(no_room)?;
    } else {
        let (index, spare) = state.take_for_reading().ok_or(Miss::NoFrame).map_err(no_room)?;
        drop(spare);
        state.install(index, number, page);
    }
    Ok(torn)
}

/// What the maps say, in memory.
fn read_maps(state: &mut State) {
    for number in 0..state.layout.capacity {
        let (map, at, bit) = state.layout.space_bit(number);
        let used = state.peek(map).is_some_and(|frame| frame.page.0[at] & bit != 0);
        state.mark(number, used);
        if number >= state.layout.first_data() {
            let (map, at) = state.layout.write_byte(number);
            state.written[number as usize] = state.peek(map).map_or(0, |frame| frame.page.0[at]);
        }
    }
    state.hint = state.high_page();
}

/// Replays the log for the pages of the tree, as many at once as the pool holds; how many were torn.
fn replay_data(
    disk: &mut dyn Disk,
    store: &Store,
    checkpoint: Checkpoint,
    data: &HashSet<u32>,
) -> Result<u64, StoreError> {
    let mut torn = 0;
    let room = store.lock().frames_max() / 2;
    let passes = (data.len().div_ceil(room.max(1)) as u32).max(1);
    for pass in 0..passes {
        if data.is_empty() {
            break;
        }
        let first_data = store.lock().layout.first_data();
        let takes = |page: u32| page >= first_data && page % passes == pass;
        let (pages, _) = replay(disk, checkpoint, &takes)?;
        let pages: BTreeMap<u32, Replayed> = pages.into_iter().collect();
        for (number, replayed) in pages {
            let flushed = store.lock().written[number as usize];
            let was_torn = replayed.judge(Some(flushed));
            torn += u64::from(was_torn.map_err(|fault| StoreError::Page { page: number, fault })?);
            let (mut page, counter) = replayed.into_page();
            let mut state = store.lock();
            // A page that was not read goes on with the counters of the write map.
            page.set_counter(if counter == 0 { u64::from(flushed) } else { counter });
            while let Err(Miss::NoFrame) = reserve_one(&mut state) {
                drop(state);
                store.flush_some(disk)?;
                state = store.lock();
            }
            let lsn = checkpoint.place.lsn;
            let no_room = |_| StoreError::Stopped("no frame for a page of the log".to_owned());
            state.install_dirty(number, page, lsn).map_err(no_room)?;
        }
        while store.flush_some(disk)? > 0 {}
    }
    Ok(torn)
}

fn reserve_one(state: &mut State) -> Result<(), Miss> {
    state.begin();
    state.reserve(1)
}

/// Whether a page of this kind is a part of the tree.
pub(crate) fn is_node(kind: Option<PageKind>) -> bool {
    matches!(kind, Some(PageKind::Inner | PageKind::Leaf))
}
