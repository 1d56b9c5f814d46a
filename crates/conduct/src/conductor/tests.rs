use super::*;
use assay_results::counters::{Counters, DeviceCounters};
use assay_results::environment::{BlockDevice, Resolution, TargetEnvironment};
use assay_workload::job::{EngineKind, Job, Phase, Rate, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::resolve::{Inventory, TargetFacts};
use assay_workload::steps::{Until, UntilSteady};
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::Bytes;
use assay_workload::{PhaseKind, SweepPoint};

struct Script {
    outcomes: Vec<PhaseOutcome>,
    ran: Vec<usize>,
    settled: Vec<usize>,
    stop_after: usize,
}

impl Executor for Script {
    fn execute(&mut self, _: &Arc<Plan>, phase: usize, _: &mut HostSink<'_>) -> PhaseOutcome {
        self.ran.push(phase);
        self.outcomes[phase].clone()
    }
    fn stopped(&self) -> bool {
        self.ran.len() >= self.stop_after
    }
    fn settle(&mut self, _: &Arc<Plan>, phase: usize, _: &mut HostSink<'_>) {
        self.settled.push(phase);
    }
    fn elapsed_ms(&self) -> u64 {
        0
    }
}

fn plan(phases: usize) -> Arc<Plan> {
    let job = Job::new("j", &["t"], AccessPattern::new(Mix::READ, 4096, Placement::random_map()));
    planned((0..phases).map(|i| Phase::measure(&format!("p{i}"), vec![job.clone()])).collect())
}

fn planned(phases: Vec<Phase>) -> Arc<Plan> {
    let workload = Workload {
        name: "w".into(),
        seed: Some(1),
        hosts: Vec::new(),
        targets: vec![Target { name: "t".into(), path: "t".into(), kind: None, size: Some(Bytes(1 << 20)) }],
        phases,
    };
    let facts = TargetFacts {
        path: "t".into(),
        kind: TargetKind::File,
        existing_bytes: 0,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let inventory = Inventory {
        targets: [("t".to_owned(), facts)].into(),
        engines: vec![EngineKind::IoUring],
        ..Inventory::default()
    };
    Arc::new(assay_workload::resolve::plan(&workload, &inventory, 0).unwrap())
}

fn run(outcomes: Vec<PhaseOutcome>, stop_after: usize) -> (Script, RunEnd, Vec<RunEvent>) {
    let plan = plan(outcomes.len());
    let mut script = Script { outcomes, ran: vec![], settled: vec![], stop_after };
    let mut events = Vec::new();
    let (end, _) = conduct(&plan, &mut script, &mut |event| events.push(event));
    (script, end, events)
}

#[test]
fn a_phase_may_run_although_one_before_it_failed() {
    let failed = |why: &str| PhaseOutcome::Failed(why.to_owned());
    let mut phases = plan(4).as_ref().clone();
    // The second reads what the first wrote; the third and the fourth stand alone.
    phases.phases[2..].iter_mut().for_each(|phase| phase.despite_failure = true);
    let outcomes = vec![failed("first"), PhaseOutcome::Done, failed("second"), PhaseOutcome::Done];
    let mut script = Script { outcomes, ran: vec![], settled: vec![], stop_after: 9 };
    let ended = conduct(&Arc::new(phases), &mut script, &mut |_| {});
    assert_eq!(ended, (RunEnd::Failed, Some("first".to_owned())));
    assert_eq!((script.ran, script.settled), (vec![0, 2, 3], vec![3]));
}

#[test]
fn phases_go_in_order_and_settle() {
    let (script, end, events) = run(vec![PhaseOutcome::Done, PhaseOutcome::Done], 9);
    assert_eq!((script.ran, script.settled, end), (vec![0, 1], vec![0, 1], RunEnd::Completed));
    assert!(matches!(events.last(), Some(RunEvent::RunFinished { end: RunEnd::Completed, .. })));
}

#[test]
fn a_failure_ends_the_run_and_is_said() {
    let (script, end, events) = run(vec![PhaseOutcome::Failed("no space".into()), PhaseOutcome::Done], 9);
    assert_eq!((script.ran, script.settled, end), (vec![0], vec![], RunEnd::Failed));
    let Some(RunEvent::RunFinished { error, .. }) = events.last() else { panic!("no end") };
    assert_eq!(error.as_deref(), Some("no space"));
}

#[test]
fn a_stop_between_phases_is_an_interruption() {
    let (script, end, _) = run(vec![PhaseOutcome::Done, PhaseOutcome::Done], 1);
    assert_eq!((script.ran, end), (vec![0], RunEnd::Interrupted));
}

/// Two hosts, of which the second tells nothing, and what is said of the phase.
struct Silent {
    hosts: Vec<HostInfo>,
    outcome: PhaseOutcome,
    goes_on: bool,
}

impl Executor for Silent {
    fn hosts(&self) -> &[HostInfo] {
        &self.hosts
    }
    fn execute(&mut self, _: &Arc<Plan>, _: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let outcome = Box::new(assay_results::JobOutcome::default());
        sink(HostId::FIRST, HostEvent::JobFinished { phase: 0, job: 0, outcome });
        if self.goes_on {
            self.hosts.truncate(1);
        }
        self.outcome.clone()
    }
    fn goes_on_after_loss(&self) -> bool {
        self.goes_on
    }
    fn stopped(&self) -> bool {
        false
    }
    fn settle(&mut self, _: &Arc<Plan>, _: usize, _: &mut HostSink<'_>) {}
    fn elapsed_ms(&self) -> u64 {
        0
    }
}

fn host(id: u16, name: &str) -> HostInfo {
    HostInfo { id: HostId(id), name: name.to_owned(), environment: Environment::default() }
}

/// A run goes on with the hosts that are left where the executor wants it to, and tells the loss once.
#[test]
fn a_run_that_goes_on_after_a_loss_does_all_phases() {
    let hosts = vec![host(0, "left"), host(1, "right")];
    let mut silent = Silent { hosts, outcome: PhaseOutcome::Done, goes_on: true };
    let mut events = Vec::new();
    let (end, error) = conduct(&plan(1), &mut silent, &mut |event| events.push(event));
    assert_eq!((end, error), (RunEnd::Completed, None));
    let lost =
        events.iter().filter(|event| matches!(event, RunEvent::Host { event: HostEvent::Lost { .. }, .. }));
    assert_eq!(lost.count(), 1);
}

#[test]
fn a_host_that_tells_nothing_is_lost() {
    for outcome in [PhaseOutcome::Done, PhaseOutcome::Lost(vec![HostId(1)])] {
        let hosts = vec![host(0, "left"), host(1, "right")];
        let mut silent = Silent { hosts, outcome, goes_on: false };
        let mut events = Vec::new();
        let (end, error) = conduct(&plan(2), &mut silent, &mut |event| events.push(event));
        assert_eq!((end, error.as_deref()), (RunEnd::Failed, Some("worker lost: right")));
        let lost = |event: &RunEvent| match event {
            RunEvent::Host { host, event: HostEvent::Lost { phase, why } } => {
                Some((*host, *phase, why.to_string()))
            }
            _ => None,
        };
        let lost: Vec<_> = events.iter().filter_map(lost).collect();
        assert_eq!(lost, [(HostId(1), 0, "no complete result received".to_owned())]);
    }
}

#[test]
fn of_many_lost_hosts_the_first_are_named() {
    let hosts: Vec<HostInfo> = (0..200).map(|id| host(id, &format!("w{id}"))).collect();
    let lost: Vec<HostId> = hosts[..104].iter().map(|host| host.id).collect();
    assert_eq!(lost_words(&lost, &hosts), "workers lost: w0, w1, w2, w3, w4 and 99 more");
    assert_eq!(lost_words(&lost[..5], &hosts), "workers lost: w0, w1, w2, w3, w4");
}

/// An array that serves `capacity` operations a second, and whose mean time follows a single server's.
struct Server {
    capacity: f64,
    /// What each phase reaches without a rate, over `capacity`; the last one goes on.
    course: Vec<f64>,
    ran: Vec<(usize, f64)>,
    /// Executions before which others read from the device.
    others: Vec<usize>,
    environment: Option<Environment>,
}

impl Server {
    /// Two readings of the device from `second` on, between which it read so many bytes.
    fn readings(&self, second: u64, read_bytes: u64, sink: &mut HostSink<'_>) {
        for (second, read_bytes) in [(second, 0), (second + 1, read_bytes)] {
            let at_ns = second * 1_000_000_000;
            let device = DeviceCounters {
                name: "sda".to_owned(),
                at_ns,
                read_bytes,
                reads: read_bytes / 4096,
                ..Default::default()
            };
            let record = Box::new(Counters { at_ns, devices: vec![device], ..Default::default() });
            sink(HostId::FIRST, HostEvent::Counters { phase: self.ran.len() as u32, record });
        }
    }
}

impl Executor for Server {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let level = self.course.get(self.ran.len()).or(self.course.last()).copied().unwrap_or(1.0);
        let offered = plan.phases[phase].jobs[0].slices_iops();
        let (unlimited, offered) = (offered.is_none(), offered.unwrap_or(0.0));
        self.readings(5, 40 << 20, sink);
        let iops = if unlimited { self.capacity * level } else { offered.min(self.capacity) };
        self.ran.push((phase, offered));
        let mut counts = assay_results::JobCounts::default();
        let op = counts.op_mut(assay_workload::pattern::OpKind::Read);
        (op.ios, op.bytes) = (iops as u64, 4096 * iops as u64);
        let time_ns = 1e5 / (1.0 - (iops / self.capacity).min(0.999));
        if unlimited {
            op.completion.record_n(1_000_000, op.ios);
        } else {
            op.response.record_n(time_ns as u64, op.ios);
        }
        let key = assay_results::IntervalKey {
            phase: phase as u32,
            job: 0,
            index: 0,
            ramp: false,
            start_ns: 0,
            length_ns: 1_000_000_000,
        };
        sink(HostId::FIRST, HostEvent::Interval(Box::new(assay_results::Interval { key, counts })));
        let outcome = assay_results::JobOutcome { measured_ns: 1_000_000_000, ..Default::default() };
        sink(
            HostId::FIRST,
            HostEvent::JobFinished { phase: phase as u32, job: 0, outcome: Box::new(outcome) },
        );
        PhaseOutcome::Done
    }
    fn idle_window(&mut self, _: &Arc<Plan>, _: usize, when: When, sink: &mut HostSink<'_>) {
        if when == When::Before && self.others.contains(&self.ran.len()) {
            self.readings(1, 20 << 20, sink);
        }
    }
    fn environment(&self) -> Option<&Environment> {
        self.environment.as_ref()
    }
    fn stopped(&self) -> bool {
        false
    }
    fn settle(&mut self, _: &Arc<Plan>, _: usize, _: &mut HostSink<'_>) {}
    fn elapsed_ms(&self) -> u64 {
        0
    }
}

/// What ran, at which rates, the events, and how it ended.
type Served = (Vec<(usize, f64)>, Vec<RunEvent>, RunEnd, Option<String>);

fn serve(phases: Vec<Phase>, course: &[f64]) -> Served {
    let mut events = Vec::new();
    let mut server = Server {
        capacity: 10_000.0,
        course: course.to_vec(),
        ran: Vec::new(),
        others: Vec::new(),
        environment: None,
    };
    let (end, error) = conduct(&planned(phases), &mut server, &mut |event| events.push(event));
    (server.ran, events, end, error)
}

fn job() -> Job {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let limits = assay_workload::job::Limits {
        time: Some(assay_workload::units::Nanos::from_secs(1)),
        ..Default::default()
    };
    Job { threads: 2, limits, ..Job::new("j", &["t"], pattern) }
}

fn at(point: &str, rate: Rate) -> Phase {
    Phase { point: SweepPoint::new(point), ..Phase::measure("p", vec![Job { rate, ..job() }]) }
}

fn note(events: &[RunEvent], wanted: &str) -> String {
    let text = |event: &RunEvent| match event {
        RunEvent::Host { event: HostEvent::Note { id, text, .. }, .. } if id == wanted => Some(text.clone()),
        _ => None,
    };
    events.iter().find_map(text).unwrap_or_default()
}

#[test]
fn a_curve_offers_shares_of_what_was_reached() {
    let phases = vec![
        at("curve=max", Rate::Unlimited),
        at("curve=50%", Rate::PercentOfMax(50.0)),
        at("curve=90%", Rate::PercentOfMax(90.0)),
    ];
    let (ran, events, end, _) = serve(phases, &[0.8]);
    assert_eq!(ran, [(0, 0.0), (1, 4000.0), (2, 7200.0)]);
    assert_eq!(end, RunEnd::Completed);
    let resolved = events.iter().find_map(|event| match event {
        RunEvent::PhaseResolved { phase: 2, planned } => Some(planned),
        _ => None,
    });
    let job = &resolved.expect("it is recorded").jobs[0];
    assert_eq!((job.offered_iops(), job.slice_iops(&job.slices[1])), (Some(7200.0), Some(3600.0)));
}

#[test]
fn a_curve_ends_behind_the_first_point_that_is_too_slow() {
    use assay_workload::steps::LatencyLimit;
    // Mean 100 us / (1 - load): 200 us at 50 %, 400 us at 75 %.
    let until = Some(Until::Below(LatencyLimit { limit_ns: 300_000 }));
    let point = |percent: f64| Phase {
        until,
        name: format!("p_({percent}%)"),
        ..at("", Rate::PercentOfMax(percent))
    };
    let phases =
        vec![at("", Rate::Unlimited), point(50.0), point(75.0), point(90.0), at("last", Rate::Unlimited)];
    let (ran, events, end, _) = serve(phases, &[1.0]);
    assert_eq!(ran.iter().map(|ran| ran.0).collect::<Vec<_>>(), [0, 1, 2, 4]);
    assert_eq!(end, RunEnd::Completed);
    assert!(note(&events, "curve-stopped").contains("1 more points"), "{}", note(&events, "curve-stopped"));
}

#[test]
fn a_share_of_nothing_is_a_failure() {
    let (ran, _, end, error) = serve(vec![at("", Rate::PercentOfMax(50.0))], &[1.0]);
    assert_eq!((ran.len(), end), (0, RunEnd::Failed));
    let error = error.expect("why");
    assert!(error.contains("no phase before it ran without a rate"), "{error}");
}

#[test]
fn a_search_ends_at_the_highest_rate_that_meets_the_goal() {
    // Mean 100 us / (1 - load) < 500 us: load 0.8 of 10000 a second.
    let until = Some(Until::Rate("mean<500us".parse().unwrap()));
    let (ran, events, end, _) =
        serve(vec![Phase { until, ..at("", Rate::Unlimited) }, at("", Rate::Unlimited)], &[1.0]);
    assert_eq!(end, RunEnd::Completed);
    assert_eq!(&ran[..4], [(0, 0.0), (1, 10_000.0), (2, 5_000.0), (3, 7_500.0)]);
    assert_eq!(ran.last().map(|ran| ran.0), Some(37), "what follows the search runs");
    let text = note(&events, "find-rate");
    assert!(
        text.contains(
            "between 7812 IOPS, which meet it, and 8125 IOPS, which do not (6 windows of 6 each; 18 steps"
        ),
        "{text}"
    );
    // Behind the six steps that looked for the bounds, those are measured by turns.
    let rates: Vec<f64> = ran[7..19].iter().map(|ran| ran.1).collect();
    assert!(rates.chunks(2).all(|turn| turn == [7812.5, 8125.0]), "{rates:?}");
    assert_eq!(ran.len(), 20);
    let points: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::PhaseResolved { planned, .. } => Some(planned.point.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(points[..3], ["find=100%", "find=50%", "find=75%"]);
}

#[test]
fn a_step_that_others_disturbed_is_repeated_and_that_has_a_bound() {
    let device = BlockDevice { name: "sda".to_owned(), ..Default::default() };
    let target = TargetEnvironment {
        path: "t".to_owned(),
        devices: vec![device],
        resolution: Resolution::Resolved,
        ..Default::default()
    };
    let environment = Environment { targets: vec![target], ..Default::default() };
    let search = |others: Vec<usize>| {
        let until = Some(Until::Rate("mean<500us".parse().unwrap()));
        let mut server = Server {
            capacity: 10_000.0,
            course: vec![1.0],
            ran: Vec::new(),
            others,
            environment: Some(environment.clone()),
        };
        let mut events = Vec::new();
        conduct(&planned(vec![Phase { until, ..at("", Rate::Unlimited) }]), &mut server, &mut |e| {
            events.push(e)
        });
        (server.ran.iter().map(|ran| ran.1).collect::<Vec<f64>>(), note(&events, "find-rate-repeated"))
    };
    let (rates, text) = search(vec![0, 3]);
    assert_eq!(rates[..6], [0.0, 0.0, 10_000.0, 5_000.0, 5_000.0, 7_500.0]);
    assert!(text.contains("find=max: repeated, because of other processes"), "{text}");
    // Where they never stop, three repetitions are enough.
    let (rates, _) = search((0..20).collect());
    assert_eq!(rates[..6], [0.0, 0.0, 0.0, 0.0, 10_000.0, 5_000.0]);
}

#[test]
fn a_goal_that_nothing_meets_is_said() {
    let until = Some(Until::Rate("mean<50us".parse().unwrap()));
    let (ran, events, ..) = serve(vec![Phase { until, ..at("", Rate::Unlimited) }], &[1.0]);
    assert_eq!(ran.len(), 13);
    assert!(note(&events, "find-rate").contains("not even"), "{}", note(&events, "find-rate"));
}

#[test]
fn rounds_end_when_they_are_steady_and_the_last_window_counts() {
    let until = Some(Until::Steady(UntilSteady::default()));
    let course: Vec<f64> = (0..25).map(|i| 1.0 + 4.0 * (-0.5 * f64::from(i)).exp()).collect();
    let (ran, events, end, _) = serve(vec![Phase { until, ..at("", Rate::Unlimited) }], &course);
    assert_eq!(end, RunEnd::Completed);
    // As in the unit test of the rule itself: settled from the seventh to the tenth round on, five rounds in the window.
    assert!((11..=14).contains(&ran.len()), "{}", ran.len());
    assert!(note(&events, "steady-state").contains("steady after"), "{}", note(&events, "steady-state"));
    let kinds: Vec<(PhaseKind, u32)> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::PhaseResolved { planned, .. } => Some((planned.kind, planned.repeat)),
            _ => None,
        })
        .collect();
    let measured: Vec<u32> =
        kinds.iter().filter(|kind| kind.0 == PhaseKind::Measure).map(|kind| kind.1).collect();
    assert_eq!((kinds.len(), measured), (ran.len(), vec![0, 1, 2, 3, 4]));
}

#[test]
fn rounds_that_never_settle_end_at_the_bound_and_say_so() {
    let until = Some(Until::Steady(UntilSteady { rounds_max: 8, ..UntilSteady::default() }));
    let rising: Vec<f64> = (0..30).map(|i| 1.1_f64.powi(i)).collect();
    let (ran, events, ..) = serve(vec![Phase { until, ..at("", Rate::Unlimited) }], &rising);
    assert_eq!(ran.len(), 8);
    assert!(note(&events, "never-steady").contains("not steady after 8 rounds"));
}

#[test]
fn a_round_is_all_points_of_a_phase() {
    let until = Some(Until::Steady(UntilSteady::default()));
    let phases = vec![
        Phase { until, ..at("a=1", Rate::Unlimited) },
        Phase { until, ..at("a=2", Rate::Unlimited) },
        at("", Rate::Unlimited),
    ];
    let (ran, ..) = serve(phases, &[1.0]);
    let order: Vec<usize> = ran.iter().map(|ran| ran.0).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 50]);
}
