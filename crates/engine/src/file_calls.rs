//! I/Os that are calls on files and directories in the place of reads and writes (fio's engines `filecreate`, `filestat`, `filedelete`,
//! their like for directories, `falloc` and `ftruncate`).
//!
//! Names are prepared: the directory is open and its file's name is a C string, so that no path is put together, and none is walked,
//! while it is measured. Nothing looks a name up before it is removed, which would leave it in the kernel's caches; unlinkat(2) removes a
//! name and follows no link.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use assay_host::workdir::{claim_directory, claim_file};
use assay_workload::FileOperation;
use assay_workload::pattern::OpKind;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use crate::engines::Notes;
use crate::engines::psync::PsyncEngine;
use crate::engines::sync_io::{Call, execute};
use crate::seam::{
    BufferPool, Capabilities, Completion, Completions, Engine, EngineError, Io, OpenTarget, QueueFull,
    Submitted, TargetTable, Wait,
};

/// Permissions of new files, as fio's.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
/// Permissions of new directories.
pub const DIRECTORY_MODE: u32 = 0o700;

/// Where names are, by index of their target.
pub type NamedPlaces = BTreeMap<u32, Arc<NamedPlace>>;

/// A name in an open directory.
#[derive(Debug)]
pub struct NamedPlace {
    directory: Arc<File>,
    name: CString,
    path: PathBuf,
    /// What an operation made under the name: device number and inode.
    made: OnceLock<(u64, u64)>,
}

impl NamedPlace {
    /// The last part of `path`, in the directory that is open.
    ///
    /// # Errors
    /// That the path has no name, or one that no file can have.
    pub fn new(directory: Arc<File>, path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name = CString::new(name.as_bytes())?;
        Ok(NamedPlace { directory, name, path: path.to_owned(), made: OnceLock::new() })
    }

    /// Marks what an operation made as Assay's, so that a later run may use it and `assay cleanup` remove it. What has the name by now and
    /// is something else is left alone.
    pub fn claim_made(&self) {
        let Some(made) = self.made.get() else { return };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(opened) = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty()) else {
            return;
        };
        let Ok(stat) = rustix::fs::fstat(&opened) else { return };
        if (stat.st_dev, stat.st_ino) != *made {
            return;
        }
        let file = File::from(opened);
        // No operation writes: what is in it is of another program, or the number went to a file of one.
        if file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0) {
            return;
        }
        // Where there are no marks, it is known by its identity while the run lasts.
        let _ = if file.metadata().is_ok_and(|meta| meta.is_dir()) {
            claim_directory(&file).map(drop)
        } else {
            claim_file(&file, &self.path)
        };
    }
}

/// What was made and has not been noted yet.
#[derive(Debug)]
enum Made {
    /// A file, still open, and whether it is new.
    File(OwnedFd, bool),
    Directory,
}

/// One call for each I/O, on the calling thread.
#[derive(Debug)]
pub(crate) struct FileCalls {
    operation: FileOperation,
    /// By target of the thread; empty where files are open.
    places: Box<[Arc<NamedPlace>]>,
    targets: Box<[OpenTarget]>,
    queued: Vec<Io>,
    finished: Vec<Completion>,
    made: Vec<(u16, Made)>,
}

impl FileCalls {
    /// For up to `depth` I/Os queued at once.
    pub(crate) fn new(operation: FileOperation, places: Vec<Arc<NamedPlace>>, depth: u32) -> Self {
        FileCalls {
            operation,
            places: places.into_boxed_slice(),
            targets: Box::default(),
            queued: Vec::with_capacity(depth as usize),
            finished: Vec::with_capacity(depth as usize),
            made: Vec::with_capacity(depth as usize),
        }
    }

    /// The call of one I/O: its length, 0 for what moves none, or a negative errno.
    fn call(&mut self, io: Io) -> i32 {
        let done = match self.operation {
            _ if io.kind.is_flush() => return self.flush(io),
            FileOperation::Allocate => self.allocate(io),
            FileOperation::Truncate => self.truncate(io),
            FileOperation::CreateFile => self.create_file(io.target),
            FileOperation::CreateDirectory => self.create_directory(io.target),
            by_name => self.by_name(by_name, io.target),
        };
        match done {
            Err(errno) => -errno.raw_os_error(),
            Ok(()) if io.kind == OpKind::Trim => 0,
            Ok(()) => io.len_bytes as i32,
        }
    }

