//! Mail as a kind of job: a job is a database, its threads are sessions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assay_engine::job_loop::LoopEnd;
use assay_engine::kind::{Intervals, JobKind, JobRunner, Pending, PreparedJobs, Say, ThreadEnd};
use assay_engine::recorder::{Recorder, Schedule};
use assay_engine::{EngineError, PhaseContext, ThisMachine, ThreadIndex};
use assay_host::workdir::{Ownership, WorkDir, Writing, ownership};
use assay_workload::application::Body;
use assay_workload::plan::PlannedJob;
use assay_workload::rng::Rng;
use assay_workload::units::Bytes;

use crate::disk::{Class, Disk as _, FileId};
use crate::error::StoreError;
use crate::files::{self, FileDisk, Files, Meter};
use crate::instance::{Counts, Instance, Together, Tuned, counts};
use crate::key::Key;
use crate::ledger::{self, Ledger};
use crate::load::{Loader, NewDatabase};
use crate::message;
use crate::operations;
use crate::page::PAGE_BYTES;
use crate::plan::KIND;
use crate::planned;
use crate::recover;
use crate::scan;
use crate::session::{ENGINE, Limits, Session, engine_error};
use crate::settings::{Settings, Task};
use crate::store::Store;

/// The identifier of what is said.
const NOTE: &str = "mail";
/// Folders of a mailbox.
const FOLDERS: u32 = 8;
/// Messages of a folder at the start: as many on average, 6 to 18.
const MESSAGES_MIN: u64 = 6;
const MESSAGES_MAX: u64 = 19;
/// What the log of a database takes, beside what soft recovery replays.
const LOG_BYTES: u64 = 64 << 20;
/// How full the pages of a new database are.
const FILL: f64 = 0.75;

/// Mail jobs.
#[derive(Debug, Default)]
pub struct Mail {
    /// What tuning has found, by directory and database.
    tuned: Mutex<BTreeMap<(PathBuf, u32), Tuned>>,
}

impl JobKind<ThisMachine> for Mail {
    fn takes(&self, job: &PlannedJob) -> bool {
        matches!(job.body(), Body::Application(of) if of.kind == KIND)
    }

    fn operations(&self, _: &PlannedJob) -> Vec<String> {
        operations::names()
    }

    fn prepare<'p>(
        &'p self,
        context: PhaseContext<'p>,
        jobs: &[usize],
        say: &mut Say<'_>,
    ) -> Result<Box<dyn PreparedJobs<ThisMachine> + 'p>, EngineError> {
        check_room(context, jobs)?;
        let mut prepared = BTreeMap::new();
        for job in jobs {
            if context.stopped() {
                break;
            }
            prepared.insert(*job, Database::prepare(self, context, *job, say)?);
        }
        Ok(Box::new(PreparedMail { kind: self, context, databases: prepared }))
    }
}

fn settings_of(context: PhaseContext<'_>, job: usize) -> Result<(Settings, PathBuf), EngineError> {
    let planned = context.job(job);
    let settings = planned::settings_of(planned).ok_or_else(|| engine_error("a job of another kind"))?;
    let settings = settings.map_err(|why| engine_error(format!("job '{}': {why}", planned.name)))?;
    let site = planned.slices.first().and_then(|slice| slice.sites.first());
    let site = site.ok_or_else(|| engine_error(format!("job '{}' names no directory", planned.name)))?;
    Ok((settings, PathBuf::from(&context.plan.targets[site.target as usize].path)))
}

/// Refuses buffer pools that are larger than what memory is available, and new databases that would fill the file system.
fn check_room(context: PhaseContext<'_>, jobs: &[usize]) -> Result<(), EngineError> {
    let (mut pools, mut space) = (0, BTreeMap::<PathBuf, u64>::new());
    for job in jobs {
        let (settings, path) = settings_of(context, *job)?;
        pools += settings.cache_max;
        let there = path.join(Files::name(settings.database, FileId::Database)).metadata();
        let there = there.map_or(0, |there| there.len());
        let wanted = (settings.capacity_pages() * PAGE_BYTES as u64 + LOG_BYTES).saturating_sub(there);
        if settings.task == Task::Build {
            *space.entry(path).or_default() += wanted;
        }
    }
    let memory = assay_host::environment::memory(&assay_host::HostRoot::real()).available_bytes;
    if memory.is_some_and(|available| pools > available) {
        let available = Bytes(memory.unwrap_or(0));
        let pools = Bytes(pools);
        return Err(engine_error(format!(
            "the buffer pools take up to {pools}, but {available} of memory are available; give cache_max= a smaller size"
        )));
    }
    for (path, wanted) in space {
        let room = assay_host::space::of(&path).map_or(u64::MAX, |space| space.usable_bytes());
        if wanted > room {
            let (wanted, room) = (Bytes(wanted), Bytes(room));
            return Err(engine_error(format!(
                "the databases take {wanted} with their growth, but {room} can be used in {}; give size= a smaller size",
                path.display()
            )));
        }
    }
    Ok(())
}

