//! Runs on an array model: the same job loop, journal, result and checks as a real run, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_conduct::{Executor, PhaseOutcome};
use assay_engine::Clock as _;
use assay_results::RunEvent;
use assay_results::environment::Environment;
use assay_sim::phase::SimOptions;
use assay_sim::{Model, Observations, PlanSimulation};
use assay_workload::Plan;

use crate::args::RunArgs;
use crate::audit::source;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::local;
use crate::session::{self, Finished};
use crate::{input, run, signals};

/// What every name of a simulated run carries, so that no output of it can be taken for a measurement.
pub(crate) const MARK: &str = "simulated";

/// Runs phases on an array model.
struct SimExecutor {
    simulation: PlanSimulation,
    stop: Arc<AtomicBool>,
    /// What the array did in each phase.
    observed: Vec<Observations>,
}

impl Executor for SimExecutor {
    fn execute(&mut self, plan: &Arc<Plan>, phase: usize, sink: &mut dyn FnMut(RunEvent)) -> PhaseOutcome {
        let interval_ns = local::period(plan, phase).as_nanos() as u64;
        let options = SimOptions { interval_ns, stop: Arc::clone(&self.stop) };
        let outcome = self.simulation.run_phase(plan, phase, &options, sink);
        self.observed.push(self.simulation.observe());
        match outcome {
            Err(error) => PhaseOutcome::Failed(error.to_string()),
            Ok(error) if !error.is_empty() => PhaseOutcome::Failed(error),
            Ok(_) if self.stopped() => PhaseOutcome::Stopped,
            Ok(_) => PhaseOutcome::Done,
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settle(&mut self, plan: &Arc<Plan>, phase: usize, _: &mut dyn FnMut(RunEvent)) {
        self.simulation.idle(plan.phases[phase].pause_after.0);
    }

    fn elapsed_ms(&self) -> u64 {
        self.simulation.clock().now_ns() / 1_000_000
    }
}

/// A simulated run, and what the array did in each of its phases.
pub(crate) struct Simulated {
    pub(crate) finished: Finished,
    pub(crate) observed: Vec<Observations>,
}

/// What every simulated run says of itself.
fn mark(model: &Model, seed: u64) -> String {
    format!(
        "simulated on the array model {} with seed {seed}: no storage was used, and times are those of the model",
        model.name
    )
}

/// Simulates a plan on the array of `model`, journals it, and keeps the result as a run. That it is simulated is kept with it,
/// and for the caller to say.
pub(crate) fn simulate(
    plan: &Plan,
    model: &Model,
    stop: &Arc<AtomicBool>,
    context: &Context,
) -> Result<Simulated, Failure> {
    let plan = marked(plan, model);
    let simulation = PlanSimulation::new(model, &plan, plan.seed).map_err(Failure::usage)?;
    let mut executor = SimExecutor { simulation, stop: Arc::clone(stop), observed: Vec::new() };
    let notes = vec![(MARK.to_owned(), mark(model, plan.seed))];
    let environment = Environment { assay: Context::version(), ..Environment::default() };
    let finished = session::record(Arc::new(plan), environment, notes, &mut executor, context)?;
    Ok(Simulated { finished, observed: executor.observed })
}

/// The plan with names that say that it is simulated.
fn marked(plan: &Plan, model: &Model) -> Plan {
    let mut plan = plan.clone();
    plan.name = format!("{}-{MARK}-on-{}", plan.name, model.name);
    for phase in &mut plan.phases {
        phase.name = format!("{}_{MARK}", phase.name);
        for job in &mut phase.jobs {
            job.job.name = format!("{}_{MARK}", job.job.name);
        }
    }
    plan
}

/// `assay run --engine sim`.
pub(crate) fn run(args: &RunArgs, context: &Context) -> Result<Outcome, Failure> {
    args.how.foreign.check()?;
    if args.trace.is_some() {
        return Err(Failure::usage("--trace is for real I/O: a simulation does what 'assay audit' says"));
    }
    let model = source::model(&args.array)?;
    let asked = run::asked(args, false, context)?;
    input::say_all(&asked.diagnostics, args.how.strict, context)?;
    let seed = args.seed.or(asked.workload.seed).map_or_else(session::random_seed, Ok)?;
    let (plan, assumed) = source::planned(&asked.workload, args.size, Some(seed))?;
    if !assumed.is_empty() {
        let names = assumed.join(", ");
        context.say(&format!("no size is given for {names}: taken as {} (--size)", args.size));
    }
    if args.how.dry_run {
        context.out(&assay_report::terminal::plan(&marked(&plan, &model), &context.style));
        return Ok(Outcome::Done);
    }
    let stop = signals::stop_flag()?;
    context.say(&mark(&model, plan.seed));
    let finished = simulate(&plan, &model, &stop, context)?.finished;
    run::present(&finished, args, context)
}