    fn fd(&self, target: u16) -> BorrowedFd<'_> {
        // SAFETY: what is open for the job is open for as long as its engine lives.
        unsafe { BorrowedFd::borrow_raw(self.targets[usize::from(target)].fd) }
    }

    fn flush(&self, io: Io) -> i32 {
        let target = self.targets[usize::from(io.target)];
        // A flush uses no buffer.
        execute(&Call { io, target, address: std::ptr::null_mut() })
    }

    fn allocate(&self, io: Io) -> Result<(), Errno> {
        let mode = match io.kind {
            OpKind::Write => FallocateFlags::empty(),
            OpKind::Trim => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
            _ => FallocateFlags::KEEP_SIZE,
        };
        rustix::fs::fallocate(self.fd(io.target), mode, io.offset_bytes, u64::from(io.len_bytes))
    }

    fn truncate(&self, io: Io) -> Result<(), Errno> {
        match io.kind {
            OpKind::Write => rustix::fs::ftruncate(self.fd(io.target), io.offset_bytes),
            // As in fio: nothing else is a truncation.
            _ => Err(Errno::INVAL),
        }
    }

    fn create_file(&mut self, target: u16) -> Result<(), Errno> {
        let place = &self.places[usize::from(target)];
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let new = rustix::fs::openat(&place.directory, &place.name, flags | OFlags::EXCL, FILE_MODE);
        let (file, is_new) = match new {
            // fio opens a file that exists.
            Err(Errno::EXIST) => {
                (rustix::fs::openat(&place.directory, &place.name, flags, FILE_MODE)?, false)
            }
            new => (new?, true),
        };
        self.made.push((target, Made::File(file, is_new)));
        Ok(())
    }

    fn create_directory(&mut self, target: u16) -> Result<(), Errno> {
        let place = &self.places[usize::from(target)];
        rustix::fs::mkdirat(&place.directory, &place.name, Mode::from_raw_mode(DIRECTORY_MODE))?;
        self.made.push((target, Made::Directory));
        Ok(())
    }

    fn by_name(&self, operation: FileOperation, target: u16) -> Result<(), Errno> {
        let place = &self.places[usize::from(target)];
        let (directory, name) = (&place.directory, &place.name);
        match operation {
            FileOperation::StatFile | FileOperation::StatDirectory => {
                rustix::fs::statat(directory, name, AtFlags::empty()).map(drop)
            }
            FileOperation::LstatFile | FileOperation::LstatDirectory => {
                rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(drop)
            }
            FileOperation::StatxFile | FileOperation::StatxDirectory => {
                rustix::fs::statx(directory, name, AtFlags::empty(), StatxFlags::ALL).map(drop)
            }
            FileOperation::DeleteFile => rustix::fs::unlinkat(directory, name, AtFlags::empty()),
            FileOperation::DeleteDirectory => rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR),
            FileOperation::CreateFile
            | FileOperation::CreateDirectory
            | FileOperation::Allocate
            | FileOperation::Truncate => Err(Errno::INVAL),
        }
    }

    /// Notes what was made and closes it: behind the I/O, whose time is known by now.
    fn note_made(&mut self) {
        for (target, made) in self.made.drain(..) {
            let place = &self.places[usize::from(target)];
            let stat = match &made {
                Made::File(_, false) => continue,
                Made::File(file, true) => rustix::fs::fstat(file),
                Made::Directory => {
                    rustix::fs::statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW)
                }
            };
            if let Ok(stat) = stat {
                let _ = place.made.set((stat.st_dev, stat.st_ino));
            }
        }
    }
}

impl Drop for FileCalls {
    fn drop(&mut self) {
        self.note_made();
    }
}

impl Notes for FileCalls {
    fn notes(&self) -> Vec<String> {
        vec![self.operation.name().to_owned()]
    }
}

impl Engine for FileCalls {
    fn capabilities(&self) -> Capabilities {
        // One call after the other, as psync.
        PsyncEngine::new(1).capabilities()
    }

    fn prepare(&mut self, targets: &TargetTable, _: &dyn BufferPool) -> Result<(), EngineError> {
        self.targets = targets.targets.clone().into_boxed_slice();
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        if self.queued.len() == self.queued.capacity() {
            return Err(QueueFull);
        }
        self.queued.push(io);
        Ok(())
    }

