//! One run from its plan to its stored result.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_conduct::{Executor, conduct};
use assay_results::build::RunBuilder;
use assay_results::environment::Environment;
use assay_results::store::{RunDir, RunRecorder};
use assay_results::{Run, RunEnd, RunEvent, checks};
use assay_workload::Plan;

use crate::bench_self;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::live::Live;
use crate::local::{LocalExecutor, environment_of};

/// A finished run and where it is kept.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) run: Run,
    pub(crate) directory: PathBuf,
    pub(crate) end: RunEnd,
    pub(crate) error: String,
    /// Why the result is not in the directory; empty: it is.
    pub(crate) unkept: String,
}

impl Finished {
    /// What the command ends with.
    pub(crate) fn outcome(&self, require_valid: bool) -> Result<Outcome, Failure> {
        match self.end {
            RunEnd::Failed => Err(Failure::failed(&self.error)),
            _ if !self.unkept.is_empty() => {
                Err(Failure::failed(format!("the result could not be kept: {}", self.unkept)))
            }
            RunEnd::Interrupted => Ok(Outcome::Interrupted),
            RunEnd::Completed if require_valid && self.run.verdict != assay_results::Verdict::Valid => {
                Ok(Outcome::NotValid)
            }
            RunEnd::Completed => Ok(Outcome::Done),
        }
    }
}

/// A new random number, for seeds and identifiers.
pub(crate) fn random_u64() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    let file = std::fs::File::open("/dev/urandom");
    file.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|error| Failure::failed(format!("/dev/urandom: {error}")))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A seed that a person can type.
pub(crate) fn random_seed() -> Result<u64, Failure> {
    random_u64().map(|seed| seed % 1_000_000_000)
}

/// Runs `plan` here. `notes` are said and kept with the run.
pub(crate) fn run_here(
    plan: Plan,
    notes: Vec<(String, String)>,
    stop: &Arc<AtomicBool>,
    context: &Context,
) -> Result<Finished, Failure> {
    let environment = environment_of(&plan, &context.host);
    let mut executor = LocalExecutor::new(&environment, &context.host, Arc::clone(stop));
    record(Arc::new(plan), environment, notes, &mut executor, context)
}

/// Runs `plan` through any executor, journals it, builds and stores the result.
pub(crate) fn record(
    plan: Arc<Plan>,
    environment: Environment,
    notes: Vec<(String, String)>,
    executor: &mut dyn Executor,
    context: &Context,
) -> Result<Finished, Failure> {
    let id = format!("{:08x}", random_u64()? as u32);
    let started = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let directory =
        RunDir::create(&context.runs_root()?, &started, &plan.name, &id).map_err(Failure::failed)?;
    let mut recorder = RunRecorder::new(directory).map_err(Failure::failed)?;
    let mut builder = RunBuilder::new();
    let mut live = Live::new(&plan, context.error_style, context.live, context.quiet);
    let version = Context::version();
    let mut sink = |event: RunEvent| {
        recorder.record(&event);
        builder.feed(&event);
        live.event(&event);
    };
    sink(RunEvent::RunStarted {
        id,
        started,
        plan: Box::new(Plan::clone(&plan)),
        environment: Box::new(environment),
        version: version.version,
        commit: version.commit.unwrap_or_default(),
    });
    for (id, text) in notes {
        sink(RunEvent::Note { phase: None, id, text });
    }
    let (end, error) = conduct(&plan, executor, &mut sink);
    let mut run = builder.finish().map_err(Failure::failed)?;
    // Another tool's cost is not ours, and that of a simulation is not this machine's.
    let ours = !matches!(run.assay.engine.as_str(), "" | "fio" | "sim" | "null");
    if ours && end == RunEnd::Completed {
        run.assay.overhead_ns_per_io = bench_self::overhead_ns_per_io(&plan);
    }
    checks::judge(&mut run);
    let directory = recorder.dir().path().to_owned();
    // What was measured is shown, whether or not there is room to keep it.
    let (problems, unkept) = match recorder.finish(&run) {
        Ok(problems) => (problems, String::new()),
        Err(error) => (Vec::new(), error.to_string()),
    };
    for problem in problems {
        context.say(&format!("warning: {problem}"));
    }
    Ok(Finished { run, directory, end, error, unkept })
}
