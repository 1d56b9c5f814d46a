//! `assay run` and `assay plan`: a plan from a file or a profile, shown or carried out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_formats::{Diagnostic, native, near};
use assay_host::space;
use assay_host::workdir::{WorkDir, is_assay_dir};
use assay_report::terminal;
use assay_results::probe::Probe;
use assay_results::store;
use assay_workload::job::EngineKind;
use assay_workload::units::Nanos;
use assay_workload::{Plan, Workload, resolve};

use crate::args::{PlanArgs, ReadingArgs, RunArgs};
use crate::check;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::fio_bridge::{self, FioExecutor, FioPlan};
use crate::input::{self, Input};
use crate::inventory;
use crate::languages::Format;
use crate::local::{self, LocalExecutor};
use crate::quick;
use crate::session::{self, Finished};
use crate::signals;
use crate::simulated;
use crate::steps;
use crate::traced::RunTrace;

/// The directory that a profile's files are made in.
const WORK_DIR: &str = "assay-run";

/// What was asked for, where its targets are, and what keeps that place ours.
pub(crate) struct Asked {
    pub(crate) workload: Workload,
    pub(crate) directory: PathBuf,
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    work_dir: Option<WorkDir>,
}

pub(crate) fn run(args: &RunArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.profile.as_deref() == Some("list") {
        context.out(&profile_list(context));
        return Ok(Outcome::Done);
    }
    if args.how.engine.as_deref() == Some("sim") {
        return simulated::run(args, context);
    }
    if args.how.dry_run {
        let asked = asked(args, false, context)?;
        context.out(&terminal::plan(resolved(args, &asked, context)?.plan(), &context.style));
        input::say_all(&asked.diagnostics, args.how.strict, context)?;
        return Ok(Outcome::Done);
    }
    args.how.foreign.check()?;
    let stop = signals::stop_flag()?;
    let mut asked = asked(args, true, context)?;
    input::say_all(&asked.diagnostics, args.how.strict, context)?;
    let work_dir = asked.work_dir.take();
    let created = work_dir.as_ref().is_some_and(WorkDir::created);
    let notes = std::mem::take(&mut asked.notes);
    let finished =
        resolved(args, &asked, context).and_then(|ready| carry_out(ready, args, notes, &stop, context));
    let finished = match finished {
        Ok(finished) => finished,
        Err(failure) => {
            if let Some(directory) = work_dir.filter(|_| created) {
                let _ = directory.remove();
            }
            return Err(failure);
        }
    };
    present(&finished, args, context)
}

/// Shows what came of a run, writes what is to be written of it, and says where it is kept.
pub(crate) fn present(finished: &Finished, args: &RunArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.how.output.json {
        context.out(&check::json(&finished.run)?);
    } else {
        quick::show(&finished.run, &[], context)?;
    }
    args.how.foreign.write(&finished.run, Some(&finished.directory))?;
    let page = finished.directory.join("report.html");
    check::write_html(&finished.run, args.how.output.html.as_ref().unwrap_or(&page), &[], context)?;
    context.say(&format!("kept in {}", finished.directory.display()));
    finished.outcome(args.how.output.require_valid)
}

/// Runs a plan here, by Assay's own engines or by fio.
fn carry_out(
    ready: Ready,
    args: &RunArgs,
    mut notes: Vec<(String, String)>,
    stop: &Arc<AtomicBool>,
    context: &Context,
) -> Result<Finished, Failure> {
    // What may refuse to go on comes before anything is made.
    let fio = match &ready {
        Ready::Here(_) => None,
        Ready::Fio(_) => Some(fio_bridge::find(args.how.install_missing, context)?),
    };
    let trace = RunTrace::to(args.trace.as_deref())?;
    if trace.is_some() && fio.is_some() {
        return Err(Failure::usage("--trace is for Assay's own engines; fio has write_iolog"));
    }
    local::check_consent(ready.plan(), &context.host, &args.how.destroy_data)?;
    local::check_memory(ready.plan(), &context.host)?;
    if let Some(words) = terminal::writes_ahead(ready.plan()) {
        context.say(&words);
    }
    let made = |plan: &Plan| local::make_files(plan, &context.host);
    match (ready, fio) {
        (Ready::Fio(plan), Some(fio)) => {
            notes.extend(plan.losses(args.how.strict)?);
            made(&plan.plan)?;
            let environment = local::environment_of(&plan.plan, &context.host);
            let mut executor = FioExecutor::new(fio, &plan, &environment, &context.host, Arc::clone(stop));
            session::record(Arc::new(plan.plan), environment, notes, &mut executor, context)
        }
        (Ready::Here(plan) | Ready::Fio(FioPlan { plan, .. }), _) => {
            made(&plan)?;
            let environment = local::environment_of(&plan, &context.host);
            let executor = LocalExecutor::new(&environment, &context.host, Arc::clone(stop));
            let sink = trace.as_ref().map(|trace| Arc::clone(&trace.sink));
            let mut executor = executor
                .naming(&args.how.destroy_data)
                .tracing(sink)
                .with_probes(probes(args, context)?)
                .watching(args.how.watch);
            let plan = Arc::new(plan);
            let finished = session::record(Arc::clone(&plan), environment, notes, &mut executor, context);
            if let Some(trace) = &trace {
                trace.write(&plan, context)?;
            }
            finished
        }
    }
}

