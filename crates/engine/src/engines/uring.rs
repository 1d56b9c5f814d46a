//! io_uring: registered files and buffers, one system call to submit and wait, completions only when asked for.

use std::mem::offset_of;

use assay_workload::job::EngineOptions;
use assay_workload::pattern::OpKind;
use io_uring::{IoUring, opcode, squeue, types};

use super::sync_io::{Call, execute};
use super::syscall::syscall;
use super::{NativeEngine, Notes};
use crate::seam::{
    Buffer, BufferPool, Capabilities, Completion, Completions, Engine, EngineError, Io, OpenTarget,
    QueueFull, Submitted, TargetTable, Wait,
};

/// IORING_ENTER_GETEVENTS.
const ENTER_GETEVENTS: u32 = 1;
/// IORING_ENTER_SQ_WAKEUP.
const ENTER_SQ_WAKEUP: u32 = 2;
/// IORING_ENTER_EXT_ARG.
const ENTER_EXT_ARG: u32 = 8;
/// IORING_ENTER_REGISTERED_RING.
const ENTER_REGISTERED_RING: u32 = 16;
/// IORING_REGISTER_RING_FDS.
const REGISTER_RING_FDS: u32 = 20;
/// IORING_UNREGISTER_RING_FDS.
const UNREGISTER_RING_FDS: u32 = 21;
/// The kernel's thread that submits sleeps after this time without I/O, milliseconds.
const SQPOLL_IDLE_MS: u32 = 1000;
/// The largest buffer that can be registered.
const REGISTERED_MAX: usize = 1 << 30;

const NAME: &str = "io_uring";

/// struct io_uring_getevents_arg.
#[repr(C)]
struct GeteventsArg {
    sigmask: u64,
    sigmask_sz: u32,
    min_wait_usec: u32,
    ts: u64,
}

/// The start of struct io_uring_sqe: what differs from one read or write of a slot to the next.
#[repr(C)]
struct EntryHead {
    opcode: u8,
    flags: u8,
    ioprio: u16,
    file: i32,
    offset_bytes: u64,
    address: u64,
    len_bytes: u32,
}

// A template is written to as an EntryHead.
const _: () =
    assert!(size_of::<squeue::Entry>() == 64 && align_of::<squeue::Entry>() >= align_of::<EntryHead>());
const _: () = assert!(offset_of!(EntryHead, offset_bytes) == 8 && offset_of!(EntryHead, len_bytes) == 24);

/// One ring, used by the thread that made it.
pub struct UringEngine {
    ring: IoUring,
    /// What io_uring_enter is called with: the registered index of the ring, or its descriptor.
    enter_fd: i32,
    enter_flags: u32,
    targets: Box<[OpenTarget]>,
    buffers: Box<[Buffer]>,
    base: usize,
    fixed_files: bool,
    fixed_buffers: bool,
    /// A read of each slot; only its [`EntryHead`] is written again.
    templates: Box<[squeue::Entry]>,
    /// Operation codes of a read and of a write.
    opcodes: [u8; 2],
    /// What names each target: its index among the registered files, or its descriptor.
    files: Box<[i32]>,
    options: EngineOptions,
    /// Trims on block devices, done by ioctl one after the other.
    synchronous: Vec<Io>,
    finished: Vec<Completion>,
    queued: u32,
    notes: Vec<String>,
}

impl std::fmt::Debug for UringEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UringEngine {{ notes: {:?} }}", self.notes)
    }
}

/// A set of setup flags, best first; kernels without the later ones refuse with EINVAL.
const SETUPS: [(&str, bool, bool); 3] = [
    ("SINGLE_ISSUER, DEFER_TASKRUN", true, false),
    ("COOP_TASKRUN", false, true),
    ("no optional flags", false, false),
];

