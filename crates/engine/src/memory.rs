//! The allocator of the program: the system's, and where that has nothing left the process ends with a message and status 1 instead
//! of aborting. What is large asks before ([`crate::buffers`], the limits that `runner` checks); this is for all the rest.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;

/// The system's allocator, which does not return without memory. For `#[global_allocator]` of a program; a library does not end
/// processes.
#[derive(Debug, Clone, Copy, Default)]
pub struct OrExit;

// SAFETY: every call is passed on to `System`, which keeps the contract; a null pointer is never returned.
unsafe impl GlobalAlloc for OrExit {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `alloc`.
        some(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`.
        some(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps to the contract of `realloc`.
        some(unsafe { System.realloc(old, layout, new_size) }, new_size)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn some(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() { none(bytes) } else { memory }
}

/// Says that there is no memory, without taking any, and ends the process.
#[cold]
fn none(bytes: usize) -> ! {
    let mut text = [0_u8; 256];
    let mut rest = &mut text[..];
    let room = rest.len();
    let _ = writeln!(
        rest,
        "\nerror: no memory for {bytes} more bytes: raise the limit of the process (ulimit -v unlimited), free some memory, or use \
         fewer threads and outstanding I/Os; 'assay runs recover last' keeps what was measured"
    );
    let length = room - rest.len();
    // SAFETY: the bytes are initialised and outlive the call; `_exit` runs nothing that could allocate.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
        libc::_exit(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_systems() {
        let layout = Layout::from_size_align(1 << 16, 64).unwrap();
        // SAFETY: the layout is not of size 0, and what was allocated is freed once, with the layout that it has.
        unsafe {
            let memory = OrExit.alloc_zeroed(layout);
            assert!(std::slice::from_raw_parts(memory, layout.size()).iter().all(|byte| *byte == 0));
            memory.write(7);
            let memory = OrExit.realloc(memory, layout, 1 << 20);
            assert_eq!(memory.read(), 7);
            OrExit.dealloc(memory, Layout::from_size_align(1 << 20, 64).unwrap());
        }
    }
}
