//! Time and counts of one tree thread: when operations begin, what they took, when the thread has done enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_workload::arrival::ArrivalSource;
use assay_workload::plan::{PlannedJob, ThreadSlice};
use assay_workload::tree::TreeOperation;
use rustix::io::Errno;

use super::doing::{Doing, Touch};
use crate::clock::RealClock;
use crate::job_loop::LoopEnd;
use crate::operations::OperationCounts;
use crate::recorder::Recorder;
use crate::seam::Clock;

/// Errno values kept apart.
const ERRNO_MAX: usize = 134;
/// A sleeping thread may come too late, so the last stretch before an arrival is spun.
const SPIN_NS: u64 = 50_000;
/// The longest sleep between two looks at the stop flag.
const NAP_NS: u64 = 20_000_000;

/// When a thread is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) start_ns: u64,
    pub(super) measured_start_ns: u64,
    /// `u64::MAX`: none.
    pub(super) deadline_ns: u64,
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) errors_tolerated: u64,
}

impl Bounds {
    /// Of a thread, in a phase that starts at 0.
    pub(super) fn of(planned: &PlannedJob, slice: &ThreadSlice) -> Bounds {
        let start_ns = planned.start_delay.0;
        let measured_start_ns = start_ns + planned.ramp.0;
        Bounds {
            start_ns,
            measured_start_ns,
            deadline_ns: planned.end.time.map_or(u64::MAX, |time| measured_start_ns.saturating_add(time.0)),
            ios: slice.ios.unwrap_or(u64::MAX),
            bytes: slice.bytes.unwrap_or(u64::MAX),
            errors_tolerated: planned.errors_tolerated,
        }
    }
}

/// Intended arrivals, in blocks drawn ahead.
#[derive(Debug)]
struct Arrivals {
    source: ArrivalSource,
    times: [u64; 32],
    next: usize,
}

/// See the module's description.
#[derive(Debug)]
pub(super) struct Meter {
    clock: RealClock,
    recorder: Recorder<OperationCounts>,
    arrivals: Option<Arrivals>,
    bounds: Bounds,
    stop: Arc<AtomicBool>,
    doing: Arc<Doing>,
    ios: u64,
    bytes: u64,
    end: LoopEnd,
    errors: u64,
    errno_counts: Box<[u64; ERRNO_MAX]>,
}

impl Meter {
    pub(super) fn new(
        recorder: Recorder<OperationCounts>,
        arrivals: Option<ArrivalSource>,
        bounds: Bounds,
        stop: Arc<AtomicBool>,
        doing: Arc<Doing>,
    ) -> Self {
        Meter {
            clock: RealClock::new(),
            recorder,
            arrivals: arrivals.map(|source| Arrivals { source, times: [0; 32], next: 32 }),
            bounds,
            stop,
            doing,
            ios: 0,
            bytes: 0,
            end: LoopEnd::default(),
            errors: 0,
            errno_counts: Box::new([0; ERRNO_MAX]),
        }
    }

    /// The phase, so far thought to start at 0, starts at `phase_start_ns`.
    pub(super) fn arm(&mut self, phase_start_ns: u64) {
        self.bounds.start_ns += phase_start_ns;
        self.bounds.measured_start_ns += phase_start_ns;
        self.bounds.deadline_ns = self.bounds.deadline_ns.saturating_add(phase_start_ns);
        self.recorder.shift(phase_start_ns);
    }

