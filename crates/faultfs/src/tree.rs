//! The files, what of them is durable, and what a power cut leaves.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};

use crate::rule::Random;

/// Single writes are torn at multiples of this.
pub const SECTOR_BYTES: u64 = 512;
/// The inode of the root.
pub(crate) const ROOT: u64 = 1;

/// What a power cut leaves of that which is not durable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut {
    /// Nothing.
    KeepNothing,
    /// Some of it, torn and in another order.
    KeepSome {
        /// Of the draws.
        seed: u64,
        /// The chance of each write and each change of names to survive, 0 to 1.
        probability: f64,
    },
}

/// What is done to a file's content.
#[derive(Debug, Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Resize(u64),
}

impl Change {
    fn apply(&self, data: &mut Vec<u8>) {
        match self {
            Change::Write(offset, bytes) => store(data, *offset, bytes),
            Change::Resize(bytes) => data.resize(*bytes as usize, 0),
        }
    }
}

fn store(data: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let (from, to) = (offset as usize, offset as usize + bytes.len());
    if data.len() < to {
        data.resize(to, 0);
    }
    data[from..to].copy_from_slice(bytes);
}

fn slice(data: &[u8], offset: u64, len: u32) -> &[u8] {
    let from = (offset as usize).min(data.len());
    &data[from..(from + len as usize).min(data.len())]
}

/// A regular file.
#[derive(Debug, Clone, Default)]
pub(crate) struct File {
    pub(crate) data: Vec<u8>,
    durable: Vec<u8>,
    /// Since `durable`, in order.
    pending: Vec<Change>,
    /// What each write replaced, by its offset.
    before: BTreeMap<u64, Vec<u8>>,
    /// What would be durable if every flush had told the truth.
    promised: Vec<u8>,
    /// Since `promised`, in order.
    unpromised: Vec<Change>,
}

impl File {
    pub(crate) fn read(&self, offset: u64, len: u32) -> Vec<u8> {
        slice(&self.data, offset, len).to_vec()
    }

    /// What was there before the last write to each byte.
    pub(crate) fn read_before(&self, offset: u64, len: u32) -> Vec<u8> {
        let mut found = self.read(offset, len);
        let end = offset + found.len() as u64;
        for (&start, old) in self.before.range(..end) {
            for (at, byte) in (start..).zip(old) {
                if (offset..end).contains(&at) {
                    found[(at - offset) as usize] = *byte;
                }
            }
        }
        found
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    pub(crate) entries: BTreeMap<OsString, u64>,
    durable: BTreeMap<OsString, u64>,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    File(File),
    Directory(Directory),
    Link(OsString),
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// It was made under this.
    pub(crate) name: OsString,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) modified: std::time::SystemTime,
    pub(crate) links: u32,
    pub(crate) body: Body,
}

/// A change of names that is durable as one: directory, name, and what it leads to from then on.
type NameChange = Vec<(u64, OsString, Option<u64>)>;

/// All files.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: HashMap<u64, Node>,
    next: u64,
    pending_names: Vec<NameChange>,
    power_cuts: bool,
}

impl Tree {
    pub(crate) fn new(power_cuts: bool) -> Tree {
        let mut tree = Tree { nodes: HashMap::new(), next: ROOT, pending_names: Vec::new(), power_cuts };
        tree.make(OsStr::new("/"), 0o755, (0, 0), Body::Directory(Directory::default()));
        tree
    }

