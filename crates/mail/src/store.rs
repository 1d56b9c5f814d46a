//! One database: pages behind one lock, their I/O outside of it.
//!
//! A transaction works on pages that are in memory, under the lock, and takes microseconds. Where a page is missing it has changed
//! nothing; the thread reads the page without the lock and begins again. So there are no latches, no deadlocks and nothing to
//! undo, and as many reads are outstanding as there are threads.

use std::io::{IoSlice, IoSliceMut};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::disk::{Class, Disk, FileId, GENERATION_BYTES, slices};
use crate::error::{Doing, StoreError};
use crate::page::{PAGE_BYTES, Page, PageFault, counter_byte};
use crate::pool::{Miss, State};

/// How long a thread waits for another one before it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How a database is run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// Pages that the pool begins with.
    pub pool_pages_min: usize,
    /// Pages that it grows to.
    pub pool_pages_max: usize,
    /// Bytes of log that a restart may have to replay: what drives writes of dirty pages.
    pub checkpoint_depth_bytes: u64,
    /// How long a lazy commit may wait for the log, nanoseconds.
    pub lazy_ns: u64,
    /// Bytes of waiting log that are written in any case.
    pub log_buffer_bytes: usize,
    /// Log generations stay: for soft recovery, which replays them.
    pub keeps_log: bool,
    /// How long background writers wait for a commit that makes the log durable for them, nanoseconds.
    pub flush_patience_ns: u64,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            pool_pages_min: (32 << 20) / PAGE_BYTES,
            pool_pages_max: (256 << 20) / PAGE_BYTES,
            checkpoint_depth_bytes: 20 << 20,
            lazy_ns: 1_000_000_000,
            log_buffer_bytes: 256 << 10,
            keeps_log: false,
            flush_patience_ns: 0,
        }
    }
}

/// A database that is open.
#[derive(Debug)]
pub struct Store {
    state: Mutex<State>,
    changed: Condvar,
    /// How it is run.
    pub tuning: Tuning,
}

pub(crate) fn io_error(doing: Doing, file: FileId) -> impl FnOnce(std::io::Error) -> StoreError {
    move |source| StoreError::Io { doing, file, source }
}

impl Store {
    /// Over this state.
    pub fn new(state: State, tuning: Tuning) -> Self {
        Store { state: Mutex::new(state), changed: Condvar::new(), tuning }
    }

    /// The state. Nothing is read or written while it is held.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&'s self, guard: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(guard, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// Notes why everything ends, once.
    pub(crate) fn fail(&self, error: StoreError) -> StoreError {
        let mut state = self.lock();
        if !matches!(error, StoreError::Full(_) | StoreError::Stopped(_)) && state.failed.is_none() {
            state.failed = Some(error.to_string());
        }
        drop(state);
        self.notify();
        error
    }

    pub(crate) fn check(state: &State) -> Result<(), StoreError> {
        state.failed.as_ref().map_or(Ok(()), |why| Err(StoreError::Stopped(why.clone())))
    }

    /// Does `work`, again and again until all that it needs is in memory. It changes nothing before that.
    ///
    /// # Errors
    /// What the storage does wrong.
    pub fn with<T>(
        &self,
        disk: &mut dyn Disk,
        work: &mut dyn FnMut(&mut State) -> Result<T, Miss>,
    ) -> Result<T, StoreError> {
        loop {
            let mut state = self.lock();
            Store::check(&state)?;
            state.begin();
            match work(&mut state) {
                Ok(done) => return Ok(done),
                Err(Miss::Absent { first, count }) => self.fetch(state, disk, first, count)?,
                Err(Miss::NoFrame) => {
                    state.stats.stalls += 1;
                    drop(state);
                    self.make_room(disk)?;
                }
                Err(Miss::Fault(error)) => {
                    drop(state);
                    return Err(self.fail(error));
                }
            }
        }
    }

    /// Writes some dirty pages, or waits for those that do.
    fn make_room(&self, disk: &mut dyn Disk) -> Result<(), StoreError> {
        if self.flush_some(disk)? == 0 {
            drop(self.wait(self.lock()));
        }
        Ok(())
    }

