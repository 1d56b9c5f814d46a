//! The buffer pool and what changes in it: pages by number, which of them are dirty since when, and the group of log records that the
//! current transaction makes. All of it is behind the one lock of a database; I/O is done without the lock.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::error::StoreError;
use crate::layout::Layout;
use crate::log::{LogState, Record};
use crate::page::{Page, PageKind, differences};

/// Buffers that are kept for frames being read into.
const SPARES_MAX: usize = 256;

/// What a transaction lacks. It has changed nothing yet, and is begun again once it is there.
#[derive(Debug)]
pub enum Miss {
    /// Pages that follow each other are not in memory.
    Absent {
        /// The first.
        first: u32,
        /// How many.
        count: u32,
    },
    /// No frame is free or clean.
    NoFrame,
    /// It cannot be done.
    Fault(StoreError),
}

impl From<StoreError> for Miss {
    fn from(error: StoreError) -> Self {
        Miss::Fault(error)
    }
}

/// A page in memory.
#[derive(Debug)]
pub struct Frame {
    /// Which; meaningless while it is free.
    pub number: u32,
    /// Its content.
    pub page: Box<Page>,
    /// The LSN of the first change that is not written; `None`: clean.
    pub dirty: Option<u64>,
    used: bool,
    /// The transaction that used it last.
    transaction: u64,
}

/// What is counted of the pool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Pages that were there.
    pub hits: u64,
    /// Pages that were not.
    pub misses: u64,
    /// Times a transaction waited because no frame was clean.
    pub stalls: u64,
}

/// All that the lock protects.
#[derive(Debug)]
pub struct State {
    /// Where the maps are.
    pub layout: Layout,
    /// Number of the database.
    pub database: u32,
    /// The top of the tree.
    pub root: u32,
    /// The log.
    pub log: LogState,
    frames: Vec<Frame>,
    of_page: HashMap<u32, usize>,
    free: Vec<usize>,
    hand: usize,
    frames_max: usize,
    transaction: u64,
    /// Dirty pages, the longest first.
    pub by_age: BTreeSet<(u64, u32)>,
    /// Pages that are being written, with the LSN from which their changes would have to be replayed until that is durable.
    pub in_flight: HashMap<u32, u64>,
    /// Pages that are being read.
    pub loading: HashSet<u32>,
    /// The counter byte of the last write of each page that was acknowledged.
    pub written: Vec<u8>,
    /// Pages in use, a bit each.
    pub(crate) in_use: Vec<u64>,
    pub(crate) in_use_count: u32,
    pub(crate) hint: u32,
    /// Pages that the file has room for.
    pub file_pages: u32,
    /// Pages that it durably has.
    pub durable_file_pages: u32,
    group: Vec<u8>,
    changed: Vec<u32>,
    before: Box<Page>,
    /// Stand in frames that are read into.
    spares: Vec<Box<Page>>,
    /// Counters.
    pub stats: PoolStats,
    /// Why everything ends.
    pub failed: Option<String>,
    /// The last checkpoint, LSN.
    pub checkpoint_lsn: u64,
    /// How many were written.
    pub checkpoint_count: u64,
    /// A thread writes one.
    pub checkpointing: bool,
    /// A thread makes a log generation.
    pub making: bool,
    /// Log generations that exist, from the oldest; the last is ready to be written.
    pub generations: std::ops::RangeInclusive<u64>,
}

impl State {
    /// An empty pool.
    pub fn new(database: u32, layout: Layout, log: LogState, frames_min: usize, frames_max: usize) -> Self {
        let frame = |_| Frame { number: 0, page: Page::zeroed(), dirty: None, used: false, transaction: 0 };
        let generation = log.end().position / crate::disk::GENERATION_BYTES;
        State {
            layout,
            database,
            root: 0,
            checkpoint_lsn: log.end().lsn,
            log,
            frames: (0..frames_min).map(frame).collect(),
            of_page: HashMap::new(),
            free: (0..frames_min).collect(),
            hand: 0,
            frames_max,
            transaction: 0,
            by_age: BTreeSet::new(),
            in_flight: HashMap::new(),
            loading: HashSet::new(),
            written: vec![0; layout.capacity as usize],
            in_use: vec![0; (layout.capacity as usize).div_ceil(64)],
            in_use_count: 0,
            hint: 0,
            file_pages: 0,
            durable_file_pages: 0,
            group: Vec::new(),
            changed: Vec::new(),
            before: Page::zeroed(),
            spares: Vec::new(),
            stats: PoolStats::default(),
            failed: None,
            checkpoint_count: 0,
            checkpointing: false,
            making: false,
            generations: generation..=generation,
        }
    }

