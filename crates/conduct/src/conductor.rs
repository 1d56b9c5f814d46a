//! Runs the phases of a plan one after the other through an [`Executor`].

use std::sync::Arc;

use assay_results::{RunEnd, RunEvent};
use assay_workload::Plan;

/// How a phase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PhaseOutcome {
    /// It ran to its end.
    Done,
    /// It was told to stop; what it measured is kept.
    Stopped,
    /// It could not go on: a sentence.
    Failed(String),
}

/// What does the work: the local engine, the simulator, a fleet, the fio bridge.
pub trait Executor {
    /// Runs one phase of `plan`; events go to `sink` as they happen.
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> PhaseOutcome;

    /// Whether everything is to end.
    fn stopped(&self) -> bool;

    /// Waits for dirty data of the phase's targets to be written back, then idles as the plan asks.
    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent));

    /// Milliseconds since the start of the run, on the executor's clock.
    fn elapsed_ms(&self) -> u64;
}

/// Runs all phases of `plan` in order and reports each; returns how the run ended and, if it failed, why.
pub fn conduct(
    plan: &Arc<Plan>,
    executor: &mut dyn Executor,
    sink: &mut dyn FnMut(RunEvent),
) -> (RunEnd, String) {
    let (mut end, mut error) = (RunEnd::Completed, String::new());
    for phase in 0..plan.phases.len() {
        if executor.stopped() {
            end = RunEnd::Interrupted;
            break;
        }
        sink(RunEvent::PhaseStarted { phase: phase as u32, at_ms: executor.elapsed_ms() });
        let outcome = executor.execute(plan, phase, sink);
        if outcome == PhaseOutcome::Done {
            executor.settle(plan, phase, sink);
        }
        sink(RunEvent::PhaseFinished { phase: phase as u32, at_ms: executor.elapsed_ms() });
        match outcome {
            PhaseOutcome::Done => {}
            PhaseOutcome::Stopped => {
                end = RunEnd::Interrupted;
                break;
            }
            PhaseOutcome::Failed(why) => {
                (end, error) = (RunEnd::Failed, why);
                break;
            }
        }
    }
    sink(RunEvent::RunFinished { end, at_ms: executor.elapsed_ms(), error: error.clone() });
    (end, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_workload::job::{EngineKind, Job, Phase, Workload};
    use assay_workload::pattern::{AccessPattern, Mix, Placement};
    use assay_workload::resolve::{Inventory, TargetFacts};
    use assay_workload::target::{Target, TargetKind};
    use assay_workload::units::Bytes;

    struct Script {
        outcomes: Vec<PhaseOutcome>,
        ran: Vec<usize>,
        settled: Vec<usize>,
        stop_after: usize,
    }

    impl Executor for Script {
        fn execute(&mut self, _: &Arc<Plan>, phase: usize, _: &mut dyn FnMut(RunEvent)) -> PhaseOutcome {
            self.ran.push(phase);
            self.outcomes[phase].clone()
        }
        fn stopped(&self) -> bool {
            self.ran.len() >= self.stop_after
        }
        fn settle(&mut self, _: &Arc<Plan>, phase: usize, _: &mut dyn FnMut(RunEvent)) {
            self.settled.push(phase);
        }
        fn elapsed_ms(&self) -> u64 {
            0
        }
    }

    fn plan(phases: usize) -> Arc<Plan> {
        let job = Job::new("j", &["t"], AccessPattern::new(Mix::READ, 4096, Placement::random_map()));
        let workload = Workload {
            name: "w".into(),
            seed: Some(1),
            targets: vec![Target {
                name: "t".into(),
                path: "t".into(),
                kind: None,
                size: Some(Bytes(1 << 20)),
            }],
            phases: (0..phases).map(|i| Phase::measure(&format!("p{i}"), vec![job.clone()])).collect(),
        };
        let facts = TargetFacts {
            path: "t".into(),
            kind: TargetKind::Null,
            existing_bytes: 0,
            direct_align_bytes: None,
            engine_choice: None,
        };
        let inventory = Inventory {
            targets: [("t".to_owned(), facts)].into(),
            engines: vec![EngineKind::IoUring],
            engine_override: None,
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
        assert_eq!(error, "no space");
    }

    #[test]
    fn a_stop_between_phases_is_an_interruption() {
        let (script, end, _) = run(vec![PhaseOutcome::Done, PhaseOutcome::Done], 1);
        assert_eq!((script.ran, end), (vec![0], RunEnd::Interrupted));
    }
}
