//! Recording in the measured phase: two halves per thread, one being written, one being read.
//!
//! The job thread alone decides when an interval ends (it knows the time anyway), marks the half it filled as full and
//! goes on in the other one. A sampler takes full halves away. Nobody waits: if the sampler has not come yet, the job
//! thread stays in its half and the interval becomes longer.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use assay_results::histogram::{BUCKETS, bucket_of};
use assay_results::{JobCounts, LatencyHistogram, OpCounts};
use assay_workload::operation::{Counted, OpId};

/// How long the sampler is waited for at the end of the ramp.
const SAMPLER_WAIT: Duration = Duration::from_millis(10);

/// Histograms of a half: completion, response, submit and service of four operations, lateness, and completion of re-reads.
const HISTOGRAMS: usize = 18;
const LATENESS: usize = 16;
const REREAD: usize = 17;

/// Which latency of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Latency {
    /// Submission to completion.
    Completion = 0,
    /// Intended arrival to completion.
    Response = 4,
    /// The submitting call.
    Submit = 8,
    /// Return of the submitting call to completion.
    Service = 12,
}

/// What a histogram knows exactly.
#[derive(Debug, Clone, Copy)]
struct Exact {
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Exact {
    const EMPTY: Exact = Exact { sum_ns: 0, min_ns: u64::MAX, max_ns: 0 };
}

/// `N` histograms that are written without looking.
#[derive(Debug)]
pub(crate) struct Histograms<const N: usize> {
    /// `N` x [`BUCKETS`]; pages that no value falls into are never touched.
    buckets: Vec<u32>,
    exact: [Exact; N],
}

impl<const N: usize> Histograms<N> {
    pub(crate) fn new() -> Self {
        Histograms { buckets: vec![0; N * BUCKETS], exact: [Exact::EMPTY; N] }
    }

    /// Records `count` equal values.
    ///
    /// # Safety
    /// `histogram` is below `N`.
    #[inline(always)]
    pub(crate) unsafe fn record(&mut self, histogram: usize, value_ns: u64, count: u32) {
        debug_assert!(histogram < N);
        // SAFETY: the caller names one of N, and bucket_of() is always below BUCKETS.
        unsafe {
            *self.buckets.get_unchecked_mut(histogram * BUCKETS + bucket_of(value_ns)) += count;
            let exact = self.exact.get_unchecked_mut(histogram);
            exact.sum_ns += value_ns * u64::from(count);
            exact.min_ns = exact.min_ns.min(value_ns);
            exact.max_ns = exact.max_ns.max(value_ns);
        }
    }

    /// Moves a histogram into `target` and empties it: how many values, and their sum; `None` if there were none.
    pub(crate) fn take(&mut self, histogram: usize, target: &mut LatencyHistogram) -> Option<(u64, u64)> {
        let exact = std::mem::replace(&mut self.exact[histogram], Exact::EMPTY);
        if exact.min_ns == u64::MAX {
            return None;
        }
        let before = target.n();
        let buckets = &mut self.buckets[histogram * BUCKETS..(histogram + 1) * BUCKETS];
        target.absorb(buckets, exact.sum_ns, exact.min_ns, exact.max_ns);
        Some((target.n() - before, exact.sum_ns))
    }
}

/// What a half counts.
pub trait Counting: std::fmt::Debug + Send + 'static {
    /// Moves everything into `counts` and empties itself.
    fn take(&mut self, counts: &mut JobCounts);
}

/// What is counted of block I/O.
#[derive(Debug)]
pub struct BlockCounts {
    histograms: Histograms<HISTOGRAMS>,
    bytes: [u64; 4],
    reread_bytes: u64,
    errors: u64,
    idle_slot_ns: u64,
}

impl Default for BlockCounts {
    fn default() -> Self {
        BlockCounts {
            histograms: Histograms::new(),
            bytes: [0; 4],
            reread_bytes: 0,
            errors: 0,
            idle_slot_ns: 0,
        }
    }
}

