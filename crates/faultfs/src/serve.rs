//! Answers to the kernel.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::consts::{FOPEN_DIRECT_IO, FUSE_ASYNC_DIO};
use fuser::{
    FileAttr, FileType, Filesystem, KernelConfig, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
};
use libc::{EEXIST, EINVAL, EIO, ENOENT, ENOSPC, ENOTDIR, ENOTEMPTY, EOPNOTSUPP};

use crate::Options;
use crate::late::Late;
use crate::rule::{Done, Fault, Op, Rules};
use crate::tree::{Body, Directory, File, Node, ROOT, SECTOR_BYTES, Tree};

/// Nothing is remembered by the kernel: every look-up is seen.
const TTL: Duration = Duration::ZERO;
const BLOCK_BYTES: u32 = 4096;
/// `FOPEN_PARALLEL_DIRECT_WRITES`: several writes to one file at once.
const PARALLEL_WRITES: u32 = 1 << 6;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) tree: Tree,
    pub(crate) rules: Rules,
    pub(crate) capacity_bytes: u64,
    counts: HashMap<(u8, String), u64>,
    cached: bool,
}

impl State {
    pub(crate) fn new(options: Options) -> State {
        State {
            tree: Tree::new(options.power_cuts),
            rules: Rules::default(),
            capacity_bytes: options.capacity_bytes,
            counts: HashMap::new(),
            cached: options.cached,
        }
    }

    pub(crate) fn count(&self, op: Op, file: &str) -> u64 {
        self.counts.get(&(op as u8, file.to_owned())).copied().unwrap_or(0)
    }

    /// Counts an operation; what befalls it.
    fn fault(&mut self, op: Op, number: u64, offset: u64, len: u32) -> Result<Option<Fault>, i32> {
        let node = self.tree.get(number).ok_or(EIO)?;
        let file = node.name.to_string_lossy().into_owned();
        let fault = self.rules.fault_of(Done { op, file: &file, offset, len });
        *self.counts.entry((op as u8, file)).or_default() += 1;
        Ok(fault)
    }

    fn attributes(&self, number: u64) -> Result<FileAttr, i32> {
        // What was there before a power cut is gone, and its descriptors with it.
        let node = self.tree.get(number).ok_or(EIO)?;
        let (kind, size) = match &node.body {
            Body::File(file) => (FileType::RegularFile, file.data.len() as u64),
            Body::Directory(_) => (FileType::Directory, u64::from(BLOCK_BYTES)),
            Body::Link(to) => (FileType::Symlink, to.len() as u64),
        };
        Ok(FileAttr {
            ino: number,
            size,
            blocks: size.div_ceil(512),
            atime: node.modified,
            mtime: node.modified,
            ctime: node.modified,
            crtime: node.modified,
            kind,
            perm: (node.mode & 0o7777) as u16,
            nlink: node.links.max(1),
            uid: node.owner.0,
            gid: node.owner.1,
            rdev: 0,
            blksize: BLOCK_BYTES,
            flags: 0,
        })
    }

    fn child(&self, parent: u64, name: &OsStr) -> Result<u64, i32> {
        let directory = self.tree.directory(parent).ok_or(EIO)?;
        directory.entries.get(name).copied().ok_or(ENOENT)
    }

    fn make(&mut self, parent: u64, name: &OsStr, made: Made<'_>) -> Result<FileAttr, i32> {
        if self.child(parent, name).is_ok() {
            return Err(EEXIST);
        }
        self.tree.directory(parent).ok_or(EIO)?;
        let owner = (made.request.uid(), made.request.gid());
        let number = self.tree.make(name, made.mode, owner, made.body);
        self.tree.rename(vec![(parent, name.to_owned(), Some(number))]);
        self.attributes(number)
    }

    fn remove(&mut self, parent: u64, name: &OsStr) -> Result<(), i32> {
        let number = self.child(parent, name)?;
        if self.tree.directory(number).is_some_and(|directory| !directory.entries.is_empty()) {
            return Err(ENOTEMPTY);
        }
        self.tree.rename(vec![(parent, name.to_owned(), None)]);
        Ok(())
    }

