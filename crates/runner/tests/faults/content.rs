//! Blocks that are not what was written: what `verify = true` finds of it, and what it does not find yet.

use assay_faultfs::{Fault, Op, Rule, When, missing};
use assay_results::RunEnd;
use assay_results::run::{FindingSeverity, JobResult};
use assay_workload::job::{Caching, EngineKind, Job, Limits, Phase};
use assay_workload::pattern::{AccessPattern, Mix, Placement};

use crate::faults::stage::{BLOCK, BLOCKS, Came, Case, rule, run_of};
use crate::support::writes;
use crate::{ENGINES, skip};

/// The phases of each run: all blocks are written, written once more, and read.
const FIRST: u32 = 0;
const AGAIN: u32 = 1;
const CHECK: u32 = 2;

/// A fault, the phase it befalls, and whether the blocks that it befell are found.
struct Corruption {
    name: &'static str,
    rule: Rule,
    in_phase: u32,
    found: bool,
}

/// Not found yet is an older block of the same place: it carries the same place and a good checksum.
fn corruptions() -> Vec<Corruption> {
    let some = |op, fault| rule(op, fault).when(When::Every(20));
    // Only the last write of all is sure not to be repaired by a later one; it is not the last block of the file.
    let last = |op, fault| rule(op, fault).when(When::Nth(BLOCKS));
    let of = |name, rule, in_phase, found| Corruption { name, rule, in_phase, found };
    vec![
        of("torn", some(Op::Write, Fault::Torn(3)), FIRST, true),
        of("torn over an older block", some(Op::Write, Fault::Torn(3)), AGAIN, true),
        of("lost", last(Op::Write, Fault::Lost), AGAIN, false),
        of("misdirected write", last(Op::Write, Fault::Misdirected(BLOCK)), AGAIN, true),
        of("misdirected read", rule(Op::Read, Fault::Misdirected(BLOCK)).at(0..BLOCK), CHECK, true),
        of("stale read", some(Op::Read, Fault::Stale), CHECK, false),
        of("bit flip in a write", some(Op::Write, Fault::BitFlip(12_345)), AGAIN, true),
        of("bit flip in a read", some(Op::Read, Fault::BitFlip(12_345)), CHECK, true),
    ]
}

fn run(corruption: &Corruption, engine: EngineKind) -> Came {
    let mut workload = writes(Limits::default());
    let phase = |name: &str, mix| {
        let pattern = AccessPattern::new(mix, BLOCK, Placement::random_map());
        let limits = Limits { passes: Some(1), ..Limits::default() };
        let mut job = Job { engine, limits, ..Job::new(name, &["data"], pattern) };
        job.traits.content.verify = true;
        job.traits.errors_tolerated = 1000;
        Phase::measure(name, vec![job])
    };
    workload.phases = vec![phase("first", Mix::WRITE), phase("again", Mix::WRITE), phase("check", Mix::READ)];
    if corruption.in_phase == FIRST {
        // It would be repaired by the second pass.
        workload.phases.remove(AGAIN as usize);
    }
    let rules = vec![corruption.rule.clone()];
    let case = Case {
        op: Op::Write,
        engine,
        caching: Caching::Auto,
        cached: false,
        iops: None,
        tolerates: 1000,
        stops: false,
        rules,
    };
    run_of(case, workload, corruption.in_phase)
}

#[test]
fn what_verify_finds_of_corrupt_blocks() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    let corruptions = corruptions();
    std::thread::scope(|scope| {
        for corruption in &corruptions {
            for engine in ENGINES {
                scope.spawn(move || judge(corruption, &run(corruption, engine)));
            }
        }
    });
}

fn judge(corruption: &Corruption, came: &Came) {
    let (run, which) = (&came.finished.run, format!("{}: {}", corruption.name, came.which()));
    assert!(!came.injected.is_empty() && came.finished.end == RunEnd::Completed, "{which}");
    let injected = if corruption.found { came.injected.len() as u64 } else { 0 };
    let of_verify = |job: &JobResult| -> u64 {
        job.errors_by_kind.iter().filter(|kind| kind.0 == "verify").map(|kind| kind.1).sum()
    };
    let failed: u64 = run.phases.iter().flat_map(|phase| &phase.jobs).map(of_verify).sum();
    assert_eq!(failed, injected, "{which}");
    let finding = run.findings.iter().find(|finding| finding.id == "verify-failed");
    assert_eq!(
        finding.is_some_and(|finding| finding.severity == FindingSeverity::Invalid),
        injected > 0,
        "{which}"
    );
}
