//! Where the job threads of a phase wait for their common start.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the one who waits for the threads looks at other things.
const LOOK: Duration = Duration::from_millis(20);

/// Lets all threads start together, or none: one that cannot start calls the phase off, and nobody waits for it.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    ready: usize,
    decision: Option<Decision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    /// The start of the phase on the job's clock.
    Start(u64),
    /// The thread that could not start; `None`: one that could not even be made.
    CalledOff(Option<usize>),
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole at any moment, also when a thread panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, decision: Decision) {
        self.state().decision.get_or_insert(decision);
        self.changed.notify_all();
    }

    /// Waits until `threads` threads are ready, and calls `look` meanwhile; `false` if the phase is called off.
    pub(super) fn wait_ready(&self, threads: usize, look: &mut dyn FnMut()) -> bool {
        let mut state = self.state();
        while state.decision.is_none() && state.ready < threads {
            state = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            drop(state);
            look();
            state = self.state();
        }
        state.decision.is_none()
    }

    /// Lets everybody start at `start_ns`.
    pub(super) fn open(&self, start_ns: u64) {
        self.decide(Decision::Start(start_ns));
    }

    /// No thread starts any more, because of `thread`.
    pub(super) fn call_off(&self, thread: Option<usize>) {
        self.decide(Decision::CalledOff(thread));
    }

    /// The thread that called the phase off, if one did.
    pub(super) fn called_off_by(&self) -> Option<usize> {
        match self.state().decision {
            Some(Decision::CalledOff(thread)) => thread,
            _ => None,
        }
    }

    /// Whether the threads were let through.
    pub(super) fn has_started(&self) -> bool {
        matches!(self.state().decision, Some(Decision::Start(_)))
    }

    fn arrive(&self) -> Option<u64> {
        let mut state = self.state();
        state.ready += 1;
        self.changed.notify_all();
        loop {
            match state.decision {
                Some(Decision::Start(start_ns)) => return Some(start_ns),
                Some(Decision::CalledOff(_)) => return None,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// One thread's way through the gate. Dropped before the thread has arrived (an error, a panic), it calls the phase off.
#[derive(Debug)]
pub(super) struct GatePass<'a> {
    gate: &'a Gate,
    thread: usize,
    arrived: bool,
}

impl<'a> GatePass<'a> {
    pub(super) fn new(gate: &'a Gate, thread: usize) -> Self {
        GatePass { gate, thread, arrived: false }
    }

    /// Says that the thread is ready, and waits for the start of the phase; `None` if it is called off.
    pub(super) fn pass(&mut self) -> Option<u64> {
        self.arrived = true;
        self.gate.arrive()
    }
}

impl Drop for GatePass<'_> {
    fn drop(&mut self) {
        if !self.arrived {
            self.gate.call_off(Some(self.thread));
        }
    }
}
