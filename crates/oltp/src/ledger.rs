//! What the database acknowledged: written down for each transaction when its commit has returned, and looked for afterwards.
//!
//! A record has a fixed length and a check of its own, so that one that was cut short counts as not written. It is written by one
//! call and not flushed: a killed database or a power cut below the database does not touch it, and what is missing here only was not
//! claimed.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use assay_host::output::Outputs;
use assay_results::store::open_regular;
use assay_workload::rng::splitmix64;
use rustix::fs::{FlockOperation, flock};

use crate::admin::Admin;
use crate::conditions::{Checked, Held};
use crate::error::Error;
use crate::inputs::{Input, Transaction};
use crate::session::Reply;

/// Bytes of a record.
const RECORD: usize = 48;

/// What was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Entry {
    Order { w: u32, d: u8, order: u32 },
    Payment { w: u32, d: u8, c_w: u32, c_d: u8, customer: u32, amount: u32, at_us: i64 },
    Delivery { w: u32, d: u8, order: u32, carrier: u8 },
}

/// Of which build records are.
fn mark_of(build: &str) -> u64 {
    u64::from_str_radix(build, 16).unwrap_or(0)
}

fn check_of(bytes: &[u8]) -> u64 {
    let words =
        bytes.chunks_exact(8).map(|word| word.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)));
    words.fold(1, |state, word| {
        let mut state = state ^ word;
        splitmix64(&mut state)
    })
}

impl Entry {
    fn bytes(self, mark: u64) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let (heads, at_us) = match self {
            Entry::Order { w, d, order } => {
                put(4, w);
                put(16, order);
                ([1, d, 0, 0], 0)
            }
            Entry::Payment { w, d, c_w, c_d, customer, amount, at_us } => {
                put(4, w);
                put(8, c_w);
                put(12, customer);
                put(16, amount);
                ([2, d, c_d, 0], at_us)
            }
            Entry::Delivery { w, d, order, carrier } => {
                put(4, w);
                put(16, order);
                ([3, d, 0, carrier], 0)
            }
        };
        bytes[..4].copy_from_slice(&heads);
        bytes[24..32].copy_from_slice(&at_us.to_le_bytes());
        bytes[32..40].copy_from_slice(&mark.to_le_bytes());
        let check = check_of(&bytes[..40]);
        bytes[40..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Of which build a record is; `None`: it is damaged, or none.
    fn mark(bytes: &[u8]) -> Option<u64> {
        let long =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
        (bytes.len() == RECORD && long(40) == check_of(&bytes[..40])).then(|| long(32))
    }

    /// `None`: it is none of this build, or was cut short.
    fn of(bytes: &[u8], mark: u64) -> Option<Entry> {
        let long =
            |at: usize| bytes[at..at + 8].iter().rev().fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
        let int =
            |at: usize| bytes[at..at + 4].iter().rev().fold(0, |n: u32, byte| n << 8 | u32::from(*byte));
        if Entry::mark(bytes) != Some(mark) {
            return None;
        }
        let (w, d, order) = (int(4), bytes[1], int(16));
        match bytes[0] {
            1 => Some(Entry::Order { w, d, order }),
            2 => Some(Entry::Payment {
                w,
                d,
                c_w: int(8),
                c_d: bytes[2],
                customer: int(12),
                amount: order,
                at_us: long(24) as i64,
            }),
            3 => Some(Entry::Delivery { w, d, order, carrier: bytes[3] }),
            _ => None,
        }
    }
}

/// How the option is called.
const OPTION: &str = "--ledger";

/// Whether a file begins as a ledger does, which only grows: the record's check is right.
fn is_ledger(head: &[u8]) -> bool {
    head.first_chunk::<RECORD>()
        .is_some_and(|bytes| Entry::mark(bytes).is_some_and(|mark| Entry::of(bytes, mark).is_some()))
}

fn is_former(_: &str, file: &mut dyn BufRead) -> bool {
    let mut head = [0; RECORD];
    file.read_exact(&mut head).is_ok() && is_ledger(&head)
}

/// Refuses a file that a new ledger may not replace: one that is no ledger of ours, unless `force` says so; a link, a device.
///
/// # Errors
/// [`Error::Output`].
pub(crate) fn check_output(path: &Path, force: bool, database: &[PathBuf]) -> Result<(), Error> {
    Ok(outputs(force, database).check(OPTION, path)?)
}

/// The rules of outputs for a ledger, which replaces the last one; `database` are files that it is not.
fn outputs(force: bool, database: &[PathBuf]) -> Outputs {
    let mut outputs = Outputs::new(force).replacing(is_former);
    database.iter().for_each(|file| outputs.reads(file));
    outputs
}

/// Begins an empty ledger in the place of the last one. One that others write to now, who work on the same database, is written to
/// with them.
///
/// # Errors
/// As [`check_output`].
pub(crate) fn begin(path: &Path, force: bool, database: &[PathBuf]) -> Result<File, Error> {
    let failed = |source| Error::File { path: path.to_owned(), source };
    let lock = |file: &File, operation| flock(file, operation).map_err(|errno| failed(errno.into()));
    // Two that begin at once do it one after the other.
    let above = File::open(path.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
    lock(&above, FlockOperation::LockExclusive)?;
    outputs(force, database).check(OPTION, path)?;
    let mut head = Vec::new();
    if let Ok(file) = File::options().read(true).append(true).open(path)
        && (&file).take(RECORD as u64).read_to_end(&mut head).is_ok()
        && (head.is_empty() || is_ledger(&head))
        && flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        lock(&file, FlockOperation::LockShared)?;
        return Ok(file);
    }
    outputs(force, database).write(OPTION, path, b"")?;
    let file = File::options().append(true).open(path).map_err(failed)?;
    lock(&file, FlockOperation::LockShared)?;
    let (named, opened) = (path.symlink_metadata().map_err(failed)?, file.metadata().map_err(failed)?);
    // Another may have taken the name meanwhile.
    if (named.dev(), named.ino()) != (opened.dev(), opened.ino()) || opened.len() > 0 {
        return Err(failed(std::io::Error::other("another program replaced it")));
    }
    Ok(file)
}

/// Writes down what one user was acknowledged.
#[derive(Debug)]
pub(crate) struct LedgerWriter {
    file: File,
    mark: u64,
}

impl LedgerWriter {
    /// Appends to a ledger that was begun.
    pub(crate) fn new(ledger: &File, build: &str) -> std::io::Result<Self> {
        Ok(LedgerWriter { file: ledger.try_clone()?, mark: mark_of(build) })
    }

