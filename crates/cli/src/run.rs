//! `assay run` and `assay plan`: a plan from a file or a profile, shown or carried out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_conduct::tiles::TILES_MAX;
use assay_formats::{Diagnostic, Severity, near};
use assay_host::claim::{Access, Claims};
use assay_host::guard::Refusal as Refused;
use assay_host::workdir::WorkDir;
use assay_report::terminal;
use assay_results::probe::Probe;
use assay_results::store;
use assay_runner::{Done, Finished, Observer, Request, RunError, Shortage, Site, Work, check_space};
use assay_workload::Plan;
use assay_workload::growth::Layout;
use assay_workload::job::EngineKind;
use assay_workload::plan::Carrier;
use assay_workload::units::Bytes;
use clap::Args;

use crate::against::{self, Comparing};
use crate::apps;
use crate::asked::{self, LoadedWorkload, Origin, Wanted};
use crate::audit::{self, source};
use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::fio_install;
use crate::foreign::ForeignArgs;
use crate::input::{self, ReadingArgs};
use crate::languages::Format;
use crate::live::Live;
use crate::on::{self, OnArgs};
use crate::options::{HowArgs, OutputArgs};
use crate::output::Outputs;
use crate::shown;
use crate::signals;
use crate::simulated;
use crate::status::Status;
use crate::traced::{self, RunTrace};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # Assay's own plans (docs/formats/plan.md)
  assay run plan.toml
  # the shipped profiles
  assay run --profile list
  # sized to the space that is there
  assay run --profile real-life --target /mnt/data
  # what it would do
  assay run plan.toml --dry-run
  # on several hosts at once, each on its own targets
  assay run plan.toml --on ssh:db1,db2,admin@db3
  # a plan that writes to a device must be allowed to
  assay run device.toml --destroy-data /dev/sdx")]
pub(crate) struct RunArgs {
    /// The plan
    #[arg(value_name = "FILE", required_unless_present = "profile")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// A shipped profile instead of a file; 'list' shows them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "on"])]
    pub(crate) profile: Option<String>,
    /// Directory for targets with relative paths
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) target: PathBuf,
    /// With --engine sim: the array model, a shipped one or a file ('assay audit --array list')
    #[arg(long, value_name = "NAME|FILE", default_value = crate::audit::ARRAY_DEFAULT)]
    pub(crate) array: String,
    /// Size of targets that have none in the file, with --engine sim [default: 1t] and with 'assay plan', which then looks at no target
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Run everything N times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// The plan as a tile, up to N times side by side: one more in each phase, until a tile misses a service_level of its jobs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(TILES_MAX)), conflicts_with_all = ["repeat", "curve", "find_rate", "until_steady", "profile"])]
    pub(crate) tiles: Option<u32>,
    #[command(flatten)]
    pub(crate) steps: crate::steps::StepArgs,
    /// Scale the plan by this factor: file sizes, bytes written and measured times ('0.01')
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<f64>,
    /// Measured time of every job that has one: '10s', '5m'
    #[arg(long, value_name = "TIME")]
    pub(crate) runtime: Option<String>,
    /// Seed: the same seed gives the same operations
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Judge with the cache sizes found by this probe ('assay probe'): its id, or the start of it
    #[arg(long, value_name = "ID", conflicts_with = "on")]
    pub(crate) probe: Vec<String>,
    /// Write every I/O as CSV (time, operation, offset, length, target, latency): for 'assay audit --trace'
    #[arg(long, value_name = "OUT", conflicts_with = "on")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  # every job and clone with everything resolved
  assay plan job.fio
  # the runs of a vdbench file, as vdbench -s lists them
  assay plan parmfile --runs
  # without its disks, which another machine has
  assay plan parmfile --size 100g
  # do two files, in whatever languages, offer the same load?
  assay plan parmfile --against job.fio
  # the plan and the diagnostics as one document
  assay plan plan.toml --json")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Only the file's own runs, in the words of its own tool (fio and vdbench files)
    #[arg(long)]
    pub(crate) runs: bool,
    /// Compare with the load that this file, in whatever language, offers
    ///
    /// Each difference is named with its lines; the status is then 4.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["runs", "profile", "on", "tiles", "repeat", "curve", "find_rate", "until_steady", "scale", "engine"])]
    pub(crate) against: Option<PathBuf>,
}

