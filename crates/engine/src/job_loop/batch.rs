//! How many I/Os one call hands over.

use crate::seam::Capabilities;

use super::LoopSpec;

/// Slots are handed over in so many parts where the storage works while we do.
const PARTS: usize = 4;
/// Calls for fewer cost more than starting earlier gains.
const PART_MIN: usize = 4;
/// The storage waits for no more than this, whatever the number outstanding.
const PART_MAX: usize = 16;

/// Every so many batches the submitting call is timed on its own; else it also waits, and cannot be told from waiting.
const SUBMIT_SAMPLE: u32 = 64;

/// Storage that has run dry (a virtual disk tells of its last completion when it has nothing more to do) waits until the first
/// call comes, so that call should not wait until every slot is filled: with parts of 8 of 32, the storage begins while the
/// rest is prepared. Where I/Os complete inside the call there is nothing to begin, and calls are all that they cost.
#[derive(Debug)]
pub(super) struct Batch {
    /// Where I/Os complete inside the call.
    inline: usize,
    /// Elsewhere.
    part: usize,
    limit: usize,
    /// Slots that stayed free because the batch was full, and since when.
    held_back: usize,
    held_back_ns: u64,
    /// The last call did not wait, or the next one is not to: what it leaves outstanding tells how the storage takes I/Os.
    polled: bool,
    until_sample: u32,
}

impl Batch {
    pub(super) fn new(spec: &LoopSpec, capabilities: Capabilities) -> Batch {
        let depth = spec.depth as usize;
        // In virtual time, handing over takes none. Flushes go to the kernel in one call with the writes around them.
        let (inline, part) = match spec.submit_batch_max as usize {
            _ if !capabilities.blocks => (usize::MAX, usize::MAX),
            0 if !capabilities.asynchronous || spec.flush.is_some() => (usize::MAX, usize::MAX),
            0 => (usize::MAX, (depth / PARTS).clamp(PART_MIN, PART_MAX)),
            asked => (asked, asked),
        };
        Batch {
            inline,
            part,
            limit: part,
            held_back: 0,
            held_back_ns: 0,
            polled: false,
            until_sample: SUBMIT_SAMPLE,
        }
    }

    /// The most that the next call may hand over.
    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The batch is full although slots are free: the next call does not wait.
    #[inline(always)]
    pub(super) fn hold_back(&mut self, slots: usize, now: u64) {
        (self.held_back, self.held_back_ns) = (slots, now);
        self.polled = true;
    }

    /// Whether the last call did not wait, or the next one is not to.
    #[inline(always)]
    pub(super) fn polled(&self) -> bool {
        self.polled
    }

    /// After a call that did not wait: learns from what is outstanding, and says what its being full cost in slot-nanoseconds.
    #[inline(always)]
    pub(super) fn look_back(&mut self, outstanding: u32, now: u64) -> u64 {
        self.polled = false;
        self.learn(outstanding);
        let idle = (now - self.held_back_ns.min(now)) * self.held_back as u64;
        self.held_back = 0;
        idle
    }

    /// Whether the call that hands I/Os over now is timed on its own, and so does not wait.
    #[inline(always)]
    pub(super) fn samples(&mut self) -> bool {
        self.until_sample -= 1;
        let sample = self.until_sample == 0;
        if sample {
            self.until_sample = SUBMIT_SAMPLE;
            self.polled = true;
        }
        sample
    }

    /// Takes note of what is outstanding after a call that did not wait.
    #[inline(always)]
    pub(super) fn learn(&mut self, outstanding: u32) {
        self.limit = if outstanding == 0 { self.inline } else { self.part };
    }
}

#[cfg(test)]
mod tests;