impl UringEngine {
    /// A ring for up to `depth` outstanding I/Os. To be called on the thread that will use it.
    ///
    /// # Errors
    /// [`EngineError::Setup`] if the kernel refuses io_uring (ENOSYS, EPERM by sysctl or seccomp) or an option that was
    /// asked for by name.
    pub fn new(depth: u32, options: EngineOptions) -> Result<Self, EngineError> {
        let entries = depth.next_power_of_two().clamp(1, 32_768);
        let mut last = None;
        for (name, defer, coop) in SETUPS {
            // A polling kernel thread excludes both; completions then come without our help.
            if options.sqpoll && (defer || coop) {
                continue;
            }
            let mut builder = IoUring::builder();
            if defer {
                builder.setup_single_issuer().setup_defer_taskrun();
            }
            if coop {
                builder.setup_coop_taskrun();
            }
            if options.iopoll {
                builder.setup_iopoll();
            }
            if options.sqpoll {
                builder.setup_sqpoll(SQPOLL_IDLE_MS);
            }
            builder.setup_cqsize(entries.saturating_mul(2)).setup_clamp();
            match builder.build(entries) {
                Ok(ring) => return Ok(Self::with_ring(ring, options, name)),
                Err(error) => last = Some(error),
            }
        }
        let source = last.unwrap_or_else(|| std::io::Error::from_raw_os_error(libc::ENOSYS));
        Err(EngineError::Setup { engine: NAME, what: "io_uring_setup", source })
    }

    fn with_ring(ring: IoUring, options: EngineOptions, setup: &str) -> Self {
        use std::os::fd::AsRawFd;
        let fd = ring.as_raw_fd();
        let mut notes = vec![format!("setup: {setup}")];
        notes.extend(options.iopoll.then(|| "IOPOLL".to_owned()));
        notes.extend(options.sqpoll.then(|| "SQPOLL".to_owned()));
        let registered = register_ring(fd);
        let (enter_fd, enter_flags) = match registered {
            Some(index) => (index, ENTER_REGISTERED_RING),
            None => (fd, 0),
        };
        // The kernel's thread may be asleep. One that is awake is not disturbed by being woken.
        let wakes = if options.sqpoll { ENTER_SQ_WAKEUP } else { 0 };
        let enter_flags = enter_flags | wakes;
        UringEngine {
            ring,
            enter_fd,
            enter_flags,
            targets: Box::default(),
            buffers: Box::default(),
            base: 0,
            fixed_files: false,
            fixed_buffers: false,
            templates: Box::default(),
            opcodes: [0; 2],
            files: Box::default(),
            options,
            synchronous: Vec::new(),
            finished: Vec::new(),
            queued: 0,
            notes,
        }
    }

    fn register(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) {
        let fds: Vec<i32> = targets.targets.iter().map(|target| target.fd).collect();
        let submitter = self.ring.submitter();
        self.fixed_files = !fds.is_empty() && submitter.register_files(&fds).is_ok();
        let first = buffers.buffer(0);
        let total = first.len_bytes * buffers.slots() as usize;
        self.base = first.address as usize;
        let chunks = total.div_ceil(REGISTERED_MAX);
        let vectors: Vec<libc::iovec> = (0..chunks)
            .map(|chunk| libc::iovec {
                // SAFETY: every chunk starts inside the mapping of `total` bytes.
                iov_base: unsafe { first.address.add(chunk * REGISTERED_MAX) }.cast(),
                iov_len: (total - chunk * REGISTERED_MAX).min(REGISTERED_MAX),
            })
            .collect();
        // A slot must not straddle two registered buffers.
        let whole = chunks <= 1 || REGISTERED_MAX.is_multiple_of(first.len_bytes);
        // SAFETY: the mapping outlives the engine, as prepare() demands.
        self.fixed_buffers = whole && unsafe { submitter.register_buffers(&vectors) }.is_ok();
    }

    /// Everything about reads and writes that does not change from one to the next.
    fn make_templates(&mut self) {
        let read = |slot| Io { slot, target: 0, kind: OpKind::Read, len_bytes: 0, offset_bytes: 0 };
        let slots = if self.targets.is_empty() { 0 } else { self.buffers.len() as u32 };
        self.templates = (0..slots).map(|slot| self.entry(read(slot))).collect();
        self.opcodes = if self.fixed_buffers {
            [opcode::ReadFixed::CODE, opcode::WriteFixed::CODE]
        } else {
            [opcode::Read::CODE, opcode::Write::CODE]
        };
        let name = |(index, target): (usize, &OpenTarget)| {
            if self.fixed_files { index as i32 } else { target.fd }
        };
        self.files = self.targets.iter().enumerate().map(name).collect();
    }