/// How what was asked for is carried out, whichever command line says it.
#[derive(Debug)]
pub(crate) struct RunOptions<'a> {
    pub(crate) common: &'a HowArgs,
    pub(crate) seed: Option<u64>,
    pub(crate) probes: &'a [String],
    pub(crate) trace: Option<&'a Path>,
    /// Nothing may be changed.
    pub(crate) readonly: bool,
    /// The array model of `--engine sim`.
    pub(crate) array: &'a str,
    /// The size it takes for targets without one.
    pub(crate) size: Bytes,
    /// The directory of targets with relative paths on each worker that has files of its own; `None`: where it is started.
    pub(crate) workers_directory: Option<&'a Path>,
    /// What is asked of Kubernetes, beside what `--on` says.
    pub(crate) kube: assay_fleet::kube::Options,
}

impl<'a> RunOptions<'a> {
    /// What can be said of every command that runs something; the rest as it is where nothing is said.
    pub(crate) fn usual(common: &'a HowArgs) -> Self {
        RunOptions {
            common,
            seed: None,
            probes: &[],
            trace: None,
            readonly: false,
            array: audit::ARRAY_DEFAULT,
            size: audit::size_default(),
            workers_directory: None,
            kube: assay_fleet::kube::Options::default(),
        }
    }

    fn of(args: &'a RunArgs) -> Self {
        RunOptions {
            seed: args.seed,
            probes: &args.probe,
            trace: args.trace.as_deref(),
            array: &args.array,
            size: args.size.unwrap_or_else(audit::size_default),
            ..RunOptions::usual(&args.how)
        }
    }
}

/// What the options of `assay run` want.
fn wanted(args: &RunArgs) -> Result<Wanted<'_>, Failure> {
    let origin = match (&args.profile, &args.file) {
        (Some(name), _) => Origin::Profile(name),
        (None, Some(file)) => Origin::File(file, &args.reading),
        (None, None) => return Err(Failure::usage("name a file, or a profile with --profile")),
    };
    Ok(Wanted {
        runtime: args.runtime.as_deref(),
        scale: args.scale,
        steps: args.steps.clone(),
        repeat: args.repeat,
        tiles: args.tiles,
        seed: args.seed,
        ..Wanted::from(origin, &args.target, args.how.allowed.strict)
    })
}

pub(crate) fn run(args: &RunArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.profile.as_deref() == Some("list") {
        context.out(&asked::profile_list(context));
        return Ok(Outcome::Done);
    }
    let mut how = RunOptions::of(args);
    if let Some(words) = &args.on.on {
        let mut wanted = wanted(args)?;
        if !on::shares_files(words) && args.target != Path::new(".") {
            // It is one of each worker, and need not be here.
            how.workers_directory = Some(&args.target);
            wanted.target = Path::new(".");
        }
        let asked = asked::asked(wanted, context)?;
        return on::execute(asked, (words, &args.on), args.how.dry_run, &how, context);
    }
    execute(wanted(args)?, &how, context)
}

/// The same on workers in pods.
#[cfg(feature = "kube")]
pub(crate) fn run_in_pods(
    args: &RunArgs,
    workers: u32,
    options: assay_fleet::kube::Options,
    context: &Context,
) -> Result<Outcome, Failure> {
    let Some(finished) = finished_in_pods(args, workers, options, None, context)? else {
        return Ok(Outcome::Done);
    };
    present(&finished, &args.how.output, Some(&args.how.foreign), context)
}

/// What came of it; `None`: the plan was shown only. `seed`: where none is asked for.
#[cfg(feature = "kube")]
pub(crate) fn finished_in_pods(
    args: &RunArgs,
    workers: u32,
    options: assay_fleet::kube::Options,
    seed: Option<u64>,
    context: &Context,
) -> Result<Option<Finished>, Failure> {
    let mut asked = asked::asked(wanted(args)?, context)?;
    let mut how = RunOptions { kube: options.clone(), ..RunOptions::of(args) };
    how.seed = how.seed.or(seed);
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    on::accept(&mut asked, &how, context)?;
    let setting = on::setting(&asked, &how, &site, context);
    let pods = assay_fleet::launch::kube::Pods::new(workers as usize, options, &setting);
    let (ranges, fleet_options) = (args.on.ranges(), args.on.loss.options(&site));
    let fleet = assay_fleet::Fleet::over(Box::new(pods), &mut asked.workload, ranges, fleet_options)?;
    on::carry_out(asked, fleet, args.how.dry_run, &how, &site, context)
}

