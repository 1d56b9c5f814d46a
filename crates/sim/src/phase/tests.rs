mod ending;

use std::sync::atomic::Ordering;

use assay_results::{Interval, LatencyHistogram};
use assay_workload::job::{Arrival, Job, Limits, OperationRates, Phase, Rate};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};
use assay_workload::units::Nanos;

use super::*;
use crate::model::{Fault, Span};
use crate::service::{Service, Time};

const SECOND: u64 = 1_000_000_000;

fn job(name: &str, mix: Mix, threads: u32, depth: u32, seconds: u64) -> Job {
    let pattern = AccessPattern::new(mix, 4096, Placement::random_independent());
    let limits = Limits { time: Some(Nanos::from_secs(seconds)), ..Limits::default() };
    Job { threads, ..lun::job(name, pattern, depth, limits) }
}

fn plan_of(jobs: Vec<Job>) -> Plan {
    lun::plan(5, 1 << 30, vec![Phase::measure("measure", jobs)]).unwrap()
}

struct Outcome {
    intervals: Vec<Interval>,
    outcomes: Vec<JobOutcome>,
    error: Option<String>,
    observations: Observations,
}

impl Outcome {
    fn measured(&self, job: u32, kind: OpKind, response: bool) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        for interval in self.intervals.iter().filter(|one| one.key.job == job && !one.key.ramp) {
            let op = interval.counts.op(kind);
            all.merge(if response { &op.response } else { &op.completion });
        }
        all
    }
}

fn run(model: &Model, plan: &Plan) -> Outcome {
    let (mut intervals, mut outcomes) = (Vec::new(), Vec::new());
    let mut simulation = PlanSimulation::new(model, plan, 1).unwrap();
    let mut sink = |event| match event {
        HostEvent::Interval(interval) => intervals.push(*interval),
        HostEvent::JobFinished { outcome, .. } => outcomes.push(*outcome),
        _ => {}
    };
    let error = simulation.run_phase(plan, 0, &SimOptions::default(), &mut sink).unwrap();
    Outcome { intervals, outcomes, error, observations: simulation.observe() }
}

/// The whole chain of loop, recorder and intervals against known truth: each measured percentile's true share is within
/// five binomial deviations and a bucket of it.
#[test]
fn the_real_job_loop_measures_the_known_distribution() {
    let model = Model::shipped("known-latency").unwrap();
    let mut job = job("mixed", Mix::read_write(70.0), 2, 8, 2);
    job.ramp = Nanos(SECOND / 2);
    let outcome = run(&model, &plan_of(vec![job]));
    for (kind, truth) in [(OpKind::Read, &model.delay.read), (OpKind::Write, model.delay.of(OpKind::Write))] {
        let measured = outcome.measured(0, kind, false);
        let n = measured.n() as f64;
        assert!(n > 50_000.0, "{n}");
        for quantile in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let value = measured.quantile_ns(quantile).unwrap() as f64;
            let width = truth.share_at_or_below(value * 1.01) - truth.share_at_or_below(value * 0.99);
            let tolerance = 5.0 * (quantile * (1.0 - quantile) / n).sqrt() + width;
            let share = truth.share_at_or_below(value);
            assert!((share - quantile).abs() < tolerance, "{kind:?} {quantile}: {share}");
        }
    }
    let (ramp, measured): (Vec<_>, Vec<_>) = outcome.intervals.iter().partition(|one| one.key.ramp);
    assert_eq!((ramp.len(), measured[0].key.start_ns), (1, SECOND / 2));
    assert!(measured[..2].iter().all(|one| one.key.length_ns == SECOND), "{:?}", measured[0].key);
    let end = &outcome.outcomes[0];
    assert_eq!((end.engine.as_str(), end.measured_start_ns), ("sim", SECOND / 2));
    assert!((2 * SECOND..2 * SECOND + 10_000_000).contains(&end.measured_ns), "{}", end.measured_ns);
}

/// With 16 outstanding and a constant delay of 1 ms the rate is 16000 a second, in every interval.
#[test]
fn a_closed_loop_reaches_exactly_the_rate_it_can() {
    let model = Model::known_latency(Service::Constant(Time(1_000_000)), Service::ZERO);
    let outcome = run(&model, &plan_of(vec![job("reads", Mix::READ, 4, 4, 3)]));
    let counts: Vec<u64> = outcome.intervals.iter().map(|one| one.counts.op(OpKind::Read).ios).collect();
    assert_eq!(outcome.observations.completed, counts.iter().sum::<u64>());
    // The completions at the very end of an interval are counted in the next.
    assert!(counts[..3].iter().all(|count| (15_984..=16_016).contains(count)), "{counts:?}");
}

/// One at a time takes 1 ms: 50 writes a second are kept, and of 2000 reads as many as fit beside them.
#[test]
fn a_slow_array_keeps_the_lower_of_two_rates() {
    let model = Model::known_latency(Service::Constant(Time(1_000_000)), Service::Constant(Time(1_000_000)));
    let mut two = job("two", Mix::read_write(50.0), 1, 1, 4);
    two.rate = Rate::Each(OperationRates { read: Some(2000.0), write: Some(50.0), trim: None });
    two.arrival = Arrival::Deterministic;
    let outcome = run(&model, &plan_of(vec![two]));
    let done = |kind| outcome.intervals.iter().map(|one| one.counts.op(kind).ios).sum::<u64>();
    assert!(done(OpKind::Write).abs_diff(200) <= 1, "{}", done(OpKind::Write));
    assert!(done(OpKind::Read).abs_diff(3800) <= 8, "{}", done(OpKind::Read));
    let response = outcome.measured(0, OpKind::Write, true);
    assert!(
        response.max_ns() < 30_000_000,
        "writes do not wait for the backlog of reads: {}",
        response.max_ns()
    );
}

