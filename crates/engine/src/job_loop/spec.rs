//! What a thread's loop has to keep to.

use assay_workload::job::{PeriodicFlush, ThinkTime};
use assay_workload::plan::PlannedJob;

use crate::recorder::Schedule;

/// How a job paces itself and when it ends; times on the job's clock.
#[derive(Debug, Clone)]
pub struct LoopSpec {
    /// Outstanding I/Os.
    pub depth: u32,
    /// At most this many are handed over in one call; 0: as the storage takes them best.
    pub submit_batch_max: u32,
    /// Where it starts.
    pub start_ns: u64,
    /// Where the measured part starts.
    pub measured_start_ns: u64,
    /// Where it ends; `u64::MAX`: when the operations end.
    pub deadline_ns: u64,
    /// Flush after writes.
    pub flush: Option<PeriodicFlush>,
    /// Pauses.
    pub think: Option<ThinkTime>,
    /// Errors that may happen before the job gives up.
    pub errors_tolerated: u64,
    /// Blocks with wrong content that end the job; `None`: they count among the errors above.
    pub data_errors_max: Option<u64>,
    /// What was written is read back at once.
    pub reread: bool,
}

impl LoopSpec {
    /// `depth` outstanding I/Os from `start_ns` until the operations end, and nothing else.
    pub const fn closed(depth: u32, start_ns: u64) -> LoopSpec {
        LoopSpec {
            depth,
            submit_batch_max: 0,
            start_ns,
            measured_start_ns: start_ns,
            deadline_ns: u64::MAX,
            flush: None,
            think: None,
            errors_tolerated: 0,
            data_errors_max: None,
            reread: false,
        }
    }

    /// Of a thread of `job`, in a phase that starts at `phase_start_ns` of the job's clock.
    pub fn of(job: &PlannedJob, phase_start_ns: u64) -> LoopSpec {
        let start_ns = phase_start_ns + job.start_delay.0;
        let measured_start_ns = start_ns + job.ramp.0;
        LoopSpec {
            depth: job.outstanding_per_thread,
            submit_batch_max: job.engine_options.submit_batch_max,
            start_ns,
            measured_start_ns,
            deadline_ns: job.end.time.map_or(u64::MAX, |time| measured_start_ns.saturating_add(time.0)),
            flush: job.flush.periodic,
            think: job.think_time,
            errors_tolerated: job.errors_tolerated,
            data_errors_max: job.content.data_errors_max,
            reread: false,
        }
    }

    /// Moves all times by `by_ns`.
    pub(super) fn shift(&mut self, by_ns: u64) {
        self.start_ns += by_ns;
        self.measured_start_ns += by_ns;
        self.deadline_ns = self.deadline_ns.saturating_add(by_ns);
    }

    /// Intervals of this length from the start to the end.
    pub fn schedule(&self, interval_ns: u64) -> Schedule {
        Schedule { start_ns: self.start_ns, measured_start_ns: self.measured_start_ns, interval_ns }
    }
}
