//! Runs the phases of a plan one after the other through an [`Executor`].

use std::sync::Arc;

use assay_results::environment::Environment;
use assay_results::{HostEvent, HostId, HostSink, RunEnd, RunEvent};
use assay_workload::Plan;

use crate::after;
use crate::present::Present;
use crate::seen::PhaseFigures;
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
    /// Some hosts were lost; the others ran to the end. What was measured is kept, and the run ends: what would follow
    /// would be of fewer hosts than planned. The loss of each that no [`HostEvent::Lost`] told is told by the conductor.
    Lost(Vec<HostId>),
}

/// One of several hosts that an executor reaches.
#[derive(Debug, Clone)]
pub struct HostInfo {
    /// What its events carry.
    pub id: HostId,
    /// Its name.
    pub name: String,
    /// What it is.
    pub environment: Environment,
}

/// Which idle window of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before it starts.
    Before,
    /// After it was done.
    After,
}

/// What does the work: the local engine, the simulator, a fleet, the fio bridge.
pub trait Executor {
    /// The hosts it reaches. One that has a part in a phase and of which no [`HostEvent::JobFinished`] of each of its jobs
    /// comes is lost, although the phase be done. None: only the one that the start of the run describes, which is [`HostId::FIRST`].
    fn hosts(&self) -> &[HostInfo] {
        &[]
    }

    /// Runs one phase of `plan`; what hosts tell goes to `sink` as it happens.
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome;

    /// Where it runs, for what others did meanwhile to be seen; `None`: nothing of that is known.
    fn environment(&self) -> Option<&Environment> {
        None
    }

    /// Whether the run goes on when hosts were lost, with those that are left. The result says so.
    fn goes_on_after_loss(&self) -> bool {
        false
    }

    /// Whether everything is to end.
    fn stopped(&self) -> bool;

    /// Watches the devices while Assay is idle, before or after a phase: I/O then comes from other processes. Counters
    /// go to `sink`. An executor that has none to read does nothing.
    fn idle_window(&mut self, _plan: &Arc<Plan>, _phase: usize, _when: When, _sink: &mut HostSink<'_>) {}

    /// Waits for dirty data of the phase's targets to be written back, then idles as the plan asks.
    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>);

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
) -> (RunEnd, Option<String>) {
    let mut progress = PlanInProgress { plan: Arc::clone(plan), seen: PhaseFigures::default() };
    let (mut end, mut error) = (RunEnd::Completed, None);
    for host in executor.hosts() {
        let environment = Box::new(host.environment.clone());
        sink(HostEvent::Environment { name: host.name.clone(), environment }.of(host.id));
    }
    let mut phase = 0;
    while phase < progress.plan.phases.len() {
        if executor.stopped() {
            end = RunEnd::Interrupted;
            break;
        }
        match progress.phase(phase, executor, sink) {
            PhaseOutcome::Lost(_) if executor.goes_on_after_loss() => {
                phase = progress.next_phase(phase, sink)
            }
            PhaseOutcome::Done => phase = progress.next_phase(phase, sink),
            PhaseOutcome::Stopped => {
                end = RunEnd::Interrupted;
                break;
            }
            PhaseOutcome::Failed(why) => {
                (end, error) = (RunEnd::Failed, error.or(Some(why)));
                match progress.despite_failure(phase) {
                    Some(next) => phase = next,
                    None => break,
                }
            }
            PhaseOutcome::Lost(hosts) => {
                (end, error) = (RunEnd::Failed, Some(lost_words(&hosts, executor.hosts())));
                break;
            }
        }
    }
    sink(RunEvent::RunFinished { end, at_ms: executor.elapsed_ms(), error: error.clone() });
    (end, error)
}

/// A plan on its way, with what it has become so far.
struct PlanInProgress {
    plan: Arc<Plan>,
    seen: PhaseFigures,
}

impl PlanInProgress {
    /// Resolves a phase and runs it.
    fn phase(
        &mut self,
        phase: usize,
        executor: &mut dyn Executor,
        sink: &mut dyn FnMut(RunEvent),
    ) -> PhaseOutcome {
        match after::resolved(&self.plan, phase, &self.seen) {
            Ok(None) => {}
            Ok(Some(planned)) => self.replace_phase(phase, planned, sink),
            Err(why) => return PhaseOutcome::Failed(why),
        }
        let mut watch = Watch::of(&self.plan, phase, executor.environment(), executor.hosts());
        let sink: &mut dyn FnMut(RunEvent) = &mut |event| {
            watch.feed(&event);
            sink(event);
        };
        executor.idle_window(&self.plan, phase, When::Before, &mut |host, event| sink(event.of(host)));
        sink(RunEvent::PhaseStarted { phase: phase as u32, at_ms: executor.elapsed_ms() });
        let seen = &mut self.seen;
        let mut present = Present::of(&self.plan, phase, executor.hosts());
        let outcome = executor.execute(&self.plan, phase, &mut |host, event| {
            seen.feed(&event);
            present.feed(host, &event);
            sink(event.of(host));
        });
        let outcome = present.outcome(outcome, &mut |host, event| sink(event.of(host)));
        if outcome == PhaseOutcome::Done {
            executor.settle(&self.plan, phase, &mut |host, event| sink(event.of(host)));
        }
        sink(RunEvent::PhaseFinished { phase: phase as u32, at_ms: executor.elapsed_ms() });
        if outcome == PhaseOutcome::Done {
            executor.idle_window(&self.plan, phase, When::After, &mut |host, event| sink(event.of(host)));
        }
        self.seen.finish(phase, &self.plan.phases[phase], after::keeps_latency(&self.plan, phase));
        if let Some(what) = watch.disturbance() {
            self.seen.disturb(phase, what);
        }
        outcome
    }

    /// The phase that runs next although this one failed.
    fn despite_failure(&self, failed: usize) -> Option<usize> {
        (failed + 1..self.plan.phases.len()).find(|phase| self.plan.phases[*phase].despite_failure)
    }

    /// The phase that runs next.
    fn next_phase(&mut self, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> usize {
        let after = after::after(&self.plan, phase, &self.seen);
        for (index, planned) in after.resolved {
            self.replace_phase(index, planned, sink);
        }
        if let Some(note) = after.note {
            let id = note.id.to_owned();
            sink(HostEvent::Note { phase: Some(phase as u32), id, text: note.text }.into());
        }
        after.next
    }

    fn replace_phase(
        &mut self,
        phase: usize,
        planned: assay_workload::PlannedPhase,
        sink: &mut dyn FnMut(RunEvent),
    ) {
        Arc::make_mut(&mut self.plan).phases[phase] = planned.clone();
        sink(RunEvent::PhaseResolved { phase: phase as u32, planned: Box::new(planned) });
    }
}

/// Lost hosts named in a message at most.
const NAMED_MAX: usize = 5;

/// That hosts were lost, by name.
fn lost_words(lost: &[HostId], hosts: &[HostInfo]) -> String {
    let name = |id: &HostId| match hosts.iter().find(|host| host.id == *id) {
        Some(host) => host.name.clone(),
        None => format!("host {}", id.0),
    };
    let named = lost.iter().take(NAMED_MAX).map(name).collect::<Vec<_>>().join(", ");
    let workers = if lost.len() == 1 { "worker" } else { "workers" };
    match lost.len().saturating_sub(NAMED_MAX) {
        0 => format!("{workers} lost: {named}"),
        more => format!("{workers} lost: {named} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
