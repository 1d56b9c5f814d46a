//! A journal on a file.

use super::*;
use crate::validate::journal::record::{BLOCK_BYTES, RECORDS};

fn of_run() -> JournalOf {
    JournalOf { run: "0a0b0c0d".to_owned(), host: Some(1) }
}

fn target(number: u32) -> JournaledTarget {
    JournaledTarget {
        number,
        name: format!("t{number}"),
        path: format!("/t{number}"),
        key_block_bytes: 4096,
        end_bytes: 4096 * 100_000,
        buffered: false,
    }
}

/// What the journal at `path` says of key blocks: acknowledged, last.
fn known(path: &Path, keys: &[usize]) -> Vec<(u32, u32)> {
    let read = CrashedRun::read(path).unwrap();
    keys.iter().map(|key| (read.keys[1].get(*key).acknowledged(), read.keys[1].get(*key).last)).collect()
}

#[test]
fn what_is_durable_is_read_while_the_journal_grows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.journal");
    let journal = Arc::new(Journal::create(&path, 77, &of_run(), vec![target(3), target(5)]).unwrap());
    assert!(Journal::create(&path, 77, &of_run(), Vec::new()).is_err(), "it is there");
    assert!(journal.of(4).is_none());
    let of = journal.of(5).unwrap();
    of.push(Kind::Issued, 10, 5, 1);
    of.push(Kind::Completed, 10, 5, 1);
    let flush = of.flush_begins();
    of.push(Kind::Issued, 10, 1, 2);
    of.flush_ended(flush, true);
    of.keep(of.push(Kind::Unknown, 12, 1, 2));
    assert_eq!(known(&path, &[9, 10, 11, 12]), [(0, 0), (1, 2), (1, 1), (0, 2)]);
    let read = CrashedRun::read(&path).unwrap();
    assert_eq!((read.run, read.records, read.torn_bytes), (77, 6, 0));
    assert_eq!((read.of.as_ref(), &read.targets[..]), (Some(&of_run()), &[target(3), target(5)][..]));
    assert_eq!((read.written_blocks(0), read.written_blocks(1), read.acknowledged_blocks(1)), (0, 5, 4));
    journal.close();
    // Nothing is kept behind that, and nothing waits for it.
    of.keep(of.push(Kind::Issued, 20, 1, 1));
    assert_eq!((known(&path, &[20]), journal.failure()), (vec![(0, 0)], None));
}

/// A journal of some blocks, each key block acknowledged once, and its bytes.
fn filled(blocks: usize) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    filled_of(77, blocks)
}

fn filled_of(run: u64, blocks: usize) -> (tempfile::TempDir, PathBuf, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.journal");
    let journal = Arc::new(Journal::create(&path, run, &of_run(), vec![target(3), target(5)]).unwrap());
    let of = journal.of(5).unwrap();
    (0..blocks * RECORDS).for_each(|key| {
        of.push(Kind::Acknowledged, key, 1, 1);
    });
    journal.close();
    let bytes = std::fs::read(&path).unwrap();
    (directory, path, bytes)
}

#[test]
fn a_torn_tail_is_left_out_and_damage_in_the_middle_is_an_error() {
    let (_directory, path, mut bytes) = filled(100);
    // Of a run that was killed: it was not closed.
    bytes.truncate(bytes.len() - BLOCK_BYTES);
    std::fs::write(&path, &bytes).unwrap();
    let total = CrashedRun::read(&path).unwrap().acknowledged_blocks(1);
    assert_eq!(total, 100 * RECORDS as u64);
    let mut last = 0;
    for cut in [BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES - 1, bytes.len() - 1, bytes.len()] {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let read = CrashedRun::read(&path).unwrap();
        assert_eq!(read.torn_bytes, (cut % BLOCK_BYTES) as u64, "{cut}");
        assert!(read.acknowledged_blocks(1) >= last);
        last = read.acknowledged_blocks(1);
    }
    assert_eq!(last, total);
    // One block of the last write did not arrive.
    let damaged = |offset: usize| {
        let mut bytes = bytes.clone();
        bytes[offset] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        CrashedRun::read(&path)
    };
    let read = damaged(bytes.len() - 2 * BLOCK_BYTES + 50).unwrap();
    assert_eq!(read.torn_bytes, 2 * BLOCK_BYTES as u64);
    let error = damaged(2 * BLOCK_BYTES + 50).unwrap_err();
    assert!(
        matches!(error, JournalError::Damaged { offset_bytes, .. } if offset_bytes == 2 * BLOCK_BYTES as u64)
    );
    for error in [damaged(50), {
        std::fs::write(&path, b"").unwrap();
        CrashedRun::read(&path)
    }] {
        assert!(matches!(error, Err(JournalError::NotAJournal { .. })), "{error:?}");
    }
    assert!(matches!(CrashedRun::read(Path::new("/no/such")), Err(JournalError::Io { .. })));
}

