//! Runs that no machine would make.

use assay_workload::{PhaseKind, SweepPoint};
use proptest::prelude::*;

use crate::run::{JobResult, LatencySummary, OpResult, PhaseResult, SeriesPoint};
use crate::{Interval, IntervalKey, JobCounts, Run};

/// Numbers at the ends of their range, too.
pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 0..10_000_u64, any::<u64>()]
}

/// As [`number`], with a fraction.
pub fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-1.0), Just(f64::MAX), Just(f64::MIN_POSITIVE), Just(1e300), 0.0..1e7_f64]
}

/// Names as nobody would give them.
pub fn word() -> impl Strategy<Value = String> {
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
            completion_histogram: stored.then(|| crate::histogram::SparseHistogram {
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

/// A phase of such values.
pub fn phase() -> BoxedStrategy<PhaseResult> {
    (word(), word(), float(), 0..3_u32, proptest::collection::vec(job(), 0..3))
        .prop_map(|(name, point, measured_s, repeat, jobs)| PhaseResult {
            name,
            point: SweepPoint::new(point),
            measured_s,
            repeat,
            jobs,
            kind: PhaseKind::Measure,
            device: Some(crate::run::DeviceTruth::default()),
            ..PhaseResult::default()
        })
        .boxed()
}

/// The run with jobs of two plans each, and periods that cannot be.
pub fn with_intervals(run: &Run) -> (Run, Vec<Interval>) {
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
    (run, intervals)
}
