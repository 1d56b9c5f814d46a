//! Which engine is best on a target, where the choice is ours.
//!
//! io_uring wins wherever the file can be asked without waiting (NOWAIT): ext4, xfs, btrfs, most block devices. Where it
//! cannot (zram, tmpfs, many FUSE and network file systems), every request goes through a kernel worker thread, which can
//! be slower than a plain pread. Whether a target can is asked by one read with RWF_NOWAIT; where it cannot, several
//! rounds of reads through each candidate decide. One short round is often disturbed, so a candidate replaces io_uring only
//! if it is clearly faster in almost all rounds; the caller remembers the decision. Where there is no file yet, the holes of a file
//! without a name are read: the way through the kernel is the same, and nothing is written.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use assay_workload::job::{EngineKind, EngineOptions};
use assay_workload::pattern::OpKind;
use assay_workload::rng::Rng;

use crate::buffers::MappedBuffers;
use crate::clock::RealClock;
use crate::engines::aio::AioEngine;
use crate::engines::psync::PsyncEngine;
use crate::engines::uring::UringEngine;
use crate::seam::{BufferPool, Clock, Completions, Engine, EngineError, Io, OpenTarget, TargetTable, Wait};
use crate::targets::open_to_ask;

/// Reads through each candidate in a round.
const READS: u32 = 2000;
/// Length of each.
const READ_BYTES: u32 = 4096;
/// Rounds, candidates alternating; one more before them starts kernel workers and is not counted.
const ROUNDS: usize = 9;
/// Rounds in which a candidate may miss the advantage, because something else ran.
const ROUNDS_MISSED_MAX: usize = 2;
/// A candidate must be this much faster than io_uring to be taken instead.
const ADVANTAGE: f64 = 1.25;
/// A round on slow storage ends after this time.
const ROUND_NS_MAX: u64 = 30_000_000;
/// Length of the file without a name that stands for one that does not exist yet.
const STAND_IN_BYTES: u64 = 1 << 20;

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

/// Tries the engines on a target of `bytes`, or for 0 on what a new file at `path` will be, so that the first run chooses what
/// later runs choose; `None` where io_uring is the right choice, or nothing can be tried.
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
    let fd = file.as_raw_fd();
    if bytes < u64::from(READ_BYTES) || nowait(fd) != Some(false) {
        return Ok(None);
    }
    let uring = |depth| UringEngine::new(depth, EngineOptions::default());
    let (Ok(mut one), Ok(mut many)) = (
        uring(1).and_then(|engine| Trial::new(engine, fd, bytes, 1)),
        uring(32).and_then(|engine| Trial::new(engine, fd, bytes, 32)),
    ) else {
        return Ok(None);
    };
    let mut psync = Trial::new(PsyncEngine::new(1), fd, bytes, 1)?;
    let single = pick(EngineKind::Psync, &ratios(|| psync.rate(), || one.rate())?);
    let libaio = AioEngine::new(32).and_then(|engine| Trial::new(engine, fd, bytes, 32));
    let several = match libaio {
        Ok(mut libaio) => pick(EngineKind::Libaio, &ratios(|| libaio.rate(), || many.rate())?),
        Err(_) => (EngineKind::IoUring, "auto: libaio is not available".to_owned()),
    };
    Ok(Some(Choice { single, several }))
}

/// Rate of a candidate over that of io_uring, round by round.
fn ratios(
    mut candidate: impl FnMut() -> Result<f64, EngineError>,
    mut uring: impl FnMut() -> Result<f64, EngineError>,
) -> Result<Vec<f64>, EngineError> {
    candidate()?;
    uring()?;
    (0..ROUNDS).map(|_| Ok(candidate()? / uring()?)).collect()
}

/// The engine that these rounds speak for, and why. No figures: they would be others each time, and a plan says the same as
/// long as it is the same.
fn pick(candidate: EngineKind, ratios: &[f64]) -> (EngineKind, String) {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    let name = candidate.name();
    let before = "auto: no NOWAIT here, so io_uring goes through kernel workers;";
    if sorted[ROUNDS_MISSED_MAX] >= ADVANTAGE {
        (candidate, format!("{before} {name} was faster in a trial"))
    } else {
        (EngineKind::IoUring, format!("{before} {name} was not clearly faster in a trial"))
    }
}