/// The probes that the run is to be judged with.
fn probes(args: &RunArgs, context: &Context) -> Result<Vec<Probe>, Failure> {
    let load = |id: &String| {
        context.probes_root().and_then(|root| store::load_probe(&root, id).map_err(Failure::usage))
    };
    args.probe.iter().map(load).collect()
}

pub(crate) fn plan(args: &PlanArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.runs {
        return own_runs(&args.run, context);
    }
    let asked = asked(&args.run, false, context)?;
    let ready = resolved(&args.run, &asked, context)?;
    if args.run.how.output.json {
        let document = serde_json::json!({ "plan": ready.plan(), "diagnostics": asked.diagnostics });
        context.out(&format!("{document:#}"));
    } else {
        context.out(&terminal::plan(ready.plan(), &context.style));
        input::say_all(&asked.diagnostics, args.run.how.strict, context)?;
    }
    Ok(Outcome::Done)
}

/// The runs of a foreign file in the words of its own tool, the diagnostics behind them.
fn own_runs(args: &RunArgs, context: &Context) -> Result<Outcome, Failure> {
    let file = args.file.as_ref().ok_or_else(|| Failure::usage("--runs needs a file"))?;
    let input = input::read_file(file, &args.reading, None)?;
    if input.format == Format::Native {
        return Err(Failure::usage(
            "--runs is for fio and vdbench files; 'assay plan' shows a plan of Assay's own",
        ));
    }
    let input = input.refuse_unset();
    if !input.runs.is_empty() {
        context.out(&input.runs.join("\n"));
    }
    input.accept(args.how.strict, context)?;
    Ok(Outcome::Done)
}

pub(crate) fn asked(args: &RunArgs, make: bool, context: &Context) -> Result<Asked, Failure> {
    let mut asked = match (&args.profile, &args.file) {
        (Some(name), _) => profile(name, args, make, context)?,
        (None, Some(file)) => {
            from(input::read_file(file, &args.reading, Some(&args.target))?, args, context)?
        }
        (None, None) if !args.fio_words.is_empty() => {
            from(input::parse_words(&args.fio_words), args, context)?
        }
        (None, None) => return Err(Failure::usage("name a file, or a profile with --profile")),
    };
    if let Some(runtime) = &args.runtime {
        let time: Nanos = runtime.parse().map_err(|error| Failure::usage(format!("--runtime: {error}")))?;
        for change in native::override_runtime(&mut asked.workload, time) {
            asked.notes.push(("runtime".to_owned(), change.to_string()));
        }
    }
    let phases = steps::multiply(std::mem::take(&mut asked.workload.phases), &args.steps)?;
    let shuffle =
        args.steps.shuffle.then(|| args.seed.or(asked.workload.seed).map_or_else(session::random_seed, Ok));
    let shuffle = shuffle.transpose()?;
    asked.workload.seed = shuffle.or(asked.workload.seed);
    asked.workload.phases = steps::repeat(phases, args.repeat, shuffle);
    Ok(asked)
}

/// Makes a workload smaller where that was asked for; what changed is noted.
fn scale(workload: &mut Workload, args: &RunArgs) -> Result<Vec<(String, String)>, Failure> {
    let Some(share) = args.scale else { return Ok(Vec::new()) };
    if !(share > 0.0 && share <= 1.0) {
        return Err(Failure::usage(format!("--scale: {share} is not above 0 and at most 1")));
    }
    let changes = native::scale_by(workload, share);
    Ok(changes.iter().map(|change| ("scaled".to_owned(), change.to_string())).collect())
}

