//! Linux native asynchronous I/O by its raw system calls: io_setup, io_submit, io_getevents.
//!
//! Buffered files make io_submit synchronous: a fact about the interface that runs through it inherit, not something to
//! repair here. Flushes are plain system calls, as programs on this interface do them (fio up to 3.3x among them):
//! the kernel would only hand IOCB_CMD_FSYNC to a worker.

use assay_workload::job::EngineOptions;
use assay_workload::pattern::OpKind;

use super::sync_io::{Call, execute, last_errno};
use super::syscall::syscall;
use super::{NativeEngine, Notes};
use crate::seam::{
    Buffer, BufferPool, Capabilities, Completion, Completions, Engine, EngineError, Io, OpenTarget,
    QueueFull, Submitted, TargetTable, Wait,
};

const NAME: &str = "libaio";
const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// struct iocb, little endian layout.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    reqprio: i16,
    fd: u32,
    buf: u64,
    nbytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    resfd: u32,
}

/// struct io_event.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

/// One context, used by one thread.
#[derive(Debug)]
pub struct AioEngine {
    context: u64,
    control: Box<[Iocb]>,
    queued: Vec<*mut Iocb>,
    events: Box<[IoEvent]>,
    targets: Box<[OpenTarget]>,
    buffers: Box<[Buffer]>,
    /// Flushes and trims, done one after the other once the rest is handed over.
    synchronous: Vec<Io>,
    finished: Vec<Completion>,
}

impl AioEngine {
    /// A context for up to `depth` outstanding I/Os.
    ///
    /// # Errors
    /// [`EngineError::Setup`] if io_setup refuses (`fs.aio-max-nr` is used up).
    pub fn new(depth: u32) -> Result<Self, EngineError> {
        let mut context = 0_u64;
        // SAFETY: io_setup writes one word to `context`, which starts as 0 as it demands.
        let result = unsafe { libc::syscall(libc::SYS_io_setup, depth, std::ptr::from_mut(&mut context)) };
        if result < 0 {
            let source = std::io::Error::last_os_error();
            return Err(EngineError::Setup { engine: NAME, what: "io_setup (see fs.aio-max-nr)", source });
        }
        let depth = depth as usize;
        Ok(AioEngine {
            context,
            control: vec![Iocb::default(); depth].into_boxed_slice(),
            queued: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); depth].into_boxed_slice(),
            targets: Box::default(),
            buffers: Box::default(),
            synchronous: Vec::with_capacity(depth),
            finished: Vec::with_capacity(depth),
        })
    }

    fn call_error(call: &'static str, result: isize) -> EngineError {
        EngineError::Call { engine: NAME, call, source: std::io::Error::from_raw_os_error(-result as i32) }
    }

    fn getevents(
        &mut self,
        out: &mut Completions,
        min: u32,
        time: Option<libc::timespec>,
    ) -> Result<(), EngineError> {
        let max = out.room().min(self.events.len());
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel writes at most `max` events into a buffer of that many.
        let found = unsafe {
            let events = self.events.as_mut_ptr();
            let arguments = [self.context as usize, min as usize, max, events as usize, time as usize, 0];
            syscall(libc::SYS_io_getevents, arguments)
        };
        if found < 0 {
            if found == -(libc::EINTR as isize) {
                return Ok(());
            }
            return Err(Self::call_error("io_getevents", found));
        }
        for event in &self.events[..found as usize] {
            out.push(Completion { slot: event.data as u32, result: event.res as i32 });
        }
        Ok(())
    }
}

impl Notes for AioEngine {}

impl NativeEngine for AioEngine {
    fn open(depth: u32, _: EngineOptions) -> Result<Self, EngineError> {
        AioEngine::new(depth)
    }

