//! Opening, laying out and invalidating targets.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use assay_host::space;
use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::job::{FileLayout, OpenSync};
use assay_workload::plan::{Plan, PlannedJob, PlannedTarget};
use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::buffers::MappedBuffers;
use crate::errno::errno_words;
use crate::preparation::{Doing, Preparation};
use crate::seam::{EngineError, OpenTarget, TargetTable};
use crate::validate::{TargetMap, Validation};

/// Bytes written per call when a file is laid out.
const LAYOUT_BLOCK: usize = 1 << 20;
/// Bytes laid out between two looks at the free space.
const SPACE_LOOK_BYTES: u64 = 16 << 20;

/// The alignment of O_DIRECT where it is not told.
const PAGE_ALIGN: u32 = 4096;

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

/// What is open, by index of its target: engines read and write through it and through no path, so that nothing else is used that
/// has the name by then.
pub type Held = BTreeMap<u32, Arc<File>>;

/// The path by which the kernel opens again what is open, whatever its name leads to.
pub fn path_of_open(file: &File, process: u32) -> String {
    format!("/proc/{process}/fd/{}", file.as_raw_fd())
}

/// What a target is used through.
fn open_of<'h>(held: Option<&'h Arc<File>>, target: &PlannedTarget) -> Result<&'h Arc<File>, EngineError> {
    let missing = || io::Error::other("it was not opened before the phase");
    held.ok_or_else(|| target_error(&target.path, "use", missing()))
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