/// A database of a phase.
struct Database {
    settings: Settings,
    /// Keeps `assay cleanup` away.
    _directory: WorkDir,
    path: PathBuf,
    files: Arc<Files>,
    ledger: PathBuf,
    _ledger: Option<Arc<Writing>>,
    counts: Vec<Counts>,
    schedule: Schedule,
    instance: Option<Arc<Instance>>,
    notes: Mutex<Vec<String>>,
    /// It is to be built, and is there already.
    is_there: bool,
}

struct PreparedMail<'p> {
    kind: &'p Mail,
    context: PhaseContext<'p>,
    databases: BTreeMap<usize, Database>,
}

/// Whether what has the names of a database is ours, and whether there is any.
fn look_at(directory: &Path, number: u32) -> Result<bool, EngineError> {
    let mut found = false;
    let logs = files::generations_in(directory, number).map_err(engine_error)?.into_iter().map(FileId::Log);
    let names = [FileId::Database, FileId::Checkpoint].into_iter().chain(logs);
    let names = names.map(|file| Files::name(number, file));
    let others = [format!("mail-{number}.ledger"), files::new_log(number)];
    for (index, name) in names.chain(others).enumerate() {
        let path = directory.join(name);
        if path.symlink_metadata().is_err() {
            continue;
        }
        if ownership(&path) == Ownership::Foreign {
            return Err(engine_error(format!(
                "{} is not the file that Assay made: it is a copy, or another program's. It stays as it is; remove it, or use \
                 another directory",
                path.display()
            )));
        }
        found |= index == 0;
    }
    Ok(found)
}

