//! One thread of a tree job: what it works with (buffers, paths, the open file) and the operations it can do.

use std::os::fd::{AsFd, OwnedFd};

use assay_workload::fill::Filler;
use assay_workload::job::OpenSync;
use assay_workload::ops::BlockSizer;
use assay_workload::pattern::{AccessPattern, OpKind};
use assay_workload::plan::{PlannedJob, ThreadSlice};
use assay_workload::rng::{Rng, derive_seed};
use assay_workload::tree::{Task, TreeOperation};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::anchor::PathText;
use super::doing::Touch;
use super::meter::Meter;
use super::session::{Session, close};
use super::{FILE_MODE, TreeJob};
use crate::buffers::MappedBuffers;
use crate::seam::EngineError;

/// See the module's description.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    pub(super) job: &'a TreeJob,
    pub(super) planned: &'a PlannedJob,
    pub(super) meter: Meter,
    pub(super) rng: Rng,
    pub(super) buffers: MappedBuffers,
    pub(super) filler: Filler,
    pub(super) read_sizes: BlockSizer,
    pub(super) write_sizes: BlockSizer,
    pub(super) block_bytes_max: u64,
    pub(super) read_flags: OFlags,
    pub(super) write_flags: OFlags,
    pub(super) text: PathText,
    pub(super) other: PathText,
    pub(super) session: Option<Session>,
    pub(super) until_zero_sample: u32,
}

/// Resources of a thread whose allocation can fail, allocated before anything is measured.
#[derive(Debug)]
pub(super) struct ThreadBuffers {
    buffers: MappedBuffers,
    filler: Filler,
}

fn largest_block(pattern: &AccessPattern) -> u64 {
    pattern.read_sizes.max_bytes().max(pattern.write_sizes.max_bytes()).max(1)
}

impl ThreadBuffers {
    pub(super) fn new(planned: &PlannedJob, slice: &ThreadSlice) -> Result<Self, EngineError> {
        let bytes = largest_block(&planned.pattern) as usize;
        let mut buffers = MappedBuffers::new(1, bytes)?;
        let mut filler = Filler::new(&planned.content, derive_seed(slice.seed, 2));
        // SAFETY: no I/O is outstanding yet.
        filler.fill(unsafe { buffers.slice_mut(0, bytes) });
        Ok(ThreadBuffers { buffers, filler })
    }
}

impl<'a> Worker<'a> {
    pub(super) fn new(
        job: &'a TreeJob,
        planned: &'a PlannedJob,
        slice: &ThreadSlice,
        thread: ThreadBuffers,
        meter: Meter,
    ) -> Self {
        let direct = if planned.direct { OFlags::DIRECT } else { OFlags::empty() };
        let sync = match planned.flush.open {
            OpenSync::None => OFlags::empty(),
            OpenSync::Dsync => OFlags::DSYNC,
            OpenSync::Sync => OFlags::SYNC,
        };
        let pattern = &planned.pattern;
        Worker {
            job,
            planned,
            meter,
            rng: Rng::new(derive_seed(slice.seed, 6)),
            buffers: thread.buffers,
            filler: thread.filler,
            read_sizes: BlockSizer::new(pattern.sizes(OpKind::Read)),
            write_sizes: BlockSizer::new(pattern.sizes(OpKind::Write)),
            block_bytes_max: largest_block(pattern),
            read_flags: direct,
            write_flags: direct | sync,
            text: PathText::new(),
            other: PathText::new(),
            session: None,
            until_zero_sample: 1,
        }
    }

    /// Does something to what was claimed in tree `tree`, and releases it.
    pub(super) fn perform(&mut self, tree: usize, task: Task, intended: Option<u64>) {
        match task.operation {
            TreeOperation::Mkdir | TreeOperation::Rmdir => self.directory(tree, task, intended),
            TreeOperation::Create => self.create(tree, task.item, intended),
            TreeOperation::Delete => self.delete(tree, task.item, intended),
            TreeOperation::Open | TreeOperation::Close => self.open_and_close(tree, task, intended),
            TreeOperation::Copy => self.copy(tree, task, intended),
            TreeOperation::Move => self.rename(tree, task, intended),
            TreeOperation::Getattr | TreeOperation::Setattr | TreeOperation::Access => {
                self.attributes(tree, task, intended);
            }
            // Blocks are read and written through sessions.
            TreeOperation::Read | TreeOperation::Write => self.job.trees[tree].state.release_file(task.item),
        }
    }

