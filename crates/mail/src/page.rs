//! A page: 32 KiB with stamps that tell torn, damaged and misplaced writes, and a body of cells in the order of their keys.
//!
//! | bytes | what |
//! |---|---|
//! | 0-31 | CRC-32C of each of the eight blocks of 4 KiB; that of the first covers all but bytes 32-59 |
//! | 32-59 | CRC-32C of the others as they were at the write before: they tell a torn write from damage |
//! | 60-63, 64-67 | page number, database |
//! | 72-79 | LSN: the end of the last log record that changed it |
//! | 80-87 | write counter: how often it has been handed to the storage |
//! | 88-103 | kind, level, number of cells, start of the cells, link |
//! | 104- | offsets of the cells, 2 bytes each, in the order of keys; the cells grow from the end |
//!
//! Everything from byte 88 on is logged when it changes; the stamps before are made when the page is written.

use crate::key::{KEY_BYTES, Key};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 32 << 10;
/// Bytes of a block with a checksum of its own.
pub const BLOCK_BYTES: usize = 4096;
/// Blocks of a page.
pub const BLOCKS: usize = PAGE_BYTES / BLOCK_BYTES;
/// Where what is logged begins.
pub const BODY: usize = 88;
/// Where cells' offsets, or the bytes of a map, begin.
pub const SLOTS: usize = 104;
/// Bytes of a page that a map or a long value uses.
pub const PAYLOAD_BYTES: usize = PAGE_BYTES - SLOTS;

const PREVIOUS: usize = 28;
const NUMBER: usize = 60;
const DATABASE: usize = 64;
const LSN: usize = 72;
const COUNTER: usize = 80;
const KIND: usize = 88;
const LEVEL: usize = 89;
const COUNT: usize = 90;
const HEAP: usize = 92;
const LINK: usize = 96;

/// A page in memory, aligned for O_DIRECT.
#[derive(Clone)]
#[repr(C, align(4096))]
pub struct Page(pub [u8; PAGE_BYTES]);

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Page({}, write {})", self.number(), self.counter())
    }
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PageKind {
    /// Free.
    Free = 0,
    /// What the database is.
    Header = 1,
    /// Which pages are in use, a bit each.
    SpaceMap = 2,
    /// The last write counter of each page that was flushed, a byte each.
    WriteMap = 3,
    /// Keys and the pages below.
    Inner = 4,
    /// Messages.
    Leaf = 5,
    /// A part of a long value.
    Long = 6,
}

impl PageKind {
    fn of(byte: u8) -> Option<PageKind> {
        use PageKind::{Free, Header, Inner, Leaf, Long, SpaceMap, WriteMap};
        [Free, Header, SpaceMap, WriteMap, Inner, Leaf, Long].into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// What is wrong with a page that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageFault {
    /// Some blocks are of another write than the first.
    #[error(
        "torn write: of its write {counter}, {bad} of {BLOCKS} blocks are not there (the first of them is block {first})"
    )]
    Torn {
        /// The write that the first block is of.
        counter: u64,
        /// Blocks that are not.
        bad: usize,
        /// The first of them.
        first: usize,
    },
    /// A checksum is wrong.
    #[error("damaged: {bad} of {BLOCKS} blocks have a wrong checksum (the first of them is block {first})")]
    Damaged {
        /// How many blocks.
        bad: usize,
        /// The first of them.
        first: usize,
    },
    /// It is another page.
    #[error("misplaced write: page {found} of database {database} was found in its place")]
    Misplaced {
        /// The page that was found.
        found: u32,
        /// And its database.
        database: u32,
    },
    /// An earlier write is there.
    #[error(
        "lost write: its write {found} was found, but write {expected} (of 255) was acknowledged as flushed"
    )]
    Lost {
        /// What was found, modulo 255.
        found: u8,
        /// What should be there, modulo 255.
        expected: u8,
    },
    /// Nothing is there.
    #[error("lost write: it holds zeros, but write {expected} (of 255) was acknowledged as flushed")]
    Zero {
        /// What should be there, modulo 255.
        expected: u8,
    },
    /// There is no such page.
    #[error("a damaged page leads there, and the database ends at page {pages}")]
    Nowhere {
        /// How many pages there are.
        pages: u32,
    },
    /// What the log makes of it is not what was written.
    #[error("replaying the log does not give what its write {counter} was")]
    Unrepaired {
        /// The last write that the log knows.
        counter: u64,
    },
}

/// The byte that stands for a write counter in the write map; 0: never written.
pub fn counter_byte(counter: u64) -> u8 {
    if counter == 0 { 0 } else { ((counter - 1) % 255 + 1) as u8 }
}

