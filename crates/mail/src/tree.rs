//! The B+-tree: messages by mailbox, folder and number, long ones in pages of their own.
//!
//! Leaves that become empty stay: new messages of their range go there again.

use crate::error::StoreError;
use crate::key::{KEY_BYTES, Key};
use crate::layout::Header;
use crate::page::{PAYLOAD_BYTES, Page, PageKind, SLOTS};
use crate::pool::{Miss, State};

/// The longest message that is kept in a leaf, bytes.
pub const INLINE_BYTES_MAX: usize = 8000;
/// The longest message.
pub const MESSAGE_BYTES_MAX: usize = 256 << 10;
const INLINE: u8 = 0;
const LONG: u8 = 1;
const LEVELS_MAX: usize = 8;

/// Where a long message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongValue {
    /// Its bytes.
    pub bytes: u32,
    /// Its first page; the others follow.
    pub first: u32,
}

impl LongValue {
    /// How many pages it has.
    pub fn pages(self) -> u32 {
        (self.bytes as usize).div_ceil(PAYLOAD_BYTES) as u32
    }
}

/// What a cell of a leaf says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// The message.
    Inline(&'a [u8]),
    /// Where it is.
    Long(LongValue),
}

/// Reads a cell of a leaf; `None`: it makes no sense.
pub fn value(cell: &[u8]) -> Option<Value<'_>> {
    let data = cell.get(KEY_BYTES + 3..)?;
    match cell[KEY_BYTES] {
        INLINE => Some(Value::Inline(data)),
        LONG => {
            let number = |from: usize| Some(u32::from_le_bytes(data.get(from..from + 4)?.try_into().ok()?));
            Some(Value::Long(LongValue { bytes: number(0)?, first: number(4)? }))
        }
        _ => None,
    }
}

/// The cell of a message.
pub fn leaf_cell(key: &Key, value: Value<'_>) -> Vec<u8> {
    let mut cell = Vec::with_capacity(KEY_BYTES + 3 + 64);
    cell.extend(key.encode());
    match value {
        Value::Inline(data) => {
            cell.push(INLINE);
            cell.extend((data.len() as u16).to_le_bytes());
            cell.extend(data);
        }
        Value::Long(long) => {
            cell.push(LONG);
            cell.extend(8_u16.to_le_bytes());
            cell.extend(long.bytes.to_le_bytes());
            cell.extend(long.first.to_le_bytes());
        }
    }
    cell
}

/// The cell of a page below.
pub fn inner_cell(key: &Key, page: u32) -> Vec<u8> {
    let mut cell = key.encode().to_vec();
    cell.extend(page.to_le_bytes());
    cell
}

/// The pages from the root to a leaf.
#[derive(Debug, Clone, Copy)]
struct Path {
    pages: [u32; LEVELS_MAX],
    len: usize,
}

impl Path {
    fn leaf(&self) -> u32 {
        self.pages[self.len - 1]
    }
}

/// Space.
impl State {
    /// Whether a page is in use.
    pub fn is_in_use(&self, page: u32) -> bool {
        self.in_use[(page / 64) as usize] & (1 << (page % 64)) != 0
    }

    /// One behind the last page in use.
    pub fn high_page(&self) -> u32 {
        let last = self.in_use.iter().rposition(|word| *word != 0);
        last.map_or(0, |word| word as u32 * 64 + 64 - self.in_use[word].leading_zeros())
    }

    /// Pages that are not in use.
    pub fn free_pages(&self) -> u32 {
        self.layout.capacity - self.in_use_count
    }

    /// Pages in use.
    pub fn pages_in_use(&self) -> u32 {
        self.in_use_count
    }

    /// Enters in memory only what the space map says.
    pub fn mark(&mut self, page: u32, used: bool) {
        let (word, bit) = (&mut self.in_use[(page / 64) as usize], 1 << (page % 64));
        if (*word & bit != 0) != used {
            *word ^= bit;
            self.in_use_count = if used { self.in_use_count + 1 } else { self.in_use_count - 1 };
        }
    }

    fn set_use(&mut self, page: u32, used: bool) -> Result<(), Miss> {
        self.mark(page, used);
        let (map, at, bit) = self.layout.space_bit(page);
        self.change(map, |map| if used { map.0[at] |= bit } else { map.0[at] &= !bit })
    }

