use super::*;

fn map() -> TargetMap {
    let target = VerifiedTarget { key_block_bytes: 4096, end_bytes: 40_000, stands_for: 0 };
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
        assert_eq!(map.next(0, 512).generation, round);
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
