//! The files of a database, through plain system calls of the thread that needs the data: preadv and pwritev with O_DIRECT, the log and
//! the checkpoint with O_DSYNC, fdatasync for pages. Each I/O is timed here.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_engine::operations::OperationCounts;
use assay_engine::recorder::Recorder;
use assay_host::workdir::{Writing, claim_file};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::disk::{Class, Disk, FileId, GENERATION_BYTES, blocks, slices};
use crate::operations::place_of;

/// Slices of one system call.
const SLICES_MAX: usize = 1024;

/// The files of one database, named after its number, in one directory.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    number: u32,
    direct: bool,
    database: Owned,
    checkpoint: Owned,
    logs: Mutex<HashMap<u64, Owned>>,
}

/// A file that is written, marked as ours and as being written.
#[derive(Debug, Clone)]
struct Owned {
    file: Arc<File>,
    _mark: Option<Arc<Writing>>,
}

fn flags(direct: bool, durable: bool) -> OFlags {
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    flags.set(OFlags::DIRECT, direct);
    flags.set(OFlags::DSYNC, durable);
    flags
}

fn open(path: &Path, flags: OFlags) -> io::Result<Owned> {
    let file = Arc::new(File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?));
    Ok(Owned { _mark: mark(&file, path, flags.contains(OFlags::CREATE)), file })
}

/// Marks a file as being written. Where there is no place for a mark, it goes without: cleanup leaves it then.
pub(crate) fn mark(file: &Arc<File>, path: &Path, new: bool) -> Option<Arc<Writing>> {
    if new {
        claim_file(file, path).ok()?;
    }
    Writing::begin(Arc::clone(file), path, true).ok().flatten().map(Arc::new)
}

impl Files {
    /// The name of a file of database `number`.
    pub fn name(number: u32, file: FileId) -> String {
        format!("mail-{number}.{file}")
    }

    fn at(directory: &Path, number: u32, file: FileId) -> PathBuf {
        directory.join(Files::name(number, file))
    }

    /// Opens the files of a database; `make`: they are made, and those of an older one of the number are removed.
    ///
    /// # Errors
    /// What the system says, and of which path.
    pub fn open(
        directory: &Path,
        number: u32,
        direct: bool,
        make: bool,
    ) -> Result<Arc<Files>, (PathBuf, io::Error)> {
        let path = |file| Files::at(directory, number, file);
        let of_directory = |error| (directory.to_owned(), error);
        if make {
            for generation in generations_in(directory, number).map_err(of_directory)? {
                let old = path(FileId::Log(generation));
                std::fs::remove_file(&old).map_err(|error| (old, error))?;
            }
        }
        let extra = if make { OFlags::CREATE | OFlags::TRUNC } else { OFlags::empty() };
        let opened = |file: FileId, flags| open(&path(file), flags).map_err(|error| (path(file), error));
        let database = opened(FileId::Database, flags(direct, false) | extra)?;
        let checkpoint = opened(FileId::Checkpoint, flags(direct, true) | extra)?;
        if make {
            sync_directory(directory).map_err(of_directory)?;
        }
        let directory = directory.to_owned();
        Ok(Arc::new(Files { directory, number, direct, database, checkpoint, logs: Mutex::default() }))
    }

    fn path(&self, file: FileId) -> PathBuf {
        Files::at(&self.directory, self.number, file)
    }

    /// Bytes of the database file.
    ///
    /// # Errors
    /// What the system says.
    pub fn database_bytes(&self) -> io::Result<u64> {
        Ok(self.database.file.metadata()?.len())
    }

    fn log(&self, generation: u64) -> io::Result<Owned> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = logs.get(&generation) {
            return Ok(file.clone());
        }
        let file = open(&self.path(FileId::Log(generation)), flags(self.direct, true))?;
        // The log is written in order: the two last are all that is used again.
        logs.retain(|known, _| known + 2 > generation);
        logs.insert(generation, file.clone());
        Ok(file)
    }

    fn with<T>(&self, file: FileId, work: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        match file {
            FileId::Database => work(&self.database.file),
            FileId::Checkpoint => work(&self.checkpoint.file),
            FileId::Log(generation) => work(&self.log(generation)?.file),
        }
    }
}