    /// Writes a transaction down whose commit has returned.
    pub(crate) fn acknowledge(&mut self, input: &Input, reply: &Reply) -> std::io::Result<()> {
        if reply.rolled_back {
            return Ok(());
        }
        let (w, d) = (input.w as u32, input.d as u8);
        match input.transaction {
            Transaction::NewOrder => self.put(Entry::Order { w, d, order: reply.number as u32 }),
            Transaction::Payment => self.put(Entry::Payment {
                w,
                d,
                c_w: input.c_w as u32,
                c_d: input.c_d as u8,
                customer: reply.customer as u32,
                amount: input.amount as u32,
                at_us: input.at_us,
            }),
            Transaction::Delivery => {
                let delivered = (1..).zip(&reply.delivered).filter(|(_, order)| **order > 0);
                let carrier = input.carrier as u8;
                let mut put = |(d, order): (u8, &i64)| {
                    self.put(Entry::Delivery { w, d, order: *order as u32, carrier })
                };
                delivered.into_iter().try_for_each(&mut put)
            }
            Transaction::OrderStatus | Transaction::StockLevel => Ok(()),
        }
    }

    fn put(&mut self, entry: Entry) -> std::io::Result<()> {
        self.file.write_all(&entry.bytes(self.mark))
    }
}

/// What a ledger says of one build.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    /// Why it says less than it was told.
    fault: Option<String>,
    is_there: bool,
}