    /// The entry of a read or write: the slot's template with this operation's head.
    #[inline(always)]
    fn refreshed(&mut self, io: Io) -> &squeue::Entry {
        let template = &mut self.templates[io.slot as usize];
        let head = std::ptr::from_mut(template).cast::<EntryHead>();
        // SAFETY: an entry is a transparent struct io_uring_sqe, 64 bytes that start with an EntryHead.
        unsafe {
            (*head).opcode = self.opcodes[(io.kind as usize) & 1];
            (*head).file = self.files[usize::from(io.target)];
            (*head).offset_bytes = io.offset_bytes;
            (*head).len_bytes = io.len_bytes;
        }
        template
    }

    #[cold]
    fn entry(&self, io: Io) -> squeue::Entry {
        let slot = io.slot as usize;
        let target = &self.targets[usize::from(io.target)];
        let address = self.buffers[slot].address;
        macro_rules! with_file {
            ($file:expr) => {
                match io.kind {
                    OpKind::Read if self.fixed_buffers => {
                        let index = ((address as usize - self.base) / REGISTERED_MAX) as u16;
                        opcode::ReadFixed::new($file, address, io.len_bytes, index)
                            .offset(io.offset_bytes)
                            .build()
                    }
                    OpKind::Write if self.fixed_buffers => {
                        let index = ((address as usize - self.base) / REGISTERED_MAX) as u16;
                        opcode::WriteFixed::new($file, address, io.len_bytes, index)
                            .offset(io.offset_bytes)
                            .build()
                    }
                    OpKind::Read => {
                        opcode::Read::new($file, address, io.len_bytes).offset(io.offset_bytes).build()
                    }
                    OpKind::Write => {
                        opcode::Write::new($file, address, io.len_bytes).offset(io.offset_bytes).build()
                    }
                    OpKind::Fsync => opcode::Fsync::new($file).build(),
                    OpKind::Fdatasync => opcode::Fsync::new($file).flags(types::FsyncFlags::DATASYNC).build(),
                    OpKind::Trim => opcode::Fallocate::new($file, u64::from(io.len_bytes))
                        .offset(io.offset_bytes)
                        .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
                        .build(),
                }
            };
        }
        let entry = if self.fixed_files {
            with_file!(types::Fixed(u32::from(io.target)))
        } else {
            with_file!(types::Fd(target.fd))
        };
        entry.user_data(u64::from(io.slot))
    }

    #[cold]
    fn trim_all(&mut self) {
        for io in self.synchronous.drain(..) {
            let target = self.targets[usize::from(io.target)];
            let result = execute(&Call { io, target, address: std::ptr::null_mut() });
            self.finished.push(Completion { slot: io.slot, result });
        }
    }

    /// io_uring_enter until everything queued is handed over.
    #[inline(always)]
    fn enter(&mut self, want: u32, deadline: Option<u64>) -> Result<u32, EngineError> {
        let mut submitted = 0;
        loop {
            let queued = self.queued;
            match self.enter_once(queued, want, deadline) {
                Ok(count) => {
                    submitted += count;
                    self.queued -= count.min(self.queued);
                    if self.queued == 0 || count == 0 {
                        return Ok(submitted);
                    }
                }
                // Interrupted, timed out, or the kernel is short of room: the caller reaps and comes again.
                Err(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN) => return Ok(submitted),
                Err(errno) => {
                    let source = std::io::Error::from_raw_os_error(errno);
                    return Err(EngineError::Call { engine: NAME, call: "io_uring_enter", source });
                }
            }
        }
    }

