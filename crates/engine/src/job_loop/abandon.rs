//! The end of a loop that did not come to its own: an error, a panic.

use super::JobLoop;
use crate::seam::{Clock, Engine, Wait};

/// How long I/Os in flight are waited for.
const WAIT_NS: u64 = 1_000_000_000;

impl<E: Engine, C: Clock, const OPEN: bool, const DETAIL: bool> JobLoop<E, C, OPEN, DETAIL> {
    /// Waits for what is in flight; whether all of it has completed.
    #[cold]
    fn settle(&mut self) -> bool {
        let until_ns = self.clock.now_ns().saturating_add(WAIT_NS);
        // What was only queued never reached the kernel.
        let mut in_flight = (self.outstanding as usize).saturating_sub(self.pending.len());
        while in_flight > 0 {
            self.completions.clear();
            if self.engine.reap(&mut self.completions, Wait::Until(until_ns)).is_err() {
                return false;
            }
            let completed = self.completions.as_slice().len();
            if completed == 0 && self.clock.now_ns() >= until_ns {
                return false;
            }
            in_flight = in_flight.saturating_sub(completed);
        }
        true
    }
}

impl<E: Engine, C: Clock, const OPEN: bool, const DETAIL: bool> Drop for JobLoop<E, C, OPEN, DETAIL> {
    /// The kernel may write to the buffer of an I/O in flight, also after the engine is gone. So buffers are unmapped only
    /// when nothing is in flight; where an I/O hangs they stay until the process ends.
    fn drop(&mut self) {
        if self.outstanding > 0 && self.blocks && !self.settle() {
            self.buffers.leak();
        }
    }
}

#[cfg(test)]
mod tests;
