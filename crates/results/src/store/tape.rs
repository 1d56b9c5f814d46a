//! A file that grows by whole records, also on a disk that is full for a while.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::FlockOperation;

/// What a [`Tape`] writes to.
pub(super) trait Backing {
    /// Appends; on an error part of it may be there.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file behind its first `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Asks the system to make it durable.
    fn sync(&mut self) -> io::Result<()>;
}

impl Backing for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// Appends records, each whole or not at all. What could not be stored is counted, and the first reason kept: recording
/// must never stop a measurement.
#[derive(Debug)]
pub(super) struct Tape<B> {
    backing: B,
    /// End of the last whole record.
    good_bytes: u64,
    /// Whether part of a record may lie behind it.
    ragged: bool,
    lost_records: u64,
    first_error: Option<io::Error>,
}

impl Tape<File> {
    /// Makes a file that is not there yet.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        Ok(Tape::new(file))
    }

    /// Tells others that somebody writes here, until this is dropped.
    pub(super) fn lock(&self) {
        // A file system without locks cannot tell, which is no reason not to record.
        let _ = rustix::fs::flock(&self.backing, FlockOperation::NonBlockingLockExclusive);
    }
}

impl<B: Backing> Tape<B> {
    pub(super) fn new(backing: B) -> Self {
        Tape { backing, good_bytes: 0, ragged: false, lost_records: 0, first_error: None }
    }

    pub(super) fn append(&mut self, record: &[u8]) {
        if let Err(error) = self.try_append(record) {
            self.lost_records += 1;
            self.first_error.get_or_insert(error);
        }
    }

    fn try_append(&mut self, record: &[u8]) -> io::Result<()> {
        if self.ragged {
            self.backing.cut(self.good_bytes)?;
            self.ragged = false;
        }
        self.ragged = true;
        self.backing.append(record)?;
        self.ragged = false;
        self.good_bytes += record.len() as u64;
        Ok(())
    }

    /// Asks the system to make it durable.
    pub(super) fn sync(&mut self) {
        if let Err(error) = self.backing.sync() {
            self.first_error.get_or_insert(error);
        }
    }

    /// Cuts what is left of a record that did not fit, and asks the system to make the rest durable.
    pub(super) fn finish(&mut self) {
        let cut = if self.ragged { self.backing.cut(self.good_bytes) } else { Ok(()) };
        if let Err(error) = cut.and_then(|()| self.backing.sync()) {
            self.first_error.get_or_insert(error);
        }
    }

    /// What went wrong, in a sentence that begins with `name`; `None` if nothing did.
    pub(super) fn problem(&self, name: &str, record: &str) -> Option<String> {
        let error = self.first_error.as_ref()?;
        Some(match self.lost_records {
            0 => format!("{name}: {error}"),
            1 => format!("{name}: one {record} was not stored: {error}"),
            n => format!("{name}: {n} {record}s were not stored, the first because of: {error}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many bytes.
    struct Small {
        data: Vec<u8>,
        room: usize,
    }

    impl Backing for Small {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let fits = bytes.len().min(self.room - self.data.len());
            self.data.extend(&bytes[..fits]);
            if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }

        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.data.truncate(length as usize);
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_record_is_there_whole_or_not_at_all() {
        let mut tape = Tape::new(Small { data: Vec::new(), room: 10 });
        tape.append(b"one\n");
        assert_eq!(tape.problem("x", "line"), None);
        tape.append(b"too long\n");
        tape.append(b"2\n");
        tape.append(b"also too long\n");
        tape.backing.room = 100;
        tape.append(b"three\n");
        tape.finish();
        assert_eq!(tape.backing.data, b"one\n2\nthree\n");
        let problem = tape.problem("journal.jsonl", "line").unwrap();
        assert!(problem.starts_with("journal.jsonl: 2 lines were not stored"), "{problem}");
    }

    #[test]
    fn the_end_leaves_nothing_ragged() {
        let mut tape = Tape::new(Small { data: Vec::new(), room: 3 });
        tape.append(b"four");
        tape.finish();
        assert_eq!(tape.backing.data, b"");
    }
}
