//! A phase on a thread of its own, which owns all that it works with: where an I/O hangs, the thread that waits for it cannot be
//! ended, and the run goes on without it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use assay_engine::clock::RealClock;
use assay_engine::driver::{CommonStart, PhaseEnd, PhaseOptions, Tick, run_phase};
use assay_engine::preparation::Preparation;
use assay_engine::watchdog::PreparationWatch;
use assay_engine::{Clock as _, EngineError, JobKind, ThisMachine};
use assay_results::HostEvent;
use assay_workload::Plan;

use crate::hold::Holding;

/// A phase, and everything that it works with.
pub(crate) struct PhaseThread {
    pub(crate) plan: Arc<Plan>,
    pub(crate) phase: usize,
    pub(crate) interval: Duration,
    pub(crate) stop: Arc<AtomicBool>,
    /// Says when it starts; `None`: at once.
    pub(crate) start: Option<CommonStart>,
    /// The first that takes a job has it.
    pub(crate) kinds: Vec<Arc<dyn JobKind<ThisMachine> + Send>>,
    /// Held until the last thread has ended.
    pub(crate) holding: Holding,
    /// What its kinds of jobs do before the start.
    pub(crate) preparation: Arc<Preparation>,
}

/// How often the preparation is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// What the thread tells.
enum Told {
    Event(HostEvent),
    /// About once a period.
    Tick,
    Ended(Result<PhaseEnd, EngineError>),
}

impl PhaseThread {
    /// Runs the phase. Its events go to `sink` on the calling thread, where also `tick` is called about once a period.
    ///
    /// # Errors
    /// As [`run_phase`].
    pub(crate) fn run(
        self,
        sink: &mut dyn FnMut(HostEvent),
        tick: &mut Tick<'_>,
    ) -> Result<PhaseEnd, EngineError> {
        let (tell, told) = mpsc::channel();
        let (preparation, stop) = (Arc::clone(&self.preparation), Arc::clone(&self.stop));
        let clock = RealClock::new();
        let mut watch = PreparationWatch::new(self.phase, clock.now_ns());
        let spawned =
            std::thread::Builder::new().name("assay-phase".to_owned()).spawn(move || self.work(&tell));
        let thread =
            spawned.map_err(|source| EngineError::Setup { engine: "driver", what: "a thread", source })?;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Told::Event(event)) => sink(event),
                Ok(Told::Tick) => tick(sink),
                // Where I/Os hang, the thread stays.
                Ok(Told::Ended(end)) => return end,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            let stopped = stop.load(Ordering::Relaxed);
            if watch.look(clock.now_ns(), &preparation, stopped, sink).is_break() {
                return Ok(PhaseEnd::default());
            }
        }
        match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Ok(PhaseEnd::default()),
        }
    }

    fn work(self, tell: &mpsc::Sender<Told>) {
        let PhaseThread { plan, phase, interval, stop, start, kinds, holding, preparation: _ } = self;
        let taking: Vec<&dyn JobKind<ThisMachine>> =
            kinds.iter().map(|kind| -> &dyn JobKind<ThisMachine> { kind.as_ref() }).collect();
        let given_up = |end| drop(tell.send(Told::Ended(Ok(end))));
        let options = PhaseOptions {
            interval,
            stop: Arc::clone(&stop),
            kinds: &taking,
            start: start.as_ref(),
            given_up: &given_up,
        };
        let mut sink = |event| {
            if tell.send(Told::Event(event)).is_err() {
                // Nothing listens any more: the run has failed.
                stop.store(true, Ordering::Relaxed);
            }
        };
        let end = run_phase(&plan, phase, &options, &mut sink, &mut |_| drop(tell.send(Told::Tick)));
        // What is open is closed before anything else can be opened for the next phase.
        drop((kinds, holding));
        let _ = tell.send(Told::Ended(end));
    }
}
