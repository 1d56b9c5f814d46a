//! What a job thread has outstanding, where others may look at it while the thread waits: a thread that hangs in a system call cannot
//! say what it waits for.
//!
//! Written by the job thread alone, with stores that cost no more than others do. Who looks sees each word whole, and words of
//! two operations only in the moment in which one follows the other: an operation that is old enough to be looked for has long
//! been written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use assay_workload::pattern::OpKind;

use crate::in_flight::InFlight;

/// This bit of a slot's length says that what was written is read back. Such a length is the result of no I/O, so that re-reads are
/// told apart where an I/O did not do what it was to do, and nowhere else.
const REREAD: u32 = 1 << 31;

/// One slot.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// When it was handed over; 0: nothing is outstanding.
    issued_ns: AtomicU64,
    /// When the call that handed it over was back; written where calls are timed.
    submitted_ns: AtomicU64,
    intended_ns: AtomicU64,
    offset_bytes: AtomicU64,
    len_bytes: AtomicU32,
    target: AtomicU16,
    kind: AtomicU8,
}

impl Slot {
    #[inline(always)]
    pub(super) fn queue(
        &self,
        kind: OpKind,
        target: u16,
        len_bytes: u32,
        offset_bytes: u64,
        intended_ns: u64,
    ) {
        self.intended_ns.store(intended_ns, Relaxed);
        self.offset_bytes.store(offset_bytes, Relaxed);
        self.len_bytes.store(len_bytes, Relaxed);
        self.target.store(target, Relaxed);
        self.kind.store(kind as u8, Relaxed);
    }

    #[inline(always)]
    pub(super) fn issue(&self, now_ns: u64) {
        self.issued_ns.store(now_ns, Relaxed);
    }

    #[inline(always)]
    pub(super) fn submitted(&self, now_ns: u64) {
        self.submitted_ns.store(now_ns, Relaxed);
    }

    #[inline(always)]
    pub(super) fn submitted_ns(&self) -> u64 {
        self.submitted_ns.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn done(&self) {
        self.issued_ns.store(0, Relaxed);
    }

    #[inline(always)]
    pub(super) fn issued_ns(&self) -> u64 {
        self.issued_ns.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn intended_ns(&self) -> u64 {
        self.intended_ns.load(Relaxed)
    }

    #[inline(always)]
    pub(super) fn offset_bytes(&self) -> u64 {
        self.offset_bytes.load(Relaxed)
    }

    /// What it wrote is going to be read back: its target, offset and length.
    #[cold]
    pub(super) fn queue_reread(&self) -> (u16, u64, u32) {
        let (_, target, len_bytes) = self.what();
        let offset_bytes = self.offset_bytes();
        self.queue(OpKind::Read, target, len_bytes | REREAD, offset_bytes, 0);
        (target, offset_bytes, len_bytes)
    }

    /// Whether it reads back what was written.
    #[cold]
    pub(super) fn is_reread(&self) -> bool {
        self.len_bytes.load(Relaxed) & REREAD != 0
    }

    /// Kind, target and length; of a re-read more than any length, see [`Slot::transfer`].
    #[inline(always)]
    pub(super) fn what(&self) -> (u8, u16, u32) {
        (self.kind.load(Relaxed), self.target.load(Relaxed), self.len_bytes.load(Relaxed))
    }

    /// As [`Slot::what`], with the length of a re-read.
    #[cold]
    pub(super) fn transfer(&self) -> (u8, u16, u32) {
        let (kind, target, len_bytes) = self.what();
        (kind, target, len_bytes & !REREAD)
    }

    /// The operation in it.
    #[cold]
    pub(super) fn outstanding(&self) -> Outstanding {
        let (kind, target, len_bytes) = self.transfer();
        let mut kinds = OpKind::DATA.into_iter().chain([OpKind::Fsync]);
        let kind = kinds.find(|one| *one as u8 == kind).unwrap_or(OpKind::Fdatasync);
        let (issued_ns, offset_bytes) = (self.issued_ns(), self.offset_bytes());
        Outstanding { issued_ns, kind, target, offset_bytes, len_bytes }
    }
}

/// The slots of a thread, and behind them one for the flush at the end.
#[derive(Debug, Clone)]
pub struct Slots(Arc<[Slot]>);

/// An operation that is outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outstanding {
    /// When it was handed over, on the job's clock.
    pub issued_ns: u64,
    /// What it does.
    pub kind: OpKind,
    /// Index among the targets of the thread.
    pub target: u16,
    /// Where it begins.
    pub offset_bytes: u64,
    /// 0 for trims and flushes.
    pub len_bytes: u32,
}

impl From<Outstanding> for InFlight {
    fn from(io: Outstanding) -> Self {
        InFlight {
            issued_ns: io.issued_ns,
            operation: io.kind.name(),
            target: io.target,
            item: None,
            offset_bytes: (!io.kind.is_flush()).then_some(io.offset_bytes),
            len_bytes: io.len_bytes,
        }
    }
}

impl Slots {
    pub(super) fn new(depth: u32) -> Slots {
        Slots((0..=depth).map(|_| Slot::default()).collect())
    }

    #[inline(always)]
    pub(super) fn at(&self, slot: u32) -> &Slot {
        &self.0[slot as usize]
    }

    fn last(&self) -> &Slot {
        self.at(self.0.len() as u32 - 1)
    }

    /// A flush of a target begins, outside the loop.
    pub(crate) fn flush_begins(&self, target: u16, now_ns: u64) {
        self.last().queue(OpKind::Fsync, target, 0, 0, 0);
        self.last().issue(now_ns);
    }

    /// It has ended.
    pub(crate) fn flush_ends(&self) {
        self.last().done();
    }

    /// The longest outstanding operation that was handed over at `until_ns` or before.
    pub fn oldest(&self, until_ns: u64) -> Option<Outstanding> {
        let issued = self.0.iter().map(|slot| (slot.issued_ns(), slot));
        let (issued_ns, slot) =
            issued.filter(|(issued_ns, _)| (1..=until_ns).contains(issued_ns)).min_by_key(|found| found.0)?;
        Some(Outstanding { issued_ns, ..slot.outstanding() })
    }
}
