//! Reading a database from its first page to its last: verifying all of it at the end, a backup, and the maintenance that goes on in the
//! background beside transactions.

use std::collections::{HashMap, HashSet};
use std::io::IoSliceMut;

use crate::disk::{Class, Disk, FileId};
use crate::error::{Doing, StoreError, TreeFault};
use crate::key::Key;
use crate::page::{PAGE_BYTES, Page, PageKind};
use crate::recover::is_node;
use crate::store::{Store, io_error, verify};
use crate::tree::{LongValue, Value, value};

/// Pages of one read: 256 KiB.
pub const SCAN_PAGES: u32 = 8;
/// Faults that are kept; more are counted.
const FAULTS_MAX: usize = 100;

/// Pages of a read, made once.
#[derive(Debug)]
pub struct ScanBuffer(Vec<Box<Page>>);

impl Default for ScanBuffer {
    fn default() -> Self {
        ScanBuffer((0..SCAN_PAGES).map(|_| Page::zeroed()).collect())
    }
}

impl ScanBuffer {
    /// Reads `count` pages from `first` on.
    fn read(&mut self, disk: &mut dyn Disk, class: Class, first: u32, count: u32) -> Result<(), StoreError> {
        let pages = self.0.iter_mut().take(count as usize);
        let mut into: Vec<IoSliceMut<'_>> = pages.map(|page| IoSliceMut::new(&mut page.0)).collect();
        let read = disk.read(class, FileId::Database, u64::from(first) * PAGE_BYTES as u64, &mut into);
        read.map_err(io_error(Doing::Read, FileId::Database))
    }
}

/// What maintenance has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Reads.
    pub reads: u64,
    /// Pages that were verified.
    pub pages: u64,
    /// Times the whole database was read.
    pub passes: u64,
}

/// Reads a database over and over beside transactions, and verifies what it reads.
#[derive(Debug, Default)]
pub struct Maintenance {
    next: u32,
    buffer: ScanBuffer,
    /// Counters.
    pub done: Maintained,
}

impl Maintenance {
    /// Reads the next pages.
    ///
    /// # Errors
    /// A page that is not what was written, or what the system says.
    pub fn step(&mut self, store: &Store, disk: &mut dyn Disk) -> Result<(), StoreError> {
        // A page that is being written, or was meanwhile, may be read half: it is verified the next time.
        let (first, before, database) = {
            let state = store.lock();
            Store::check(&state)?;
            let end = state.high_page().min(state.file_pages);
            if self.next >= end {
                self.next = 0;
                self.done.passes += 1;
            }
            let pages = self.next..(self.next + SCAN_PAGES).min(end);
            let stamp = |page: u32| {
                let quiet = state.is_in_use(page) && state.written[page as usize] != 0;
                (quiet && !state.in_flight.contains_key(&page)).then(|| state.written[page as usize])
            };
            (self.next, pages.map(stamp).collect::<Vec<_>>(), state.database)
        };
        let count = before.len() as u32;
        self.next += count.max(1);
        if count == 0 {
            return Ok(());
        }
        let read = self.buffer.read(disk, Class::MaintenanceRead, first, count);
        self.done.reads += 1;
        read.map_err(|error| store.fail(error))?;
        let state = store.lock();
        let mut verified = Ok(());
        for ((page, written), content) in (first..).zip(&before).zip(&self.buffer.0) {
            let Some(written) = *written else { continue };
            if state.in_flight.contains_key(&page) || state.written[page as usize] != written {
                continue;
            }
            verified = verified.and_then(|()| verify(content, database, page, written));
            self.done.pages += 1;
        }
        drop(state);
        verified.map_err(|error| store.fail(error))
    }
}

/// What verifying everything found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Pages in use that were read and verified.
    pub pages: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Leaves of the tree.
    pub leaves: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes of messages.
    pub message_bytes: u64,
    /// The first faults.
    pub faults: Vec<StoreError>,
    /// How many there are.
    pub fault_count: u64,
}

impl Checked {
    fn fault(&mut self, error: StoreError) {
        self.fault_count += 1;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(error);
        }
    }

    fn tree_fault(&mut self, page: u32, what: TreeFault) {
        self.fault(StoreError::Tree { page, what });
    }
}

/// What is kept of a page of the tree.
#[derive(Debug)]
enum Node {
    Leaf { first: Option<Key>, last: Option<Key>, link: u32, longs: Vec<LongValue> },
    Inner { level: u8, keys: Vec<Key>, children: Vec<u32> },
    Long,
}

fn node_of(number: u32, page: &Page, checked: &mut Checked) -> Option<Node> {
    if is_node(page.kind()) && !page.is_ordered() {
        checked.tree_fault(number, TreeFault::Order);
        return None;
    }
    let keys = || (0..page.count()).map(|index| page.key(index));
    match page.kind() {
        Some(PageKind::Leaf) => {
            checked.leaves += 1;
            let mut longs = Vec::new();
            for index in 0..page.count() {
                checked.messages += 1;
                match value(page.cell(index)) {
                    Some(Value::Inline(data)) => checked.message_bytes += data.len() as u64,
                    Some(Value::Long(long)) => {
                        checked.message_bytes += u64::from(long.bytes);
                        longs.push(long);
                    }
                    None => checked.tree_fault(number, TreeFault::Kind),
                }
            }
            Some(Node::Leaf { first: keys().next(), last: keys().next_back(), link: page.link(), longs })
        }
        Some(PageKind::Inner) => {
            let children = (0..=page.count()).map(|index| page.child_at(index)).collect();
            Some(Node::Inner { level: page.level(), keys: keys().collect(), children })
        }
        Some(PageKind::Long) => Some(Node::Long),
        _ => {
            checked.tree_fault(number, TreeFault::Kind);
            None
        }
    }
}

