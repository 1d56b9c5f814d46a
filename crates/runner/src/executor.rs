//! The executor for this machine: hands each phase to what carries it out.

use std::sync::Arc;

use assay_conduct::{Executor, PhaseOutcome};
use assay_results::RunEvent;
use assay_results::environment::Environment;
use assay_workload::Plan;
use assay_workload::plan::Carrier;

use crate::fio::FioExecutor;
use crate::native::NativeExecutor;

/// Runs phases on this machine, by Assay's own engines or by fio.
#[derive(Debug)]
pub(crate) struct HostExecutor {
    pub(crate) native: NativeExecutor,
    /// Where some phase is fio's.
    pub(crate) fio: Option<FioExecutor>,
}

impl Executor for HostExecutor {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> PhaseOutcome {
        match (plan.phases[phase].carrier(), &mut self.fio) {
            (Carrier::Native, _) => self.native.execute(plan, phase, sink),
            (Carrier::Fio, Some(fio)) => fio.execute(plan, phase, sink),
            (Carrier::Fio, None) => {
                PhaseOutcome::Failed("no fio was given to carry the phase out".to_owned())
            }
            (Carrier::Simulated, _) => PhaseOutcome::Failed("a simulated phase does no I/O here".to_owned()),
        }
    }

    fn watch_before(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) {
        self.native.watch_before(plan, phase, sink);
    }

    fn watch_after(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) {
        self.native.watch_after(plan, phase, sink);
    }

    fn environment(&self) -> Option<&Environment> {
        self.native.environment()
    }

    fn stopped(&self) -> bool {
        self.native.stopped()
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) {
        self.native.settle(plan, phase, sink);
    }

    fn elapsed_ms(&self) -> u64 {
        self.native.elapsed_ms()
    }
}
