//! Runs the phases of a plan one after the other through an [`Executor`].

use std::sync::Arc;

use assay_results::environment::Environment;
use assay_results::{RunEnd, RunEvent};
use assay_workload::Plan;

use crate::after;
use crate::seen::Seen;
use crate::watch::Watch;

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

    /// Where it runs, for what others did meanwhile to be seen; `None`: nothing of that is known.
    fn environment(&self) -> Option<&Environment> {
        None
    }

    /// Whether everything is to end.
    fn stopped(&self) -> bool;

    /// Watches the devices while nothing is done, before a phase: what they do then is somebody else's. Counters go to
    /// `sink`. An executor that has none to read does nothing.
    fn watch_before(&mut self, _plan: &Arc<Plan>, _phase: usize, _sink: &mut dyn FnMut(RunEvent)) {}

    /// As [`Executor::watch_before`], after a phase that was done.
    fn watch_after(&mut self, _plan: &Arc<Plan>, _phase: usize, _sink: &mut dyn FnMut(RunEvent)) {}

    /// Waits for dirty data of the phase's targets to be written back, then idles as the plan asks.
    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent));

    /// Milliseconds since the start of the run, on the executor's clock.
    fn elapsed_ms(&self) -> u64;
}

/// Runs the phases of `plan` in order and reports each; returns how the run ended and, if it failed, why.
///
/// Where a phase depends on those before it (a rate in per cent of a maximum, a step of a search, a round of a block that repeats
/// until it is steady), it is resolved before it starts, and what it became is reported with [`RunEvent::PhaseResolved`]; phases that
/// are not needed any more do not start.
pub fn conduct(
    plan: &Arc<Plan>,
    executor: &mut dyn Executor,
    sink: &mut dyn FnMut(RunEvent),
) -> (RunEnd, String) {
    let mut course = Course { plan: Arc::clone(plan), seen: Seen::default() };
    let (mut end, mut error) = (RunEnd::Completed, String::new());
    let mut phase = 0;
    while phase < course.plan.phases.len() {
        if executor.stopped() {
            end = RunEnd::Interrupted;
            break;
        }
        match course.phase(phase, executor, sink) {
            PhaseOutcome::Done => phase = course.behind(phase, sink),
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

/// A plan on its way, with what it has become so far.
struct Course {
    plan: Arc<Plan>,
    seen: Seen,
}

impl Course {
    /// Resolves a phase and runs it.
    fn phase(
        &mut self,
        phase: usize,
        executor: &mut dyn Executor,
        sink: &mut dyn FnMut(RunEvent),
    ) -> PhaseOutcome {
        match after::resolved(&self.plan, phase, &self.seen) {
            Ok(None) => {}
            Ok(Some(planned)) => self.becomes(phase, planned, sink),
            Err(why) => return PhaseOutcome::Failed(why),
        }
        let mut watch = Watch::of(&self.plan, phase, executor.environment());
        let sink: &mut dyn FnMut(RunEvent) = &mut |event| {
            watch.feed(&event);
            sink(event);
        };
        executor.watch_before(&self.plan, phase, sink);
        sink(RunEvent::PhaseStarted { phase: phase as u32, at_ms: executor.elapsed_ms() });
        let seen = &mut self.seen;
        let outcome = executor.execute(&self.plan, phase, &mut |event| {
            seen.feed(&event);
            sink(event);
        });
        if outcome == PhaseOutcome::Done {
            executor.settle(&self.plan, phase, sink);
        }
        sink(RunEvent::PhaseFinished { phase: phase as u32, at_ms: executor.elapsed_ms() });
        if outcome == PhaseOutcome::Done {
            executor.watch_after(&self.plan, phase, sink);
        }
        self.seen.finish(phase, after::keeps_latency(&self.plan, phase));
        if let Some(what) = watch.disturbance() {
            self.seen.disturb(phase, what);
        }
        outcome
    }

    /// The phase that runs next.
    fn behind(&mut self, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> usize {
        let after = after::after(&self.plan, phase, &self.seen);
        for (index, planned) in after.resolved {
            self.becomes(index, planned, sink);
        }
        if let Some(note) = after.note {
            let id = note.id.to_owned();
            sink(RunEvent::Note { phase: Some(phase as u32), id, text: note.text });
        }
        after.next
    }

    fn becomes(
        &mut self,
        phase: usize,
        planned: assay_workload::PlannedPhase,
        sink: &mut dyn FnMut(RunEvent),
    ) {
        Arc::make_mut(&mut self.plan).phases[phase] = planned.clone();
        sink(RunEvent::PhaseResolved { phase: phase as u32, planned: Box::new(planned) });
    }
}

#[cfg(test)]
mod tests;
