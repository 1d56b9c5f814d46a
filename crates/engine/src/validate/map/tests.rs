use super::*;

fn map() -> TargetMap {
    let target = VerifiedTarget { key_block_bytes: 4096, end_bytes: 40_000, stands_for: 0, bare: false };
    TargetMap::new("data", 7, &target).unwrap()
}

fn generation(map: &TargetMap, key: usize) -> (u64, u32) {
    match map.known(key) {
        Known::Write(expected) => (expected.first.generation, expected.failed_writes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_writes_or_several_read() {
    let map = map();
    assert!(map.acquire(0..2, false) && map.acquire(1..3, false));
    assert!(!map.acquire(2..4, true), "2 is read");
    assert!(map.acquire(3..4, true), "3 was not kept");
    assert!(!map.acquire(0..4, false), "3 is written");
    assert!(map.acquire(0..3, false));
    (0..3).for_each(|key| map.release(key, false));
    (0..2).for_each(|key| map.release(key, false));
    (1..3).for_each(|key| map.release(key, false));
    map.written(3, true);
    assert!(map.acquire(0..4, true));
}

#[test]
fn readers_are_limited() {
    let map = map();
    assert_eq!((0..40).filter(|_| map.acquire(0..1, false)).count(), READERS_MAX as usize);
    assert_eq!(map.known(0), Known::NotWritten);
    (0..READERS_MAX).for_each(|_| map.release(0, false));
    assert!(map.acquire(0..1, true));
}

#[test]
fn generations_are_those_of_the_writes() {
    let map = map();
    for round in 1..4 {
        assert!(map.acquire(0..1, true));
        assert_eq!(map.next(0, 512, false).generation, round);
        map.written(0, true);
        assert_eq!(generation(&map, 0), (round, 0));
    }
    for failed in 1..=FAILED_MAX {
        map.written(0, false);
        assert_eq!(generation(&map, 0), (3 + u64::from(failed), failed));
    }
    map.written(0, false);
    assert_eq!(map.known(0), Known::Nothing);
    map.written(0, true);
    assert_eq!(generation(&map, 0), (12, 0));
    map.written(1, false);
    assert_eq!(map.known(1), Known::Nothing, "what was there before is not known");
}

#[test]
fn parts_of_key_blocks_are_told_from_whole_ones() {
    let map = map();
    assert_eq!(map.keys(0, 40_000), 0..10);
    assert_eq!(map.keys(4096, 6000), 1..3);
    assert_eq!(map.part(1, 4096, 6000), (0..4096, true));
    assert_eq!(map.part(2, 4096, 6000), (4096..6000, false));
    map.laid_out(1000, 9000);
    assert_eq!((map.known(0), map.known(2)), (Known::Nothing, Known::Nothing));
    assert_eq!(generation(&map, 1), (1, 0));
    map.forget(0, 40_000);
    assert_eq!((map.known(1), map.known(5)), (Known::Nothing, Known::NotWritten));
}

#[test]
fn written_blocks_are_found_in_their_order() {
    let map = map();
    [1, 2, 3, 6].into_iter().for_each(|key| map.written(key, true));
    assert_eq!(map.next_written(0..10, 2), Some(1..3));
    assert_eq!(map.next_written(3..10, 2), Some(3..4));
    assert_eq!(map.next_written(4..10, 0), Some(6..7));
    assert_eq!(map.next_written(7..10, 4), None);
}

/// How a block is taken and given back: as it is, and in ways that would be wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    AsItIs,
    /// Whether it is free is looked at before it is taken, not with it.
    CheckThenTake,
    /// It is free before its new generation is known.
    FreeThenTell,
    /// Reads do not hold off writes.
    ReadersNotCounted,
}

/// Key blocks of four sectors each, with a generation in each sector, under a map.
struct Stressed {
    map: TargetMap,
    order: Order,
    sectors: Vec<[std::sync::atomic::AtomicU64; 4]>,
}

impl Stressed {
    fn take(&self, key: usize, exclusive: bool) -> bool {
        let state = self.map.states[key].load(Ordering::Relaxed);
        let is_read = !(state / READER).is_multiple_of(READERS_MAX + 1);
        let is_free = state & WRITING == 0 && !(exclusive && is_read);
        match self.order {
            Order::CheckThenTake if is_free => {
                std::thread::yield_now();
                if exclusive {
                    self.map.states[key].fetch_or(WRITING, Ordering::Acquire);
                } else {
                    self.map.states[key].fetch_add(READER, Ordering::Acquire);
                }
                true
            }
            Order::CheckThenTake => false,
            Order::ReadersNotCounted if !exclusive => is_free,
            _ => self.map.acquire(key..key + 1, exclusive),
        }
    }

    fn write(&self, key: usize) {
        let generation = self.map.next(key, 0, true).generation;
        for sector in &self.sectors[key] {
            sector.store(generation, Ordering::Relaxed);
            std::thread::yield_now();
        }
        if self.order == Order::FreeThenTell {
            self.map.release(key, true);
            std::thread::yield_now();
        }
        self.map.written(key, true);
    }

    /// Whether what is known is what is there.
    fn read(&self, key: usize) -> bool {
        let known = match self.map.known(key) {
            Known::Write(expected) => expected.first.generation,
            _ => 0,
        };
        let is_right = self.sectors[key].iter().all(|sector| {
            std::thread::yield_now();
            sector.load(Ordering::Relaxed) == known
        });
        if self.order != Order::ReadersNotCounted {
            self.map.release(key, false);
        }
        is_right
    }
}

/// Reads of four threads that did not find what the map said.
fn wrong_reads(order: Order) -> usize {
    let sectors = (0..3).map(|_| Default::default()).collect();
    let stressed = &Stressed { map: map(), order, sectors };
    let work = |seed: u64| {
        let mut rng = assay_workload::rng::Rng::new(seed);
        let mut wrong = 0;
        for _ in 0..4000 {
            let (key, writes) = (rng.below(3) as usize, rng.below(2) == 0);
            match (stressed.take(key, writes), writes) {
                (true, true) => stressed.write(key),
                (true, false) => wrong += usize::from(!stressed.read(key)),
                (false, _) => std::thread::yield_now(),
            }
        }
        wrong
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// The order of atomic steps, not of memory: on x86 each of these exchanges is a full fence. That the test can fail is seen by the wrong
/// orders.
#[test]
fn threads_find_what_the_map_says_and_would_not_in_another_order_of_its_steps() {
    assert_eq!(wrong_reads(Order::AsItIs), 0);
    for order in [Order::CheckThenTake, Order::FreeThenTell, Order::ReadersNotCounted] {
        assert!(wrong_reads(order) > 0, "{order:?} is found");
    }
}

#[test]
fn what_happens_to_key_blocks_is_in_the_journal_before_it_is_known_here() {
    use crate::validate::{CrashedRun, Journal, JournalOf, JournaledTarget};
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data.journal");
    let target = JournaledTarget {
        number: 0,
        name: "data".to_owned(),
        path: "/data".to_owned(),
        key_block_bytes: 4096,
        end_bytes: 40_000,
        buffered: false,
    };
    let journal = std::sync::Arc::new(
        Journal::create(&path, 7, &JournalOf { run: "7".to_owned(), host: None }, vec![target]).unwrap(),
    );
    let mut map = map();
    map.journal = journal.of(0);
    let states = || {
        journal.of(0).unwrap().keep(journal.of(0).unwrap().push(Kind::FlushFailed, 99, 0, 0));
        let keys = CrashedRun::read(&path).unwrap().keys.remove(0);
        (0..5).map(|key| (keys.get(key).acknowledged(), keys.get(key).last)).collect::<Vec<_>>()
    };
    // A write of 1 to 3 and a part of 4.
    map.begins(4096, 3 * 4096 + 100, true);
    assert_eq!(states(), [(0, 0), (0, 1), (0, 1), (0, 1), (0, 1)]);
    map.completed(4096, 3 * 4096 + 100, true);
    (1..4).for_each(|key| map.written(key, true));
    map.overwritten(4);
    map.begins(2 * 4096, 4096, true);
    assert_eq!(states(), [(0, 0), (1, 1), (1, 2), (1, 1), (0, 1)]);
    map.written(2, false);
    // Generations of one record are alike.
    map.begins(0, 4 * 4096, true);
    map.completed(0, 4 * 4096, true);
    assert_eq!(states(), [(1, 1), (2, 2), (3, 3), (2, 2), (0, 1)]);
    (0..4).for_each(|key| map.written(key, true));
    map.begins(4096, 4096, false);
    map.overwritten(1);
    map.forget(3 * 4096, 40_000);
    assert_eq!(states(), [(1, 1), (0, 3), (3, 3), (0, 3), (0, 2)]);
    assert_eq!(map.known(6), Known::NotWritten);
}