impl Ledger {
    /// Reads one; empty where there is none.
    pub(crate) fn read(path: &Path, build: &str) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        let is_there = match open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
            Err(error) => return Err(Error::File { path: path.to_owned(), source: error }),
            Ok(_) => true,
        };
        let mark = mark_of(build);
        let records = || bytes.chunks_exact(RECORD);
        let entries: Vec<Entry> = records().filter_map(|record| Entry::of(record, mark)).collect();
        // What is shorter than a record was under way when its writer was killed.
        let damaged = records().filter(|record| Entry::mark(record).is_none()).count();
        let fault = match (damaged, records().len()) {
            (_, 0) => None,
            (0, _) if entries.is_empty() => {
                Some(format!("{} is the ledger of another database", path.display()))
            }
            (0, _) => None,
            (damaged, all) if damaged == all => Some(format!("{} is no ledger", path.display())),
            (damaged, all) => Some(format!("{damaged} of {all} records of {} are damaged", path.display())),
        };
        Ok(Ledger { entries, fault, is_there })
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Looks for everything that was acknowledged, by so many runs.
    pub(crate) fn check(&self, admin: &mut dyn Admin, runs: i64) -> Result<Checked, Error> {
        if let Some(fault) = &self.fault {
            let what = "ledger: all that was acknowledged is known".to_owned();
            return Ok(Checked { what, held: Held::No { rows: 1, example: fault.clone() } });
        }
        let mut missing = Missing::default();
        self.check_orders(admin, &mut missing)?;
        self.check_payments(admin, &mut missing)?;
        let what = format!("ledger: {} acknowledged changes are there", self.entries.len());
        let held = match missing.rows {
            0 if self.entries.is_empty() && runs == 0 => {
                Held::NotAsked("no run has written one for this build")
            }
            0 if !self.is_there => Held::No {
                rows: 1,
                example: "there is none, and runs were begun; --ledger names theirs".to_owned(),
            },
            0 if self.entries.is_empty() => {
                Held::NotAsked("it is empty: the last run acknowledged nothing, or the file was cut short")
            }
            0 => Held::Yes,
            rows => Held::No { rows, example: missing.example },
        };
        Ok(Checked { what, held })
    }

    fn check_orders(&self, admin: &mut dyn Admin, missing: &mut Missing) -> Result<(), Error> {
        let mut of_district: BTreeMap<(u32, u8), Vec<Entry>> = BTreeMap::new();
        for entry in &self.entries {
            if let Entry::Order { w, d, .. } | Entry::Delivery { w, d, .. } = *entry {
                of_district.entry((w, d)).or_default().push(*entry);
            }
        }
        for ((w, d), entries) in of_district {
            let first = entries.iter().map(order_of).min().unwrap_or(0);
            let mut carriers: HashMap<i64, Option<i64>> = HashMap::new();
            let query = format!(
                "SELECT o_id, o_carrier_id FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_id >= {first}"
            );
            admin.numbers(&query, &mut |row| {
                if let [Some(order), carrier] = row {
                    carriers.insert(*order, *carrier);
                }
            })?;
            for entry in entries {
                let order = order_of(&entry);
                let there = match (entry, carriers.get(&order)) {
                    (Entry::Delivery { carrier, .. }, Some(found)) => *found == Some(i64::from(carrier)),
                    (_, found) => found.is_some(),
                };
                if !there {
                    let kind =
                        if matches!(entry, Entry::Order { .. }) { "order" } else { "delivery of order" };
                    missing.add(|| format!("{kind} {order} of warehouse {w} district {d} is lost"));
                }
            }
        }
        Ok(())
    }

    fn check_payments(&self, admin: &mut dyn Admin, missing: &mut Missing) -> Result<(), Error> {
        let mut wanted: HashMap<[i64; 7], (u64, Entry)> = HashMap::new();
        let mut first_us = i64::MAX;
        for entry in &self.entries {
            let Entry::Payment { w, d, c_w, c_d, customer, amount, at_us } = *entry else { continue };
            first_us = first_us.min(at_us);
            let key = [w, u32::from(d), c_w, u32::from(c_d), customer, amount].map(i64::from);
            let key = [key[0], key[1], key[2], key[3], key[4], key[5], at_us];
            wanted.entry(key).or_insert((0, *entry)).0 += 1;
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let query = format!(
            "SELECT h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount, h_date FROM history WHERE h_date >= {first_us}"
        );
        admin.numbers(&query, &mut |row| {
            let mut key = [0; 7];
            key.iter_mut().zip(row).for_each(|(place, value)| *place = value.unwrap_or(0));
            if let Some((left, _)) = wanted.get_mut(&key) {
                *left = left.saturating_sub(1);
            }
        })?;
        for (left, entry) in wanted.into_values().filter(|(left, _)| *left > 0) {
            (0..left).for_each(|_| missing.add(|| format!("{entry:?} is lost")));
        }
        Ok(())
    }
}