#[test]
fn a_page_that_is_gone_or_of_another_run_is_damage_wherever_it_is() {
    let (_directory, path, bytes) = filled(100);
    let page = |number: usize| &bytes[number * BLOCK_BYTES..(number + 1) * BLOCK_BYTES];
    let (before, behind) = bytes.split_at(20 * BLOCK_BYTES);
    let (_other, _, foreign) = filled_of(78, 100);
    for (what, changed) in [
        ("missing", [before, &behind[BLOCK_BYTES..]].concat()),
        ("twice", [before, page(19), behind].concat()),
        ("swapped", [before, page(21), page(20), &behind[2 * BLOCK_BYTES..]].concat()),
        ("of another run", [before, &foreign[20 * BLOCK_BYTES..]].concat()),
    ] {
        std::fs::write(&path, changed).unwrap();
        let read = CrashedRun::read(&path);
        let at = 20 * BLOCK_BYTES as u64;
        assert!(
            matches!(&read, Err(JournalError::Damaged { offset_bytes, .. }) if *offset_bytes == at),
            "{what}: {read:?}"
        );
    }
}

#[test]
fn what_was_closed_is_whole_or_is_not_taken_for_closed() {
    for blocks in [0, 3, 1200] {
        let (_directory, path, bytes) = filled(blocks);
        let read = CrashedRun::read(&path).unwrap();
        assert_eq!((read.closed, read.torn_bytes), (true, 0), "{blocks}");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(!CrashedRun::read(&path).unwrap().closed, "{blocks}");
    }
    let (_directory, path, bytes) = filled(3);
    let is_damaged = |bytes: &[u8], at: usize| {
        std::fs::write(&path, bytes).unwrap();
        let read = CrashedRun::read(&path);
        let is_so =
            matches!(&read, Err(JournalError::Damaged { offset_bytes, .. }) if *offset_bytes == at as u64);
        assert!(is_so, "{read:?}");
    };
    let mut flipped = bytes.clone();
    flipped[2 * BLOCK_BYTES + 50] ^= 1;
    is_damaged(&flipped, 2 * BLOCK_BYTES);
    let mut end = Vec::new();
    record::push_end(&mut end, 77, 4, 1);
    is_damaged(&[&bytes[..4 * BLOCK_BYTES], &end].concat(), 4 * BLOCK_BYTES);
}

#[test]
fn a_snapshot_takes_the_place_of_what_it_says() {
    let (_directory, path, bytes) = filled(1200);
    // 100,000 key blocks are all there are, in one state.
    assert!(bytes.len() < 4 * BLOCK_BYTES, "{}", bytes.len());
    assert_eq!(CrashedRun::read(&path).unwrap().acknowledged_blocks(1), 100_000);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn threads_wait_for_a_full_ring_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.journal");
    let journal =
        Arc::new(Journal::with_ring(&path, (1, &of_run()), vec![target(0), target(5)], 64).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let of = journal.of(5).unwrap();
            scope.spawn(move || {
                for key in 0..2000 {
                    of.push(Kind::Issued, thread * 2000 + key, 1, 1);
                    of.push(Kind::Acknowledged, thread * 2000 + key, 1, 1);
                }
            });
        }
    });
    journal.close();
    let read = CrashedRun::read(&path).unwrap();
    // By its records or by the snapshot that is left of them.
    assert_eq!((read.acknowledged_blocks(1), read.written_blocks(1)), (8000, 8000));
}

#[test]
fn a_journal_that_cannot_be_written_says_so_and_holds_nothing_up() {
    // No space: the file is a full device.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.journal");
    let journal = Arc::new(Journal::create(&path, 1, &of_run(), vec![target(5)]).unwrap());
    let halt = Arc::new(AtomicBool::new(false));
    journal.halt_on_failure(Arc::clone(&halt));
    journal.shared.fail("no space".to_owned());
    let of = journal.of(5).unwrap();
    (0..200_000).for_each(|key| {
        of.push(Kind::Issued, key, 1, 1);
    });
    of.keep(of.push(Kind::Unknown, 0, 1, 1));
    assert_eq!((journal.failure(), halt.load(Ordering::Relaxed)), (Some("no space"), true));
}

/// Its checksum is right: somebody made it so.
#[test]
fn a_head_that_speaks_of_more_than_there_can_be_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.journal");
    let huge = JournaledTarget { end_bytes: u64::MAX, key_block_bytes: 1, ..target(5) };
    std::fs::write(&path, record::head(1, std::slice::from_ref(&huge), "node", &of_run())).unwrap();
    assert!(matches!(CrashedRun::read(&path), Err(JournalError::TooLarge { .. })));
    // Nor is one begun.
    let begun = Journal::create(&directory.path().join("new"), 1, &of_run(), vec![huge]);
    assert_eq!(begun.unwrap_err().kind(), std::io::ErrorKind::OutOfMemory);
}
