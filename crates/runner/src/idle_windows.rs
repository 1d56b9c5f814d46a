//! Windows in which Assay does nothing, before and after the phases it measures: what the devices do then is somebody
//! else's.

use std::time::{Duration, Instant};

use assay_host::counters::Sampler;
use assay_results::HostEvent;
use assay_results::counters::Counters;
use assay_workload::plan::Carrier;
use assay_workload::plan::PlannedEngine;
use assay_workload::target::TargetKind;
use assay_workload::{PhaseKind, Plan};

/// Length of a window.
pub(crate) const WINDOW: Duration = Duration::from_millis(500);
/// Between two phases a window is taken if the last one lies at least this long back, so that watching stays a small part
/// of a plan of many short phases.
const EVERY: Duration = Duration::from_secs(10);
/// How often it is looked whether to stop.
const STEP: Duration = Duration::from_millis(20);

/// The windows of a run.
#[derive(Debug, Default)]
pub(crate) struct IdleWindows {
    last: Option<(Instant, Counters, Counters)>,
    /// Whether nothing was done since the last window.
    fresh: bool,
}

impl IdleWindows {
    /// The window before `phase`, if one is due.
    pub(crate) fn before(
        &mut self,
        plan: &Plan,
        phase: usize,
        counters: &mut Sampler,
        stopped: &dyn Fn() -> bool,
        sink: &mut dyn FnMut(HostEvent),
    ) {
        if watched(plan, phase) && (self.fresh || self.is_due()) {
            self.tell(phase, counters, stopped, sink);
        }
        self.fresh = false;
    }

    /// The window after `phase`, if one is due or no other phase comes that would have one.
    pub(crate) fn after(
        &mut self,
        plan: &Plan,
        phase: usize,
        counters: &mut Sampler,
        stopped: &dyn Fn() -> bool,
        sink: &mut dyn FnMut(HostEvent),
    ) {
        let last = (phase + 1..plan.phases.len()).all(|later| !watched(plan, later));
        if watched(plan, phase) && (last || self.is_due()) {
            self.fresh = false;
            self.tell(phase, counters, stopped, sink);
        }
    }

    fn is_due(&self) -> bool {
        self.last.as_ref().is_none_or(|(taken, _, _)| taken.elapsed() >= EVERY)
    }

    fn tell(
        &mut self,
        phase: usize,
        counters: &mut Sampler,
        stopped: &dyn Fn() -> bool,
        sink: &mut dyn FnMut(HostEvent),
    ) {
        if !self.fresh {
            let begun = counters.snapshot();
            let until = Instant::now() + WINDOW;
            while Instant::now() < until {
                if stopped() {
                    return;
                }
                std::thread::sleep(STEP.min(until.saturating_duration_since(Instant::now())));
            }
            self.last = Some((Instant::now(), begun, counters.snapshot()));
            self.fresh = true;
        }
        let Some((_, begun, ended)) = &self.last else { return };
        for record in [begun, ended] {
            sink(HostEvent::Counters { phase: phase as u32, record: Box::new(record.clone()) });
        }
    }
}

/// Whether a phase measures something that stands on devices.
pub(crate) fn watched(plan: &Plan, phase: usize) -> bool {
    let planned = &plan.phases[phase];
    planned.kind == PhaseKind::Measure
        && planned.carried_by != Carrier::Simulated
        && planned.jobs.iter().any(|job| job.engine != PlannedEngine::Null)
        && plan.targets.iter().any(|target| target.kind != TargetKind::Null)
}

/// Seconds that the windows add to a run: one before the first watched phase, one after the last, others between long ones.
pub fn expected_s(plan: &Plan) -> f64 {
    let phases: Vec<usize> = (0..plan.phases.len()).filter(|phase| watched(plan, *phase)).collect();
    let long = phases.iter().rev().skip(1).filter(|phase| {
        plan.phases[**phase].expected_time().is_some_and(|time| time.0 >= EVERY.as_nanos() as u64)
    });
    let windows = if phases.is_empty() { 0 } else { 2 + long.count() };
    windows as f64 * WINDOW.as_secs_f64()
}
