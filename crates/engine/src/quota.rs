//! What a quota leaves this user: quotactl_fd(2), which needs unsafe code.

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// The number of quotactl_fd(2), Linux 5.14, the same on every architecture.
const SYS_QUOTACTL_FD: libc::c_long = 443;
const Q_GETQUOTA: u32 = 0x80_0007;
const USER: u32 = 0;
const GROUP: u32 = 1;
/// Limits are counted in these.
const LIMIT_UNIT_BYTES: u64 = 1024;

/// `struct if_dqblk` (linux/quota.h).
#[repr(C)]
#[derive(Default)]
struct Usage {
    hard_limit: u64,
    soft_limit: u64,
    used_bytes: u64,
    nodes_hard_limit: u64,
    nodes_soft_limit: u64,
    nodes: u64,
    time: u64,
    nodes_time: u64,
    valid: u32,
}

/// Bytes that the quotas of this user and group leave on the file system of an existing path; `None`: there is no limit, or
/// the kernel does not tell (before 5.14). Quotas of projects are in what statvfs says.
pub fn left_bytes(path: &Path) -> Option<u64> {
    // Limits do not hold for the superuser.
    if rustix::process::geteuid().is_root() {
        return None;
    }
    let directory = std::fs::File::open(path).ok()?;
    let ids = [(USER, rustix::process::geteuid().as_raw()), (GROUP, rustix::process::getegid().as_raw())];
    let left = ids.into_iter().filter_map(|(kind, id)| {
        let usage = usage(&directory, kind, id).ok()?;
        let limit = usage.hard_limit.saturating_mul(LIMIT_UNIT_BYTES);
        (limit > 0).then(|| limit.saturating_sub(usage.used_bytes))
    });
    left.min()
}

fn usage(directory: &std::fs::File, kind: u32, id: u32) -> io::Result<Usage> {
    let mut usage = Usage::default();
    let command = (Q_GETQUOTA << 8) | kind;
    // SAFETY: Q_GETQUOTA writes one `struct if_dqblk`, as which `usage` is laid out; it outlives the call.
    let result =
        unsafe { libc::syscall(SYS_QUOTACTL_FD, directory.as_raw_fd(), command, id, &raw mut usage) };
    if result == 0 { Ok(usage) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_quota_there_is_no_limit() {
        assert_eq!(left_bytes(Path::new("/proc")), None);
    }
}
