//! Building a database: messages in the order of their keys, pages written one behind the other, without a log.

use std::io::IoSlice;

use crate::disk::{Class, Disk, FileId, blocks, slices};
use crate::error::{Doing, StoreError};
use crate::flush::Checkpoint;
use crate::key::Key;
use crate::layout::{Header, Layout, VERSION};
use crate::log::LogPlace;
use crate::page::{PAGE_BYTES, PAYLOAD_BYTES, Page, PageKind, SLOTS};
use crate::store::io_error;
use crate::tree::{INLINE_BYTES_MAX, LongValue, Value, inner_cell, leaf_cell};

/// Pages that are written together.
const TOGETHER: usize = 32;
/// The LSN of a new database: what is loaded has lower message numbers.
pub const FIRST_LSN: u64 = 1 << 40;

/// A database being built.
pub struct Loader<'d> {
    disk: &'d mut dyn Disk,
    header: Header,
    /// Bytes of cells that a page gets.
    fill_bytes: usize,
    next: u32,
    leaf: Box<Page>,
    /// First key and page of what each level has so far, leaves first.
    levels: Vec<(Key, u32)>,
    ready: Vec<(u32, Box<Page>)>,
    /// Messages so far.
    pub messages: u64,
}

impl std::fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").field("next", &self.next).finish_non_exhaustive()
    }
}

/// What a new database is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewDatabase {
    /// Its number.
    pub database: u32,
    /// Pages at most.
    pub capacity: u32,
    /// How full pages are made, 0 to 1.
    pub fill: f64,
    /// Mailboxes, for the header.
    pub mailboxes: u32,
    /// Folders of each, for the header.
    pub folders: u32,
    /// Seed, for the header.
    pub seed: u64,
}

impl<'d> Loader<'d> {
    /// Begins; what is at the place of the database is overwritten.
    ///
    /// # Errors
    /// What the system says.
    pub fn new(disk: &'d mut dyn Disk, new: NewDatabase) -> Result<Self, StoreError> {
        let layout = Layout { capacity: new.capacity };
        let header = Header {
            version: VERSION,
            database: new.database,
            layout,
            root: 0,
            built: false,
            mailboxes: new.mailboxes,
            folders: new.folders,
            seed: new.seed,
        };
        let fill_bytes = ((PAGE_BYTES - SLOTS) as f64 * new.fill.clamp(0.1, 1.0)) as usize;
        let first = layout.first_data();
        let mut loader = Loader {
            disk,
            header,
            fill_bytes,
            next: first + 1,
            leaf: Page::zeroed(),
            levels: vec![(Key::FIRST, first)],
            ready: Vec::new(),
            messages: 0,
        };
        loader.leaf = loader.empty(first, PageKind::Leaf, 0);
        // A build that is interrupted is seen as one.
        let mut page = loader.empty(0, PageKind::Header, 0);
        header.write(&mut page);
        loader.write_run(&mut [(0, page)])?;
        Ok(loader)
    }

    fn empty(&self, number: u32, kind: PageKind, level: u8) -> Box<Page> {
        let mut page = Page::zeroed();
        page.identify(self.header.database, number);
        page.format(kind, level);
        page
    }

    fn write_run(&mut self, run: &mut [(u32, Box<Page>)]) -> Result<(), StoreError> {
        for (_, page) in run.iter_mut() {
            page.seal(1);
        }
        let Some(first) = run.first().map(|(number, _)| u64::from(*number)) else { return Ok(()) };
        let from: Vec<IoSlice<'_>> = run.iter().map(|(_, page)| IoSlice::new(&page.0)).collect();
        let written =
            self.disk.write(Class::DatabaseWrite, FileId::Database, first * PAGE_BYTES as u64, &from);
        written.map_err(io_error(Doing::Write, FileId::Database))
    }

    fn write_ready(&mut self) -> Result<(), StoreError> {
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_by_key(|(number, _)| *number);
        for run in ready.chunk_by_mut(|one, other| one.0 + 1 == other.0) {
            self.write_run(run)?;
        }
        Ok(())
    }

    fn finished(&mut self, number: u32, page: Box<Page>) -> Result<(), StoreError> {
        self.ready.push((number, page));
        if self.ready.len() >= TOGETHER { self.write_ready() } else { Ok(()) }
    }

    fn allocate(&mut self, pages: u32) -> Result<u32, StoreError> {
        let first = self.next;
        self.next += pages;
        // The tree above the leaves needs a page for a thousand of them.
        let room = self.header.layout.capacity - self.levels.len() as u32 / 500;
        if self.next + 16 > room { Err(StoreError::Full(self.header.layout.capacity)) } else { Ok(first) }
    }

