//! Blocks that this run did not write.

use super::*;

#[test]
fn what_this_run_did_not_write_is_told_apart() {
    with_each(|rig| {
        let earlier = rig.of_run(6);
        earlier.run((0..BLOCKS / 2).map(|block| op(OpKind::Write, block, 1)).collect(), None);
        rig.file.write_all_at(b"x", 3 * KEY + 99).unwrap();
        rig.run(vec![op(OpKind::Write, 0, 1)], None);
        let (_, data) = rig.run(each(OpKind::Read), None);
        let counted = (data.verified, data.of_earlier_runs, data.unverifiable, data.wrong);
        assert_eq!(counted, (1, BLOCKS / 2 - 2, BLOCKS / 2, 1));
        assert_eq!((data.errors[0].fault, data.errors[0].offset_bytes), (Fault::Damaged, 3 * KEY));
        assert_eq!(data.verified_share(), Some(1.0 / (BLOCKS - 1) as f64));
    });
}

#[test]
fn where_headers_are_expected_a_block_without_them_is_wrong() {
    let mut rig = Rig::new(EngineKind::Psync);
    rig.expects_headers = true;
    let written = |run: u64, blocks: Range<u64>| {
        rig.of_run(run).run(blocks.map(|block| op(OpKind::Write, block, 1)).collect(), None);
    };
    written(5, 0..BLOCKS);
    written(6, 0..3);
    let (_, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((data.of_earlier_runs, data.unverifiable, data.wrong), (BLOCKS, 0, 0));
    assert_eq!(
        data.earlier_runs,
        [(5, BLOCKS - 3), (6, 3)].into(),
        "an older block of a file looks like this"
    );
    let block = |number: u64| {
        let mut bytes = vec![0; KEY as usize];
        rig.file.read_exact_at(&mut bytes, number * KEY).unwrap();
        bytes
    };
    // A byte of the magic, zeros in the last sector, a block in the place of another, and one that fio wrote.
    let mut magic = block(4);
    magic[0] ^= 1;
    let mut zeros = block(5);
    zeros[KEY as usize - 512..].fill(0);
    let fio = [0xca, 0xac].into_iter().chain(std::iter::repeat_n(7, KEY as usize - 2)).collect();
    for (number, bytes) in [(4, magic), (5, zeros), (6, block(9)), (7, fio)] {
        rig.file.write_all_at(&bytes, number * KEY).unwrap();
    }
    let (_, data) = rig.run(each(OpKind::Read), None);
    let faults: Vec<(u64, Fault)> =
        data.errors.iter().map(|error| (error.offset_bytes, error.fault)).collect();
    let sector = |number: u64| (number + 1) * KEY - 512;
    assert_eq!(faults, [(4 * KEY, Fault::NotOurs), (sector(5), Fault::Zeros), (6 * KEY, Fault::Misplaced)]);
    assert_eq!((data.unverifiable, data.wrong), (1, 3));
}

/// The kinds of what is wrong with blocks of earlier runs that are read where headers are expected.
fn faults_of(rig: &Rig) -> Vec<(u64, Fault)> {
    let (_, data) = rig.run(each(OpKind::Read), None);
    data.errors.iter().map(|error| (error.offset_bytes, error.fault)).collect()
}

#[test]
fn a_block_of_two_earlier_runs_is_torn() {
    let mut rig = Rig::new(EngineKind::Psync);
    rig.expects_headers = true;
    rig.of_run(5).write_all();
    let older = rig.bytes(4 * KEY, 1024);
    rig.of_run(6).write_all();
    rig.file.write_all_at(&older, 4 * KEY).unwrap();
    assert_eq!(faults_of(&rig), [(4 * KEY + 1024, Fault::Torn)]);
    // Two writes of one run.
    rig.of_run(6).write_all();
    let twice = rig.of_run(7);
    twice.write_all();
    let older = rig.bytes(9 * KEY, 512);
    twice.write_all();
    rig.file.write_all_at(&older, 9 * KEY).unwrap();
    assert_eq!(faults_of(&rig), [(9 * KEY + 512, Fault::Torn)]);
    // Where no headers are expected, others may have written there.
    rig.expects_headers = false;
    let (_, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((data.of_earlier_runs, data.unverifiable, data.wrong), (BLOCKS - 1, 1, 0));
}

#[test]
fn smaller_blocks_over_a_large_one_are_not_torn() {
    let mut rig = Rig::new(EngineKind::Psync);
    rig.expects_headers = true;
    let with = |run: u64, key_block_bytes: u64| {
        let target = VerifiedTarget { key_block_bytes, end_bytes: BLOCKS * KEY, stands_for: 0, bare: false };
        Rig { map: Arc::new(TargetMap::new("data", run, &target).unwrap()), ..rig.of_run(run) }
    };
    with(5, 2 * KEY).run(vec![op(OpKind::Write, 4, 2)], None);
    with(6, 512).run(vec![Op { len_bytes: 1024, ..op(OpKind::Write, 4, 1) }], None);
    let (_, data) = with(7, 2 * KEY).run(vec![op(OpKind::Read, 4, 2)], None);
    assert_eq!((data.of_earlier_runs, data.wrong), (1, 0), "{:?}", data.errors);
    // Both were written as a whole, and are read together.
    with(6, KEY).run(vec![op(OpKind::Write, 4, 1)], None);
    with(5, KEY).run(vec![op(OpKind::Write, 5, 1)], None);
    let (_, data) = with(7, 2 * KEY).run(vec![op(OpKind::Read, 4, 2)], None);
    assert_eq!((data.of_earlier_runs, data.wrong), (1, 0), "{:?}", data.errors);
}

#[test]
fn a_file_of_another_name_is_checked_all_the_same() {
    let mut rig = Rig::new(EngineKind::Psync);
    rig.expects_headers = true;
    let named = |name: &str, run: u64| {
        let target =
            VerifiedTarget { key_block_bytes: KEY, end_bytes: BLOCKS * KEY, stands_for: 0, bare: false };
        Rig { map: Arc::new(TargetMap::new(name, run, &target).unwrap()), ..rig.of_run(run) }
    };
    let before = named("before", 5);
    before.write_all();
    let (_, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((data.of_earlier_runs, data.unverifiable, data.wrong), (BLOCKS, 0, 0));
    let elsewhere = rig.bytes(3 * KEY, KEY as usize);
    rig.file.write_all_at(&elsewhere, 9 * KEY).unwrap();
    rig.file.write_all_at(b"JUNK", 5 * KEY + 700).unwrap();
    assert_eq!(faults_of(&rig), [(5 * KEY + 512, Fault::Damaged), (9 * KEY, Fault::Misplaced)]);
    // What another job of the plan wrote belongs there: it was not renamed.
    rig.neighbours.push(before.map.id);
    let (_, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((data.wrong, data.errors[0].fault), (BLOCKS, Fault::OtherTarget));
}
