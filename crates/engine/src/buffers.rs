//! Buffers of one job thread: one mapping, a slot each, on huge pages where they can be had.

use crate::seam::{Buffer, BufferPool, EngineError};

/// Alignment of each slot: what any direct I/O asks for.
const SLOT_ALIGN: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// An anonymous mapping cut into equal slots.
#[derive(Debug)]
pub struct MappedBuffers {
    base: *mut u8,
    mapped_bytes: usize,
    slot_bytes: usize,
    slots: u32,
}

// SAFETY: the mapping belongs to this value alone; the raw pointer does not make it thread-bound.
unsafe impl Send for MappedBuffers {}

impl MappedBuffers {
    /// `slots` buffers of at least `bytes` each, zeroed and resident.
    ///
    /// # Errors
    /// [`EngineError::Memory`] if the mapping is refused.
    pub fn new(slots: u32, bytes: usize) -> Result<Self, EngineError> {
        let slot_bytes = bytes.max(1).next_multiple_of(SLOT_ALIGN);
        let wanted = (slot_bytes as u64).saturating_mul(u64::from(slots));
        let mapped_bytes = usize::try_from(wanted).ok().filter(|&size| size <= isize::MAX as usize);
        let mapped_bytes = mapped_bytes.ok_or(EngineError::Memory(wanted))?;
        let base = map(mapped_bytes).ok_or(EngineError::Memory(wanted))?;
        Ok(MappedBuffers { base, mapped_bytes, slot_bytes, slots })
    }

    /// The whole mapping.
    pub fn all(&self) -> Buffer {
        Buffer { address: self.base, len_bytes: self.mapped_bytes }
    }

    /// Leaves the mapping in place until the process ends: I/O on it is still in flight.
    pub(crate) fn leak(&mut self) {
        self.mapped_bytes = 0;
    }

    /// The bytes of a slot.
    ///
    /// # Safety
    /// The slot is below the number of slots, and no I/O on it is outstanding.
    #[inline]
    pub unsafe fn slice_mut(&mut self, slot: u32, len: usize) -> &mut [u8] {
        // SAFETY: the caller keeps to the slots, and slots do not overlap.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.base.add(slot as usize * self.slot_bytes),
                len.min(self.slot_bytes),
            )
        }
    }
}

/// Maps zeroed, populated memory, aligned to huge pages if it is that large.
fn map(bytes: usize) -> Option<*mut u8> {
    let padded = if bytes >= HUGE_PAGE { bytes + HUGE_PAGE } else { bytes };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let raw = unsafe { libc::mmap(std::ptr::null_mut(), padded, protection, flags, -1, 0) };
    if raw == libc::MAP_FAILED {
        return None;
    }
    let start = raw as usize;
    let aligned = if padded > bytes { start.next_multiple_of(HUGE_PAGE) } else { start };
    // SAFETY: both ranges lie inside the mapping just made, around the part that is kept.
    unsafe {
        if aligned > start {
            libc::munmap(raw, aligned - start);
        }
        let tail = start + padded - (aligned + bytes);
        if tail > 0 {
            libc::munmap((aligned + bytes) as *mut libc::c_void, tail);
        }
        // Both are hints: without huge pages, or on a kernel that cannot populate, the memory works all the same.
        libc::madvise(aligned as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE);
        libc::madvise(aligned as *mut libc::c_void, bytes, libc::MADV_POPULATE_WRITE);
    }
    Some(aligned as *mut u8)
}

impl BufferPool for MappedBuffers {
    fn buffer(&self, slot: u32) -> Buffer {
        let slot = slot.min(self.slots.saturating_sub(1)) as usize;
        // SAFETY: the slot is inside the mapping.
        Buffer { address: unsafe { self.base.add(slot * self.slot_bytes) }, len_bytes: self.slot_bytes }
    }

    fn slots(&self) -> u32 {
        self.slots
    }
}

impl Drop for MappedBuffers {
    fn drop(&mut self) {
        if self.mapped_bytes > 0 {
            // SAFETY: base and length are those of the mapping that is left after trimming.
            unsafe { libc::munmap(self.base.cast(), self.mapped_bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_apart() {
        for (slots, bytes) in [(1, 1), (3, 512), (32, 4096), (64, 128 << 10)] {
            let mut pool = MappedBuffers::new(slots, bytes).unwrap();
            for slot in 0..slots {
                let buffer = pool.buffer(slot);
                assert_eq!(buffer.address as usize % SLOT_ALIGN, 0);
                assert!(buffer.len_bytes >= bytes);
                // SAFETY: no I/O is outstanding.
                unsafe { pool.slice_mut(slot, bytes) }.fill(slot as u8 + 1);
            }
            for slot in 0..slots {
                // SAFETY: no I/O is outstanding.
                assert!(unsafe { pool.slice_mut(slot, bytes) }.iter().all(|&byte| byte == slot as u8 + 1));
            }
        }
    }

    #[test]
    fn impossible_sizes_are_an_error() {
        assert!(
            matches!(MappedBuffers::new(u32::MAX, 1 << 40), Err(EngineError::Memory(_)))
                || cfg!(not(target_pointer_width = "64"))
        );
    }
}
