//! One I/O by one system call: what the synchronous engine and the workers of posix-aio do.

use assay_workload::pattern::OpKind;

use super::syscall::syscall;
use crate::seam::{Io, OpenTarget};

/// BLKDISCARD: `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// An I/O with everything the system call needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) io: Io,
    pub(crate) target: OpenTarget,
    pub(crate) address: *mut u8,
}

/// The negative errno of the last call that failed in the C library.
pub(crate) fn last_errno() -> i32 {
    -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Does the I/O and returns bytes moved (0 for flush and trim) or a negative errno. Interrupted calls are repeated.
#[inline]
pub(crate) fn execute(call: &Call) -> i32 {
    loop {
        let result = execute_once(call);
        if result >= 0 {
            return if call.io.kind.is_flush() || call.io.kind == OpKind::Trim { 0 } else { result as i32 };
        }
        if result != -(libc::EINTR as isize) {
            return result as i32;
        }
    }
}

#[inline]
fn execute_once(call: &Call) -> isize {
    let Call { io, target, address } = *call;
    let (fd, len, offset) = (target.fd as usize, io.len_bytes as usize, io.offset_bytes as usize);
    let bytes = [fd, address as usize, len, offset, 0, 0];
    // SAFETY: `address` points to the slot's buffer, which holds at least `len` bytes and is used by no other I/O while
    // this one is outstanding; the descriptor is open for as long as the engine lives.
    unsafe {
        match io.kind {
            OpKind::Read => syscall(libc::SYS_pread64, bytes),
            OpKind::Write => syscall(libc::SYS_pwrite64, bytes),
            OpKind::Fsync => syscall(libc::SYS_fsync, [fd, 0, 0, 0, 0, 0]),
            OpKind::Fdatasync => syscall(libc::SYS_fdatasync, [fd, 0, 0, 0, 0, 0]),
            OpKind::Trim => trim(&target, io.offset_bytes, io.len_bytes),
        }
    }
}

/// Discards on a device, punches a hole in a file. 0, or a negative errno.
fn trim(target: &OpenTarget, offset: u64, len: u32) -> isize {
    let result = if target.block_device {
        let range = [offset, u64::from(len)];
        // SAFETY: the ioctl reads two u64 from `range`, which lives through the call.
        unsafe { libc::ioctl(target.fd, BLKDISCARD, range.as_ptr()) }
    } else {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: plain numbers and an open descriptor.
        unsafe { libc::fallocate(target.fd, mode, offset as libc::off_t, libc::off_t::from(len)) }
    };
    if result == 0 { 0 } else { last_errno() as isize }
}