    /// Reads pages into the pool.
    fn fetch(
        &self,
        mut state: MutexGuard<'_, State>,
        disk: &mut dyn Disk,
        first: u32,
        count: u32,
    ) -> Result<(), StoreError> {
        let pages = state.written.len() as u32;
        if first.checked_add(count).is_none_or(|end| end > pages) {
            drop(state);
            return Err(self.fail(StoreError::Page { page: first, fault: PageFault::Nowhere { pages } }));
        }
        let all = first..first + count;
        if all.clone().any(|page| state.loading.contains(&page)) {
            drop(self.wait(state));
            return Ok(());
        }
        let mut taken = Vec::new();
        for page in all.clone().filter(|page| !state.has(*page)).collect::<Vec<_>>() {
            match state.take_for_reading() {
                Some((index, buffer)) => taken.push((page, index, buffer, state.written[page as usize])),
                None => break,
            }
        }
        // Those that follow each other from the first on.
        let run = taken.iter().zip(first..).take_while(|(taken, page)| taken.0 == *page).count();
        for (_, index, buffer, _) in taken.split_off(run) {
            state.release(index, buffer);
        }
        if taken.is_empty() {
            let nothing = !state.has(first);
            state.stats.stalls += u64::from(nothing);
            drop(state);
            return if nothing { self.make_room(disk) } else { Ok(()) };
        }
        state.stats.misses += taken.len() as u64;
        state.loading.extend(taken.iter().map(|taken| taken.0));
        let database = state.database;
        drop(state);
        let mut into: Vec<IoSliceMut<'_>> =
            taken.iter_mut().map(|(_, _, page, _)| IoSliceMut::new(&mut page.0)).collect();
        let offset = u64::from(first) * PAGE_BYTES as u64;
        let read = disk.read(Class::DatabaseRead, FileId::Database, offset, &mut into);
        let read = read.map_err(io_error(Doing::Read, FileId::Database)).and_then(|()| {
            taken.iter().try_for_each(|(number, _, page, written)| verify(page, database, *number, *written))
        });
        let mut state = self.lock();
        for (number, index, page, _) in taken {
            state.loading.remove(&number);
            match &read {
                Ok(()) => state.install(index, number, page),
                Err(_) => state.release(index, page),
            }
        }
        drop(state);
        self.notify();
        read.map_err(|error| self.fail(error))
    }

    /// Waits until others have made the log durable up to `lsn`, at most `patience_ns`.
    pub(crate) fn await_log(&self, disk: &mut dyn Disk, lsn: u64, patience_ns: u64) {
        let end_ns = disk.now_ns().saturating_add(patience_ns);
        let mut state = self.lock();
        while state.log.durable_lsn() < lsn && state.failed.is_none() {
            let left_ns = end_ns.saturating_sub(disk.now_ns());
            if left_ns == 0 {
                return;
            }
            let left = std::time::Duration::from_nanos(left_ns);
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the log is durable up to `lsn`. Of several threads one writes for all.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn flush_log(&self, disk: &mut dyn Disk, lsn: u64) -> Result<(), StoreError> {
        let mut state = self.lock();
        loop {
            Store::check(&state)?;
            if state.log.durable_lsn() >= lsn {
                return Ok(());
            }
            if state.log.flushing {
                state = self.wait(state);
                continue;
            }
            let Some(sealed) = state.log.seal() else { return Ok(()) };
            state.log.flushing = true;
            let generation = sealed.position / GENERATION_BYTES;
            let missing = generation > *state.generations.end();
            drop(state);
            let made = if missing { self.make_generation(disk, generation) } else { Ok(()) };
            let written = made.and_then(|()| {
                let (file, offset) = (FileId::Log(generation), sealed.position % GENERATION_BYTES);
                let written = disk.write(Class::LogWrite, file, offset, &slices(&sealed.blocks));
                written.map_err(io_error(Doing::Write, file))
            });
            if let Err(error) = written {
                return Err(self.fail(error));
            }
            state = self.lock();
            state.log.flushing = false;
            state.log.written(sealed.end_lsn);
            self.notify();
        }
    }

    /// Makes a log generation, the one behind the last, of one that is not needed any more where there is one.
    pub(crate) fn make_generation(&self, disk: &mut dyn Disk, generation: u64) -> Result<(), StoreError> {
        let mut state = self.lock();
        while state.making {
            Store::check(&state)?;
            state = self.wait(state);
        }
        if generation <= *state.generations.end() {
            return Ok(());
        }
        let needed = state.log.place_of(state.checkpoint_lsn).position / GENERATION_BYTES;
        let oldest = *state.generations.start();
        let of = (oldest < needed && !self.tuning.keeps_log).then_some(oldest);
        state.making = true;
        drop(state);
        let made = disk.make_generation(generation, of);
        let mut state = self.lock();
        state.making = false;
        let from = oldest + u64::from(of.is_some());
        if made.is_ok() {
            state.generations = from..=generation;
        }
        drop(state);
        self.notify();
        made.map_err(io_error(Doing::Make, FileId::Log(generation)))
    }

    /// Commits what a transaction did; `durable` waits for the log.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn commit(&self, disk: &mut dyn Disk, lsn: u64, durable: bool) -> Result<(), StoreError> {
        if durable {
            return self.flush_log(disk, lsn);
        }
        let full = {
            let state = self.lock();
            state.log.waiting_bytes() >= self.tuning.log_buffer_bytes && !state.log.flushing
        };
        if full { self.flush_log(disk, lsn) } else { Ok(()) }
    }
}

/// Whether a page that was read is the one that was last written.
///
/// # Errors
/// What it is instead.
pub fn verify(page: &Page, database: u32, number: u32, written: u8) -> Result<(), StoreError> {
    let fault = match page.verify(database, number) {
        Err(_) if page.is_zero() => PageFault::Zero { expected: written },
        Err(fault) => fault,
        Ok(()) if counter_byte(page.counter()) != written => {
            PageFault::Lost { found: counter_byte(page.counter()), expected: written }
        }
        Ok(()) => return Ok(()),
    };
    Err(StoreError::Page { page: number, fault })
}

/// A run of pages as it is handed to the storage.
pub(crate) fn page_slices(pages: &[(u32, Box<Page>)]) -> Vec<IoSlice<'_>> {
    pages.iter().map(|(_, page)| IoSlice::new(&page.0)).collect()
}
