//! The log: after-images of bytes, in groups that are replayed whole or not at all, written in batches of whole blocks.
//!
//! An LSN counts the bytes of groups since the database was built; a position counts the bytes of log files, in which batches are
//! padded to blocks, so that no block is written twice. A batch never spans generations. One is written at a time: where a
//! later one stands, all before it were acknowledged.

use std::collections::VecDeque;

use crate::disk::{Block, GENERATION_BYTES, blocks_of};
use crate::page::PageKind;

/// Bytes before the groups of a batch.
pub const HEADER_BYTES: usize = 48;
const MAGIC: u32 = 0x4c4d_4141;
/// The most groups' bytes in a batch.
pub const BATCH_BYTES_MAX: usize = GENERATION_BYTES as usize - HEADER_BYTES;
/// Bytes before the records of a group: its length.
pub const GROUP_HEADER_BYTES: usize = 4;

const FORMAT: u8 = 1;
const BYTES: u8 = 2;
const WRITTEN: u8 = 3;

/// What happened to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// It was emptied for a new use.
    Format {
        /// Which.
        page: u32,
        /// What for.
        kind: PageKind,
        /// Above leaves: how far.
        level: u8,
    },
    /// Bytes of it were changed to these.
    Bytes {
        /// Which.
        page: u32,
        /// The first byte.
        offset: u16,
        /// What stands there now.
        data: &'a [u8],
    },
    /// It is about to be written, as it is now.
    Written {
        /// Which.
        page: u32,
        /// The number of the write.
        counter: u64,
        /// Its checksum.
        checksum: u32,
    },
}

impl Record<'_> {
    /// The page.
    pub fn page(&self) -> u32 {
        match *self {
            Record::Format { page, .. } | Record::Bytes { page, .. } | Record::Written { page, .. } => page,
        }
    }

    /// Appends it to a group.
    pub fn encode(&self, into: &mut Vec<u8>) {
        match *self {
            Record::Format { page, kind, level } => {
                into.push(FORMAT);
                into.extend(page.to_le_bytes());
                into.extend([kind as u8, level]);
            }
            Record::Bytes { page, offset, data } => {
                into.push(BYTES);
                into.extend(page.to_le_bytes());
                into.extend(offset.to_le_bytes());
                into.extend((data.len() as u16).to_le_bytes());
                into.extend(data);
            }
            Record::Written { page, counter, checksum } => {
                into.push(WRITTEN);
                into.extend(page.to_le_bytes());
                into.extend(counter.to_le_bytes());
                into.extend(checksum.to_le_bytes());
            }
        }
    }
}

fn take<'a>(from: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(head)
}

fn number(from: &mut &[u8], len: usize) -> Option<u64> {
    Some(take(from, len)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

/// The next record; `None`: there is none that makes sense.
pub fn decode<'a>(from: &mut &'a [u8]) -> Option<Record<'a>> {
    let tag = number(from, 1)? as u8;
    let page = number(from, 4)? as u32;
    match tag {
        FORMAT => {
            let (kind, level) = (number(from, 1)? as u8, number(from, 1)? as u8);
            let kinds = [PageKind::Inner, PageKind::Leaf, PageKind::Long];
            let kind = kinds.into_iter().find(|known| *known as u8 == kind)?;
            Some(Record::Format { page, kind, level })
        }
        BYTES => {
            let (offset, len) = (number(from, 2)? as u16, number(from, 2)? as usize);
            Some(Record::Bytes { page, offset, data: take(from, len)? })
        }
        WRITTEN => {
            let (counter, checksum) = (number(from, 8)?, number(from, 4)? as u32);
            Some(Record::Written { page, counter, checksum })
        }
        _ => None,
    }
}

/// A place in the log where reading can begin: the start of a batch, or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// Bytes of log files before it.
    pub position: u64,
    /// The LSN of the first group behind it.
    pub lsn: u64,
}

/// What is on its way to the log, and where the log ends.
#[derive(Debug)]
pub struct LogState {
    database: u32,
    /// Rises with each start, so that what an earlier one left behind the end is not taken for the log.
    life: u64,
    /// Whole groups.
    buffer: Vec<u8>,
    /// The end of what was handed to the storage.
    end: LogPlace,
    /// What is durable.
    durable_lsn: u64,
    /// A thread writes the log.
    pub flushing: bool,
    /// Batches that replay may have to begin with.
    batches: VecDeque<LogPlace>,
    /// When the oldest group of the buffer came.
    pub oldest_ns: u64,
}

/// A batch that is to be written.
#[derive(Debug)]
pub struct Sealed {
    /// Its content.
    pub blocks: Vec<Block>,
    /// Where it goes.
    pub position: u64,
    /// What is durable once it is written.
    pub end_lsn: u64,
}

