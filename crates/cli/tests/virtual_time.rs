//! Steps that depend on results, over the simulated array: what they find is known beforehand.

use std::sync::Arc;

use assay_conduct::{Executor, PhaseOutcome, conduct};
use assay_results::environment::Environment;
use assay_results::knee::{CurvePoint, knee};
use assay_results::run::Run;
use assay_results::{HostId, HostSink, RunBuilder, RunEnd, RunEvent};
use assay_sim::service::Time;
use assay_sim::{Model, PlanSimulation, Service, SimOptions};
use assay_workload::job::{Arrival, Job, Limits, Phase, Rate};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::Pace;
use assay_workload::steps::Until;
use assay_workload::units::Nanos;
use assay_workload::{PhaseKind, Plan};

/// Mean time of one operation.
const SERVICE_NS: u64 = 100_000;

/// Runs phases on a simulated array.
struct Simulated {
    simulation: PlanSimulation,
    /// Makes the array of the next phase; `None`: all of them run on the one.
    scattered: Option<Scattered>,
}

/// An array whose mean time of an operation differs from window to window, around one millisecond.
struct Scattered {
    /// Standard deviation of its natural logarithm.
    scatter: f64,
    chance: u64,
}

impl Scattered {
    /// Between 0 and 1, alike in every run (xorshift64*).
    fn share(&mut self) -> f64 {
        self.chance ^= self.chance >> 12;
        self.chance ^= self.chance << 25;
        self.chance ^= self.chance >> 27;
        (self.chance.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self, plan: &Plan) -> PlanSimulation {
        // Box, Muller 1958.
        let normal = (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos();
        let mean_ns = 1e6 * (self.scatter * normal).exp();
        let model = Model::known_latency(Service::Exponential(Time(mean_ns as u64)), Service::ZERO);
        PlanSimulation::new(&model, plan, self.chance).expect("a simulation")
    }
}

impl Executor for Simulated {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        if let Some(scattered) = &mut self.scattered {
            self.simulation = scattered.next(plan);
        }
        match self
            .simulation
            .run_phase(plan, phase, &SimOptions::default(), &mut |event| sink(HostId::FIRST, event))
        {
            Ok(None) => PhaseOutcome::Done,
            Ok(Some(why)) => PhaseOutcome::Failed(why),
            Err(error) => PhaseOutcome::Failed(error.to_string()),
        }
    }

    fn stopped(&self) -> bool {
        false
    }

    fn settle(&mut self, _: &Arc<Plan>, _: usize, _: &mut HostSink<'_>) {}

    fn elapsed_ms(&self) -> u64 {
        0
    }
}

/// A job whose slots are servers: the array only delays, so arrivals that find all slots taken wait as in M/M/c.
fn job(servers: u32, seconds: u64) -> Job {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_independent());
    let limits = Limits { time: Some(Nanos::from_secs(seconds)), ..Limits::default() };
    lun::job("reads", pattern, servers, limits)
}

fn run(phases: Vec<Phase>) -> Run {
    run_on(None, phases)
}

fn run_on(scattered: Option<Scattered>, phases: Vec<Phase>) -> Run {
    let plan = Arc::new(lun::plan(5, 1 << 30, phases).expect("a plan"));
    let model = Model::known_latency(Service::Exponential(Time(SERVICE_NS)), Service::ZERO);
    let simulation = PlanSimulation::new(&model, &plan, 11).expect("a simulation");
    let mut executor = Simulated { simulation, scattered };
    let mut builder = RunBuilder::new();
    builder.feed(&RunEvent::RunStarted {
        id: "virt".to_owned(),
        started: "2025-03-04T05:06:07Z".to_owned(),
        plan: Box::new(Plan::clone(&plan)),
        environment: Box::<Environment>::default(),
        version: String::new(),
        commit: None,
    });
    let (end, error) = conduct(&plan, &mut executor, &mut |event| builder.feed(&event));
    assert_eq!((end, error), (RunEnd::Completed, None));
    builder.finish().expect("a run")
}

/// Mean response time of M/M/c in service times (Erlang C).
fn mean_response(servers: u32, load: f64) -> f64 {
    let c = f64::from(servers);
    let offered = c * load;
    let mut blocked = 1.0;
    for n in 1..=servers {
        blocked = offered * blocked / (f64::from(n) + offered * blocked);
    }
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    1.0 + waits / (c * (1.0 - load))
}

fn curve(servers: u32, percents: &[f64], seconds: u64) -> Vec<Phase> {
    let point = |word: String, rate| Phase {
        point: assay_workload::SweepPoint::new(word),
        ..Phase::measure("curve", vec![Job { rate, arrival: Arrival::Poisson, ..job(servers, seconds) }])
    };
    let max = point("curve=max".to_owned(), Rate::Unlimited);
    let shares = percents.iter().map(|p| point(format!("curve={p}%"), Rate::PercentOfMax(*p)));
    std::iter::once(max).chain(shares).collect()
}

/// Shares of the unlimited rate are what is offered, response times follow Erlang, and the knee is where power is highest.
#[test]
fn a_curve_on_known_queues_has_its_knee_where_theory_has_it() {
    for servers in [1, 4] {
        let percents: Vec<f64> = (1..=9).map(|tenth| f64::from(tenth) * 10.0).collect();
        let found = run(curve(servers, &percents, 5));
        let capacity = f64::from(servers) * 1e9 / SERVICE_NS as f64;
        let mut measured = Vec::new();
        for (phase, percent) in found.phases[1..].iter().zip(&percents) {
            let (total, load) = (&phase.jobs[0].total, percent / 100.0);
            let response = total.response_ns.expect("a response time");
            assert!(
                (total.iops / (load * capacity) - 1.0).abs() < 0.05,
                "{servers} {percent}: {}",
                total.iops
            );
            let expected_ns = SERVICE_NS as f64 * mean_response(servers, load);
            let off = (response.mean / expected_ns - 1.0).abs();
            // Near saturation a few seconds are few.
            assert!(
                off < if load < 0.75 { 0.1 } else { 0.35 },
                "{servers} {percent}: {} {expected_ns}",
                response.mean
            );
            measured.push(CurvePoint { iops: total.iops, mean_ns: response.mean });
        }
        let power = |load: &f64| load / mean_response(servers, *load);
        let best = (1..=9)
            .map(|tenth| f64::from(tenth) / 10.0)
            .max_by(|a, b| power(a).total_cmp(&power(b)))
            .expect("nine loads");
        let at = knee(&measured).expect("a knee within the curve");
        // The power is flat around its highest, so a neighbour will do.
        assert!((percents[at] / 100.0 - best).abs() < 0.11, "{servers}: {} and not {best}", percents[at]);
        assert!(servers > 1 || best == 0.5);
    }
}

/// The 99th percentile of M/M/1 is `S ln 100 / (1 - load)`.
#[test]
fn a_search_finds_the_rate_at_which_a_known_queue_reaches_the_limit() {
    let limit_ns = 1_500_000.0;
    let truth = (1.0 - SERVICE_NS as f64 * 100_f64.ln() / limit_ns) * 1e9 / SERVICE_NS as f64;
    let until = Some(Until::Rate("p99<1500us".parse().expect("a goal")));
    let found = run(vec![Phase { until, ..Phase::measure("search", vec![job(1, 10)]) }]);
    let best = found
        .phases
        .iter()
        .filter(|phase| {
            phase.jobs[0].total.response_ns.is_some_and(|r| r.p99.unwrap_or(u64::MAX) < limit_ns as u64)
        })
        .map(|phase| phase.jobs[0].evidence.offered_iops.expect("a rate was offered"))
        .fold(0.0, f64::max);
    // The search stops at a gap of 5 %, and ten seconds tell the percentile to a few per cent.
    assert!((best / truth - 1.0).abs() < 0.08, "{best} and not {truth}");
    let said = found.remarks.iter().find(|remark| remark.id == "find-rate").expect("the result is said");
    assert!(said.text.contains("the highest rate with p99<1.5 ms is between"), "{}", said.text);
    // The answer is a figure with its interval, and rates that are too high on purpose do not make the run invalid.
    let answers: Vec<_> = found.phases.iter().flat_map(|phase| &phase.metrics).collect();
    let [(name, answer)] = answers.as_slice() else { panic!("one answer: {answers:?}") };
    let (low, high) = answer.interval.expect("an interval");
    assert_eq!((name.as_str(), answer.value), ("highest rate with p99<1.5 ms", low));
    assert!(low < truth && truth < high && high < 1.25 * low, "{low} to {high}, and not {truth}");
    let missed: Vec<_> = found.findings.iter().filter(|finding| finding.id == "rate-not-reached").collect();
    assert!(
        missed.iter().all(|finding| finding.severity == assay_results::run::FindingSeverity::Info),
        "{missed:?}"
    );
    assert!(found.phases.len() < 37, "it stops by its rule: {}", found.phases.len());
    let pace = found.plan.phases[2].jobs[0].pace;
    assert!(matches!(pace, Pace::Open { .. }), "the resolved rate is in the plan: {pace:?}");
}

/// A mean of M/M/1 is `S / (1 - load)`: below 4 ms up to three quarters of the capacity. Windows that scatter leave the
/// interval wider, not wrong, and too high a rate on purpose does not make the run invalid.
#[test]
fn the_answer_holds_the_truth_however_much_windows_scatter() {
    let truth = 750.0;
    let (mut held, mut searches) = (0, 0);
    let mut wrong = Vec::new();
    for (level, scatter) in [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0].into_iter().enumerate() {
        for seed in 1..=25 {
            let until = Some(Until::Rate("mean<4ms".parse().expect("a goal")));
            let scattered =
                Scattered { scatter, chance: 0x5EA2_C4ED + 1_000_003 * (25 * level as u64 + seed) };
            let found =
                run_on(Some(scattered), vec![Phase { until, ..Phase::measure("search", vec![job(1, 1)]) }]);
            let [answer] = assay_results::search::answers(&found).try_into().expect("one search");
            let interval = answer.rate.and_then(|rate| rate.interval);
            searches += 1;
            match interval {
                Some((low, high)) if low <= truth && truth <= high => held += 1,
                other => wrong.push((scatter, seed, other)),
            }
            assert!(found.phases.len() <= 37, "{}", found.phases.len());
            assert_ne!(found.verdict, assay_results::run::Verdict::Invalid, "{:#?}", found.findings);
        }
    }
    assert_eq!(searches, 200);
    assert!(held >= 190, "{held} of {searches}: {wrong:?}");
}

#[test]
fn rounds_on_a_device_that_does_not_move_end_with_the_first_window() {
    let until = Some(Until::Steady(assay_workload::steps::UntilSteady::default()));
    let found = run(vec![Phase { until, ..Phase::measure("rounds", vec![job(4, 2)]) }]);
    let measured = found.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).count();
    assert_eq!((found.phases.len(), measured), (5, 5));
    assert!(found.remarks.iter().any(|remark| remark.id == "steady-state"));
    assert!(found.plan.phases.iter().all(|phase| phase.kind == PhaseKind::Measure));
}
