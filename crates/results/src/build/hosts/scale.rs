//! Many workers in one run: what comes out is the sum of what went in, and it takes seconds.

use std::io::Write as _;

use assay_workload::pattern::OpKind;

use crate::build::RunBuilder;
use crate::event::{HostClock, HostEvent, HostId, JobOutcome, RunEvent};
use crate::fixture::{SECOND, environment, events, interval, outcome};
use crate::histogram::LatencyHistogram;
use crate::interval::Interval;
use crate::run::Run;

/// `WORKERSxINTERVALS` of the long form, which `benches/qualify-fleet.sh` runs with optimisation: `1000x3600`.
const VARIABLE: &str = "ASSAY_FLEET_SCALE";

fn asked() -> (u16, u32) {
    let words = std::env::var(VARIABLE).unwrap_or_else(|_| "40x30".to_owned());
    let (workers, intervals) = words.split_once('x').expect("WORKERSxINTERVALS");
    (workers.parse().expect("workers"), intervals.parse().expect("intervals"))
}

/// The most memory that this process had, MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// The processor time of this thread so far, seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// What the workers send. Each is a little slower than the one before: the percentile of all is that of no single one.
fn sent() -> Vec<Interval> {
    (0..64_u64).map(|kind| interval(0, 0, OpKind::Read, 200 + kind)).collect()
}

/// I/Os and completion latencies of all workers, counted without the builder.
fn pooled(workers: u16, intervals: u32, kinds: &[Interval]) -> (u64, LatencyHistogram) {
    let (mut ios, mut latencies) = (0, LatencyHistogram::default());
    for worker in 0..workers {
        let read = kinds[usize::from(worker) % kinds.len()].counts.op(OpKind::Read);
        ios += read.ios * u64::from(intervals);
        (0..intervals).for_each(|_| latencies.merge(&read.completion));
    }
    (ios, latencies)
}

/// The events of so many workers one by one, as they arrive: an interval of each a second. Those of a kind are one event that is changed in
/// between, so that what is timed is what the builder does with them.
fn merged(workers: u16, intervals: u32, kinds: &[Interval]) -> Run {
    let mut sent: Vec<RunEvent> =
        kinds.iter().map(|kind| HostEvent::Interval(Box::new(kind.clone())).into()).collect();
    let own: Vec<RunEvent> =
        events().into_iter().filter(|event| !matches!(event, RunEvent::Host { .. })).collect();
    let mut builder = RunBuilder::new();
    builder.feed(&own[0]);
    for worker in 0..workers {
        let environment = Box::new(environment());
        let name = format!("w{worker}");
        builder.feed(&HostEvent::Environment { name, environment }.of(HostId(worker)));
        builder.feed(&HostEvent::Clock(HostClock::default()).of(HostId(worker)));
    }
    builder.feed(&own[1]);
    for index in 0..intervals {
        for worker in 0..workers {
            let event = &mut sent[usize::from(worker) % kinds.len()];
            if let RunEvent::Host { host, event: HostEvent::Interval(one) } = event {
                (*host, one.key.index, one.key.start_ns) = (HostId(worker), index, u64::from(index) * SECOND);
            }
            builder.feed(event);
        }
    }
    for worker in 0..workers {
        let measured_ns = u64::from(intervals) * SECOND;
        let outcome = Box::new(JobOutcome { measured_ns, ..outcome() });
        let finished = HostEvent::JobFinished { phase: 0, job: 0, outcome };
        builder.feed(&finished.of(HostId(worker)));
    }
    own[2..].iter().for_each(|event| builder.feed(event));
    builder.finish().expect("a run")
}

#[test]
fn the_merged_percentile_is_that_of_all_samples_and_the_total_is_the_sum() {
    let (workers, intervals) = asked();
    let kinds = sent();
    let before_s = cpu_s();
    let run = merged(workers, intervals, &kinds);
    let _ = writeln!(
        std::io::stdout(),
        "{workers} workers x {intervals} intervals merged in {:.1} s of CPU, {} MiB at most",
        cpu_s() - before_s,
        peak_mib()
    );
    let (ios, pooled) = pooled(workers, intervals, &kinds);
    let job = &run.phases[0].jobs[0];
    assert_eq!(job.read.as_ref().map(|read| read.ios), Some(ios));
    let p99 = job.read.as_ref().and_then(|read| read.completion_ns.p99);
    assert_eq!(p99, pooled.quantile_ns(0.99));
    assert_eq!(job.evidence.workers.len(), usize::from(workers));
    let sum: u64 = job.evidence.workers.iter().map(|worker| worker.ios).sum();
    assert_eq!(sum, ios);
    if std::env::var(VARIABLE).is_ok() && !cfg!(debug_assertions) {
        assert!(peak_mib() < 2048, "{} MiB", peak_mib());
    }
}