impl Counting for BlockCounts {
    fn take(&mut self, counts: &mut JobCounts) {
        let mut reread = OpCounts::default();
        if let Some((ios, sum_ns)) = self.histograms.take(REREAD, &mut reread.completion) {
            (reread.ios, reread.bytes) = (ios, std::mem::take(&mut self.reread_bytes));
            counts.named_mut(OpId::REREAD, Counted::Beside).merge(&reread);
            counts.busy_slot_ns += sum_ns;
        }
        for histogram in 0..REREAD {
            let target: &mut LatencyHistogram = match histogram {
                LATENESS => &mut counts.lateness,
                h if h >= Latency::Service as usize => &mut counts.ops[h - Latency::Service as usize].service,
                h if h >= Latency::Submit as usize => &mut counts.ops[h - Latency::Submit as usize].submit,
                h if h >= Latency::Response as usize => {
                    &mut counts.ops[h - Latency::Response as usize].response
                }
                h => &mut counts.ops[h].completion,
            };
            let Some((added, sum_ns)) = self.histograms.take(histogram, target) else { continue };
            if histogram < Latency::Response as usize {
                counts.ops[histogram].ios += added;
                counts.busy_slot_ns += sum_ns;
            }
        }
        for (op, bytes) in counts.ops.iter_mut().zip(&mut self.bytes) {
            op.bytes += std::mem::take(bytes);
        }
        counts.errors += std::mem::take(&mut self.errors);
        counts.idle_slot_ns += std::mem::take(&mut self.idle_slot_ns);
    }
}

/// One half.
#[derive(Debug)]
struct IntervalBuffer<T> {
    counts: T,
    index: u32,
    start_ns: u64,
    end_ns: u64,
}

impl<T> IntervalBuffer<T> {
    fn new(counts: T) -> Self {
        IntervalBuffer { counts, index: 0, start_ns: 0, end_ns: 0 }
    }
}

const WRITING: u8 = 0;
const FULL: u8 = 1;
const TAKEN: u8 = 2;

/// What a job thread and the sampler share.
#[derive(Debug)]
pub struct Shared<T = BlockCounts> {
    halves: [UnsafeCell<IntervalBuffer<T>>; 2],
    state: [AtomicU8; 2],
    /// Number of the interval the thread is in; `u64::MAX` once it has published its last one.
    current: AtomicU64,
    /// Whether there is a recorder that writes here.
    owned: AtomicBool,
}

// SAFETY: a half is touched by the only recorder while its state is WRITING, and while it is TAKEN by the caller of
// `take` who found it FULL; the state changes hands with release and acquire.
unsafe impl<T: Send> Sync for Shared<T> {}

/// One interval as the sampler got it.
#[derive(Debug)]
pub struct CompletedInterval {
    /// Its number.
    pub index: u32,
    /// Start on the job's clock.
    pub start_ns: u64,
    /// End on the job's clock.
    pub end_ns: u64,
    /// What was counted.
    pub counts: JobCounts,
}

/// Where a sampler takes a thread's intervals from.
pub trait Intervals: std::fmt::Debug + Send + Sync {
    /// See [`Shared::take`].
    fn take(&self) -> Vec<CompletedInterval>;
    /// See [`Shared::current`].
    fn current(&self) -> Option<u32>;
}

impl<T: Counting> Intervals for Shared<T> {
    fn take(&self) -> Vec<CompletedInterval> {
        Shared::take(self)
    }

    fn current(&self) -> Option<u32> {
        Shared::current(self)
    }
}

impl Shared {
    /// Both halves empty, for block I/O.
    pub fn new() -> Arc<Self> {
        Shared::of([BlockCounts::default(), BlockCounts::default()])
    }
}

impl<T: Counting> Shared<T> {
    /// With these halves, which have all the memory that counting needs.
    pub fn of(halves: [T; 2]) -> Arc<Self> {
        Arc::new(Shared {
            halves: halves.map(|counts| UnsafeCell::new(IntervalBuffer::new(counts))),
            state: [AtomicU8::new(WRITING), AtomicU8::new(WRITING)],
            current: AtomicU64::new(0),
            owned: AtomicBool::new(false),
        })
    }

