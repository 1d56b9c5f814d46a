//! The store on real files whose file system fails, or loses power, as it is told to.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_faultfs::{Cut, Fault, FaultFs, Op, Options, Rule, missing};
use assay_mail::disk::Disk as _;
use assay_mail::error::StoreError;
use assay_mail::files::{FileDisk, Files};
use assay_mail::key::Key;
use assay_mail::ledger::{self, Fate, Ledger, is_sampled};
use assay_mail::load::{Loader, NewDatabase};
use assay_mail::page::PAGE_BYTES;
use assay_mail::scan::{self, Maintenance};
use assay_mail::store::{Store, Tuning};
use assay_mail::{message, recover};
use assay_workload::rng::Rng;

#[path = "../../../xtask/support/skip.rs"]
mod skip;

const MAILBOXES: u32 = 40;

fn tuning() -> Tuning {
    Tuning { pool_pages_min: 64, pool_pages_max: 128, checkpoint_depth_bytes: 4 << 20, ..Tuning::default() }
}

/// A mounted file system with a database; none where nothing can be mounted.
fn built(power_cuts: bool) -> Option<FaultFs> {
    if let Some(why) = missing() {
        skip::declare("fuse", &why);
        return None;
    }
    let fs = FaultFs::mount(Options { power_cuts, ..Options::default() }).expect("it is mounted");
    let files = Files::open(fs.path(), 1, true, true).expect("files");
    let mut disk = FileDisk::new(&files);
    let new =
        NewDatabase { database: 1, capacity: 2000, fill: 0.75, mailboxes: MAILBOXES, folders: 4, seed: 1 };
    let mut loader = Loader::new(&mut disk, new).expect("begun");
    let (mut rng, mut data) = (Rng::new(7), Vec::new());
    for number in 0..u64::from(MAILBOXES) * 40 {
        let key = Key::new((number / 40) as u32, (number / 10 % 4) as u32, number);
        let bytes = message::draw_size(&mut rng);
        message::make(key.mailbox, key.folder, rng.next_u64(), bytes, &mut data);
        loader.add(&key, &data).expect("it fits");
    }
    loader.finish().expect("built");
    Some(fs)
}

fn open(fs: &FaultFs) -> Result<(Store, FileDisk), StoreError> {
    let files = Files::open(fs.path(), 1, true, false).expect("files");
    let mut disk = FileDisk::new(&files);
    let (store, ..) = recover::open(&mut disk, 1, tuning())?;
    Ok((store, disk))
}

/// One transaction of a session, entered in the ledger.
fn transaction(
    store: &Store,
    disk: &mut FileDisk,
    ledger: &mut Ledger,
    rng: &mut Rng,
) -> Result<(), StoreError> {
    let (mailbox, folder) = (rng.below(u64::from(MAILBOXES)) as u32, rng.below(4) as u32);
    let durable = rng.below(3) == 0;
    let now_ns = disk.now_ns();
    if rng.below(3) > 0 {
        let (mut data, version) = (Vec::new(), rng.next_u64());
        message::make(mailbox, folder, version, message::draw_size(rng), &mut data);
        let (key, lsn) = store.with(disk, &mut |state| {
            let key = Key::new(mailbox, folder, state.log.next_lsn());
            state.put(&key, &data)?;
            Ok((key, state.commit(now_ns)))
        })?;
        store.commit(disk, lsn, durable)?;
        if is_sampled(&key) {
            ledger.begin(&key).expect("noted");
            ledger.end(&key, Fate::Present(version), lsn, durable).expect("noted");
        }
        return Ok(());
    }
    let choice = rng.next_u64();
    let near = Key::new(mailbox, folder, u64::MAX);
    let Some(key) = store.with(disk, &mut |state| state.pick(&near, choice))? else { return Ok(()) };
    if is_sampled(&key) {
        ledger.begin(&key).expect("noted");
    }
    let (gone, lsn) = store.with(disk, &mut |state| Ok((state.delete(&key)?, state.commit(now_ns))))?;
    store.commit(disk, lsn, durable)?;
    if is_sampled(&key) {
        let fate = if gone { Fate::Absent } else { Fate::Unchanged };
        ledger.end(&key, fate, lsn, durable).expect("noted");
    }
    Ok(())
}

/// Four sessions, and what goes on in the background, until something fails or `stop` is set.
fn work(store: &Store, disk: &FileDisk, ledger: &Path, seed: u64, stop: &AtomicBool) {
    let handle = || FileDisk::new(disk.files());
    std::thread::scope(|scope| {
        for session in 0..4 {
            let (mut disk, mut rng) = (handle(), Rng::new(seed + session));
            let mut ledger = Ledger::open(ledger, false).expect("a ledger");
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if transaction(store, &mut disk, &mut ledger, &mut rng).is_err() {
                        return;
                    }
                }
            });
        }
        for _ in 0..2 {
            let mut disk = handle();
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match store.tend(&mut disk) {
                        Ok(true) => {}
                        Ok(false) => std::thread::sleep(Duration::from_millis(5)),
                        Err(_) => return,
                    }
                }
            });
        }
    });
}

fn ledger_in(directory: &tempfile::TempDir) -> PathBuf {
    let path = directory.path().join("ledger");
    drop(Ledger::open(&path, true).expect("a ledger"));
    path
}

