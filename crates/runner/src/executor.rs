//! The executor for this machine: hands each phase to what carries it out.

use std::sync::Arc;

use assay_conduct::{Executor, PhaseOutcome, When};
use assay_results::environment::Environment;
use assay_results::{HostId, HostSink};
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
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        match (plan.phases[phase].carried_by, &mut self.fio) {
            (Carrier::Native, _) => self.native.execute(plan, phase, sink),
            (Carrier::Fio, Some(fio)) => fio.execute(plan, phase, &mut |event| sink(HostId::FIRST, event)),
            (Carrier::Fio, None) => {
                PhaseOutcome::Failed("no fio was given to carry the phase out".to_owned())
            }
            (Carrier::Simulated, _) => PhaseOutcome::Failed("a simulated phase does no I/O here".to_owned()),
        }
    }

    fn idle_window(&mut self, plan: &Arc<Plan>, phase: usize, when: When, sink: &mut HostSink<'_>) {
        self.native.idle_window(plan, phase, when, sink);
    }

    fn environment(&self) -> Option<&Environment> {
        self.native.environment()
    }

    fn stopped(&self) -> bool {
        self.native.stopped()
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) {
        self.native.settle(plan, phase, sink);
    }

    fn elapsed_ms(&self) -> u64 {
        self.native.elapsed_ms()
    }
}
