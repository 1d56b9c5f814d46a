//! Jobs that end before their own limits do, in virtual time.

use assay_workload::job::{EndsWith, SteadyFigure, SteadyLimit};

use super::*;

const HOUR_S: u64 = 3600;

fn constant() -> Model {
    Model::known_latency(Service::Constant(Time(100_000)), Service::ZERO)
}

fn ending(name: &str, with: Option<EndsWith>, seconds: u64) -> Job {
    let mut job = job(name, Mix::READ, 2, 2, seconds);
    job.limits.ends_with = with;
    job
}

/// What each job measured, in seconds, the simulated time that went by, and the notes.
fn ended(jobs: Vec<Job>) -> (Vec<f64>, f64, Vec<(String, String)>) {
    let (plan, mut measured, mut notes) = (plan_of(jobs), Vec::new(), Vec::new());
    let mut simulation = PlanSimulation::new(&constant(), &plan, 1).unwrap();
    let mut sink = |event| match event {
        HostEvent::JobFinished { outcome, .. } => measured.push(outcome.measured_ns as f64 / 1e9),
        HostEvent::Note { id, text, .. } => notes.push((id, text)),
        _ => {}
    };
    assert_eq!(simulation.run_phase(&plan, 0, &SimOptions::default(), &mut sink).unwrap(), None);
    (measured, simulation.clock().now_ns() as f64 / 1e9, notes)
}

fn near(measured: f64, seconds: f64) -> bool {
    (measured - seconds).abs() < 0.01
}

#[test]
fn the_first_that_ends_ends_those_that_say_so() {
    let first = Some(EndsWith::First);
    let jobs = vec![ending("short", first, 1), ending("long", first, HOUR_S), ending("own", None, 2)];
    let (measured, _, _) = ended(jobs);
    assert!(near(measured[0], 1.0) && near(measured[1], 1.0) && near(measured[2], 2.0), "{measured:?}");
}

#[test]
fn a_job_ends_when_all_others_have() {
    let jobs = vec![
        ending("one", None, 1),
        ending("two", None, 3),
        ending("background", Some(EndsWith::Others), HOUR_S),
    ];
    let (measured, _, _) = ended(jobs);
    assert!(near(measured[0], 1.0) && near(measured[1], 3.0) && near(measured[2], 3.0), "{measured:?}");
}

/// One operation in a thousand seconds: nothing would step its loop meanwhile.
#[test]
fn a_job_that_waits_is_ended_as_soon_as_one_that_works() {
    let mut slow = ending("slow", Some(EndsWith::First), HOUR_S);
    slow.rate = Rate::Iops(0.001);
    let mut late = ending("late", Some(EndsWith::First), HOUR_S);
    late.start_delay = Nanos::from_secs(600);
    let (_, elapsed_s, _) = ended(vec![ending("short", Some(EndsWith::First), 1), slow, late]);
    assert!(near(elapsed_s, 1.0), "{elapsed_s}");
}

#[test]
fn a_job_ends_when_it_is_steady_and_says_when_it_never_was() {
    let steady = |percent_max| SteadyLimit {
        figure: SteadyFigure::Iops,
        slope: false,
        percent_max,
        window: Nanos::from_secs(4),
        skip: Nanos(0),
    };
    let mut job = ending("steady", None, HOUR_S);
    job.limits.steady = Some(steady(5.0));
    let (measured, _, notes) = ended(vec![job]);
    assert!(near(measured[0], 4.0), "{measured:?}");
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].0, "steady-state");
    assert!(notes[0].1.starts_with("steady: steady after 4 intervals"), "{}", notes[0].1);
    // Shorter than its window.
    let mut job = ending("short", None, 2);
    job.limits.steady = Some(steady(5.0));
    let (measured, _, notes) = ended(vec![job]);
    assert!(near(measured[0], 2.0), "{measured:?}");
    assert_eq!(notes[0].0, "never-steady");
}

#[test]
fn a_stop_ends_jobs_that_others_would_end_too() {
    let jobs = vec![ending("a", Some(EndsWith::First), HOUR_S), ending("b", Some(EndsWith::Others), HOUR_S)];
    let plan = plan_of(jobs);
    let mut simulation = PlanSimulation::new(&constant(), &plan, 1).unwrap();
    let options = SimOptions::default();
    let mut sink = |event| {
        if let HostEvent::Interval(interval) = event {
            options.stop.store(interval.key.index >= 1, Ordering::Relaxed);
        }
    };
    simulation.run_phase(&plan, 0, &options, &mut sink).unwrap();
    let elapsed_s = simulation.clock().now_ns() as f64 / 1e9;
    assert!((2.0..2.1).contains(&elapsed_s), "{elapsed_s}");
}