    fn rename(&mut self, from: (u64, &OsStr), to: (u64, &OsStr), flags: u32) -> Result<(), i32> {
        let moved = self.child(from.0, from.1)?;
        let there = self.child(to.0, to.1);
        let last = (to.0, to.1.to_owned(), Some(moved));
        let first = match (flags, there) {
            (0, Ok(there)) if self.tree.directory(there).is_some_and(|dir| !dir.entries.is_empty()) => {
                return Err(ENOTEMPTY);
            }
            (libc::RENAME_NOREPLACE, Ok(_)) => return Err(EEXIST),
            (0 | libc::RENAME_NOREPLACE, _) => None,
            (libc::RENAME_EXCHANGE, there) => Some(there?),
            _ => return Err(EINVAL),
        };
        self.tree.rename(vec![(from.0, from.1.to_owned(), first), last]);
        Ok(())
    }

    fn read(&mut self, number: u64, offset: u64, len: u32) -> Result<(Vec<u8>, Option<Fault>), i32> {
        let fault = self.fault(Op::Read, number, offset, len)?;
        let file = self.tree.file(number).ok_or(EIO)?;
        let mut data = match fault {
            Some(Fault::Error(errno)) => return Err(errno),
            Some(Fault::Stale) => file.read_before(offset, len),
            Some(Fault::Misdirected(by)) => file.read(offset + by, len),
            _ => file.read(offset, len),
        };
        match fault {
            Some(Fault::Short(bytes)) => data.truncate(bytes as usize),
            Some(Fault::BitFlip(bit)) => flip(&mut data, bit),
            _ => {}
        }
        Ok((data, fault))
    }

    /// How many bytes are said to be written.
    fn write(&mut self, to: Written<'_>) -> Result<(u32, Option<Fault>), i32> {
        let Written { number, offset, data, durable } = to;
        let fault = self.fault(Op::Write, number, offset, data.len() as u32)?;
        let (mut said, mut stored, mut offset) = (data.len(), data.to_vec(), offset);
        match fault {
            Some(Fault::Error(errno)) => return Err(errno),
            Some(Fault::Short(bytes)) => said = said.min(bytes as usize),
            Some(Fault::Torn(sectors)) => stored.truncate(sectors as usize * SECTOR_BYTES as usize),
            Some(Fault::Lost) => stored.clear(),
            Some(Fault::Misdirected(by)) => offset += by,
            Some(Fault::BitFlip(bit)) => flip(&mut stored, bit),
            _ => {}
        }
        said = said.min(self.fits(number, offset, said as u64)? as usize);
        stored.truncate(said);
        if !stored.is_empty() {
            self.tree.write(number, offset, &stored);
        }
        if durable && fault != Some(Fault::Lost) {
            self.tree.sync(number);
        }
        Ok((said as u32, fault))
    }

    /// How many bytes can be written there.
    fn fits(&self, number: u64, offset: u64, len: u64) -> Result<u64, i32> {
        let size = self.tree.file(number).ok_or(EIO)?.data.len() as u64;
        let more = (offset + len).saturating_sub(size);
        if more == 0 {
            return Ok(len);
        }
        let free = self.capacity_bytes.saturating_sub(self.tree.used_bytes());
        if free >= more {
            return Ok(len);
        }
        Some(len.saturating_sub(more - free)).filter(|fits| *fits > 0).ok_or(ENOSPC)
    }

    fn sync(&mut self, number: u64) -> Result<Option<Fault>, i32> {
        let fault = self.fault(Op::Flush, number, 0, 0)?;
        match fault {
            Some(Fault::Error(errno)) => return Err(errno),
            Some(Fault::Lost) => self.tree.promise(number),
            _ => self.tree.sync(number),
        }
        Ok(fault)
    }

    fn change(&mut self, number: u64, change: &Change) -> Result<FileAttr, i32> {
        if let Some(bytes) = change.size {
            self.tree.file(number).ok_or(EIO)?;
            self.tree.resize(number, bytes);
        }
        let node = self.tree.get_mut(number).ok_or(EIO)?;
        node.mode = change.mode.unwrap_or(node.mode);
        node.owner = (change.uid.unwrap_or(node.owner.0), change.gid.unwrap_or(node.owner.1));
        match change.modified {
            Some(TimeOrNow::SpecificTime(time)) => node.modified = time,
            Some(TimeOrNow::Now) => node.modified = SystemTime::now(),
            None => {}
        }
        self.attributes(number)
    }