/// Carries out what is wanted, here or simulated, and shows what came of it; or shows the plan only.
pub(crate) fn execute(
    wanted: Wanted<'_>,
    how: &RunOptions<'_>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let strict = how.common.allowed.strict;
    if how.common.engine.as_deref() == Some("sim") {
        return simulate(wanted, how, context);
    }
    let mut asked = asked::asked(wanted, context)?;
    if how.common.allow_exec {
        input::allow_commands(&asked.commands, &mut asked.diagnostics);
    } else {
        asked.commands.clear();
    }
    if how.common.dry_run {
        return show_plan(&mut asked, how, context);
    }
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    input::say_all(&asked.diagnostics, strict, context)?;
    asked.notes.extend(input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss)?);
    context.runs_root()?;
    // The plan comes before anything is made, as `assay plan` sees it.
    let plan = resolved(how, &asked, &site)?;
    check_hosts(&plan, &asked)?;
    let make = |path: PathBuf| WorkDir::create(&path, env!("CARGO_PKG_VERSION"), "run");
    let work_dir = asked.work_dir.take().map(make).transpose().map_err(Failure::usage)?;
    let claims = Claims::default();
    if let Some(directory) = &work_dir {
        claims.take(&site.host, directory.path(), Access::Exclusive).map_err(Failure::failed)?;
    }
    let finished = carry_out(plan, how, &mut asked, (&claims, &site), context);
    let useless = finished.as_ref().map_or(true, Finished::came_to_nothing);
    if let Some(directory) = work_dir.filter(|directory| useless && directory.created()) {
        let _ = directory.remove();
    }
    present(&finished?, &how.common.output, Some(&how.common.foreign), context)
}

/// `--engine sim`.
fn simulate(wanted: Wanted<'_>, how: &RunOptions<'_>, context: &Context) -> Result<Outcome, Failure> {
    if how.trace.is_some() {
        return Err(Failure::usage("--trace is for real I/O: a simulation does what 'assay audit' says"));
    }
    let model = source::model(how.array)?;
    let asked = asked::asked(wanted, context)?;
    input::say_all(&asked.diagnostics, how.common.allowed.strict, context)?;
    let seed = how.seed.or(asked.workload.seed).map_or_else(assay_runner::random_seed, Ok)?;
    let (plan, assumed) = source::planned(&asked.workload, how.size, Some(seed))?;
    check_hosts(&plan, &asked)?;
    if !assumed.is_empty() {
        let names = assumed.join(", ");
        context.say(&format!("no size is given for {names}: taken as {} (--size)", how.size));
    }
    if how.common.dry_run {
        print_plan(&assay_runner::marked(&plan, &model), &asked.diagnostics, how.common, context);
        check_outputs(how, &plan)?;
        input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss)?;
        return Ok(Outcome::Done);
    }
    check_outputs(how, &plan)?;
    let mut notes = asked.notes;
    notes.extend(input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss)?);
    let site = Site { kinds: apps::kinds(context)?, ..context.site(signals::stop_flag()?) };
    context.say(&assay_runner::remark(&model, plan.seed));
    let finished = simulated::simulate(&plan, &model, notes, &site, context)?.finished;
    present(&finished, &how.common.output, Some(&how.common.foreign), context)
}

/// Shows what came of a run, writes what is to be written of it, and says where it is kept.
pub(crate) fn present(
    finished: &Finished,
    output: &OutputArgs,
    foreign: Option<&ForeignArgs>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let program = foreign.and_then(|foreign| foreign.program.as_ref());
    if output.json {
        context.out(&shown::json(&finished.run)?);
    } else if foreign.is_none_or(|foreign| !foreign.reports()) {
        shown::show(&finished.run, &[], context)?;
    }
    let targets = finished.run.plan.targets.iter().map(|target| &target.path);
    let outputs = Outputs::new(output.force).reading(targets);
    foreign.map_or(Ok(()), |to| to.write(&finished.run, Some(&finished.directory), &outputs))?;
    match &output.html {
        Some(path) => outputs.write("--html", path, &shown::page(&finished.run, &[], context)?)?,
        None => shown::keep_page(&finished.run, &finished.directory, context)?,
    }
    context.say(&format!("kept in {}", finished.directory.display()));
    let outcome = outcome_of(finished, output.require_valid)?;
    let failed = program.map_or(0, |program| program.status(&finished.run));
    Ok(if outcome == Outcome::Done && failed > 0 { Outcome::Passed(failed) } else { outcome })
}

