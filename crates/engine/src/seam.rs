//! The seam between the job loop and whatever does the I/O.

use assay_results::data::DataChecks;
use assay_workload::pattern::OpKind;

/// One I/O to do.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    /// Which of the outstanding I/Os of this thread; also names its buffer and comes back with the completion.
    pub slot: u32,
    /// Index into the [`TargetTable`].
    pub target: u16,
    /// What to do.
    pub kind: OpKind,
    /// Length in bytes; 0 for flushes.
    pub len_bytes: u32,
    /// Byte offset within the target.
    pub offset_bytes: u64,
}

/// The outcome of one I/O.
#[derive(Debug, Clone, Copy, Default)]
pub struct Completion {
    /// The slot of its [`Io`].
    pub slot: u32,
    /// Bytes moved (0 for flushes and trims), or a negative errno.
    pub result: i32,
}

/// Completions found by one [`Engine::reap`], in a buffer that is made once.
#[derive(Debug)]
pub struct Completions {
    entries: Box<[Completion]>,
    len: usize,
}

impl Completions {
    /// Room for `capacity` completions.
    pub fn with_capacity(capacity: usize) -> Self {
        Completions { entries: vec![Completion::default(); capacity].into_boxed_slice(), len: 0 }
    }

    /// Forgets what was found.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds one; `false` if there is no room.
    #[inline]
    pub fn push(&mut self, completion: Completion) -> bool {
        match self.entries.get_mut(self.len) {
            Some(entry) => {
                *entry = completion;
                self.len += 1;
                true
            }
            None => false,
        }
    }

    /// Corrects the result of a slot, whose I/O was continued.
    #[cold]
    pub fn correct(&mut self, slot: u32, result: i32) {
        for entry in self.entries[..self.len].iter_mut().filter(|entry| entry.slot == slot) {
            entry.result = result;
        }
    }

    /// How many more fit.
    #[inline]
    pub fn room(&self) -> usize {
        self.entries.len() - self.len
    }

    /// What was found.
    #[inline]
    pub fn as_slice(&self) -> &[Completion] {
        &self.entries[..self.len]
    }
}

/// How long to wait for completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Poll,
    /// Until at least so many are there.
    AtLeast(u32),
    /// Until at least one is there, or this time (of the engine's [`Clock`], nanoseconds) has come.
    Until(u64),
}

/// What was handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Submitted {
    /// I/Os handed over.
    pub submitted: u32,
    /// Whether the call also waited for completions, so that its duration is no submit latency.
    pub waited: bool,
}

/// The queue has no room: reap first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine's queue is full")]
pub struct QueueFull;

/// Why an engine cannot go on. Errors of single I/Os are not here: they come back as completions.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The kernel refused to set it up.
    #[error("{engine}: {what}: {source}")]
    Setup {
        /// The engine.
        engine: &'static str,
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A submitting or waiting call failed.
    #[error("{engine}: {call}: {source}")]
    Call {
        /// The engine.
        engine: &'static str,
        /// The system call.
        call: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A target could not be opened, created or extended.
    #[error("{path}: {what}: {source}")]
    Target {
        /// Its path.
        path: String,
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// Buffers could not be had.
    #[error("no memory for {0} bytes of buffers")]
    Memory(u64),
    /// The engine cannot do what the plan needs.
    #[error("{engine} cannot {what}")]
    Unsupported {
        /// The engine.
        engine: &'static str,
        /// What.
        what: String,
    },
    /// A job kind gave up for a reason of its own: a statement that failed, a reply that was refused.
    #[error("{kind}: {why}")]
    Kind {
        /// The kind.
        kind: &'static str,
        /// Why, a sentence.
        why: String,
    },
    /// The code of a job kind panicked.
    #[error("internal error: {0}")]
    Panicked(String),
}

impl EngineError {
    /// From what `catch_unwind` or the join of a thread returned.
    pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        EngineError::Panicked(text.unwrap_or_else(|| "a panic without a message".to_owned()))
    }
}

/// What an engine can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Its name in results.
    pub name: &'static str,
    /// Reads and writes stay outstanding while the thread goes on.
    pub asynchronous: bool,
    /// Flushes do, too; else they are done at once inside [`Engine::submit`].
    pub asynchronous_flush: bool,
    /// Trims are possible.
    pub trim: bool,
    /// [`Engine::submit`] can submit and wait in one system call.
    pub submit_and_wait: bool,
    /// [`Engine::submit`] and [`Engine::reap`] block the calling thread when told to wait. A simulated engine never does:
    /// its driver moves the clock instead.
    pub blocks: bool,
}

/// A target as an engine sees it.
#[derive(Debug, Clone, Copy)]
pub struct OpenTarget {
    /// The file descriptor; -1 where there is none (null, simulator).
    pub fd: i32,
    /// Bytes in use.
    pub size_bytes: u64,
    /// Whether it is a block device (trim is BLKDISCARD there, hole punching in files).
    pub block_device: bool,
}

/// The targets of one job thread, by index.
#[derive(Debug, Clone, Default)]
pub struct TargetTable {
    /// The targets.
    pub targets: Vec<OpenTarget>,
}

/// One slot's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Buffer {
    /// Its address.
    pub address: *mut u8,
    /// Its length in bytes.
    pub len_bytes: usize,
}

/// The buffers of one job thread: one a slot, in one aligned mapping that lives as long as the pool.
pub trait BufferPool {
    /// The buffer of `slot`.
    fn buffer(&self, slot: u32) -> Buffer;
    /// Number of slots.
    fn slots(&self) -> u32;
}

/// What does the I/O of one job thread.
pub trait Engine {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Called once before the first I/O: registers files and buffers where that helps. Buffers stay valid as long as
    /// the engine lives.
    ///
    /// # Errors
    /// [`EngineError`] if the kernel refuses something that cannot be done without.
    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError>;

    /// Queues an I/O; nothing is handed to the kernel yet.
    ///
    /// # Errors
    /// [`QueueFull`]: call [`Engine::submit`] and [`Engine::reap`] first.
    fn queue(&mut self, io: Io) -> Result<(), QueueFull>;

    /// Hands queued I/Os to the kernel, and where the engine can ([`Capabilities::submit_and_wait`]) waits as told in
    /// the same system call. A synchronous engine does the I/O here.
    ///
    /// # Errors
    /// [`EngineError::Call`] if the system call itself fails.
    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError>;

    /// Adds finished I/Os to `out`, as many as there is room for, waiting as told.
    ///
    /// # Errors
    /// [`EngineError::Call`] if the system call itself fails.
    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError>;

    /// Looks at the data of what has completed, once that is recorded and before its slots are used again: how many blocks do
    /// not hold what was written there. Engines do not look.
    #[inline(always)]
    fn judge(&mut self, _completed: &Completions) -> u32 {
        0
    }
}

/// What an engine has to say about the choices it made.
pub trait Notes {
    /// One choice each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// What validating data found; `None`: it was not validated.
    fn data(&self) -> Option<DataChecks> {
        None
    }
}

/// An engine that says what it chose.
pub trait AnyEngine: Engine + Notes {}
impl<E: Engine + Notes> AnyEngine for E {}

/// Nanoseconds since some moment before the job started. Monotonic.
pub trait Clock {
    /// Now.
    fn now_ns(&self) -> u64;
}
