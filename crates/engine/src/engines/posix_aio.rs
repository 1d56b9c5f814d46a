//! POSIX asynchronous I/O the way glibc does it: worker threads, and the requests of one file descriptor one after the
//! other.
//!
//! The published baseline of the quick series was measured through glibc, where sixteen outstanding requests on one
//! file are served by one thread. A comparison with it needs the same behaviour, not a better one: one worker per
//! descriptor, up to glibc's default of 20, further descriptors shared out among them; a pool per job thread.
//! glibc guards its lists with one mutex; we hand requests and completions over rings without locks, since the generator's
//! own cost must not be part of the number.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};

use assay_workload::job::EngineOptions;

use super::sync_io::{Call, execute};
use super::{NativeEngine, Notes};
use crate::seam::{
    Buffer, BufferPool, Capabilities, Completion, Completions, Engine, EngineError, Io, OpenTarget,
    QueueFull, Submitted, TargetTable, Wait,
};

/// glibc's default number of worker threads (`aio_threads` of struct aioinit).
const WORKERS_MAX: usize = 20;

/// A ring from one thread to another.
struct ThreadRing<T> {
    cells: Box<[UnsafeCell<Option<T>>]>,
    mask: usize,
    taken: AtomicUsize,
    given: AtomicUsize,
}

// SAFETY: a cell is written by the giving thread before `given` passes it (release) and read by the taking thread
// after that (acquire), and the other way round for `taken`.
unsafe impl<T: Send> Sync for ThreadRing<T> {}

impl<T: Copy> ThreadRing<T> {
    fn new(capacity: usize) -> Self {
        let capacity = capacity.next_power_of_two();
        ThreadRing {
            cells: (0..capacity).map(|_| UnsafeCell::new(None)).collect(),
            mask: capacity - 1,
            taken: AtomicUsize::new(0),
            given: AtomicUsize::new(0),
        }
    }

    /// Called by the giving thread; `false` if there is no room.
    fn give(&self, item: T) -> bool {
        let given = self.given.load(Ordering::Relaxed);
        if given - self.taken.load(Ordering::Acquire) > self.mask {
            return false;
        }
        // SAFETY: the cell is outside taken..given, so the taking thread does not look at it.
        unsafe { *self.cells[given & self.mask].get() = Some(item) };
        self.given.store(given + 1, Ordering::SeqCst);
        true
    }

    /// Called by the taking thread.
    fn take(&self) -> Option<T> {
        let taken = self.taken.load(Ordering::Relaxed);
        if taken == self.given.load(Ordering::SeqCst) {
            return None;
        }
        // SAFETY: the cell is inside taken..given, so the giving thread does not touch it.
        let item = unsafe { *self.cells[taken & self.mask].get() };
        self.taken.store(taken + 1, Ordering::Release);
        item
    }

    fn is_empty(&self) -> bool {
        self.taken.load(Ordering::SeqCst) == self.given.load(Ordering::SeqCst)
    }
}

/// What a worker shares with its job thread.
struct Lane {
    requests: ThreadRing<Call>,
    completions: ThreadRing<Completion>,
    stop: AtomicBool,
    /// The worker has found nothing to do and is about to sleep.
    idle: AtomicBool,
}

// SAFETY: a Call carries a raw buffer address; the buffer is used by the worker alone between handover and completion.
unsafe impl Send for Call {}

struct Worker {
    lane: Arc<Lane>,
    thread: Option<JoinHandle<()>>,
}

/// The pool of one job thread.
pub struct PosixAioEngine {
    depth: u32,
    workers: Vec<Worker>,
    targets: Box<[OpenTarget]>,
    buffers: Box<[Buffer]>,
    /// The job thread is about to sleep until a worker completes something.
    waiting: Arc<AtomicBool>,
    outstanding: u32,
}

impl std::fmt::Debug for PosixAioEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PosixAioEngine {{ workers: {}, outstanding: {} }}", self.workers.len(), self.outstanding)
    }
}

fn work(lane: &Lane, waiting: &AtomicBool, owner: &Thread) {
    loop {
        if let Some(call) = lane.requests.take() {
            let result = execute(&call);
            // There is room: the ring holds as many as can be outstanding.
            lane.completions.give(Completion { slot: call.io.slot, result });
            if waiting.swap(false, Ordering::SeqCst) {
                owner.unpark();
            }
            continue;
        }
        if lane.stop.load(Ordering::Acquire) {
            return;
        }
        lane.idle.store(true, Ordering::SeqCst);
        if lane.requests.is_empty() && !lane.stop.load(Ordering::SeqCst) {
            std::thread::park();
        }
        lane.idle.store(false, Ordering::SeqCst);
    }
}