    /// Frames at most.
    pub fn frames_max(&self) -> usize {
        self.frames_max
    }

    /// Begins a transaction: what it uses is not evicted before it ends.
    pub fn begin(&mut self) {
        self.transaction += 1;
    }

    fn touch(&mut self, page: u32) -> Result<usize, Miss> {
        let Some(index) = self.of_page.get(&page).copied() else {
            return Err(Miss::Absent { first: page, count: 1 });
        };
        let frame = &mut self.frames[index];
        (frame.used, frame.transaction) = (true, self.transaction);
        self.stats.hits += 1;
        Ok(index)
    }

    /// Whether a page is in memory.
    pub fn has(&self, page: u32) -> bool {
        self.of_page.contains_key(&page)
    }

    /// A page.
    ///
    /// # Errors
    /// It is not in memory.
    pub fn page(&mut self, page: u32) -> Result<&Page, Miss> {
        let index = self.touch(page)?;
        Ok(&self.frames[index].page)
    }

    /// A page that is in memory, without using it.
    pub fn peek(&self, page: u32) -> Option<&Frame> {
        self.of_page.get(&page).map(|index| &self.frames[*index])
    }

    /// The same, to change what is not logged.
    pub fn peek_mut(&mut self, page: u32) -> Option<&mut Frame> {
        let index = self.of_page.get(&page).copied()?;
        self.frames.get_mut(index)
    }

    /// Changes a page's body; what differs becomes part of the group.
    ///
    /// # Errors
    /// It is not in memory.
    pub fn change<T>(&mut self, page: u32, change: impl FnOnce(&mut Page) -> T) -> Result<T, Miss> {
        let index = self.touch(page)?;
        let (frame, group, before) = (&mut self.frames[index], &mut self.group, &mut self.before);
        before.0.copy_from_slice(&frame.page.0);
        let (done, records) = (change(&mut frame.page), group.len());
        differences(before, &frame.page, &mut |at, data| {
            Record::Bytes { page, offset: at as u16, data }.encode(group);
        });
        // A page that is as it was has no record that would give it an LSN.
        if self.group.len() > records {
            self.changed.push(page);
        }
        Ok(done)
    }

    /// Makes an empty page of one that was free. There is a frame for it: see [`State::reserve`].
    ///
    /// # Errors
    /// There is none.
    pub fn format(&mut self, page: u32, kind: PageKind, level: u8) -> Result<(), Miss> {
        if !self.has(page) {
            let index = self.take_frame().ok_or(Miss::NoFrame)?;
            let counter = u64::from(self.written[page as usize]);
            let content = &mut self.frames[index].page;
            content.0.fill(0);
            content.identify(self.database, page);
            content.set_counter(counter);
            self.enter(index, page);
        }
        let index = self.touch(page)?;
        self.frames[index].page.format(kind, level);
        Record::Format { page, kind, level }.encode(&mut self.group);
        self.changed.push(page);
        Ok(())
    }

    /// Says in the group that a page is written now.
    pub fn note_write(&mut self, page: u32, counter: u64, checksum: u32) {
        Record::Written { page, counter, checksum }.encode(&mut self.group);
    }

    /// Ends the transaction: its group goes to the log, and what it changed is dirty. Returns the end of the log.
    pub fn commit(&mut self, now_ns: u64) -> u64 {
        if self.group.is_empty() {
            return self.log.next_lsn();
        }
        let start = self.log.next_lsn();
        let end = self.log.append(&self.group, now_ns);
        self.group.clear();
        for page in std::mem::take(&mut self.changed) {
            let Some(frame) = self.of_page.get(&page).map(|index| &mut self.frames[*index]) else { continue };
            frame.page.set_lsn(end);
            if frame.dirty.is_none() {
                frame.dirty = Some(start);
                self.by_age.insert((start, page));
            }
        }
        end
    }