fn cannot_open(database: u32, path: &Path, source: std::io::Error) -> EngineError {
    if source.kind() != std::io::ErrorKind::NotFound {
        return EngineError::Target { path: path.display().to_string(), what: "open", source };
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    engine_error(format!("database {database}: {}", StoreError::Missing { name }))
}

impl Database {
    fn prepare(
        kind: &Mail,
        context: PhaseContext<'_>,
        job: usize,
        say: &mut Say<'_>,
    ) -> Result<Self, EngineError> {
        let planned = context.job(job);
        let (settings, path) = settings_of(context, job)?;
        let directory = WorkDir::create(&path, env!("CARGO_PKG_VERSION"), NOTE).map_err(engine_error)?;
        let found = look_at(&path, settings.database)?;
        let is_there = settings.task == Task::Build
            && found
            && settings.keeps
            && !recover::is_half_built(&path, settings.database);
        let builds = settings.task == Task::Build && !is_there;
        if !found && !builds {
            return Err(engine_error(format!(
                "no database {} in {}; build it first: assay mail build {}",
                settings.database,
                path.display(),
                path.display()
            )));
        }
        let files = Files::open(&path, settings.database, settings.direct, builds);
        let files = files.map_err(|(path, source)| cannot_open(settings.database, &path, source))?;
        let schedule = Schedule {
            start_ns: planned.start_delay.0,
            measured_start_ns: planned.start_delay.0 + planned.ramp.0,
            interval_ns: context.interval_ns,
        };
        let ledger = path.join(format!("mail-{}.ledger", settings.database));
        let mut database = Database {
            settings,
            _directory: directory,
            path,
            files,
            ledger,
            _ledger: None,
            counts: planned.slices.iter().map(|_| counts()).collect(),
            schedule,
            instance: None,
            notes: Mutex::default(),
            is_there,
        };
        if is_there || !matches!(database.settings.task, Task::Build | Task::Recover) {
            database.open(kind, say)?;
        }
        if is_there {
            database.expect_size("ask for that size, or remove it with 'assay cleanup'")?;
            database.note(format!("database {} is used as it is", database.settings.database));
        } else if database.is_transactions() {
            // What is reported would be of another database.
            database
                .expect_size("give size=, capacity= and databases= as it was built, or build it again")?;
        }
        Ok(database)
    }

    /// Opens the store before anything is measured. What the last run acknowledged must be there.
    fn open(&mut self, kind: &Mail, say: &mut Say<'_>) -> Result<(), EngineError> {
        let number = self.settings.database;
        let failed = |error: StoreError| engine_error(format!("database {number}: {error}"));
        let mut disk = FileDisk::new(&self.files);
        let (store, header, recovered) =
            recover::open(&mut disk, number, self.settings.tuning()).map_err(failed)?;
        if recovered.groups > 0 {
            say(NOTE, format!("database {number} was not closed: {}", words(&recovered)));
        }
        let found = ledger::check(&store, &mut disk, &self.ledger).map_err(failed)?;
        if let Some(wrong) = found.wrong.first() {
            return Err(engine_error(format!(
                "database {number} has lost {} of {} acknowledged changes: {wrong}",
                found.wrong.len(),
                found.durable
            )));
        }
        if self.settings.task == Task::Verify {
            let said = match found.durable {
                0 => format!("no acknowledged change was looked for: none is in {}", self.ledger.display()),
                durable => {
                    format!("all of {durable} sampled messages are as they were durably committed")
                }
            };
            say(NOTE, format!("database {number}: {said}"));
        }
        let transacts = matches!(self.settings.task, Task::Tune | Task::Transactions | Task::Accumulate);
        if transacts {
            Ledger::open(&self.ledger, true).map_err(engine_error)?;
            let file = std::fs::File::open(&self.ledger).map_err(engine_error)?;
            self._ledger = files::mark(&Arc::new(file), &self.ledger, true);
        }
        let key = (self.path.clone(), number);
        let tuned = kind.tuned.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied();
        let tuned = tuned.filter(|_| self.settings.task == Task::Transactions && self.settings.threads == 0);
        let (settings, files) = (self.settings.clone(), Arc::clone(&self.files));
        let instance = Instance::new(settings, header, store, files, &self.ledger, tuned);
        instance.note(sizes(&instance, "at the start"));
        self.instance = Some(Arc::new(instance));
        Ok(())
    }

    /// A database that is used as it is has to be of the size that is asked for; `help`: what to do where it is not.
    fn expect_size(&self, help: &str) -> Result<(), EngineError> {
        let Some(instance) = &self.instance else { return Ok(()) };
        let (found, wanted) = (u64::from(instance.header.layout.capacity), self.settings.capacity_pages());
        if found != wanted {
            let bytes = |pages: u64| Bytes(pages * PAGE_BYTES as u64);
            return Err(engine_error(format!(
                "database {} in {} has {} with its growth, not {}: {help}",
                self.settings.database,
                self.path.display(),
                bytes(found),
                bytes(wanted)
            )));
        }
        Ok(())
    }

    fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Closes the store after a phase of transactions, and keeps what tuning has found.
    fn close(&self, kind: &Mail) {
        let Some(instance) = &self.instance else { return };
        let task = instance.settings.task;
        if let Some(tuned) = *instance.tuned.lock().unwrap_or_else(PoisonError::into_inner)
            && task == Task::Tune
        {
            let key = (self.path.clone(), instance.settings.database);
            kind.tuned.lock().unwrap_or_else(PoisonError::into_inner).insert(key, tuned);
        }
        if matches!(task, Task::Tune | Task::Transactions) {
            let mut disk = FileDisk::new(&self.files);
            if let Err(error) = instance.store.close(&mut disk) {
                instance
                    .note(format!("database {} could not be closed: {error}", instance.settings.database));
            }
            instance.note(sizes(instance, "at the end"));
            let stats = instance.store.lock().stats;
            instance.note(format!(
                "buffer pool of database {}: {} pages read, {} waits for a clean page",
                instance.settings.database, stats.misses, stats.stalls
            ));
        }
    }
}

fn sizes(instance: &Instance, when: &str) -> String {
    let pages = instance.store.lock().pages_in_use();
    let bytes = instance.files.database_bytes().unwrap_or(0);
    format!("database {}: {bytes} bytes, {pages} pages in use {when}", instance.settings.database)
}

/// What replay did, in words.
pub(crate) fn words(recovered: &recover::Recovered) -> String {
    let seconds = recovered.ns as f64 / 1e9;
    let per_s = recovered.generations as f64 / seconds.max(1e-9);
    let torn = match recovered.torn_repaired {
        0 => String::new(),
        torn => format!("; {torn} torn pages made whole"),
    };
    format!(
        "{} logs replayed in {seconds:.2} s ({per_s:.1} logs/s): {} groups, {} pages{torn}",
        recovered.generations, recovered.groups, recovered.pages
    )
}

impl PreparedJobs<ThisMachine> for PreparedMail<'_> {
    fn intervals(&self, at: ThreadIndex) -> Arc<dyn Intervals> {
        let database = &self.databases[&at.job];
        let own = Arc::clone(&database.counts[at.thread]);
        // What goes on in the background is told with the first session.
        let background = database.instance.iter().filter(|_| at.thread == 0 && database.is_transactions());
        let background = background.flat_map(|instance| instance.background().iter().cloned());
        Arc::new(Together(std::iter::once(own).chain(background).collect()))
    }

    fn thread(&self, at: ThreadIndex, _: &ThisMachine) -> Result<Box<dyn JobRunner + '_>, EngineError> {
        let database = &self.databases[&at.job];
        let planned = self.context.job(at.job);
        let stop = Arc::clone(&self.context.stops[at.job]);
        let measured = (Arc::clone(&database.counts[at.thread]), database.schedule);
        if let Some(instance) = database.instance.as_ref().filter(|_| database.is_transactions()) {
            let before_ns = planned.start_delay.0 + planned.ramp.0;
            let limits = Limits { stop, length_ns: planned.end.time.map(|time| before_ns + time.0) };
            let seed = planned.slices[at.thread].seed;
            return Ok(Box::new(Session::new(Arc::clone(instance), at.thread, seed, measured, limits)?));
        }
        Ok(Box::new(OneTask {
            database,
            seed: planned.slices[at.thread].seed,
            disk: FileDisk::new(&database.files),
            measured: Some(measured),
            stop,
        }))
    }

    fn finish(&self, say: &mut Say<'_>) {
        for database in self.databases.values() {
            if database.is_transactions() {
                database.close(self.kind);
            }
            let of_instance = database.instance.iter().map(|instance| &instance.notes);
            for notes in of_instance.chain([&database.notes]) {
                let notes = std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
                notes.into_iter().for_each(|note| say(NOTE, note));
            }
        }
    }
}

