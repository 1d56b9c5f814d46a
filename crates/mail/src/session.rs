//! A session: a thread that does transactions on a database, one after the other.
//!
//! It visits a folder of a random mailbox and does two transactions there on average, as a client does that opens a folder. A delete
//! seeks and deletes, a replace seeks and replaces; each change is a transaction of its own, which waits for the log or, lazily, does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_engine::EngineError;
use assay_engine::job_loop::LoopEnd;
use assay_engine::kind::{JobRunner, Pending, ThreadEnd};
use assay_engine::recorder::{Recorder, Schedule};
use assay_workload::rng::Rng;

use crate::disk::Disk as _;
use crate::error::StoreError;
use crate::files::{FileDisk, Meter};
use crate::instance::{Beginning, Counts, Instance, Tuned};
use crate::key::Key;
use crate::ledger::{Fate, Ledger, is_sampled};
use crate::message;
use crate::operations::Transaction;
use crate::pool::Miss;
use crate::settings::Task;

/// Average database reads may take so long.
const READ_NS_MAX: f64 = 20e6;
/// Tuning stops this close to it.
const READ_NS_NEAR: f64 = 18e6;
/// How long a number of threads is tried.
const TRIAL_NS: u64 = 5_000_000_000;
/// At the start of a trial, not looked at.
const SETTLE_NS: u64 = 1_000_000_000;
const NAP: Duration = Duration::from_millis(20);
/// What the thread is called in results.
pub(crate) const ENGINE: &str = "mail";

pub(crate) fn engine_error(error: impl std::fmt::Display) -> EngineError {
    EngineError::Kind { kind: ENGINE, why: error.to_string() }
}

/// The folder that a session has open.
#[derive(Debug, Clone, Copy, Default)]
struct Visit {
    mailbox: u32,
    folder: u32,
    /// Transactions that it still does there.
    left: u32,
    /// Leads to the first messages or to the last.
    at: u64,
}

/// When a session ends.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) stop: Arc<AtomicBool>,
    /// From the start of the phase; `None`: by `stop` or by itself.
    pub(crate) length_ns: Option<u64>,
}

/// See the module's description.
pub(crate) struct Session {
    instance: Arc<Instance>,
    disk: FileDisk,
    ledger: Ledger,
    rng: Rng,
    /// Among those of its database.
    index: usize,
    visit: Visit,
    data: Vec<u8>,
    limits: Limits,
    start_ns: u64,
    due_ns: u64,
    counts: Option<Counts>,
    schedule: Schedule,
    background: Vec<JoinHandle<()>>,
    tuner: Option<Tuner>,
}

impl Session {
    pub(crate) fn new(
        instance: Arc<Instance>,
        index: usize,
        seed: u64,
        (counts, schedule): (Counts, Schedule),
        limits: Limits,
    ) -> Result<Self, EngineError> {
        let disk = FileDisk::new(&instance.files);
        let ledger = Ledger::open(&instance.ledger, false).map_err(engine_error)?;
        let tunes = instance.settings.task == Task::Tune && index == 0;
        let threads_max = instance.settings.threads_max as usize;
        Ok(Session {
            instance,
            disk,
            ledger,
            rng: Rng::new(seed),
            index,
            visit: Visit::default(),
            data: Vec::new(),
            limits,
            start_ns: 0,
            due_ns: 0,
            counts: Some(counts),
            schedule,
            background: Vec::new(),
            tuner: tunes.then(|| Tuner::new(threads_max)),
        })
    }

