use std::collections::BTreeSet;

use assay_workload::pattern::{AccessPattern, Mix, Placement};

use super::*;
use crate::fixture;

/// The one finding of this check; all other checks are left out.
pub(super) fn only(id: &str, run: &Run) -> Finding {
    let mut findings = by_id(id).expect("the check is registered").judge(run);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let finding = findings.remove(0);
    assert_eq!(finding.id, id);
    assert!(!finding.message.is_empty() && !finding.advice.is_empty(), "{finding:?}");
    finding
}

pub(super) fn silent(id: &str, run: &Run) {
    let findings = by_id(id).expect("the check is registered").judge(run);
    assert!(findings.is_empty(), "{findings:#?}");
}

/// The same run through the page cache.
pub(super) fn buffered(mut run: Run) -> Run {
    run.plan.phases[0].jobs[0].direct = false;
    run.phases[0].jobs[0].direct = false;
    run
}

/// The same run with writes in the place of reads.
pub(super) fn writing(mut run: Run) -> Run {
    let pattern = AccessPattern::new(Mix::WRITE, 4096, Placement::random_map());
    run.plan.phases[0].jobs[0].pattern = pattern;
    let job = &mut run.phases[0].jobs[0];
    job.write = job.read.take();
    job.cached_read_share = None;
    let truth = run.phases[0].device.as_mut().expect("the fixture has counters");
    truth.asked_written_bytes = std::mem::take(&mut truth.asked_read_bytes);
    truth.device_written_bytes = truth.device_read_bytes.replace(0);
    truth.process_written_bytes = truth.process_read_bytes.replace(0);
    truth.device_writes = truth.device_reads.replace(0);
    run
}

#[test]
fn a_clean_run_has_no_findings() {
    let mut run = fixture::run();
    // Of a series, whose windows are known to be short.
    run.plan.series = Some("assay-1".to_owned());
    assert_eq!(check(&run).0, []);
    assert_eq!(check(&writing(run)).0, []);
}

#[test]
fn ids_are_distinct_and_named() {
    let ids: BTreeSet<&str> = ALL.iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), ALL.len());
    assert!(by_id("not-steady").is_some() && by_id("nothing").is_none());
}

#[test]
fn the_gravest_makes_the_verdict() {
    let of = |severities: &[FindingSeverity]| {
        let findings: Vec<Finding> =
            severities.iter().map(|severity| draft::Draft::new("x", *severity, "m").advise("a")).collect();
        verdict(&findings)
    };
    assert_eq!(of(&[]), Verdict::Valid);
    assert_eq!(of(&[FindingSeverity::Info, FindingSeverity::Unchecked]), Verdict::Valid);
    assert_eq!(of(&[FindingSeverity::Warning, FindingSeverity::Unchecked]), Verdict::Suspect);
    assert_eq!(of(&[FindingSeverity::Invalid, FindingSeverity::Warning]), Verdict::Invalid);
}

#[test]
fn findings_come_gravest_first_and_judging_twice_changes_nothing() {
    let mut run = buffered(fixture::run());
    run.phases[0].jobs[0].cached_read_share = Some(0.9);
    run.phases[0].jobs[0].errors = 1;
    run.phases[0].jobs[0].evidence.engine_fallback = Some("io_uring was refused".to_owned());
    judge(&mut run);
    assert!(run.findings.len() >= 3);
    assert!(run.findings.windows(2).all(|pair| pair[0].severity >= pair[1].severity));
    let once = run.clone();
    judge(&mut run);
    assert_eq!(run, once);
}

#[test]
fn a_run_that_did_not_end_is_incomplete_whatever_was_found() {
    let mut run = fixture::run();
    run.end = Some(RunEnd::Interrupted);
    judge(&mut run);
    assert_eq!(run.verdict, Verdict::Incomplete);
}

#[test]
fn nothing_at_all_is_judged_without_harm() {
    let mut run = fixture::run();
    run.phases[0].jobs[0] = crate::run::JobResult::default();
    run.phases[0].device = None;
    run.phases[0].evidence = crate::evidence::PhaseEvidence::default();
    run.environment = crate::environment::Environment::default();
    judge(&mut run);
    run.plan.phases.clear();
    judge(&mut run);
}

#[test]
fn a_finding_names_the_point_it_was_made_at() {
    let mut run = fixture::run();
    run.plan.phases[0].jobs[0].pattern.read_sizes = assay_workload::pattern::BlockSizes::Fixed(512);
    assert!(!only("unrepresentative-block-size", &run).evidence.contains_key("point"));
    run.phases[0].point = assay_workload::SweepPoint::new("block_size=512");
    assert_eq!(only("unrepresentative-block-size", &run).evidence["point"], "block_size=512");
}