impl Page {
    /// All zeros.
    pub fn zeroed() -> Box<Page> {
        Box::new(Page([0; PAGE_BYTES]))
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    fn set_u16(&mut self, at: usize, value: u16) {
        self.0[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// A number in the body.
    pub fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }

    /// Sets a number in the body.
    pub fn set_u32(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// A number in the body.
    pub fn u64_at(&self, at: usize) -> u64 {
        u64::from(self.u32_at(at)) | u64::from(self.u32_at(at + 4)) << 32
    }

    /// Sets a number in the body.
    pub fn set_u64(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.u32_at(NUMBER)
    }

    /// The end of the last log record that changed it.
    pub fn lsn(&self) -> u64 {
        self.u64_at(LSN)
    }

    /// See [`Page::lsn`].
    pub fn set_lsn(&mut self, lsn: u64) {
        self.set_u64(LSN, lsn);
    }

    /// How often it has been handed to the storage.
    pub fn counter(&self) -> u64 {
        self.u64_at(COUNTER)
    }

    /// See [`Page::counter`].
    pub fn set_counter(&mut self, counter: u64) {
        self.set_u64(COUNTER, counter);
    }

    /// Says which page it is.
    pub fn identify(&mut self, database: u32, number: u32) {
        self.set_u32(DATABASE, database);
        self.set_u32(NUMBER, number);
    }

    /// What it holds.
    pub fn kind(&self) -> Option<PageKind> {
        PageKind::of(self.0[KIND])
    }

    /// Empties the body for a new use.
    pub fn format(&mut self, kind: PageKind, level: u8) {
        self.0[BODY..].fill(0);
        self.0[KIND] = kind as u8;
        self.0[LEVEL] = level;
        self.set_u16(HEAP, PAGE_BYTES as u16);
    }

    /// Empties the body, as [`Page::format`] begins.
    pub fn clear(&mut self) {
        self.0[BODY..].fill(0);
    }

    /// 0 for leaves.
    pub fn level(&self) -> u8 {
        self.0[LEVEL]
    }

    /// Of a leaf the one behind it, of an inner page the leftmost below it; 0: none.
    pub fn link(&self) -> u32 {
        self.u32_at(LINK)
    }

    /// See [`Page::link`].
    pub fn set_link(&mut self, page: u32) {
        self.set_u32(LINK, page);
    }

    fn block_crc(&self, block: usize) -> u32 {
        let from = block * BLOCK_BYTES;
        if block > 0 {
            return crc32c::crc32c(&self.0[from..from + BLOCK_BYTES]);
        }
        // The first covers the checksums of the others, and leaves itself out.
        let crc = crc32c::crc32c(&self.0[4..PREVIOUS + 4]);
        crc32c::crc32c_append(crc, &self.0[NUMBER..BLOCK_BYTES])
    }

    /// Makes it ready to be written as its write `counter`; returns its checksum.
    pub fn seal(&mut self, counter: u64) -> u32 {
        self.set_counter(counter);
        self.0.copy_within(4..PREVIOUS + 4, PREVIOUS + 4);
        for block in (0..BLOCKS).rev() {
            let crc = self.block_crc(block);
            self.set_u32(block * 4, crc);
        }
        self.u32_at(0)
    }

    /// Whether nothing has ever been written there.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// Whether it is the whole page `number` of `database`.
    ///
    /// # Errors
    /// What it is instead; lost writes are the store's to tell.
    pub fn verify(&self, database: u32, number: u32) -> Result<(), PageFault> {
        let mut wrong = (0..BLOCKS).filter(|block| self.block_crc(*block) != self.u32_at(block * 4));
        if let Some(first) = wrong.next() {
            let is_older =
                |block: usize| block > 0 && self.block_crc(block) == self.u32_at(PREVIOUS + block * 4);
            let (bad, older) =
                wrong.fold((1, is_older(first)), |(bad, older), block| (bad + 1, older || is_older(block)));
            // A write that was torn within one block leaves neither; several blocks are rarely damaged at once.
            let torn = first > 0 && (older || bad > 1);
            return Err(match torn {
                true => PageFault::Torn { counter: self.counter(), bad, first },
                false => PageFault::Damaged { bad, first },
            });
        }
        if (self.u32_at(DATABASE), self.number()) != (database, number) {
            return Err(PageFault::Misplaced { found: self.number(), database: self.u32_at(DATABASE) });
        }
        Ok(())
    }
}

/// Cells.
impl Page {
    /// Number of cells.
    pub fn count(&self) -> usize {
        usize::from(self.u16_at(COUNT))
    }

    fn heap(&self) -> usize {
        usize::from(self.u16_at(HEAP))
    }

    fn offset_of(&self, index: usize) -> usize {
        usize::from(self.u16_at(SLOTS + 2 * index))
    }

    fn len_at(&self, offset: usize) -> usize {
        match self.kind() {
            Some(PageKind::Inner) => KEY_BYTES + 4,
            _ => KEY_BYTES + 3 + usize::from(self.u16_at(offset + KEY_BYTES + 1)),
        }
    }

    /// The bytes of a cell.
    pub fn cell(&self, index: usize) -> &[u8] {
        let offset = self.offset_of(index);
        &self.0[offset..offset + self.len_at(offset)]
    }

    /// The key of a cell.
    pub fn key(&self, index: usize) -> Key {
        let offset = self.offset_of(index);
        Key::decode(&self.0[offset..offset + KEY_BYTES])
    }

    /// Where a key is, or where it would be.
    pub fn search(&self, key: &Key) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = (low + high) / 2;
            match self.key(middle).cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// The page below in which a key is.
    pub fn child(&self, key: &Key) -> u32 {
        match self.search(key) {
            Ok(index) => self.child_at(index + 1),
            Err(index) => self.child_at(index),
        }
    }

    /// The pages below, from 0: the link, then one a cell.
    pub fn child_at(&self, index: usize) -> u32 {
        match index.checked_sub(1) {
            None => self.link(),
            Some(cell) => self.u32_at(self.offset_of(cell) + KEY_BYTES),
        }
    }

    /// Bytes that are in use by cells.
    pub fn used_bytes(&self) -> usize {
        (0..self.count()).map(|index| self.cell(index).len() + 2).sum()
    }

    /// Whether a cell of `len` bytes fits, moved together if need be.
    pub fn fits(&self, len: usize) -> bool {
        SLOTS + self.used_bytes() + len + 2 <= PAGE_BYTES
    }

    /// Room for `len` bytes among the cells.
    fn hole(&self, len: usize) -> Option<usize> {
        let mut cells: Vec<(usize, usize)> = (0..self.count())
            .map(|index| {
                let offset = self.offset_of(index);
                (offset, self.len_at(offset))
            })
            .collect();
        cells.sort_unstable();
        let mut from = self.heap();
        for (offset, cell_len) in cells {
            if offset - from >= len {
                return Some(from);
            }
            from = offset + cell_len;
        }
        (PAGE_BYTES - from >= len).then_some(from)
    }

    fn compact(&mut self) {
        let cells: Vec<Vec<u8>> = (0..self.count()).map(|index| self.cell(index).to_vec()).collect();
        let mut heap = PAGE_BYTES;
        for (index, cell) in cells.iter().enumerate() {
            heap -= cell.len();
            self.0[heap..heap + cell.len()].copy_from_slice(cell);
            self.set_u16(SLOTS + 2 * index, heap as u16);
        }
        self.set_u16(HEAP, heap as u16);
    }

    /// Adds a cell; `false`: it does not fit, and nothing is changed.
    pub fn insert(&mut self, index: usize, cell: &[u8]) -> bool {
        let slots_end = SLOTS + 2 * self.count();
        let free = self.heap() - slots_end;
        let below = |page: &mut Page| {
            let offset = page.heap() - cell.len();
            page.set_u16(HEAP, offset as u16);
            offset
        };
        let offset = if free >= cell.len() + 2 {
            below(self)
        } else if let Some(offset) = self.hole(cell.len()).filter(|_| free >= 2) {
            offset
        } else if self.fits(cell.len()) {
            self.compact();
            below(self)
        } else {
            return false;
        };
        self.0[offset..offset + cell.len()].copy_from_slice(cell);
        let at = SLOTS + 2 * index;
        self.0.copy_within(at..slots_end, at + 2);
        self.set_u16(at, offset as u16);
        self.set_u16(COUNT, self.count() as u16 + 1);
        true
    }

    /// Takes a cell out.
    pub fn remove(&mut self, index: usize) {
        let offset = self.offset_of(index);
        if offset == self.heap() {
            self.set_u16(HEAP, (offset + self.len_at(offset)) as u16);
        }
        let (at, slots_end) = (SLOTS + 2 * index, SLOTS + 2 * self.count());
        self.0.copy_within(at + 2..slots_end, at);
        self.set_u16(slots_end - 2, 0);
        self.set_u16(COUNT, self.count() as u16 - 1);
    }

    /// Whether its cells are where they can be and in the order of their keys.
    pub fn is_ordered(&self) -> bool {
        let count = self.count();
        let in_page = SLOTS + 2 * count <= self.heap()
            && (0..count).all(|index| {
                let offset = self.offset_of(index);
                offset >= self.heap()
                    && offset + KEY_BYTES + 3 <= PAGE_BYTES
                    && offset + self.len_at(offset) <= PAGE_BYTES
            });
        in_page && (1..count).all(|index| self.key(index - 1) < self.key(index))
    }
}

/// What differs between the bodies of two pages: byte ranges of the second, those close together as one.
pub fn differences(before: &Page, after: &Page, found: &mut dyn FnMut(usize, &[u8])) {
    /// Fewer equal bytes in between than a record of their own would take.
    const NEAR: usize = 9;
    const STEP: usize = 64;
    let mut open: Option<(usize, usize)> = None;
    let mut from = BODY;
    while from < PAGE_BYTES {
        let to = (from + STEP).min(PAGE_BYTES);
        if before.0[from..to] != after.0[from..to] {
            for at in (from..to).filter(|at| before.0[*at] != after.0[*at]) {
                open = match open {
                    Some((start, end)) if at < end + NEAR => Some((start, at + 1)),
                    Some((start, end)) => {
                        found(start, &after.0[start..end]);
                        Some((at, at + 1))
                    }
                    None => Some((at, at + 1)),
                };
            }
        }
        from = to;
    }
    if let Some((start, end)) = open {
        found(start, &after.0[start..end]);
    }
}

#[cfg(test)]
mod tests;