impl LogState {
    /// A log that goes on at `end`.
    pub fn new(database: u32, life: u64, end: LogPlace) -> Self {
        LogState {
            database,
            life,
            buffer: Vec::new(),
            end,
            durable_lsn: end.lsn,
            flushing: false,
            batches: VecDeque::new(),
            oldest_ns: 0,
        }
    }

    /// What the next group begins at.
    pub fn next_lsn(&self) -> u64 {
        self.end.lsn + self.buffer.len() as u64
    }

    /// Everything before it is durable.
    pub fn durable_lsn(&self) -> u64 {
        self.durable_lsn
    }

    /// Bytes that wait to be written.
    pub fn waiting_bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The end of what was written.
    pub fn end(&self) -> LogPlace {
        self.end
    }

    /// Which start this is.
    pub fn life(&self) -> u64 {
        self.life
    }

    /// Adds a group of records; returns its end.
    pub fn append(&mut self, records: &[u8], now_ns: u64) -> u64 {
        if self.buffer.is_empty() {
            self.oldest_ns = now_ns;
        }
        self.buffer.extend((records.len() as u32).to_le_bytes());
        self.buffer.extend(records);
        self.next_lsn()
    }

    /// Bytes of whole groups at the start of the buffer that fit in a batch.
    fn batch_len(&self) -> usize {
        let mut len = 0;
        while let Some(size) = self.buffer.get(len..len + 4) {
            let size = size.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            if len + 4 + size > BATCH_BYTES_MAX && len > 0 {
                break;
            }
            len += 4 + size;
        }
        len.min(self.buffer.len())
    }

    /// Takes what waits, as far as it fits in a batch; `None`: nothing does.
    pub fn seal(&mut self) -> Option<Sealed> {
        let len = match self.buffer.len() {
            0 => return None,
            all if all <= BATCH_BYTES_MAX => all,
            _ => self.batch_len(),
        };
        let rest = self.buffer.split_off(len);
        let groups = std::mem::replace(&mut self.buffer, rest);
        let size = (HEADER_BYTES + groups.len()).next_multiple_of(4096) as u64;
        let previous = self.end.position;
        let left = GENERATION_BYTES - previous % GENERATION_BYTES;
        let position = if size > left { previous + left } else { previous };
        self.batches.push_back(LogPlace { position, lsn: self.end.lsn });
        let mut bytes = Vec::with_capacity(size as usize);
        bytes.extend(MAGIC.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend(self.database.to_le_bytes());
        bytes.extend((groups.len() as u32).to_le_bytes());
        for field in [self.end.lsn, previous, self.life, position] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(&groups);
        let crc = crc32c::crc32c(&bytes);
        bytes[4..8].copy_from_slice(&crc.to_le_bytes());
        self.end = LogPlace { position: position + size, lsn: self.end.lsn + groups.len() as u64 };
        Some(Sealed { blocks: blocks_of(&bytes), position, end_lsn: self.end.lsn })
    }

    /// A batch is durable.
    pub fn written(&mut self, end_lsn: u64) {
        self.durable_lsn = end_lsn;
    }

    /// The batch that holds `lsn`, or the end of what was written.
    pub fn place_of(&self, lsn: u64) -> LogPlace {
        let index = self.batches.partition_point(|batch| batch.lsn <= lsn);
        match index.checked_sub(1).and_then(|index| self.batches.get(index)) {
            Some(batch) if self.end.lsn > lsn => *batch,
            _ => self.end,
        }
    }

    /// Forgets batches that replay does not need, which begins at `lsn`.
    pub fn forget_before(&mut self, lsn: u64) {
        while self.batches.get(1).is_some_and(|second| second.lsn <= lsn) {
            self.batches.pop_front();
        }
    }

    /// Remembers a batch that replay found, so that replay can begin with it again.
    pub fn remember(&mut self, place: LogPlace) {
        self.batches.push_back(place);
    }
}

/// A batch that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Where it begins.
    pub place: LogPlace,
    /// Where the one before ended.
    pub previous: u64,
    /// Which start wrote it.
    pub life: u64,
    /// Its groups.
    pub groups: Vec<u8>,
}