    fn allocate(&mut self, number: u64, offset: u64, len: u64, mode: i32) -> Result<(), i32> {
        let size = self.tree.file(number).ok_or(EIO)?.data.len() as u64;
        let zeroes = mode & (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0;
        if mode & !(libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE) != 0
        {
            return Err(EOPNOTSUPP);
        }
        if mode & libc::FALLOC_FL_KEEP_SIZE == 0 && offset + len > size {
            if self.fits(number, offset, len)? < len {
                return Err(ENOSPC);
            }
            self.tree.resize(number, offset + len);
        }
        let size = self.tree.file(number).ok_or(EIO)?.data.len() as u64;
        if zeroes && offset < size {
            self.tree.write(number, offset, &vec![0; len.min(size - offset) as usize]);
        }
        Ok(())
    }

    fn open_flags(&self) -> u32 {
        if self.cached { 0 } else { FOPEN_DIRECT_IO | PARALLEL_WRITES }
    }
}

fn flip(data: &mut [u8], bit: u64) {
    if let Some(byte) = data.get_mut((bit / 8) as usize) {
        *byte ^= 1 << (bit % 8);
    }
}

/// What a new node is.
struct Made<'a> {
    request: &'a Request<'a>,
    mode: u32,
    body: Body,
}

/// A write.
struct Written<'a> {
    number: u64,
    offset: u64,
    data: &'a [u8],
    durable: bool,
}

/// What is set of a node.
struct Change {
    mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    size: Option<u64>,
    modified: Option<TimeOrNow>,
}

/// Serves one mount.
#[derive(Debug)]
pub(crate) struct Server {
    state: Arc<Mutex<State>>,
    late: Arc<Late>,
}

impl Server {
    pub(crate) fn new(state: Arc<Mutex<State>>, late: Arc<Late>) -> Server {
        Server { state, late }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers now, or when the fault says so.
    fn answer(&self, fault: Option<Fault>, answer: impl FnOnce(Option<i32>) + Send + 'static) {
        match fault {
            Some(Fault::Delay(delay)) => self.late.after(delay, Box::new(answer)),
            Some(Fault::Queue(service)) => self.late.queue(service, Box::new(answer)),
            Some(Fault::Hang) => self.late.park(Box::new(answer)),
            _ => answer(None),
        }
    }
}

fn entry(made: Result<FileAttr, i32>, reply: ReplyEntry) {
    match made {
        Ok(attributes) => reply.entry(&TTL, &attributes, 0),
        Err(errno) => reply.error(errno),
    }
}

fn empty(done: Result<(), i32>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(errno),
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request<'_>, config: &mut KernelConfig) -> Result<(), i32> {
        // Without it libaio and io_uring would wait for each direct I/O in the call that submits it.
        let _ = config.add_capabilities(FUSE_ASYNC_DIO);
        let _ = config.set_max_background(1024);
        let _ = config.set_congestion_threshold(1024);
        Ok(())
    }

    fn lookup(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let state = self.state();
        entry(state.child(parent, name).and_then(|number| state.attributes(number)), reply);
    }