/// Whether everything can be written that is to be written of a run: told before anything is measured. The files that
/// were read and the targets are not to be replaced.
pub(crate) fn check_outputs(how: &RunOptions<'_>, plan: &Plan) -> Result<(), Failure> {
    let targets = plan.targets.iter().map(|target| &target.path);
    let outputs = Outputs::new(how.common.output.force).reading(targets);
    let mut outputs = how.common.output.checked(outputs)?;
    outputs.check("--trace", how.trace)?;
    how.common.foreign.check(&mut outputs)
}

/// Carries a plan out here, by Assay's own engines or by fio.
fn carry_out(
    plan: Plan,
    how: &RunOptions<'_>,
    asked: &mut LoadedWorkload,
    (claims, site): (&Claims, &Site),
    context: &Context,
) -> Result<Finished, Failure> {
    // What may refuse to go on comes before anything is made.
    check_outputs(how, &plan)?;
    how.common.allowed.say_standing(&plan, context)?;
    let fio = plan
        .uses(Carrier::Fio)
        .then(|| fio_install::find(how.common.install_missing, context))
        .transpose()?;
    let trace = RunTrace::to(how.trace, how.common.output.force);
    if let Some(trace) = &trace {
        check_space(&plan, Layout::AsNeeded, &[trace.largest(&plan)], &site.host)?;
    }
    let foreign = &how.common.foreign;
    let reporting = foreign.program.as_ref().filter(|_| !plan.uses(Carrier::Fio)).map(|of| &of.reporting);
    let by_io = reporting.map_or_else(Vec::new, |reporting| reporting.logged_by_io(&plan));
    let timed = reporting.map_or_else(Vec::new, |reporting| reporting.timed_submission(&plan));
    let logs_ios = !by_io.is_empty();
    let tracing = traced::tracing(trace.is_some(), by_io, timed);
    let request = Request {
        fio,
        consent: how.common.allowed.named()?,
        really: how.common.allowed.really,
        watch: how.common.watch.into(),
        probes: probes(how, context)?,
        trace: tracing,
        strict: how.common.allowed.strict,
        notes: std::mem::take(&mut asked.notes),
        commands: std::mem::take(&mut asked.commands),
        directories: (asked.format == Some(Format::Fio)).then(|| existing(asked)),
        claims: claims.clone(),
        ..Request::new(Work::Planned(plan.clone()), &asked.directory)
    };
    let live = Live::announcing(context).on_screen(how.common.screen.live)?;
    let live = if request.really { live.asking(&site.host) } else { live };
    let outputs =
        Outputs::new(how.common.output.force).reading(plan.targets.iter().map(|target| &target.path));
    let mut live = Status::new(live, foreign.program.as_deref(), &outputs, &foreign.begun);
    let done = recorded(request, site, &mut live, context)?;
    if let (Some(trace), Some(taken)) = (trace, &done.trace) {
        trace.write(taken, &plan, context)?;
    }
    if let Some(taken) = done.trace.as_ref().filter(|_| logs_ios) {
        let _ = foreign.ios.set(traced::logged(taken, context));
    }
    Ok(done.finished)
}

/// Carries a request out while `live` shows where it stands; what could not be kept is said.
pub(crate) fn recorded(
    request: Request,
    site: &Site,
    live: &mut dyn Observer,
    context: &Context,
) -> Result<Done, Failure> {
    context.runs_root()?;
    let done = assay_runner::carry_out(request, site, live)?;
    let done = done.ok_or_else(|| Failure::failed("the run was not begun"))?;
    for warning in &done.finished.warnings {
        context.say(&format!("warning: {warning}"));
    }
    if let Some(left) = &done.left {
        context.say(&left.to_string());
    }
    Ok(done)
}