fn order_of(entry: &Entry) -> i64 {
    match entry {
        Entry::Order { order, .. } | Entry::Delivery { order, .. } => i64::from(*order),
        Entry::Payment { .. } => 0,
    }
}

/// What was acknowledged and is not there.
#[derive(Debug, Default)]
struct Missing {
    rows: u64,
    example: String,
}

impl Missing {
    fn add(&mut self, example: impl FnOnce() -> String) {
        if self.rows == 0 {
            self.example = example();
        }
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_replaces_a_ledger_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let path = at("ledger");
        let file = begin(&path, false, &[]).unwrap();
        LedgerWriter { file, mark: 0xcafe }.put(Entry::Order { w: 1, d: 1, order: 3001 }).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), RECORD as u64);
        begin(&path, false, &[]).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "the last one was replaced");
        std::fs::write(at("mine"), "work of a year").unwrap();
        std::os::unix::fs::symlink(at("mine"), at("link")).unwrap();
        for (name, force, refused) in
            [("mine", false, true), ("link", false, true), ("link", true, true), ("mine", true, false)]
        {
            let checked = check_output(&at(name), force, &[]);
            assert_eq!(checked.is_err(), refused, "{name} {force}: {checked:?}");
            assert!(checked.err().is_none_or(|error| error.is_request()));
            assert_eq!(begin(&at(name), force, &[]).is_err(), refused);
            let left = std::fs::read_to_string(at("mine")).unwrap();
            assert_eq!(left, if refused { "work of a year" } else { "" });
        }
        for path in [Path::new("/dev/full"), directory.path()] {
            assert!(begin(path, true, &[]).is_err());
        }
        std::fs::write(at("oltp.sqlite"), "").unwrap();
        assert!(begin(&at("oltp.sqlite"), true, &[at("oltp.sqlite")]).is_err());
    }

    #[test]
    fn who_work_on_one_database_at_once_share_its_ledger() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        let writer = |order| {
            let mut writer = LedgerWriter { file: begin(&path, false, &[]).unwrap(), mark: 0xcafe };
            writer.put(Entry::Order { w: 1, d: 1, order }).unwrap();
            writer
        };
        let first = writer(1);
        let second = writer(2);
        drop(first);
        let third = writer(3);
        assert_eq!(Ledger::read(&path, "cafe").unwrap().entries.len(), 3);
        drop((second, third));
        drop(writer(4));
        assert_eq!(Ledger::read(&path, "cafe").unwrap().entries.len(), 1, "nobody had it");
    }

    #[test]
    fn records_are_read_back_and_cut_ones_are_not() {
        let entries = [
            Entry::Order { w: 7, d: 10, order: 3001 },
            Entry::Payment { w: 7, d: 1, c_w: 300, c_d: 9, customer: 17, amount: 500_000, at_us: -5 },
            Entry::Delivery { w: 1, d: 2, order: 2101, carrier: 10 },
        ];
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        let mut bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.bytes(0xcafe)).collect();
        bytes.extend(entries[0].bytes(1));
        bytes.extend(&entries[1].bytes(0xcafe)[..30]);
        std::fs::write(&path, &bytes).unwrap();
        let whole = Ledger::read(&path, "cafe").unwrap();
        assert_eq!((whole.entries, whole.fault), (entries.to_vec(), None));
        let other = Ledger::read(&path, "beef").unwrap().fault.unwrap();
        assert!(other.ends_with("is the ledger of another database"), "{other}");
        bytes[20] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let damaged = Ledger::read(&path, "cafe").unwrap();
        assert_eq!(damaged.entries, entries[1..]);
        assert!(damaged.fault.is_some_and(|fault| fault.starts_with("1 of 4 records of ")));
        std::fs::write(&path, [7; 500]).unwrap();
        assert!(
            Ledger::read(&path, "cafe").unwrap().fault.is_some_and(|fault| fault.ends_with("is no ledger"))
        );
        assert!(!Ledger::read(&directory.path().join("none"), "cafe").unwrap().is_there());
        // A pipe is not waited for, and a device has no end.
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for none in [&pipe, Path::new("/dev/zero"), directory.path()] {
            assert!(Ledger::read(none, "cafe").is_err(), "{}", none.display());
        }
    }
}
