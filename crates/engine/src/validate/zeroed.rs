//! Memory that holds zeros and is taken from the kernel only where it is touched.

use std::alloc::{GlobalAlloc as _, Layout, System};
use std::sync::atomic::AtomicU32;

/// Whose value can be all zeros.
///
/// # Safety
/// All-zero bytes are a value of the type.
pub(crate) unsafe trait FromZeros {}

// SAFETY: it is a whole number.
unsafe impl FromZeros for AtomicU32 {}
// SAFETY: it is a whole number.
unsafe impl FromZeros for u64 {}

/// Zeroed states; the kernel gives the memory when it is touched first. `None`: there is none.
pub(crate) fn zeroed<T: FromZeros>(count: u64) -> Option<Box<[T]>> {
    let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
    let layout = Layout::array::<T>(count).ok()?;
    // SAFETY: the layout is not of size 0; all-zero is a value of `T`; the box has the layout it was allocated with, and frees
    // it through the program's allocator, which is the system's (`crate::memory`). Asked here, that says when there is no memory.
    unsafe {
        let memory = System.alloc_zeroed(layout).cast::<T>();
        (!memory.is_null()).then(|| Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, count)))
    }
}