    /// A node without a name.
    pub(crate) fn make(&mut self, name: &OsStr, mode: u32, owner: (u32, u32), body: Body) -> u64 {
        let (number, modified) = (self.next, std::time::SystemTime::now());
        self.nodes.insert(number, Node { name: name.to_owned(), mode, owner, modified, links: 0, body });
        self.next += 1;
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Node> {
        self.nodes.get(&number)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    pub(crate) fn file(&self, number: u64) -> Option<&File> {
        match &self.get(number)?.body {
            Body::File(file) => Some(file),
            _ => None,
        }
    }

    pub(crate) fn directory(&self, number: u64) -> Option<&Directory> {
        match &self.get(number)?.body {
            Body::Directory(directory) => Some(directory),
            _ => None,
        }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        let linked = self.nodes.values().filter(|node| node.links > 0);
        let bytes =
            linked.map(|node| if let Body::File(file) = &node.body { file.data.len() as u64 } else { 0 });
        bytes.sum()
    }

    /// Changes names, all of them at once.
    pub(crate) fn rename(&mut self, change: NameChange) {
        for (directory, name, to) in &change {
            let Some(Node { body: Body::Directory(directory), .. }) = self.nodes.get_mut(directory) else {
                continue;
            };
            let from = match to {
                Some(to) => directory.entries.insert(name.clone(), *to),
                None => directory.entries.remove(name),
            };
            for (number, more) in from.map(|number| (number, -1)).into_iter().chain(to.map(|to| (to, 1))) {
                if let Some(node) = self.nodes.get_mut(&number) {
                    node.links = node.links.saturating_add_signed(more);
                }
            }
        }
        if self.power_cuts {
            self.pending_names.push(change);
        }
    }

    fn change(&mut self, number: u64, change: Change) {
        let keep = self.power_cuts;
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.modified = std::time::SystemTime::now();
        let Body::File(file) = &mut node.body else { return };
        if let Change::Write(offset, bytes) = &change {
            let old = slice(&file.data, *offset, bytes.len() as u32).to_vec();
            file.before.insert(*offset, old);
        }
        change.apply(&mut file.data);
        if keep {
            file.unpromised.push(change.clone());
            file.pending.push(change);
        }
    }

    pub(crate) fn write(&mut self, number: u64, offset: u64, bytes: &[u8]) {
        self.change(number, Change::Write(offset, bytes.to_vec()));
    }

    pub(crate) fn resize(&mut self, number: u64, bytes: u64) {
        self.change(number, Change::Resize(bytes));
    }

    /// Says that a file is durable.
    pub(crate) fn promise(&mut self, number: u64) {
        if let Some(Node { body: Body::File(File { promised, unpromised, .. }), .. }) =
            self.nodes.get_mut(&number)
        {
            unpromised.drain(..).for_each(|change| change.apply(promised));
        }
    }

    /// What files of a name hold as far as flushes said that it is durable.
    pub(crate) fn promised(&self, name: &OsStr) -> Option<&[u8]> {
        let mut named = self.nodes.values().filter(|node| node.name == name);
        named.find_map(|node| if let Body::File(file) = &node.body { Some(&file.promised[..]) } else { None })
    }

    /// Makes a file, or the names in a directory, durable.
    pub(crate) fn sync(&mut self, number: u64) {
        self.promise(number);
        match self.nodes.get_mut(&number).map(|node| &mut node.body) {
            Some(Body::File(File { durable, pending, .. })) => {
                pending.drain(..).for_each(|change| change.apply(durable));
            }
            Some(Body::Directory(_)) => {
                let touches = |change: &NameChange| change.iter().any(|(directory, ..)| *directory == number);
                let pending = std::mem::take(&mut self.pending_names);
                let (settled, rest) = pending.into_iter().partition(touches);
                self.pending_names = rest;
                self.settle(settled);
            }
            _ => {}
        }
    }

    /// Makes changes of names durable.
    fn settle(&mut self, changes: Vec<NameChange>) {
        for (directory, name, to) in changes.into_iter().flatten() {
            if let Some(Node { body: Body::Directory(directory), .. }) = self.nodes.get_mut(&directory) {
                match to {
                    Some(to) => drop(directory.durable.insert(name, to)),
                    None => drop(directory.durable.remove(&name)),
                }
            }
        }
    }

    pub(crate) fn cut(&mut self, cut: Cut) {
        assert!(self.power_cuts, "Options::power_cuts is not set");
        let mut random = Random(if let Cut::KeepSome { seed, .. } = cut { seed } else { 0 });
        let survives = |random: &mut Random| match cut {
            Cut::KeepNothing => false,
            Cut::KeepSome { probability, .. } => random.chance(probability),
        };
        let mut names = std::mem::take(&mut self.pending_names);
        names.retain(|_| survives(&mut random));
        self.settle(names);
        let mut numbers: Vec<u64> = self.nodes.keys().copied().collect();
        // The draws must not depend on the order of a map.
        numbers.sort_unstable();
        for number in numbers {
            let Some(Node { body: Body::File(file), .. }) = self.nodes.get_mut(&number) else { continue };
            let mut pending = std::mem::take(&mut file.pending);
            pending.retain(|_| survives(&mut random));
            random.shuffle(&mut pending);
            for change in pending {
                match change {
                    Change::Write(offset, bytes) if random.chance(0.5) => {
                        torn(&mut file.durable, offset, &bytes, &mut random);
                    }
                    whole => whole.apply(&mut file.durable),
                }
            }
            file.data = file.durable.clone();
            file.before.clear();
            file.unpromised.clear();
        }
        self.serve_anew();
    }

    /// What can be reached by durable names, under inode numbers that were never used.
    fn serve_anew(&mut self) {
        let mut old = std::mem::take(&mut self.nodes);
        let mut numbers: HashMap<u64, u64> = [(ROOT, ROOT)].into();
        let mut open = vec![ROOT];
        while let Some(number) = open.pop() {
            let Some(mut node) = old.remove(&number) else { continue };
            if let Body::Directory(directory) = &mut node.body {
                for entry in directory.durable.values_mut() {
                    let next = &mut self.next;
                    let new = *numbers.entry(*entry).or_insert_with(|| {
                        open.push(*entry);
                        *next += 1;
                        *next - 1
                    });
                    *entry = new;
                }
                directory.entries = directory.durable.clone();
            }
            node.links = 0;
            self.nodes.insert(numbers[&number], node);
        }
        let entries = self.nodes.values().filter_map(|node| match &node.body {
            Body::Directory(directory) => Some(directory.entries.values().copied()),
            _ => None,
        });
        let linked: Vec<u64> = entries.flatten().collect();
        for number in linked {
            if let Some(node) = self.nodes.get_mut(&number) {
                node.links += 1;
            }
        }
    }
}

/// Some sectors of a write.
fn torn(data: &mut Vec<u8>, offset: u64, bytes: &[u8], random: &mut Random) {
    let mut at = 0;
    while at < bytes.len() {
        let left = SECTOR_BYTES - (offset + at as u64) % SECTOR_BYTES;
        let end = (at + left as usize).min(bytes.len());
        if random.chance(0.5) {
            store(data, offset + at as u64, &bytes[at..end]);
        }
        at = end;
    }
}
