//! The job loop: a resumable step machine, the same for real engines and for the simulator.
//!
//! One step takes what has completed, records it, refills the free slots and hands them over. A real engine may block inside
//! the step (one system call submits and waits); a simulated one never does, and its driver moves the clock between steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_workload::arrival::Arrivals;
use assay_workload::fill::Filler;
use assay_workload::ops::{Op, OpSource};
use assay_workload::pattern::OpKind;

use crate::buffers::MappedBuffers;
use crate::flow::FlowShare;
use crate::in_flight::InFlight;
use crate::recorder::{Latency, Recorder};
use crate::seam::{Capabilities, Clock, Completion, Completions, Engine, EngineError, Io, OpenTarget, Wait};
use crate::tracing::IoTrace;

mod abandon;
mod batch;
pub(crate) mod errors;
mod flushes;
mod operations;
mod pacing;
mod reread;
mod short;
mod slot_list;
mod slots;
mod spec;

use batch::Batch;
use errors::Errors;
use flushes::Flushes;
use operations::Operations;
use pacing::Pacing;
use reread::Rereads;
use slot_list::SlotList;
pub use slots::{Outstanding, Slots};
pub use spec::LoopSpec;

/// Near a deadline a sleeping thread may come too late, so the last stretch is spun.
const SPIN_NS: u64 = 30_000;
/// Every so many reads the buffer is looked at.
const ZERO_SAMPLE: u32 = 512;
/// What a buffer of zeros begins with.
static ZEROS: [u8; 4096] = [0; 4096];

/// What a step machine waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// A completion.
    Completion,
    /// A moment on the job's clock, or a completion.
    Until(u64),
    /// Nothing: it has ended.
    Done,
}

/// Completions of one look with one operation and one issue time.
#[derive(Debug)]
struct CompletionGroup {
    issued_ns: u64,
    /// 0 where submitting calls are not timed.
    submitted_ns: u64,
    op: usize,
    count: u32,
    bytes: u64,
}

/// What a job thread knows at its end, beside its intervals.
#[derive(Debug, Clone, Default)]
pub struct LoopEnd {
    /// The last completion.
    pub last_completion_ns: u64,
    /// Calls that handed I/Os over.
    pub submit_calls: u64,
    /// Time between two looks for completions, in our own code: sum and longest.
    pub busy_sum_ns: u64,
    /// See `busy_sum_ns`.
    pub busy_max_ns: u64,
    /// Sampled read buffers, and those that were all zero.
    pub zero_sampled: u64,
    /// See `zero_sampled`.
    pub zero_found: u64,
    /// Blocks that did not hold what was written there.
    pub verify_failed: u64,
    /// Reads and writes that moved less than was asked for and were continued.
    pub short: [u64; 2],
    /// Failed operations by errno.
    pub errors: Vec<(i32, u64)>,
    /// The errno that ended the job; 0: none.
    pub fatal_errno: i32,
    /// The I/O that failed so, where it was one, and its errno.
    pub fatal_io: Option<(InFlight, i32)>,
    /// The engine had no room for an I/O of a free slot, which ended the job.
    pub queue_full: bool,
}

/// The step machine. `OPEN`: operations have intended arrival times. `DETAIL`: submitting calls are timed, or each I/O is written down;
/// without it neither is, whatever is asked for, and nothing of it is in the path.
pub struct JobLoop<E: Engine, C: Clock, const OPEN: bool, const DETAIL: bool> {
    // The engine goes before the buffers it may still write to.
    engine: E,
    clock: C,
    recorder: Option<Recorder>,
    buffers: MappedBuffers,
    filler: Filler,
    /// None in virtual time.
    targets: Box<[OpenTarget]>,
    spec: LoopSpec,
    stop: Arc<AtomicBool>,

    operations: Operations,
    pacing: Pacing,
    flushes: Flushes,
    rereads: Rereads,
    batch: Batch,
    errors: Errors,

    slots: Slots,
    free: SlotList,
    pending: SlotList,
    completions: Completions,
    outstanding: u32,
    reap_wait: Wait,
    issue_from_ns: u64,
    since_think: u32,
    until_zero_sample: u32,
    submit_and_wait: bool,
    blocks: bool,
    draining: bool,
    /// Asked before each block of operations is drawn; a block is one operation then.
    flow: Option<FlowShare>,
    /// Each submitting call is timed, so that what comes behind it can be told apart.
    timed: bool,
    /// Where each I/O is written down, with the times that are recorded of it.
    trace: Option<Box<IoTrace>>,

