use super::*;
use crate::job::{EngineKind, Job, Limits, Phase, Workload};
use crate::pattern::{AccessPattern, Mix, Placement};
use crate::resolve::{self, Inventory, TargetFacts};
use crate::target::{Extent, Target};
use crate::tree::TreeWorkload;
use crate::units::{Bytes, Nanos};

const MIB: u64 = 1 << 20;

/// The growth of one target of 8 MiB, of which `existing_bytes` are there.
fn of(jobs: Vec<Job>, kind: TargetKind, existing_bytes: u64) -> Growth {
    let facts = TargetFacts {
        path: "/data/f".into(),
        kind,
        existing_bytes,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let inventory = Inventory {
        targets: [("f".to_owned(), facts)].into(),
        engines: vec![EngineKind::Psync, EngineKind::Fio],
        ..Inventory::default()
    };
    let workload = Workload {
        name: "w".into(),
        seed: Some(1),
        hosts: Vec::new(),
        targets: vec![Target { name: "f".into(), path: "f".into(), kind: None, size: Some(Bytes(8 * MIB)) }],
        phases: vec![Phase::measure("p", jobs)],
    };
    let plan = resolve::plan(&workload, &inventory, 1).unwrap();
    growth(&plan, Layout::AsNeeded).pop().unwrap_or_else(|| nothing(0))
}

fn job(mix: Mix, block: u64, limits: Limits) -> Job {
    let pattern = AccessPattern::new(mix, block, Placement::random_map());
    Job { engine: EngineKind::Psync, limits, ..Job::new("j", &["f"], pattern) }
}

fn one(range: Range<u64>) -> Vec<Range<u64>> {
    std::iter::once(range).collect()
}

fn for_a_second() -> Limits {
    Limits { time: Some(Nanos::from_secs(1)), ..Limits::default() }
}

#[test]
fn reads_lay_out_what_is_missing() {
    let read = job(Mix::READ, 4096, for_a_second());
    assert_eq!(of(vec![read.clone()], TargetKind::File, MIB).filled, one(MIB..8 * MIB));
    assert_eq!(of(vec![read.clone()], TargetKind::File, 8 * MIB), nothing(0));
    assert_eq!(of(vec![read], TargetKind::BlockDevice, 8 * MIB), nothing(0));
}

#[test]
fn what_is_filled_takes_the_whole_size_and_what_is_allocated_what_there_is_room_for() {
    let write = |layout| {
        let few = Limits { ios: Some(1), ..Limits::default() };
        let job = Job { length: Some(Extent::Bytes(MIB)), ..job(Mix::WRITE, 4096, few) };
        of(vec![job.with(|job| job.layout = layout)], TargetKind::File, 0).filled
    };
    assert_eq!(write(FileLayout::Data), one(0..8 * MIB));
    for layout in [FileLayout::Allocated, FileLayout::Reserved, FileLayout::Length] {
        assert_eq!(write(layout), [], "{layout:?}");
    }
}

#[test]
fn writes_fill_their_range_unless_they_end_before() {
    let whole = of(vec![job(Mix::WRITE, 4096, for_a_second())], TargetKind::File, 8 * MIB);
    assert_eq!((whole.filled, whole.rewritten), (one(0..8 * MIB), one(0..8 * MIB)));
    let limits = Limits { bytes: Some(MIB), ..for_a_second() };
    let some = of(vec![job(Mix::WRITE, 4096, limits)], TargetKind::File, 0);
    assert_eq!((some.filled, some.scattered), (vec![], [((0, 8 * MIB), MIB)].into()));
    let twice = of(vec![job(Mix::WRITE, 4096, limits); 2], TargetKind::File, 0);
    assert_eq!(twice.scattered, [((0, 8 * MIB), 2 * MIB)].into());
}

#[test]
fn small_writes_take_whole_units() {
    let limits = Limits { ios: Some(100), ..Limits::default() };
    let taken = |block| of(vec![job(Mix::WRITE, block, limits)], TargetKind::File, 0).scattered;
    assert_eq!(taken(4096), [((0, 8 * MIB), 100 * 4096)].into());
    assert_eq!(taken(512), [((0, 8 * MIB), 100 * 8192)].into());
}

#[test]
fn real_fio_reserves_from_the_start() {
    let limits = Limits { bytes: Some(MIB), ..Limits::default() };
    let fio = Job { engine: EngineKind::Fio, ..job(Mix::WRITE, 4096, limits) };
    assert_eq!(of(vec![fio], TargetKind::File, 0).filled, one(0..8 * MIB));
}

#[test]
fn ranges_that_touch_are_one() {
    let part = |offset, length| Job {
        offset: Extent::Bytes(offset),
        length: Some(Extent::Bytes(length)),
        ..job(Mix::WRITE, 4096, for_a_second())
    };
    let growth = of(vec![part(4 * MIB, MIB), part(0, MIB), part(MIB, MIB)], TargetKind::File, 0);
    assert_eq!(growth.filled, [0..2 * MIB, 4 * MIB..5 * MIB]);
}

#[test]
fn trees_count_once_and_with_their_directories() {
    let tree = TreeWorkload {
        width: 2,
        depth: 1,
        files: 10,
        sizes: vec![(10_000, 1.0)],
        operations: vec![("create".to_owned(), 1.0), ("write".to_owned(), 1.0)],
        ..TreeWorkload::default()
    };
    let make = job(Mix::WRITE, 4096, for_a_second()).with(|job| job.tree = Some(tree.clone()));
    let growth = of(vec![make.clone(), make], TargetKind::Directory, 0);
    assert_eq!((growth.tree_nodes, growth.tree_bytes), (22, 20 * 10_000 + 22 * 4096));
    let read = TreeWorkload { operations: vec![("read".to_owned(), 1.0)], ..tree };
    let read = job(Mix::READ, 4096, for_a_second()).with(|job| job.tree = Some(read));
    assert_eq!(of(vec![read], TargetKind::Directory, 0), nothing(0));
}

#[test]
fn nothing_is_too_large_to_add_up() {
    assert_eq!(united(vec![5..u64::MAX, 0..6]), one(0..u64::MAX));
    assert_eq!(per_write(u64::MAX), u64::MAX);
}
