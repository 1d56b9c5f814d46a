//! System calls of the measured phase, in line: no function of the C library stands between the loop and the kernel.
//!
//! On virtual machines whose kernel is itself unprivileged, returning through such a function costs more than the call:
//! docs/decisions/2026-11-21-hot-path.md has what was measured.

/// The system call `number`. The kernel's result as it is: a negative errno where it failed.
///
/// # Safety
/// The arguments are what the kernel expects of this call, and memory they name is valid for what it does with it.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the caller vouches for the arguments; the kernel changes rcx, r11 and what they name, and no stack.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: the caller vouches for the arguments; the kernel changes x0 and what they name, and no stack.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack),
        );
    }
    result
}

/// As above, through the C library.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub(crate) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller vouches for the arguments.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    let errno = || std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    if result >= 0 { result as isize } else { -errno() as isize }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn arguments_arrive_in_order_and_errors_come_back_negative() {
        let file = tempfile::tempfile().expect("a temporary file");
        let fd = file.as_raw_fd() as usize;
        let text = b"0123456789";
        let mut read = [0_u8; 4];
        // SAFETY: both buffers are as long as is said.
        unsafe {
            let write = [fd, text.as_ptr() as usize, text.len(), 5, 0, 0];
            assert_eq!(syscall(libc::SYS_pwrite64, write), 10);
            assert_eq!(syscall(libc::SYS_pread64, [fd, read.as_mut_ptr() as usize, 4, 8, 0, 0]), 4);
            assert_eq!(syscall(libc::SYS_fsync, [usize::MAX, 0, 0, 0, 0, 0]), -(libc::EBADF as isize));
            let length = 1 << 20;
            let (flags, access) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_READ);
            let map = [0, length, access as usize, flags as usize, usize::MAX, 0];
            let mapped = syscall(libc::SYS_mmap, map);
            assert!(mapped > 0 && mapped % 4096 == 0, "six arguments: {mapped}");
            assert_eq!(syscall(libc::SYS_munmap, [mapped as usize, length, 0, 0, 0, 0]), 0);
        }
        assert_eq!(&read, b"3456");
    }
}