    /// So many free pages that follow each other; `None`: there are none.
    fn find_free(&self, count: u32) -> Option<u32> {
        let (mut first, mut run, mut page) = (self.hint, 0, self.hint);
        let capacity = self.layout.capacity;
        for _ in 0..u64::from(capacity) + u64::from(count) {
            if page >= capacity {
                (first, run, page) = (0, 0, 0);
            }
            if self.is_in_use(page) {
                run = 0;
                first = page + 1;
            } else {
                run += 1;
                if run == count {
                    return Some(first);
                }
            }
            page += 1;
        }
        None
    }

    fn allocate(&mut self, count: u32) -> Result<u32, Miss> {
        let first = self.find_free(count).ok_or(StoreError::Full(self.layout.capacity))?;
        for page in first..first + count {
            self.set_use(page, true)?;
        }
        self.hint = first + count;
        Ok(first)
    }

    fn free(&mut self, long: LongValue) -> Result<(), Miss> {
        for page in long.first..long.first + long.pages() {
            self.set_use(page, false)?;
        }
        self.hint = self.hint.min(long.first);
        Ok(())
    }
}

/// The tree.
impl State {
    fn descend(&mut self, key: &Key) -> Result<Path, Miss> {
        let mut path = Path { pages: [0; LEVELS_MAX], len: 0 };
        let mut page = self.root;
        loop {
            path.pages[path.len] = page;
            path.len += 1;
            let content = self.page(page)?;
            if content.kind() != Some(PageKind::Inner) || path.len == LEVELS_MAX {
                return Ok(path);
            }
            page = content.child(key);
        }
    }

    /// A message; `None`: there is none of that key.
    ///
    /// # Errors
    /// What is not in memory.
    pub fn get(&mut self, key: &Key) -> Result<Option<Vec<u8>>, Miss> {
        let leaf = self.descend(key)?.leaf();
        let page = self.page(leaf)?;
        let Ok(index) = page.search(key) else { return Ok(None) };
        match value(page.cell(index)) {
            None => Ok(None),
            Some(Value::Inline(data)) => Ok(Some(data.to_vec())),
            Some(Value::Long(long)) => self.long(long).map(Some),
        }
    }

    fn long(&mut self, long: LongValue) -> Result<Vec<u8>, Miss> {
        let all = long.first..long.first.saturating_add(long.pages());
        if let Some(first) = all.clone().find(|page| !self.has(*page)) {
            let count = (first..all.end).take_while(|page| !self.has(*page)).count() as u32;
            return Err(Miss::Absent { first, count });
        }
        let mut data = Vec::with_capacity(long.bytes as usize);
        for page in all {
            let left = long.bytes as usize - data.len();
            data.extend(&self.page(page)?.0[SLOTS..SLOTS + left.min(PAYLOAD_BYTES)]);
        }
        Ok(data)
    }

    /// A message near `key`: of those of its folder in the leaf that `key` leads to the one that `choice` picks, else the
    /// nearest one there; of an index it picks none.
    ///
    /// # Errors
    /// What is not in memory.
    pub fn pick(&mut self, key: &Key, choice: u64) -> Result<Option<Key>, Miss> {
        let leaf = self.descend(key)?.leaf();
        let page = self.page(leaf)?;
        let count = page.count();
        let bound = |message| match page.search(&Key::new(key.mailbox, key.folder, message)) {
            Ok(index) | Err(index) => index,
        };
        let (from, to) = (bound(0), bound(u64::MAX));
        Ok(match to - from {
            0 => {
                let keys = (from..count).chain((0..from).rev()).map(|index| page.key(index));
                keys.into_iter().find(|key| !key.is_in_index())
            }
            folder => Some(page.key(from + (choice % folder as u64) as usize)),
        })
    }