/// A candidate with its buffers.
struct Trial<E> {
    engine: E,
    /// Held until the engine is dropped: it reads into them.
    _buffers: MappedBuffers,
    blocks: u64,
    depth: u32,
    rng: Rng,
}

impl<E: Engine> Trial<E> {
    fn new(mut engine: E, fd: RawFd, bytes: u64, depth: u32) -> Result<Self, EngineError> {
        let buffers = MappedBuffers::new(depth, READ_BYTES as usize)?;
        let target = OpenTarget { fd, size_bytes: bytes, block_device: false };
        engine.prepare(&TargetTable { targets: vec![target] }, &buffers)?;
        let blocks = bytes / u64::from(READ_BYTES);
        Ok(Trial { engine, _buffers: buffers, blocks, depth, rng: Rng::new(1) })
    }

    /// Reads a second in one round, at random over the target.
    fn rate(&mut self) -> Result<f64, EngineError> {
        let mut out = Completions::with_capacity(self.depth as usize);
        let clock = RealClock::new();
        let started = clock.now_ns();
        let (mut issued, mut done) = (0, 0);
        let mut free: Vec<u32> = (0..self.depth).collect();
        let mut more = true;
        while more || done < issued {
            more = issued < READS && clock.now_ns() - started < ROUND_NS_MAX;
            while more
                && issued < READS
                && let Some(slot) = free.pop()
            {
                let offset_bytes = self.rng.below(self.blocks) * u64::from(READ_BYTES);
                let io = Io { slot, target: 0, kind: OpKind::Read, len_bytes: READ_BYTES, offset_bytes };
                // There is a slot, so there is room.
                let _ = self.engine.queue(io);
                issued += 1;
            }
            if done == issued {
                break;
            }
            let handed = self.engine.submit(Wait::AtLeast(1))?;
            self.engine.reap(&mut out, if handed.waited { Wait::Poll } else { Wait::AtLeast(1) })?;
            free.extend(out.as_slice().iter().map(|completion| completion.slot));
            done += out.as_slice().len() as u32;
            out.clear();
        }
        Ok(f64::from(done) * 1e9 / (clock.now_ns() - started).max(1) as f64)
    }
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
    }

    #[test]
    fn only_a_clear_advantage_replaces_io_uring() {
        let engine = |ratios: [f64; ROUNDS]| pick(EngineKind::Libaio, &ratios);
        // Rounds as they were seen on tmpfs: libaio is twice as fast, and one or two rounds were disturbed.
        let (kind, why) = engine([2.2, 2.3, 0.8, 2.4, 2.1, 2.3, 1.9, 2.2, 2.3]);
        assert_eq!(kind, EngineKind::Libaio);
        assert!(why.ends_with("libaio was faster in a trial"), "{why}");
        // Within the noise, whichever is ahead: io_uring, and the note does not call it the fastest.
        for ratios in [[1.2; ROUNDS], [0.8; ROUNDS], [1.6, 1.7, 0.9, 1.8, 1.0, 1.9, 1.6, 1.2, 1.8]] {
            let (kind, why) = engine(ratios);
            assert_eq!(kind, EngineKind::IoUring);
            assert!(why.contains("not clearly faster"), "{why}");
        }
    }

    #[test]
    fn trials_work_where_memory_is_the_file_system() {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
        let path = directory.path().join("f");
        // Nothing there yet: an unnamed file answers, and leaves nothing behind.
        let before = choose(&path, false, 0).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        std::fs::write(&path, vec![1; 1 << 20]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let after = choose(&path, false, 1 << 20).unwrap();
        let no_nowait = nowait(file.as_raw_fd()) == Some(false);
        assert_eq!((before.is_some(), after.is_some()), (no_nowait, no_nowait));
        assert!(after.is_none_or(|choice| choice.several.1.contains("in a trial")));
    }
}
