//! A request from what was asked to its stored result.

use std::path::PathBuf;
use std::sync::Arc;

use assay_engine::kind::name_operations;
use assay_engine::tracing::{TraceSink, Traced};
use assay_engine::{Journal, JournalOf};
use assay_formats::foreign_command::CommandTime;
use assay_host::{HostRoot, environment};
use assay_results::environment::{AssayVersion, Environment};
use assay_workload::application::Body;
use assay_workload::growth::Layout;
use assay_workload::job::EngineKind;
use assay_workload::plan::Carrier;
use assay_workload::target::TargetKind;
use assay_workload::{Plan, Workload, resolve};

use crate::aliases;
use crate::commands;
use crate::consent::{check_consent, claim};
use crate::data_journal;
use crate::error::RunError;
use crate::executor::HostExecutor;
use crate::files::{make_anchors, make_files, remove_files};
use crate::fio::{self, FioExecutor};
use crate::hold::Permits;
use crate::inventory;
use crate::limits::{check_descriptors, check_memory};
use crate::native::NativeExecutor;
use crate::parents::Parents;
use crate::recording::{Finished, Place, Recorded, record_in};
use crate::request::{Observer, Request, Site, Work};
use crate::seed::random_seed;
use crate::space::check_space;
use crate::start::{Left, Start};

/// What came of a request.
#[derive(Debug)]
pub struct Done {
    /// The run.
    pub finished: Finished,
    /// Its I/Os, where a trace was asked for.
    pub trace: Option<Traced>,
    /// Indices of the phases that fio carried out, and CPU of each whole fio, user and system, nanoseconds.
    pub fio_cpu_ns: Vec<(usize, u64)>,
    /// What it made and left; `None`: nothing.
    pub left: Option<Left>,
}

/// The environment of a plan's targets.
pub fn environment_of(plan: &Plan, host: &HostRoot, version: AssayVersion) -> Environment {
    let real = plan.targets.iter().filter(|target| target.kind != TargetKind::Null);
    let paths: Vec<PathBuf> = real.map(|target| PathBuf::from(&target.path)).collect();
    let unwritten = assay_engine::extents::Kernel;
    let mut found = environment::collect_with(host, version, &paths, &unwritten);
    environment::narrow_to_reads(host, &mut found, plan, &unwritten);
    found
}

/// The plan that a request becomes here. Nothing is made or written.
///
/// # Errors
/// [`RunError`] naming the target that cannot be used, why the workload makes no plan, or what in a plan cannot be.
pub fn plan(request: &Request, site: &Site) -> Result<Plan, RunError> {
    if request.carrier == Carrier::Simulated {
        return Err(RunError::NoStorage);
    }
    let mut plan = match &request.work {
        Work::Planned(plan) => {
            plan.check()?;
            plan.clone()
        }
        Work::LookedAt(workload, inventory) => {
            let (workload, seed) = seeded(workload, request.seed)?;
            resolve::plan(&workload, inventory, seed)?
        }
        Work::Asked(workload) => {
            let mut plan = planned(workload, request, site)?;
            if request.carrier == Carrier::Fio || plan.uses(Carrier::Fio) {
                fio::hand_over(&mut plan, |_| true);
            }
            plan
        }
    };
    name_operations(&mut plan, site.kinds.native())
        .map_err(|(job, number)| RunError::Operations { job: job.to_owned(), number })?;
    Ok(plan)
}

/// The workload with the seed that is asked for, and what is drawn for it. A seed that is asked for is that of all jobs.
fn seeded(workload: &Workload, asked: Option<u64>) -> Result<(Workload, u64), RunError> {
    let mut workload = workload.clone();
    if asked.is_some() {
        workload.seed = asked;
        workload.phases.iter_mut().flat_map(|phase| &mut phase.jobs).for_each(|job| job.seed = None);
    }
    Ok((workload, asked.map_or_else(random_seed, Ok)?))
}

fn planned(workload: &Workload, request: &Request, site: &Site) -> Result<Plan, RunError> {
    let (workload, seed) = seeded(workload, request.seed)?;
    let mut inventory = inventory::look_at(
        &workload,
        &request.directory,
        request.engine,
        &site.host,
        site.engine_choices.as_deref(),
    )?;
    inventory.engines.push(EngineKind::Fio);
    for probe in &request.probes {
        let of_probe =
            |path: &str| probe.target.path == path || probe.target.canonical_path.as_deref() == Some(path);
        for (name, _) in inventory.targets.iter().filter(|(_, facts)| of_probe(&facts.path)) {
            let touched = inventory.touched_bytes.entry(name.clone()).or_default();
            *touched = probe.region_bytes.max(*touched);
        }
    }
    Ok(resolve::plan(&workload, &inventory, seed)?)
}

/// Refuses an application that no kind of job here takes: as anything else it would be another test.
pub(crate) fn has_kinds(plan: &Plan, site: &Site) -> Result<(), RunError> {
    let jobs = plan.phases.iter().flat_map(|phase| phase.jobs.iter().map(|job| (phase.carried_by, job)));
    for (carrier, job) in jobs {
        let Body::Application(of) = job.body() else { continue };
        if carrier != Carrier::Native || !site.kinds.native().any(|kind| kind.takes(job)) {
            return Err(RunError::NoKind { job: job.name.clone(), application: Box::new(of.clone()) });
        }
    }
    Ok(())
}

