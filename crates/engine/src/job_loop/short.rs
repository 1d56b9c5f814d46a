//! Short transfers: I/Os that moved less than was asked for, at a signal, at a limit, or because a file system likes it so.
//!
//! An application goes on with the rest, and so does fio; so does this. The rest is moved by plain calls of this thread: they are
//! rare, and whatever else is outstanding waits for its look a little longer. Short transfers are counted.

use assay_workload::pattern::OpKind;

use super::JobLoop;
use crate::engines::sync_io::{Call, execute};
use crate::recorder::Latency;
use crate::seam::{Clock, Engine, Io};

impl<E: Engine, C: Clock, const OPEN: bool, const DETAIL: bool> JobLoop<E, C, OPEN, DETAIL> {
    /// An I/O ended with something else than its length.
    #[cold]
    #[inline(never)]
    pub(super) fn not_whole(&mut self, slot: u32, result: i32) {
        let (kind, target, len) = self.slots.at(slot).transfer();
        // Trims move nothing; the null engine says the length of whatever it is given.
        let result = if kind == OpKind::Trim as u8 && result > 0 { 0 } else { result };
        let result =
            if result > 0 && (result as u32) < len { self.continued(slot, result as u32) } else { result };
        if self.slots.at(slot).is_reread() {
            return self.read_back(slot, result);
        }
        if result != len as i32 {
            return self.failed(result, slot);
        }
        self.completions.correct(slot, result);
        let now = self.clock.now_ns();
        let (issued_ns, intended_ns) = (self.slots.at(slot).issued_ns(), self.slots.at(slot).intended_ns());
        let op = usize::from(kind).min(3);
        if let Some(recorder) = self.recorder.as_mut() {
            recorder.latency(Latency::Completion, op, now.saturating_sub(issued_ns), 1);
            if DETAIL && self.timed {
                let submitted_ns = self.slots.at(slot).submitted_ns();
                recorder.latency(Latency::Service, op, now.saturating_sub(submitted_ns), 1);
            }
            recorder.bytes(op, u64::from(len));
            if OPEN {
                recorder.latency(Latency::Response, op, now.saturating_sub(intended_ns), 1);
            }
        }
        if DETAIL && let Some(trace) = self.trace.as_mut() {
            trace.completed(slot, now);
        }
        self.end.last_completion_ns = now;
        self.slots.at(slot).done();
        self.completed(slot, op, len, target);
    }

    /// Moves the rest of a transfer of which `moved` bytes are done: the bytes moved in all, or what the rest failed with.
    fn continued(&mut self, slot: u32, mut moved: u32) -> i32 {
        let (kind, target, len_bytes) = self.slots.at(slot).transfer();
        let offset_bytes = self.slots.at(slot).offset_bytes();
        let Some(&target_open) = self.targets.get(usize::from(target)) else { return moved as i32 };
        let kind = if kind == OpKind::Write as u8 { OpKind::Write } else { OpKind::Read };
        self.end.short[kind as usize] += 1;
        while moved < len_bytes {
            // SAFETY: the slot's I/O has completed, and it is not refilled before this returns.
            let rest = unsafe { &mut self.buffers.slice_mut(slot, len_bytes as usize)[moved as usize..] };
            let address = rest.as_mut_ptr();
            let io = Io {
                slot,
                target,
                kind,
                len_bytes: len_bytes - moved,
                offset_bytes: offset_bytes + u64::from(moved),
            };
            match execute(&Call { io, target: target_open, address }) {
                failed if failed < 0 => return failed,
                0 => break,
                more => moved += more as u32,
            }
        }
        moved as i32
    }
}