    #[inline(always)]
    fn enter_once(&self, queued: u32, want: u32, deadline: Option<u64>) -> Result<u32, i32> {
        let time = types::Timespec::new();
        let mut flags = ENTER_GETEVENTS | self.enter_flags;
        let mut arg = GeteventsArg { sigmask: 0, sigmask_sz: 0, min_wait_usec: 0, ts: 0 };
        let time = deadline.map(|left| {
            flags |= ENTER_EXT_ARG;
            time.sec(left / 1_000_000_000).nsec((left % 1_000_000_000) as u32)
        });
        let (pointer, size) = match &time {
            Some(time) => {
                arg.ts = std::ptr::from_ref(time) as u64;
                (std::ptr::from_ref(&arg) as usize, size_of::<GeteventsArg>())
            }
            None => (0, 0),
        };
        // SAFETY: the arguments are those of io_uring_enter(2); `arg` and `time` outlive the call, and entries in the queue
        // point to buffers that live as long as the engine.
        let result = unsafe {
            let (fd, flags) = (self.enter_fd as usize, flags as usize);
            syscall(libc::SYS_io_uring_enter, [fd, queued as usize, want as usize, flags, pointer, size])
        };
        if result >= 0 { Ok(result as u32) } else { Err(-result as i32) }
    }
}

/// struct io_uring_rsrc_update.
#[repr(C)]
struct Update {
    offset: u32,
    resv: u32,
    data: u64,
}

/// One of the calls that register descriptors of rings; whether it did.
fn update_rings(fd: i32, call: u32, update: &mut Update) -> bool {
    // SAFETY: the kernel reads and writes one io_uring_rsrc_update, which `update` is laid out as.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, call, std::ptr::from_mut(update), 1) == 1 }
}

/// Registers the ring's own descriptor, which saves the kernel a look-up per call; `None` where it cannot.
fn register_ring(fd: i32) -> Option<i32> {
    let mut update = Update { offset: u32::MAX, resv: 0, data: fd as u64 };
    update_rings(fd, REGISTER_RING_FDS, &mut update).then_some(update.offset as i32)
}

impl Drop for UringEngine {
    /// A registered ring would live on as long as the thread.
    fn drop(&mut self) {
        use std::os::fd::AsRawFd;
        if self.enter_flags & ENTER_REGISTERED_RING != 0 {
            let mut update = Update { offset: self.enter_fd as u32, resv: 0, data: 0 };
            update_rings(self.ring.as_raw_fd(), UNREGISTER_RING_FDS, &mut update);
        }
    }
}

/// Nanoseconds from now until `at_ns` on CLOCK_MONOTONIC's scale.
fn left_ns(at_ns: u64) -> u64 {
    at_ns.saturating_sub(crate::clock::monotonic_ns())
}

