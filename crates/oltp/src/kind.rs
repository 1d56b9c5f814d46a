//! OLTP as a kind of job: a thread is a user, an operation is a transaction.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assay_engine::clock::RealClock;
use assay_engine::kind::{Intervals, Pending, Say, ThreadEnd};
use assay_engine::operations::{Entry, OperationCounts};
use assay_engine::recorder::{Recorder, Schedule, Shared};
use assay_engine::{
    Clock as _, EngineError, JobKind, JobRunner, PhaseContext, PreparedJobs, ThisMachine, ThreadIndex,
};
use assay_results::run::{Metric, Moment};
use assay_workload::application::Body;
use assay_workload::arrival::ArrivalSource;
use assay_workload::operation::OpId;
use assay_workload::plan::PlannedJob;
use assay_workload::rng::{Rng, derive_seed};

use crate::database::{Database, Here};
use crate::error::{Asked, Error, Unfit, failed};
use crate::inputs::{Inputs, Transaction, UserPlace};
use crate::ledger::{self, LedgerWriter};
use crate::monitor::{Monitor, Watch, Watched};
use crate::planned::{AskedJob, Task};
use crate::postgres::{ClientSession, Interrupt, PostgresAdmin, ServerSideSession, ServerUrl, Statistics};
use crate::scale::Scale;
use crate::settings::{KIND, Place, Settings, Synchronous};
use crate::sqlite::{self, SqliteSession, SqliteStore, sql_error};
use crate::text::NuRand;
use crate::user::{Bounds, User, UserCounts};

/// The names of operations, by number: the five transactions, and a New-Order that was to be rolled back. A commit that is durable when
/// it returns is counted as a flush.
pub const OPERATIONS: [&str; 6] = {
    let [a, b, c, d, e] = Transaction::ALL;
    [a.name(), b.name(), c.name(), d.name(), e.name(), "new-order rolled back"]
};

/// The id of notes.
const NOTE: &str = "oltp";

/// The kind of job.
pub struct Oltp {
    /// Of the user of a server; `None`: it needs none.
    password: Option<String>,
    /// Whether the ledger may replace a file that Assay did not make.
    force: bool,
    /// For jobs as plans ask for them: what the program around knows, and the clock when it was told.
    here: Option<(Here, u64)>,
    /// Of databases that are built.
    scale: Scale,
}

impl std::fmt::Debug for Oltp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oltp").finish_non_exhaustive()
    }
}

impl Default for Oltp {
    fn default() -> Self {
        Oltp { password: None, force: false, here: None, scale: Scale::STANDARD }
    }
}

impl Oltp {
    /// One that has a password: plans have none.
    pub fn with_password(password: Option<String>) -> Self {
        Oltp { password, ..Oltp::default() }
    }

    /// One for jobs of plans, whose databases are known when their phase begins.
    pub fn for_plans(here: Here) -> Self {
        let password = here.password.clone();
        Oltp { here: Some((here, RealClock::new().now_ns())), ..Oltp::with_password(password) }
    }

    /// One that builds databases of another scale, for tests.
    #[must_use]
    pub fn scaled(self, scale: Scale) -> Self {
        Oltp { scale, ..self }
    }

    /// What the program around it knows, as of now.
    fn here(&self) -> Result<Here, Error> {
        let (here, told_ns) = self.here.as_ref().ok_or_else(|| Asked::Option {
            option: "application",
            why: "of a plan is not possible in this command".to_owned(),
        })?;
        let since_us = RealClock::new().now_ns().saturating_sub(*told_ns) / 1000;
        Ok(Here { now_us: here.now_us + since_us as i64, ..here.clone() })
    }

    /// One whose ledger may replace a file that Assay did not make.
    #[must_use]
    pub fn forced(self, force: bool) -> Self {
        Oltp { force, ..self }
    }
}

/// Where the users of a job connect to.
enum Store {
    Sqlite {
        store: SqliteStore,
        gate: Mutex<()>,
    },
    Postgres {
        url: ServerUrl,
        /// Whether users have the server time its log.
        times_log: bool,
        /// While it is open, the database is not built anew.
        claim: Mutex<PostgresAdmin>,
        /// Who had it as well when it was claimed.
        others: Vec<String>,
    },
}

