//! `assay run` and `assay plan`: a plan from a file or a profile, shown or carried out.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_formats::{Diagnostic, Severity, native, near};
use assay_host::space;
use assay_host::workdir::{WorkDir, is_assay_dir};
use assay_report::terminal;
use assay_results::probe::Probe;
use assay_results::store;
use assay_runner::{Done, Finished, Request, Shortage, Site, Work, check_space};
use assay_workload::growth::Layout;
use assay_workload::job::EngineKind;
use assay_workload::plan::Carrier;
use assay_workload::units::Nanos;
use assay_workload::{Plan, Workload};

use crate::args::{PlanArgs, ReadingArgs, RunArgs};
use crate::check;
use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::fio_command;
use crate::fio_install;
use crate::input::{self, Input};
use crate::languages::Format;
use crate::live::Live;
use crate::output::Outputs;
use crate::quick;
use crate::signals;
use crate::simulated;
use crate::steps;
use crate::traced::{self, RunTrace};

/// The directory that a profile's files are made in.
const WORK_DIR: &str = "assay-run";

/// What was asked for, where its targets are, and what keeps that place ours.
pub(crate) struct Asked {
    pub(crate) workload: Workload,
    pub(crate) directory: PathBuf,
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The directory to make for it, if it is to have one.
    work_dir: Option<PathBuf>,
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
        let asked = asked(args, context)?;
        let plan = resolved(args, &asked, &context.site(idle()))?;
        context.out(&terminal::plan(&plan, &context.style));
        input::say_all(&asked.diagnostics, args.how.strict, context)?;
        return Ok(check_space(&plan, Layout::AsNeeded, &[], &context.host).map(|()| Outcome::Done)?);
    }
    let site = context.site(signals::stop_flag()?);
    let mut asked = asked(args, context)?;
    input::say_all(&asked.diagnostics, args.how.strict, context)?;
    asked.notes.extend(input::accept_losses(&asked.diagnostics, args.how.allow_loss)?);
    // The plan comes before anything is made, as `assay plan` sees it.
    let plan = resolved(args, &asked, &site)?;
    let make = |path: PathBuf| WorkDir::create(&path, env!("CARGO_PKG_VERSION"), "run");
    let work_dir = asked.work_dir.take().map(make).transpose().map_err(Failure::usage)?;
    let finished = carry_out(plan, args, &mut asked, &site, context);
    let useless = finished.as_ref().map_or(true, Finished::came_to_nothing);
    if let Some(directory) = work_dir.filter(|directory| useless && directory.created()) {
        let _ = directory.remove();
    }
    let finished = finished?;
    present(&finished, args, context)
}

/// Shows what came of a run, writes what is to be written of it, and says where it is kept.
pub(crate) fn present(finished: &Finished, args: &RunArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.how.output.json {
        context.out(&check::json(&finished.run)?);
    } else {
        quick::show(&finished.run, &[], context)?;
    }
    let outputs = Outputs::new(args.how.output.force);
    args.how.foreign.write(&finished.run, Some(&finished.directory), &outputs)?;
    match &args.how.output.html {
        Some(path) => outputs.write("--html", path, &check::page(&finished.run, &[], context)?)?,
        None => check::keep_page(&finished.run, &finished.directory, context)?,
    }
    context.say(&format!("kept in {}", finished.directory.display()));
    outcome_of(finished, args.how.output.require_valid)
}

/// Whether everything can be written that is to be written of a run: told before anything is measured. The files that
/// were read and the targets are not to be replaced.
pub(crate) fn check_outputs(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    let targets = plan.targets.iter().map(|target| &target.path);
    let outputs = Outputs::new(args.how.output.force).reading(targets);
    let mut outputs = args.how.output.checked(outputs)?;
    outputs.check("--trace", args.trace.as_deref())?;
    args.how.foreign.check(&mut outputs)
}

/// Carries a plan out here, by Assay's own engines or by fio.
fn carry_out(
    plan: Plan,
    args: &RunArgs,
    asked: &mut Asked,
    site: &Site,
    context: &Context,
) -> Result<Finished, Failure> {
    // What may refuse to go on comes before anything is made.
    check_outputs(args, &plan)?;
    let fio =
        plan.uses(Carrier::Fio).then(|| fio_install::find(args.how.install_missing, context)).transpose()?;
    let trace = RunTrace::to(args.trace.as_deref(), args.how.output.force);
    if let Some(trace) = &trace {
        check_space(&plan, Layout::AsNeeded, &[trace.largest(&plan)], &site.host)?;
    }
    let request = Request {
        fio,
        consent: args.how.destroy_data.clone(),
        watch: args.how.watch.into(),
        probes: probes(args, context)?,
        trace_max: trace.as_ref().map(|_| traced::RECORDS_MAX),
        strict: args.how.strict,
        notes: std::mem::take(&mut asked.notes),
        ..Request::new(Work::Planned(plan.clone()), &asked.directory)
    };
    let done = recorded(request, site, Live::announcing(context), context)?;
    if let (Some(trace), Some(taken)) = (trace, &done.trace) {
        trace.write(taken, &plan, context)?;
    }
    Ok(done.finished)
}

