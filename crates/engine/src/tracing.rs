//! A trace of what a run does: an engine around another one that writes down every I/O, into memory that is there before the
//! start. Runs that are not traced do not go through it.

use std::sync::{Arc, Mutex, PoisonError};

use assay_workload::pattern::OpKind;

use crate::clock::RealClock;
use crate::seam::{
    AnyEngine, BufferPool, Capabilities, Clock, Completions, Engine, EngineError, Io, Notes, QueueFull,
    Submitted, TargetTable, Wait,
};

/// What is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tracing {
    /// Room for about so many I/Os in each phase, over all threads; 40 bytes each.
    pub records_max: usize,
    /// Whether each submitting call is timed. Those that could wait for completions in the same system call then do not.
    pub submit_calls: bool,
    /// Phases and jobs of the plan whose I/Os are written down; `None`: all.
    pub jobs: Option<Vec<(usize, usize)>>,
}

impl Tracing {
    /// Of all jobs.
    pub fn of_all(records_max: usize) -> Tracing {
        Tracing { records_max, submit_calls: false, jobs: None }
    }

    /// Whether the I/Os of this job are written down.
    pub(crate) fn wants(&self, phase: usize, job: usize) -> bool {
        self.jobs.as_ref().is_none_or(|jobs| jobs.contains(&(phase, job)))
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

/// An engine whose I/Os are written down.
pub(crate) struct TracedEngine {
    inner: Box<dyn AnyEngine>,
    clock: RealClock,
    records: Box<[TraceRecord]>,
    len: usize,
    /// The first record whose submitting call is not back yet.
    submitting: usize,
    dropped: u64,
    /// The record of what is outstanding in each slot; `usize::MAX`: there was no room.
    open: Box<[usize]>,
    /// The plan's target of each of the thread's.
    targets: Vec<u16>,
    of: TracedThread,
    sink: Arc<TraceSink>,
}

/// Whose I/Os an engine writes down.
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

impl TracedEngine {
    /// Around `inner`, which works on these targets of the plan.
    pub(crate) fn new(
        inner: Box<dyn AnyEngine>,
        sink: &Arc<TraceSink>,
        of: TracedThread,
        targets: Vec<u16>,
    ) -> TracedEngine {
        let room = sink.tracing.records_max.div_ceil(of.threads.max(1));
        let room = of.ios_max.map_or(room, |ios| room.min(usize::try_from(ios).unwrap_or(usize::MAX)));
        // Written once, so that the kernel has the memory ready.
        let mut records = vec![EMPTY; room].into_boxed_slice();
        records.iter_mut().for_each(|record| record.len_bytes = 1);
        TracedEngine {
            inner,
            clock: RealClock::new(),
            records,
            len: 0,
            submitting: 0,
            dropped: 0,
            open: vec![usize::MAX; of.depth as usize].into_boxed_slice(),
            targets,
            of,
            sink: Arc::clone(sink),
        }
    }
}

impl Drop for TracedEngine {
    fn drop(&mut self) {
        self.sink.give(&self.records[..self.len], self.dropped);
    }
}

impl Notes for TracedEngine {
    fn notes(&self) -> Vec<String> {
        let mut notes = self.inner.notes();
        notes.push("traced".to_owned());
        notes
    }
}

impl Engine for TracedEngine {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.inner.prepare(targets, buffers)
    }

    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        self.inner.queue(io)?;
        let target = self.targets.get(usize::from(io.target)).copied().unwrap_or(io.target);
        let (offset_bytes, len_bytes, kind) = (io.offset_bytes, io.len_bytes, io.kind);
        let index = match self.records.get_mut(self.len) {
            Some(record) => {
                let at_ns = self.clock.now_ns();
                let (phase, job) = (self.of.phase as u16, self.of.job as u16);
                let latency_ns = u64::MAX;
                *record = TraceRecord {
                    at_ns,
                    latency_ns,
                    offset_bytes,
                    len_bytes,
                    submit_ns: 0,
                    target,
                    phase,
                    job,
                    kind,
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
        Ok(())
    }

    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError> {
        if !self.sink.tracing.submit_calls {
            return self.inner.submit(wait);
        }
        // Waiting is what the loop does next.
        let done = self.inner.submit(Wait::Poll)?;
        let now = self.clock.now_ns();
        for record in &mut self.records[self.submitting..self.len] {
            record.submit_ns = u32::try_from(now.saturating_sub(record.at_ns)).unwrap_or(u32::MAX);
        }
        self.submitting = self.len;
        Ok(done)
    }

    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        let before = out.as_slice().len();
        self.inner.reap(out, wait)?;
        let now = self.clock.now_ns();
        for completion in &out.as_slice()[before..] {
            let index = self.open.get(completion.slot as usize).copied().unwrap_or(usize::MAX);
            if let Some(record) = self.records.get_mut(index) {
                record.latency_ns = now.saturating_sub(record.at_ns);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::null::NullEngine;

    fn io(slot: u32, offset_bytes: u64) -> Io {
        Io { slot, target: 0, kind: OpKind::Write, len_bytes: 4096, offset_bytes }
    }

    #[test]
    fn every_io_is_written_down_as_far_as_there_is_room() {
        let sink = Arc::new(TraceSink::new(Tracing { submit_calls: true, ..Tracing::of_all(3) }));
        let of = TracedThread { phase: 1, job: 5, ios_max: Some(4), threads: 1, depth: 2 };
        let mut engine = TracedEngine::new(Box::new(NullEngine::new(2)), &sink, of, vec![7]);
        let mut found = Completions::with_capacity(2);
        for round in 0..2 {
            (0..2).for_each(|slot| engine.queue(io(slot, round * 8192 + u64::from(slot) * 4096)).unwrap());
            engine.submit(Wait::Poll).unwrap();
            found.clear();
            engine.reap(&mut found, Wait::Poll).unwrap();
            assert_eq!(found.as_slice().len(), 2);
        }
        assert!(sink.take().records.is_empty(), "nothing is handed over before the end");
        drop(engine);
        let traced = sink.take();
        let offsets: Vec<u64> = traced.records.iter().map(|record| record.offset_bytes).collect();
        assert_eq!((offsets, traced.dropped), (vec![0, 4096, 8192], 1));
        assert!(traced.records.iter().all(|record| record.target == 7 && record.latency_ns < u64::MAX));
        assert!(traced.records.iter().all(|record| (record.phase, record.job) == (1, 5)));
        assert!(traced.records.iter().all(|record| u64::from(record.submit_ns) <= record.latency_ns));
    }

    #[test]
    fn room_is_made_for_what_a_thread_does_at_most() {
        let sink = Arc::new(TraceSink::new(Tracing { jobs: Some(vec![(0, 1)]), ..Tracing::of_all(1000) }));
        assert!(sink.tracing.wants(0, 1) && !sink.tracing.wants(1, 1));
        for (ios_max, threads, room) in [(Some(10), 1, 10), (Some(10), 200, 5), (None, 4, 250)] {
            let of = TracedThread { phase: 0, job: 1, ios_max, threads, depth: 1 };
            let engine = TracedEngine::new(Box::new(NullEngine::new(1)), &sink, of, vec![0]);
            assert_eq!(engine.records.len(), room);
        }
    }
}