/// Opens the targets of a thread of `job` with the flags its plan asks for: through `held`, and what it only reads and is not held by
/// its path. Indexes follow `sites` of the slice.
///
/// # Errors
/// [`EngineError::Target`] naming the path.
pub fn open_for(
    plan: &Plan,
    job: &PlannedJob,
    thread: usize,
    held: &Held,
    preparation: &Preparation,
) -> Result<OpenTargets, EngineError> {
    let slice = &job.slices[thread];
    let mut open = OpenTargets { fds: Vec::new(), table: TargetTable::default() };
    for site in &slice.sites {
        let target = &plan.targets[site.target as usize];
        // What is used by its name is not held open: that would keep alive what is removed.
        if target.kind == TargetKind::Null || job.by_name().is_some() {
            open.table.targets.push(OpenTarget {
                fd: -1,
                size_bytes: target.size_bytes,
                block_device: false,
            });
            continue;
        }
        let path = match held.get(&site.target) {
            None if !job.may_write() => target.path.clone(),
            held => path_of_open(open_of(held, target)?, std::process::id()),
        };
        let opening = preparation.begins("open", &target.path);
        let fd = open_target(&path, target, job)?;
        drop(opening);
        if job.access_hint && !job.direct {
            hint(fd.as_raw_fd(), job.pattern.placement.is_random());
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

fn open_target(path: &str, target: &PlannedTarget, job: &PlannedJob) -> Result<OwnedFd, EngineError> {
    let mut flags = if job.may_write() { libc::O_RDWR } else { libc::O_RDONLY };
    if job.direct {
        flags |= libc::O_DIRECT;
    }
    flags |= match job.flush.open {
        OpenSync::None => 0,
        OpenSync::Dsync => libc::O_DSYNC,
        OpenSync::Sync => libc::O_SYNC,
    };
    // Not updating access times saves a lock per read; only the owner may ask for it.
    open_raw(path, flags | libc::O_NOATIME)
        .or_else(|_| open_raw(path, flags))
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

/// Gives back all space of the descriptor's file.
pub(crate) fn cut_to_nothing(fd: RawFd) -> io::Result<()> {
    // SAFETY: an open descriptor.
    if unsafe { libc::ftruncate(fd, 0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
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
    /// Bytes that it was extended by.
    pub bytes: u64,
}

impl std::fmt::Display for LaidOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "laid out {} with {}", self.path, Bytes(self.bytes))
    }
}

/// Lays out files before a phase whose data is not verified.
///
/// # Errors
/// [`EngineError::Target`] naming the file.
pub fn lay_out(
    plan: &Plan,
    phase: usize,
    held: &Held,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<LaidOut>, EngineError> {
    lay_out_seen(plan, phase, held, &Preparation::default(), go_on)
}

/// The same, with a place where it can be seen what is being done.
///
/// # Errors
/// [`EngineError::Target`] naming the file.
pub fn lay_out_seen(
    plan: &Plan,
    phase: usize,
    held: &Held,
    preparation: &Preparation,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<LaidOut>, EngineError> {
    let validation = &Validation::default();
    LayOut { plan, held, validation, preparation }.phase(phase, &|_| true, go_on)
}

/// Lays out files before a phase.
#[derive(Debug)]
pub(crate) struct LayOut<'a> {
    pub(crate) plan: &'a Plan,
    /// What may be written to.
    pub(crate) held: &'a Held,
    /// What the run knows of its data.
    pub(crate) validation: &'a Validation,
    /// Where it can be seen what is being done.
    pub(crate) preparation: &'a Preparation,
}

impl LayOut<'_> {
    /// Extends files that one of the `chosen` jobs of a phase is going to read or trim beyond their end, with random data, so that
    /// none hits a hole, and others as the job asks for ([`FileLayout`]). A file that could not be finished, or was not to be, is as
    /// it was before.
    ///
    /// # Errors
    /// [`EngineError::Target`] naming the file.
    pub(crate) fn phase(
        &self,
        phase: usize,
        chosen: &dyn Fn(&PlannedJob) -> bool,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Vec<LaidOut>, EngineError> {
        let mut done = Vec::new();
        // What a tree lacks is not laid out: its files are as large as they are.
        let planned = &self.plan.phases[phase];
        // What is missing of what was written is to be found, and not to be made good.
        let lays_out =
            |job: &&PlannedJob| job.has_files() && !job.reads_what_was_written(planned) && chosen(job);
        let jobs = || planned.jobs.iter().filter(lays_out);
        let needs_data = |job: &&PlannedJob| job.pattern.needs_data() || job.layout == FileLayout::Data;
        // A file that one job reads and another one writes has data.
        for (index, end) in jobs().filter(needs_data).flat_map(|job| wanted(self.plan, job)) {
            done.extend(self.extend(index, end, go_on)?);
        }
        for job in jobs().filter(|job| !needs_data(job) && !job.layout.is_as_needed()) {
            for (index, end) in wanted(self.plan, job) {
                let target = &self.plan.targets[index as usize];
                let _doing = self.preparation.begins("allocate", &target.path);
                allocate(target, self.held.get(&index), end, job.layout)?;
            }
        }
        Ok(done)
    }

    fn extend(&self, index: u32, end: u64, go_on: &dyn Fn() -> bool) -> Result<Option<LaidOut>, EngineError> {
        let (target, held) = (&self.plan.targets[index as usize], self.held.get(&index));
        let error = |what, source| target_error(&target.path, what, source);
        let length = |meta: std::fs::Metadata| meta.len();
        let size = match held {
            Some(file) => file.metadata().map(length),
            None => std::fs::metadata(&target.path).map(length),
        };
        let size = size.unwrap_or(0);
        if size >= end {
            return Ok(None);
        }
        let file = open_of(held, target)?;
        // Reads that compare what they find must find sectors of ours.
        let map = self.validation.map(index);
        if let Some(map) = &map {
            map.begins(size, end - size, true);
        }
        let content = Laying { seed: self.plan.seed ^ target.existing_bytes, map: map.as_deref() };
        let writing = self.preparation.begins("write", &target.path);
        let done = write_out(file, size..end, &content, &writing, go_on);
        drop(writing);
        if !matches!(done, Ok(offset) if offset >= end) {
            // Half a file is of no use, and takes space from others.
            let _ = file.set_len(size);
            return done.map(|_| None).map_err(|source| error("lay out", source));
        }
        let flushing = self.preparation.begins("fsync", &target.path);
        fsync(file.as_raw_fd()).map_err(|source| error("fsync", source))?;
        drop(flushing);
        invalidate(file.as_raw_fd()).map_err(|source| error("invalidate", source))?;
        if let Some(map) = map {
            map.laid_out(size, end - size);
        }
        Ok(Some(LaidOut { path: target.path.clone(), bytes: end - size }))
    }
}

/// The files of a job, each as far as it needs it.
fn wanted(plan: &Plan, job: &PlannedJob) -> Vec<(u32, u64)> {
    let sites = job.slices.iter().flat_map(|slice| &slice.sites);
    let files = sites.filter(|site| plan.targets[site.target as usize].kind == TargetKind::File);
    let ends = files.map(|site| (site.target, job.layout_end(site, &plan.targets[site.target as usize])));
    let mut all: Vec<(u32, u64)> = ends.collect();
    all.sort_unstable();
    all.reverse();
    all.dedup_by_key(|entry| entry.0);
    all
}

/// Gives a file its size without data, where there is room for all of it: else the file grows by its writes, as in fio.
fn allocate(
    target: &PlannedTarget,
    held: Option<&Arc<File>>,
    end: u64,
    layout: FileLayout,
) -> Result<(), EngineError> {
    let error = |source| target_error(&target.path, "allocate", source);
    let file = open_of(held, target)?;
    let size = file.metadata().map_err(error)?.len();
    if size >= end {
        return Ok(());
    }
    let flags = match layout {
        FileLayout::Length => return file.set_len(end).map_err(error),
        FileLayout::Reserved => FallocateFlags::KEEP_SIZE,
        _ => FallocateFlags::empty(),
    };
    let space = assay_host::space::of_open(file).map_err(error)?;
    if space.is_known() && end - size > space.usable_bytes() {
        return Ok(());
    }
    match rustix::fs::fallocate(file, flags, size, end - size) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(source) => {
            // What was allocated before the space was gone is given back.
            let _ = file.set_len(size);
            if source == Errno::NOSPC { Ok(()) } else { Err(error(source.into())) }
        }
    }
}

/// What a file is laid out with.
struct Laying<'a> {
    seed: u64,
    /// Where its data is verified later.
    map: Option<&'a TargetMap>,
}

/// Writes random data; how far it came.
fn write_out(
    file: &File,
    range: Range<u64>,
    content: &Laying<'_>,
    writing: &Doing<'_>,
    go_on: &dyn Fn() -> bool,
) -> io::Result<u64> {
    let memory = |_| io::Error::from_raw_os_error(libc::ENOMEM);
    let mut buffer = MappedBuffers::new(1, LAYOUT_BLOCK).map_err(memory)?;
    let mut filler = Filler::new(&Content::default(), content.seed);
    // SAFETY: no I/O on the buffer is outstanding, here and below: pwrite is synchronous.
    filler.fill(unsafe { buffer.slice_mut(0, LAYOUT_BLOCK) });
    let (mut offset, mut looked) = (range.start, None);
    while offset < range.end && go_on() {
        let part = Some((offset - range.start) / SPACE_LOOK_BYTES);
        if looked != part {
            looked = part;
            look_at_space(file, range.end - offset)?;
        }
        // Up to a multiple of itself, so that no sector is cut.
        let block = LAYOUT_BLOCK as u64 - offset % LAYOUT_BLOCK as u64;
        // SAFETY: as above.
        let bytes = unsafe { buffer.slice_mut(0, block.min(range.end - offset) as usize) };
        filler.refresh(bytes);
        if let Some(map) = content.map {
            map.seal_layout(bytes, offset);
        }
        writing.at(offset, bytes.len() as u32);
        file.write_all_at(bytes, offset).map_err(|error| failed_at(error, bytes.len(), offset))?;
        offset += bytes.len() as u64;
    }
    Ok(offset)
}

/// What failed, where, in the words of storage.
fn failed_at(error: io::Error, len_bytes: usize, offset_bytes: u64) -> io::Error {
    let Some(errno) = error.raw_os_error() else { return error };
    let which = format!("write of {} at offset {offset_bytes}", Bytes(len_bytes as u64));
    io::Error::other(format!("{which}: {}", errno_words(errno)))
}

/// Whether the reserve stays free behind what is written before the next look: the plan fits, but others write too.
fn look_at_space(fd: &File, left_bytes: u64) -> io::Result<()> {
    let Ok(space) = space::of_open(fd) else { return Ok(()) };
    // Half of the reserve is for what the file system needs beside data.
    let least = space.reserve_bytes() / 2 + left_bytes.min(SPACE_LOOK_BYTES);
    if !space.is_known() || space.available_bytes >= least {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "the file system is being filled by something else: {} available, of which {} stay free, and {} are still to be \
         written (free some space)",
        Bytes(space.available_bytes),
        Bytes(space.reserve_bytes()),
        Bytes(left_bytes)
    )))
}

