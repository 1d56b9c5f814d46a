//! What was acknowledged, as the sessions saw it: of a sample of messages each change, before it begins and once it is committed. After a
//! crash the database is held against it.
//!
//! The ledger is a plain file: what was written to it survives the end of the process, not that of the machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use assay_results::store::open_regular;
use assay_workload::rng::splitmix64;
use rustix::fs::OFlags;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::key::Key;
use crate::message;
use crate::store::Store;

/// One in so many messages is in the ledger.
const ONE_IN: u64 = 32;
const ENTRY_BYTES: usize = 40;
const BEGUN: u64 = 1;
const PRESENT: u64 = 2;
const ABSENT: u64 = 3;
const UNCHANGED: u64 = 4;
const DURABLE: u64 = 5;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is this version.
    Present(u64),
    /// It is gone.
    Absent,
    /// It had gone before.
    Unchanged,
}

/// Where a thread writes its entries.
#[derive(Debug)]
pub struct Ledger {
    file: File,
}

fn entry(kind: u64, key: &Key, lsn: u64, version: u64) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    let folder = u64::from(key.mailbox) << 32 | u64::from(key.folder);
    for (into, field) in bytes.chunks_mut(8).zip([kind, folder, key.message, lsn, version]) {
        into.copy_from_slice(&field.to_le_bytes());
    }
    bytes
}

/// Whether a message is one of the sample.
pub fn is_sampled(key: &Key) -> bool {
    let mut state = key.message ^ u64::from(key.mailbox) << 40 ^ u64::from(key.folder) << 20;
    splitmix64(&mut state).is_multiple_of(ONE_IN)
}

impl Ledger {
    /// Begins an empty one, or goes on with one.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path, anew: bool) -> io::Result<Ledger> {
        let mut options = File::options();
        options.custom_flags(OFlags::NOFOLLOW.bits() as i32).append(true);
        let file = options.create(anew).open(path)?;
        if anew {
            file.set_len(0)?;
        }
        Ok(Ledger { file })
    }

    /// A message is about to be changed.
    ///
    /// # Errors
    /// What the system says.
    pub fn begin(&mut self, key: &Key) -> io::Result<()> {
        self.file.write_all(&entry(BEGUN, key, 0, 0))
    }

    /// It was, and the change was acknowledged; `durable`: with the promise that it stays.
    ///
    /// # Errors
    /// What the system says.
    pub fn end(&mut self, key: &Key, fate: Fate, lsn: u64, durable: bool) -> io::Result<()> {
        let (kind, version) = match fate {
            Fate::Present(version) => (PRESENT, version),
            Fate::Absent => (ABSENT, 0),
            Fate::Unchanged => (UNCHANGED, 0),
        };
        let both = [entry(kind, key, lsn, version), entry(DURABLE, key, lsn, 0)].concat();
        self.file.write_all(&both[..if durable { 2 } else { 1 } * ENTRY_BYTES])
    }
}

/// What a ledger says of a message.
#[derive(Debug, Default)]
struct History {
    /// Changes that were begun and not ended.
    open: i64,
    /// By LSN.
    fates: BTreeMap<u64, Option<u64>>,
}

/// What holding a database against a ledger found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerCheck {
    /// Messages of which a durable change was acknowledged.
    pub durable: u64,
    /// Messages of which that cannot be told, as a change was under way.
    pub open: u64,
    /// Messages that are not what was acknowledged, each a sentence.
    pub wrong: Vec<String>,
}

fn read(path: &Path) -> io::Result<(BTreeMap<Key, History>, u64)> {
    let mut bytes = Vec::new();
    match open_regular(path) {
        // Nothing was acknowledged.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        file => _ = file?.read_to_end(&mut bytes)?,
    }
    let (mut histories, mut durable) = (BTreeMap::<Key, History>::new(), 0);
    for entry in bytes.chunks_exact(ENTRY_BYTES) {
        let field = |index: usize| {
            entry[index * 8..][..8].iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
        };
        let key = Key::new((field(1) >> 32) as u32, field(1) as u32, field(2));
        let history = histories.entry(key).or_default();
        match field(0) {
            BEGUN => history.open += 1,
            PRESENT => _ = history.fates.insert(field(3), Some(field(4))),
            ABSENT => _ = history.fates.insert(field(3), None),
            DURABLE => durable = durable.max(field(3)),
            _ => {}
        }
        history.open -= i64::from(matches!(field(0), PRESENT | ABSENT | UNCHANGED));
    }
    Ok((histories, durable))
}

/// Holds a database against the ledger of the run before.
///
/// # Errors
/// What the storage does wrong; a ledger that is there and cannot be read.
pub fn check(store: &Store, disk: &mut dyn Disk, path: &Path) -> Result<LedgerCheck, StoreError> {
    let (histories, durable) = read(path).map_err(StoreError::Ledger)?;
    let mut found = LedgerCheck::default();
    for (key, history) in histories {
        let Some((lsn, kept)) = history.fates.range(..=durable).next_back() else { continue };
        if history.open != 0 {
            found.open += 1;
            continue;
        }
        found.durable += 1;
        let data = store.with(disk, &mut |state| state.get(&key))?;
        let is = match &data {
            None => Ok(None),
            Some(data) => message::version(&key, data).map(Some).ok_or(()),
        };
        let mut allowed = history.fates.range(lsn..).map(|(_, fate)| *fate);
        if is.is_err() || !allowed.any(|fate| Ok(fate) == is) {
            let words =
                |fate: Option<u64>| fate.map_or("gone".to_owned(), |version| format!("version {version:x}"));
            let is = is.map_or("not whole".to_owned(), words);
            let Key { mailbox, folder, message } = key;
            let was = words(*kept);
            found.wrong.push(format!(
                "message {message} of mailbox {mailbox}, folder {folder}: committed as {was} at LSN {lsn}, it is {is}"
            ));
        }
    }
    Ok(found)
}