    /// Adds a message behind all so far.
    ///
    /// # Errors
    /// It does not fit, or what the system says.
    pub fn add(&mut self, key: &Key, data: &[u8]) -> Result<(), StoreError> {
        let value = if data.len() <= INLINE_BYTES_MAX {
            Value::Inline(data)
        } else {
            let long = LongValue { bytes: data.len() as u32, first: 0 };
            let first = self.allocate(long.pages())?;
            for (number, part) in (first..).zip(data.chunks(PAYLOAD_BYTES)) {
                let mut page = self.empty(number, PageKind::Long, 0);
                page.0[SLOTS..SLOTS + part.len()].copy_from_slice(part);
                self.finished(number, page)?;
            }
            Value::Long(LongValue { first, ..long })
        };
        let cell = leaf_cell(key, value);
        let count = self.leaf.count();
        if count > 0 && self.leaf.used_bytes() + cell.len() + 2 > self.fill_bytes {
            let number = self.allocate(1)?;
            let next = self.empty(number, PageKind::Leaf, 0);
            let mut full = std::mem::replace(&mut self.leaf, next);
            full.set_link(number);
            self.finished(full.number(), full)?;
            self.levels.push((*key, number));
        }
        self.leaf.insert(self.leaf.count(), &cell);
        self.messages += 1;
        Ok(())
    }

    /// How many mailboxes it has, for the header.
    pub fn set_mailboxes(&mut self, mailboxes: u32) {
        self.header.mailboxes = mailboxes;
    }

    /// Pages so far.
    pub fn pages(&self) -> u32 {
        self.next
    }

    /// Pages that so many small messages like this one will take, about.
    pub fn pages_of(&self, messages: u64, data: &[u8]) -> u32 {
        let cell = leaf_cell(&Key::FIRST, Value::Inline(data)).len() + 2;
        (messages * cell as u64).div_ceil(self.fill_bytes as u64) as u32
    }

    /// The pages above the leaves; the root.
    fn build_inner(&mut self) -> Result<u32, StoreError> {
        let mut below = std::mem::take(&mut self.levels);
        let mut level = 0;
        while below.len() > 1 {
            level += 1;
            let mut above = Vec::new();
            let mut page: Option<Box<Page>> = None;
            for (key, child) in below {
                let cell = inner_cell(&key, child);
                let full =
                    page.as_ref().is_some_and(|page| page.used_bytes() + cell.len() + 2 > self.fill_bytes);
                if let Some(done) = page.take_if(|_| full) {
                    self.finished(done.number(), done)?;
                }
                if let Some(page) = &mut page {
                    page.insert(page.count(), &cell);
                } else {
                    let number = self.next;
                    self.next += 1;
                    let mut begun = self.empty(number, PageKind::Inner, level);
                    begun.set_link(child);
                    above.push((key, number));
                    page = Some(begun);
                }
            }
            if let Some(done) = page {
                self.finished(done.number(), done)?;
            }
            below = above;
        }
        Ok(below.first().map_or(self.header.layout.first_data(), |(_, page)| *page))
    }

    /// Writes what is left, the maps, an empty log and the checkpoint.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> Result<Header, StoreError> {
        let last = Page::zeroed();
        let leaf = std::mem::replace(&mut self.leaf, last);
        self.finished(leaf.number(), leaf)?;
        self.header.root = self.build_inner()?;
        self.write_ready()?;
        let layout = self.header.layout;
        let mut maps: Vec<(u32, Box<Page>)> = (0..layout.first_data())
            .map(|number| (number, self.empty(number, layout.kind_of(number), 0)))
            .collect();
        for page in 0..self.next {
            let (map, at, bit) = layout.space_bit(page);
            maps[map as usize].1.0[at] |= bit;
            let (map, at) = layout.write_byte(page);
            maps[map as usize].1.0[at] = 1;
        }
        self.header.built = true;
        self.header.write(&mut maps[0].1);
        self.write_run(&mut maps[1..])?;
        let extended = self.disk.extend(u64::from(self.next) * PAGE_BYTES as u64);
        extended.map_err(io_error(Doing::Make, FileId::Database))?;
        self.disk.flush().map_err(io_error(Doing::Flush, FileId::Database))?;
        self.begin_log()?;
        // What makes it a database comes last.
        self.write_run(&mut maps[..1])?;
        self.disk.flush().map_err(io_error(Doing::Flush, FileId::Database))?;
        Ok(self.header)
    }

    fn begin_log(&mut self) -> Result<(), StoreError> {
        for generation in 0..2 {
            let made = self.disk.make_generation(generation, None);
            made.map_err(io_error(Doing::Make, FileId::Log(generation)))?;
        }
        let both = blocks(2);
        let cleared = self.disk.write(Class::CheckpointWrite, FileId::Checkpoint, 0, &slices(&both));
        cleared.map_err(io_error(Doing::Write, FileId::Checkpoint))?;
        let checkpoint = Checkpoint {
            sequence: 1,
            place: LogPlace { position: 0, lsn: FIRST_LSN },
            durable_lsn: FIRST_LSN,
            life: 1,
            database: self.header.database,
            file_pages: self.next,
            last_generation: 1,
            generations: 2,
        };
        checkpoint.write(self.disk)
    }
}
