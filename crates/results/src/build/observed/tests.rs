use super::*;
use crate::fixture::{self, SECOND, counters, environment};
use crate::run::{FindingSeverity, Verdict};

/// Ten seconds, 8 MiB fetched a second, by calls or not.
fn observation(asked_per_s: u64, fetched_per_s: u64) -> Observation {
    let reading = |second: u64| {
        let mut record = counters(second, fetched_per_s * second);
        let process = &mut record.processes[0];
        process.asked_read_bytes = Some(asked_per_s * second);
        process.asked_reads = Some(asked_per_s * second / 4096);
        (process.asked_write_bytes, process.asked_writes) = (Some(0), Some(0));
        record
    };
    let plan = fixture::plan(vec![]);
    Observation {
        own_figures: false,
        id: "0badcafe".to_owned(),
        started: "2025-03-04T05:06:07Z".to_owned(),
        producer: ("0.1.0".to_owned(), String::new()),
        name: "dd".to_owned(),
        program: "dd".to_owned(),
        environment: environment(),
        targets: plan.targets,
        direct: false,
        opened_for: (true, false),
        threads: 1,
        before: [counters(0, 0), counters(0, 0)],
        during: (0..=10).map(reading).collect(),
        after: [counters(10, 10 * fetched_per_s), counters(11, 10 * fetched_per_s)],
    }
}

const RATE: u64 = 8 << 20;

#[test]
fn calls_that_the_cache_answered_are_found() {
    let run = run_of(&observation(RATE, RATE / 10)).unwrap();
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.engine.as_str(), job.total.bytes, job.series.len()), ("dd", 10 * RATE, 10));
    assert!((job.cached_read_share.unwrap() - 0.9).abs() < 1e-6);
    assert_eq!(run.verdict, Verdict::Invalid);
    assert!(run.findings.iter().any(|finding| finding.id == "cache-served-reads"));
}

#[test]
fn without_calls_the_requests_count_and_nothing_is_said_of_caches() {
    let run = run_of(&observation(0, RATE)).unwrap();
    let job = &run.phases[0].jobs[0];
    assert_eq!((job.total.bytes, job.cached_read_share), (10 * RATE, None));
    let finding = run.findings.iter().find(|finding| finding.id == "cache-served-reads").unwrap();
    assert_eq!(finding.severity, FindingSeverity::Unchecked);
    assert!(run.notes.iter().any(|note| note.contains("libaio")));
}

#[test]
fn figures_are_judged_by_what_was_seen() {
    // A direct job that read 80 MiB, of which the kernel fetched a tenth: holes.
    let mut figures = fixture::run();
    figures.phases[0].jobs[0].read.as_mut().unwrap().bytes = 10 * RATE;
    figures.phases[0].device = None;
    figures.phases[0].jobs[0].cached_read_share = None;
    let observed = run_of(&observation(0, RATE / 10)).unwrap();
    let run = adopt(observed, figures.clone());
    assert_eq!(run.id, "0badcafe");
    assert_eq!(run.phases[0].jobs[0].total.ios, figures.phases[0].jobs[0].total.ios);
    assert!((run.phases[0].jobs[0].cached_read_share.unwrap() - 0.9).abs() < 1e-6);
    assert_eq!(run.phases[0].evidence.span_ns, 10 * SECOND);
    assert_eq!(run.verdict, Verdict::Invalid, "{:#?}", run.findings);
    let same = adopt(run_of(&observation(0, RATE)).unwrap(), figures);
    assert_eq!(same.phases[0].jobs[0].cached_read_share, Some(0.0));
}