/// A job that is ready.
struct Job {
    settings: Settings,
    /// Before the users' connections end, nothing of it does.
    store: Store,
    /// What was acknowledged.
    ledger: File,
    shared: Vec<Arc<Shared<OperationCounts>>>,
    counts: Arc<Vec<UserCounts>>,
    monitor: Monitor,
    watched: Mutex<Option<Watched>>,
    interrupts: Mutex<Vec<AnyInterrupt>>,
    /// Microseconds since 1970 when the clock shows 0.
    epoch_us: i64,
}

enum AnyInterrupt {
    Sqlite(rusqlite::InterruptHandle),
    Postgres(Interrupt),
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl JobKind<ThisMachine> for Oltp {
    fn takes(&self, job: &PlannedJob) -> bool {
        matches!(job.body(), Body::Application(of) if of.kind == KIND)
    }

    fn operations(&self, _: &PlannedJob) -> Vec<String> {
        OPERATIONS.map(str::to_owned).into()
    }

    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        own: &[usize],
        say: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        let (mut jobs, mut tasks) = (BTreeMap::new(), BTreeMap::new());
        for index in own {
            let planned = context.job(*index);
            let Some(asked) = AskedJob::of(planned) else {
                let settings = Settings::of(planned).ok_or_else(|| failed("a job of another kind"))?;
                jobs.insert(*index, self.job(planned, settings.map_err(failed)?, say)?);
                continue;
            };
            let asked = asked.map_err(failed)?;
            let here = self.here().map_err(failed)?;
            let database = asked.database(context, *index, &here).map_err(failed)?;
            if asked.task == Task::Run {
                let settings = asked.settle(planned, &database, &here).map_err(failed)?;
                say(NOTE, settings.words(planned.slices.len() as u32));
                jobs.insert(*index, self.job(planned, settings, say)?);
            } else {
                let said = Mutex::default();
                tasks.insert(*index, TaskJob { asked, database, here, scale: self.scale, said });
            }
        }
        Ok(Box::new(PreparedOltp { context, jobs, tasks }))
    }
}

/// Refuses a database that is not the one that was planned for.
fn expect_build(settings: &Settings, facts: &crate::admin::Facts, place: String) -> Result<(), Error> {
    if facts.build == settings.build {
        return Ok(());
    }
    Err(Unfit::Foreign { place, what: "another build than the one the plan is for".to_owned() }.into())
}

/// Says which other workers had the same database at the start or have it now: what the database counts is of all of them.
fn tell_of_others(admin: &mut PostgresAdmin, at_start: &[String], say: &mut Say<'_>) {
    // Where the server is gone, that is told elsewhere.
    let mut others = admin.others().unwrap_or_default();
    others.extend(at_start.iter().filter(|other| !others.contains(other)).cloned().collect::<Vec<_>>());
    if !others.is_empty() {
        let who = others.join(", ");
        say(
            NOTE,
            format!(
                "others of Assay worked on this database as well ({who}): NOPM and TPM count theirs, too"
            ),
        );
    }
}

impl Oltp {
    fn job(&self, planned: &PlannedJob, settings: Settings, say: &mut Say<'_>) -> Result<Job, EngineError> {
        let users = planned.slices.len() as u32;
        if users > settings.warehouses {
            return Err(failed(Asked::Users { users, warehouses: settings.warehouses }));
        }
        let counts: Arc<Vec<UserCounts>> = Arc::new((0..users).map(|_| UserCounts::default()).collect());
        let (store, ledger, watch) = self.connect(&settings, &counts, say).map_err(failed)?;
        let length = planned.end.time.map(|time| time.0);
        let monitor =
            Monitor::spawn(watch, planned.start_delay.0 + planned.ramp.0, length).map_err(failed)?;
        let table =
            std::array::from_fn::<_, { OPERATIONS.len() }, _>(|number| Entry::Named(OpId::new(number as u8)));
        Ok(Job {
            epoch_us: settings.started_us - (RealClock::new().now_ns() / 1000) as i64,
            settings,
            store,
            ledger,
            shared: (0..users).map(|_| OperationCounts::shared(&table)).collect(),
            counts,
            monitor,
            watched: Mutex::new(None),
            interrupts: Mutex::new(Vec::new()),
        })
    }

