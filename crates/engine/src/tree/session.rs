//! A file that is open to be read or written block by block.

use std::os::fd::{AsFd, OwnedFd};

use assay_workload::job::FlushCall;
use assay_workload::rng::Rng;
use assay_workload::tree::TreeOperation;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::FILE_MODE;
use super::doing::Touch;
use super::worker::Worker;

/// Every so many reads the buffer is looked at.
const ZERO_SAMPLE: u32 = 512;

/// How a file is used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Use {
    /// Reads as well as writes.
    pub(super) both: bool,
    /// Blocks at random; else from a start to the end.
    pub(super) random: bool,
    /// Start at a random block.
    pub(super) random_start: bool,
    /// Delete the file and make it anew before it is written.
    pub(super) anew: bool,
    /// Other threads may use the file too.
    pub(super) shared: bool,
    /// After so many blocks it is closed.
    pub(super) ios: Option<u64>,
    /// After this share of its size it is closed, per cent.
    pub(super) percent: Option<f64>,
}

/// An open file.
#[derive(Debug)]
pub(super) struct Session {
    file: OwnedFd,
    tree: usize,
    item: u64,
    how: Use,
    position: u64,
    /// Blocks end here.
    end: u64,
    ios_left: u64,
    bytes_left: u64,
    /// Its size when it was opened, and the end of what was written since.
    existing: u64,
    written_end: u64,
    writes: u64,
}

impl Session {
    /// Whether the file has been used enough.
    fn is_over(&self) -> bool {
        self.ios_left == 0 || self.bytes_left == 0 || (!self.how.random && self.position >= self.end)
    }

    /// Offset and length of the next block of `wanted` bytes.
    fn next_block(&mut self, wanted: u32, rng: &mut Rng) -> (u64, usize) {
        if self.how.random {
            let len = u64::from(wanted).min(self.end).max(1);
            return (rng.below(self.end / len) * len, len as usize);
        }
        let len = u64::from(wanted).min(self.end - self.position);
        self.position += len;
        (self.position - len, len as usize)
    }
}

