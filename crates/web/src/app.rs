//! What all requests share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_results::Run;
use assay_results::store::{self, RunDir, StoreError};

use crate::index::{self, Index, IndexError, Stored};
use crate::now::Now;
use crate::review::Reviews;
use crate::secret::{Secrets, Token, script_hash};
use crate::station::{Places, Station};

/// The index is brought up to date so often at most.
const UPDATE_EVERY: Duration = Duration::from_secs(1);
/// A page waits for it for so long; the rest is done behind its back.
const UPDATE_WAIT: Duration = Duration::from_millis(250);
/// A page that needs a run in the index waits for an update so often.
const INDEXED_TRIES: u32 = 8;
/// Others get at the index after so long.
const STEP: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_millis(3);

/// The history as far as it is in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// Runs that were looked at, and all of them; both 0: the index is complete.
    pub(crate) done: usize,
    pub(crate) all: usize,
    /// Why it could not be brought up to date.
    pub(crate) problem: Option<String>,
}

/// An update that has ended, also where it panicked.
struct Updating<'a>(&'a App);

impl Drop for Updating<'_> {
    fn drop(&mut self) {
        self.0.updating.store(false, Ordering::Release);
    }
}

/// Who may do what.
pub(crate) struct Access {
    pub(crate) token: Option<Token>,
    pub(crate) look_without_token: bool,
    pub(crate) read_only: bool,
}

/// Shared by all requests.
pub(crate) struct App {
    pub(crate) places: Places,
    pub(crate) station: Arc<dyn Station>,
    pub(crate) now: Arc<Now>,
    pub(crate) secrets: Secrets,
    pub(crate) token: Option<Token>,
    pub(crate) look_without_token: bool,
    pub(crate) read_only: bool,
    pub(crate) cookie: String,
    /// The `Content-Security-Policy` of every answer.
    pub(crate) policy: String,
    pub(crate) guard: crate::hosts::Hosts,
    index: Mutex<Index>,
    updated: Mutex<Option<Instant>>,
    updating: AtomicBool,
    coverage: Mutex<Coverage>,
    /// What may be started.
    pub(crate) reviews: Reviews,
    /// Pages that watch a run.
    pub(crate) streams: Arc<tokio::sync::Semaphore>,
    /// Files that are being received.
    pub(crate) uploads: tokio::sync::Semaphore,
}

/// A value behind a lock; one who panicked with it left it as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pages that watch a run at once.
const STREAMS_MAX: usize = 16;

impl App {
    pub(crate) fn new(
        (places, station): (Places, Arc<dyn Station>),
        secrets: Secrets,
        (access, port): (Access, u16),
        guard: crate::hosts::Hosts,
    ) -> Result<Self, IndexError> {
        let index = Index::open(&places.runs, places.index.as_deref())?;
        let hashes: Vec<String> = assay_report::html::scripts()
            .iter()
            .map(|script| format!("'sha256-{}'", script_hash(script)))
            .collect();
        let policy = format!(
            "default-src 'none'; script-src 'self' {}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            hashes.join(" ")
        );
        Ok(App {
            places,
            station,
            now: Arc::new(Now::new()),
            secrets,
            token: access.token,
            look_without_token: access.look_without_token,
            read_only: access.read_only,
            cookie: format!("assay-{port}"),
            policy,
            guard,
            index: Mutex::new(index),
            updated: Mutex::new(None),
            updating: AtomicBool::new(false),
            coverage: Mutex::new(Coverage::default()),
            reviews: Reviews::default(),
            streams: Arc::new(tokio::sync::Semaphore::new(STREAMS_MAX)),
            uploads: tokio::sync::Semaphore::new(1),
        })
    }

    /// Uses the index, as it is.
    pub(crate) fn index<T>(
        &self,
        work: impl FnOnce(&mut Index) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        work(&mut locked(&self.index))
    }

    /// Has the index brought up to date: a page waits a moment for it, and then shows what there is.
    pub(crate) fn refresh(self: &Arc<Self>) -> Coverage {
        let due = locked(&self.updated).is_none_or(|updated| updated.elapsed() >= UPDATE_EVERY);
        // What is measured is not to be disturbed by what looks at it.
        if due && !self.now.is_busy() && !self.updating.swap(true, Ordering::AcqRel) {
            let app = Arc::clone(self);
            let thread = std::thread::Builder::new().name("index".to_owned()).spawn(move || app.update());
            if thread.is_err() {
                self.updating.store(false, Ordering::Release);
            }
        }
        let begun = Instant::now();
        while self.updating.load(Ordering::Acquire) && begun.elapsed() < UPDATE_WAIT {
            std::thread::sleep(LOOK_EVERY);
        }
        locked(&self.coverage).clone()
    }

    /// In steps, so that pages get at the index in between.
    fn update(&self) {
        let ended = Updating(self);
        let problem = self.update_all().err();
        *locked(&self.coverage) =
            Coverage { problem: problem.map(|error| error.to_string()), ..Coverage::default() };
        *locked(&self.updated) = Some(Instant::now());
        drop(ended);
    }

    fn update_all(&self) -> Result<(), IndexError> {
        let there = index::scan(&self.places.runs)?;
        loop {
            let mut more = index::within(STEP);
            let complete = self.index(|index| {
                index.apply(&there, |done, all| {
                    *locked(&self.coverage) = Coverage { done, all, problem: None };
                    more()
                })
            })?;
            if complete || self.now.is_busy() {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The stored run with this id; `None`: there is none.
    pub(crate) fn stored(self: &Arc<Self>, id: &str) -> Result<Option<Stored>, IndexError> {
        if !is_id(id) {
            return Ok(None);
        }
        if let Some(found) = self.index(|index| index.by_id(id))? {
            return Ok(Some(found));
        }
        self.refresh();
        self.index(|index| index.by_id(id))
    }

    /// The stored run with this id as soon as it is in the index, for which a page waits a little; `None`: it is not yet.
    pub(crate) fn stored_just_now(self: &Arc<Self>, id: &str) -> Result<Option<Stored>, IndexError> {
        self.is_stale();
        for _ in 0..INDEXED_TRIES {
            if let Some(found) = self.stored(id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The directory of a stored run: its name is that of an entry of the directory of runs.
    pub(crate) fn directory(&self, stored: &Stored) -> Result<RunDir, StoreError> {
        RunDir::open(&self.places.runs.join(&stored.dir))
    }

    /// The run itself; one that was killed or is still going, as far as it has been recorded.
    pub(crate) fn load(&self, stored: &Stored) -> Result<Run, StoreError> {
        let directory = self.directory(stored)?;
        match directory.read_run() {
            Err(StoreError::Io { .. }) => store::load(&self.places.runs, &stored.dir),
            read => read,
        }
    }

    /// Notes that something was stored.
    pub(crate) fn is_stale(&self) {
        *locked(&self.updated) = None;
    }
}

/// Whether a word can be a run's id: what leads elsewhere cannot.
pub(crate) fn is_id(word: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    !word.is_empty() && word.len() <= 64 && !word.starts_with('.') && word.chars().all(fits)
}
