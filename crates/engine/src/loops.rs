//! What a loop device stands on: LOOP_GET_STATUS64, which needs unsafe code. The path that sysfs tells is one of the file's
//! names, or was.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

const LOOP_GET_STATUS64: u64 = 0x4c05;

/// `struct loop_info64` (linux/loop.h).
#[repr(C)]
struct Status {
    device: u64,
    inode: u64,
    on_device: u64,
    offset: u64,
    size_limit: u64,
    numbers: [u32; 4],
    names: [u8; 64 + 64 + 32],
    init: [u64; 2],
}

/// The file or block device below a loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backing {
    /// The loop device itself, `MAJOR:MINOR`.
    pub of_device: String,
    /// Device number and inode of the file.
    pub file: (u64, u64),
    /// The block device that the file stands for, `MAJOR:MINOR`.
    pub on_device: Option<String>,
}

impl Backing {
    /// Of the loop device at a path; `None`: it is none, nothing is below it, or this user may not ask.
    pub fn of(path: &Path) -> Option<Self> {
        let device = File::open(path).ok()?;
        // SAFETY: all zeroes is a valid `Status`; the kernel writes one `struct loop_info64`, as which it is laid out.
        let (result, status) = unsafe {
            let mut status: Status = std::mem::zeroed();
            (libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut status), status)
        };
        let number = |raw: u64| format!("{}:{}", libc::major(raw), libc::minor(raw));
        (result == 0).then_some(Backing {
            of_device: number(device.metadata().ok()?.rdev()),
            file: (status.device, status.inode),
            on_device: (status.on_device != 0).then(|| number(status.on_device)),
        })
    }
}
