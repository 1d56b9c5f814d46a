//! The store as a whole, in memory: against a map, with crashes at every point, and with faults that must be named.

use std::collections::BTreeMap;

use assay_workload::rng::Rng;
use proptest::prelude::*;

use crate::disk::{Class, Disk, FileId};
use crate::error::StoreError;
use crate::key::Key;
use crate::ledger;
use crate::load::{Loader, NewDatabase};
use crate::memory::Memory;
use crate::page::{PAGE_BYTES, PageFault};
use crate::pool::{Miss, State};
use crate::recover::{self, Recovered};
use crate::scan::{self, Maintenance};
use crate::store::{Store, Tuning};

type Model = BTreeMap<Key, Vec<u8>>;

fn tuning() -> Tuning {
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

/// A database of so many messages.
fn built(memory: &Memory, messages: u64, model: &mut Model) {
    let mut disk = memory.clone();
    let new = NewDatabase { database: 1, capacity: 2000, fill: 0.75, mailboxes: 0, folders: 4, seed: 1 };
    let mut loader = Loader::new(&mut disk, new).unwrap();
    let mut rng = Rng::new(5);
    for number in 0..messages {
        let key = Key::new((number / 40) as u32, (number / 10 % 4) as u32, number);
        let bytes = if rng.below(30) == 0 { 9000 + rng.below(60_000) } else { 30 + rng.below(3000) };
        let data: Vec<u8> = (0..bytes).map(|at| (at + number) as u8).collect();
        loader.add(&key, &data).unwrap();
        model.insert(key, data);
    }
    loader.finish().unwrap();
}

fn open(memory: &Memory) -> Result<(Store, Recovered), StoreError> {
    let (store, _, recovered) = recover::open(&mut memory.clone(), 1, tuning())?;
    Ok((store, recovered))
}

fn all(store: &Store, memory: &Memory, keys: impl Iterator<Item = Key>) -> Model {
    let mut disk = memory.clone();
    keys.filter_map(|key| Some((key, store.with(&mut disk, &mut |state| state.get(&key)).unwrap()?)))
        .collect()
}

fn sound(store: &Store, memory: &Memory, model: &Model) {
    let checked = scan::check(store, &mut memory.clone(), &|| true).unwrap();
    assert!(checked.faults.is_empty(), "{:?}", checked.faults);
    assert_eq!(checked.messages, model.len() as u64);
}

/// A change that a transaction makes.
#[derive(Debug, Clone)]
enum Change {
    Put(Key, usize, u8),
    Delete(Key),
}

fn changes() -> impl Strategy<Value = Vec<(Change, bool)>> {
    let key = (0..12_u32, 0..4_u32, 0..40_u64)
        .prop_map(|(mailbox, folder, message)| Key::new(mailbox, folder, message));
    let bytes = prop_oneof![8 => 0..4000_usize, 1 => 4000..8000_usize, 1 => 8000..80_000_usize];
    let put = (key.clone(), bytes, any::<u8>()).prop_map(|(key, bytes, fill)| Change::Put(key, bytes, fill));
    let change = prop_oneof![3 => put, 1 => key.prop_map(Change::Delete)];
    prop::collection::vec((change, prop::bool::weighted(0.3)), 1..400)
}

/// Makes a change; its LSN.
fn make(store: &Store, disk: &mut dyn Disk, change: &Change, durable: bool) -> Result<u64, StoreError> {
    let now_ns = disk.now_ns();
    let lsn = store.with(disk, &mut |state| {
        match change {
            Change::Put(key, bytes, fill) => state.put(key, &vec![*fill; *bytes])?,
            Change::Delete(key) => state.delete(key)?,
        };
        Ok(state.commit(now_ns))
    })?;
    store.commit(disk, lsn, durable)?;
    Ok(lsn)
}

fn apply(model: &mut Model, change: &Change) {
    match change {
        Change::Put(key, bytes, fill) => drop(model.insert(*key, vec![*fill; *bytes])),
        Change::Delete(key) => drop(model.remove(key)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_store_is_a_map(changes in changes(), built_messages in 0..300_u64) {
        let memory = Memory::new(1);
        let mut model = Model::new();
        built(&memory, built_messages, &mut model);
        let (store, _) = open(&memory).unwrap();
        let mut disk = memory.clone();
        for (change, durable) in &changes {
            make(&store, &mut disk, change, *durable).unwrap();
            apply(&mut model, change);
            store.tend(&mut disk).unwrap();
        }
        let keys = |model: &Model| model.keys().copied().collect::<Vec<_>>();
        prop_assert_eq!(&all(&store, &memory, keys(&model).into_iter()), &model);
        store.close(&mut disk).unwrap();
        sound(&store, &memory, &model);
        let (store, recovered) = open(&memory).unwrap();
        prop_assert_eq!(recovered.groups, 0, "it was closed");
        prop_assert_eq!(&all(&store, &memory, keys(&model).into_iter()), &model);
    }

    /// The power goes at some write, and again while the log is replayed. What was durably committed is there, and nothing is there in part:
    /// the database is what it was after one of the changes.
    #[test]
    fn a_power_cut_loses_nothing_that_was_durable(changes in changes(), cut in 1..500_u64, again in 0..60_u64, seed in any::<u64>()) {
        let memory = Memory::new(seed);
        let mut model = Model::new();
        built(&memory, 100, &mut model);
        let mut after = vec![(0, model.clone())];
        let mut durable_lsn = 0;
        {
            let (store, _) = open(&memory).unwrap();
            memory.cut_after(cut);
            let mut disk = memory.clone();
            for (change, durable) in &changes {
                let lsn = make(&store, &mut disk, change, *durable);
                // A change whose commit failed may be there.
                apply(&mut model, change);
                after.push((lsn.as_ref().copied().unwrap_or(u64::MAX), model.clone()));
                match lsn {
                    Ok(lsn) if *durable => durable_lsn = lsn,
                    Ok(_) => {}
                    Err(_) => break,
                }
                if store.tend(&mut disk).is_err() {
                    break;
                }
            }
        }
        memory.power_on();
        // Replay is interrupted as well.
        memory.cut_after(again);
        drop(open(&memory));
        memory.power_on();
        let (store, _) = open(&memory).unwrap();
        let keys: Vec<Key> = after.iter().flat_map(|(_, model)| model.keys().copied()).collect();
        let found = all(&store, &memory, keys.into_iter());
        let possible = after.iter().rev().take_while(|(lsn, _)| *lsn >= durable_lsn);
        prop_assert!(possible.into_iter().any(|(_, model)| *model == found));
        sound(&store, &memory, &found);
    }
}

/// Works until a few pages were written and flushed, and closes.
fn worked(memory: &Memory) -> Store {
    let mut model = Model::new();
    built(memory, 200, &mut model);
    let (store, _) = open(memory).unwrap();
    let mut disk = memory.clone();
    for message in 0..60 {
        let change = Change::Put(Key::new(message as u32 % 5, 0, 1000 + message), 2000, message as u8);
        make(&store, &mut disk, &change, true).unwrap();
    }
    store.close(&mut disk).unwrap();
    store
}

fn page_range(page: u32) -> std::ops::Range<usize> {
    page as usize * PAGE_BYTES..(page as usize + 1) * PAGE_BYTES
}

/// A page of the tree that was written more than once.
fn written_page(store: &Store) -> u32 {
    let state = store.lock();
    (state.layout.first_data()..state.high_page())
        .find(|page| state.written[*page as usize] > 1)
        .expect("a page")
}

fn only_fault(store: &Store, memory: &Memory) -> (u32, PageFault) {
    let checked = scan::check(store, &mut memory.clone(), &|| true).unwrap();
    match &checked.faults[..] {
        [StoreError::Page { page, fault }] => (*page, *fault),
        other => panic!("{other:?}"),
    }
}

#[test]
fn faults_of_pages_are_named_by_check_maintenance_and_reads() {
    type Tamper = fn(&mut Vec<u8>, u32);
    let faults: [(Tamper, &str); 4] = [
        (|file, page| file[page_range(page)][20_000] ^= 1, "damaged"),
        (|file, page| file[page_range(page)][3 * 4096..].fill(0x5a), "torn write"),
        (|file, page| file.copy_within(page_range(page + 1), page_range(page).start), "misplaced write"),
        (|file, page| file[page_range(page)].fill(0), "lost write"),
    ];
    for (tamper, word) in faults {
        let memory = Memory::new(1);
        let page = written_page(&worked(&memory));
        memory.tamper(FileId::Database, |file| tamper(file, page));
        let (store, _) = open(&memory).unwrap();
        let (found, fault) = only_fault(&store, &memory);
        assert!(found == page && fault.to_string().starts_with(word), "{word}: {found}: {fault}");
        let mut maintenance = Maintenance::default();
        let mut steps = (0..1000).map(|_| maintenance.step(&store, &mut memory.clone()));
        let error = steps.find_map(Result::err).expect("it is found").to_string();
        assert!(error.contains(word), "{word}: {error}");
        // What comes after it is stopped, and says why.
        let stopped = store.with(&mut memory.clone(), &mut |state| state.get(&Key::FIRST)).unwrap_err();
        assert!(stopped.to_string().contains(word), "{stopped}");
    }
}

#[test]
fn a_page_that_there_is_not_is_a_fault_of_the_one_that_leads_there() {
    for (first, count) in [(2000, 1), (1999, 2), (u32::MAX, 1), (5, u32::MAX)] {
        let memory = Memory::new(1);
        let store = worked(&memory);
        let absent = &mut |_: &mut State| Err::<(), Miss>(Miss::Absent { first, count });
        let error = store.with(&mut memory.clone(), absent).expect_err("there are 2000 pages");
        let fault = PageFault::Nowhere { pages: 2000 };
        assert!(matches!(error, StoreError::Page { fault: found, .. } if found == fault), "{error}");
    }
}

#[test]
fn a_lost_write_of_a_page_is_named_even_after_a_restart() {
    let memory = Memory::new(1);
    let store = worked(&memory);
    let mut disk = memory.clone();
    make(&store, &mut disk, &Change::Put(Key::new(2, 0, 5000), 100, 1), true).unwrap();
    memory.lose_next(Class::DatabaseWrite);
    store.close(&mut disk).unwrap();
    let lost = only_fault(&store, &memory);
    assert!(matches!(lost.1, PageFault::Lost { .. }), "{lost:?}");
    drop(store);
    let (store, _) = open(&memory).unwrap();
    assert_eq!(only_fault(&store, &memory), lost);
}

#[test]
fn a_lost_write_of_the_log_is_named() {
    let memory = Memory::new(1);
    let store = worked(&memory);
    let mut disk = memory.clone();
    let change = |message| Change::Put(Key::new(2, 0, message), 100, 1);
    make(&store, &mut disk, &change(5000), true).unwrap();
    memory.lose_next(Class::LogWrite);
    make(&store, &mut disk, &change(5001), true).unwrap();
    make(&store, &mut disk, &change(5002), true).unwrap();
    drop(store);
    let error = open(&memory).unwrap_err().to_string();
    assert!(
        error.starts_with("the log is damaged") && error.contains("a later batch stands whole"),
        "{error}"
    );
}

#[test]
fn what_is_no_database_is_refused() {
    let memory = Memory::new(1);
    drop(worked(&memory));
    memory.tamper(FileId::Checkpoint, |file| file.fill(0));
    assert!(matches!(open(&memory), Err(StoreError::Checkpoint)));
    memory.tamper(FileId::Database, |file| file[crate::page::SLOTS + 8] = 9);
    assert!(matches!(open(&memory), Err(StoreError::Version(9))));
    let memory = Memory::new(1);
    let mut disk = memory.clone();
    let new = NewDatabase { database: 1, capacity: 2000, fill: 0.75, mailboxes: 0, folders: 4, seed: 1 };
    drop(Loader::new(&mut disk, new).unwrap());
    assert!(matches!(open(&memory), Err(StoreError::HalfBuilt)));
}

/// A database that was closed, changed by `change`; what opening it says.
fn said_behind(change: impl Fn(&Memory, u32)) -> String {
    let memory = Memory::new(1);
    let store = worked(&memory);
    let (used, file) = {
        let state = store.lock();
        (state.high_page(), state.file_pages)
    };
    assert!(used < file, "the file has pages that are not in use");
    drop(store);
    change(&memory, used);
    open(&memory).map_or_else(|error| error.to_string(), |_| "opened".to_owned())
}

#[test]
fn files_that_were_cut_or_removed_are_named_even_where_nothing_needs_them() {
    assert_eq!(said_behind(|_, _| ()), "opened");
    let cut =
        |file, length: usize| said_behind(move |memory, _| memory.tamper(file, |all| all.truncate(length)));
    assert!(
        cut(FileId::Log(0), 4096)
            .starts_with("mail-1.log-00000000 was cut short: it ends at byte 4096, and 1048576 bytes")
    );
    assert!(
        cut(FileId::Checkpoint, 4096)
            .starts_with("mail-1.checkpoint was cut short: it ends at byte 4096, and 8192 bytes")
    );
    assert!(
        cut(FileId::Database, 0)
            .starts_with("mail-1.database was cut short: it ends at byte 0, and 32768 bytes")
    );
    let behind_used = said_behind(|memory, used| {
        memory.tamper(FileId::Database, |all| all.truncate(used as usize * PAGE_BYTES));
    });
    assert!(behind_used.starts_with("mail-1.database was cut short: it ends at byte "), "{behind_used}");
    assert!(behind_used.contains("build it again"), "{behind_used}");
    for generation in 0..2 {
        let said = said_behind(|memory, _| memory.remove(FileId::Log(generation)));
        assert!(said.starts_with(&format!("mail-1.log-0000000{generation} is missing; ")), "{said}");
    }
    let none = said_behind(|memory, _| (0..2).for_each(|generation| memory.remove(FileId::Log(generation))));
    assert!(none.starts_with("mail-1.log-00000000 is missing; "), "{none}");
}

#[test]
fn a_full_database_says_so_and_stays_whole() {
    let memory = Memory::new(1);
    let mut model = Model::new();
    let mut disk = memory.clone();
    let new = NewDatabase { database: 1, capacity: 60, fill: 0.75, mailboxes: 0, folders: 4, seed: 1 };
    Loader::new(&mut disk, new).unwrap().finish().unwrap();
    let (store, _) = open(&memory).unwrap();
    let full = (0..10_000).find_map(|message| {
        let change = Change::Put(Key::new(1, 1, message), 7000, message as u8);
        let error = make(&store, &mut disk, &change, false).err();
        if error.is_none() {
            apply(&mut model, &change);
        }
        error
    });
    assert!(matches!(full, Some(StoreError::Full(60))), "{full:?}");
    store.close(&mut disk).unwrap();
    sound(&store, &memory, &model);
}

#[test]
fn threads_share_a_database() {
    let memory = Memory::new(1);
    let mut model = Model::new();
    built(&memory, 400, &mut model);
    let (store, _) = open(&memory).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..4_u32)
            .map(|session| {
                let (store, mut disk) = (&store, memory.clone());
                scope.spawn(move || {
                    for message in 0..150 {
                        let key = Key::new(session * 3, 1, 10_000 + message);
                        let put = Change::Put(key, 500 + message as usize * 20, session as u8);
                        make(store, &mut disk, &put, message % 3 == 0).unwrap();
                        if message % 4 == 1 {
                            make(store, &mut disk, &Change::Delete(key), false).unwrap();
                        }
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            let (store, stop, mut disk) = (&store, &stop, memory.clone());
            scope.spawn(move || {
                let mut maintenance = Maintenance::default();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    store.tend(&mut disk).unwrap();
                    maintenance.step(store, &mut disk).unwrap();
                }
            });
        }
        // The others are told also where one has failed.
        let ended: Vec<_> = sessions.into_iter().map(|session| session.join()).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        ended.into_iter().for_each(|ended| ended.unwrap());
    });
    let mut disk = memory.clone();
    store.close(&mut disk).unwrap();
    let left = (0..4_u32).map(|_| (0..150).filter(|message| message % 4 != 1).count() as u64).sum::<u64>();
    let checked = scan::check(&store, &mut disk, &|| true).unwrap();
    assert!(checked.faults.is_empty(), "{:?}", checked.faults);
    assert_eq!(checked.messages, model.len() as u64 + left);
    let bytes = memory.count(Class::LogWrite);
    assert!(bytes.0 > 0 && bytes.1 / bytes.0 < 200_000, "{bytes:?}");
}

/// The first replay finds writes that may have been done, begins writes of its own, and ends before the log says how either ended.
#[test]
fn a_page_may_have_two_writes_that_nothing_says_the_end_of() {
    for writes in 0..12 {
        let memory = Memory::new(writes);
        let mut model = Model::new();
        built(&memory, 100, &mut model);
        let (store, _) = open(&memory).unwrap();
        let mut disk = memory.clone();
        make(&store, &mut disk, &Change::Put(Key::new(0, 0, 0), 8001, 0), true).unwrap();
        store.tend(&mut disk).unwrap();
        drop(store);
        memory.power_on();
        memory.cut_after(writes);
        drop(open(&memory));
        memory.power_on();
        open(&memory).unwrap();
    }
}

/// Its checksum holds: somebody made it so.
#[test]
fn a_log_of_pages_that_there_are_not_is_refused() {
    let memory = Memory::new(1);
    built(&memory, 50, &mut Model::new());
    let (store, _) = open(&memory).unwrap();
    make(&store, &mut memory.clone(), &Change::Put(Key::new(1, 0, 9), 200, 7), true).unwrap();
    drop(store);
    memory.tamper(FileId::Log(0), |log| {
        let mut at = 0;
        while at < log.len() {
            let length = u32::from_le_bytes(log[at + 12..at + 16].try_into().unwrap()) as usize;
            if length == 0 {
                break;
            }
            // The page of the first record, behind the heads of the batch and of the group.
            log[at + 53..at + 57].copy_from_slice(&2_000_000_u32.to_le_bytes());
            let batch = &mut log[at..at + 48 + length];
            batch[4..8].fill(0);
            let sum = crc32c::crc32c(batch).to_le_bytes();
            batch[4..8].copy_from_slice(&sum);
            at += (48 + length).next_multiple_of(4096);
        }
    });
    assert!(matches!(open(&memory), Err(StoreError::Record(_))));
}

#[test]
fn a_ledger_that_cannot_be_read_is_not_an_empty_one() {
    let memory = Memory::new(1);
    built(&memory, 50, &mut Model::new());
    let (store, _) = open(&memory).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let check = |name: &str| ledger::check(&store, &mut memory.clone(), &directory.path().join(name));
    assert_eq!(check("none").unwrap(), ledger::LedgerCheck::default());
    std::fs::create_dir(directory.path().join("directory")).unwrap();
    assert!(matches!(check("directory"), Err(StoreError::Ledger(_))));
    let pipe = directory.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(matches!(check("pipe"), Err(StoreError::Ledger(_))), "it is not waited for");
    std::os::unix::fs::symlink("elsewhere", directory.path().join("link")).unwrap();
    assert!(ledger::Ledger::open(&directory.path().join("link"), true).is_err());
    assert!(!directory.path().join("elsewhere").exists());
}
