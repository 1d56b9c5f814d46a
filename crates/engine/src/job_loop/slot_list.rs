//! Slot numbers in a list that is as long as there are slots, so that it never grows.

/// Up to as many slots as a job thread has, last in, first out.
#[derive(Debug)]
pub(super) struct SlotList {
    slots: Box<[u32]>,
    len: usize,
}

impl SlotList {
    /// None of `depth` slots.
    pub(super) fn empty(depth: u32) -> Self {
        SlotList { slots: vec![0; depth as usize].into_boxed_slice(), len: 0 }
    }

    /// All of `depth` slots, slot 0 on top.
    pub(super) fn full(depth: u32) -> Self {
        SlotList { slots: (0..depth).rev().collect(), len: depth as usize }
    }

    /// Adds a slot; each slot is in at most one list, so there is room.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: u32) {
        if let Some(entry) = self.slots.get_mut(self.len) {
            *entry = slot;
            self.len += 1;
        }
    }

    /// The slot on top.
    #[inline(always)]
    pub(super) fn last(&self) -> Option<u32> {
        self.as_slice().last().copied()
    }

    /// Takes the slot on top away.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        self.len = self.len.saturating_sub(1);
    }

    /// Whether there is none.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Forgets all.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// From the first added to the last.
    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[u32] {
        self.slots.get(..self.len).unwrap_or_default()
    }
}