    fn getattr(&mut self, _: &Request<'_>, number: u64, _: Option<u64>, reply: ReplyAttr) {
        match self.state().attributes(number) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn setattr(
        &mut self,
        _: &Request<'_>,
        number: u64,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        match self.state().change(number, &Change { mode, uid, gid, size, modified }) {
            Ok(attributes) => reply.attr(&TTL, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&mut self, _: &Request<'_>, number: u64, reply: ReplyData) {
        match self.state().tree.get(number).map(|node| &node.body) {
            Some(Body::Link(to)) => reply.data(to.as_bytes()),
            Some(_) => reply.error(EINVAL),
            None => reply.error(EIO),
        }
    }

    fn mkdir(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let body = Body::Directory(Directory::default());
        entry(self.state().make(parent, name, Made { request, mode, body }), reply);
    }

    fn unlink(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        empty(self.state().remove(parent, name), reply);
    }

    fn rmdir(&mut self, _: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        empty(self.state().remove(parent, name), reply);
    }

    fn symlink(&mut self, request: &Request<'_>, parent: u64, name: &OsStr, to: &Path, reply: ReplyEntry) {
        let body = Body::Link(to.as_os_str().to_owned());
        entry(self.state().make(parent, name, Made { request, mode: 0o777, body }), reply);
    }

    fn rename(
        &mut self,
        _: &Request<'_>,
        parent: u64,
        name: &OsStr,
        new_parent: u64,
        new_name: &OsStr,
        flags: u32,
        reply: ReplyEmpty,
    ) {
        empty(self.state().rename((parent, name), (new_parent, new_name), flags), reply);
    }

    fn link(&mut self, _: &Request<'_>, number: u64, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let mut state = self.state();
        if state.child(parent, name).is_ok() {
            return reply.error(EEXIST);
        }
        state.tree.rename(vec![(parent, name.to_owned(), Some(number))]);
        entry(state.attributes(number), reply);
    }

    fn create(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let mut state = self.state();
        match state.make(parent, name, Made { request, mode, body: Body::File(File::default()) }) {
            Ok(attributes) => reply.created(&TTL, &attributes, 0, 0, state.open_flags()),
            Err(errno) => reply.error(errno),
        }
    }

    fn open(&mut self, _: &Request<'_>, number: u64, _: i32, reply: ReplyOpen) {
        let state = self.state();
        match state.tree.get(number) {
            Some(_) => reply.opened(0, state.open_flags()),
            None => reply.error(EIO),
        }
    }

    fn read(
        &mut self,
        _: &Request<'_>,
        number: u64,
        _: u64,
        offset: i64,
        len: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let read = self.state().read(number, offset as u64, len);
        match read {
            Ok((data, fault)) => self.answer(fault, move |errno| match errno {
                Some(errno) => reply.error(errno),
                None => reply.data(&data),
            }),
            Err(errno) => reply.error(errno),
        }
    }

    fn write(
        &mut self,
        _: &Request<'_>,
        number: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        flags: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        let durable = flags & (libc::O_DSYNC | libc::O_SYNC) != 0;
        let written = self.state().write(Written { number, offset: offset as u64, data, durable });
        match written {
            Ok((said, fault)) => self.answer(fault, move |errno| match errno {
                Some(errno) => reply.error(errno),
                None => reply.written(said),
            }),
            Err(errno) => reply.error(errno),
        }
    }

    /// close(2), which promises nothing.
    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&mut self, _: &Request<'_>, number: u64, _: u64, _: bool, reply: ReplyEmpty) {
        let synced = self.state().sync(number);
        match synced {
            Ok(fault) => self.answer(fault, move |errno| empty(errno.map_or(Ok(()), Err), reply)),
            Err(errno) => reply.error(errno),
        }
    }

    fn fsyncdir(&mut self, _: &Request<'_>, number: u64, _: u64, _: bool, reply: ReplyEmpty) {
        let mut state = self.state();
        match state.tree.directory(number) {
            Some(_) => {
                state.tree.sync(number);
                reply.ok();
            }
            None => reply.error(EIO),
        }
    }

    fn readdir(&mut self, _: &Request<'_>, number: u64, _: u64, offset: i64, mut reply: ReplyDirectory) {
        let state = self.state();
        let Some(directory) = state.tree.directory(number) else {
            return reply.error(if state.tree.get(number).is_some() { ENOTDIR } else { EIO });
        };
        let own = [(OsStr::new("."), number), (OsStr::new(".."), ROOT)];
        let entries = directory.entries.iter().map(|(name, number)| (name.as_os_str(), *number));
        for (index, (name, number)) in own.into_iter().chain(entries).enumerate().skip(offset as usize) {
            let kind = match state.tree.get(number) {
                Some(Node { body: Body::File(_), .. }) => FileType::RegularFile,
                Some(Node { body: Body::Link(_), .. }) => FileType::Symlink,
                _ => FileType::Directory,
            };
            if reply.add(number, index as i64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&mut self, _: &Request<'_>, _: u64, reply: ReplyStatfs) {
        let state = self.state();
        let blocks = |bytes: u64| bytes / u64::from(BLOCK_BYTES);
        let free = blocks(state.capacity_bytes.saturating_sub(state.tree.used_bytes()));
        let files = 1 << 20;
        reply.statfs(blocks(state.capacity_bytes), free, free, files, files, BLOCK_BYTES, 255, BLOCK_BYTES);
    }

    fn fallocate(
        &mut self,
        _: &Request<'_>,
        number: u64,
        _: u64,
        offset: i64,
        len: i64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(self.state().allocate(number, offset as u64, len as u64, mode), reply);
    }
}
