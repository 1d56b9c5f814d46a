//! Blocks that are not what was written: `verify = true` finds each of them, and says of each what is wrong with it.

use std::collections::BTreeMap;

use assay_faultfs::{Fault, Injected, Op, Rule, When, missing};
use assay_results::RunEnd;
use assay_results::data::Fault as Found;
use assay_results::run::{FindingSeverity, JobResult};
use assay_workload::Workload;
use assay_workload::job::{Caching, EngineKind, FileLayout, Job, Limits, Phase};
use assay_workload::pattern::{AccessPattern, Mix, Placement};

use crate::faults::stage::{BLOCK, BLOCKS, Came, Case, rule, run_over};
use crate::support::writes;
use crate::{ENGINES, skip};

/// What is below what is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Below {
    Nothing,
    /// An earlier write of the same run.
    ThisRun,
    /// Whole blocks of an earlier run, in their place.
    EarlierRun,
}

/// A fault, the phase it befalls, and what is found of each block that it befell.
struct Corruption {
    name: &'static str,
    rule: Rule,
    /// The last phase, which reads; else the one before it.
    befalls_reads: bool,
    /// At the place that was meant, and where another block was hit instead, there.
    found: fn(Below) -> Vec<Found>,
}

/// What is found where the last write was lost.
fn not_there(below: Below) -> Found {
    match below {
        Below::Nothing => Found::Zeros,
        Below::ThisRun => Found::Stale,
        Below::EarlierRun => Found::OtherRun,
    }
}

fn corruptions() -> Vec<Corruption> {
    let some = |op, fault| rule(op, fault).when(When::Every(20));
    // Only the last write of all is sure not to be repaired by a later one; it is not the last block of the file.
    let last = |op, fault| rule(op, fault).when(When::Nth(BLOCKS));
    let of = |name, rule: Rule, befalls_reads, found| Corruption { name, rule, befalls_reads, found };
    vec![
        of("torn", some(Op::Write, Fault::Torn(3)), false, |below| {
            vec![if below == Below::Nothing { Found::Zeros } else { Found::Torn }]
        }),
        of("lost", some(Op::Write, Fault::Lost), false, |below| vec![not_there(below)]),
        of("misdirected write", last(Op::Write, Fault::Misdirected(BLOCK)), false, |below| {
            vec![not_there(below), Found::Misplaced]
        }),
        of("misdirected read", rule(Op::Read, Fault::Misdirected(BLOCK)).at(0..BLOCK), true, |_| {
            vec![Found::Misplaced]
        }),
        of("stale read", some(Op::Read, Fault::Stale), true, |below| vec![not_there(below)]),
        of("bit flip in a write", some(Op::Write, Fault::BitFlip(13_000)), false, |_| vec![Found::Damaged]),
        of("bit flip in a read", some(Op::Read, Fault::BitFlip(13_000)), true, |_| vec![Found::Damaged]),
    ]
}

/// All blocks are written as often as that is said, and read.
fn workload(engine: EngineKind, passes: usize, reads: bool) -> Workload {
    let phase = |name: &str, mix| {
        let pattern = AccessPattern::new(mix, BLOCK, Placement::random_map());
        let limits = Limits { passes: Some(1), ..Limits::default() };
        let mut job = Job { engine, limits, ..Job::new(name, &["data"], pattern) };
        job.traits.content.verify = true;
        job.traits.errors_tolerated = 1000;
        job.traits.layout = FileLayout::Length;
        Phase::measure(name, vec![job])
    };
    let mut workload = writes(Limits::default());
    workload.phases = (0..passes).map(|pass| phase(&format!("write {pass}"), Mix::WRITE)).collect();
    workload.phases.extend(reads.then(|| phase("check", Mix::READ)));
    workload
}

fn run(corruption: &Corruption, engine: EngineKind, below: Below) -> Came {
    let passes = if below == Below::ThisRun { 2 } else { 1 };
    let before = (below == Below::EarlierRun).then(|| workload(engine, 1, false));
    let case = Case {
        op: Op::Write,
        engine,
        caching: Caching::Auto,
        cached: false,
        iops: None,
        tolerates: 1000,
        stops: false,
        rules: vec![corruption.rule.clone()],
    };
    let from_phase = if corruption.befalls_reads { passes } else { passes - 1 };
    run_over(before, case, workload(engine, passes, true), from_phase as u32)
}

#[test]
fn verify_finds_each_corrupt_block_and_says_what_is_wrong_with_it() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    let corruptions = corruptions();
    std::thread::scope(|scope| {
        for corruption in &corruptions {
            for engine in ENGINES {
                for below in [Below::Nothing, Below::ThisRun, Below::EarlierRun] {
                    scope.spawn(move || judge(corruption, &run(corruption, engine, below), below));
                }
            }
        }
    });
}

/// What is to be found, by offset.
fn expected(corruption: &Corruption, injected: &[Injected], below: Below) -> BTreeMap<u64, Found> {
    let found = (corruption.found)(below);
    let at = |one: &Injected| {
        let places = [one.offset, one.offset + BLOCK];
        places.into_iter().zip(found.clone()).collect::<Vec<_>>()
    };
    injected.iter().flat_map(at).collect()
}

fn judge(corruption: &Corruption, came: &Came, below: Below) {
    let (run, which) =
        (&came.finished.run, format!("{}, {below:?} below: {}", corruption.name, came.which()));
    assert!(!came.injected.is_empty() && came.finished.end == RunEnd::Completed, "{which}");
    let expected = expected(corruption, &came.injected, below);
    let jobs = || run.phases.iter().flat_map(|phase| &phase.jobs);
    let errors = jobs().flat_map(|job| job.data.iter().flat_map(|data| &data.errors));
    let found: BTreeMap<u64, Found> =
        errors.map(|error| (error.offset_bytes / BLOCK * BLOCK, error.fault)).collect();
    assert_eq!(found, expected, "{which}");
    let of_verify = |job: &JobResult| -> u64 {
        job.errors_by_kind.iter().filter(|kind| kind.0 == "verify").map(|kind| kind.1).sum()
    };
    assert_eq!(jobs().map(of_verify).sum::<u64>(), expected.len() as u64, "{which}");
    let finding = run
        .findings
        .iter()
        .find(|finding| finding.id == "verify-failed" && finding.severity == FindingSeverity::Invalid);
    assert!(finding.is_some(), "{which}");
}