/// What a file asks for; its diagnostics have still to be said.
fn from(input: Input, args: &RunArgs, context: &Context) -> Result<Asked, Failure> {
    let (mut workload, diagnostics) = input.refuse_unset().checked(args.how.strict, context)?;
    let directory = input::directory_of(&args.target)?;
    let notes = scale(&mut workload, args)?;
    Ok(Asked { workload, directory, notes, diagnostics, work_dir: None })
}

fn profile_list(context: &Context) -> String {
    let rows: Vec<Vec<String>> = native::profiles()
        .iter()
        .map(|profile| vec![profile.name.to_owned(), profile.summary.to_owned()])
        .collect();
    terminal::words_table(&["profile", "what it does"], &rows, &context.style)
}

fn profile(name: &str, args: &RunArgs, make: bool, context: &Context) -> Result<Asked, Failure> {
    let all = native::profiles();
    let Some(found) = all.iter().find(|profile| profile.name == name) else {
        let hint = near::nearest(name, all.iter().map(|profile| profile.name));
        let hint =
            hint.map_or("'--profile list' shows them".to_owned(), |near| format!("did you mean {near}?"));
        return Err(Failure::usage(format!("there is no profile '{name}'; {hint}")));
    };
    let place = input::directory_of(&args.target)?;
    let path = if is_assay_dir(&place) { place.clone() } else { place.join(WORK_DIR) };
    let work_dir = if make {
        Some(WorkDir::create(&path, env!("CARGO_PKG_VERSION"), "run").map_err(Failure::usage)?)
    } else {
        None
    };
    let mut workload = input::parse(found.name, found.text, Format::Native, &ReadingArgs::default(), None)?
        .accept(true, context)?;
    let mut notes = scale(&mut workload, args)?;
    let space = space::of(&place).map_err(|error| Failure::failed(format!("free space: {error}")))?;
    let available = space.usable_bytes() + crate::prefill::bytes_in(&path);
    let scaled = native::scale_to(&mut workload, available);
    if !scaled.fits() {
        let place = place.display();
        return Err(Failure::failed(format!(
            "profile {name} does not fit into the space that is free in {place}"
        )));
    }
    notes.extend(scaled.changes.iter().map(|change| ("scaled".to_owned(), change.to_string())));
    Ok(Asked { workload, directory: path, notes, diagnostics: Vec::new(), work_dir })
}

/// A plan and who carries it out.
enum Ready {
    /// Assay's own engines.
    Here(Plan),
    /// Real fio.
    Fio(FioPlan),
}

impl Ready {
    fn plan(&self) -> &Plan {
        match self {
            Ready::Here(plan) | Ready::Fio(FioPlan { plan, .. }) => plan,
        }
    }
}

fn resolved(args: &RunArgs, asked: &Asked, context: &Context) -> Result<Ready, Failure> {
    let engine = args.how.engine.as_deref().map(engine_of).transpose()?;
    // For fio the plan is made as if it were run here, so that both do the same.
    let fio = engine == Some(EngineKind::Fio);
    let plan = planned(&asked.workload, &asked.directory, engine.filter(|_| !fio), args.seed, context)?;
    Ok(if fio || fio_bridge::asked_for(&plan) { Ready::Fio(FioPlan::of(plan)) } else { Ready::Here(plan) })
}

/// The plan of a workload here.
pub(crate) fn planned(
    workload: &Workload,
    directory: &Path,
    engine: Option<EngineKind>,
    seed: Option<u64>,
    context: &Context,
) -> Result<Plan, Failure> {
    let mut workload = workload.clone();
    workload.seed = seed.or(workload.seed);
    let seed = seed.map_or_else(session::random_seed, Ok)?;
    let mut inventory = inventory::look_at(&workload, directory, engine, &context.host)?;
    inventory.engines.push(EngineKind::Fio);
    resolve::plan(&workload, &inventory, seed).map_err(Failure::usage)
}

/// The engine of a name.
pub(crate) fn engine_of(name: &str) -> Result<EngineKind, Failure> {
    EngineKind::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = EngineKind::ALL.iter().map(|kind| kind.name()).collect();
        let hint = near::nearest(name, names.iter().copied());
        let hint = hint.map_or(String::new(), |near| format!("did you mean {near}? "));
        Failure::usage(format!("there is no engine '{name}'; {hint}there are {}", names.join(", ")))
    })
}
