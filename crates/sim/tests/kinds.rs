//! A kind of job that nothing knows of runs for real and in virtual time, by the same code.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_engine::driver::{PhaseOptions, run_phase};
use assay_engine::{Blocks, Clock as _};
use assay_results::HostEvent;
use assay_sim::{Model, PlanSimulation, SimOptions, Volumes};
use assay_workload::job::{Job, Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::Plan;

#[path = "support/ticking.rs"]
mod ticking;

use ticking::Ticking;

fn job(name: &str) -> Job {
    let limits = Limits { ios: Some(1000), ..Limits::default() };
    lun::job(name, AccessPattern::new(Mix::READ, 4096, Placement::random_independent()), 4, limits)
}

fn plan(jobs: Vec<Job>) -> Plan {
    lun::plan(5, 1 << 30, vec![Phase::measure("measure", jobs)]).unwrap()
}

/// What was seen of a phase: operations and interval ends of each job, engines, and notes.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    ios: [u64; 2],
    intervals: usize,
    engines: Vec<String>,
    notes: Vec<String>,
}

impl Seen {
    fn feed(&mut self, event: HostEvent) {
        match event {
            HostEvent::Interval(interval) => {
                self.ios[interval.key.job as usize] += interval.counts.data_ios();
                self.intervals += usize::from(interval.key.job == 0);
            }
            HostEvent::JobFinished { outcome, .. } => self.engines.push(outcome.engine.clone()),
            HostEvent::Note { id, text, .. } => self.notes.push(format!("{id}: {text}")),
            _ => {}
        }
    }
}

#[test]
fn a_kind_that_nothing_knows_of_runs_in_virtual_time_beside_block_jobs() {
    let plan = plan(vec![job("ticking"), job("blocks")]);
    let ticking = Ticking { ticks: 25 };
    let options =
        SimOptions { interval_ns: 100_000_000, kinds: &[&ticking, &Volumes], ..SimOptions::default() };
    let model = Model::shipped("known-latency").unwrap();
    let mut simulation = PlanSimulation::new(&model, &plan, 1).unwrap();
    let mut seen = Seen::default();
    assert_eq!(simulation.run_phase(&plan, 0, &options, &mut |event| seen.feed(event)).unwrap(), None);
    assert_eq!((seen.ios, seen.intervals), ([25, 1000], 3), "{seen:?}");
    assert_eq!(
        (seen.engines, seen.notes),
        (vec!["ticking".into(), "sim".into()], vec!["ticking: 25 ticks".into()])
    );
    assert_eq!(simulation.clock().now_ns(), 250_000_000, "to the nanosecond");
}

#[test]
fn the_same_kind_runs_for_real() {
    let plan = plan(vec![job("ticking")]);
    let ticking = Ticking { ticks: 8 };
    let stop = Arc::new(AtomicBool::new(false));
    let options = PhaseOptions {
        interval: Duration::from_millis(50),
        stop,
        kinds: &[&ticking, &Blocks::default()],
        start: None,
        given_up: &|_| {},
    };
    let mut seen = Seen::default();
    let end = run_phase(&plan, 0, &options, &mut |event| seen.feed(event), &mut |_| {}).unwrap();
    assert_eq!((end.error, seen.ios), (None, [8, 0]));
    assert_eq!((seen.engines, seen.notes), (vec!["ticking".into()], vec!["ticking: 8 ticks".into()]));
}

#[test]
fn what_no_kind_takes_is_refused_by_name() {
    let plan = plan(vec![job("blocks"), job("other")]);
    let ticking = Ticking { ticks: 1 };
    let model = Model::shipped("known-latency").unwrap();
    let options = SimOptions { kinds: &[&ticking], ..SimOptions::default() };
    let mut simulation = PlanSimulation::new(&model, &plan, 1).unwrap();
    let error = simulation.run_phase(&plan, 0, &options, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "job 'blocks' cannot be simulated: the array model has no files, only volumes"
    );
}
