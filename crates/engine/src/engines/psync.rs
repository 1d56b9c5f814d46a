//! pread and pwrite, one at a time, on the calling thread.

use assay_workload::job::EngineOptions;

use super::sync_io::{Call, execute};
use super::{NativeEngine, Notes};
use crate::seam::{
    BufferPool, Capabilities, Completion, Completions, Engine, EngineError, Io, OpenTarget, QueueFull,
    Submitted, TargetTable, Wait,
};

/// The synchronous engine. More than one outstanding I/O is possible but done one after the other.
#[derive(Debug)]
pub struct PsyncEngine {
    targets: Box<[OpenTarget]>,
    addresses: Box<[*mut u8]>,
    queued: Vec<Io>,
    finished: Vec<Completion>,
}

impl PsyncEngine {
    /// For up to `depth` I/Os queued at once.
    pub fn new(depth: u32) -> Self {
        PsyncEngine {
            targets: Box::default(),
            addresses: Box::default(),
            queued: Vec::with_capacity(depth as usize),
            finished: Vec::with_capacity(depth as usize),
        }
    }
}

impl Notes for PsyncEngine {}

impl NativeEngine for PsyncEngine {
    fn open(depth: u32, _: EngineOptions) -> Result<Self, EngineError> {
        Ok(PsyncEngine::new(depth))
    }
}

impl Engine for PsyncEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "psync",
            asynchronous: false,
            asynchronous_flush: false,
            trim: true,
            submit_and_wait: true,
            blocks: true,
        }
    }

    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.targets = targets.targets.clone().into_boxed_slice();
        self.addresses = (0..buffers.slots()).map(|slot| buffers.buffer(slot).address).collect();
        Ok(())
    }

    #[inline]
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        if self.queued.len() == self.queued.capacity() {
            return Err(QueueFull);
        }
        self.queued.push(io);
        Ok(())
    }

    #[inline]
    fn submit(&mut self, _: Wait) -> Result<Submitted, EngineError> {
        let submitted = self.queued.len() as u32;
        for io in self.queued.drain(..) {
            let target = self.targets[usize::from(io.target)];
            let result = execute(&Call { io, target, address: self.addresses[io.slot as usize] });
            self.finished.push(Completion { slot: io.slot, result });
        }
        Ok(Submitted { submitted, waited: true })
    }

    #[inline]
    fn reap(&mut self, out: &mut Completions, _: Wait) -> Result<(), EngineError> {
        let room = out.room().min(self.finished.len());
        for completion in self.finished.drain(..room) {
            out.push(completion);
        }
        Ok(())
    }
}
