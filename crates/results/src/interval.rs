//! What was counted in one reporting period of one job.

use assay_workload::operation::{Counted, OpId};
use assay_workload::pattern::OpKind;
use serde::{Deserialize, Serialize};

use crate::histogram::LatencyHistogram;

/// Counts of one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpCounts {
    /// Completed operations.
    pub ios: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Submission to completion.
    pub completion: LatencyHistogram,
    /// Intended arrival to completion; empty in a closed loop.
    pub response: LatencyHistogram,
    /// Time in the submitting call; where it is sampled, fewer values than operations.
    pub submit: LatencyHistogram,
    /// From the return of the submitting call to completion; empty where calls are not timed one by one.
    pub service: LatencyHistogram,
}

impl OpCounts {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        let histograms = [&self.completion, &self.response, &self.submit];
        self.ios == 0 && self.bytes == 0 && histograms.iter().all(|histogram| histogram.is_empty())
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &OpCounts) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.completion.merge(&other.completion);
        self.response.merge(&other.response);
        self.submit.merge(&other.submit);
        self.service.merge(&other.service);
    }
}

/// Counts of one operation that the job names, beyond reading, writing and flushing.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedCounts {
    /// Its number among those of the planned job.
    pub operation: OpId,
    /// Whether the job asked for it.
    pub counted: Counted,
    /// Their number, bytes and latencies.
    pub counts: OpCounts,
}

/// Counts of all operations of a job: read, write, trim, and flushes (fsync and fdatasync together).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobCounts {
    /// Indexed by read, write, trim, flush.
    pub ops: [OpCounts; 4],
    /// Operations that the job names, those that occurred, in order.
    pub named: Vec<NamedCounts>,
    /// How much later than intended operations were handed over (open loop).
    pub lateness: LatencyHistogram,
    /// Failed operations.
    pub errors: u64,
    /// Nanoseconds in which queue slots were empty although work was pending, summed over the slots.
    pub idle_slot_ns: u64,
    /// Slot-nanoseconds an operation was outstanding.
    pub busy_slot_ns: u64,
}

impl JobCounts {
    /// The names of [`JobCounts::ops`], in their order.
    pub const NAMES: [&'static str; 4] = ["read", "write", "trim", "flush"];

    /// The counts of `kind`.
    pub fn op(&self, kind: OpKind) -> &OpCounts {
        &self.ops[(kind as usize).min(3)]
    }

    /// The counts of `kind`, to change.
    pub fn op_mut(&mut self, kind: OpKind) -> &mut OpCounts {
        &mut self.ops[(kind as usize).min(3)]
    }

    /// The counts of a named operation, to change.
    pub fn named_mut(&mut self, operation: OpId, counted: Counted) -> &mut OpCounts {
        let key = (operation, counted);
        let place = self.named.binary_search_by_key(&key, |named| (named.operation, named.counted));
        let index = place.unwrap_or_else(|index| {
            self.named.insert(index, NamedCounts { operation, counted, counts: OpCounts::default() });
            index
        });
        &mut self.named[index].counts
    }

    fn asked_for(&self) -> impl Iterator<Item = &OpCounts> {
        let named =
            self.named.iter().filter(|named| named.counted == Counted::InTotal).map(|named| &named.counts);
        self.ops[..3].iter().chain(named)
    }

    /// Everything that was asked for together: reads, writes and trims, and named operations.
    pub fn data(&self) -> OpCounts {
        let mut total = OpCounts::default();
        self.asked_for().for_each(|op| total.merge(op));
        total
    }

    /// The completion latencies of those that [`JobCounts::data`] puts together.
    pub(crate) fn each_completion(&self, take: impl FnMut(&LatencyHistogram)) {
        self.asked_for().map(|op| &op.completion).for_each(take);
    }

    /// Completed operations of those that [`JobCounts::data`] puts together.
    pub fn data_ios(&self) -> u64 {
        self.asked_for().fold(0, |sum, op| sum.saturating_add(op.ios))
    }

    /// Bytes of those.
    pub fn data_bytes(&self) -> u64 {
        self.asked_for().fold(0, |sum, op| sum.saturating_add(op.bytes))
    }

    /// Their completion latencies, added to `to`.
    pub(crate) fn add_data_completion(&self, to: &mut LatencyHistogram) {
        self.asked_for().for_each(|op| to.merge(&op.completion));
    }

    /// Bytes of a read, write or trim on average; `None` without any.
    pub fn block_bytes_mean(&self) -> Option<u64> {
        let sum = |field: fn(&OpCounts) -> u64| self.ops[..3].iter().map(field).fold(0, u64::saturating_add);
        sum(|op| op.bytes).checked_div(sum(|op| op.ios))
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &JobCounts) {
        for (mine, theirs) in self.ops.iter_mut().zip(&other.ops) {
            mine.merge(theirs);
        }
        for named in &other.named {
            self.named_mut(named.operation, named.counted).merge(&named.counts);
        }
        self.lateness.merge(&other.lateness);
        self.errors = self.errors.saturating_add(other.errors);
        self.idle_slot_ns = self.idle_slot_ns.saturating_add(other.idle_slot_ns);
        self.busy_slot_ns = self.busy_slot_ns.saturating_add(other.busy_slot_ns);
    }
}

/// Where an interval belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IntervalKey {
    /// Index of the phase in the plan.
    pub phase: u32,
    /// Index of the job in the phase.
    pub job: u32,
    /// Number of the interval from the start of the job, ramp included.
    pub index: u32,
    /// Whether it belongs to the ramp and is not measured.
    pub ramp: bool,
    /// Its start, in nanoseconds from the start of the phase.
    pub start_ns: u64,
    /// Its length in nanoseconds; the last one of a job is shorter.
    pub length_ns: u64,
}

impl IntervalKey {
    /// Its end, in nanoseconds from the start of the phase.
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.length_ns)
    }

    /// Whether it is of the same job and phase, and behind `other` in time.
    pub fn is_later_than(&self, other: &IntervalKey) -> bool {
        (self.phase, self.job) == (other.phase, other.job) && self.index > other.index
    }

    /// Whether intervals with these keys are parts of one period of one job.
    pub fn is_same_period(&self, other: &IntervalKey) -> bool {
        let period = |key: &IntervalKey| (key.phase, key.job, key.ramp, key.index);
        period(self) == period(other)
    }
}

/// One reporting period of one job: all threads together, or those that have reported so far. Several with one key add
/// up: what a thread reports too late comes as another interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Where it belongs.
    pub key: IntervalKey,
    /// What was counted.
    pub counts: JobCounts,
}

impl Interval {
    /// Adds `other`, which is of the same period or of a neighbouring one: the span of both, with their counts.
    pub fn merge(&mut self, other: &Interval) {
        let last = self.key.end_ns().max(other.key.end_ns());
        self.key.start_ns = self.key.start_ns.min(other.key.start_ns);
        self.key.length_ns = last - self.key.start_ns;
        self.counts.merge(&other.counts);
    }
}