    fn directory(&mut self, tree: usize, task: Task, intended: Option<u64>) {
        let held = &self.job.trees[tree];
        let place = self.text.set_directory(held.state.layout(), task.item);
        let make = task.operation == TreeOperation::Mkdir;
        let start = self.meter.begins(Touch::whole(task.operation, tree, task.item), intended);
        let done = if make { held.anchor.mkdir(place) } else { held.anchor.rmdir(place) };
        self.meter.requested(task.operation, start, intended, done.map(|()| 0));
        // What the kernel says it is, it is.
        let exists = match done {
            Ok(()) => make,
            Err(errno) => errno == Errno::EXIST || (!make && errno != Errno::NOENT),
        };
        if exists {
            held.state.made_directory(task.item);
        } else {
            held.state.removed_directory(task.item);
        }
    }

    fn create(&mut self, tree: usize, item: u64, intended: Option<u64>) {
        let held = &self.job.trees[tree];
        let place = self.text.set_file(held.state.layout(), item);
        let flags = self.write_flags | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let start = self.meter.begins(Touch::whole(TreeOperation::Create, tree, item), intended);
        let made = held.anchor.open_at(place, flags, FILE_MODE);
        let done = made.as_ref().map(|_| 0).map_err(|errno| *errno);
        self.meter.requested(TreeOperation::Create, start, intended, done);
        match made {
            Ok(file) => {
                self.close_along(file, tree, item);
                held.state.release_written(item, 0);
            }
            Err(_) => held.state.release_absent(item),
        }
    }

    fn delete(&mut self, tree: usize, item: u64, intended: Option<u64>) {
        let held = &self.job.trees[tree];
        let place = self.text.set_file(held.state.layout(), item);
        let start = self.meter.begins(Touch::whole(TreeOperation::Delete, tree, item), intended);
        let done = held.anchor.unlink(place);
        self.meter.requested(TreeOperation::Delete, start, intended, done.map(|()| 0));
        match done {
            Ok(()) | Err(Errno::NOENT) => held.state.release_absent(item),
            Err(_) => held.state.release_file(item),
        }
    }

    fn open_and_close(&mut self, tree: usize, task: Task, intended: Option<u64>) {
        let held = &self.job.trees[tree];
        let place = self.text.set_file(held.state.layout(), task.item);
        let flags = self.read_flags | OFlags::RDONLY;
        let touch = |operation| Touch::whole(operation, tree, task.item);
        if task.operation == TreeOperation::Open {
            let start = self.meter.begins(touch(TreeOperation::Open), intended);
            let opened = held.anchor.open_at(place, flags, FILE_MODE);
            let done = opened.as_ref().map(|_| 0).map_err(|errno| *errno);
            self.meter.requested(TreeOperation::Open, start, intended, done);
            if let Ok(file) = opened {
                self.close_along(file, tree, task.item);
            }
        } else {
            let start = self.meter.starts(touch(TreeOperation::Open));
            let opened = held.anchor.open_at(place, flags, FILE_MODE);
            let done = opened.as_ref().map(|_| ()).map_err(|errno| *errno);
            self.meter.along(TreeOperation::Open, start, done);
            if let Ok(file) = opened {
                let start = self.meter.begins(touch(TreeOperation::Close), intended);
                let done = close(file).map(|()| 0);
                self.meter.requested(TreeOperation::Close, start, intended, done);
            }
        }
        held.state.release_file(task.item);
    }