    end: LoopEnd,
}

impl<E: Engine + std::fmt::Debug, C: Clock, const OPEN: bool, const DETAIL: bool> std::fmt::Debug
    for JobLoop<E, C, OPEN, DETAIL>
{
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JobLoop {{ engine: {:?}, outstanding: {} }}", self.engine, self.outstanding)
    }
}

/// What is done between two passes.
pub type PassHook = Box<dyn FnMut() + Send>;

/// The parts a loop is put together from.
pub struct LoopParts<E, C> {
    /// The engine, prepared for `buffers`.
    pub engine: E,
    /// The clock.
    pub clock: C,
    /// Intended arrivals in an open loop.
    pub arrivals: Option<Arrivals>,
    /// Where measurements go.
    pub recorder: Recorder,
    /// One buffer a slot.
    pub buffers: MappedBuffers,
    /// What writes carry.
    pub filler: Filler,
    /// What is open; empty in virtual time.
    pub targets: Vec<OpenTarget>,
    /// Pace and end.
    pub spec: LoopSpec,
    /// Set from outside to end the job early.
    pub stop: Arc<AtomicBool>,
    /// Done between two passes over the active range, with nothing outstanding.
    pub pass_hook: Option<PassHook>,
}

impl<E: Engine, C: Clock, const OPEN: bool, const DETAIL: bool> JobLoop<E, C, OPEN, DETAIL> {
    /// A loop at rest; the first step starts it.
    pub fn new(parts: LoopParts<E, C>, source: Box<dyn OpSource>) -> Self {
        let depth = parts.spec.depth;
        let capabilities = parts.engine.capabilities();
        JobLoop {
            operations: Operations::new(source, parts.pass_hook),
            pacing: Pacing::new(parts.arrivals, parts.spec.start_ns),
            flushes: Flushes::new(parts.spec.flush, depth),
            rereads: Rereads::new(parts.spec.reread, depth),
            batch: Batch::new(&parts.spec, capabilities),
            errors: Errors::new(parts.spec.errors_tolerated),
            issue_from_ns: parts.spec.start_ns,
            engine: parts.engine,
            clock: parts.clock,
            recorder: Some(parts.recorder),
            buffers: parts.buffers,
            filler: parts.filler,
            targets: parts.targets.into_boxed_slice(),
            spec: parts.spec,
            stop: parts.stop,
            slots: Slots::new(depth),
            free: SlotList::full(depth),
            pending: SlotList::empty(depth),
            completions: Completions::with_capacity(depth as usize),
            outstanding: 0,
            reap_wait: Wait::Poll,
            since_think: 0,
            // In virtual time buffers are not touched, and there is nothing to look at.
            until_zero_sample: if capabilities.blocks { ZERO_SAMPLE } else { u32::MAX },
            submit_and_wait: capabilities.submit_and_wait,
            blocks: capabilities.blocks,
            draining: false,
            flow: None,
            timed: Self::times_each_call(capabilities),
            trace: None,
            end: LoopEnd::default(),
        }
    }

    /// The same loop as part of a flow; its source gives one operation at a time.
    #[must_use]
    pub fn in_flow(mut self, flow: Option<FlowShare>) -> Self {
        self.flow = flow;
        self
    }

    /// Whether each submitting call of an engine is timed without being asked for: calls that cannot wait are timed for nothing.
    pub fn times_each_call(capabilities: Capabilities) -> bool {
        capabilities.blocks && capabilities.asynchronous && !capabilities.submit_and_wait
    }

    /// The same loop with each I/O written down, where there is a trace.
    #[must_use]
    pub fn traced(mut self, trace: Option<IoTrace>) -> Self {
        self.trace = trace.map(Box::new);
        self
    }

    /// The same loop with each submitting call timed: none waits for completions in the same system call.
    #[must_use]
    pub fn timed(mut self, each_call: bool) -> Self {
        self.timed |= each_call && self.engine.capabilities().asynchronous;
        self
    }

