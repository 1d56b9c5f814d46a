//! The thread that stores a journal.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::record::{self, BLOCK_BYTES, JournalOf, JournaledTarget, RECORDS, Record};
use super::state::State;
use super::{Journal, Shared};

/// Blocks of one write at most. A reader takes what is not whole behind the last whole block for a write that was cut, up to so many.
pub(super) const BATCH_BLOCKS: usize = 64;
/// How long records are gathered.
const GATHER: Duration = Duration::from_millis(1);
/// Bytes from which on a snapshot takes the place of the journal.
const SNAPSHOT_MIN: u64 = 64 << 20;
/// The next snapshot is made when the journal is this multiple of the last one's length.
const GROWTH: u64 = 4;

/// What stores a journal.
pub(super) struct Writer {
    shared: Arc<Shared>,
    path: PathBuf,
    file: File,
    run: u64,
    head: Vec<u8>,
    /// Blocks in the file.
    blocks: u64,
    /// Records in it.
    records: u64,
    state: State,
    /// The next record to be taken.
    next: u64,
    batch: Vec<Record>,
    bytes: Vec<u8>,
    snapshot_at: u64,
}

impl Writer {
    /// Makes the file, and its name durable.
    pub(super) fn create(
        path: &Path,
        (run, of): (u64, &JournalOf),
        targets: &[JournaledTarget],
        shared: Arc<Shared>,
    ) -> io::Result<Writer> {
        let head = record::head(run, targets, &rustix::system::uname().nodename().to_string_lossy(), of);
        let state = State::new(targets).ok_or(io::ErrorKind::OutOfMemory)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all_at(&head, 0)?;
        file.sync_all()?;
        sync_names(path)?;
        Ok(Writer {
            shared,
            path: path.to_owned(),
            file,
            run,
            blocks: (head.len() / BLOCK_BYTES) as u64,
            records: 0,
            head,
            state,
            next: 0,
            batch: Vec::with_capacity(BATCH_BLOCKS * RECORDS),
            bytes: Vec::with_capacity(BATCH_BLOCKS * BLOCK_BYTES),
            snapshot_at: SNAPSHOT_MIN,
        })
    }

    /// Stores what comes until the journal is closed.
    pub(super) fn run(mut self) {
        loop {
            // Asked before: what was pushed until then is taken.
            let closing = self.shared.closed.load(Ordering::SeqCst);
            self.take();
            if self.batch.is_empty() && closing {
                break;
            }
            if !self.batch.is_empty() && self.shared.failure.get().is_none() {
                if let Err(error) = self.keep() {
                    self.shared.fail(format!(
                        "{} {} could not be written: {error}",
                        Journal::NAME,
                        self.path.display()
                    ));
                } else {
                    self.shared.durable.store(self.next, Ordering::Release);
                }
            }
            if self.batch.len() < RECORDS && !closing {
                std::thread::park_timeout(GATHER);
            }
        }
        // What is left beside the run is as small as it can be.
        if self.shared.failure.get().is_none() && self.blocks * BLOCK_BYTES as u64 > (1 << 20) {
            let _ = self.snapshot();
        }
        if self.shared.failure.get().is_none()
            && let Err(error) = self.finish()
        {
            self.shared.fail(format!(
                "{} {} could not be closed: {error}",
                Journal::NAME,
                self.path.display()
            ));
        }
    }

    /// Says that nothing follows. All that is before it is durable by then.
    fn finish(&mut self) -> io::Result<()> {
        self.bytes.clear();
        record::push_end(&mut self.bytes, self.run, self.blocks, self.records);
        self.file.write_all_at(&self.bytes, self.blocks * BLOCK_BYTES as u64)?;
        self.file.sync_data()
    }

    fn take(&mut self) {
        self.batch.clear();
        while self.batch.len() < BATCH_BLOCKS * RECORDS
            && let Some(words) = self.shared.ring.take(self.next)
        {
            self.batch.extend(Record::unpack(words));
            self.next += 1;
        }
    }

    /// Makes the batch durable.
    fn keep(&mut self) -> io::Result<()> {
        self.bytes.clear();
        record::push_records(&mut self.bytes, self.run, self.blocks, &self.batch);
        self.file.write_all_at(&self.bytes, self.blocks * BLOCK_BYTES as u64)?;
        self.file.sync_data()?;
        self.blocks += (self.bytes.len() / BLOCK_BYTES) as u64;
        self.records += self.batch.len() as u64;
        for record in &self.batch {
            self.state.apply(*record);
        }
        if self.blocks * BLOCK_BYTES as u64 >= self.snapshot_at {
            // Where it cannot be made the journal goes on growing.
            let made = self.snapshot();
            let length = self.blocks * BLOCK_BYTES as u64;
            self.snapshot_at = if made.is_ok() { SNAPSHOT_MIN.max(GROWTH * length) } else { 2 * length };
        }
        Ok(())
    }

    /// Puts a journal in the place of this one that says the same in fewer records. A crash leaves the one or the other.
    fn snapshot(&mut self) -> io::Result<()> {
        let mut name = self.path.clone().into_os_string();
        name.push(".new");
        let draft = PathBuf::from(name);
        let made = self.write_snapshot(&draft);
        if made.is_err() {
            let _ = std::fs::remove_file(&draft);
        }
        let (file, blocks, records) = made?;
        std::fs::rename(&draft, &self.path)?;
        // The old one is of no use any more: without its name nothing that is written to it is found.
        (self.file, self.blocks, self.records) = (file, blocks, records);
        sync_names(&self.path)
    }

    fn write_snapshot(&self, draft: &Path) -> io::Result<(File, u64, u64)> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(draft)?;
        file.write_all_at(&self.head, 0)?;
        let mut blocks = (self.head.len() / BLOCK_BYTES) as u64;
        let (mut batch, mut bytes) = (Vec::new(), Vec::new());
        let mut write = |batch: &mut Vec<Record>| -> io::Result<()> {
            bytes.clear();
            record::push_records(&mut bytes, self.run, blocks, batch);
            file.write_all_at(&bytes, blocks * BLOCK_BYTES as u64)?;
            blocks += (bytes.len() / BLOCK_BYTES) as u64;
            batch.clear();
            Ok(())
        };
        let (mut result, mut records) = (Ok(()), 0);
        self.state.tell(&mut |record| {
            records += 1;
            batch.push(record);
            if batch.len() == BATCH_BLOCKS * RECORDS && result.is_ok() {
                result = write(&mut batch);
            }
        });
        result?;
        write(&mut batch)?;
        file.sync_all()?;
        Ok((file, blocks, records))
    }
}

/// Makes the names in the directory of a file durable.
fn sync_names(path: &Path) -> io::Result<()> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    assay_results::store::HeldDirectory::open(above)?.sync_names()
}