impl Database {
    fn is_transactions(&self) -> bool {
        matches!(self.settings.task, Task::Tune | Task::Transactions | Task::Accumulate)
    }
}

/// Something that one thread does once: building, a backup, replaying the log, verifying.
struct OneTask<'p> {
    database: &'p Database,
    seed: u64,
    disk: FileDisk,
    measured: Option<(Counts, Schedule)>,
    stop: Arc<AtomicBool>,
}

impl OneTask<'_> {
    /// The I/O that the task is about.
    fn class(&self) -> Class {
        match self.database.settings.task {
            Task::Recover => Class::LogRead,
            Task::Build => Class::DatabaseWrite,
            _ => Class::ScanRead,
        }
    }

    fn build(&mut self) -> Result<(), StoreError> {
        let settings = &self.database.settings;
        let capacity = settings.capacity_pages() as u32;
        let new = NewDatabase {
            database: settings.database,
            capacity,
            fill: FILL,
            mailboxes: 0,
            folders: FOLDERS,
            seed: self.seed,
        };
        let stop = Arc::clone(&self.stop);
        let mut loader = Loader::new(&mut self.disk, new)?;
        let (mut rng, mut data, mut number) = (Rng::new(self.seed), Vec::new(), 0);
        // The last message of each mailbox.
        let mut ends = Vec::new();
        while loader.pages() + loader.pages_of(number, &message::INDEX_ENTRY) < settings.initial_pages() {
            if stop.load(Ordering::Relaxed) {
                let number = settings.database;
                self.database.note(format!("database {number} is half built: its building was interrupted"));
                return Ok(());
            }
            let mailbox = ends.len() as u32;
            for folder in 0..FOLDERS {
                for _ in 0..MESSAGES_MIN + rng.below(MESSAGES_MAX - MESSAGES_MIN) {
                    number += 1;
                    let (version, bytes) = (rng.next_u64(), message::draw_size(&mut rng));
                    message::make(mailbox, folder, version, bytes, &mut data);
                    loader.add(&Key::new(mailbox, folder, number), &data)?;
                }
            }
            ends.push(number);
            loader.set_mailboxes(mailbox + 1);
        }
        let mut first = 1;
        for (mailbox, end) in (0..).zip(&ends) {
            for number in first..=*end {
                loader.add(&Key::new(mailbox, 0, number).in_index(), &message::INDEX_ENTRY)?;
            }
            first = end + 1;
        }
        let mailbox = ends.len();
        let (messages, pages) = (number, loader.pages());
        loader.finish()?;
        let bytes = u64::from(pages) * PAGE_BYTES as u64;
        self.database.note(format!(
            "database {}: {mailbox} mailboxes, {messages} messages, {bytes} bytes of {} with growth",
            settings.database,
            u64::from(capacity) * PAGE_BYTES as u64
        ));
        // What an older database of this number acknowledged is nothing of this one.
        let _ = std::fs::remove_file(&self.database.ledger);
        Ok(())
    }

    fn store(&self) -> Result<&Store, StoreError> {
        let instance = self.database.instance.as_ref();
        instance.map(|instance| &instance.store).ok_or(StoreError::HalfBuilt)
    }

    fn backup(&mut self) -> Result<(), StoreError> {
        let Some(instance) = self.database.instance.clone() else { return Err(StoreError::HalfBuilt) };
        let stop = Arc::clone(&self.stop);
        scan::backup(&instance.store, &mut self.disk, &|| !stop.load(Ordering::Relaxed)).map(drop)
    }

    fn verify(&mut self) -> Result<(), StoreError> {
        let stop = Arc::clone(&self.stop);
        let Some(instance) = self.database.instance.clone() else { return Err(StoreError::HalfBuilt) };
        let mut checked = scan::check(&instance.store, &mut self.disk, &|| !stop.load(Ordering::Relaxed))?;
        let number = self.database.settings.database;
        checked.faults.iter().for_each(|fault| self.database.note(format!("database {number}: {fault}")));
        self.store()?;
        if checked.fault_count > 0 {
            return Err(checked.faults.swap_remove(0));
        }
        if !stop.load(Ordering::Relaxed) {
            self.database.note(format!(
                "database {number}: {} pages have the checksum, number and write counter of their last write; {} leaves with \
                 {} messages and entries of indexes are in order",
                checked.pages, checked.leaves, checked.messages
            ));
        }
        Ok(())
    }

    fn recover(&mut self) -> Result<(), StoreError> {
        let number = self.database.settings.database;
        let (_, _, recovered) = recover::open(&mut self.disk, number, self.database.settings.tuning())?;
        self.database.note(format!("soft recovery of database {number}: {}", words(&recovered)));
        Ok(())
    }
}

impl JobRunner for OneTask<'_> {
    fn arm(&mut self, start_ns: u64) {
        let main = Some(self.class());
        if let Some((counts, schedule)) = self.measured.take() {
            let mut recorder = Recorder::new(counts, schedule);
            recorder.shift(start_ns);
            self.disk.measure(Meter::new(recorder, main));
        }
    }

    fn step(&mut self) -> Result<Pending, EngineError> {
        let done = match self.database.settings.task {
            Task::Build if self.database.is_there => Ok(()),
            Task::Build => self.build(),
            Task::Backup => self.backup(),
            Task::Recover => self.recover(),
            _ => self.verify(),
        };
        let number = self.database.settings.database;
        done.map(|()| Pending::Done).map_err(|error| {
            self.disk.failed();
            engine_error(format!("database {number}: {error}"))
        })
    }

    fn end(mut self: Box<Self>) -> ThreadEnd {
        let last_completion_ns = self.disk.now_ns();
        self.disk.finish();
        let end = LoopEnd { last_completion_ns, ..LoopEnd::default() };
        ThreadEnd { end, engine: ENGINE, ..ThreadEnd::default() }
    }
}
