//! An open database of a phase with what runs beside its sessions: threads that write dirty pages, maintenance, and readers of the log that
//! stand for copies.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use assay_engine::kind::Intervals;
use assay_engine::operations::OperationCounts;
use assay_engine::recorder::{CompletedInterval, Recorder, Schedule, Shared};

use crate::disk::{Block, Class, Disk, FileId, GENERATION_BYTES, blocks, read_blocks};
use crate::error::{Doing, StoreError};
use crate::files::{FileDisk, Files, Meter};
use crate::layout::Header;
use crate::operations;
use crate::scan::{Maintenance, SCAN_PAGES};
use crate::settings::Settings;
use crate::store::{Store, io_error};

/// The longest time that background threads sleep.
const NAP: Duration = Duration::from_millis(10);

/// What counts a thread's operations.
pub(crate) type Counts = Arc<Shared<OperationCounts>>;

/// Halves of a recorder.
pub(crate) fn counts() -> Counts {
    OperationCounts::shared(&operations::table())
}

/// The intervals of a session and of background threads as one.
#[derive(Debug)]
pub(crate) struct Together(pub(crate) Vec<Counts>);

impl Intervals for Together {
    fn take(&self) -> Vec<CompletedInterval> {
        let mut taken: Vec<CompletedInterval> = self.0.iter().flat_map(|counts| counts.take()).collect();
        taken.sort_by_key(|interval| interval.index);
        taken
    }

    fn current(&self) -> Option<u32> {
        self.0.iter().filter_map(|counts| counts.current()).min()
    }
}

/// What tuning has found of a database.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tuned {
    /// Threads.
    pub(crate) threads: usize,
    /// Transactions a second that they reached.
    pub(crate) transactions_per_s: f64,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) settings: Settings,
    pub(crate) header: Header,
    pub(crate) store: Store,
    pub(crate) files: Arc<Files>,
    pub(crate) ledger: PathBuf,
    /// Sessions that work; those of higher numbers wait.
    pub(crate) active: AtomicUsize,
    /// Gap between the transactions of a session, nanoseconds; 0: none.
    pub(crate) gap_ns: AtomicU64,
    /// Database reads of all sessions, nanoseconds of them, and transactions: what tuning looks at.
    pub(crate) reads: AtomicU64,
    pub(crate) reads_ns: AtomicU64,
    pub(crate) transactions: AtomicU64,
    /// Background threads are to end.
    pub(crate) stop: AtomicBool,
    pub(crate) notes: Mutex<Vec<String>>,
    pub(crate) tuned: Mutex<Option<Tuned>>,
    /// It has been said that the database does not grow any more.
    full: AtomicBool,
    background: Vec<Counts>,
}

/// What a background thread does.
#[derive(Debug, Clone, Copy)]
enum Duty {
    Flush,
    Maintain,
    ReadLog,
}

/// Where background threads of a database stand when they are made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beginning {
    pub(crate) schedule: Schedule,
    pub(crate) start_ns: u64,
}

impl Instance {
    /// Over an open store.
    pub(crate) fn new(
        settings: Settings,
        header: Header,
        store: Store,
        files: Arc<Files>,
        ledger: &Path,
        tuned: Option<Tuned>,
    ) -> Self {
        let duties = Instance::duties(&settings).count();
        let threads = settings.threads_planned() as usize;
        let active = tuned.map_or(threads, |tuned| tuned.threads);
        let share = settings.throughput / 100.0;
        let rate = match tuned.filter(|_| share < 1.0) {
            Some(tuned) => tuned.transactions_per_s * share,
            None => f64::from(settings.rate),
        };
        let gap_ns = if rate > 0.0 { (active as f64 * 1e9 / rate) as u64 } else { 0 };
        Instance {
            settings,
            header,
            store,
            files,
            ledger: ledger.to_owned(),
            active: AtomicUsize::new(active),
            gap_ns: AtomicU64::new(gap_ns),
            reads: AtomicU64::new(0),
            reads_ns: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            notes: Mutex::default(),
            tuned: Mutex::new(tuned),
            full: AtomicBool::new(false),
            background: (0..duties).map(|_| counts()).collect(),
        }
    }