    /// Opens the database, counts the run, begins its ledger.
    fn connect(
        &self,
        settings: &Settings,
        counts: &Arc<Vec<UserCounts>>,
        say: &mut Say<'_>,
    ) -> Result<(Store, File, Box<dyn Watch>), Error> {
        match &settings.place {
            Place::Sqlite { directory, .. } => {
                let mut store = SqliteStore::open(directory)?;
                let mut admin = store.admin()?;
                let facts = crate::admin::Facts::read(&mut admin)?;
                expect_build(settings, &facts, directory.display().to_string())?;
                facts.begin_run(&mut admin)?;
                let ledger = if settings.ledger == sqlite::ledger(directory) {
                    store.begin_ledger(&settings.ledger)?
                } else {
                    ledger::begin(&settings.ledger, self.force, &sqlite::files(directory))?
                };
                let watch = crate::sqlite::SqliteWatch::new(admin, &store, Arc::clone(counts));
                Ok((Store::Sqlite { store, gate: Mutex::new(()) }, ledger, Box::new(watch)))
            }
            Place::Postgres { url, server_side } => {
                let url = ServerUrl::parse(url)?.or_password(self.password.clone());
                let mut admin = PostgresAdmin::connect(&url)?;
                // Workers that carry out one plan may share a server's database. Two commands would count each other's orders.
                if self.here.is_some() {
                    admin.share()?
                } else {
                    admin.claim()?
                };
                let others = admin.others()?;
                admin.expect_schema()?;
                let facts = crate::admin::Facts::read(&mut admin)?;
                expect_build(settings, &facts, url.shown())?;
                if *server_side && !facts.functions {
                    return Err(Unfit::NoFunctions { place: url.shown() }.into());
                }
                facts.begin_run(&mut admin)?;
                let ledger = ledger::begin(&settings.ledger, self.force, &[])?;
                crate::postgres::ServerFacts::read(&mut admin)?.tell(say);
                let watch = Statistics::connect(&url, say)?;
                let times_log = admin.times_log();
                Ok((
                    Store::Postgres { url, times_log, claim: Mutex::new(admin), others },
                    ledger,
                    Box::new(watch),
                ))
            }
        }
    }
}

struct PreparedOltp<'p> {
    context: PhaseContext<'p>,
    jobs: BTreeMap<usize, Job>,
    tasks: BTreeMap<usize, TaskJob>,
}

/// A job that builds or checks.
struct TaskJob {
    asked: AskedJob,
    database: Database,
    here: Here,
    scale: Scale,
    /// What came of it.
    said: Mutex<Vec<String>>,
}

/// The thread of such a job.
struct TaskRunner<'p> {
    job: &'p TaskJob,
    stop: Arc<AtomicBool>,
    end: assay_engine::job_loop::LoopEnd,
}

impl JobRunner for TaskRunner<'_> {
    fn arm(&mut self, _: u64) {}

    fn step(&mut self) -> Result<Pending, EngineError> {
        let stop = Arc::clone(&self.stop);
        let stopped = move || stop.load(Ordering::Relaxed);
        let TaskJob { asked, database, here, scale, said } = self.job;
        let done = match asked.task {
            Task::Build => asked.build(database, (*scale, here), &stopped),
            _ => asked.check(database, here, &stopped),
        };
        self.end.last_completion_ns = RealClock::new().now_ns();
        match done {
            Ok(text) => lock(said).push(text),
            // What was begun is told by the phase, which was stopped.
            Err(Error::Interrupted) => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(Pending::Done)
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        let engine = match self.job.database {
            Database::Sqlite(_) => "sqlite",
            Database::Postgres(_) => "postgresql",
        };
        ThreadEnd { end: self.end, engine, ..ThreadEnd::default() }
    }
}

impl PreparedOltp<'_> {
    fn job(&self, job: usize) -> Result<&Job, EngineError> {
        self.jobs.get(&job).ok_or_else(|| failed("a job of another kind"))
    }
}

