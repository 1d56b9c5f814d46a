//! What a tree thread is doing, where a watchdog can look at it while the thread waits for a system call. Written by the thread
//! alone; see [`crate::job_loop::Slots`], which does the same for block I/O.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use assay_workload::tree::TreeOperation;

use crate::in_flight::{InFlight, TreeItem, Waits};

/// An operation and what it is done to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    what: What,
    tree: usize,
    item: u64,
    offset_bytes: u64,
    len_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Operation(TreeOperation),
    Fsync,
    Fdatasync,
    Sweep,
    ForOthers,
}

impl What {
    const BESIDE: [What; 4] = [What::Fsync, What::Fdatasync, What::Sweep, What::ForOthers];

    fn number(self) -> u8 {
        let beside = Self::BESIDE.iter().position(|what| *what == self);
        match (self, beside) {
            (What::Operation(operation), _) => operation as u8,
            (_, index) => (TreeOperation::COUNT + index.unwrap_or(0)) as u8,
        }
    }

    fn of_number(number: u8) -> Self {
        let number = usize::from(number);
        let operation = TreeOperation::ALL.get(number).map(|operation| What::Operation(*operation));
        operation.unwrap_or_else(|| Self::BESIDE[(number - TreeOperation::COUNT).min(Self::BESIDE.len() - 1)])
    }

    fn name(self) -> &'static str {
        match self {
            What::Operation(operation) => operation.name(),
            What::Fsync => "fsync",
            What::Fdatasync => "fdatasync",
            What::Sweep => "sweep",
            What::ForOthers => "wait",
        }
    }
}

impl Touch {
    fn new(what: What, tree: usize, item: u64) -> Self {
        Touch { what, tree, item, offset_bytes: 0, len_bytes: 0 }
    }

    /// An operation on a file or directory as a whole.
    pub(super) fn whole(operation: TreeOperation, tree: usize, item: u64) -> Self {
        Self::new(What::Operation(operation), tree, item)
    }

    /// A read or write of a block of a file.
    pub(super) fn block(
        operation: TreeOperation,
        tree: usize,
        item: u64,
        offset_bytes: u64,
        len: usize,
    ) -> Self {
        Touch { offset_bytes, len_bytes: len as u32, ..Self::whole(operation, tree, item) }
    }

    /// fsync or fdatasync of a file.
    pub(super) fn flush(data_only: bool, tree: usize, item: u64) -> Self {
        Self::new(if data_only { What::Fdatasync } else { What::Fsync }, tree, item)
    }
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Doing {
    /// When it was begun; 0: nothing is being done.
    begun_ns: AtomicU64,
    what: AtomicU8,
    tree: AtomicU16,
    item: AtomicU64,
    offset_bytes: AtomicU64,
    len_bytes: AtomicU32,
}

impl Doing {
    pub(super) fn begins(&self, touch: Touch, now_ns: u64) {
        self.what.store(touch.what.number(), Relaxed);
        self.tree.store(touch.tree as u16, Relaxed);
        self.item.store(touch.item, Relaxed);
        self.offset_bytes.store(touch.offset_bytes, Relaxed);
        self.len_bytes.store(touch.len_bytes, Relaxed);
        self.begun_ns.store(now_ns, Relaxed);
    }

    /// The thread removes what a tree of another shape left; called again for each part of it.
    pub(super) fn sweeps(&self, tree: usize, now_ns: u64) {
        self.begins(Touch::new(What::Sweep, tree, 0), now_ns);
    }

    /// The thread waits for the others of its job.
    pub(super) fn waits_for_others(&self, now_ns: u64) {
        self.begins(Touch::new(What::ForOthers, 0, 0), now_ns);
    }

    pub(super) fn ends(&self) {
        self.begun_ns.store(0, Relaxed);
    }

    /// What is being done, whether or not it has ended.
    pub(super) fn last(&self) -> InFlight {
        let what = What::of_number(self.what.load(Relaxed));
        let (item, offset) = (self.item.load(Relaxed), self.offset_bytes.load(Relaxed));
        let of_directory = matches!(what, What::Operation(operation) if operation.on_directories());
        let is_block = matches!(what, What::Operation(TreeOperation::Read | TreeOperation::Write));
        let item = if of_directory { TreeItem::Directory(item) } else { TreeItem::File(item) };
        InFlight {
            issued_ns: self.begun_ns.load(Relaxed),
            operation: what.name(),
            target: self.tree.load(Relaxed),
            item: (what != What::Sweep).then_some(item),
            offset_bytes: is_block.then_some(offset),
            len_bytes: self.len_bytes.load(Relaxed),
        }
    }

    /// What a watchdog sees at `until_ns`.
    pub(super) fn waits(&self, until_ns: u64) -> Option<Waits> {
        let io = self.last();
        if !(1..=until_ns).contains(&io.issued_ns) {
            return None;
        }
        let others = What::of_number(self.what.load(Relaxed)) == What::ForOthers;
        Some(if others { Waits::ForOthers } else { Waits::For(io) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_seen_as_what_it_is() {
        let whats = TreeOperation::ALL.map(What::Operation).into_iter().chain(What::BESIDE);
        for what in whats {
            assert_eq!(What::of_number(what.number()), what);
        }
        let doing = Doing::default();
        assert_eq!(doing.waits(u64::MAX), None);
        doing.begins(Touch::whole(TreeOperation::Mkdir, 1, 7), 10);
        let Some(Waits::For(io)) = doing.waits(10) else { panic!("it is being done") };
        assert_eq!((io.operation, io.target, io.item), ("mkdir", 1, Some(TreeItem::Directory(7))));
        assert_eq!(doing.waits(9), None, "it began later");
        doing.begins(Touch::block(TreeOperation::Write, 0, 3, 8192, 4096), 11);
        let io = doing.last();
        assert_eq!((io.item, io.offset_bytes, io.len_bytes), (Some(TreeItem::File(3)), Some(8192), 4096));
        doing.begins(Touch::flush(false, 0, 3), 12);
        assert_eq!((doing.last().operation, doing.last().offset_bytes), ("fsync", None));
        doing.waits_for_others(13);
        assert_eq!(doing.waits(20), Some(Waits::ForOthers));
        doing.ends();
        assert_eq!(doing.waits(20), None);
    }
}