    /// Whether the kernel has libaio and lets us use it. A context for no events is refused, but in another way than by a kernel
    /// without contexts; giving a real one back takes it 30 ms.
    fn is_there() -> bool {
        let mut context: u64 = 0;
        // SAFETY: io_setup(2) writes a context to `context` only where it makes one, which it does not for 0 events.
        let made = unsafe { libc::syscall(libc::SYS_io_setup, 0, std::ptr::from_mut(&mut context)) };
        made == 0 || last_errno() == -libc::EINVAL
    }
}

impl Engine for AioEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: NAME,
            asynchronous: true,
            asynchronous_flush: false,
            trim: true,
            submit_and_wait: false,
            blocks: true,
        }
    }

    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.targets = targets.targets.clone().into_boxed_slice();
        self.buffers = (0..buffers.slots()).map(|slot| buffers.buffer(slot)).collect();
        Ok(())
    }

    #[inline]
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let slot = io.slot as usize;
        if slot >= self.control.len() {
            return Err(QueueFull);
        }
        let opcode = match io.kind {
            OpKind::Read => PREAD,
            OpKind::Write => PWRITE,
            OpKind::Fsync | OpKind::Fdatasync | OpKind::Trim => {
                self.synchronous.push(io);
                return Ok(());
            }
        };
        self.control[slot] = Iocb {
            data: u64::from(io.slot),
            opcode,
            fd: self.targets[usize::from(io.target)].fd as u32,
            buf: self.buffers[slot].address as u64,
            nbytes: u64::from(io.len_bytes),
            offset: io.offset_bytes as i64,
            ..Iocb::default()
        };
        self.queued.push(std::ptr::from_mut(&mut self.control[slot]));
        Ok(())
    }

    #[inline]
    fn submit(&mut self, _: Wait) -> Result<Submitted, EngineError> {
        let mut handed = 0;
        while handed < self.queued.len() {
            let batch = self.queued.len() - handed;
            // SAFETY: the pointers are to control blocks that stay in place, and to buffers that live as long.
            let result = unsafe {
                let first = self.queued.as_mut_ptr().add(handed);
                syscall(libc::SYS_io_submit, [self.context as usize, batch, first as usize, 0, 0, 0])
            };
            if result > 0 {
                handed += result as usize;
                continue;
            }
            match result as i32 {
                code if code == -libc::EINTR => {}
                code if code == -libc::EAGAIN || code == 0 => break,
                code => {
                    // The first of the batch was refused: that is the outcome of this I/O, not of the job.
                    // SAFETY: the pointer is to a control block of ours.
                    let slot = unsafe { (*self.queued[handed]).data } as u32;
                    self.finished.push(Completion { slot, result: code });
                    handed += 1;
                }
            }
        }
        self.queued.drain(..handed);
        let waited = !self.synchronous.is_empty();
        for io in self.synchronous.drain(..) {
            let target = self.targets[usize::from(io.target)];
            let result = execute(&Call { io, target, address: self.buffers[io.slot as usize].address });
            self.finished.push(Completion { slot: io.slot, result });
        }
        Ok(Submitted { submitted: handed as u32, waited })
    }

    #[inline]
    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        while out.room() > 0 {
            let Some(completion) = self.finished.pop() else { break };
            out.push(completion);
        }
        let already = !out.as_slice().is_empty();
        match wait {
            Wait::AtLeast(n) if !already => self.getevents(out, n, None),
            Wait::Until(at_ns) if !already => {
                let left = at_ns.saturating_sub(crate::clock::monotonic_ns());
                let time = libc::timespec {
                    tv_sec: (left / 1_000_000_000) as libc::time_t,
                    tv_nsec: (left % 1_000_000_000) as libc::c_long,
                };
                self.getevents(out, 1, Some(time))
            }
            _ => self.getevents(out, 0, Some(libc::timespec { tv_sec: 0, tv_nsec: 0 })),
        }
    }
}

impl Drop for AioEngine {
    fn drop(&mut self) {
        // SAFETY: the context is ours; destroying it waits for what is outstanding.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
