//! Which engine is best on a target, where the choice is ours.
//!
//! io_uring wins wherever the file can be asked without waiting (NOWAIT): ext4, xfs, btrfs, most block devices. Where it
//! cannot (zram, tmpfs, many FUSE and network file systems), every request goes through a kernel worker thread, which can
//! be slower than a plain pread. Whether a target can is asked by one read with RWF_NOWAIT; where it cannot, a few
//! hundred reads through each candidate decide. Where there is no file yet, the holes of a file without a name are read: the
//! way through the kernel is the same, and nothing is written.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use assay_workload::job::{EngineKind, EngineOptions};
use assay_workload::pattern::OpKind;
use assay_workload::rng::Rng;

use crate::aio::AioEngine;
use crate::buffers::MappedBuffers;
use crate::clock::RealClock;
use crate::psync::PsyncEngine;
use crate::seam::{BufferPool, Clock, Completions, Engine, EngineError, Io, OpenTarget, TargetTable, Wait};
use crate::targets::open_to_ask;
use crate::uring::UringEngine;

/// Reads through each candidate.
const READS: u32 = 300;
/// Length of each.
const READ_BYTES: u32 = 4096;
/// Length of the file without a name that stands for one that does not exist yet.
const STAND_IN_BYTES: u64 = 1 << 20;
/// A candidate must be this much faster than io_uring to be taken instead.
const ADVANTAGE: f64 = 1.1;

/// Whether reads of `fd` can be asked for without waiting. `None`: it holds nothing to try with.
pub fn nowait(fd: RawFd) -> Option<bool> {
    let buffers = MappedBuffers::new(1, READ_BYTES as usize).ok()?;
    let buffer = buffers.buffer(0);
    let vector = libc::iovec { iov_base: buffer.address.cast(), iov_len: READ_BYTES as usize };
    // SAFETY: the vector describes the whole of a mapped buffer that outlives the call.
    let result = unsafe { libc::preadv2(fd, &vector, 1, 0, libc::RWF_NOWAIT) };
    match result {
        0 => None,
        n if n > 0 => Some(true),
        _ => match std::io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN) => Some(true),
            Some(libc::EOPNOTSUPP) => Some(false),
            _ => None,
        },
    }
}

/// What was found out about a target.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// For one outstanding I/O, and why.
    pub single: (EngineKind, String),
    /// For several.
    pub several: (EngineKind, String),
}

/// Looks at a target of `bytes`, or for 0 at what a new file at `path` will be; `None` where io_uring is the right choice, or
/// nothing can be tried.
///
/// # Errors
/// [`EngineError`] if a candidate fails while it is tried.
pub fn choose(path: &Path, direct: bool, bytes: u64) -> Result<Option<Choice>, EngineError> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let Ok(file) = open_to_ask(path, flags).map(File::from) else { return Ok(None) };
    let new = bytes == 0 && !path.exists();
    if new && file.set_len(STAND_IN_BYTES).is_err() {
        return Ok(None);
    }
    let bytes = if new { STAND_IN_BYTES } else { bytes };
    if bytes < u64::from(READ_BYTES) || nowait(file.as_raw_fd()) != Some(false) {
        return Ok(None);
    }
    let fd = file.as_raw_fd();
    let uring =
        |depth| UringEngine::new(depth, EngineOptions::default()).and_then(|e| rate(e, fd, bytes, depth));
    let (Ok(one), Ok(many)) = (uring(1), uring(32)) else { return Ok(None) };
    let psync = rate(PsyncEngine::new(1), fd, bytes, 1)?;
    let libaio = AioEngine::new(32).and_then(|engine| rate(engine, fd, bytes, 32)).unwrap_or(0.0);
    let pick = |other: EngineKind, theirs: f64, ours: f64| {
        // No figures: they would be others each time, and a plan says the same as long as it is the same.
        if theirs > ours * ADVANTAGE {
            let why =
                "auto: no NOWAIT here, io_uring goes through kernel workers and was slower in a short trial";
            (other, why.to_owned())
        } else {
            (EngineKind::IoUring, "auto: no NOWAIT here, but still the fastest in a short trial".to_owned())
        }
    };
    Ok(Some(Choice {
        single: pick(EngineKind::Psync, psync, one),
        several: pick(EngineKind::Libaio, libaio, many),
    }))
}

/// Reads a second through `engine`, at random over the target.
fn rate<E: Engine>(mut engine: E, fd: RawFd, bytes: u64, depth: u32) -> Result<f64, EngineError> {
    let buffers = MappedBuffers::new(depth, READ_BYTES as usize)?;
    let target = OpenTarget { fd, size_bytes: bytes, block_device: false };
    engine.prepare(&TargetTable { targets: vec![target] }, &buffers)?;
    let mut rng = Rng::new(1);
    let mut out = Completions::with_capacity(depth as usize);
    let (clock, blocks) = (RealClock::new(), bytes / u64::from(READ_BYTES));
    let started = clock.now_ns();
    let (mut issued, mut done) = (0, 0);
    let mut free: Vec<u32> = (0..depth).collect();
    while done < READS {
        while issued < READS
            && let Some(slot) = free.pop()
        {
            let offset_bytes = rng.below(blocks) * u64::from(READ_BYTES);
            let io = Io { slot, target: 0, kind: OpKind::Read, len_bytes: READ_BYTES, offset_bytes };
            // There is a slot, so there is room.
            let _ = engine.submit(io);
            issued += 1;
        }
        let flushed = engine.flush(Wait::AtLeast(1))?;
        engine.reap(&mut out, if flushed.waited { Wait::Poll } else { Wait::AtLeast(1) })?;
        free.extend(out.as_slice().iter().map(|completion| completion.slot));
        done += out.as_slice().len() as u32;
        out.clear();
    }
    Ok(f64::from(READS) * 1e9 / (clock.now_ns() - started).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_made_only_where_there_is_no_nowait() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let chosen = choose(&path, false, 1 << 20).unwrap();
        match nowait(file.as_raw_fd()) {
            Some(false) => assert!(chosen.is_some_and(|choice| choice.single.1.contains("NOWAIT"))),
            _ => assert_eq!(chosen, None),
        }
    }

    #[test]
    fn an_empty_file_says_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, b"").unwrap();
        assert_eq!(nowait(std::fs::File::open(&path).unwrap().as_raw_fd()), None);
        assert_eq!(choose(&path, false, 0).unwrap(), None);
    }

    /// tmpfs has no NOWAIT for reads through io_uring's eyes only if the kernel says so; either way a trial must work.
    #[test]
    fn trials_work_where_memory_is_the_file_system() {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = directory.path().join("f");
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let chosen = choose(&path, false, 1 << 20).unwrap();
        if let Some(choice) = &chosen {
            assert!(choice.several.1.contains("in a short trial"));
        }
        // What does not exist yet is found to be the same.
        let new = choose(&directory.path().join("no/file/yet"), false, 0).unwrap();
        assert_eq!(new.map(|choice| choice.single.0), chosen.map(|choice| choice.single.0));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "nothing was made");
    }
}
