//! How many I/Os one call hands over.

use crate::seam::Capabilities;

use super::LoopSpec;

/// Slots are handed over in so many parts where the storage works while we do.
const PARTS: usize = 4;
/// Calls for fewer cost more than starting earlier gains.
const PART_MIN: usize = 4;
/// The storage waits for no more than this, whatever the number outstanding.
const PART_MAX: usize = 16;

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
        Batch { inline, part, limit: part }
    }

    /// The most that the next call may hand over.
    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes note of what is outstanding after a call that did not wait.
    #[inline(always)]
    pub(super) fn learn(&mut self, outstanding: u32) {
        self.limit = if outstanding == 0 { self.inline } else { self.part };
    }
}

#[cfg(test)]
mod tests;