    /// Takes the intervals that are complete, oldest first.
    pub fn take(&self) -> Vec<CompletedInterval> {
        let mut taken = Vec::new();
        for side in 0..2 {
            let taken_here =
                self.state[side].compare_exchange(FULL, TAKEN, Ordering::Acquire, Ordering::Relaxed);
            if taken_here.is_ok() {
                // SAFETY: the half belongs to whom made it TAKEN until WRITING is stored.
                let half = unsafe { &mut *self.halves[side].get() };
                let mut counts = JobCounts::default();
                half.counts.take(&mut counts);
                taken.push(CompletedInterval {
                    index: half.index,
                    start_ns: half.start_ns,
                    end_ns: half.end_ns,
                    counts,
                });
                self.state[side].store(WRITING, Ordering::Release);
            }
        }
        taken.sort_by_key(|entry| entry.index);
        taken
    }

    /// Number of the interval the thread is writing, `None` once it has published its last.
    pub fn current(&self) -> Option<u32> {
        u32::try_from(self.current.load(Ordering::Acquire)).ok()
    }
}

/// When intervals end.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// Where the measured part starts; an interval always ends there.
    pub measured_start_ns: u64,
    /// Where the job starts.
    pub start_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
}

impl Schedule {
    /// The next end of an interval after `now_ns`. Intervals of the ramp are counted back from its end.
    fn next_boundary(&self, now_ns: u64) -> u64 {
        let interval = self.interval_ns.max(1);
        if now_ns < self.measured_start_ns {
            let left = self.measured_start_ns - now_ns;
            self.measured_start_ns - (left - 1) / interval * interval
        } else {
            now_ns + interval - (now_ns - self.measured_start_ns) % interval
        }
    }
}

impl Schedule {
    /// The number of the interval that begins at `start_ns`, an end of one or the start of the job. By time, so that the
    /// same number is the same time in all threads, also where one let an end pass.
    fn index_of(&self, start_ns: u64) -> u32 {
        let interval = self.interval_ns.max(1);
        let in_ramp = |from_ns: u64| self.measured_start_ns.saturating_sub(from_ns).div_ceil(interval);
        let since = start_ns.saturating_sub(self.measured_start_ns) / interval;
        (in_ramp(self.start_ns) - in_ramp(start_ns.max(self.start_ns)) + since) as u32
    }
}

/// The job thread's side.
#[derive(Debug)]
pub struct Recorder<T = BlockCounts> {
    shared: Arc<Shared<T>>,
    side: usize,
    schedule: Schedule,
    boundary_ns: u64,
    index: u32,
    start_ns: u64,
}

impl<T: Counting> Recorder<T> {
    /// A recorder that starts its first interval at `schedule.start_ns`.
    ///
    /// # Panics
    /// If `shared` already has a recorder: each thread needs halves of its own.
    pub fn new(shared: Arc<Shared<T>>, schedule: Schedule) -> Self {
        let owned = shared.owned.swap(true, Ordering::Relaxed);
        assert!(!owned, "two recorders over the same halves: each thread of a job needs its own");
        let boundary_ns = schedule.next_boundary(schedule.start_ns);
        Recorder { shared, side: 0, schedule, boundary_ns, index: 0, start_ns: schedule.start_ns }
    }

    /// Moves everything by `by_ns`: a recorder made for a start at 0, once the start is known.
    pub fn shift(&mut self, by_ns: u64) {
        self.schedule.start_ns += by_ns;
        self.schedule.measured_start_ns += by_ns;
        self.boundary_ns += by_ns;
        self.start_ns += by_ns;
    }

    #[inline(always)]
    fn half(&mut self) -> &mut IntervalBuffer<T> {
        // SAFETY: the half of `side` is in state WRITING, and this is the only recorder.
        unsafe { &mut *self.shared.halves[self.side].get() }
    }

    /// What counts the current interval.
    #[inline(always)]
    pub(crate) fn counts(&mut self) -> &mut T {
        &mut self.half().counts
    }

    /// Where the current interval ends: call [`Recorder::roll`] from then on.
    #[inline(always)]
    pub fn boundary_ns(&self) -> u64 {
        self.boundary_ns
    }