/// Opens `path` to ask what can be done with it. Where nothing is there yet, or a directory is, a file without a name in the
/// nearest directory that exists stands for it: it has the file system's properties, nobody sees it, nothing is written to
/// it, and it is gone when it is closed.
pub(crate) fn open_to_ask(path: &Path, flags: i32) -> io::Result<OwnedFd> {
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or(io::ErrorKind::InvalidFilename);
    let path = std::path::absolute(path)?;
    match path.ancestors().find(|place| place.is_dir()) {
        // A file has a directory above it, too; what is there comes first.
        Some(directory) if directory == path || !path.exists() => {
            open_raw(&text(directory)?, libc::O_TMPFILE | libc::O_RDWR | flags)
        }
        _ => open_raw(&text(&path)?, libc::O_RDONLY | flags),
    }
}

/// What O_DIRECT on `path` must be aligned to, or on a new file there (in it, if it is a directory); `None` where it is not
/// possible.
///
/// # Errors
/// That nothing may be opened or made there at all, with O_DIRECT or without: this tells nothing of O_DIRECT.
pub fn direct_align(path: &Path) -> io::Result<Option<u32>> {
    match open_to_ask(path, libc::O_DIRECT) {
        Ok(fd) => Ok(dio_align(&fd)),
        // No files without a name here (the kernel's answers, old and new). A file that is there is no such case.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => {
            let directory = path.ancestors().find(|place| place.is_dir());
            Ok(directory.filter(|directory| takes_direct_unasked(directory)).map(|_| PAGE_ALIGN))
        }
        Err(error) if matches!(error.raw_os_error(), Some(libc::EROFS | libc::EACCES | libc::EPERM)) => {
            Err(error)
        }
        Err(_) => Ok(None),
    }
}

