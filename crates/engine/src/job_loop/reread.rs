//! Reading back at once what was written, in the slot of the write.
//!
//! The engine compares what it reads ([`crate::seam::Engine::judge`]). The job did not ask for these reads: they are counted apart, and
//! a slot that does one does nothing else meanwhile.

use super::JobLoop;
use crate::seam::{Clock, Engine, Io};
use assay_workload::pattern::OpKind;

/// Slots whose write has completed and is to be read back.
#[derive(Debug)]
pub(super) struct Rereads {
    wanted: bool,
    slots: Vec<u32>,
}

impl Rereads {
    pub(super) fn new(wanted: bool, depth: u32) -> Rereads {
        Rereads { wanted, slots: Vec::with_capacity(if wanted { depth as usize } else { 0 }) }
    }

    /// Whether the slot of a write that has just completed is kept for its re-read.
    #[inline(always)]
    pub(super) fn keeps(&mut self, slot: u32) -> bool {
        if self.wanted {
            self.slots.push(slot);
        }
        self.wanted
    }

    /// A slot that was kept.
    #[inline(always)]
    pub(super) fn kept(&mut self) -> Option<u32> {
        self.slots.pop()
    }
}

impl<E: Engine, C: Clock, const OPEN: bool, const DETAIL: bool> JobLoop<E, C, OPEN, DETAIL> {
    #[cold]
    pub(super) fn queue_reread(&mut self, slot: u32) {
        let (target, offset_bytes, len_bytes) = self.slots.at(slot).queue_reread();
        self.queue(Io { slot, target, kind: OpKind::Read, len_bytes, offset_bytes });
    }

    /// A write was read back: `result` bytes of it, all where the target does not end before.
    #[cold]
    pub(super) fn read_back(&mut self, slot: u32, result: i32) {
        self.completions.correct(slot, result);
        if result < 0 {
            return self.failed(result, slot);
        }
        let now = self.clock.now_ns();
        let took_ns = now.saturating_sub(self.slots.at(slot).issued_ns());
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.reread(took_ns, result as u64);
        }
        self.end.last_completion_ns = now;
        self.slots.at(slot).done();
        let (_, target, _) = self.slots.at(slot).transfer();
        if !self.flushes.keeps(slot, target) {
            self.free.push(slot);
        }
    }
}