    /// Ends the interval, if the other half is free.
    #[cold]
    pub fn roll(&mut self, now_ns: u64) {
        let other = 1 - self.side;
        let next = self.schedule.next_boundary(now_ns);
        // Nothing may leak from the ramp into the measured part: at that boundary the sampler is waited for. It comes
        // within a few milliseconds, and nothing measured is delayed by it but the first completions.
        let must =
            self.start_ns < self.schedule.measured_start_ns && now_ns >= self.schedule.measured_start_ns;
        if self.is_free(other) || must && self.wait_for(other) {
            self.publish(self.boundary_ns);
            self.side = other;
        } else if must {
            // It does not run. What the ramp has counted since it last did is given up for what is to be measured.
            self.half().counts.take(&mut JobCounts::default());
            self.next_starts(self.boundary_ns);
        }
        self.boundary_ns = next;
    }

    fn is_free(&self, side: usize) -> bool {
        self.shared.state[side].load(Ordering::Acquire) == WRITING
    }

    /// Whether the sampler frees a half soon.
    fn wait_for(&self, side: usize) -> bool {
        let begun = Instant::now();
        while !self.is_free(side) {
            if begun.elapsed() > SAMPLER_WAIT {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }

    /// The interval that is counted next starts at `start_ns`.
    fn next_starts(&mut self, start_ns: u64) {
        self.index = self.schedule.index_of(start_ns).max(self.index + 1);
        self.start_ns = start_ns;
        self.shared.current.store(u64::from(self.index), Ordering::Release);
    }

    fn publish(&mut self, end_ns: u64) {
        let (index, start_ns) = (self.index, self.start_ns);
        let half = self.half();
        half.index = index;
        half.start_ns = start_ns;
        half.end_ns = end_ns;
        self.shared.state[self.side].store(FULL, Ordering::Release);
        self.next_starts(end_ns);
    }

    /// Ends the last interval and tells the sampler that no more come.
    pub fn finish(mut self, now_ns: u64) {
        self.publish(now_ns.max(self.start_ns));
        self.shared.current.store(u64::MAX, Ordering::Release);
    }
}

impl Recorder {
    /// Records `count` equal latencies of the operation with index `op` (0 read, 1 write, 2 trim, 3 flush).
    #[inline(always)]
    pub fn latency(&mut self, which: Latency, op: usize, value_ns: u64, count: u32) {
        // SAFETY: the last of the kinds of latency is 12, and 12 + 3 is below HISTOGRAMS.
        unsafe { self.counts().histograms.record(which as usize + (op & 3), value_ns, count) };
    }

    /// Records how late an operation was handed over.
    #[inline(always)]
    pub fn lateness(&mut self, value_ns: u64) {
        // SAFETY: LATENESS is below HISTOGRAMS.
        unsafe { self.counts().histograms.record(LATENESS, value_ns, 1) };
    }

    /// Adds bytes moved by the operation with index `op`.
    #[inline(always)]
    pub fn bytes(&mut self, op: usize, bytes: u64) {
        self.counts().bytes[op & 3] += bytes;
    }

    /// Records that a write was read back at once.
    #[cold]
    pub fn reread(&mut self, completion_ns: u64, bytes: u64) {
        let counts = self.counts();
        // SAFETY: REREAD is below HISTOGRAMS.
        unsafe { counts.histograms.record(REREAD, completion_ns, 1) };
        counts.reread_bytes += bytes;
    }

    /// Adds time in which free slots had something to do and were not handed over yet, summed over the slots.
    #[inline(always)]
    pub fn idle_slots(&mut self, slot_ns: u64) {
        self.counts().idle_slot_ns += slot_ns;
    }

    /// Counts a failed operation.
    pub fn error(&mut self) {
        self.counts().errors += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(ramp: u64) -> Schedule {
        Schedule { start_ns: 1000, measured_start_ns: 1000 + ramp, interval_ns: 100 }
    }

    #[test]
    fn boundaries_meet_the_end_of_the_ramp() {
        let s = schedule(250);
        assert_eq!(s.next_boundary(1000), 1050);
        assert_eq!(s.next_boundary(1050), 1150);
        assert_eq!(s.next_boundary(1249), 1250);
        assert_eq!(s.next_boundary(1250), 1350);
        assert_eq!(s.next_boundary(1399), 1450);
        assert_eq!(schedule(0).next_boundary(1000), 1100);
    }

    #[test]
    fn numbers_follow_the_time() {
        let s = schedule(250);
        let starts = [1000, 1050, 1150, 1250, 1350, 1550];
        assert_eq!(starts.map(|start| s.index_of(start)), [0, 1, 2, 3, 4, 6]);
        assert_eq!(schedule(0).index_of(1000), 0);
        // A thread that finds nobody has come lets an end pass, and one that had nothing to do two.
        let shared = Shared::new();
        let mut recorder = Recorder::new(Arc::clone(&shared), schedule(0));
        let mut taken = Vec::new();
        for now in [1050, 1110, 1220, 1590] {
            if now >= recorder.boundary_ns() {
                recorder.roll(now);
            }
            recorder.latency(Latency::Completion, 0, now, 1);
            if now == 1220 {
                taken.extend(shared.take());
            }
        }
        recorder.finish(1600);
        taken.extend(shared.take());
        let seen: Vec<_> = taken.iter().map(|t| (t.index, t.start_ns, t.end_ns)).collect();
        assert_eq!(seen, [(0, 1000, 1100), (1, 1100, 1300), (3, 1300, 1600)]);
    }

    #[test]
    fn nothing_is_lost_when_the_sampler_is_late() {
        let shared = Shared::new();
        let mut recorder = Recorder::new(Arc::clone(&shared), schedule(0));
        let mut counts = JobCounts::default();
        for now in (1000..2000).step_by(10) {
            if now >= recorder.boundary_ns() {
                recorder.roll(now);
            }
            recorder.latency(Latency::Completion, 1, now, 2);
            recorder.bytes(1, 4096);
            if now == 1500 {
                shared.take().iter().for_each(|taken| counts.merge(&taken.counts));
            }
        }
        // The last half may only be published when there is room, as the driver makes sure of by taking all along.
        shared.take().iter().for_each(|taken| counts.merge(&taken.counts));
        recorder.finish(2000);
        let last = shared.take();
        assert_eq!(last.last().map(|taken| taken.end_ns), Some(2000));
        last.iter().for_each(|taken| counts.merge(&taken.counts));
        assert_eq!(counts.ops[1].ios, 200);
        assert_eq!(counts.ops[1].bytes, 100 * 4096);
        assert_eq!(counts.ops[1].completion.n(), 200);
        assert_eq!(shared.current(), None);
    }

    #[test]
    fn a_sampler_that_does_not_come_holds_no_thread_up() {
        let shared = Shared::new();
        let mut recorder = Recorder::new(Arc::clone(&shared), schedule(200));
        let record = |recorder: &mut Recorder, now| {
            if now >= recorder.boundary_ns() {
                recorder.roll(now);
            }
            recorder.latency(Latency::Completion, 0, now, 1);
        };
        // Nobody takes the first half of the ramp, so the second has nowhere to go when the ramp ends.
        [1000, 1110, 1210, 1220].into_iter().for_each(|now| record(&mut recorder, now));
        let first = shared.take();
        recorder.finish(1300);
        let last = shared.take();
        let seen: Vec<_> =
            first.iter().chain(&last).map(|t| (t.index, t.start_ns, t.counts.ops[0].ios)).collect();
        assert_eq!(seen, [(0, 1000, 1), (2, 1200, 2)], "nothing of the ramp is in the measured part");
    }

    #[test]
    #[should_panic(expected = "two recorders over the same halves")]
    fn halves_have_one_recorder() {
        let shared = Shared::new();
        let _first = Recorder::new(Arc::clone(&shared), schedule(0));
        Recorder::new(shared, schedule(0));
    }

    #[test]
    fn every_latency_arrives_where_it_belongs() {
        let shared = Shared::new();
        let mut recorder = Recorder::new(Arc::clone(&shared), schedule(0));
        recorder.latency(Latency::Completion, 3, 10, 1);
        recorder.latency(Latency::Response, 0, 20, 1);
        recorder.latency(Latency::Submit, 2, 30, 5);
        recorder.lateness(40);
        recorder.error();
        recorder.finish(1100);
        let counts = &shared.take()[0].counts;
        assert_eq!(counts.ops[3].completion.max_ns(), 10);
        assert_eq!(counts.ops[0].response.max_ns(), 20);
        assert_eq!(counts.ops[2].submit.n(), 5);
        assert_eq!(counts.lateness.max_ns(), 40);
        assert_eq!((counts.errors, counts.ops[0].ios, counts.ops[3].ios), (1, 0, 1));
    }
}
