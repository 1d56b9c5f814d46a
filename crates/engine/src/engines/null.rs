//! No I/O at all: what is left is the generator. Completes everything as soon as it is handed over.

use assay_workload::job::EngineOptions;

use super::{NativeEngine, Notes};
use crate::seam::{
    BufferPool, Capabilities, Completion, Completions, Engine, EngineError, Io, QueueFull, Submitted,
    TargetTable, Wait,
};

/// The engine of `assay bench-self`.
#[derive(Debug)]
pub struct NullEngine {
    queued: Box<[Completion]>,
    len: usize,
    done: usize,
}

impl NullEngine {
    /// For up to `depth` outstanding I/Os.
    pub fn new(depth: u32) -> Self {
        NullEngine { queued: vec![Completion::default(); depth as usize].into_boxed_slice(), len: 0, done: 0 }
    }
}

impl Notes for NullEngine {}

impl NativeEngine for NullEngine {
    fn open(depth: u32, _: EngineOptions) -> Result<Self, EngineError> {
        Ok(NullEngine::new(depth))
    }

    fn works() -> Result<String, String> {
        Ok("no I/O".to_owned())
    }
}

impl Engine for NullEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "null",
            asynchronous: true,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: true,
            blocks: true,
        }
    }

    fn prepare(&mut self, _: &TargetTable, _: &dyn BufferPool) -> Result<(), EngineError> {
        Ok(())
    }

    #[inline(always)]
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let entry = self.queued.get_mut(self.len).ok_or(QueueFull)?;
        *entry = Completion { slot: io.slot, result: io.len_bytes as i32 };
        self.len += 1;
        Ok(())
    }

    #[inline(always)]
    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError> {
        let submitted = (self.len - self.done) as u32;
        self.done = self.len;
        Ok(Submitted { submitted, waited: wait != Wait::Poll })
    }

    #[inline(always)]
    fn reap(&mut self, out: &mut Completions, _: Wait) -> Result<(), EngineError> {
        let mut taken = 0;
        while taken < self.done && out.push(self.queued[taken]) {
            taken += 1;
        }
        if taken < self.len {
            self.queued.copy_within(taken..self.len, 0);
        }
        self.len -= taken;
        self.done -= taken;
        Ok(())
    }
}
