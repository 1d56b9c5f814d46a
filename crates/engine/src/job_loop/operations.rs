//! What a loop does next: operations, a block of them at a time.

use assay_workload::ops::{Op, OpBlock, OpSource};
use assay_workload::pattern::OpKind;

use super::PassHook;

/// The operations that come.
pub(super) struct Operations {
    source: Box<dyn OpSource>,
    pass_hook: Option<PassHook>,
    block: OpBlock,
    next: usize,
    /// Whether none come behind this block.
    ended: bool,
}

impl Operations {
    pub(super) fn new(source: Box<dyn OpSource>, pass_hook: Option<PassHook>) -> Operations {
        Operations { source, pass_hook, block: OpBlock::default(), next: 0, ended: false }
    }

    /// Whether there is one at hand.
    #[inline(always)]
    pub(super) fn at_hand(&self) -> bool {
        self.next < self.block.len
    }

    /// Whether no more come.
    #[inline(always)]
    pub(super) fn exhausted(&self) -> bool {
        self.ended && self.next == self.block.len
    }

    #[inline(always)]
    pub(super) fn take(&mut self) -> Op {
        let op = self.block.ops[self.next];
        self.next += 1;
        op
    }

    /// Whether the next block may be drawn: there is one, and nothing has to be done before it.
    #[inline(always)]
    pub(super) fn more(&mut self, outstanding: u32) -> bool {
        !(self.ended || (self.block.pass_ends && self.between_passes(outstanding)))
    }

    /// Draws the next block, or one operation; whether there is one.
    #[inline(always)]
    pub(super) fn draw(&mut self, only: Option<OpKind>) -> bool {
        match only {
            None => self.source.fill(&mut self.block),
            Some(kind) => self.source.fill_one(&mut self.block, kind),
        }
        self.ended = self.block.last;
        self.next = 0;
        self.block.len > 0
    }

    /// A pass has ended: once everything has completed, does what is to be done before the next one. Whether to wait.
    #[cold]
    fn between_passes(&mut self, outstanding: u32) -> bool {
        let Some(pass_hook) = self.pass_hook.as_mut() else { return false };
        if outstanding > 0 {
            return true;
        }
        pass_hook();
        self.block.pass_ends = false;
        false
    }
}
