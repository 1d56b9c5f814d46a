use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::ops::{Generator, SiteSpec};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::ActiveRange;

use super::*;
use crate::buffers::MappedBuffers;
use crate::job_loop::{LoopParts, LoopSpec, Pending};
use crate::recorder::{Recorder, Schedule, Shared};
use crate::seam::{
    BufferPool, Capabilities, Completion, Completions, EngineError, Io, QueueFull, Submitted, TargetTable,
};

/// Time, what is outstanding, and how the engine behaves.
#[derive(Debug, Default)]
struct World {
    now_ns: Cell<u64>,
    outstanding: RefCell<Vec<Io>>,
    /// Nothing completes.
    hangs: Cell<bool>,
    /// Room for so many.
    room: Cell<usize>,
}

#[derive(Debug, Clone)]
struct HungEngine(Rc<World>);

impl Clock for HungEngine {
    fn now_ns(&self) -> u64 {
        self.0.now_ns.get()
    }
}

impl Engine for HungEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "stand",
            asynchronous: true,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: false,
            blocks: true,
        }
    }
    fn prepare(&mut self, _: &TargetTable, _: &dyn BufferPool) -> Result<(), EngineError> {
        Ok(())
    }
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let mut outstanding = self.0.outstanding.borrow_mut();
        if outstanding.len() == self.0.room.get() {
            return Err(QueueFull);
        }
        outstanding.push(io);
        Ok(())
    }
    fn submit(&mut self, _: Wait) -> Result<Submitted, EngineError> {
        Ok(Submitted::default())
    }
    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        if self.0.hangs.get() {
            if let Wait::Until(at_ns) = wait {
                self.0.now_ns.set(at_ns);
            }
        } else if let Some(io) = self.0.outstanding.borrow_mut().pop() {
            out.push(Completion { slot: io.slot, result: io.len_bytes as i32 });
        }
        Ok(())
    }
}

fn job_loop(world: &Rc<World>, depth: u32) -> JobLoop<HungEngine, HungEngine, false, false> {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let range = ActiveRange { offset_bytes: 0, length_bytes: 1 << 30 };
    let sites = [SiteSpec { target: 0, range }];
    let selection = assay_workload::job::TargetSelection::default();
    let generator = Generator::new(&pattern, &sites, selection, 1, None, None);
    let schedule = Schedule { start_ns: 0, measured_start_ns: 0, interval_ns: 1_000_000_000 };
    let parts = LoopParts {
        engine: HungEngine(Rc::clone(world)),
        clock: HungEngine(Rc::clone(world)),
        arrivals: None,
        recorder: Recorder::new(Shared::new(), schedule),
        buffers: MappedBuffers::new(depth, 4096).unwrap(),
        filler: Filler::new(&Content::default(), 1),
        targets: Vec::new(),
        spec: LoopSpec::closed(depth, 0),
        stop: Arc::new(AtomicBool::new(false)),
        pass_hook: None,
    };
    JobLoop::new(parts, Box::new(generator))
}

/// Whether there is a mapping.
fn is_mapped(address: *mut u8) -> bool {
    let mut resident = 0_u8;
    // SAFETY: mincore writes one byte for one page, and reads none of it.
    unsafe { libc::mincore(address.cast(), 4096, &raw mut resident) == 0 }
}

#[test]
fn a_loop_that_is_given_up_waits_for_what_is_in_flight() {
    let world = Rc::new(World::default());
    world.room.set(4);
    let mut given_up = job_loop(&world, 4);
    assert_eq!(given_up.step().unwrap(), Pending::Completion);
    assert!(!world.outstanding.borrow().is_empty());
    drop(given_up);
    assert!(world.outstanding.borrow().is_empty(), "before the buffers went");
}

#[test]
fn buffers_of_an_io_that_hangs_stay() {
    let world = Rc::new(World::default());
    world.room.set(4);
    world.hangs.set(true);
    let mut given_up = job_loop(&world, 4);
    given_up.step().unwrap();
    let address = given_up.buffers.buffer(0).address;
    drop(given_up);
    assert_eq!(world.now_ns.get(), WAIT_NS);
    assert!(is_mapped(address));
}

#[test]
fn an_engine_without_room_ends_the_job() {
    let world = Rc::new(World::default());
    world.room.set(2);
    let mut ended = job_loop(&world, 4);
    let steps = (0..20).map(|_| ended.step().unwrap()).position(|pending| pending == Pending::Done);
    assert!(steps.is_some());
    assert!(ended.into_end().queue_full);
}