    /// Adds a message, or puts one in the place of another; whether there was one.
    ///
    /// # Errors
    /// What is not in memory, or that the database is full.
    pub fn put(&mut self, key: &Key, data: &[u8]) -> Result<bool, Miss> {
        let path = self.descend(key)?;
        let long =
            (data.len() > INLINE_BYTES_MAX).then_some(LongValue { bytes: data.len() as u32, first: 0 });
        let pages = long.map_or(0, LongValue::pages);
        // Each page of the path may be split, and the root gets one above it. Nothing is changed before all this is there.
        let needed = pages + path.len as u32 + 1;
        if self.free_pages() < needed || pages > 1 && self.find_free(pages).is_none() {
            return Err(StoreError::Full(self.layout.capacity).into());
        }
        self.reserve(needed as usize)?;
        let before = self.take(&path, key)?;
        let cell = match long {
            None => leaf_cell(key, Value::Inline(data)),
            Some(long) => leaf_cell(key, Value::Long(self.store_long(long, data)?)),
        };
        self.add(&path, path.len - 1, key, &cell)?;
        Ok(before)
    }

    /// Removes a message; whether there was one.
    ///
    /// # Errors
    /// What is not in memory.
    pub fn delete(&mut self, key: &Key) -> Result<bool, Miss> {
        let path = self.descend(key)?;
        self.take(&path, key)
    }

    fn take(&mut self, path: &Path, key: &Key) -> Result<bool, Miss> {
        let leaf = path.leaf();
        let page = self.page(leaf)?;
        let Ok(index) = page.search(key) else { return Ok(false) };
        let long = match value(page.cell(index)) {
            Some(Value::Long(long)) => Some(long),
            _ => None,
        };
        self.change(leaf, |page| page.remove(index))?;
        long.map_or(Ok(()), |long| self.free(long))?;
        Ok(true)
    }

    fn store_long(&mut self, long: LongValue, data: &[u8]) -> Result<LongValue, Miss> {
        let first = self.allocate(long.pages())?;
        for (page, part) in (first..).zip(data.chunks(PAYLOAD_BYTES)) {
            self.format(page, PageKind::Long, 0)?;
            self.change(page, |page| page.0[SLOTS..SLOTS + part.len()].copy_from_slice(part))?;
        }
        Ok(LongValue { first, ..long })
    }

    /// Adds a cell to the page of the path at `depth`, which is split if need be.
    fn add(&mut self, path: &Path, depth: usize, key: &Key, cell: &[u8]) -> Result<(), Miss> {
        let insert = |page: &mut Page| {
            let index = page.search(key).unwrap_or_else(|index| index);
            page.insert(index, cell)
        };
        let page = path.pages[depth];
        if self.page(page)?.fits(cell.len()) {
            self.change(page, insert)?;
            return Ok(());
        }
        let (separator, right) = self.split(page)?;
        self.change(if *key < separator { page } else { right }, insert)?;
        let above = inner_cell(&separator, right);
        if let Some(depth) = depth.checked_sub(1) {
            return self.add(path, depth, &separator, &above);
        }
        let level = self.page(page)?.level() + 1;
        let root = self.allocate(1)?;
        self.format(root, PageKind::Inner, level)?;
        self.change(root, |root| {
            root.set_link(page);
            root.insert(0, &above)
        })?;
        self.root = root;
        self.change(0, |header| Header::set_root(header, root))
    }

    /// Moves the upper half of a page to a new one; the key from which on, and the new page.
    fn split(&mut self, left: u32) -> Result<(Key, u32), Miss> {
        let page = self.page(left)?;
        let (kind, level, count) = (page.kind().unwrap_or(PageKind::Free), page.level(), page.count());
        let half = page.used_bytes() / 2;
        let (mut at, mut bytes) = (0, 0);
        while at < count - 1 && bytes < half {
            bytes += page.cell(at).len() + 2;
            at += 1;
        }
        let separator = page.key(at);
        let inner = kind == PageKind::Inner;
        // Of an inner page the middle key goes up, and the page below it becomes the leftmost of the new one.
        let link = if inner { page.child_at(at + 1) } else { page.link() };
        let from = at + usize::from(inner);
        let cells: Vec<Vec<u8>> = (from..count).map(|index| page.cell(index).to_vec()).collect();
        let right = self.allocate(1)?;
        self.format(right, kind, level)?;
        self.change(right, |right| {
            right.set_link(link);
            for (index, cell) in cells.iter().enumerate() {
                right.insert(index, cell);
            }
        })?;
        self.change(left, |page| {
            (at..count).rev().for_each(|index| page.remove(index));
            if !inner {
                page.set_link(right);
            }
        })?;
        Ok((separator, right))
    }
}
