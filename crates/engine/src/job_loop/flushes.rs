//! When a job flushes.

use assay_workload::job::{FlushCall, FlushOrder, PeriodicFlush};
use assay_workload::pattern::OpKind;

/// The flush after every so many writes.
#[derive(Debug)]
pub(super) struct Flushes {
    policy: Option<PeriodicFlush>,
    since: u32,
    /// One that goes alone is outstanding.
    alone: bool,
    last_target: u16,
    /// Slots of completed writes that are each followed by a flush of this target.
    flush_after_write: Vec<(u32, u16)>,
}

impl Flushes {
    pub(super) fn new(policy: Option<PeriodicFlush>, depth: u32) -> Flushes {
        let flush_after_write = Vec::with_capacity(depth as usize);
        Flushes { policy, since: 0, alone: false, last_target: 0, flush_after_write }
    }

    fn follows_writes(&self) -> bool {
        self.policy.is_some_and(|flush| flush.order == FlushOrder::AfterWrite)
    }

    /// Whether there are any that do not belong to one write.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.policy.is_some()
    }

    /// Whether a write that has just completed has to be followed by a flush in its slot, which is kept for it then.
    #[inline(always)]
    pub(super) fn keeps(&mut self, slot: u32, target: u16) -> bool {
        match self.policy {
            Some(flush) if flush.order == FlushOrder::AfterWrite => {
                self.since += 1;
                let due = self.since >= flush.every_writes;
                if due {
                    self.since = 0;
                    self.flush_after_write.push((slot, target));
                }
                due
            }
            _ => false,
        }
    }

    /// A slot that was kept, and the target to flush.
    #[inline(always)]
    pub(super) fn kept(&mut self) -> Option<(u32, u16)> {
        self.flush_after_write.pop()
    }

    /// A write to `target` is handed over.
    #[inline(always)]
    pub(super) fn written(&mut self, target: u16) {
        self.last_target = target;
        if self.policy.is_some_and(|flush| flush.order != FlushOrder::AfterWrite) {
            self.since += 1;
        }
    }

    /// Whether one that does not belong to one write is due.
    #[inline(always)]
    pub(super) fn is_due(&self) -> bool {
        self.policy
            .is_some_and(|flush| flush.order != FlushOrder::AfterWrite && self.since >= flush.every_writes)
    }

    /// Whether nothing else may be outstanding meanwhile.
    pub(super) fn goes_alone(&self) -> bool {
        self.policy.is_some_and(|flush| flush.order == FlushOrder::Barrier)
    }

    /// The target that was written to last.
    pub(super) fn last_target(&self) -> u16 {
        self.last_target
    }

    /// One is handed over; which call it is.
    pub(super) fn begin(&mut self) -> OpKind {
        if !self.follows_writes() {
            self.since = 0;
            self.alone = self.goes_alone();
        }
        match self.policy.map(|flush| flush.call) {
            Some(FlushCall::Fsync) => OpKind::Fsync,
            _ => OpKind::Fdatasync,
        }
    }

    /// Takes note of how many are outstanding: without any, none goes alone.
    #[inline(always)]
    pub(super) fn settle(&mut self, outstanding: u32) {
        if self.alone && outstanding == 0 {
            self.alone = false;
        }
    }

    /// Whether one that goes alone is outstanding.
    #[inline(always)]
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }
}