impl PosixAioEngine {
    /// A pool for up to `depth` outstanding I/Os. The calling thread is the one that waits for completions.
    pub fn new(depth: u32) -> Self {
        PosixAioEngine {
            depth,
            workers: Vec::new(),
            targets: Box::default(),
            buffers: Box::default(),
            waiting: Arc::new(AtomicBool::new(false)),
            outstanding: 0,
        }
    }

    fn spawn(&self) -> Result<Worker, EngineError> {
        let depth = self.depth as usize;
        let lane = Arc::new(Lane {
            requests: ThreadRing::new(depth),
            completions: ThreadRing::new(depth),
            stop: AtomicBool::new(false),
            idle: AtomicBool::new(false),
        });
        let (mine, waiting, owner) = (Arc::clone(&lane), Arc::clone(&self.waiting), std::thread::current());
        let thread = std::thread::Builder::new()
            .name("assay-aio".to_owned())
            .spawn(move || work(&mine, &waiting, &owner))
            .map_err(|source| EngineError::Setup { engine: "posix-aio", what: "a worker thread", source })?;
        Ok(Worker { lane, thread: Some(thread) })
    }

    /// Takes what is there, from every worker in turn.
    fn collect(&mut self, out: &mut Completions) {
        for worker in &self.workers {
            while out.room() > 0 {
                let Some(completion) = worker.lane.completions.take() else { break };
                out.push(completion);
                self.outstanding -= 1;
            }
        }
    }
}

impl Notes for PosixAioEngine {}

impl NativeEngine for PosixAioEngine {
    fn open(depth: u32, _: EngineOptions) -> Result<Self, EngineError> {
        Ok(PosixAioEngine::new(depth))
    }

    fn works() -> Result<String, String> {
        Ok("own workers, serial per file descriptor".to_owned())
    }
}

impl Engine for PosixAioEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "posix-aio",
            asynchronous: true,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: false,
            blocks: true,
        }
    }

    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.targets = targets.targets.clone().into_boxed_slice();
        self.buffers = (0..buffers.slots()).map(|slot| buffers.buffer(slot)).collect();
        self.workers =
            (0..self.targets.len().clamp(1, WORKERS_MAX)).map(|_| self.spawn()).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let target = self.targets[usize::from(io.target)];
        let call = Call { io, target, address: self.buffers[io.slot as usize].address };
        let worker = &self.workers[usize::from(io.target) % self.workers.len()];
        if !worker.lane.requests.give(call) {
            return Err(QueueFull);
        }
        self.outstanding += 1;
        if worker.lane.idle.load(Ordering::SeqCst)
            && let Some(thread) = &worker.thread
        {
            thread.thread().unpark();
        }
        Ok(())
    }

    fn submit(&mut self, _: Wait) -> Result<Submitted, EngineError> {
        // Handed over one by one in submit, as aio_write does.
        Ok(Submitted { submitted: 0, waited: false })
    }

    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        loop {
            self.collect(out);
            if !out.as_slice().is_empty()
                || wait == Wait::Poll
                || self.outstanding == 0 && wait == Wait::AtLeast(1)
            {
                return Ok(());
            }
            self.waiting.store(true, Ordering::SeqCst);
            if self.workers.iter().any(|worker| !worker.lane.completions.is_empty()) {
                self.waiting.store(false, Ordering::SeqCst);
                continue;
            }
            match wait {
                Wait::Until(at_ns) => {
                    let left = at_ns.saturating_sub(crate::clock::monotonic_ns());
                    if left == 0 {
                        self.waiting.store(false, Ordering::SeqCst);
                        return Ok(());
                    }
                    std::thread::park_timeout(std::time::Duration::from_nanos(left));
                }
                _ => std::thread::park(),
            }
        }
    }
}

impl Drop for PosixAioEngine {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.lane.stop.store(true, Ordering::SeqCst);
            if let Some(thread) = worker.thread.take() {
                thread.thread().unpark();
                // A worker that panicked has nothing left to wait for.
                let _ = thread.join();
            }
        }
    }
}