/// The probes that the run is to be judged with.
fn probes(how: &RunOptions<'_>, context: &Context) -> Result<Vec<Probe>, Failure> {
    let load = |id: &String| {
        context.probes_root().and_then(|root| store::load_probe(&root, id).map_err(Failure::usage))
    };
    how.probes.iter().map(load).collect()
}

pub(crate) fn plan(args: &PlanArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.runs {
        return own_runs(&args.run, context);
    }
    if args.run.profile.as_deref() == Some("list") {
        return run(&args.run, context);
    }
    if let (Some(against), Some(file)) = (&args.against, &args.run.file) {
        let run = &args.run;
        let how = Comparing {
            reading: &run.reading,
            size: run.size,
            runtime: run.runtime.as_deref(),
            json: run.how.output.json,
        };
        return against::compare([file, against], &how, context);
    }
    let mut asked = asked::asked(wanted(&args.run)?, context)?;
    let how = RunOptions::of(&args.run);
    if args.run.size.is_some() {
        return without_targets(&asked, &how, context);
    }
    if let Some(words) = &args.run.on.on {
        return on::execute(asked, (words, &args.run.on), true, &how, context);
    }
    show_plan(&mut asked, &how, context)
}

/// Shows a plan whose targets are not looked at. What `run` would do is not known then.
fn without_targets(
    asked: &LoadedWorkload,
    how: &RunOptions<'_>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let engine = how.common.engine.as_deref().map(engine_of).transpose()?;
    let (plan, assumed) = source::planned_for(&EngineKind::ALL, engine, &asked.workload, how.size, how.seed)?;
    if !assumed.is_empty() {
        context.say(&format!("no size is given for {}: taken as {} (--size)", assumed.join(", "), how.size));
    }
    print_plan(&plan, &asked.diagnostics, how.common, context);
    if !how.common.output.json {
        input::say_all(&asked.diagnostics, how.common.allowed.strict, context)?;
    }
    Ok(Outcome::Done)
}

/// Shows a plan, and ends as carrying it out would.
pub(crate) fn show_plan(
    asked: &mut LoadedWorkload,
    how: &RunOptions<'_>,
    context: &Context,
) -> Result<Outcome, Failure> {
    let site = Site { kinds: apps::kinds(context)?, ..context.site(idle()) };
    let plan = resolved(how, asked, &site)?;
    let refusals = refusals(&plan, how, asked, context);
    if how.common.output.json {
        asked.diagnostics.extend(refusals.iter().map(|refusal| refusal.diagnostic.clone()));
    }
    print_plan(&plan, &asked.diagnostics, how.common, context);
    if !how.common.output.json {
        input::say_all(&asked.diagnostics, how.common.allowed.strict, context)?;
    }
    refused(refusals, context)
}

/// A plan on stdout: in words, or with the diagnostics of its file as one document.
pub(crate) fn print_plan(plan: &Plan, diagnostics: &[Diagnostic], how: &HowArgs, context: &Context) {
    if how.output.json {
        let document = serde_json::json!({ "plan": plan, "diagnostics": diagnostics });
        context.out(&format!("{document:#}"));
    } else {
        context.out(&terminal::plan(plan, &context.style));
    }
}

/// Why `run` would not carry a plan out.
struct Refusal {
    /// What it would end with.
    failure: Failure,
    /// The same for a document.
    diagnostic: Diagnostic,
}

impl Refusal {
    fn new(id: &'static str, failure: Failure) -> Self {
        let diagnostic = Diagnostic::general(Severity::Error, id, failure.to_string());
        Refusal { failure, diagnostic }
    }

    fn too_large(shortage: Shortage) -> Self {
        let said = Diagnostic::general(Severity::Error, "not-enough-space", shortage.what.clone());
        let diagnostic = Diagnostic { help: shortage.fix.to_owned(), ..said };
        Refusal { failure: shortage.into(), diagnostic }
    }
}

