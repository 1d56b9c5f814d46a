//! The simulator behind the engine seam.

use std::cell::RefCell;
use std::rc::Rc;

use assay_engine::{
    BufferPool, Capabilities, Completions, Engine, EngineError, Io, QueueFull, Submitted, TargetTable, Wait,
};

use crate::PortId;
use crate::world::World;

/// The I/O path of one simulated job thread. It never blocks: what a real engine waits for, the [`crate::Driver`] makes
/// happen by moving the clock. Buffers are not touched.
#[derive(Debug)]
pub struct SimEngine {
    world: Rc<RefCell<World>>,
    port: u16,
    /// Taken in since the last flush.
    queued: u32,
    slots: usize,
    outstanding: usize,
}

impl SimEngine {
    pub(crate) fn new(world: Rc<RefCell<World>>, port: u16, slots: u32) -> Self {
        let slots = slots.max(1) as usize;
        SimEngine { world, port, queued: 0, slots, outstanding: 0 }
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

    /// The array takes it in at once: no time goes by before it is handed over.
    #[inline]
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        if self.outstanding == self.slots {
            return Err(QueueFull);
        }
        self.outstanding += 1;
        self.queued += 1;
        self.world.borrow_mut().accept(self.port, io);
        Ok(())
    }

    #[inline]
    fn submit(&mut self, _wait: Wait) -> Result<Submitted, EngineError> {
        Ok(Submitted { submitted: std::mem::take(&mut self.queued), waited: false })
    }

    #[inline]
    fn reap(&mut self, out: &mut Completions, _wait: Wait) -> Result<(), EngineError> {
        let mut world = self.world.borrow_mut();
        let completed = world.completed(self.port);
        let mut count = 0;
        while let Some(completion) = completed.get(count)
            && out.push(*completion)
        {
            count += 1;
        }
        if count == completed.len() {
            completed.clear();
        } else {
            completed.drain(..count);
        }
        self.outstanding -= count;
        Ok(())
    }
}