impl Notes for UringEngine {
    /// Setup flags, registered files and buffers; complete after [`Engine::prepare`].
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

impl NativeEngine for UringEngine {
    fn open(depth: u32, options: EngineOptions) -> Result<Self, EngineError> {
        UringEngine::new(depth, options)
    }
}

impl Engine for UringEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: NAME,
            asynchronous: true,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: true,
            blocks: true,
        }
    }

    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.targets = targets.targets.clone().into_boxed_slice();
        self.buffers = (0..buffers.slots()).map(|slot| buffers.buffer(slot)).collect();
        self.finished.reserve(self.buffers.len());
        self.synchronous.reserve(self.buffers.len());
        if !self.options.unregistered {
            self.register(targets, buffers);
        }
        self.make_templates();
        for (registered, what) in [(self.fixed_files, "files"), (self.fixed_buffers, "buffers")] {
            self.notes.push(format!("{} {what}", if registered { "registered" } else { "unregistered" }));
        }
        Ok(())
    }

    #[inline(always)]
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let pushed = if matches!(io.kind, OpKind::Read | OpKind::Write) {
            let entry = std::ptr::from_ref(self.refreshed(io));
            // SAFETY: the template lives as long as the engine, and its buffer belongs to the slot and stays valid until
            // the completion is reaped.
            unsafe { self.ring.submission().push(&*entry) }
        } else if io.kind == OpKind::Trim && self.targets[usize::from(io.target)].block_device {
            self.synchronous.push(io);
            return Ok(());
        } else {
            let entry = self.entry(io);
            // SAFETY: flushes and hole punching name no memory.
            unsafe { self.ring.submission().push(&entry) }
        };
        pushed.map_err(|_| QueueFull)?;
        self.queued += 1;
        Ok(())
    }

    #[inline(always)]
    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError> {
        if !self.synchronous.is_empty() {
            self.trim_all();
        }
        let want = match wait {
            _ if !self.finished.is_empty() => 0,
            Wait::Poll => 0,
            Wait::AtLeast(n) => n.max(self.options.reap_batch_min),
            Wait::Until(_) => 1,
        };
        if self.queued == 0 && want == 0 {
            return Ok(Submitted::default());
        }
        let deadline = if let Wait::Until(at_ns) = wait { Some(left_ns(at_ns)) } else { None };
        let submitted = self.enter(want, deadline)?;
        Ok(Submitted { submitted, waited: want > 0 })
    }

    #[inline(always)]
    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        while out.room() > 0 {
            let Some(completion) = self.finished.pop() else { break };
            out.push(completion);
        }
        let mut queue = self.ring.completion();
        if queue.is_empty() && out.as_slice().is_empty() && wait != Wait::Poll {
            drop(queue);
            let deadline = if let Wait::Until(at_ns) = wait { Some(left_ns(at_ns)) } else { None };
            let want = if let Wait::AtLeast(n) = wait { n } else { 1 };
            self.enter(want, deadline)?;
            queue = self.ring.completion();
        }
        while out.room() > 0 {
            let Some(entry) = queue.next() else { break };
            out.push(Completion { slot: entry.user_data() as u32, result: entry.result() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::*;
    use crate::buffers::MappedBuffers;
    use crate::clock::monotonic_ns;

    #[test]
    fn a_kernel_thread_that_went_to_sleep_submits_again() {
        let options = EngineOptions { sqpoll: true, ..EngineOptions::default() };
        // Where the kernel has no such thread for us, there is none that sleeps.
        let Ok(mut engine) = UringEngine::new(1, options) else { return };
        let file = tempfile::tempfile().expect("a file");
        file.set_len(8192).expect("a length");
        let target = OpenTarget { fd: file.as_raw_fd(), size_bytes: 8192, block_device: false };
        let buffers = MappedBuffers::new(1, 4096).expect("a buffer");
        engine.prepare(&TargetTable { targets: vec![target] }, &buffers).expect("prepared");
        let mut completions = Completions::with_capacity(1);
        for offset_bytes in [0, 4096] {
            let io = Io { slot: 0, target: 0, kind: OpKind::Read, len_bytes: 4096, offset_bytes };
            engine.queue(io).expect("room");
            engine.submit(Wait::Poll).expect("submitted");
            let deadline_ns = monotonic_ns() + 30_000_000_000;
            completions.clear();
            while completions.as_slice().is_empty() {
                assert!(monotonic_ns() < deadline_ns, "offset {offset_bytes}: nothing completes");
                engine.reap(&mut completions, Wait::Until(deadline_ns)).expect("reaped");
            }
            std::thread::sleep(std::time::Duration::from_millis(u64::from(SQPOLL_IDLE_MS) + 300));
        }
    }

    #[test]
    fn an_entry_begins_as_the_kernel_lays_it_out() {
        let address = 0x1234_5000 as *mut u8;
        let entry = opcode::Write::new(types::Fd(7), address, 4096).offset(1 << 40).build();
        // SAFETY: an entry is a transparent struct io_uring_sqe, 64 bytes that start with an EntryHead.
        let head = unsafe { &*std::ptr::from_ref(&entry).cast::<EntryHead>() };
        assert_eq!((head.opcode, head.flags, head.ioprio, head.file), (opcode::Write::CODE, 0, 0, 7));
        assert_eq!((head.offset_bytes, head.address, head.len_bytes), (1 << 40, 0x1234_5000, 4096));
    }
}