/// All reasons for which `run` would not carry this plan out. The first is the one that it would end with.
fn refusals(plan: &Plan, how: &RunOptions<'_>, asked: &LoadedWorkload, context: &Context) -> Vec<Refusal> {
    // Nothing else is known of other machines.
    if let Err(failure) = check_hosts(plan, asked) {
        return vec![Refusal::new("other-hosts", failure)];
    }
    let host = &context.host;
    let trace = RunTrace::to(how.trace, how.common.output.force);
    let largest: Vec<_> = trace.iter().map(|trace| trace.largest(plan)).collect();
    let losses = input::accept_losses(&asked.diagnostics, how.common.allowed.allow_loss).err();
    // In a directory that `run` makes first there is nothing to ask for.
    let is_made = asked.work_dir.as_ref().is_some_and(|directory| !directory.exists());
    // So are directories that are missing above the files of a job of fio.
    let is_made_above = |error: &RunError| {
        let RunError::Refused(Refused::NoParent { path }) = error else { return false };
        let is_named = |named: PathBuf| !named.is_dir() && path.starts_with(named);
        asked.format == Some(Format::Fio) && !existing(asked).into_iter().any(is_named)
    };
    let consent = match how.common.allowed.consent(host) {
        Ok(consent) => {
            let refused = assay_runner::check_consent(plan, host, &consent).err();
            refused.filter(|error| !is_made_above(error)).map(Failure::from)
        }
        Err(failure) => Some(failure),
    };
    let consent = consent.filter(|_| !is_made);
    let memory = assay_runner::check_memory(plan, host).err();
    let descriptors = assay_runner::check_descriptors(plan).err();
    let fio = assay_runner::fio::losses(plan, how.common.allowed.strict).err();
    let found = [
        losses.map(|failure| Refusal::new("loss-not-allowed", failure)),
        check_outputs(how, plan).err().map(|failure| Refusal::new("output-refused", failure)),
        context.runs_root().err().map(|failure| Refusal::new("runs-not-kept", failure)),
        fio.map(|error| Refusal::new("not-for-fio", error.into())),
        consent.map(|failure| Refusal::new("write-refused", failure)),
        memory.map(|error| Refusal::new("not-enough-memory", error.into())),
        descriptors.map(|error| Refusal::new("not-enough-descriptors", error.into())),
        check_space(plan, Layout::AsNeeded, &largest, host).err().map(Refusal::too_large),
    ];
    found.into_iter().flatten().collect()
}

/// Ends as `run` would, and says the other reasons before.
fn refused(refusals: Vec<Refusal>, context: &Context) -> Result<Outcome, Failure> {
    let mut refusals = refusals.into_iter();
    let Some(first) = refusals.next() else { return Ok(Outcome::Done) };
    refusals.for_each(|more| context.error(&more.failure));
    Err(first.failure)
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
    input.accept(args.how.allowed.strict, context)?;
    Ok(Outcome::Done)
}

/// The plan of what was asked for, here.
fn resolved(how: &RunOptions<'_>, asked: &LoadedWorkload, site: &Site) -> Result<Plan, Failure> {
    let engine = how.common.engine.as_deref().map(engine_of).transpose()?;
    // For fio the plan is made as if it were run here, so that both do the same.
    let fio = engine == Some(EngineKind::Fio);
    let request = Request {
        carrier: if fio { Carrier::Fio } else { Carrier::Native },
        engine: engine.filter(|_| !fio),
        seed: how.seed,
        ..Request::new(Work::Asked(asked.workload.clone()), &asked.directory)
    };
    let plan = assay_runner::plan(&request, site)?;
    if how.readonly {
        assay_runner::check_readonly(&plan).map_err(Failure::failed)?;
    }
    Ok(plan)
}

/// Refuses a plan for other hosts, with the place of the first of them.
fn check_hosts(plan: &Plan, asked: &LoadedWorkload) -> Result<(), Failure> {
    let Err(error) = assay_runner::check_hosts(plan) else { return Ok(()) };
    let place = asked.diagnostics.iter().find(|one| one.id == "other-host");
    let place = place.and_then(|one| one.position.as_ref()).map_or(String::new(), |at| format!("{at}: "));
    Err(Failure::usage(format!("{place}{error}")))
}

/// The directories that a job file names, and that have to exist.
fn existing(asked: &LoadedWorkload) -> Vec<PathBuf> {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    asked.directories.iter().map(|directory| absolute(asked.directory.join(directory))).collect()
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
        Failure::usage(format!("there is no engine '{name}'; {hint}available: {}", names.join(", ")))
    })
}