    fn duties(settings: &Settings) -> impl Iterator<Item = Duty> {
        let flush = (0..settings.flushers.max(1)).map(|_| Duty::Flush);
        let maintain = (settings.maintenance > 0).then_some(Duty::Maintain);
        let copies = (1..settings.copies).map(|_| Duty::ReadLog);
        flush.chain(maintain).chain(copies)
    }

    /// What counts the background's I/O.
    pub(crate) fn background(&self) -> &[Counts] {
        &self.background
    }

    /// Adds a note.
    pub(crate) fn note(&self, text: String) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// There was no room for a message.
    pub(crate) fn note_full(&self) {
        if !self.full.swap(true, Ordering::Relaxed) {
            self.note(format!(
                "database {} has grown to its size: where there is no room for a new message, one is deleted instead",
                self.settings.database
            ));
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Starts what runs beside the sessions.
    pub(crate) fn start(self: &Arc<Self>, at: Beginning) -> std::io::Result<Vec<JoinHandle<()>>> {
        let duties = Instance::duties(&self.settings).zip(&self.background);
        duties
            .map(|(duty, counts)| {
                let (instance, counts) = (Arc::clone(self), Arc::clone(counts));
                let name = format!("assay-mail-{}", self.settings.database);
                Builder::new().name(name).spawn(move || instance.work(duty, counts, at))
            })
            .collect()
    }

    fn work(&self, duty: Duty, counts: Counts, at: Beginning) {
        let mut recorder = Recorder::new(counts, at.schedule);
        recorder.shift(at.start_ns);
        let mut disk = FileDisk::new(&self.files);
        disk.measure(Meter::new(recorder, None));
        let done = match duty {
            Duty::Flush => self.flush(&mut disk),
            Duty::Maintain => self.maintain(&mut disk, at.start_ns),
            Duty::ReadLog => self.read_log(&mut disk),
        };
        if let Err(error) = done {
            self.note(self.store.fail(error).to_string());
        }
        disk.finish();
    }

    fn flush(&self, disk: &mut FileDisk) -> Result<(), StoreError> {
        while !self.stopped() {
            if !self.store.tend(disk)? {
                sleep(NAP);
            }
            disk.idle();
        }
        Ok(())
    }

    fn maintain(&self, disk: &mut FileDisk, start_ns: u64) -> Result<(), StoreError> {
        let bytes = u64::from(SCAN_PAGES) * crate::page::PAGE_BYTES as u64;
        let gap_ns = (bytes as f64 * 1e9 / self.settings.maintenance as f64) as u64;
        let mut maintenance = Maintenance::default();
        let mut due_ns = start_ns;
        while !self.stopped() {
            let now_ns = disk.now_ns();
            if now_ns < due_ns {
                sleep(NAP.min(Duration::from_nanos(due_ns - now_ns)));
                disk.idle();
                continue;
            }
            maintenance.step(&self.store, disk)?;
            // A storage that cannot keep up is not asked for more later.
            due_ns = (due_ns + gap_ns).max(now_ns.saturating_sub(gap_ns));
        }
        let done = maintenance.done;
        self.note(format!(
            "maintenance of database {}: {} pages verified, {} passes ended",
            self.settings.database, done.pages, done.passes
        ));
        Ok(())
    }

    /// Reads each generation of the log once it is full.
    fn read_log(&self, disk: &mut FileDisk) -> Result<(), StoreError> {
        let mut buffer: Vec<Block> = blocks(64);
        let current = || self.store.lock().log.end().position / GENERATION_BYTES;
        let mut next = current();
        while !self.stopped() {
            if next >= current() {
                sleep(NAP);
                disk.idle();
                continue;
            }
            let file = FileId::Log(next);
            for offset in (0..GENERATION_BYTES).step_by(64 * 4096) {
                match read_blocks(disk, Class::LogRead, file, offset, &mut buffer) {
                    // It is not needed any more and has become another one.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
                    done => done.map_err(io_error(Doing::Read, file))?,
                }
            }
            next += 1;
        }
        Ok(())
    }
}
