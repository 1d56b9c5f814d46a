//! `assay oltp build`, `run` and `check`: from what was given to a database, a workload, or a list of what was checked.

use std::path::PathBuf;

use assay_workload::job::{Arrival, Job, Limits, Phase, Rate, Workload};
use assay_workload::pattern::{AccessPattern, Mix as BlockMix};
use assay_workload::target::{Target, TargetKind};

use crate::admin::Facts;
use crate::database::{Database, Here, How, Report, build_in, settled, warehouses};
use crate::error::{Asked, Error, Unfit};
use crate::kind::Oltp;
use crate::options::Given;
use crate::postgres::PostgresAdmin;
use crate::progress::Watcher;
use crate::scale::{Scale, advised_users};
use crate::settings::{Place, Settings};
use crate::sqlite;

/// A run that is ready to be carried out.
#[derive(Debug)]
pub struct PreparedRun {
    /// What is to be done.
    pub workload: Workload,
    /// Where.
    pub directory: PathBuf,
    /// What carries it out.
    pub kind: Oltp,
    /// What was done on the way, a sentence each.
    pub notes: Vec<String>,
}

/// Builds a database; what was built, in a line.
///
/// # Errors
/// [`Error`]; what was begun is removed then, where that is possible.
pub fn build(given: &Given, here: &Here, watcher: &mut Watcher<'_>) -> Result<String, Error> {
    build_scaled(given, (Scale::STANDARD, here), watcher)
}

/// The same at another scale, for tests.
///
/// # Errors
/// As [`build`].
pub fn build_scaled(
    given: &Given,
    (scale, here): (Scale, &Here),
    watcher: &mut Watcher<'_>,
) -> Result<String, Error> {
    let database = Database::of(given, here)?;
    let _claims = database.claim()?;
    build_in(&database, given, (scale, here), watcher)
}

/// Prepares a run: builds the database of SQLite where there is none, or where a new one is asked for.
///
/// # Errors
/// [`Error`]: what was given, or the database, does not do.
pub fn prepare_run(given: &Given, here: &Here, watcher: &mut Watcher<'_>) -> Result<PreparedRun, Error> {
    prepare_scaled(given, (Scale::STANDARD, here), watcher)
}

/// The same at another scale, for tests.
///
/// # Errors
/// As [`prepare_run`].
pub fn prepare_scaled(
    given: &Given,
    (scale, here): (Scale, &Here),
    watcher: &mut Watcher<'_>,
) -> Result<PreparedRun, Error> {
    let database = Database::of(given, here)?;
    // Everything that was given is read before anything is built.
    let how = How::of(given, &database)?;
    let mut notes = Vec::new();
    // Until the run itself has it.
    let claims = database.claim()?;
    // The ledger beside the database is looked at with it.
    let named = given.ledger().map(std::path::absolute).transpose();
    let named = named.map_err(|source| Error::File { path: given.ledger().unwrap_or("").into(), source })?;
    let own = |path: &PathBuf| matches!(&database, Database::Sqlite(at) if *path == sqlite::ledger(at));
    if let Some(path) = named.filter(|path| !own(path)) {
        crate::ledger::check_output(&path, here.force, &database.files())?;
    }
    let mut build = || -> Result<Facts, Error> {
        users_of(&how, warehouses(given, &database, here)?)?;
        notes.push(build_in(&database, given, (scale, here), watcher)?);
        database.facts()
    };
    let facts = match database.facts() {
        Ok(facts) if !given.has("rebuild") => facts,
        Err(Error::Database(Unfit::Missing { .. })) if matches!(database, Database::Sqlite(_)) => build()?,
        Ok(_) | Err(Error::Database(Unfit::HalfBuilt { .. } | Unfit::Version { .. }))
            if given.has("rebuild") =>
        {
            build()?
        }
        Ok(facts) => facts,
        Err(error) => return Err(error),
    };
    if let Database::Postgres(url) = &database {
        // Refused before a run is recorded; the run itself claims it again.
        PostgresAdmin::connect(url)?.claim()?;
    }
    let asked = given.has("warehouses") || given.has("size");
    let wanted = if asked { warehouses(given, &database, here)? } else { facts.warehouses };
    if wanted != facts.warehouses {
        return Err(Unfit::Size { place: database.shown(), found: facts.warehouses, asked: wanted }.into());
    }
    let users = users_of(&how, facts.warehouses)?;
    let settings = settled(&database, &how, facts, given, here)?;
    drop(claims);
    let workload = workload(&how, &settings, users);
    let (directory, password) = match &database {
        Database::Sqlite(directory) => (directory.clone(), None),
        Database::Postgres(url) => (PathBuf::from("."), url.password().map(str::to_owned)),
    };
    Ok(PreparedRun { workload, directory, kind: Oltp::with_password(password).forced(here.force), notes })
}

/// How many users work on so many warehouses.
fn users_of(how: &How, warehouses: u32) -> Result<u32, Error> {
    let users = how.users.unwrap_or(advised_users(warehouses));
    if users > warehouses { Err(Asked::Users { users, warehouses }.into()) } else { Ok(users) }
}

/// Checks a database; `say` is told what comes next.
///
/// # Errors
/// [`Error`]: there is none, or it cannot be read. What does not hold is no error but in the report.
pub fn check(
    given: &Given,
    here: &Here,
    say: &mut dyn FnMut(&str),
    stopped: &dyn Fn() -> bool,
) -> Result<Report, Error> {
    let database = Database::of(given, here)?;
    let _claims = database.claim()?;
    database.check(given, here, say, stopped)
}

/// A phase of one job, whose threads are the users. SQLite's directory is its target, so that its devices are watched.
fn workload(how: &How, settings: &Settings, users: u32) -> Workload {
    let target = match &settings.place {
        Place::Sqlite { directory, .. } => Some(Target {
            name: "database".to_owned(),
            path: directory.display().to_string(),
            kind: Some(TargetKind::Directory),
            size: None,
        }),
        Place::Postgres { .. } => None,
    };
    let targets: Vec<&str> = target.iter().map(|target| target.name.as_str()).collect();
    let name = format!("oltp-{}", settings.place.engine());
    let none = BlockMix { read_percent: 0.0, write_percent: 0.0, trim_percent: 0.0 };
    let job = Job::new(&name, &targets, AccessPattern::unknown(none)).with(|job| {
        job.application = Some(settings.application(users));
        job.threads = users;
        job.ramp = how.ramp;
        job.errors_tolerated = how.tolerated;
        job.invalidate = false;
        job.limits = Limits { time: Some(how.time), ..Limits::default() };
        job.rate = how.rate.map_or(Rate::Unlimited, Rate::Iops);
        job.arrival = if how.poisson { Arrival::Poisson } else { Arrival::Deterministic };
    });
    Workload {
        name: how.name.clone(),
        seed: how.seed,
        hosts: Vec::new(),
        targets: target.into_iter().collect(),
        phases: vec![Phase::measure(&name, vec![job])],
    }
}
