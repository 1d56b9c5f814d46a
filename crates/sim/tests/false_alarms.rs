//! How often the checks speak of a run that nothing is wrong with: clean runs on simulated storage, where the truth is
//! known to be still, and doses of trouble that must be seen.

use assay_engine::Clock as _;
use assay_results::environment::Environment;
use assay_results::{FindingSeverity, Run, RunBuilder, RunEnd, RunEvent};
use assay_sim::{Model, PlanSimulation, SimOptions};
use assay_workload::Plan;
use assay_workload::job::{Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::units::Nanos;

/// Clean runs; with none of them flagged, the share of false alarms is below 4 % at 97.5 %.
const CLEAN_RUNS: u64 = 100;

fn plan(mix: Mix, outstanding: u32, seed: u64) -> Plan {
    let pattern = AccessPattern::new(mix, 4096, Placement::random_independent());
    let limits = Limits { time: Some(Nanos(1_250_000_000)), ..Limits::default() };
    let job = lun::job("job", pattern, outstanding, limits);
    lun::plan(seed, 1 << 30, vec![Phase::measure("measure", vec![job])]).expect("a plan")
}

/// Runs a plan on the model and builds the run, judged.
fn judged(model: &Model, plan: &Plan, seed: u64) -> Run {
    let mut builder = RunBuilder::new();
    builder.feed(&RunEvent::RunStarted {
        id: format!("{seed:08x}"),
        started: "2026-01-01T00:00:00Z".to_owned(),
        plan: Box::new(plan.clone()),
        environment: Box::new(Environment::default()),
        version: "0".to_owned(),
        commit: None,
    });
    builder.feed(&RunEvent::PhaseStarted { phase: 0, at_ms: 0 });
    let mut simulation = PlanSimulation::new(model, plan, seed).expect("a model");
    let options = SimOptions { interval_ns: 100_000_000, ..SimOptions::default() };
    let error = simulation
        .run_phase(plan, 0, &options, &mut |event| builder.feed(&event.into()))
        .expect("a simulated phase");
    assert_eq!(error, None);
    let at_ms = simulation.clock().now_ns() / 1_000_000;
    builder.feed(&RunEvent::PhaseFinished { phase: 0, at_ms });
    builder.feed(&RunEvent::RunFinished { end: RunEnd::Completed, at_ms, error: None });
    builder.finish().expect("a run")
}

fn doubts(run: &Run) -> Vec<String> {
    let grave = run.findings.iter().filter(|finding| finding.severity >= FindingSeverity::Warning);
    grave.map(|finding| format!("{}: {}", finding.id, finding.message)).collect()
}

/// The largest share of false alarms that so many of so many runs allow, one-sided at 97.5 % (Clopper and Pearson): the
/// share at which as few or fewer would be seen once in forty times.
fn upper(flagged: u64, runs: u64) -> f64 {
    let as_few = |share: f64| -> f64 {
        let mut term = (1.0 - share).powi(runs as i32);
        let mut sum = term;
        for k in 0..flagged {
            term *= (runs - k) as f64 / (k + 1) as f64 * share / (1.0 - share);
            sum += term;
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if as_few(middle) > 0.025 { low = middle } else { high = middle }
    }
    high
}

#[test]
fn clean_runs_raise_no_doubt() {
    let model = Model::shipped("ssd").expect("a shipped model");
    let mixes = [Mix::READ, Mix::WRITE, Mix::read_write(70.0)];
    let mut flagged = Vec::new();
    for seed in 0..CLEAN_RUNS {
        let outstanding = [1, 2, 4][(seed / 3 % 3) as usize];
        let run = judged(&model, &plan(mixes[(seed % 3) as usize], outstanding, seed), seed);
        assert!(run.phases[0].jobs[0].total.ios > 1000, "seed {seed}: hardly anything was done");
        let doubts = doubts(&run);
        if !doubts.is_empty() {
            flagged.push((seed, doubts));
        }
    }
    let share = upper(flagged.len() as u64, CLEAN_RUNS);
    let line =
        format!("{} of {CLEAN_RUNS} clean runs flagged: at most {:.1} %\n", flagged.len(), 100.0 * share);
    let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    assert!(share <= 0.06, "{line}{flagged:#?}");
}

#[test]
fn the_bound_is_that_of_clopper_and_pearson() {
    assert!((upper(0, 100) - 0.0362).abs() < 0.0005);
    assert!((upper(1, 30) - 0.1722).abs() < 0.0005);
}