impl PreparedJobs<ThisMachine> for PreparedOltp<'_> {
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals> {
        match self.jobs.get(&at.job).and_then(|job| job.shared.get(at.thread)) {
            Some(shared) => Arc::clone(shared) as Arc<dyn Intervals>,
            None => Shared::new(),
        }
    }

    fn thread(&self, at: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        if let Some(job) = self.tasks.get(&at.job) {
            let stop = Arc::clone(&self.context.stops[at.job]);
            return Ok(Box::new(TaskRunner { job, stop, end: Default::default() }));
        }
        let job = self.job(at.job)?;
        let backend = job.backend().map_err(failed)?;
        Ok(Box::new(UserRunner { job, user: Some(job.user(self.context, at)?), backend: Some(backend) }))
    }

    fn interrupt(&self, job: usize) {
        let Some(job) = self.jobs.get(&job) else { return };
        for interrupt in lock(&job.interrupts).iter() {
            match interrupt {
                AnyInterrupt::Sqlite(handle) => handle.interrupt(),
                AnyInterrupt::Postgres(interrupt) => interrupt.interrupt(),
            }
        }
    }

    fn finish(&self, say: &mut Say<'_>) {
        for text in self.tasks.values().flat_map(|task| std::mem::take(&mut *lock(&task.said))) {
            text.lines().for_each(|line| say(NOTE, line.trim().to_owned()));
        }
        for job in self.jobs.values() {
            let watched = job.monitor.end();
            let checkpoints = job.monitor.checkpoints_s(&watched);
            if let (Some(first), Place::Postgres { .. }) = (checkpoints.first(), &job.settings.place) {
                let rest: String = checkpoints[1..].iter().map(|second| format!(", {second}")).collect();
                say(
                    "checkpoints",
                    format!("checkpoints were completed at second {first}{rest} of the measured time"),
                );
            }
            if let Store::Postgres { claim, others, .. } = &job.store {
                tell_of_others(&mut lock(claim), others, say);
            }
            if let Some(why) = watched.error() {
                say(NOTE, format!("what the database counts is incomplete: {why}"));
            }
            *lock(&job.watched) = Some(watched);
        }
    }

    fn figures(&self, job: usize) -> BTreeMap<String, Metric> {
        let Some(job) = self.jobs.get(&job) else { return BTreeMap::new() };
        let mut figures = lock(&job.watched).as_ref().map(Watched::figures).unwrap_or_default();
        let sum = |of: fn(&UserCounts) -> &std::sync::atomic::AtomicU64| {
            job.counts.iter().map(|user| of(user).load(Ordering::Relaxed)).sum::<u64>()
        };
        let count = |value: u64| Metric {
            value: value as f64,
            unit: String::new(),
            n: 1,
            interval: None,
            basis: None,
        };
        figures.insert("retries".to_owned(), count(sum(|user| &user.retries)));
        figures
    }

    /// Checkpoints of a server; SQLite's come with every few transactions.
    fn moments(&self, job: usize) -> Vec<Moment> {
        let Some(job) = self.jobs.get(&job).filter(|job| matches!(job.store, Store::Postgres { .. })) else {
            return Vec::new();
        };
        let seconds = lock(&job.watched).as_ref().map(|watched| job.monitor.checkpoints_s(watched));
        let moment = |second| Moment { at_s: second as f64, what: "checkpoint".to_owned() };
        seconds.unwrap_or_default().into_iter().map(moment).collect()
    }
}

impl Job {
    fn backend(&self) -> Result<Backend, Error> {
        let (backend, interrupt) = match (&self.store, &self.settings.place) {
            (Store::Sqlite { store, .. }, Place::Sqlite { synchronous, .. }) => {
                let connection = store.connect(*synchronous)?;
                let interrupt = AnyInterrupt::Sqlite(connection.get_interrupt_handle());
                (Backend::Sqlite(connection), interrupt)
            }
            (Store::Postgres { url, times_log, .. }, Place::Postgres { server_side: true, .. }) => {
                let session = ServerSideSession::connect(url, *times_log)?;
                let interrupt = AnyInterrupt::Postgres(session.interrupt()?);
                (Backend::ServerSide(session), interrupt)
            }
            (Store::Postgres { url, times_log, .. }, _) => {
                let session = ClientSession::connect(url, *times_log)?;
                let interrupt = AnyInterrupt::Postgres(session.interrupt()?);
                (Backend::Client(Box::new(session)), interrupt)
            }
            (Store::Sqlite { .. }, Place::Postgres { .. }) => return Err(Error::Interrupted),
        };
        lock(&self.interrupts).push(interrupt);
        Ok(backend)
    }