/// Whether files of the file system take O_DIRECT, for those that have no files without a name to ask. They do not say an
/// alignment either.
fn takes_direct_unasked(directory: &Path) -> bool {
    const NFS: u64 = 0x6969;
    const CIFS: u64 = 0xff53_4d42;
    const SMB2: u64 = 0xfe53_4d42;
    const CEPH: u64 = 0x00c3_6400;
    const VFAT: u64 = 0x4d44;
    const EXFAT: u64 = 0x2011_bab0;
    const FUSE: u64 = 0x6573_5546;
    let known = [NFS, CIFS, SMB2, CEPH, VFAT, EXFAT, FUSE];
    rustix::fs::statfs(directory).is_ok_and(|found| known.contains(&(found.f_type as u64 & 0xffff_ffff)))
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
    // Kernels before 6.1 and some file systems do not say; a page is enough for every device.
    Some(PAGE_ALIGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_io_is_looked_up_for_files_that_do_not_exist_yet() {
        let directory = tempfile::tempdir().unwrap();
        let there = directory.path().join("there");
        std::fs::write(&there, b"x").unwrap();
        let align = |path: &Path| direct_align(path).unwrap();
        assert_eq!(align(&there), align(&directory.path().join("new")));
        assert_eq!(align(&there), align(directory.path()));
        assert_eq!(align(&there), align(&directory.path().join("no/such/directory/yet")));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing was made");
        assert_eq!(align(Path::new("/proc/at/all")), None);
    }
}
