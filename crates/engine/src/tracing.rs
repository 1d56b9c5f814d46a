//! A trace of what a run does: every I/O written down, into memory that is there before the start, with the times that are recorded
//! of it. Runs that are not traced have none.

use std::sync::{Arc, Mutex, PoisonError};

use assay_workload::pattern::OpKind;

use crate::seam::Io;

/// What is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracing {
    /// Room for about so many I/Os in each phase, over all threads; 40 bytes each.
    pub records_max: usize,
    /// Phases and jobs of the plan of which each submitting call is timed. Calls that could wait for completions in the same system
    /// call then do not.
    pub timed: Vec<(usize, usize)>,
    /// Phases and jobs of the plan whose I/Os are written down; `None`: all.
    pub jobs: Option<Vec<(usize, usize)>>,
}

impl Tracing {
    /// Of all jobs.
    pub fn of_all(records_max: usize) -> Tracing {
        Tracing { records_max, timed: Vec::new(), jobs: None }
    }

    /// Whether the I/Os of this job are written down.
    pub(crate) fn wants(&self, phase: usize, job: usize) -> bool {
        self.jobs.as_ref().is_none_or(|jobs| jobs.contains(&(phase, job)))
    }

    /// Whether its submitting calls are timed one by one.
    pub(crate) fn times(&self, phase: usize, job: usize) -> bool {
        self.timed.contains(&(phase, job))
    }
}

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it was handed to the engine, nanoseconds of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// How long it took; `u64::MAX`: it had not completed when the trace ended.
    pub latency_ns: u64,
    /// Byte offset within the target.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub len_bytes: u32,
    /// From when it was handed to the engine until the call that submitted it was back, nanoseconds; 0 where calls are not timed.
    pub submit_ns: u32,
    /// Index of the target in the plan.
    pub target: u16,
    /// Index of the phase in the plan.
    pub phase: u16,
    /// Index of the job in its phase.
    pub job: u16,
    /// What it was.
    pub kind: OpKind,
}

const EMPTY: TraceRecord = TraceRecord {
    at_ns: 0,
    latency_ns: 0,
    offset_bytes: 0,
    len_bytes: 0,
    submit_ns: 0,
    target: 0,
    phase: 0,
    job: 0,
    kind: OpKind::Read,
};

/// What all threads of a run wrote down.
#[derive(Debug, Default)]
pub struct Traced {
    /// In the order of time.
    pub records: Vec<TraceRecord>,
    /// I/Os there was no room for.
    pub dropped: u64,
}

/// Where threads put their traces when they end.
#[derive(Debug)]
pub struct TraceSink {
    /// What is written down.
    pub(crate) tracing: Tracing,
    traced: Mutex<Traced>,
}

impl TraceSink {
    /// For these I/Os.
    pub fn new(tracing: Tracing) -> TraceSink {
        TraceSink { tracing, traced: Mutex::new(Traced::default()) }
    }

    /// Everything since the last call.
    pub fn take(&self) -> Traced {
        let mut traced = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
        let mut traced = std::mem::take(&mut *traced);
        traced.records.sort_by_key(|record| record.at_ns);
        traced
    }

    fn give(&self, records: &[TraceRecord], dropped: u64) {
        let mut traced = self.traced.lock().unwrap_or_else(PoisonError::into_inner);
        traced.records.extend_from_slice(records);
        traced.dropped += dropped;
    }
}

/// The I/Os of one thread.
pub struct IoTrace {
    records: Box<[TraceRecord]>,
    len: usize,
    /// The first record of the batch that was handed over last, and the first one that was not handed over yet.
    batch: (usize, usize),
    dropped: u64,
    /// The record of what is outstanding in each slot; `usize::MAX`: there was no room.
    open: Box<[usize]>,
    /// The plan's target of each of the thread's.
    targets: Vec<u16>,
    of: TracedThread,
    sink: Arc<TraceSink>,
}

impl std::fmt::Debug for IoTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IoTrace {{ len: {}, dropped: {} }}", self.len, self.dropped)
    }
}

/// Whose I/Os a trace holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TracedThread {
    /// Index of the phase in the plan.
    pub(crate) phase: usize,
    /// Index of the job in its phase.
    pub(crate) job: usize,
    /// I/Os at most, as far as that is known.
    pub(crate) ios_max: Option<u64>,
    /// Threads that are traced beside it, and itself.
    pub(crate) threads: usize,
    /// Outstanding at once.
    pub(crate) depth: u32,
}