    fn user(&self, context: PhaseContext<'_>, at: ThreadIndex) -> Result<User<'_>, EngineError> {
        let planned = context.job(at.job);
        let slice = &planned.slices[at.thread];
        let bounds = Bounds::of(planned, slice);
        let schedule = Schedule {
            start_ns: bounds.start_ns,
            measured_start_ns: bounds.measured_start_ns,
            interval_ns: context.interval_ns,
        };
        let settings = &self.settings;
        // The constants of the draws are of the run, not of a user.
        let seed = planned.slices.first().map_or(0, |slice| slice.seed);
        let nurand = NuRand::of_run(&mut Rng::new(derive_seed(seed, 11)), settings.load_last);
        let users = planned.slices.len() as u32;
        let place = UserPlace { user: at.thread as u32, users, home: settings.home };
        let rng = Rng::new(derive_seed(slice.seed, 12));
        let size = (settings.scale, settings.warehouses);
        let rate = planned.slice_iops(slice);
        Ok(User {
            clock: RealClock::new(),
            recorder: Recorder::new(Arc::clone(&self.shared[at.thread]), schedule),
            bounds,
            stop: Arc::clone(&context.stops[at.job]),
            arrivals: rate.map(|rate| ArrivalSource::of_thread(planned.pace.arrival(), rate, slice.seed)),
            inputs: Inputs::new(rng, nurand, size, settings.mix, place),
            thinks: settings.thinks,
            flushes: matches!(&settings.place, Place::Sqlite { synchronous: Synchronous::Full, .. }),
            epoch_us: self.epoch_us,
            ledger: LedgerWriter::new(&self.ledger, &settings.build).map_err(failed)?,
            counts: &self.counts[at.thread],
            errors_tolerated: planned.errors_tolerated,
            errors: BTreeMap::new(),
            end: assay_engine::job_loop::LoopEnd::default(),
            done: 0,
        })
    }
}

/// A connection with what it needs to carry transactions out.
enum Backend {
    Sqlite(rusqlite::Connection),
    Client(Box<ClientSession>),
    ServerSide(ServerSideSession),
}

/// The thread of a user.
struct UserRunner<'p> {
    job: &'p Job,
    user: Option<User<'p>>,
    backend: Option<Backend>,
}

impl UserRunner<'_> {
    fn work(&mut self) -> Result<(), EngineError> {
        let (Some(user), Some(backend)) = (&mut self.user, self.backend.take()) else { return Ok(()) };
        match backend {
            Backend::Sqlite(connection) => {
                let Store::Sqlite { gate, .. } = &self.job.store else { return Ok(()) };
                let mut session = SqliteSession::new(&connection, gate).map_err(failed)?;
                user.work(&mut session)?;
                drop(session);
                connection.close().map_err(|(_, error)| failed(sql_error(error)))
            }
            Backend::Client(mut session) => user.work(&mut *session),
            Backend::ServerSide(mut session) => user.work(&mut session),
        }
    }
}

impl JobRunner for UserRunner<'_> {
    fn arm(&mut self, start_ns: u64) {
        self.job.monitor.arm(start_ns);
        self.user.iter_mut().for_each(|user| user.arm(start_ns));
    }

    /// Everything: transactions wait inside, and no machine but this one has them.
    fn step(&mut self) -> Result<Pending, EngineError> {
        self.run().map(|()| Pending::Done)
    }

    fn run(&mut self) -> Result<(), EngineError> {
        self.work()
    }

    fn end(self: Box<Self>) -> ThreadEnd {
        let (end, errors_by_name) = self.user.map(User::finish).unwrap_or_default();
        ThreadEnd { end, errors_by_name, engine: self.job.settings.place.engine(), ..ThreadEnd::default() }
    }
}