impl Worker<'_> {
    /// Opens the claimed file `item` of tree `tree` for `operation`. `false`: it could not be opened and was released.
    pub(super) fn open_session(
        &mut self,
        tree: usize,
        item: u64,
        operation: TreeOperation,
        how: Use,
    ) -> bool {
        let access = match operation {
            _ if how.both => OFlags::RDWR,
            TreeOperation::Read => OFlags::RDONLY,
            _ => OFlags::WRONLY,
        };
        let writes = how.both || operation == TreeOperation::Write;
        let flags = access | if writes { self.write_flags } else { self.read_flags };
        let held = &self.job.trees[tree];
        let place = self.text.set_file(held.state.layout(), item);
        let mut flags = (flags, TreeOperation::Open);
        if how.anew && writes {
            let start = self.meter.starts(Touch::whole(TreeOperation::Delete, tree, item));
            if !self.meter.along(TreeOperation::Delete, start, held.anchor.unlink(place)) {
                held.state.release_file(item);
                return false;
            }
            flags = (flags.0 | OFlags::CREATE | OFlags::EXCL, TreeOperation::Create);
        }
        let start = self.meter.starts(Touch::whole(flags.1, tree, item));
        let opened = held.anchor.open_at(place, flags.0, FILE_MODE);
        let stat = opened.as_ref().map_err(|errno| *errno).and_then(rustix::fs::fstat);
        self.meter.along(flags.1, start, opened.as_ref().map(|_| ()).map_err(|errno| *errno));
        let (Ok(file), Ok(stat)) = (opened, stat) else {
            if how.anew && writes {
                held.state.release_absent(item);
            } else if !how.shared {
                held.state.release_file(item);
            }
            return false;
        };
        let existing = u64::try_from(stat.st_size).unwrap_or(0);
        self.session = Some(self.session_of(file, (tree, item), (operation, how), existing));
        true
    }

    fn session_of(
        &mut self,
        file: OwnedFd,
        (tree, item): (usize, u64),
        (operation, how): (TreeOperation, Use),
        existing: u64,
    ) -> Session {
        let size = self.job.trees[tree].state.layout().size_bytes(item);
        let reads = how.both || operation == TreeOperation::Read;
        let end = if reads { existing.min(size) } else { size };
        let block = self.block_bytes_max.max(1);
        let mut position = 0;
        if how.random_start {
            position = self.rng.below(end.div_ceil(block).max(1)) * block;
        } else if !reads && existing < size {
            // What is there already is continued.
            position = existing;
        }
        let share = |percent: f64| ((size as f64 * percent / 100.0) as u64).max(1);
        let whole = if how.random { size.max(1) } else { u64::MAX };
        Session {
            file,
            tree,
            item,
            how,
            position,
            end,
            ios_left: how.ios.unwrap_or(u64::MAX),
            bytes_left: how.percent.map_or(if how.ios.is_some() { u64::MAX } else { whole }, share),
            existing,
            written_end: 0,
            writes: 0,
        }
    }

    /// Reads or writes one block of the open file; closes it when it has been used enough.
    pub(super) fn block(&mut self, operation: TreeOperation, intended: Option<u64>) {
        let Some(mut session) = self.session.take() else { return };
        let write = operation == TreeOperation::Write;
        let sizes = if write { &self.write_sizes } else { &self.read_sizes };
        let wanted = sizes.draw(&mut self.rng);
        let (offset, len) = session.next_block(wanted, &mut self.rng);
        // SAFETY: the slot exists, and nothing asynchronous is done here.
        let buffer = unsafe { self.buffers.slice_mut(0, len) };
        if write {
            self.filler.refresh(buffer);
        }
        let touch = Touch::block(operation, session.tree, session.item, offset, len);
        let start = self.meter.begins(touch, intended);
        let moved = if write {
            rustix::io::pwrite(&session.file, buffer, offset)
        } else {
            rustix::io::pread(&session.file, &mut *buffer, offset)
        };
        // A short transfer has no errno of its own; EIO is what an application would make of it.
        let done = moved.and_then(|moved| if moved == len { Ok(len as u64) } else { Err(Errno::IO) });
        let ok = self.meter.requested(operation, start, intended, done);
        if ok && !write {
            self.look_for_zeros(len);
        }
        if ok && write {
            session.written_end = session.written_end.max(offset + len as u64);
            session.writes += 1;
            self.flush_after_write(&session);
        }
        session.ios_left = session.ios_left.saturating_sub(1);
        session.bytes_left = session.bytes_left.saturating_sub(len as u64);
        let over = !ok || session.is_over();
        self.session = Some(session);
        if over {
            self.close_session();
        }
    }

    fn flush_after_write(&mut self, session: &Session) {
        let Some(flush) = self.planned.flush.periodic else { return };
        if !session.writes.is_multiple_of(u64::from(flush.every_writes.max(1))) {
            return;
        }
        let data_only = flush.call == FlushCall::Fdatasync;
        let start = self.meter.starts(Touch::flush(data_only, session.tree, session.item));
        let done = match flush.call {
            FlushCall::Fsync => rustix::fs::fsync(&session.file),
            FlushCall::Fdatasync => rustix::fs::fdatasync(&session.file),
        };
        self.meter.flushed(start, done);
    }

    fn look_for_zeros(&mut self, len: usize) {
        self.until_zero_sample = self.until_zero_sample.checked_sub(1).unwrap_or(ZERO_SAMPLE);
        if self.until_zero_sample == 0 {
            // SAFETY: as in block(); the slot holds what was just read.
            let bytes = unsafe { self.buffers.slice_mut(0, len.min(4096)) };
            let zero = bytes.iter().all(|byte| *byte == 0);
            self.meter.sampled(zero);
        }
    }

    /// Closes the open file, if there is one, and releases it with its new size.
    pub(super) fn close_session(&mut self) {
        let Some(session) = self.session.take() else { return };
        let Session { file, tree, item, how, existing, written_end, writes, .. } = session;
        if writes > 0 && self.planned.flush.at_end {
            let start = self.meter.starts(Touch::flush(false, tree, item));
            let done = rustix::fs::fsync(file.as_fd());
            self.meter.flushed(start, done);
        }
        self.close_along(file, tree, item);
        let state = &self.job.trees[tree].state;
        let bytes = existing.max(written_end);
        if how.shared {
            state.grown(item, bytes);
        } else {
            state.release_written(item, bytes);
        }
    }

    /// Closes a file that was opened for something else.
    pub(super) fn close_along(&mut self, file: OwnedFd, tree: usize, item: u64) {
        let start = self.meter.starts(Touch::whole(TreeOperation::Close, tree, item));
        self.meter.along(TreeOperation::Close, start, close(file));
    }
}

/// Closes, and says what the kernel said: a network file system may report a failed write only here.
pub(super) fn close(file: OwnedFd) -> Result<(), Errno> {
    use std::os::fd::IntoRawFd as _;
    // SAFETY: the descriptor was owned, and is given up with this call whatever it returns.
    if unsafe { libc::close(file.into_raw_fd()) } == 0 {
        return Ok(());
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