#[test]
fn a_power_cut_loses_nothing_that_was_durably_committed() {
    let Some(fs) = built(true) else { return };
    let (mut durable, mut torn, mut groups) = (0, 0, 0);
    let cuts = std::env::var("ASSAY_POWER_CUTS").ok().and_then(|cuts| cuts.parse().ok());
    let cuts: u64 = cuts.unwrap_or(20);
    for round in 0..cuts {
        let directory = tempfile::tempdir().expect("a directory");
        let ledger = ledger_in(&directory);
        let (store, disk) = open(&fs).expect("open");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| work(&store, &disk, &ledger, round * 100, &stop));
            std::thread::sleep(Duration::from_millis(80 + round * 37 % 200));
            fs.cut(match round % 4 {
                0 => Cut::KeepNothing,
                _ => Cut::KeepSome { seed: round, probability: 0.5 },
            });
            stop.store(true, Ordering::Relaxed);
        });
        drop((store, disk));
        let files = Files::open(fs.path(), 1, true, false).expect("files");
        let mut disk = FileDisk::new(&files);
        let (store, _, recovered) = recover::open(&mut disk, 1, tuning()).expect("recovered");
        (torn, groups) = (torn + recovered.torn_repaired, groups + recovered.groups);
        let checked = scan::check(&store, &mut disk, &|| true).expect("read");
        assert!(checked.faults.is_empty(), "round {round}: {:?}", checked.faults);
        let found = ledger::check(&store, &mut disk, &ledger).expect("read");
        assert!(found.wrong.is_empty(), "round {round}: {:?}", found.wrong);
        durable += found.durable;
    }
    let _ = writeln!(
        std::io::stderr(),
        "{cuts} power cuts: {durable} durable changes, {groups} groups replayed, {torn} torn pages repaired"
    );
    // Of one cut or two, none of the sampled messages may have been durable.
    let many = durable > 20 && groups > 100;
    assert!(groups > 0 && (cuts < 20 || many), "{durable} durable, {groups} groups, {torn} torn");
}

const DATABASE: &str = "mail-1.database";

fn write(fault: Fault) -> Rule {
    // Behind the maps, so that it is a page of the tree.
    Rule::new(Op::Write, fault).of_file(DATABASE).at(8 * PAGE_BYTES as u64..u64::MAX)
}

/// One page is changed and written, with this fault; what is said of all pages then, and which page it was.
fn said_of(fault: Fault) -> Option<(Vec<String>, u32)> {
    let fs = built(false)?;
    let (store, mut disk) = open(&fs).expect("open");
    fs.inject(write(fault).times(1));
    let now_ns = disk.now_ns();
    let lsn = store.with(&mut disk, &mut |state| {
        state.put(&Key::new(30, 1, 1 << 50), &[1; 3000])?;
        Ok(state.commit(now_ns))
    });
    store.commit(&mut disk, lsn.expect("done"), true).expect("committed");
    if let Err(error) = store.close(&mut disk) {
        return Some((vec![error.to_string()], 0));
    }
    let injected = fs.injected();
    assert_eq!(injected.len(), 1);
    let said = |store: &Store, disk: &mut FileDisk| -> Vec<String> {
        let checked = scan::check(store, disk, &|| true).expect("read");
        checked.faults.iter().map(ToString::to_string).collect()
    };
    let first = said(&store, &mut disk);
    drop((store, disk));
    // A restart does not hide it.
    let (store, mut disk) = open(&fs).expect("open");
    assert_eq!(said(&store, &mut disk), first);
    Some((first, (injected[0].offset / PAGE_BYTES as u64) as u32))
}

#[test]
fn torn_lost_damaged_and_misplaced_writes_are_named_with_their_page() {
    for (fault, word) in
        [(Fault::Torn(8), "torn write"), (Fault::Lost, "lost write"), (Fault::BitFlip(8 * 20_000), "damaged")]
    {
        let Some((said, page)) = said_of(fault) else { return };
        assert!(
            said.len() == 1 && said[0].starts_with(&format!("page {page}: {word}")),
            "{fault:?}: {said:?}"
        );
    }
    let Some((said, page)) = said_of(Fault::Misdirected(PAGE_BYTES as u64)) else { return };
    let misplaced = format!("page {}: misplaced write: page {page} of", page + 1);
    assert!(said.len() == 2 && said[0].starts_with(&format!("page {page}: lost write")), "{said:?}");
    assert!(said[1].starts_with(&misplaced), "{said:?}");
    let Some((said, _)) = said_of(Fault::Error(5)) else { return };
    assert!(said[0].starts_with("cannot write database: "), "{said:?}");
}

#[test]
fn stale_reads_and_damage_are_found_by_maintenance() {
    for (fault, word) in [(Fault::Stale, "lost write"), (Fault::BitFlip(8 * 40_000), "damaged")] {
        let Some(fs) = built(true) else { return };
        let (store, mut disk) = open(&fs).expect("open");
        let directory = tempfile::tempdir().expect("a directory");
        let ledger = ledger_in(&directory);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| work(&store, &disk, &ledger, 1, &stop));
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        store.close(&mut disk).expect("closed");
        fs.inject(Rule::new(Op::Read, fault).of_file(DATABASE));
        let mut maintenance = Maintenance::default();
        let error = (0..1000).find_map(|_| maintenance.step(&store, &mut disk).err()).expect("it is found");
        assert!(error.to_string().contains(word), "{fault:?}: {error}");
    }
}
