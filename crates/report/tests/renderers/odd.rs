//! Runs that no machine would make: no renderer may panic, and none may exceed what it was given where it need not.

use assay_report::csv::csv;
use assay_report::html::page;
use assay_report::md::markdown;
use assay_report::terminal::{
    Progress, findings, heading, plan, progress_line, quick_table, quick_words, run_summary, verdict_line,
};
use assay_report::{FioLogOptions, LogPrefix, Style, fio_json_with, fio_logs, vdbench_files};
use assay_results::run::{
    FindingSeverity, JobResult, LatencySummary, OpResult, PhaseResult, SeriesPoint, Verdict,
};
use assay_results::{Interval, IntervalKey, JobCounts, Run};
use proptest::prelude::*;

use crate::support::{finding, hdd, mixed_run, run, typical};

/// Every renderer, on one run.
fn render_all(run: &Run, style: &Style) {
    let mut references = typical();
    references.push(hdd());
    quick_table(run, &references, style);
    quick_words(run, &references, style);
    heading(run, style);
    run_summary(run, style);
    findings(&run.findings, style);
    verdict_line(run, style);
    plan(&run.plan, style);
    csv(run);
    markdown(run, &references);
    render_for_others(run);
    let page = page(run, &references);
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()));
}

/// The files of other tools, with periods that cannot be.
fn render_for_others(run: &Run) {
    let mut run = run.clone();
    for job in run.phases.iter_mut().flat_map(|phase| &mut phase.jobs) {
        job.evidence.plan_jobs = vec![0, 1];
    }
    let interval = |job: u32, start_ns: u64, length_ns: u64, ios: u64| {
        let key = IntervalKey { phase: 0, job, index: 0, ramp: false, start_ns, length_ns };
        let mut counts = JobCounts { busy_slot_ns: ios, ..JobCounts::default() };
        (counts.ops[0].ios, counts.ops[1].bytes) = (ios, ios);
        counts.ops[0].completion.record_n(length_ns, ios.min(9));
        Interval { key, counts }
    };
    let odd = [(0, 0), (u64::MAX, 1), (u64::MAX, u64::MAX), (7, u64::MAX), (5, 1 << 30), (6, 3)];
    let both = odd.iter().flat_map(|(start, length)| [(0, start, length, 0), (1, start, length, u64::MAX)]);
    let intervals: Vec<Interval> =
        both.map(|(job, start, length, ios)| interval(job, *start, *length, ios)).collect();
    for intervals in [&intervals[..], &[]] {
        let json = fio_json_with(&run, intervals, true);
        let parsed = serde_json::from_str::<serde_json::Value>(&json);
        assert!(parsed.is_ok(), "{parsed:?}");
        let _ = assay_results::import::import(&json);
        fio_logs(&run, intervals, &FioLogOptions { prefix: LogPrefix::FioPlot, offset: true });
        for (name, text) in vdbench_files(&run, intervals) {
            assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()), "{name}");
            let _ = assay_results::import::import(&text);
        }
    }
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 0..10_000_u64, any::<u64>()]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-1.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(1e300), 0.0..1e7_f64]
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("<b>&\"'\u{1b}[2J\u{7}\n東京".to_owned()),
        ".{0,40}",
        Just("x".repeat(300))
    ]
}

fn latency() -> BoxedStrategy<LatencySummary> {
    (number(), float(), proptest::option::of(number()))
        .prop_map(|(n, mean, p)| LatencySummary {
            n,
            mean,
            stddev: mean,
            p50: p,
            p99: p.map(|p| p.saturating_mul(2)),
            max: n,
            ..LatencySummary::default()
        })
        .boxed()
}

