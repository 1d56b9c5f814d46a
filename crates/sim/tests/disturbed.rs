//! Repetitions on simulated storage of which some are disturbed, in virtual time: what is known to be wrong with them, and what
//! the verdict on their median says.

use assay_engine::Clock as _;
use assay_results::environment::Environment;
use assay_results::{FindingSeverity, Run, RunBuilder, RunEnd, RunEvent, Verdict, checks};
use assay_sim::{Model, PlanSimulation, SimOptions};
use assay_workload::Plan;
use assay_workload::job::{Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::units::Nanos;

const WINDOWS: u32 = 5;
/// Share of the processors' time that the host takes from a disturbed window.
const STOLEN: f64 = 0.4;

/// Five windows of the same reads; a disturbed one completes as much less as was stolen.
fn repeated(seed: u64, disturbed: &[usize]) -> Run {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_independent());
    let limits = Limits { time: Some(Nanos(500_000_000)), ..Limits::default() };
    let job = lun::job("reads", pattern, 4, limits);
    let mut plan = lun::plan(seed, 1 << 30, vec![Phase::measure("reads", vec![job])]).expect("a plan");
    let phase = plan.phases[0].clone();
    plan.phases =
        (0..WINDOWS).map(|repeat| assay_workload::plan::PlannedPhase { repeat, ..phase.clone() }).collect();
    let mut run = simulated(&plan, seed);
    for window in disturbed {
        let phase = &mut run.phases[*window];
        phase.evidence.steal_share = Some(STOLEN);
        let total = &mut phase.jobs[0].total;
        (total.iops, total.bytes_per_s) = (total.iops * (1.0 - STOLEN), total.bytes_per_s * (1.0 - STOLEN));
    }
    checks::judge(&mut run);
    run
}

fn simulated(plan: &Plan, seed: u64) -> Run {
    let model = Model::shipped("ssd").expect("a shipped model");
    let mut builder = RunBuilder::new();
    builder.feed(&RunEvent::RunStarted {
        id: format!("{seed:08x}"),
        started: "2026-01-01T00:00:00Z".to_owned(),
        plan: Box::new(plan.clone()),
        environment: Box::new(Environment::default()),
        version: "0".to_owned(),
        commit: None,
    });
    let mut simulation = PlanSimulation::new(&model, plan, seed).expect("a model");
    let options = SimOptions { interval_ns: 100_000_000, ..SimOptions::default() };
    let mut at_ms = 0;
    for phase in 0..plan.phases.len() {
        builder.feed(&RunEvent::PhaseStarted { phase: phase as u32, at_ms });
        let error = simulation
            .run_phase(plan, phase, &options, &mut |event| builder.feed(&event.into()))
            .expect("a simulated phase");
        assert_eq!(error, None);
        at_ms = simulation.clock().now_ns() / 1_000_000;
        builder.feed(&RunEvent::PhaseFinished { phase: phase as u32, at_ms });
    }
    builder.feed(&RunEvent::RunFinished { end: RunEnd::Completed, at_ms, error: None });
    builder.finish().expect("a run")
}

#[test]
fn clean_windows_are_valid_and_one_that_was_disturbed_is_set_aside() {
    for seed in 0..8 {
        let clean = repeated(seed, &[]);
        assert_eq!(clean.verdict, Verdict::Valid, "{seed}: {:#?}", clean.findings);
        let window = (seed % 5) as usize;
        let run = repeated(seed, &[window]);
        assert_eq!(run.verdict, Verdict::Valid, "{seed}: {:#?}", run.findings);
        assert_eq!(run.rows[0].disturbed, [window as u32], "{seed}");
        let (low, high) = run.rows[0].figure.interval.expect("an interval");
        let truth = clean.rows[0].figure.value;
        assert!(low <= truth && truth <= high, "{seed}: the quoted interval holds the undisturbed median");
        let told = run.findings.iter().filter(|finding| finding.id == "throttled");
        assert!(told.clone().all(|finding| finding.severity == FindingSeverity::Info) && told.count() == 1);
    }
}

#[test]
fn two_disturbed_windows_of_five_are_suspect() {
    for seed in 0..4 {
        let run = repeated(seed, &[1, 4]);
        assert_eq!((run.verdict, run.rows[0].verdict), (Verdict::Suspect, Verdict::Suspect), "{seed}");
        assert!(run.rows[0].causes.contains(&"throttled".to_owned()), "{:?}", run.rows[0]);
    }
}
