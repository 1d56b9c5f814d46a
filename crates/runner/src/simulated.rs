//! Runs on an array model: the same job loop, journal, result and checks as a real run, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_conduct::{Executor, PhaseOutcome};
use assay_engine::kind::name_operations;
use assay_engine::{Clock as _, JobKind};
use assay_results::audit::{Observations, SimulatedRun};
use assay_results::environment::Environment;
use assay_results::{HostId, HostSink};
use assay_sim::phase::SimOptions;
use assay_sim::{Model, PlanSimulation, SimMachine, Volumes};
use assay_workload::Plan;

use crate::consent::check_hosts;
use crate::error::RunError;
use crate::period::period;
use crate::recording::{Finished, record};
use crate::request::{Kinds, Observer, Site};

/// What every name of a simulated run carries, so that no output of it can be taken for a measurement.
pub const SIMULATED: &str = "simulated";

/// Runs phases on an array model.
struct SimExecutor {
    simulation: PlanSimulation,
    stop: Arc<AtomicBool>,
    kinds: Kinds,
    /// What the array did in each phase.
    observed: Vec<Observations>,
}

impl Executor for SimExecutor {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut HostSink<'_>) -> PhaseOutcome {
        let interval_ns = period(plan, phase).as_nanos() as u64;
        let kinds: Vec<&dyn JobKind<SimMachine>> = self.kinds.simulated().chain([&Volumes as _]).collect();
        let options = SimOptions { interval_ns, stop: Arc::clone(&self.stop), kinds: &kinds };
        let outcome =
            self.simulation.run_phase(plan, phase, &options, &mut |event| sink(HostId::FIRST, event));
        self.observed.push(self.simulation.observe());
        match outcome {
            Err(error) => PhaseOutcome::Failed(error.to_string()),
            Ok(Some(why)) => PhaseOutcome::Failed(why),
            Ok(_) if self.stopped() => PhaseOutcome::Stopped,
            Ok(_) => PhaseOutcome::Done,
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, _: &mut HostSink<'_>) {
        self.simulation.idle(plan.phases[phase].pause_after.0);
    }

    fn elapsed_ms(&self) -> u64 {
        self.simulation.clock().now_ns() / 1_000_000
    }
}

/// A simulated run, and what the array did in each of its phases.
#[derive(Debug)]
pub struct Simulated {
    /// The run.
    pub finished: Finished,
    /// What the array did in each phase.
    pub observed: Vec<Observations>,
}

impl Simulated {
    /// As it is shown.
    pub fn shown(&self) -> SimulatedRun<'_> {
        SimulatedRun { run: &self.finished.run, array: &self.observed }
    }
}

/// What every simulated run says of itself.
pub fn remark(model: &Model, seed: u64) -> String {
    format!(
        "simulated on the array model {} with seed {seed}: no storage was used, and times are those of the model",
        model.name
    )
}

/// Simulates a plan on the array of `model`, journals it, and keeps the result as a run. That it is simulated is kept with it,
/// and for the caller to say.
///
/// # Errors
/// [`RunError`] if it could not be begun.
pub fn simulate(
    plan: &Plan,
    model: &Model,
    mut notes: Vec<(String, String)>,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Simulated, RunError> {
    check_hosts(plan)?;
    let mut plan = marked(plan, model);
    name_operations(&mut plan, site.kinds.simulated())
        .map_err(|(job, number)| RunError::Operations { job: job.to_owned(), number })?;
    let simulation = PlanSimulation::new(model, &plan, plan.seed)?;
    let mut executor = SimExecutor {
        simulation,
        stop: Arc::clone(&site.stop),
        kinds: site.kinds.clone(),
        observed: Vec::new(),
    };
    notes.push((SIMULATED.to_owned(), remark(model, plan.seed)));
    let environment = Environment { assay: site.version.clone(), ..Environment::default() };
    let finished = record(Arc::new(plan), environment, notes, &mut executor, site, observer)?;
    Ok(Simulated { finished, observed: executor.observed })
}

/// The plan with names that say that it is simulated.
pub fn marked(plan: &Plan, model: &Model) -> Plan {
    let mut plan = plan.clone();
    plan.name = format!("{}-{SIMULATED}-on-{}", plan.name, model.name);
    for phase in &mut plan.phases {
        phase.name = format!("{}_{SIMULATED}", phase.name);
        for job in &mut phase.jobs {
            job.name = format!("{}_{SIMULATED}", job.name);
        }
    }
    plan
}