impl Batch {
    /// From what stands at `position` in a log, `bytes` from there to the end of its generation; `None`: no whole batch of this database.
    pub fn read(database: u32, position: u64, bytes: &[u8]) -> Option<Batch> {
        let mut header = bytes.get(..HEADER_BYTES)?;
        let header = &mut header;
        let (magic, crc) = (number(header, 4)? as u32, number(header, 4)? as u32);
        let (of, len) = (number(header, 4)? as u32, number(header, 4)? as usize);
        let fields = [0; 4].map(|_: u8| number(header, 8));
        let [Some(lsn), Some(previous), Some(life), Some(at)] = fields else { return None };
        if magic != MAGIC || of != database || at != position {
            return None;
        }
        let groups = bytes.get(HEADER_BYTES..HEADER_BYTES + len)?;
        let sum = crc32c::crc32c(&bytes[..4]);
        let sum = crc32c::crc32c_append(sum, &[0; 4]);
        let sum = crc32c::crc32c_append(sum, &bytes[8..HEADER_BYTES + len]);
        let place = LogPlace { position, lsn };
        (sum == crc).then(|| Batch { place, previous, life, groups: groups.to_vec() })
    }

    /// Where it ends.
    pub fn end(&self) -> LogPlace {
        let size = (HEADER_BYTES + self.groups.len()).next_multiple_of(4096) as u64;
        LogPlace { position: self.place.position + size, lsn: self.place.lsn + self.groups.len() as u64 }
    }

    /// Its groups of records, each with its end.
    pub fn groups(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let (mut rest, mut lsn) = (&self.groups[..], self.place.lsn);
        std::iter::from_fn(move || {
            let len = number(&mut rest, 4)? as usize;
            let group = take(&mut rest, len)?;
            lsn += (GROUP_HEADER_BYTES + len) as u64;
            Some((lsn, group))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(sealed: &Sealed) -> Vec<u8> {
        sealed.blocks.iter().flat_map(|block| block.0).collect()
    }

    proptest! {
        #[test]
        fn batches_hold_what_was_appended(lens in prop::collection::vec(0..70_000_usize, 1..60), every in 1..9_usize) {
            let groups: Vec<Vec<u8>> = lens.iter().map(|len| vec![*len as u8; *len]).collect();
            let mut log = LogState::new(7, 3, LogPlace { position: 0, lsn: 100 });
            let (mut ends, mut read, mut end) = (Vec::new(), Vec::new(), log.end());
            for (index, group) in groups.iter().enumerate() {
                ends.push((log.append(group, 0), group.clone()));
                if index % every != 0 && index + 1 < groups.len() {
                    continue;
                }
                while let Some(sealed) = log.seal() {
                    let batch = Batch::read(7, sealed.position, &bytes_of(&sealed)).expect("whole");
                    prop_assert_eq!(batch.previous, end.position);
                    prop_assert_eq!(batch.place.lsn, end.lsn);
                    end = batch.end();
                    prop_assert!(batch.place.position / GENERATION_BYTES == (end.position - 1) / GENERATION_BYTES);
                    prop_assert_eq!(end, log.end());
                    prop_assert_eq!(sealed.end_lsn, end.lsn);
                    read.extend(batch.groups().map(|(lsn, group)| (lsn, group.to_vec())));
                    for (lsn, _) in batch.groups() {
                        prop_assert_eq!(log.place_of(lsn - 1), batch.place);
                    }
                }
            }
            prop_assert_eq!(read, ends);
        }

        #[test]
        fn records_are_read_as_they_were_written(page in any::<u32>(), offset in any::<u16>(), data in prop::collection::vec(any::<u8>(), 0..500), counter in any::<u64>(), checksum in any::<u32>()) {
            let records = [
                Record::Format { page, kind: PageKind::Leaf, level: 2 },
                Record::Bytes { page, offset, data: &data },
                Record::Written { page, counter, checksum },
            ];
            let mut bytes = Vec::new();
            records.iter().for_each(|record| record.encode(&mut bytes));
            let mut rest = &bytes[..];
            for record in records {
                prop_assert_eq!(decode(&mut rest), Some(record));
            }
            prop_assert!(rest.is_empty() && decode(&mut rest).is_none());
        }
    }

    #[test]
    fn a_batch_is_whole_or_none() {
        let mut log = LogState::new(7, 3, LogPlace { position: 4096, lsn: 100 });
        log.append(&[5; 9000], 0);
        let sealed = log.seal().expect("something waits");
        let bytes = bytes_of(&sealed);
        assert!(Batch::read(7, 4096, &bytes).is_some());
        assert!(Batch::read(8, 4096, &bytes).is_none(), "of another database");
        assert!(Batch::read(7, 8192, &bytes).is_none(), "in another place");
        assert!(Batch::read(7, 4096, &bytes[..8192]).is_none(), "cut");
        let mut torn = bytes;
        torn[8192..].fill(0);
        assert!(Batch::read(7, 4096, &torn).is_none(), "torn");
    }
}