/// Carries a request out and keeps its result; `None`: the observer did not want it to begin.
///
/// # Errors
/// [`RunError`] if it was refused or could not be begun; a run that failed later is a [`Finished`] that says so.
pub fn carry_out(
    request: Request,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Option<Done>, RunError> {
    let plan = plan(&request, site)?;
    if plan.uses(Carrier::Simulated) {
        return Err(RunError::NoStorage);
    }
    has_kinds(&plan, site)?;
    let mut notes = request.notes.clone();
    if plan.uses(Carrier::Fio) {
        if request.trace.is_some() {
            return Err(RunError::TraceOfFio);
        }
        if request.fio.is_none() {
            return Err(RunError::NoFio);
        }
        notes.extend(fio::losses(&plan, request.strict)?);
    }
    // Held until the run has ended and what it made in vain is removed.
    let claims = request.claims.clone();
    // What is refused from here on leaves none of them behind.
    let named = request.directories.as_ref();
    let parents = named.map(|named| Parents::make(&plan, named, &site.host)).transpose()?;
    let permits = permitted(&plan, &request, site)?;
    let notes = [notes, data_journal::check(&plan, &request, site)?].concat();
    if !observer.before_writing(&plan) {
        return Ok(None);
    }
    let start = Start::of(&plan);
    let executed = commands::run(&request.commands, CommandTime::Before, &site.stop)?;
    let mut done = begin(plan, permits, &request, [notes, executed].concat(), site, observer);
    if let Ok(done) = &mut done {
        let executed = commands::run(&request.commands, CommandTime::After, &site.stop);
        done.finished.warnings.extend(executed.err().map(|error| error.to_string()));
    }
    // Where storage does not answer, removing would not end either: it is told what is left.
    let is_undone = |done: &Done| done.finished.came_to_nothing() && !done.finished.met_hung_ios();
    if done.as_ref().map_or(true, is_undone) {
        start.undo(&claims, &site.host);
        return done.map(Some);
    }
    parents.into_iter().for_each(Parents::keep);
    done.map(|done| Some(Done { left: start.left(), ..done }))
}

/// Claims the targets of a plan, and asks whether all of it may be done here.
pub(crate) fn permitted(plan: &Plan, request: &Request, site: &Site) -> Result<Permits, RunError> {
    // Before the first of many is opened.
    check_descriptors(plan)?;
    aliases::check(plan)?;
    claim(plan, &request.claims, &site.host)?;
    let permits = check_consent(plan, &site.host, &request.consent(&site.host))?;
    check_memory(plan, &site.host)?;
    check_space(plan, Layout::AsNeeded, &[], &site.host)?;
    Ok(permits)
}

/// Makes what a plan needs: where it is carried out, and what may be opened there.
pub(crate) fn make(
    plan: &Plan,
    mut permits: Permits,
    request: &Request,
    site: &Site,
) -> Result<(Environment, Arc<Permits>), RunError> {
    make_files(plan, &mut permits, &site.host)?;
    make_anchors(plan)?;
    // By names that led nowhere before.
    aliases::check(plan)?;
    // What did not exist before.
    claim(plan, &request.claims, &site.host)?;
    Ok((environment_of(plan, &site.host, site.version.clone()), Arc::new(permits)))
}

/// What carries a plan out, with a journal of its validated writes where one is kept.
pub(crate) fn executor_of(
    plan: &Plan,
    (environment, permits): (&Environment, Arc<Permits>),
    request: &Request,
    site: &Site,
    journal: Option<(u64, Arc<Journal>)>,
) -> HostExecutor {
    let trace = request.trace.clone().map(|tracing| Arc::new(TraceSink::new(tracing)));
    let fio = request.fio.clone().filter(|_| plan.uses(Carrier::Fio));
    HostExecutor {
        native: NativeExecutor::new(environment, request, site, trace, Arc::clone(&permits), journal),
        fio: fio.map(|fio| {
            FioExecutor::new(fio, environment, site, Arc::clone(&permits), request.claims.clone())
        }),
    }
}

/// Makes what the plan needs and carries it out.
fn begin(
    plan: Plan,
    permits: Permits,
    request: &Request,
    notes: Vec<(String, String)>,
    site: &Site,
    observer: &mut dyn Observer,
) -> Result<Done, RunError> {
    let (environment, permits) = make(&plan, permits, request, site)?;
    let place = Place::new(&plan, site)?;
    let at = data_journal::path_of(&plan, &request.directory, place.path(), None);
    let of = JournalOf { run: place.id().to_owned(), host: None };
    let journal =
        data_journal::create(&plan, &of, at).inspect_err(|_| drop(std::fs::remove_dir(place.path())))?;
    let kept = journal.as_ref().map(|(_, journal)| Arc::clone(journal));
    let allowed = Arc::clone(&permits);
    let mut executor = executor_of(&plan, (&environment, permits), request, site, journal);
    let recorded = Recorded { plan: Arc::new(plan), environment, notes, journal: kept };
    let finished = record_in(place, recorded, &mut executor, site, observer)?;
    remove_files(&finished.run.plan, &allowed, &request.claims, &site.host);
    let fio_cpu_ns = executor.fio.map_or(Vec::new(), |fio| fio.process_cpu_ns);
    let trace = executor.native.trace.map(|trace| trace.take());
    Ok(Done { finished, trace, fio_cpu_ns, left: None })
}