    fn attributes(&mut self, tree: usize, task: Task, intended: Option<u64>) {
        let held = &self.job.trees[tree];
        let place = self.text.set_file(held.state.layout(), task.item);
        let start = self.meter.begins(Touch::whole(task.operation, tree, task.item), intended);
        let done = match task.operation {
            TreeOperation::Getattr => held.anchor.stat(place).map(|_| 0),
            TreeOperation::Setattr => held.anchor.touch(place).map(|()| 0),
            _ => held.anchor.access(place).map(|()| 0),
        };
        self.meter.requested(task.operation, start, intended, done);
        held.state.release_file(task.item);
    }

    /// The tree and file that a copy or move of `task` goes to; it is claimed.
    fn destination(&self, tree: usize, task: Task) -> (usize, u64) {
        match task.destination {
            Some((other, _)) => (tree, other),
            None => (self.job.copy_to.unwrap_or(tree), task.item),
        }
    }

    fn copy(&mut self, tree: usize, task: Task, intended: Option<u64>) {
        let (to, item) = self.destination(tree, task);
        let (from, target) = (&self.job.trees[tree], &self.job.trees[to]);
        let start = self.meter.begins(Touch::whole(TreeOperation::Copy, tree, task.item), intended);
        let source = self.text.set_file(from.state.layout(), task.item);
        let place = self.other.set_file(target.state.layout(), item);
        let read = from.anchor.open_at(source, self.read_flags | OFlags::RDONLY, FILE_MODE);
        let new = self.write_flags | OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let write = read.and_then(|read| Ok((read, target.anchor.open_at(place, new, FILE_MODE)?)));
        let (made, mut bytes) = (write.is_ok(), 0);
        let done = write.and_then(|(read, write)| {
            self.copy_blocks(&read, &write, &mut bytes)?;
            if self.planned.flush.at_end {
                rustix::fs::fsync(write.as_fd())?;
            }
            close(write)
        });
        self.meter.requested(TreeOperation::Copy, start, intended, done.map(|()| bytes));
        from.state.release_file(task.item);
        if made {
            target.state.release_written(item, bytes);
        } else if task.destination.is_none_or(|(_, existed)| existed) && self.stands(to, item) {
            target.state.release_file(item);
        } else {
            target.state.release_absent(item);
        }
    }

    /// Whether a file exists as a plain look says.
    fn stands(&mut self, tree: usize, item: u64) -> bool {
        let held = &self.job.trees[tree];
        held.anchor.stat(self.other.set_file(held.state.layout(), item)).is_ok()
    }

    fn copy_blocks(&mut self, read: &OwnedFd, write: &OwnedFd, bytes: &mut u64) -> Result<(), Errno> {
        loop {
            let len = self.write_sizes.draw(&mut self.rng) as usize;
            // SAFETY: the slot exists, and nothing asynchronous is done here.
            let buffer = unsafe { self.buffers.slice_mut(0, len) };
            let got = rustix::io::pread(read, &mut *buffer, *bytes)?;
            if got == 0 {
                return Ok(());
            }
            if rustix::io::pwrite(write, &buffer[..got], *bytes)? != got {
                return Err(Errno::IO);
            }
            *bytes += got as u64;
        }
    }

    fn rename(&mut self, tree: usize, task: Task, intended: Option<u64>) {
        let (to, item) = self.destination(tree, task);
        let (from, target) = (&self.job.trees[tree], &self.job.trees[to]);
        let source = self.text.set_file(from.state.layout(), task.item);
        let place = self.other.set_file(target.state.layout(), item);
        let start = self.meter.begins(Touch::whole(TreeOperation::Move, tree, task.item), intended);
        let done = from.anchor.rename(source, &target.anchor, place);
        self.meter.requested(TreeOperation::Move, start, intended, done.map(|()| 0));
        if done.is_ok() {
            let bytes = target.anchor.stat(place).map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
            from.state.release_absent(task.item);
            target.state.release_written(item, bytes);
            return;
        }
        from.state.release_file(task.item);
        if self.stands(to, item) {
            target.state.release_file(item);
        } else {
            target.state.release_absent(item);
        }
    }
}