    /// Marks a page as clean; from where its changes would be replayed.
    pub fn clean(&mut self, page: u32) -> Option<u64> {
        let index = self.of_page.get(&page).copied()?;
        let since = self.frames[index].dirty.take()?;
        self.by_age.remove(&(since, page));
        Some(since)
    }

    fn enter(&mut self, index: usize, page: u32) {
        let frame = &mut self.frames[index];
        (frame.number, frame.dirty, frame.used, frame.transaction) = (page, None, true, self.transaction);
        self.of_page.insert(page, index);
    }

    fn take_frame(&mut self) -> Option<usize> {
        if let Some(index) = self.free.pop() {
            return Some(index);
        }
        if self.frames.len() < self.frames_max {
            let page = Page::zeroed();
            self.frames.push(Frame { number: 0, page, dirty: None, used: false, transaction: 0 });
            return Some(self.frames.len() - 1);
        }
        for _ in 0..2 * self.frames.len() {
            self.hand = (self.hand + 1) % self.frames.len();
            let (index, frame) = (self.hand, &mut self.frames[self.hand]);
            let pinned = frame.number < self.layout.first_data() || frame.transaction == self.transaction;
            // A frame that is free or being read into belongs to no page.
            if self.of_page.get(&frame.number) != Some(&index) || pinned || frame.dirty.is_some() {
                continue;
            }
            if std::mem::take(&mut frame.used) || self.in_flight.contains_key(&frame.number) {
                continue;
            }
            self.of_page.remove(&self.frames[index].number);
            return Some(index);
        }
        None
    }

    /// Makes sure that so many pages can be formatted.
    ///
    /// # Errors
    /// No frame is clean.
    pub fn reserve(&mut self, frames: usize) -> Result<(), Miss> {
        let mut taken = Vec::new();
        while self.free.len() + taken.len() < frames {
            match self.take_frame_beyond_free() {
                Some(index) => taken.push(index),
                None => {
                    self.free.append(&mut taken);
                    return Err(Miss::NoFrame);
                }
            }
        }
        self.free.append(&mut taken);
        Ok(())
    }

    fn take_frame_beyond_free(&mut self) -> Option<usize> {
        let free = std::mem::take(&mut self.free);
        let taken = self.take_frame();
        self.free = free;
        taken
    }

    /// A frame to read a page into, without the lock; `None`: none is clean. It goes back by [`State::install`] or [`State::release`].
    pub fn take_for_reading(&mut self) -> Option<(usize, Box<Page>)> {
        let index = self.take_frame()?;
        let spare = self.spares.pop().unwrap_or_else(Page::zeroed);
        Some((index, std::mem::replace(&mut self.frames[index].page, spare)))
    }

    fn fill(&mut self, index: usize, page: Box<Page>) {
        let old = std::mem::replace(&mut self.frames[index].page, page);
        if self.spares.len() < SPARES_MAX {
            self.spares.push(old);
        }
    }

    /// A page was read.
    pub fn install(&mut self, index: usize, number: u32, page: Box<Page>) {
        self.fill(index, page);
        self.enter(index, number);
    }

    /// A frame is not needed after all.
    pub fn release(&mut self, index: usize, page: Box<Page>) {
        self.fill(index, page);
        self.free.push(index);
    }

    /// Puts a page into the pool that replay has made, dirty since `lsn`.
    ///
    /// # Errors
    /// No frame is clean.
    pub fn install_dirty(&mut self, number: u32, page: Box<Page>, lsn: u64) -> Result<(), Miss> {
        let index = self.take_frame().ok_or(Miss::NoFrame)?;
        self.install(index, number, page);
        self.frames[index].dirty = Some(lsn);
        self.by_age.insert((lsn, number));
        Ok(())
    }

    /// Where replay would have to begin.
    pub fn redo_lsn(&self) -> u64 {
        let dirty = self.by_age.first().map(|(lsn, _)| *lsn);
        let in_flight = self.in_flight.values().min().copied();
        dirty.into_iter().chain(in_flight).fold(self.log.next_lsn(), u64::min)
    }
}