fn op() -> BoxedStrategy<OpResult> {
    (number(), number(), float(), latency(), proptest::option::of(latency()), any::<bool>())
        .prop_map(|(ios, bytes, iops, completion_ns, response_ns, stored)| OpResult {
            ios,
            bytes,
            iops,
            bytes_per_s: iops,
            block_size: bytes,
            completion_ns,
            response_ns,
            completion_histogram: stored.then(|| assay_results::histogram::SparseHistogram {
                buckets: vec![(0, 1), (u32::MAX, 3), (700, ios)],
                sum_ns: bytes,
                min_ns: bytes,
                max_ns: ios,
            }),
            ..OpResult::default()
        })
        .boxed()
}

fn point() -> BoxedStrategy<SeriesPoint> {
    (float(), float(), float(), proptest::option::of(number()))
        .prop_map(|(start_s, length_s, iops, p)| SeriesPoint {
            start_s,
            length_s,
            iops,
            bytes_per_s: iops,
            p50_ns: p,
            p99_ns: p,
        })
        .boxed()
}

fn job() -> BoxedStrategy<JobResult> {
    let ops = (proptest::option::of(op()), proptest::option::of(op()), proptest::option::of(op()), op());
    (word(), word(), ops, number(), float(), proptest::collection::vec(point(), 0..5))
        .prop_map(|(name, pattern, (read, write, flush, total), n, value, series)| JobResult {
            name,
            pattern,
            read,
            write,
            flush,
            total,
            outstanding_io: n,
            outstanding_io_mean: value,
            measured_s: value,
            cached_read_share: Some(value),
            errors: n,
            series,
            ..JobResult::default()
        })
        .boxed()
}

fn phase() -> BoxedStrategy<PhaseResult> {
    (word(), word(), float(), 0..3_u32, proptest::collection::vec(job(), 0..3))
        .prop_map(|(name, point, measured_s, repeat, jobs)| PhaseResult {
            name,
            point,
            measured_s,
            repeat,
            jobs,
            kind: "measure".to_owned(),
            device: Some(assay_results::run::DeviceTruth::default()),
            ..PhaseResult::default()
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_run_makes_a_renderer_panic(
        phases in proptest::collection::vec(phase(), 0..5),
        words in word(),
        series in prop_oneof![Just(""), Just("stb-2.1"), Just("assay-1")],
        columns in 0..200_usize,
        colour in any::<bool>(),
        unicode in any::<bool>(),
    ) {
        let mut run = run(&words, series, phases);
        run.findings.push(finding(&words, FindingSeverity::Warning, Some(&words), &words));
        render_all(&run, &Style { colour, width: columns, unicode });
    }

    #[test]
    fn the_live_line_stays_on_its_line(
        phase in word(),
        done in proptest::option::of(float()),
        iops in proptest::option::of(float()),
        p99_ns in proptest::option::of(number()),
        columns in 80..200_usize,
    ) {
        let progress = Progress { phase, number: (1, 2), done, iops, p99_ns, left_s: done };
        let line = progress_line(&progress, &Style::plain(columns));
        prop_assert!(!line.contains('\n'));
        prop_assert!(unicode_width::UnicodeWidthStr::width(line.as_str()) <= columns, "{}", line);
    }
}

#[test]
fn a_run_without_anything() {
    let mut run = run("", "", Vec::new());
    run.environment = assay_results::environment::Environment::default();
    run.plan.phases.clear();
    run.plan.targets.clear();
    run.verdict = Verdict::Incomplete;
    render_all(&run, &Style::plain(80));
    assert!(run_summary(&run, &Style::plain(80)).contains("no phase was run"));
    assert!(quick_table(&run, &[], &Style::plain(80)).contains("no test was measured"));
}

#[test]
fn names_cannot_move_the_cursor() {
    let mut run = mixed_run();
    run.phases[1].name = "\u{1b}[2Jgone".to_owned();
    run.phases[1].jobs[0].pattern = "bell\u{7}".to_owned();
    let text = run_summary(&run, &Style::plain(80)) + &quick_table(&run, &[], &Style::plain(80));
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}