/// The name of a log file until it is whole.
pub(crate) fn new_log(number: u32) -> String {
    format!("mail-{number}.log-new")
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// The generations of the log of database `number` in `directory`, in order.
pub(crate) fn generations_in(directory: &Path, number: u32) -> io::Result<Vec<u64>> {
    let start = Files::name(number, FileId::Log(0));
    let start = start.trim_end_matches('0');
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let generation = name.strip_prefix(start).and_then(|digits| u64::from_str_radix(digits, 16).ok());
        // `log-1` and `log-+0000001` are no names of ours.
        found.extend(generation.filter(|number_of| Files::name(number, FileId::Log(*number_of)) == name));
    }
    found.sort_unstable();
    Ok(found)
}

fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return Ok(done?),
        }
    }
}

fn read_all(file: &File, mut offset: u64, into: &mut [IoSliceMut<'_>]) -> io::Result<()> {
    let mut left = into;
    while !left.is_empty() {
        let now = left.len().min(SLICES_MAX);
        let moved = again(|| rustix::io::preadv(file, &mut left[..now], offset))?;
        if moved == 0 {
            let wanted: usize = left.iter().map(|slice| slice.len()).sum();
            let what =
                format!("the file ends at byte {offset}, {wanted} bytes before the end of what is read");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        offset += moved as u64;
        IoSliceMut::advance_slices(&mut left, moved);
    }
    Ok(())
}

fn write_all(file: &File, mut offset: u64, from: &[IoSlice<'_>]) -> io::Result<()> {
    let mut from = from.to_vec();
    let mut left = &mut from[..];
    while !left.is_empty() {
        let now = left.len().min(SLICES_MAX);
        let moved = again(|| rustix::io::pwritev(file, &left[..now], offset))?;
        if moved == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        offset += moved as u64;
        IoSlice::advance_slices(&mut left, moved);
    }
    Ok(())
}

/// Where a thread's I/Os are counted.
#[derive(Debug)]
pub struct Meter {
    recorder: Recorder<OperationCounts>,
    /// What the job is about: counted as asked for. The others are done beside its transactions.
    main: Option<Class>,
}

impl Meter {
    /// Over a recorder whose start is known.
    pub fn new(recorder: Recorder<OperationCounts>, main: Option<Class>) -> Self {
        Meter { recorder, main }
    }

    fn roll(&mut self, now_ns: u64) {
        if now_ns >= self.recorder.boundary_ns() {
            self.recorder.roll(now_ns);
        }
    }

    fn io(&mut self, class: Class, now_ns: u64, latency_ns: u64, bytes: u64) {
        self.roll(now_ns);
        match self.main == Some(class) {
            true => self.recorder.requested(place_of(class), latency_ns, None, bytes),
            false => self.recorder.beside(place_of(class), latency_ns, bytes),
        }
    }
}

/// One thread's handle.
#[derive(Debug)]
pub struct FileDisk {
    files: Arc<Files>,
    clock: RealClock,
    meter: Option<Meter>,
    /// Database reads: number and nanoseconds, for tuning.
    pub reads: (u64, u64),
    /// When the last I/O or transaction ended.
    pub last_ns: u64,
}

impl FileDisk {
    /// One that counts nothing yet.
    pub fn new(files: &Arc<Files>) -> Self {
        let clock = RealClock::new();
        FileDisk { files: Arc::clone(files), clock, meter: None, reads: (0, 0), last_ns: clock.now_ns() }
    }

    /// From now on I/Os are counted.
    pub fn measure(&mut self, meter: Meter) {
        self.meter = Some(meter);
    }

    /// The files.
    pub fn files(&self) -> &Arc<Files> {
        &self.files
    }

    /// Counts a transaction that began at `begun_ns`; `place`: see [`crate::operations`].
    pub fn transaction(&mut self, place: usize, begun_ns: u64, response_ns: Option<u64>, bytes: u64) {
        let now_ns = self.clock.now_ns();
        self.last_ns = now_ns;
        if let Some(meter) = &mut self.meter {
            meter.roll(now_ns);
            meter.recorder.requested(place, now_ns - begun_ns, response_ns, bytes);
        }
    }

    /// Counts a transaction that failed.
    pub fn failed(&mut self) {
        self.meter.iter_mut().for_each(|meter| meter.recorder.failed());
    }

    /// Ends counting.
    pub fn finish(&mut self) {
        let now_ns = self.clock.now_ns();
        if let Some(meter) = self.meter.take() {
            meter.recorder.finish(now_ns);
        }
    }

    fn timed(
        &mut self,
        class: Class,
        bytes: u64,
        work: impl FnOnce(&Files) -> io::Result<()>,
    ) -> io::Result<()> {
        let begun_ns = self.clock.now_ns();
        work(&self.files)?;
        let now_ns = self.clock.now_ns();
        self.last_ns = now_ns;
        let latency_ns = now_ns - begun_ns;
        if class == Class::DatabaseRead {
            self.reads = (self.reads.0 + 1, self.reads.1 + latency_ns);
        }
        if let Some(meter) = &mut self.meter {
            meter.io(class, now_ns, latency_ns, bytes);
        }
        Ok(())
    }
}

impl Disk for FileDisk {
    fn read(
        &mut self,
        class: Class,
        file: FileId,
        offset: u64,
        into: &mut [IoSliceMut<'_>],
    ) -> io::Result<()> {
        let bytes = into.iter().map(|slice| slice.len() as u64).sum();
        self.timed(class, bytes, |files| files.with(file, |file| read_all(file, offset, into)))
    }

    fn write(&mut self, class: Class, file: FileId, offset: u64, from: &[IoSlice<'_>]) -> io::Result<()> {
        let bytes = from.iter().map(|slice| slice.len() as u64).sum();
        self.timed(class, bytes, |files| files.with(file, |file| write_all(file, offset, from)))
    }

    fn flush(&mut self) -> io::Result<()> {
        let begun_ns = self.clock.now_ns();
        self.files.database.file.sync_data()?;
        let now_ns = self.clock.now_ns();
        if let Some(meter) = &mut self.meter {
            meter.roll(now_ns);
            meter.recorder.flushed(now_ns - begun_ns);
        }
        Ok(())
    }

    fn make_generation(&mut self, generation: u64, of: Option<u64>) -> io::Result<()> {
        let files = &self.files;
        let path = files.path(FileId::Log(generation));
        if let Some(old) = of {
            files.logs.lock().unwrap_or_else(PoisonError::into_inner).remove(&old);
            std::fs::rename(files.path(FileId::Log(old)), &path)?;
        } else {
            // Under another name until it is whole: a log that is short was cut by something else than the end of this process.
            let begun = files.directory.join(new_log(files.number));
            let file = open(&begun, flags(files.direct, true) | OFlags::CREATE | OFlags::TRUNC)?;
            // Zeros now, so that no write of the log has to allocate.
            write_all(&file.file, 0, &slices(&blocks(GENERATION_BYTES as usize / 4096)))?;
            std::fs::rename(&begun, &path)?;
        }
        // Where files cannot be marked, what is ours is known by its name: this one is new.
        claim_file(&File::open(&path)?, &path)?;
        sync_directory(&files.directory)
    }

    fn generations(&mut self) -> io::Result<Vec<u64>> {
        generations_in(&self.files.directory, self.files.number)
    }

    fn length(&mut self, file: FileId) -> io::Result<u64> {
        Ok(self.files.path(file).symlink_metadata()?.len())
    }

    fn extend(&mut self, bytes: u64) -> io::Result<()> {
        let file = &self.files.database.file;
        if file.metadata()?.len() >= bytes {
            return Ok(());
        }
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::NOTSUP | Errno::NOSYS | Errno::INVAL) => file.set_len(bytes),
            done => Ok(done?),
        }
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn idle(&mut self) {
        let now_ns = self.clock.now_ns();
        self.meter.iter_mut().for_each(|meter| meter.roll(now_ns));
    }
}