/// Reads every page of a database that nothing changes meanwhile, verifies its checksum, number and write counter, and the order of
/// the tree. Ends early where `go_on` says so.
///
/// # Errors
/// What the system says; what is wrong with pages is in the result.
pub fn check(store: &Store, disk: &mut dyn Disk, go_on: &dyn Fn() -> bool) -> Result<Checked, StoreError> {
    let mut checked = Checked::default();
    let mut nodes = HashMap::new();
    let (end, first_data, root) = {
        let state = store.lock();
        (state.high_page(), state.layout.first_data(), state.root)
    };
    read_all(
        store,
        disk,
        end,
        go_on,
        &mut |number, page, verified, checked: &mut Checked| match verified {
            Err(error) => checked.fault(error),
            Ok(()) if number < first_data => {}
            Ok(()) => {
                if let Some(node) = node_of(number, page, checked) {
                    nodes.insert(number, node);
                }
            }
        },
        &mut checked,
    )?;
    // What could not be read is a fault already; the order of the rest would only repeat it.
    if checked.fault_count == 0 && go_on() {
        let mut walk = Walk { nodes: &nodes, checked: &mut checked, seen: HashSet::new(), next_leaf: None };
        walk.page(root, None, None, None);
        if walk.next_leaf.is_some_and(|next| next != 0) {
            walk.checked.tree_fault(walk.next_leaf.unwrap_or(0), TreeFault::Link);
        }
        let unseen: Vec<u32> = nodes.keys().filter(|page| !walk.seen.contains(page)).copied().collect();
        unseen.iter().for_each(|page| walk.checked.tree_fault(*page, TreeFault::Use));
    }
    Ok(checked)
}

/// Told of each page in use: its number, its content and whether it is what was written.
type OnPage<'a> = dyn FnMut(u32, &Page, Result<(), StoreError>, &mut Checked) + 'a;

fn read_all(
    store: &Store,
    disk: &mut dyn Disk,
    end: u32,
    go_on: &dyn Fn() -> bool,
    on_page: &mut OnPage<'_>,
    checked: &mut Checked,
) -> Result<(), StoreError> {
    let mut buffer = ScanBuffer::default();
    let mut first = 0;
    while first < end && go_on() {
        let count = SCAN_PAGES.min(end - first);
        buffer.read(disk, Class::ScanRead, first, count)?;
        checked.bytes += u64::from(count) * PAGE_BYTES as u64;
        let state = store.lock();
        let stamps: Vec<Option<u8>> = (first..first + count)
            .map(|page| state.is_in_use(page).then(|| state.written[page as usize]))
            .collect();
        let database = state.database;
        drop(state);
        for ((number, written), page) in (first..).zip(stamps).zip(&buffer.0) {
            let Some(written) = written else { continue };
            checked.pages += 1;
            on_page(number, page, verify(page, database, number, written), checked);
        }
        first += count;
    }
    Ok(())
}

struct Walk<'a> {
    nodes: &'a HashMap<u32, Node>,
    checked: &'a mut Checked,
    seen: HashSet<u32>,
    /// What the last leaf says comes next.
    next_leaf: Option<u32>,
}

impl Walk<'_> {
    /// `level`: that it should have; `None`: it is the root.
    fn page(&mut self, number: u32, low: Option<Key>, high: Option<Key>, level: Option<u8>) {
        if !self.seen.insert(number) {
            return self.checked.tree_fault(number, TreeFault::Use);
        }
        let within = |key: &Key| low.is_none_or(|low| low <= *key) && high.is_none_or(|high| *key < high);
        match self.nodes.get(&number) {
            None => self.checked.tree_fault(number, TreeFault::Use),
            Some(Node::Long) => self.checked.tree_fault(number, TreeFault::Kind),
            Some(Node::Leaf { first, last, link, longs }) => {
                if level.is_some_and(|level| level != 0) {
                    self.checked.tree_fault(number, TreeFault::Kind);
                }
                if first.iter().chain(last).any(|key| !within(key)) {
                    self.checked.tree_fault(number, TreeFault::Bounds);
                }
                if self.next_leaf.replace(*link).is_some_and(|next| next != number) {
                    self.checked.tree_fault(number, TreeFault::Link);
                }
                for page in longs.iter().flat_map(|long| long.first..long.first + long.pages()) {
                    let is_long = matches!(self.nodes.get(&page), Some(Node::Long));
                    if !is_long || !self.seen.insert(page) {
                        self.checked.tree_fault(page, TreeFault::Use);
                    }
                }
            }
            Some(Node::Inner { level: own, keys, children }) => {
                if *own == 0 || level.is_some_and(|level| level != *own) {
                    return self.checked.tree_fault(number, TreeFault::Kind);
                }
                if keys.iter().any(|key| !within(key)) {
                    self.checked.tree_fault(number, TreeFault::Bounds);
                }
                for (index, child) in children.iter().enumerate() {
                    let from = index.checked_sub(1).map(|index| keys[index]).or(low);
                    let to = keys.get(index).copied().or(high);
                    self.page(*child, from, to, Some(own - 1));
                }
            }
        }
    }
}

/// Reads every page as a backup does, verifying checksums; how many bytes. Ends early where `go_on` says so.
///
/// # Errors
/// The first page that is not what was written, or what the system says.
pub fn backup(store: &Store, disk: &mut dyn Disk, go_on: &dyn Fn() -> bool) -> Result<u64, StoreError> {
    let mut checked = Checked::default();
    let end = store.lock().high_page();
    let mut first = None;
    read_all(
        store,
        disk,
        end,
        go_on,
        &mut |_, _, verified, _| first = first.take().or(verified.err()),
        &mut checked,
    )?;
    first.map_or(Ok(checked.bytes), Err)
}