/// Carries a request out while `live` shows where it stands; what could not be kept is said.
pub(crate) fn recorded(
    request: Request,
    site: &Site,
    mut live: Live,
    context: &Context,
) -> Result<Done, Failure> {
    context.runs_root()?;
    let done = assay_runner::carry_out(request, site, &mut live)?;
    let done = done.ok_or_else(|| Failure::failed("the run was not begun"))?;
    for warning in &done.finished.warnings {
        context.say(&format!("warning: {warning}"));
    }
    Ok(done)
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
    let mut asked = asked(&args.run, context)?;
    let plan = resolved(&args.run, &asked, &context.site(idle()))?;
    // A plan that does not fit is shown, and is a failure as it would be one to run it.
    let fits = check_space(&plan, Layout::AsNeeded, &[], &context.host);
    if args.run.how.output.json {
        asked.diagnostics.extend(fits.as_ref().err().map(too_large));
        let document = serde_json::json!({ "plan": plan, "diagnostics": asked.diagnostics });
        context.out(&format!("{document:#}"));
    } else {
        context.out(&terminal::plan(&plan, &context.style));
        input::say_all(&asked.diagnostics, args.run.how.strict, context)?;
    }
    Ok(fits.map(|()| Outcome::Done)?)
}

fn too_large(shortage: &Shortage) -> Diagnostic {
    let said = Diagnostic::general(Severity::Error, "not-enough-space", shortage.what.clone());
    Diagnostic { help: shortage.fix.to_owned(), ..said }
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

pub(crate) fn asked(args: &RunArgs, context: &Context) -> Result<Asked, Failure> {
    let mut asked = match (&args.profile, &args.file) {
        (Some(name), _) => profile(name, args, context)?,
        (None, Some(file)) => {
            from(input::read_file(file, &args.reading, Some(&args.target))?, args, context)?
        }
        (None, None) => match &args.fio {
            Some(jobs) => from(jobs.clone(), args, context)?,
            None => return Err(Failure::usage("name a file, or a profile with --profile")),
        },
    };
    if let Some(runtime) = &args.runtime {
        let time: Nanos = runtime.parse().map_err(|error| Failure::usage(format!("--runtime: {error}")))?;
        for change in native::override_runtime(&mut asked.workload, time) {
            asked.notes.push(("runtime".to_owned(), change.to_string()));
        }
    }
    let phases = steps::multiply(std::mem::take(&mut asked.workload.phases), &args.steps)?;
    let shuffle = args
        .steps
        .shuffle
        .then(|| args.seed.or(asked.workload.seed).map_or_else(assay_runner::random_seed, Ok));
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

fn profile(name: &str, args: &RunArgs, context: &Context) -> Result<Asked, Failure> {
    let all = native::profiles();
    let Some(found) = all.iter().find(|profile| profile.name == name) else {
        let hint = near::nearest(name, all.iter().map(|profile| profile.name));
        let hint =
            hint.map_or("'--profile list' shows them".to_owned(), |near| format!("did you mean {near}?"));
        return Err(Failure::usage(format!("there is no profile '{name}'; {hint}")));
    };
    let place = input::directory_of(&args.target)?;
    let path = if is_assay_dir(&place) { place.clone() } else { place.join(WORK_DIR) };
    let mut workload = input::parse(found.name, found.text, Format::Native, &ReadingArgs::default(), None)?
        .accept(true, context)?;
    let mut notes = scale(&mut workload, args)?;
    let space = space::of(&place).map_err(|error| Failure::failed(format!("free space: {error}")))?;
    let available = space.usable_bytes() + assay_runner::bytes_in(&path);
    let scaled = native::scale_to(&mut workload, available);
    if !scaled.fits() {
        let place = place.display();
        return Err(Failure::failed(format!(
            "profile {name} does not fit into the space that is free in {place}"
        )));
    }
    notes.extend(scaled.changes.iter().map(|change| ("scaled".to_owned(), change.to_string())));
    let work_dir = Some(path.clone());
    Ok(Asked { workload, directory: path, notes, diagnostics: Vec::new(), work_dir })
}

/// The plan of what was asked for, here.
fn resolved(args: &RunArgs, asked: &Asked, site: &Site) -> Result<Plan, Failure> {
    let engine = args.how.engine.as_deref().map(engine_of).transpose()?;
    // For fio the plan is made as if it were run here, so that both do the same.
    let fio = engine == Some(EngineKind::Fio);
    let request = Request {
        carrier: if fio { Carrier::Fio } else { Carrier::Native },
        engine: engine.filter(|_| !fio),
        seed: args.seed,
        ..Request::new(Work::Asked(asked.workload.clone()), &asked.directory)
    };
    let plan = assay_runner::plan(&request, site)?;
    if args.readonly {
        fio_command::check_readonly(&plan)?;
    }
    Ok(plan)
}

/// A stop flag for what does not run.
fn idle() -> Arc<AtomicBool> {
    Arc::default()
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