    fn transaction(&mut self) -> Result<(), StoreError> {
        let begun_ns = self.disk.now_ns();
        if self.visit.left == 0 {
            let header = &self.instance.header;
            let (mailbox, folder) = (u64::from(header.mailboxes), u64::from(header.folders));
            let mut left = 1;
            while left < 16 && self.rng.below(2) == 0 {
                left += 1;
            }
            let at = if self.rng.below(2) == 0 { 0 } else { u64::MAX };
            let (mailbox, folder) = (self.rng.below(mailbox) as u32, self.rng.below(folder) as u32);
            self.visit = Visit { mailbox, folder, left, at };
        }
        self.visit.left -= 1;
        let settings = &self.instance.settings;
        let draw = self.rng.below(100) as u32;
        let (insert, delete) = (settings.insert, settings.insert + settings.delete);
        let (which, bytes) = if draw < insert {
            self.insert_or_delete()?
        } else if draw < delete {
            (Transaction::Delete, self.delete()?)
        } else if draw < delete + settings.replace {
            (Transaction::Replace, self.replace()?)
        } else {
            (Transaction::Read, self.read()?)
        };
        self.disk.transaction(which as usize, begun_ns, None, bytes);
        let (reads, reads_ns) = std::mem::take(&mut self.disk.reads);
        self.instance.reads.fetch_add(reads, Ordering::Relaxed);
        self.instance.reads_ns.fetch_add(reads_ns, Ordering::Relaxed);
        self.instance.transactions.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn is_durable(&mut self) -> bool {
        self.rng.below(100) >= u64::from(self.instance.settings.lazy)
    }

    fn new_data(&mut self) -> u64 {
        let (version, bytes) = (self.rng.next_u64(), message::draw_size(&mut self.rng));
        message::make(self.visit.mailbox, self.visit.folder, version, bytes, &mut self.data);
        version
    }

    /// What goes wrong with the ledger is no fault of the storage.
    fn noted(&self, done: std::io::Result<()>) -> Result<(), StoreError> {
        done.map_err(|error| {
            StoreError::Stopped(format!("cannot write {}: {error}", self.instance.ledger.display()))
        })
    }

    /// A database that has grown to its size stays so.
    fn insert_or_delete(&mut self) -> Result<(Transaction, u64), StoreError> {
        match self.insert() {
            Err(StoreError::Full(_)) => {
                self.instance.note_full();
                Ok((Transaction::Delete, self.delete()?))
            }
            done => Ok((Transaction::Insert, done?)),
        }
    }

    fn insert(&mut self) -> Result<u64, StoreError> {
        let version = self.new_data();
        let durable = self.is_durable();
        let (instance, data, visit) = (&self.instance, &self.data, self.visit);
        let now_ns = self.disk.now_ns();
        let (key, lsn) = instance.store.with(&mut self.disk, &mut |state| {
            // Later messages have higher numbers: the log grows with each.
            let key = Key::new(visit.mailbox, visit.folder, state.log.next_lsn());
            state.put(&key, data)?;
            Ok((key, state.commit(now_ns)))
        })?;
        let lsn = self.index(&key, true)?.unwrap_or(lsn);
        self.instance.store.commit(&mut self.disk, lsn, durable)?;
        if is_sampled(&key) {
            let noted = self.ledger.begin(&key);
            let noted = noted.and_then(|()| self.ledger.end(&key, Fate::Present(version), lsn, durable));
            self.noted(noted)?;
        }
        Ok(self.data.len() as u64)
    }

    /// Puts the entry of a message into the index of its mailbox, or takes it out: a group of records of its own, which becomes durable
    /// with the message's. `None`: there was no room.
    fn index(&mut self, key: &Key, is_there: bool) -> Result<Option<u64>, StoreError> {
        let entry = key.in_index();
        let now_ns = self.disk.now_ns();
        let done = self.instance.store.with(&mut self.disk, &mut |state| {
            if is_there {
                state.put(&entry, &message::INDEX_ENTRY)?;
            } else {
                state.delete(&entry)?;
            }
            Ok(state.commit(now_ns))
        });
        match done {
            Err(StoreError::Full(_)) => Ok(None),
            done => done.map(Some),
        }
    }

    fn pick(&mut self) -> Result<Option<Key>, StoreError> {
        let (key, choice) =
            (Key::new(self.visit.mailbox, self.visit.folder, self.visit.at), self.rng.next_u64());
        self.instance.store.with(&mut self.disk, &mut |state| state.pick(&key, choice))
    }

    fn delete(&mut self) -> Result<u64, StoreError> {
        let Some(key) = self.pick()? else { return Ok(0) };
        self.change(&key, None)?;
        Ok(0)
    }

    fn replace(&mut self) -> Result<u64, StoreError> {
        let Some(key) = self.pick()? else { return Ok(0) };
        (self.visit.mailbox, self.visit.folder) = (key.mailbox, key.folder);
        let version = self.new_data();
        self.change(&key, Some(version))?;
        Ok(self.data.len() as u64)
    }

    /// Deletes a message, or puts `self.data` of a version in its place, if it is still there.
    fn change(&mut self, key: &Key, version: Option<u64>) -> Result<(), StoreError> {
        let durable = self.is_durable();
        let sampled = is_sampled(key);
        if sampled {
            let noted = self.ledger.begin(key);
            self.noted(noted)?;
        }
        let (instance, data) = (&self.instance, &self.data);
        let now_ns = self.disk.now_ns();
        let (was_there, lsn) = instance.store.with(&mut self.disk, &mut |state| {
            let changed = match version {
                None => state.delete(key)?,
                Some(_) if state.get(key)?.is_none() => false,
                Some(_) => match state.put(key, data) {
                    // There is no room for what is longer.
                    Err(Miss::Fault(StoreError::Full(_))) => false,
                    done => done?,
                },
            };
            Ok((changed, state.commit(now_ns)))
        })?;
        let indexed = if was_there { self.index(key, version.is_some())? } else { None };
        self.instance.store.commit(&mut self.disk, indexed.unwrap_or(lsn), durable)?;
        if sampled {
            let fate = match (was_there, version) {
                (false, _) => Fate::Unchanged,
                (true, None) => Fate::Absent,
                (true, Some(version)) => Fate::Present(version),
            };
            let noted = self.ledger.end(key, fate, lsn, durable);
            self.noted(noted)?;
        }
        Ok(())
    }

    fn read(&mut self) -> Result<u64, StoreError> {
        let Some(key) = self.pick()? else { return Ok(0) };
        let data = self.instance.store.with(&mut self.disk, &mut |state| state.get(&key))?;
        let Some(data) = data else { return Ok(0) };
        if message::version(&key, &data).is_none() {
            let Key { mailbox, folder, message } = key;
            let what =
                format!("message {message} of mailbox {mailbox}, folder {folder} is not what was stored");
            return Err(self.instance.store.fail(StoreError::Stopped(what)));
        }
        Ok(data.len() as u64)
    }

    /// Whether all its transactions are done.
    fn is_over(&self, now_ns: u64) -> bool {
        let by_time = self.limits.length_ns.is_some_and(|length_ns| now_ns >= self.start_ns + length_ns);
        by_time || self.instance.stop.load(Ordering::Relaxed) || self.limits.stop.load(Ordering::Relaxed)
    }

    /// Ends all sessions of the database once enough log is there.
    fn accumulated(&self) {
        let settings = &self.instance.settings;
        if settings.task == Task::Accumulate {
            let state = self.instance.store.lock();
            let from = state.log.place_of(state.checkpoint_lsn).position;
            let done = state.log.end().position - from >= u64::from(settings.logs) << 20;
            if done {
                self.instance.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl JobRunner for Session {
    fn arm(&mut self, start_ns: u64) {
        (self.start_ns, self.due_ns) = (start_ns, start_ns);
        if let Some(counts) = self.counts.take() {
            let mut recorder = Recorder::new(counts, self.schedule);
            recorder.shift(start_ns);
            self.disk.measure(Meter::new(recorder, None));
        }
        if self.index == 0 {
            match self.instance.start(Beginning { schedule: self.schedule, start_ns }) {
                Ok(background) => self.background = background,
                Err(error) => {
                    self.instance.note(format!("a background thread could not be started: {error}"))
                }
            }
        }
    }

    fn step(&mut self) -> Result<Pending, EngineError> {
        let now_ns = self.disk.now_ns();
        self.disk.idle();
        if self.is_over(now_ns) {
            return Ok(Pending::Done);
        }
        if let Some(tuner) = &mut self.tuner
            && tuner.look(&self.instance, now_ns)
        {
            self.instance.stop.store(true, Ordering::Relaxed);
            return Ok(Pending::Done);
        }
        if self.index >= self.instance.active.load(Ordering::Relaxed) {
            return Ok(Pending::Until(now_ns + NAP.as_nanos() as u64));
        }
        let gap_ns = self.instance.gap_ns.load(Ordering::Relaxed);
        if gap_ns > 0 {
            if now_ns < self.due_ns {
                return Ok(Pending::Until(self.due_ns));
            }
            self.due_ns = (self.due_ns + gap_ns).max(now_ns.saturating_sub(gap_ns));
        }
        match self.transaction() {
            Ok(()) => {
                self.accumulated();
                Ok(Pending::Completion)
            }
            Err(error) => {
                self.disk.failed();
                Err(engine_error(error))
            }
        }
    }

    fn end(mut self: Box<Self>) -> ThreadEnd {
        // Those that wait for the first one's background threads go on by themselves.
        if self.index == 0 {
            self.instance.stop.store(true, Ordering::Relaxed);
            self.background.drain(..).for_each(|thread| drop(thread.join()));
        }
        let last_completion_ns = self.disk.last_ns;
        self.disk.finish();
        ThreadEnd {
            end: LoopEnd { last_completion_ns, ..LoopEnd::default() },
            engine: ENGINE,
            engine_notes: vec![format!(
                "pread and pwrite of the session's thread, {}",
                if self.instance.settings.direct { "O_DIRECT" } else { "through the page cache" }
            )],
            ..ThreadEnd::default()
        }
    }
}

/// Finds the number of threads at which database reads take nearly as long as they may: doubling, then halving the gap.
#[derive(Debug)]
struct Tuner {
    threads_max: usize,
    /// The most that were fast enough, and their transactions a second.
    good: Option<Tuned>,
    /// The fewest that were not.
    bad: usize,
    trial: usize,
    ends_ns: u64,
    settled: Option<Sample>,
}

/// Counters of a database at a moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ns: u64,
    reads: u64,
    reads_ns: u64,
    transactions: u64,
}

impl Sample {
    fn take(instance: &Instance, ns: u64) -> Self {
        let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        Sample {
            ns,
            reads: of(&instance.reads),
            reads_ns: of(&instance.reads_ns),
            transactions: of(&instance.transactions),
        }
    }
}

impl Tuner {
    fn new(threads_max: usize) -> Self {
        let (bad, trial) = (threads_max + 1, 1);
        Tuner { threads_max, good: None, bad, trial, ends_ns: 0, settled: None }
    }

    /// What is tried after a trial; `None`: it is found.
    fn next(&mut self, read_ns_mean: f64, transactions_per_s: f64) -> Option<usize> {
        if read_ns_mean < READ_NS_MAX {
            self.good = Some(Tuned { threads: self.trial, transactions_per_s });
            if read_ns_mean >= READ_NS_NEAR {
                return None;
            }
        } else {
            self.bad = self.trial;
        }
        let low = self.good.map_or(0, |good| good.threads);
        let next =
            if self.bad > self.threads_max { (low * 2).min(self.threads_max) } else { (low + self.bad) / 2 };
        (next > low && next < self.bad).then_some(next)
    }

    /// Looks at the counters; whether tuning has ended.
    fn look(&mut self, instance: &Instance, now_ns: u64) -> bool {
        if self.ends_ns == 0 {
            instance.active.store(self.trial, Ordering::Relaxed);
            (self.ends_ns, self.settled) = (now_ns + TRIAL_NS, None);
        }
        if self.settled.is_none() && now_ns + TRIAL_NS >= self.ends_ns + SETTLE_NS {
            self.settled = Some(Sample::take(instance, now_ns));
        }
        let (Some(before), true) = (self.settled, now_ns >= self.ends_ns) else { return false };
        let after = Sample::take(instance, now_ns);
        let reads = (after.reads - before.reads).max(1);
        let read_ns_mean = (after.reads_ns - before.reads_ns) as f64 / reads as f64;
        let per_s = (after.transactions - before.transactions) as f64 * 1e9 / (after.ns - before.ns) as f64;
        instance.note(format!(
            "tuning of database {}: {} {}: {per_s:.0} transactions/s, database reads {:.2} ms",
            instance.settings.database,
            self.trial,
            if self.trial == 1 { "thread" } else { "threads" },
            read_ns_mean / 1e6
        ));
        match self.next(read_ns_mean, per_s) {
            Some(trial) => {
                (self.trial, self.ends_ns) = (trial, 0);
                false
            }
            None => {
                *instance.tuned.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = self.good;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trials of a storage whose reads take so long, and what is found.
    fn tuned(read_ms: impl Fn(usize) -> f64, threads_max: usize) -> (Vec<usize>, Option<usize>) {
        let mut tuner = Tuner::new(threads_max);
        let mut trials = vec![tuner.trial];
        while let Some(next) = tuner.next(read_ms(tuner.trial) * 1e6, 100.0 * tuner.trial as f64) {
            tuner.trial = next;
            trials.push(next);
        }
        (trials, tuner.good.map(|good| good.threads))
    }

    #[test]
    fn the_most_threads_are_found_that_are_fast_enough() {
        assert_eq!(
            tuned(|threads| threads as f64 * 1.1, 64),
            (vec![1, 2, 4, 8, 16, 32, 24, 20, 18], Some(18))
        );
        assert_eq!(tuned(|threads| threads as f64 * 2.0, 64), (vec![1, 2, 4, 8, 16, 12, 10, 9], Some(9)));
        assert_eq!(tuned(|_| 0.2, 20), (vec![1, 2, 4, 8, 16, 20], Some(20)));
        assert_eq!(tuned(|_| 25.0, 64), (vec![1], None));
    }
}
