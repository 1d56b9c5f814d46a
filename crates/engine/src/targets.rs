//! Opening, laying out and invalidating targets.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::job::OpenSync;
use assay_workload::pattern::OpKind;
use assay_workload::plan::{Plan, PlannedJob, PlannedTarget};
use assay_workload::target::TargetKind;

use crate::buffers::MappedBuffers;
use crate::seam::{BufferPool, EngineError, OpenTarget, TargetTable};

/// Bytes written per call when a file is laid out.
const LAYOUT_BLOCK: usize = 1 << 20;

/// The descriptors of one job thread, open as long as this lives.
#[derive(Debug)]
pub struct OpenTargets {
    fds: Vec<OwnedFd>,
    /// What engines see.
    pub table: TargetTable,
}

impl OpenTargets {
    /// The raw descriptors.
    pub fn fds(&self) -> impl Iterator<Item = RawFd> + '_ {
        self.fds.iter().map(AsRawFd::as_raw_fd)
    }
}

/// An error about a target's path.
pub(crate) fn target_error(path: &str, what: &'static str, source: io::Error) -> EngineError {
    EngineError::Target { path: path.to_owned(), what, source }
}

fn open_raw(path: &str, flags: i32) -> io::Result<OwnedFd> {
    let path = CString::new(Path::new(path).as_os_str().as_bytes())
        .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: `path` is a terminated string; the descriptor returned is ours alone.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o644);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

fn job_writes(job: &PlannedJob) -> bool {
    job.job.pattern.kinds().any(|kind| kind != OpKind::Read)
}

/// Opens the targets of a thread of `job`, with the flags its plan asks for. Indexes follow `sites` of the slice.
///
/// # Errors
/// [`EngineError::Target`] naming the path.
pub fn open_for(plan: &Plan, job: &PlannedJob, thread: usize) -> Result<OpenTargets, EngineError> {
    let slice = &job.slices[thread];
    let mut open = OpenTargets { fds: Vec::new(), table: TargetTable::default() };
    for site in &slice.sites {
        let target = &plan.targets[usize::from(site.target)];
        if target.kind == TargetKind::Null {
            open.table.targets.push(OpenTarget {
                fd: -1,
                size_bytes: target.size_bytes,
                block_device: false,
            });
            continue;
        }
        let fd = open_target(target, job)?;
        if job.job.access_hint && !job.direct {
            hint(fd.as_raw_fd(), job.job.pattern.placement.is_random());
        }
        let block_device = target.kind == TargetKind::BlockDevice;
        open.table.targets.push(OpenTarget {
            fd: fd.as_raw_fd(),
            size_bytes: target.size_bytes,
            block_device,
        });
        open.fds.push(fd);
    }
    Ok(open)
}

fn open_target(target: &PlannedTarget, job: &PlannedJob) -> Result<OwnedFd, EngineError> {
    let mut flags = if job_writes(job) { libc::O_RDWR } else { libc::O_RDONLY };
    if job_writes(job) && target.kind == TargetKind::File {
        flags |= libc::O_CREAT;
    }
    if job.direct {
        flags |= libc::O_DIRECT;
    }
    flags |= match job.job.flush.open {
        OpenSync::None => 0,
        OpenSync::Dsync => libc::O_DSYNC,
        OpenSync::Sync => libc::O_SYNC,
    };
    // Not updating access times saves a lock per read; only the owner may ask for it.
    open_raw(&target.path, flags | libc::O_NOATIME)
        .or_else(|_| open_raw(&target.path, flags))
        .map_err(|source| target_error(&target.path, "open", source))
}

/// Tells the kernel how a descriptor's file is going to be read. It may not care.
fn hint(fd: RawFd, random: bool) {
    let advice = if random { libc::POSIX_FADV_RANDOM } else { libc::POSIX_FADV_SEQUENTIAL };
    // SAFETY: plain numbers and an open descriptor.
    unsafe { libc::posix_fadvise(fd, 0, 0, advice) };
}

