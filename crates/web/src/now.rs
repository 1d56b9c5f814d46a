//! The run that goes on: at most one, started from the page, watched by any number of browsers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use assay_results::live::LiveRun;
use tokio::sync::watch;

use crate::station::{Station, StationError, Told, Wanted};

/// How a run that was started here ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// There is a result, under this id.
    Kept(String),
    /// There is none, and why.
    Nothing(String),
}

/// A run that goes on, or the last one that did.
#[derive(Debug)]
pub(crate) struct Current {
    /// What was started, in a line.
    pub(crate) title: String,
    /// How far it is with what comes before the run.
    pub(crate) stage: String,
    /// Where the run stands.
    pub(crate) live: LiveRun,
    /// Set once it has ended.
    pub(crate) ended: Option<Ended>,
    /// Whether it was told to stop.
    pub(crate) stopping: bool,
    stop: Arc<AtomicBool>,
    begun: Instant,
}

impl Current {
    /// Since it was started.
    pub(crate) fn now(&self) -> std::time::Duration {
        self.begun.elapsed()
    }
}

/// Where the one run has its place.
#[derive(Debug)]
pub(crate) struct Now {
    current: Mutex<Option<Current>>,
    /// Counts changes, for those who wait for one.
    changed: watch::Sender<u64>,
}

impl Now {
    pub(crate) fn new() -> Self {
        Now { current: Mutex::new(None), changed: watch::Sender::new(0) }
    }

    /// A thread that panicked leaves a run that is shown as it was.
    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the run, if one has been started.
    pub(crate) fn look<T>(&self, at: impl FnOnce(Option<&Current>) -> T) -> T {
        at(self.lock().as_ref())
    }

    /// Whether one goes on.
    pub(crate) fn is_busy(&self) -> bool {
        self.look(|current| current.is_some_and(|current| current.ended.is_none()))
    }

    /// Counts changes from here on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    fn tell(&self) {
        self.changed.send_modify(|number| *number += 1);
    }

    /// Starts what is wanted on a thread of its own.
    ///
    /// # Errors
    /// That another one goes on.
    pub(crate) fn start(
        self: &Arc<Self>,
        station: Arc<dyn Station>,
        title: String,
        wanted: Wanted,
        overwritten: Vec<String>,
    ) -> Result<(), String> {
        let stop = Arc::new(AtomicBool::new(false));
        {
            let mut place = self.lock();
            if let Some(current) = place.as_ref().filter(|current| current.ended.is_none()) {
                return Err(format!("{} is still going; one run at a time", current.title));
            }
            *place = Some(Current {
                title,
                stage: String::new(),
                live: LiveRun::default(),
                ended: None,
                stopping: false,
                stop: Arc::clone(&stop),
                begun: Instant::now(),
            });
        }
        self.tell();
        let (own, runs) = (Arc::clone(self), Arc::clone(&station));
        let started = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
            let end = EndsAnyway(own);
            let result = runs.run(&wanted, &overwritten, &mut |told| end.0.hear(&told), stop);
            end.0.end(match result {
                Ok(id) => Ended::Kept(id),
                Err(StationError::Stopped) => Ended::Nothing(StationError::Stopped.to_string()),
                Err(error) => Ended::Nothing(error.to_string()),
            });
        });
        started.map(drop).map_err(|error| {
            self.end(Ended::Nothing(error.to_string()));
            format!("no thread for the run: {error}")
        })
    }

    fn hear(&self, told: &Told<'_>) {
        if let Some(current) = self.lock().as_mut() {
            match told {
                Told::Stage(stage) => current.stage.clone_from(stage),
                Told::Event(event, before_s) => {
                    let now = current.now();
                    current.live.hear(event, now, &|_| *before_s);
                }
            }
        }
        self.tell();
    }

    fn end(&self, ended: Ended) {
        if let Some(current) = self.lock().as_mut().filter(|current| current.ended.is_none()) {
            current.ended = Some(ended);
        }
        self.tell();
    }

    /// Tells it to stop; `false`: none goes on.
    pub(crate) fn stop(&self) -> bool {
        let mut place = self.lock();
        let Some(current) = place.as_mut().filter(|current| current.ended.is_none()) else { return false };
        current.stopping = true;
        current.stop.store(true, Ordering::Relaxed);
        drop(place);
        self.tell();
        true
    }
}

/// A run whose thread panics has ended, too.
struct EndsAnyway(Arc<Now>);

impl Drop for EndsAnyway {
    fn drop(&mut self) {
        self.0.end(Ended::Nothing("an error of the program ended it".to_owned()));
    }
}
