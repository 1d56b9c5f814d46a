//! What a file's blocks are and where they are: unwritten extents (FIEMAP) and residency in the page cache (cachestat).
//!
//! Both are system calls that need unsafe code; crate `host` says what to do with the answers.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use assay_host::cache::Residency;
use assay_host::extents::UnwrittenExtents;

/// `FS_IOC_FIEMAP`, `_IOWR('f', 11, struct fiemap)` (linux/fiemap.h).
const FS_IOC_FIEMAP: libc::c_ulong = 0xc020_660b;
const FIEMAP_EXTENT_LAST: u32 = 0x1;
const FIEMAP_EXTENT_UNWRITTEN: u32 = 0x800;
const FIEMAP_EXTENT_SHARED: u32 = 0x2000;
/// Extents asked for at a time.
const BATCH: usize = 256;
/// More extents than this are not gone through: the map of a badly fragmented file is not worth seconds.
const EXTENTS_MAX: usize = 200_000;

/// The number of cachestat(2), Linux 6.5, the same on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;

#[repr(C)]
#[derive(Clone, Copy)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [FiemapExtent; BATCH],
}

#[repr(C)]
#[derive(Default)]
struct CacheStat {
    cached_pages: u64,
    dirty_pages: u64,
    writeback_pages: u64,
    evicted_pages: u64,
    recently_evicted_pages: u64,
}

/// Asks this kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kernel;

impl UnwrittenExtents for Kernel {
    fn unwritten_bytes(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<Option<u64>> {
        mapped_bytes(file, offset_bytes, length_bytes, |flags| flags & FIEMAP_EXTENT_UNWRITTEN != 0)
    }
}

/// Bytes of a range that are allocated to this file alone, so that writing there takes no more of the file system; `None`
/// when it does not tell.
///
/// # Errors
/// What the system says when it should know and fails.
pub fn allocated_bytes(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<Option<u64>> {
    mapped_bytes(file, offset_bytes, length_bytes, |flags| flags & FIEMAP_EXTENT_SHARED == 0)
}

/// Bytes of the extents in a range whose flags are `wanted`.
fn mapped_bytes(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    wanted: impl Fn(u32) -> bool,
) -> io::Result<Option<u64>> {
    let end = offset_bytes.saturating_add(length_bytes);
    let (mut at, mut bytes) = (offset_bytes, 0_u64);
    for _ in 0..EXTENTS_MAX / BATCH {
        if at >= end {
            return Ok(Some(bytes));
        }
        let Some(map) = fiemap(file, at, end - at)? else { return Ok(None) };
        let found = &map.extents[..(map.mapped_extents as usize).min(BATCH)];
        for extent in found.iter().filter(|extent| wanted(extent.flags)) {
            let from = extent.logical.max(offset_bytes);
            bytes += extent.logical.saturating_add(extent.length).min(end).saturating_sub(from);
        }
        match found.last() {
            Some(last) if last.flags & FIEMAP_EXTENT_LAST == 0 => {
                at = last.logical.saturating_add(last.length).max(at + 1);
            }
            _ => return Ok(Some(bytes)),
        }
    }
    Ok(None)
}

/// One call; `None` where the file system has no such map.
fn fiemap(file: &File, start: u64, length: u64) -> io::Result<Option<Box<Fiemap>>> {
    let none =
        FiemapExtent { logical: 0, physical: 0, length: 0, reserved64: [0; 2], flags: 0, reserved: [0; 3] };
    let mut map = Box::new(Fiemap {
        start,
        length,
        flags: 0,
        mapped_extents: 0,
        extent_count: BATCH as u32,
        reserved: 0,
        extents: [none; BATCH],
    });
    // SAFETY: the structure is laid out as the kernel's, says how many extents it has room for, and outlives the call.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut *map) };
    if result == 0 {
        return Ok(Some(map));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY | libc::EINVAL | libc::EBADR) => Ok(None),
        _ => Err(error),
    }
}

impl Residency for Kernel {
    fn resident_bytes(&self, file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<Option<u64>> {
        let range = [offset_bytes, length_bytes];
        let mut found = CacheStat::default();
        // SAFETY: cachestat reads two u64 and writes five; both live through the call.
        let result = unsafe {
            libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), &raw mut found, 0 as libc::c_uint)
        };
        if result == 0 {
            return Ok(Some(found.cached_pages.saturating_mul(rustix::param::page_size() as u64)));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EPERM | libc::EOPNOTSUPP) => Ok(None),
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::FileExt as _;

    const MIB: u64 = 1 << 20;

    #[test]
    fn reserved_space_is_unwritten_until_it_is_written() {
        let file = tempfile::tempfile().unwrap();
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 4 * MIB).is_err() {
            return;
        }
        let Some(all) = Kernel.unwritten_bytes(&file, 0, 4 * MIB).unwrap() else { return };
        assert_eq!(all, 4 * MIB);
        file.write_all_at(&vec![1; MIB as usize], MIB).unwrap();
        file.sync_all().unwrap();
        assert_eq!(Kernel.unwritten_bytes(&file, 0, 4 * MIB).unwrap(), Some(3 * MIB));
        assert_eq!(Kernel.unwritten_bytes(&file, MIB, MIB).unwrap(), Some(0));
        assert_eq!(Kernel.unwritten_bytes(&file, 0, 0).unwrap(), Some(0));
    }

    #[test]
    fn what_was_just_written_is_in_the_page_cache() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![1; MIB as usize]).unwrap();
        let Some(found) = Kernel.resident_bytes(&file, 0, MIB).unwrap() else { return };
        assert!(found > 0 && found <= MIB, "{found}");
        assert_eq!(Kernel.resident_bytes(&file, 8 * MIB, MIB).unwrap(), Some(0));
    }
}