    /// Whether each I/O is written down.
    pub fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// The engine, for what it has to say after [`Engine::prepare`].
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// What is outstanding, for others to look at.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Moves a loop at rest that was made for a phase that starts at 0 to one that starts at `phase_start_ns`.
    pub fn arm(&mut self, phase_start_ns: u64) {
        self.spec.shift(phase_start_ns);
        self.issue_from_ns = self.spec.start_ns;
        self.pacing.arm(self.spec.start_ns);
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.shift(phase_start_ns);
        }
    }

    /// One step; see the module's description.
    ///
    /// # Errors
    /// [`EngineError`] if the engine cannot go on. Errors of single I/Os are counted, not returned.
    #[inline]
    pub fn step(&mut self) -> Result<Pending, EngineError> {
        self.completions.clear();
        self.engine.reap(&mut self.completions, self.reap_wait)?;
        let now = self.clock.now_ns();
        let Some(recorder) = self.recorder.as_mut() else { return Ok(Pending::Done) };
        if now >= recorder.boundary_ns() {
            recorder.roll(now);
        }
        self.account(now);
        let wrong = self.engine.judge(&self.completions);
        if wrong > 0 {
            self.wrong_content(wrong);
        }
        if self.batch.polled() {
            let idle = self.batch.look_back(self.outstanding, now);
            if !OPEN && let Some(recorder) = self.recorder.as_mut() {
                recorder.idle_slots(idle);
            }
        }
        if now >= self.spec.deadline_ns || self.stop.load(Ordering::Relaxed) {
            self.draining = true;
        }
        self.flushes.settle(self.outstanding);
        if !self.draining && !self.flushes.is_alone() && now >= self.issue_from_ns {
            self.refill(now);
        }
        self.hand_over(now)
    }

    /// Records everything that was reaped. All of it is stamped alike, so what was handed over together has one latency
    /// and is recorded at once.
    #[inline(always)]
    fn account(&mut self, now: u64) {
        let count = self.completions.as_slice().len();
        if count == 0 {
            return;
        }
        self.end.last_completion_ns = now;
        let mut group = CompletionGroup { issued_ns: now, submitted_ns: 0, op: 0, count: 0, bytes: 0 };
        for index in 0..count {
            let completion = self.completions.as_slice()[index];
            self.account_one(now, completion, &mut group);
        }
        self.record(now, &group);
    }

    #[inline(always)]
    fn record(&mut self, now: u64, group: &CompletionGroup) {
        if let Some(recorder) = self.recorder.as_mut()
            && group.count > 0
        {
            let latency_ns = now.saturating_sub(group.issued_ns);
            recorder.latency(Latency::Completion, group.op, latency_ns, group.count);
            if DETAIL && self.timed {
                let service_ns = now.saturating_sub(group.submitted_ns);
                recorder.latency(Latency::Service, group.op, service_ns, group.count);
            }
            recorder.bytes(group.op, group.bytes);
        }
    }

    #[inline(always)]
    fn account_one(&mut self, now: u64, completion: Completion, group: &mut CompletionGroup) {
        let slot = self.slots.at(completion.slot);
        let issued_ns = slot.issued_ns();
        let (kind, target, len) = slot.what();
        let (op, intended) = (usize::from(kind).min(3), slot.intended_ns());
        let submitted_ns = if DETAIL && self.timed { slot.submitted_ns() } else { 0 };
        self.outstanding -= 1;
        if DETAIL && let Some(trace) = self.trace.as_mut() {
            trace.completed(completion.slot, now);
        }
        if completion.result != len as i32 && !(op >= 2 && completion.result == 0) {
            self.not_whole(completion.slot, completion.result);
            return;
        }
        slot.done();
        if group.issued_ns != issued_ns || group.op != op {
            self.record(now, group);
            *group = CompletionGroup { issued_ns, submitted_ns, op, count: 0, bytes: 0 };
        }
        group.count += 1;
        group.bytes += u64::from(len);
        if OPEN
            && op < 3
            && let Some(recorder) = self.recorder.as_mut()
        {
            recorder.latency(Latency::Response, op, now.saturating_sub(intended), 1);
        }
        self.completed(completion.slot, op, len, target);
    }

    /// What follows an I/O that succeeded, and its slot is free.
    #[inline(always)]
    fn completed(&mut self, slot: u32, op: usize, len: u32, target: u16) {
        if op == OpKind::Read as usize {
            self.until_zero_sample -= 1;
            if self.until_zero_sample == 0 {
                self.look_for_zeros(slot, len);
            }
        } else if op == OpKind::Write as usize
            && (self.rereads.keeps(slot) || self.flushes.keeps(slot, target))
        {
            return;
        }
        self.free.push(slot);
    }

    #[cold]
    fn look_for_zeros(&mut self, slot: u32, len: u32) {
        self.until_zero_sample = ZERO_SAMPLE;
        // SAFETY: the slot's I/O has completed, and it is not refilled before this returns.
        let bytes = unsafe { self.buffers.slice_mut(slot, (len as usize).min(ZEROS.len())) };
        self.end.zero_sampled += 1;
        self.end.zero_found += u64::from(ZEROS.starts_with(bytes));
    }

    /// So many blocks do not hold what was written there. They were I/Os all the same, and are counted as such.
    #[cold]
    fn wrong_content(&mut self, blocks: u32) {
        self.end.verify_failed += u64::from(blocks);
        let Some(most) = self.spec.data_errors_max else {
            return (0..blocks).for_each(|_| self.count_error(libc::EILSEQ));
        };
        if let Some(recorder) = self.recorder.as_mut() {
            (0..blocks).for_each(|_| recorder.error());
        }
        if self.end.verify_failed >= most {
            self.end.fatal_errno = libc::EILSEQ;
            self.draining = true;
        }
    }

    #[cold]
    fn failed(&mut self, result: i32, slot: u32) {
        let errno = if result < 0 { -result } else { errors::END_OF_FILE };
        let io = self.slots.at(slot).outstanding();
        self.errors.failed(errno);
        self.slots.at(slot).done();
        self.free.push(slot);
        self.count_error(errno);
        if self.end.fatal_errno != 0 {
            self.end.fatal_io.get_or_insert((io.into(), errno));
        }
    }

    #[cold]
    fn count_error(&mut self, errno: i32) {
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.error();
        }
        if self.errors.count() {
            self.end.fatal_errno = errno;
            self.draining = true;
        }
    }

    /// Gives every free slot something to do, as far as there is something and one call may hand it over.
    #[inline(always)]
    fn refill(&mut self, now: u64) {
        while let Some((slot, target)) = self.flushes.kept() {
            self.queue_flush(slot, target);
        }
        while let Some(slot) = self.rereads.kept() {
            self.queue_reread(slot);
        }
        let limit = self.batch.limit();
        while let Some(slot) = self.free.last() {
            if self.pending.len() >= limit {
                return self.batch.hold_back(self.free.len(), now);
            }
            if self.flushes.any() && self.flush_goes_next(now) {
                let alone = self.flushes.goes_alone();
                if alone && self.outstanding > 0 {
                    return;
                }
                self.free.pop();
                self.queue_flush(slot, self.flushes.last_target());
                if alone {
                    return;
                }
                continue;
            }
            if !self.has_op(now) || (OPEN && !self.pacing.is_due(now)) {
                return;
            }
            let op = self.operations.take();
            self.free.pop();
            let intended = if OPEN { self.pacing.take() } else { 0 };
            self.queue_op(slot, op, intended);
            if let Some(think) = self.spec.think {
                self.since_think += 1;
                if self.since_think >= think.every_ios {
                    self.since_think = 0;
                    self.issue_from_ns = now + think.time.0;
                    return;
                }
            }
        }
    }

    /// Whether there is an operation to take now.
    #[inline(always)]
    fn has_op(&mut self, now: u64) -> bool {
        self.operations.at_hand() || self.next_block(now)
    }

    /// Draws the next operations, if there are more and nothing has to be done before them.
    #[inline(never)]
    fn next_block(&mut self, now: u64) -> bool {
        self.operations.more(self.outstanding) && self.is_its_turn(now) && {
            let only = if OPEN { self.pacing.choose(now) } else { None };
            self.operations.draw(only)
        }
    }

    /// Whether others of its flow are not behind.
    #[inline(always)]
    fn is_its_turn(&mut self, now: u64) -> bool {
        let Some(Err(pause_ns)) = self.flow.as_mut().map(FlowShare::take_turn) else { return true };
        match pause_ns {
            // The others may be on their way; a thread that yields on a busy machine comes back late.
            0 => std::hint::spin_loop(),
            _ => self.issue_from_ns = now + pause_ns,
        }
        false
    }

    /// Whether the next operation to hand over is a flush that does not belong to one write. None comes behind the last
    /// operation of the job.
    #[inline(always)]
    fn flush_goes_next(&mut self, now: u64) -> bool {
        self.flushes.is_due() && self.has_op(now)
    }

    #[inline(always)]
    fn queue_op(&mut self, slot_index: u32, op: Op, intended_ns: u64) {
        if op.kind == OpKind::Write {
            // SAFETY: the slot is free, so no I/O on its buffer is outstanding.
            let bytes = unsafe { self.buffers.slice_mut(slot_index, op.len_bytes as usize) };
            self.filler.refresh(bytes);
            self.flushes.written(op.target);
        }
        let len_bytes = if op.kind == OpKind::Trim { 0 } else { op.len_bytes };
        self.slots.at(slot_index).queue(op.kind, op.target, len_bytes, op.offset_bytes, intended_ns);
        let io = Io {
            slot: slot_index,
            target: op.target,
            kind: op.kind,
            len_bytes: op.len_bytes,
            offset_bytes: op.offset_bytes,
        };
        self.queue(io);
    }

    #[inline(always)]
    fn queue(&mut self, io: Io) {
        // The engine has room for `depth`, and no more slots than that exist.
        if self.engine.queue(io).is_err() {
            return self.refused();
        }
        if DETAIL && let Some(trace) = self.trace.as_mut() {
            trace.queued(&io);
        }
        self.pending.push(io.slot);
        self.outstanding += 1;
    }

    /// The engine has no room although a slot is free: it has lost an I/O, or never had the room it was made with.
    #[cold]
    #[inline(never)]
    fn refused(&mut self) {
        self.end.queue_full = true;
        self.draining = true;
    }

    #[cold]
    fn queue_flush(&mut self, slot_index: u32, target: u16) {
        let kind = self.flushes.begin();
        self.slots.at(slot_index).queue(kind, target, 0, 0, 0);
        self.queue(Io { slot: slot_index, target, kind, len_bytes: 0, offset_bytes: 0 });
    }

    /// Stamps what was queued, hands it over, and waits if there is nothing better to do.
    #[inline(always)]
    fn hand_over(&mut self, reaped_ns: u64) -> Result<Pending, EngineError> {
        if self.draining {
            while let Some(slot) = self.flushes.kept().map(|(slot, _)| slot).or_else(|| self.rereads.kept()) {
                self.free.push(slot);
            }
        }
        if self.outstanding == 0 {
            if self.draining || self.operations.exhausted() {
                self.finish();
                return Ok(Pending::Done);
            }
            return self.idle(reaped_ns);
        }
        let submitting = self.pending.len();
        let mut stamp = reaped_ns;
        if submitting > 0 {
            stamp = self.clock.now_ns();
            self.stamp(stamp);
            self.end.submit_calls += 1;
        }
        let busy = stamp - reaped_ns.min(stamp);
        self.end.busy_sum_ns += busy;
        self.end.busy_max_ns = self.end.busy_max_ns.max(busy);
        if !OPEN && let Some(recorder) = self.recorder.as_mut() {
            // What is handed over now had nobody to do it since the look that freed its slot.
            recorder.idle_slots(busy * submitting as u64);
        }
        let wait = if self.batch.polled() { Wait::Poll } else { self.wait_for() };
        self.submit(wait, submitting, stamp)
    }

    #[inline(always)]
    fn stamp(&mut self, now: u64) {
        if DETAIL && let Some(trace) = self.trace.as_mut() {
            trace.issued(now);
        }
        for &slot_index in self.pending.as_slice() {
            let slot = self.slots.at(slot_index);
            slot.issue(now);
            if OPEN
                && let intended_ns = slot.intended_ns()
                && intended_ns > 0
                && let Some(recorder) = self.recorder.as_mut()
            {
                recorder.lateness(now.saturating_sub(intended_ns));
            }
        }
    }

    /// What to wait for once everything that could be handed over is.
    #[inline(always)]
    fn wait_for(&self) -> Wait {
        if self.free.is_empty() {
            return Wait::AtLeast(1);
        }
        if self.draining || self.flushes.is_alone() || self.operations.exhausted() {
            // Nothing else is done meanwhile, and what was done is not held back by an I/O that hangs.
            let boundary_ns = self.recorder.as_ref().filter(|_| self.blocks).map(Recorder::boundary_ns);
            return boundary_ns.map_or(Wait::AtLeast(1), Wait::Until);
        }
        // In virtual time nobody comes too late.
        let early = if self.blocks { SPIN_NS } else { 0 };
        let deadline = self.spec.deadline_ns;
        if OPEN && let Some(next_ns) = self.pacing.next_ns() {
            return Wait::Until(next_ns.saturating_sub(early).min(deadline));
        }
        if self.spec.think.is_some() {
            return Wait::Until(self.issue_from_ns.saturating_sub(early).min(deadline));
        }
        Wait::AtLeast(1)
    }

    #[inline(always)]
    fn submit(&mut self, wait: Wait, submitting: usize, stamp: u64) -> Result<Pending, EngineError> {
        let sample = submitting > 0 && self.batch.samples();
        let mut reap_wait = if self.batch.polled() { Wait::Poll } else { wait };
        if sample || DETAIL && self.timed || !self.submit_and_wait {
            let done = self.engine.submit(Wait::Poll)?;
            // In virtual time the call takes none, and a sample says so as well.
            if submitting > 0 && (DETAIL && self.timed || !done.waited && (sample || self.blocks)) {
                self.record_submit(stamp);
            }
        } else if self.engine.submit(wait)?.waited {
            reap_wait = Wait::Poll;
        }
        self.pending.clear();
        self.reap_wait = if self.blocks { reap_wait } else { Wait::Poll };
        Ok(match wait {
            Wait::Until(at_ns) => Pending::Until(at_ns),
            _ => Pending::Completion,
        })
    }

    /// The call took as long for each of the operations that it handed over.
    #[cold]
    fn record_submit(&mut self, stamp: u64) {
        let now = self.clock.now_ns();
        let took = now.saturating_sub(stamp);
        if DETAIL && self.timed {
            self.pending.as_slice().iter().for_each(|&slot| self.slots.at(slot).submitted(now));
            if DETAIL && let Some(trace) = self.trace.as_mut() {
                trace.submitted(now);
            }
        }
        let mut counts = [0_u32; 4];
        for &slot in self.pending.as_slice().iter().filter(|slot| !self.slots.at(**slot).is_reread()) {
            counts[usize::from(self.slots.at(slot).what().0).min(3)] += 1;
        }
        let Some(recorder) = self.recorder.as_mut() else { return };
        for (op, count) in counts.into_iter().enumerate().filter(|entry| entry.1 > 0) {
            recorder.latency(Latency::Submit, op, took, count);
        }
    }

    /// Nothing is outstanding and nothing is due yet.
    #[cold]
    fn idle(&mut self, now: u64) -> Result<Pending, EngineError> {
        let next_ns = if OPEN { self.pacing.next_ns() } else { None };
        let due = next_ns.map_or(self.issue_from_ns, |next_ns| next_ns.max(self.issue_from_ns));
        let due = due.min(self.spec.deadline_ns);
        self.reap_wait = Wait::Poll;
        if self.blocks && due > now + SPIN_NS {
            std::thread::sleep(std::time::Duration::from_nanos((due - now - SPIN_NS).min(50_000_000)));
        }
        Ok(Pending::Until(due))
    }

    #[cold]
    fn finish(&mut self) {
        self.end.errors = self.errors.list();
        if let Some(recorder) = self.recorder.take() {
            recorder.finish(self.end.last_completion_ns.max(self.spec.measured_start_ns));
        }
    }

    /// What was learnt, once the loop is done or could not go on.
    pub fn into_end(mut self) -> LoopEnd {
        if self.recorder.is_some() {
            self.finish();
        }
        std::mem::take(&mut self.end)
    }
}

#[cfg(test)]
mod tests;
