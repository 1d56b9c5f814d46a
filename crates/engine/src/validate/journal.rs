//! The journal of validated writes: what a run wrote, and what of it the storage has acknowledged, so that it can be proved after
//! a crash of the host.
//!
//! Threads of jobs push records of 16 bytes into a ring ([`ring`]); a thread of its own takes them in their order, writes them in blocks with
//! checksums ([`record`]) and makes these durable ([`writer`]). What the records say together is a [`state`], of which the writer
//! makes a snapshot when the journal has grown long, and by which a reader ([`read`]) knows what must be there.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

mod read;
mod record;
mod ring;
mod state;
mod writer;

pub use read::{CrashedRun, JournalError};
pub(crate) use record::Kind;
use record::Record;
pub use record::{JournalOf, JournaledTarget};
use ring::Ring;
pub(crate) use state::{KeyState, Keys};
use writer::Writer;

/// Records that may wait for the writer.
const RING_RECORDS: usize = 1 << 16;
/// Between two looks whether records are durable.
const NAP: Duration = Duration::from_micros(50);

/// What threads of jobs and the writer share.
struct Shared {
    ring: Ring,
    /// Records that are durable.
    durable: AtomicU64,
    /// Flushes that were begun.
    flushes: AtomicU64,
    /// No record is taken any more.
    closed: AtomicBool,
    /// Why records are not kept any more.
    failure: OnceLock<String>,
    /// Set when that happens.
    halt: Mutex<Option<Arc<AtomicBool>>>,
    writer: OnceLock<Thread>,
}

impl Shared {
    fn fail(&self, why: String) {
        let _ = self.failure.set(why);
        if let Some(halt) = &*self.halt.lock().unwrap_or_else(PoisonError::into_inner) {
            halt.store(true, Ordering::Relaxed);
        }
    }
}

/// The journal of a run that goes on.
pub struct Journal {
    shared: Arc<Shared>,
    targets: Vec<JournaledTarget>,
    path: PathBuf,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Journal {
    /// What it is called where it could not be kept.
    pub const NAME: &str = "the validation journal";

    /// Begins one in a new file, that of `of`. The sectors of the run carry the number `run`.
    ///
    /// # Errors
    /// When the file is there, or cannot be written, or no thread can be had.
    pub fn create(
        path: &Path,
        run: u64,
        of: &JournalOf,
        targets: Vec<JournaledTarget>,
    ) -> io::Result<Journal> {
        Self::with_ring(path, (run, of), targets, RING_RECORDS)
    }

    fn with_ring(
        path: &Path,
        of: (u64, &JournalOf),
        targets: Vec<JournaledTarget>,
        records: usize,
    ) -> io::Result<Journal> {
        let shared = Arc::new(Shared {
            ring: Ring::new(records),
            durable: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            failure: OnceLock::new(),
            halt: Mutex::default(),
            writer: OnceLock::new(),
        });
        let writer = Writer::create(path, of, &targets, Arc::clone(&shared))?;
        let thread =
            std::thread::Builder::new().name("assay-journal".to_owned()).spawn(move || writer.run())?;
        let _ = shared.writer.set(thread.thread().clone());
        Ok(Journal { shared, targets, path: path.to_owned(), thread: Mutex::new(Some(thread)) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets `halt` when records cannot be kept any more: what is written from then on cannot be proved.
    pub fn halt_on_failure(&self, halt: Arc<AtomicBool>) {
        if self.shared.failure.get().is_some() {
            halt.store(true, Ordering::Relaxed);
        }
        *self.shared.halt.lock().unwrap_or_else(PoisonError::into_inner) = Some(halt);
    }

    /// Why records are not kept any more.
    pub fn failure(&self) -> Option<&str> {
        self.shared.failure.get().map(String::as_str)
    }

    /// Writes what is left, and ends the thread. Nothing is taken any more.
    pub fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            if thread.join().is_err() {
                self.shared.fail("internal error: the thread that writes it panicked".to_owned());
            }
        }
    }

    /// The part of a target, by its number in the plan; `None`: it has none.
    pub(crate) fn of(self: &Arc<Self>, target: u32) -> Option<TargetJournal> {
        let index = self.targets.iter().position(|known| known.number == target)?;
        Some(TargetJournal { journal: Arc::clone(self), index: index as u16 })
    }

    /// Keeps a record; which one it is, counted from 0.
    fn push(&self, record: Record) -> u64 {
        self.shared.ring.push(record.pack(), &self.shared.closed)
    }

    /// Waits until a record is durable, or none can be made so any more.
    #[cold]
    fn keep(&self, number: u64) {
        let given_up = || self.failure().is_some() || self.shared.closed.load(Ordering::Relaxed);
        while self.shared.durable.load(Ordering::Acquire) <= number && !given_up() {
            if let Some(writer) = self.shared.writer.get() {
                writer.unpark();
            }
            std::thread::sleep(NAP);
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.close();
    }
}

/// The journal of one target.
#[derive(Debug, Clone)]
pub(crate) struct TargetJournal {
    journal: Arc<Journal>,
    index: u16,
}

impl TargetJournal {
    /// Keeps what happened to `count` key blocks from `key` on, whose write is `generation`; the number of the record.
    #[inline]
    pub(crate) fn push(&self, kind: Kind, key: usize, count: usize, generation: u32) -> u64 {
        self.journal.push(Record {
            kind,
            target: self.index,
            key: key as u64,
            count: count as u32,
            generation,
        })
    }

    /// Waits until a record is durable.
    pub(crate) fn keep(&self, number: u64) {
        self.journal.keep(number);
    }

    /// A flush is about to be handed over: what has completed until now is acknowledged when it succeeds.
    pub(crate) fn flush_begins(&self) -> u64 {
        let flush = self.journal.shared.flushes.fetch_add(1, Ordering::Relaxed);
        self.push(Kind::FlushBegun, flush as usize, 0, 0);
        flush
    }

    /// That flush has ended.
    pub(crate) fn flush_ended(&self, flush: u64, succeeded: bool) {
        let kind = if succeeded { Kind::FlushDone } else { Kind::FlushFailed };
        self.push(kind, flush as usize, 0, 0);
    }
}

#[cfg(test)]
mod tests;