/// The array stalls for a second: completion latency of a closed loop hardly shows it, response time of an open loop does.
#[test]
fn a_stall_shows_in_the_response_time_of_an_open_loop() {
    let mut model = Model::known_latency(Service::Constant(Time(100_000)), Service::ZERO);
    let during = Span { from: Time(2 * SECOND), to: Time(3 * SECOND) };
    model.faults.push(Fault::Stall { during });
    let mut open = job("open", Mix::READ, 1, 1, 10);
    open.rate = Rate::Iops(1000.0);
    open.arrival = Arrival::Deterministic;
    let outcome = run(&model, &plan_of(vec![open]));
    let completion = outcome.measured(0, OpKind::Read, false);
    let response = outcome.measured(0, OpKind::Read, true);
    assert_eq!(completion.n(), response.n());
    let slow = |histogram: &LatencyHistogram| histogram.n() - histogram.count_at_or_below(1_000_000);
    assert_eq!(slow(&completion), 1, "one request was outstanding");
    // 1000 arrived during the stall; with 900 us to spare of each ms the backlog takes 1000 / 9 arrivals more to drain.
    assert!((1050..1150).contains(&slow(&response)), "{}", slow(&response));
    assert!((0.99e9..1.01e9).contains(&(response.max_ns() as f64)), "{}", response.max_ns());
}

#[test]
fn errors_are_counted_and_end_a_job_that_does_not_tolerate_them() {
    let mut model = Model::known_latency(Service::Constant(Time(100_000)), Service::ZERO);
    model.faults.push(Fault::Errors { share: 0.01, during: Span::default() });
    let mut tolerant = job("tolerant", Mix::READ, 1, 4, 1);
    tolerant.errors_tolerated = u64::MAX;
    let outcome = run(&model, &plan_of(vec![tolerant]));
    let (name, count) = &outcome.outcomes[0].errors_by_kind[0];
    assert_eq!(name, "EIO");
    assert!((300..500).contains(count), "{count} of 40000");
    assert_eq!(outcome.error, None);
    let strict = run(&model, &plan_of(vec![job("strict", Mix::READ, 1, 4, 1)]));
    assert_eq!(strict.error.as_deref(), Some("job 'strict' stopped: EIO"));
}

#[test]
fn a_seed_replays_a_plan_and_another_one_does_not() {
    let model = Model::shipped("two-brick").unwrap();
    let plan = plan_of(vec![job("mixed", Mix::read_write(70.0), 3, 8, 1), job("reads", Mix::READ, 2, 2, 1)]);
    let (one, again) = (run(&model, &plan), run(&model, &plan));
    assert_eq!(one.intervals, again.intervals);
    assert_eq!(one.observations, again.observations);
    let mut other_plan = plan.clone();
    other_plan.phases[0].jobs[0].slices[1].seed += 1;
    assert_ne!(one.observations, run(&model, &other_plan).observations);
}

#[test]
fn a_stop_ends_a_phase() {
    let model = Model::known_latency(Service::Constant(Time(100_000)), Service::ZERO);
    let plan = plan_of(vec![job("reads", Mix::READ, 2, 2, 3600)]);
    let mut simulation = PlanSimulation::new(&model, &plan, 1).unwrap();
    let options = SimOptions::default();
    let mut count = 0;
    let mut sink = |event| {
        if matches!(event, HostEvent::Interval(_)) {
            count += 1;
            options.stop.store(count == 3, Ordering::Relaxed);
        }
    };
    simulation.run_phase(&plan, 0, &options, &mut sink).unwrap();
    assert!((3..=4).contains(&count), "{count}");
}

#[test]
fn what_one_phase_read_the_next_finds_in_the_cache() {
    let model = Model::shipped("two-brick").unwrap();
    let mut plan = plan_of(vec![job("reads", Mix::READ, 1, 32, 2)]);
    plan.phases.push(plan.phases[0].clone());
    let mut simulation = PlanSimulation::new(&model, &plan, 1).unwrap();
    let mut ratio = |phase| {
        simulation.run_phase(&plan, phase, &SimOptions::default(), &mut |_| {}).unwrap();
        simulation.observe().cache.unwrap().read_hit_ratio().unwrap()
    };
    let (cold, warm) = (ratio(0), ratio(1));
    assert!(cold < 0.99 && warm > 0.999, "{cold} {warm}");
    assert!(simulation.run_phase(&plan, 2, &SimOptions::default(), &mut |_| {}).is_err());
}

/// As in real time: a job that only other hosts do ends nothing and holds nobody up.
#[test]
fn what_other_hosts_do_holds_nobody_up() {
    let model = Model::known_latency(Service::Constant(Time(1_000_000)), Service::ZERO);
    let jobs = || vec![job("theirs", Mix::READ, 2, 1, 1), job("mine", Mix::READ, 2, 1, 1)];
    let mut plan = plan_of(jobs());
    plan.phases[0].jobs[0].slices.clear();
    let ran = run(&model, &plan);
    let ios: u64 = ran.intervals.iter().map(|one| one.counts.op(OpKind::Read).ios).sum();
    assert_eq!((ran.outcomes.len(), ran.error), (1, None));
    assert!(ran.intervals.iter().all(|one| one.key.job == 1) && ios.abs_diff(2000) <= 2, "{ios}");
    let mine = &mut plan.phases[0].jobs[1];
    (mine.end.time, mine.end.ends_with) = (None, Some(assay_workload::job::EndsWith::Others));
    assert_eq!(run(&model, &plan).outcomes.len(), 1, "it would wait for the other host's job for ever");
    plan.phases[0].jobs[1].slices.clear();
    assert_eq!(run(&model, &plan).outcomes.len(), 0, "a phase that is all of other hosts");
}
