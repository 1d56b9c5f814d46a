//! The simulator behind the engine seam.

use std::cell::RefCell;
use std::rc::Rc;

use assay_engine::{
    BufferPool, Capabilities, Completions, Engine, EngineError, Flushed, Io, QueueFull, TargetTable, Wait,
};

use crate::PortId;
use crate::world::World;

/// The I/O path of one simulated job thread. It never blocks: what a real engine waits for, the [`crate::Driver`] makes
/// happen by moving the clock. Buffers are not touched.
#[derive(Debug)]
pub struct SimEngine {
    world: Rc<RefCell<World>>,
    port: u16,
    queued: Vec<Io>,
    slots: usize,
    outstanding: usize,
}

impl SimEngine {
    pub(crate) fn new(world: Rc<RefCell<World>>, port: u16, slots: u32) -> Self {
        let slots = slots.max(1) as usize;
        SimEngine { world, port, queued: Vec::with_capacity(slots), slots, outstanding: 0 }
    }

    /// The name by which a driver knows whose completions are due.
    pub fn port(&self) -> PortId {
        PortId(self.port)
    }

    /// I/Os that were submitted and have not been reaped.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }
}

impl Engine for SimEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "sim",
            asynchronous: true,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: false,
            blocks: false,
        }
    }

    fn prepare(&mut self, _targets: &TargetTable, _buffers: &dyn BufferPool) -> Result<(), EngineError> {
        Ok(())
    }

    #[inline]
    fn submit(&mut self, io: Io) -> Result<(), QueueFull> {
        if self.outstanding == self.slots {
            return Err(QueueFull);
        }
        self.outstanding += 1;
        self.queued.push(io);
        Ok(())
    }

    fn flush(&mut self, _wait: Wait) -> Result<Flushed, EngineError> {
        let submitted = self.queued.len() as u32;
        let mut world = self.world.borrow_mut();
        for io in self.queued.drain(..) {
            world.accept(self.port, io);
        }
        Ok(Flushed { submitted, waited: false })
    }

    fn reap(&mut self, out: &mut Completions, _wait: Wait) -> Result<(), EngineError> {
        let mut world = self.world.borrow_mut();
        let completed = world.completed(self.port);
        let count = completed.len().min(out.room());
        for completion in completed.drain(..count) {
            out.push(completion);
        }
        self.outstanding -= count;
        Ok(())
    }
}