    /// Sleeps until the job starts, as long as the thread goes on.
    pub(super) fn wait_until_start(&mut self) {
        self.wait_until(self.bounds.start_ns);
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    pub(super) fn deadline_ns(&self) -> Option<u64> {
        Some(self.bounds.deadline_ns).filter(|deadline| *deadline != u64::MAX)
    }

    /// Whether the thread gave up because of errors.
    pub(super) fn is_fatal(&self) -> bool {
        self.end.fatal_errno != 0
    }

    /// Operations that were asked for and done.
    pub(super) fn ios(&self) -> u64 {
        self.ios
    }

    /// Whether another operation may begin.
    pub(super) fn goes_on(&self) -> bool {
        !self.is_fatal()
            && self.ios < self.bounds.ios
            && self.bytes < self.bounds.bytes
            && !self.stop.load(Ordering::Relaxed)
            && self.now_ns() < self.bounds.deadline_ns
    }

    /// Sleeps until `at_ns`, as long as the thread goes on; whether it still does.
    pub(super) fn wait_until(&mut self, at_ns: u64) -> bool {
        loop {
            if !self.goes_on() {
                return false;
            }
            // Intervals end on time also where nothing is done.
            let now = self.stamp();
            if now >= at_ns {
                return true;
            }
            let until = at_ns.min(self.bounds.deadline_ns).min(self.recorder.boundary_ns());
            match until.saturating_sub(now) {
                left if left > SPIN_NS => {
                    std::thread::sleep(Duration::from_nanos((left - SPIN_NS).min(NAP_NS)))
                }
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Waits for the next intended arrival, which is `Some(None)` where there are none; `None`: the thread is done.
    pub(super) fn arrive(&mut self) -> Option<Option<u64>> {
        let Some(arrivals) = self.arrivals.as_mut() else { return self.goes_on().then_some(None) };
        if arrivals.next == arrivals.times.len() {
            arrivals.source.fill(&mut arrivals.times);
            arrivals.next = 0;
        }
        let intended = arrivals.times[arrivals.next] + self.bounds.start_ns;
        arrivals.next += 1;
        self.wait_until(intended).then_some(Some(intended))
    }

    /// Where it can be seen what the thread is doing.
    pub(super) fn doing(&self) -> &Doing {
        &self.doing
    }

    /// An operation that comes along with another begins.
    pub(super) fn starts(&self, touch: Touch) -> u64 {
        let now = self.now_ns();
        self.doing.begins(touch, now);
        now
    }

    /// An operation begins; notes how late.
    pub(super) fn begins(&mut self, touch: Touch, intended: Option<u64>) -> u64 {
        let now = self.starts(touch);
        if let Some(intended) = intended {
            self.recorder.late(now.saturating_sub(intended));
        }
        self.end.submit_calls += 1;
        now
    }

    /// The time now, in the interval it belongs to.
    fn stamp(&mut self) -> u64 {
        let now = self.now_ns();
        if now >= self.recorder.boundary_ns() {
            self.recorder.roll(now);
        }
        now
    }

    /// Records an operation that was asked for and moved so many bytes; whether it succeeded.
    pub(super) fn requested(
        &mut self,
        operation: TreeOperation,
        start_ns: u64,
        intended: Option<u64>,
        done: Result<u64, Errno>,
    ) -> bool {
        let now = self.stamp();
        self.doing.ends();
        self.end.last_completion_ns = now;
        match done {
            Ok(bytes) => {
                let response = intended.map(|intended| now.saturating_sub(intended));
                self.recorder.requested(operation as usize, now.saturating_sub(start_ns), response, bytes);
                self.ios += 1;
                self.bytes += bytes;
                true
            }
            Err(errno) => self.failed(errno),
        }
    }

    /// Records an operation that came along with another; whether it succeeded.
    pub(super) fn along(&mut self, operation: TreeOperation, start_ns: u64, done: Result<(), Errno>) -> bool {
        let now = self.stamp();
        self.doing.ends();
        match done {
            Ok(()) => {
                self.recorder.beside(operation as usize, now.saturating_sub(start_ns), 0);
                true
            }
            Err(errno) => self.failed(errno),
        }
    }

    /// Records a flush; whether it succeeded.
    pub(super) fn flushed(&mut self, start_ns: u64, done: Result<(), Errno>) -> bool {
        let now = self.stamp();
        self.doing.ends();
        match done {
            Ok(()) => {
                self.end.last_completion_ns = now;
                self.recorder.flushed(now.saturating_sub(start_ns));
                true
            }
            Err(errno) => self.failed(errno),
        }
    }

    /// Counts a failed operation; always `false`.
    pub(super) fn failed(&mut self, errno: Errno) -> bool {
        let errno = errno.raw_os_error();
        self.errno_counts[(errno.unsigned_abs() as usize).min(ERRNO_MAX - 1)] += 1;
        self.errors += 1;
        self.recorder.failed();
        if self.errors > self.bounds.errors_tolerated {
            self.end.fatal_errno = errno;
            self.end.fatal_io.get_or_insert_with(|| (self.doing.last(), errno));
        }
        false
    }

    /// Notes a sample of a read buffer.
    pub(super) fn sampled(&mut self, all_zero: bool) {
        self.end.zero_sampled += 1;
        self.end.zero_found += u64::from(all_zero);
    }

    /// Publishes the last interval.
    pub(super) fn finish(mut self) -> LoopEnd {
        let counts = self.errno_counts.iter().enumerate().filter(|(_, count)| **count > 0);
        self.end.errors = counts.map(|(errno, count)| (errno as i32, *count)).collect();
        self.recorder.finish(self.end.last_completion_ns.max(self.bounds.measured_start_ns));
        self.end
    }
}