impl IoTrace {
    /// Of a thread that works on these targets of the plan.
    pub(crate) fn new(sink: &Arc<TraceSink>, of: TracedThread, targets: Vec<u16>) -> IoTrace {
        let room = sink.tracing.records_max.div_ceil(of.threads.max(1));
        let room = of.ios_max.map_or(room, |ios| room.min(usize::try_from(ios).unwrap_or(usize::MAX)));
        // Written once, so that the kernel has the memory ready.
        let mut records = vec![EMPTY; room].into_boxed_slice();
        records.iter_mut().for_each(|record| record.len_bytes = 1);
        IoTrace {
            records,
            len: 0,
            batch: (0, 0),
            dropped: 0,
            open: vec![usize::MAX; of.depth as usize].into_boxed_slice(),
            targets,
            of,
            sink: Arc::clone(sink),
        }
    }

    /// An I/O is in the queue of the engine.
    #[cold]
    pub(crate) fn queued(&mut self, io: &Io) {
        let target = self.targets.get(usize::from(io.target)).copied().unwrap_or(io.target);
        let index = match self.records.get_mut(self.len) {
            Some(record) => {
                *record = TraceRecord {
                    at_ns: 0,
                    latency_ns: u64::MAX,
                    offset_bytes: io.offset_bytes,
                    len_bytes: io.len_bytes,
                    submit_ns: 0,
                    target,
                    phase: self.of.phase as u16,
                    job: self.of.job as u16,
                    kind: io.kind,
                };
                self.len += 1;
                self.len - 1
            }
            None => {
                self.dropped += 1;
                usize::MAX
            }
        };
        if let Some(open) = self.open.get_mut(io.slot as usize) {
            *open = index;
        }
    }

    /// What is in the queue is handed over at this time of the monotonic clock.
    #[cold]
    pub(crate) fn issued(&mut self, now_ns: u64) {
        self.batch = (self.batch.1, self.len);
        self.records[self.batch.0..self.batch.1].iter_mut().for_each(|record| record.at_ns = now_ns);
    }

    /// The call that handed it over is back.
    #[cold]
    pub(crate) fn submitted(&mut self, now_ns: u64) {
        for record in &mut self.records[self.batch.0..self.batch.1] {
            record.submit_ns = u32::try_from(now_ns.saturating_sub(record.at_ns)).unwrap_or(u32::MAX);
        }
    }

    /// What was outstanding in a slot has completed.
    #[cold]
    pub(crate) fn completed(&mut self, slot: u32, now_ns: u64) {
        let index = self.open.get(slot as usize).copied().unwrap_or(usize::MAX);
        if let Some(record) = self.records.get_mut(index) {
            record.latency_ns = now_ns.saturating_sub(record.at_ns);
        }
    }
}

impl Drop for IoTrace {
    fn drop(&mut self) {
        // What was never handed over was not done.
        self.sink.give(&self.records[..self.batch.1], self.dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(slot: u32, offset_bytes: u64) -> Io {
        Io { slot, target: 0, kind: OpKind::Write, len_bytes: 4096, offset_bytes }
    }

    #[test]
    fn every_io_is_written_down_as_far_as_there_is_room() {
        let sink = Arc::new(TraceSink::new(Tracing::of_all(3)));
        let of = TracedThread { phase: 1, job: 5, ios_max: Some(4), threads: 1, depth: 2 };
        let mut trace = IoTrace::new(&sink, of, vec![7]);
        for round in 0..2 {
            (0..2).for_each(|slot| trace.queued(&io(slot, round * 8192 + u64::from(slot) * 4096)));
            trace.issued(1000 * round + 100);
            trace.submitted(1000 * round + 130);
            (0..2).for_each(|slot| trace.completed(slot, 1000 * round + 300 + u64::from(slot)));
        }
        trace.queued(&io(0, 99));
        assert!(sink.take().records.is_empty(), "nothing is handed over before the end");
        drop(trace);
        let traced = sink.take();
        let seen: Vec<_> = traced.records.iter().map(|r| (r.offset_bytes, r.at_ns, r.latency_ns)).collect();
        assert_eq!(seen, [(0, 100, 200), (4096, 100, 201), (8192, 1100, 200)]);
        assert_eq!(traced.dropped, 2);
        assert!(traced.records.iter().all(|record| (record.target, record.submit_ns) == (7, 30)));
        assert!(traced.records.iter().all(|record| (record.phase, record.job) == (1, 5)));
    }

    #[test]
    fn room_is_made_for_what_a_thread_does_at_most() {
        let sink = Arc::new(TraceSink::new(Tracing { jobs: Some(vec![(0, 1)]), ..Tracing::of_all(1000) }));
        assert!(sink.tracing.wants(0, 1) && !sink.tracing.wants(1, 1));
        for (ios_max, threads, room) in [(Some(10), 1, 10), (Some(10), 200, 5), (None, 4, 250)] {
            let of = TracedThread { phase: 0, job: 1, ios_max, threads, depth: 1 };
            assert_eq!(IoTrace::new(&sink, of, vec![0]).records.len(), room);
        }
    }
}