    fn submit(&mut self, _: Wait) -> Result<Submitted, EngineError> {
        let submitted = self.queued.len() as u32;
        for index in 0..self.queued.len() {
            let io = self.queued[index];
            let result = self.call(io);
            self.finished.push(Completion { slot: io.slot, result });
        }
        self.queued.clear();
        Ok(Submitted { submitted, waited: true })
    }

    fn reap(&mut self, out: &mut Completions, _: Wait) -> Result<(), EngineError> {
        let room = out.room().min(self.finished.len());
        for completion in self.finished.drain(..room) {
            out.push(completion);
        }
        Ok(())
    }

    #[inline]
    fn judge(&mut self, _: &Completions) -> u32 {
        if !self.made.is_empty() {
            self.note_made();
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use assay_host::workdir::{is_own_directory, is_own_file};

    use super::*;

    /// The result of one I/O on one name, and what the engine made is noted.
    fn call(operation: FileOperation, place: &Arc<NamedPlace>) -> i32 {
        let mut engine = FileCalls::new(operation, vec![Arc::clone(place)], 1);
        let io = Io { slot: 0, target: 0, kind: OpKind::Read, len_bytes: 4096, offset_bytes: 0 };
        engine.queue(io).unwrap();
        assert!(engine.queue(io).is_err(), "there is room for one");
        engine.submit(Wait::Poll).unwrap();
        let mut completions = Completions::with_capacity(1);
        engine.reap(&mut completions, Wait::Poll).unwrap();
        engine.judge(&completions);
        completions.as_slice()[0].result
    }

    fn named(directory: &Path, name: &str) -> Arc<NamedPlace> {
        let open = Arc::new(File::open(directory).unwrap());
        Arc::new(NamedPlace::new(open, &directory.join(name)).unwrap())
    }

    #[test]
    fn a_file_is_made_looked_at_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let place = named(directory.path(), "new");
        let missing = -libc::ENOENT;
        assert_eq!(call(FileOperation::StatFile, &place), missing);
        assert_eq!(call(FileOperation::CreateFile, &place), 4096);
        place.claim_made();
        assert!(is_own_file(&directory.path().join("new")));
        let stats = [FileOperation::StatFile, FileOperation::LstatFile, FileOperation::StatxFile];
        assert!(stats.iter().all(|operation| call(*operation, &place) == 4096));
        assert_eq!(call(FileOperation::DeleteFile, &place), 4096);
        assert_eq!(call(FileOperation::DeleteFile, &place), missing);
        assert_eq!(call(FileOperation::Truncate, &place), -libc::EINVAL, "it was no write");
    }

    #[test]
    fn what_is_there_is_opened_and_stays_anothers() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("theirs");
        std::fs::write(&path, "theirs").unwrap();
        let place = named(directory.path(), "theirs");
        assert_eq!(call(FileOperation::CreateFile, &place), 4096);
        place.claim_made();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs");
        assert!(!is_own_file(&path));
        assert_eq!(call(FileOperation::CreateDirectory, &place), -libc::EEXIST);
    }

    #[test]
    fn directories_are_ours_and_only_empty_ones_go() {
        let directory = tempfile::tempdir().unwrap();
        let place = named(directory.path(), "new");
        assert_eq!(call(FileOperation::CreateDirectory, &place), 4096);
        place.claim_made();
        let path = directory.path().join("new");
        assert!(is_own_directory(&path));
        std::fs::write(path.join("kept"), "").unwrap();
        assert_eq!(call(FileOperation::DeleteDirectory, &place), -libc::ENOTEMPTY);
        std::fs::remove_file(path.join("kept")).unwrap();
        assert_eq!(call(FileOperation::StatxDirectory, &place), 4096);
        assert_eq!(call(FileOperation::DeleteDirectory, &place), 4096);
        assert!(!path.exists());
    }

    #[test]
    fn links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("theirs"), "theirs").unwrap();
        std::os::unix::fs::symlink("theirs", directory.path().join("link")).unwrap();
        let place = named(directory.path(), "link");
        assert_eq!(call(FileOperation::CreateFile, &place), -libc::ELOOP);
        assert_eq!(call(FileOperation::DeleteFile, &place), 4096);
        assert!(directory.path().join("theirs").exists(), "the link itself goes");
    }
}