/// Asks the kernel to forget clean pages of the descriptor's file, as fio's `invalidate` does.
pub fn invalidate(fd: RawFd) -> io::Result<()> {
    // SAFETY: plain numbers and an open descriptor.
    match unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Makes a descriptor's data durable.
pub fn fsync(fd: RawFd) -> io::Result<()> {
    // SAFETY: an open descriptor.
    if unsafe { libc::fsync(fd) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Writes back everything dirty on the file system that holds `path`.
///
/// # Errors
/// What open or syncfs said.
pub fn sync_file_system(path: &str) -> io::Result<()> {
    let fd = open_raw(path, libc::O_RDONLY)?;
    // SAFETY: an open descriptor.
    if unsafe { libc::syncfs(fd.as_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What was laid out before a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaidOut {
    /// Path of the file.
    pub path: String,
    /// Bytes written to it.
    pub bytes: u64,
}

/// Extends files that a job is going to read beyond their end, with random data, so that no read hits a hole.
///
/// # Errors
/// [`EngineError::Target`] naming the file.
pub fn lay_out(plan: &Plan, phase: usize, go_on: &dyn Fn() -> bool) -> Result<Vec<LaidOut>, EngineError> {
    let mut done = Vec::new();
    // What a tree lacks is not laid out: its files are as large as they are.
    for job in plan.phases[phase].jobs.iter().filter(|job| job.job.tree.is_none()) {
        if !job.job.pattern.kinds().any(|kind| kind == OpKind::Read) {
            continue;
        }
        let mut wanted: Vec<(u16, u64)> = Vec::new();
        for site in job.slices.iter().flat_map(|slice| &slice.sites) {
            wanted.push((site.target, site.offset_bytes + site.length_bytes));
        }
        wanted.sort_unstable();
        wanted.reverse();
        wanted.dedup_by_key(|entry| entry.0);
        // Reads that check what they find must find blocks of ours.
        let unit_bytes = if job.job.content.verify { job.job.pattern.align() } else { 0 };
        for (index, end) in wanted {
            let target = &plan.targets[usize::from(index)];
            if target.kind == TargetKind::File {
                let filler = Filler::new(&Content::default(), plan.seed ^ target.existing_bytes);
                done.extend(extend(target, end, filler.sealing(unit_bytes, plan.seed), go_on)?);
            }
        }
    }
    Ok(done)
}

fn extend(
    target: &PlannedTarget,
    end: u64,
    mut filler: Filler,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<LaidOut>, EngineError> {
    let error = |what, source| target_error(&target.path, what, source);
    let size = std::fs::metadata(&target.path).map_or(0, |meta| meta.len());
    if size >= end {
        return Ok(None);
    }
    let fd =
        open_raw(&target.path, libc::O_RDWR | libc::O_CREAT).map_err(|source| error("create", source))?;
    let mut buffer = MappedBuffers::new(1, LAYOUT_BLOCK)?;
    // SAFETY: no I/O on the buffer is outstanding, here and below: pwrite is synchronous.
    filler.fill(unsafe { buffer.slice_mut(0, LAYOUT_BLOCK) });
    let mut offset = size;
    while offset < end && go_on() {
        // SAFETY: as above.
        filler.refresh(unsafe { buffer.slice_mut(0, LAYOUT_BLOCK) }, offset);
        let len = LAYOUT_BLOCK.min((end - offset) as usize);
        // SAFETY: the buffer holds at least `len` bytes.
        let written = unsafe {
            libc::pwrite(fd.as_raw_fd(), buffer.buffer(0).address.cast(), len, offset as libc::off_t)
        };
        if written <= 0 {
            return Err(error("lay out", io::Error::last_os_error()));
        }
        offset += written as u64;
    }
    fsync(fd.as_raw_fd()).map_err(|source| error("fsync", source))?;
    invalidate(fd.as_raw_fd()).map_err(|source| error("invalidate", source))?;
    Ok(Some(LaidOut { path: target.path.clone(), bytes: offset - size }))
}

/// What O_DIRECT on `path` (or on a new file beside it, or in it if it is a directory) must be aligned to; `None` where it is not possible.
pub fn direct_align(path: &Path) -> Option<u32> {
    let text = path.to_str()?;
    if path.is_dir() {
        return dio_align(&open_raw(text, libc::O_TMPFILE | libc::O_RDWR | libc::O_DIRECT).ok()?);
    }
    let fd = match open_raw(text, libc::O_RDONLY | libc::O_DIRECT) {
        Ok(fd) => fd,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.map_or(".", |parent| parent.to_str().unwrap_or("."));
            open_raw(parent, libc::O_TMPFILE | libc::O_RDWR | libc::O_DIRECT).ok()?
        }
        Err(_) => return None,
    };
    dio_align(&fd)
}

/// The alignment of direct I/O on an open file; `None` where it is not possible.
fn dio_align(fd: &OwnedFd) -> Option<u32> {
    // SAFETY: all-zero is a valid statx buffer, the path is an empty terminated string, and the descriptor is open.
    let (result, stat) = unsafe {
        let mut stat: libc::statx = std::mem::zeroed();
        let empty = c"".as_ptr();
        let result = libc::statx(fd.as_raw_fd(), empty, libc::AT_EMPTY_PATH, libc::STATX_DIOALIGN, &mut stat);
        (result, stat)
    };
    if result == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0 {
        let align = stat.stx_dio_offset_align.max(stat.stx_dio_mem_align);
        return (stat.stx_dio_offset_align > 0).then_some(align);
    }
    // Kernels before 6.1 do not say; a page is enough for every device.
    Some(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_io_is_looked_up_for_files_that_do_not_exist_yet() {
        let directory = tempfile::tempdir().unwrap();
        let there = directory.path().join("there");
        std::fs::write(&there, b"x").unwrap();
        assert_eq!(direct_align(&there), direct_align(&directory.path().join("new")));
        assert_eq!(direct_align(&there), direct_align(directory.path()));
        assert_eq!(direct_align(Path::new("/nowhere/at/all")), None);
    }
}
