//! One user: a thread with a connection of its own that does one transaction after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use assay_engine::clock::RealClock;
use assay_engine::job_loop::LoopEnd;
use assay_engine::operations::OperationCounts;
use assay_engine::recorder::Recorder;
use assay_engine::{Clock as _, EngineError};
use assay_workload::arrival::ArrivalSource;
use assay_workload::plan::{PlannedJob, ThreadSlice};

use crate::error::{Class, Error, failed};
use crate::inputs::Inputs;
use crate::ledger::LedgerWriter;
use crate::session::{Reply, Session, operation};

/// The longest sleep between two looks at the stop flag.
const NAP_NS: u64 = 20_000_000;
/// How often a transaction that lost a conflict is tried again.
const TRIES_MAX: u32 = 1000;

/// What a user counts for those who watch.
#[derive(Debug, Default)]
pub(crate) struct UserCounts {
    /// Committed and rolled back, tries included.
    pub(crate) transactions: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) rolled_back: AtomicU64,
}

/// When a user works, in a phase that starts at 0 until it is known when it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) start_ns: u64,
    pub(crate) measured_start_ns: u64,
    /// `u64::MAX`: there is none.
    deadline_ns: u64,
    transactions: u64,
}

impl Bounds {
    pub(crate) fn of(planned: &PlannedJob, slice: &ThreadSlice) -> Self {
        let start_ns = planned.start_delay.0;
        let measured_start_ns = start_ns + planned.ramp.0;
        Bounds {
            start_ns,
            measured_start_ns,
            deadline_ns: planned.end.time.map_or(u64::MAX, |time| measured_start_ns.saturating_add(time.0)),
            transactions: slice.ios.unwrap_or(u64::MAX),
        }
    }
}

/// See the module's description.
pub(crate) struct User<'p> {
    pub(crate) clock: RealClock,
    pub(crate) recorder: Recorder<OperationCounts>,
    pub(crate) bounds: Bounds,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) arrivals: Option<ArrivalSource>,
    pub(crate) inputs: Inputs,
    pub(crate) thinks: bool,
    /// Commits are durable when they return.
    pub(crate) flushes: bool,
    /// Microseconds since 1970 when the clock shows 0.
    pub(crate) epoch_us: i64,
    pub(crate) ledger: LedgerWriter,
    pub(crate) counts: &'p UserCounts,
    pub(crate) errors_tolerated: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) end: LoopEnd,
    pub(crate) done: u64,
}

impl User<'_> {
    /// The phase starts at `start_ns`.
    pub(crate) fn arm(&mut self, start_ns: u64) {
        self.bounds.start_ns += start_ns;
        self.bounds.measured_start_ns += start_ns;
        self.bounds.deadline_ns = self.bounds.deadline_ns.saturating_add(start_ns);
        self.recorder.shift(start_ns);
    }

    fn goes_on(&self) -> bool {
        self.done < self.bounds.transactions
            && !self.stop.load(Ordering::Relaxed)
            && self.clock.now_ns() < self.bounds.deadline_ns
    }

    /// The time now, in the interval it belongs to.
    fn stamp(&mut self) -> u64 {
        let now = self.clock.now_ns();
        if now >= self.recorder.boundary_ns() {
            self.recorder.roll(now);
        }
        now
    }

    /// Sleeps until a time; whether the user still goes on.
    fn wait_until(&mut self, at_ns: u64) -> bool {
        loop {
            if !self.goes_on() {
                return false;
            }
            let now = self.stamp();
            if now >= at_ns {
                return true;
            }
            let until = at_ns.min(self.bounds.deadline_ns).min(self.recorder.boundary_ns());
            std::thread::sleep(Duration::from_nanos((until - now).clamp(1, NAP_NS)));
        }
    }

    fn pause(&mut self, seconds: f64) -> bool {
        let now = self.clock.now_ns();
        self.wait_until(now.saturating_add((seconds * 1e9) as u64))
    }

    /// Does transactions until the user's time is over.
    ///
    /// # Errors
    /// [`EngineError`]: the connection was lost, or more transactions failed than are tolerated.
    pub(crate) fn work(&mut self, session: &mut dyn Session) -> Result<(), EngineError> {
        if !self.wait_until(self.bounds.start_ns) {
            return Ok(());
        }
        while self.goes_on() {
            let transaction = self.inputs.choose();
            if self.thinks && !self.pause(transaction.keying_s()) {
                break;
            }
            let intended = match &mut self.arrivals {
                None => None,
                Some(arrivals) => {
                    let mut at_ns = [0];
                    arrivals.fill(&mut at_ns);
                    Some(at_ns[0] + self.bounds.start_ns)
                }
            };
            if intended.is_some_and(|at_ns| !self.wait_until(at_ns)) {
                break;
            }
            self.one(session, intended)?;
            if self.thinks {
                let think_s = self.inputs.think_s(transaction.think_s());
                self.pause(think_s);
            }
        }
        Ok(())
    }

    /// Does the chosen transaction.
    fn one(&mut self, session: &mut dyn Session, intended: Option<u64>) -> Result<(), EngineError> {
        let begun = self.stamp();
        if let Some(intended) = intended {
            self.recorder.late(begun.saturating_sub(intended));
        }
        self.inputs.draw(self.epoch_us + (begun / 1000) as i64);
        self.end.submit_calls += 1;
        let done = self.perform(session);
        let now = self.stamp();
        self.end.last_completion_ns = now;
        match done {
            Ok(reply) => {
                let transaction = self.inputs.input.transaction;
                let response = intended.map(|intended| now.saturating_sub(intended));
                self.recorder.requested(
                    operation(transaction, &reply),
                    now.saturating_sub(begun),
                    response,
                    0,
                );
                if self.flushes && reply.commit_ns > 0 {
                    self.recorder.flushed(reply.commit_ns);
                }
                self.done += 1;
                self.counts.rolled_back.fetch_add(u64::from(reply.rolled_back), Ordering::Relaxed);
                let written = self.ledger.acknowledge(&self.inputs.input, &reply);
                written
                    .map_err(|error| EngineError::Kind { kind: "oltp", why: format!("the ledger: {error}") })
            }
            Err(error) => self.failed(error),
        }
    }

    /// Tries the transaction until it does not lose a conflict.
    fn perform(&mut self, session: &mut dyn Session) -> Result<Reply, Error> {
        let mut tries = 0;
        loop {
            let done = session.perform(&self.inputs.input);
            self.counts.transactions.fetch_add(1, Ordering::Relaxed);
            tries += 1;
            match done {
                Err(error) if error.class() == Class::Conflict && tries < TRIES_MAX => {
                    self.counts.retries.fetch_add(1, Ordering::Relaxed);
                    if self.stop.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                }
                done => return done,
            }
        }
    }

    fn failed(&mut self, error: Error) -> Result<(), EngineError> {
        // What was interrupted did not fail.
        if self.stop.load(Ordering::Relaxed) || self.clock.now_ns() >= self.bounds.deadline_ns {
            self.bounds.transactions = 0;
            return Ok(());
        }
        *self.errors.entry(error.code().to_owned()).or_default() += 1;
        self.recorder.failed();
        let errors: u64 = self.errors.values().sum();
        if error.class() == Class::Lost || errors > self.errors_tolerated {
            return Err(failed(error));
        }
        Ok(())
    }

    /// Publishes the last interval.
    pub(crate) fn finish(self) -> (LoopEnd, Vec<(String, u64)>) {
        self.recorder.finish(self.end.last_completion_ns.max(self.bounds.measured_start_ns));
        (self.end, self.errors.into_iter().collect())
    }
}
