//! How the journal is stored: blocks of 4 KiB, each with a checksum; what it is of in the first, records in the others.
//!
//! | bytes of a block | what, little endian |
//! |---|---|
//! | 0-7 | the magic word `ASSAYVJ1` |
//! | 8-11 | CRC-32C of all bytes behind it |
//! | 12-13 | 1: head, 2: records, 3: end |
//! | 14-15 | bytes of the head, records, or bytes of the end |
//! | 16-23 | the number of the run |
//! | 24-31 | the number of the block in the file, from 0 |
//!
//! The end is the last block of a journal that was closed: the number of records before it, 8 bytes.
//!
//! A record is two words of 8 bytes: the key block or the number of a flush (44 bits), the target (16 bits) and the kind (4 bits); the
//! generation and the number of key blocks (32 bits each).

use assay_results::store::DATA_JOURNAL_MAGIC;

pub(super) const BLOCK_BYTES: usize = 4096;
const HEAD_BYTES: usize = 32;
const PAYLOAD_BYTES: usize = BLOCK_BYTES - HEAD_BYTES;
const RECORD_BYTES: usize = 16;
/// Records of a block.
pub(super) const RECORDS: usize = PAYLOAD_BYTES / RECORD_BYTES;
/// Where the checksummed part starts.
const SUMMED: usize = 12;
const KEY_BITS: u32 = 44;
const KIND_SHIFT: u32 = 60;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A write of whole key blocks is going to be handed over.
    Issued = 1,
    /// It has completed.
    Completed = 2,
    /// It has completed, and the storage must not lose it.
    Acknowledged = 3,
    /// The key blocks may hold anything from now on: they are going to be trimmed, or written in part or without headers.
    Unknown = 4,
    /// A flush is going to be handed over.
    FlushBegun = 5,
    /// It has succeeded.
    FlushDone = 6,
    /// It has failed: the kernel may have dropped what it was to write, and a later flush says nothing of that.
    FlushFailed = 7,
}

impl Kind {
    fn from_number(number: u64) -> Option<Kind> {
        use Kind::{Acknowledged, Completed, FlushBegun, FlushDone, FlushFailed, Issued, Unknown};
        let all = [Issued, Completed, Acknowledged, Unknown, FlushBegun, FlushDone, FlushFailed];
        all.into_iter().find(|kind| *kind as u64 == number)
    }
}

/// What happened to key blocks one behind the other, whose writes have one generation; or to a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// By its position in the head.
    pub(super) target: u16,
    /// The first key block, or the number of the flush.
    pub(super) key: u64,
    pub(super) count: u32,
    pub(super) generation: u32,
}

impl Record {
    pub(super) fn pack(self) -> [u64; 2] {
        let key = self.key & ((1 << KEY_BITS) - 1);
        [
            key | u64::from(self.target) << KEY_BITS | (self.kind as u64) << KIND_SHIFT,
            u64::from(self.generation) | u64::from(self.count) << 32,
        ]
    }

    /// `None`: of a kind that this version does not know.
    pub(super) fn unpack([first, second]: [u64; 2]) -> Option<Record> {
        Some(Record {
            kind: Kind::from_number(first >> KIND_SHIFT)?,
            target: (first >> KEY_BITS) as u16,
            key: first & ((1 << KEY_BITS) - 1),
            count: (second >> 32) as u32,
            generation: second as u32,
        })
    }
}

/// A target whose writes are in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournaledTarget {
    /// Its number in the plan.
    pub number: u32,
    /// Its name in the plan, which its sectors stand for.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Bytes of a key block.
    pub key_block_bytes: u64,
    /// End of the part that is verified.
    pub end_bytes: u64,
    /// Whether some job writes through the page cache.
    pub buffered: bool,
}

impl JournaledTarget {
    pub(super) fn key_blocks(&self) -> usize {
        self.end_bytes.div_ceil(self.key_block_bytes.max(1)) as usize
    }
}

/// Whose journal it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalOf {
    /// The id of the run.
    pub run: String,
    /// Which of the run's hosts wrote, by its number; `None`: there is one.
    pub host: Option<u16>,
}

/// What a head says beside the number of the run. A journal of an earlier version says less.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadContent {
    pub(super) targets: Vec<JournaledTarget>,
    /// The machine that keeps it.
    pub(super) node: Option<String>,
    pub(super) of: Option<JournalOf>,
}

/// Stands for no host.
const NO_HOST: u32 = u32::MAX;

/// The blocks of the head, of a journal that the machine called `node` keeps.
pub(super) fn head(run: u64, targets: &[JournaledTarget], node: &str, of: &JournalOf) -> Vec<u8> {
    let mut content = Vec::new();
    content.extend((targets.len() as u32).to_le_bytes());
    for target in targets {
        content.extend(target.number.to_le_bytes());
        content.extend(target.key_block_bytes.to_le_bytes());
        content.extend(target.end_bytes.to_le_bytes());
        content.extend(u32::from(target.buffered).to_le_bytes());
        push_text(&mut content, &target.name);
        push_text(&mut content, &target.path);
    }
    push_text(&mut content, node);
    push_text(&mut content, &of.run);
    content.extend(of.host.map_or(NO_HOST, u32::from).to_le_bytes());
    let length = (content.len() as u64).to_le_bytes();
    let content = [&length[..], &content].concat();
    let mut blocks = Vec::new();
    for (number, part) in content.chunks(PAYLOAD_BYTES).enumerate() {
        push_block(&mut blocks, BlockKind::Head, (run, number as u64), part.len(), part);
    }
    blocks
}

fn push_text(content: &mut Vec<u8>, text: &str) {
    content.extend((text.len() as u32).to_le_bytes());
    content.extend(text.as_bytes());
}

/// Adds blocks with `records`, the first of them with the number `first`.
pub(super) fn push_records(blocks: &mut Vec<u8>, run: u64, first: u64, records: &[Record]) {
    let mut payload = Vec::with_capacity(PAYLOAD_BYTES);
    for (number, records) in (first..).zip(records.chunks(RECORDS)) {
        payload.clear();
        for word in records.iter().flat_map(|record| record.pack()) {
            payload.extend(word.to_le_bytes());
        }
        push_block(blocks, BlockKind::Records, (run, number), records.len(), &payload);
    }
}

/// Adds the block with the number `number` that closes a journal of `records`.
pub(super) fn push_end(blocks: &mut Vec<u8>, run: u64, number: u64, records: u64) {
    let content = records.to_le_bytes();
    push_block(blocks, BlockKind::End, (run, number), content.len(), &content);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Head = 1,
    Records = 2,
    End = 3,
}

fn push_block(
    blocks: &mut Vec<u8>,
    kind: BlockKind,
    (run, number): (u64, u64),
    count: usize,
    payload: &[u8],
) {
    let start = blocks.len();
    blocks.extend(DATA_JOURNAL_MAGIC);
    blocks.extend([0; 4]);
    blocks.extend((kind as u16).to_le_bytes());
    blocks.extend((count as u16).to_le_bytes());
    blocks.extend(run.to_le_bytes());
    blocks.extend(number.to_le_bytes());
    blocks.extend(payload);
    blocks.resize(start + BLOCK_BYTES, 0);
    let sum = crc32c::crc32c(&blocks[start + SUMMED..]);
    blocks[start + 8..start + SUMMED].copy_from_slice(&sum.to_le_bytes());
}

/// A block that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block<'b> {
    pub(super) kind: BlockKind,
    pub(super) run: u64,
    pub(super) number: u64,
    /// As much as is used.
    payload: &'b [u8],
}

impl<'b> Block<'b> {
    /// `None`: it is not whole.
    pub(super) fn read(bytes: &'b [u8]) -> Option<Block<'b>> {
        let mut at = Reader(bytes);
        let magic = at.take(DATA_JOURNAL_MAGIC.len())?;
        let sum = at.u32()?;
        let whole = bytes.len() == BLOCK_BYTES && magic == DATA_JOURNAL_MAGIC && sum == crc32c::crc32c(at.0);
        let (kind, count) = (u16::from_le_bytes(*at.array()?), u16::from_le_bytes(*at.array()?));
        let (run, number) = (at.u64()?, at.u64()?);
        let (kind, used) = match kind {
            1 => (BlockKind::Head, usize::from(count)),
            2 => (BlockKind::Records, usize::from(count) * RECORD_BYTES),
            3 => (BlockKind::End, usize::from(count)),
            _ => return None,
        };
        let payload = at.take(used)?;
        whole.then_some(Block { kind, run, number, payload })
    }

    pub(super) fn records(&self) -> impl Iterator<Item = Record> + 'b {
        let payload = if self.kind == BlockKind::Records { self.payload } else { &[] };
        payload.chunks_exact(RECORD_BYTES).filter_map(|bytes| {
            let mut at = Reader(bytes);
            Record::unpack([at.u64()?, at.u64()?])
        })
    }

    /// How many records a journal has that it closes; `None`: it closes none.
    pub(super) fn end(&self) -> Option<u64> {
        if self.kind == BlockKind::End { Reader(self.payload).u64() } else { None }
    }

    /// Its part of the head.
    pub(super) fn head(&self) -> &'b [u8] {
        if self.kind == BlockKind::Head { self.payload } else { &[] }
    }
}

/// What a head says; `None`: it is not whole.
pub(super) fn read_head(content: &[u8]) -> Option<HeadContent> {
    let mut at = Reader(content);
    let length = usize::try_from(at.u64()?).ok()?;
    let mut at = Reader(at.take(length)?);
    let count = at.u32()?;
    let targets = (0..count).map(|_| read_target(&mut at)).collect::<Option<_>>()?;
    Some(HeadContent { targets, node: read_text(&mut at), of: read_of(&mut at) })
}

fn read_of(at: &mut Reader<'_>) -> Option<JournalOf> {
    let run = read_text(at)?;
    let host = at.u32()?;
    Some(JournalOf { run, host: u16::try_from(host).ok() })
}

fn read_text(at: &mut Reader<'_>) -> Option<String> {
    let length = at.u32()?;
    String::from_utf8(at.take(length as usize)?.to_vec()).ok()
}

fn read_target(at: &mut Reader<'_>) -> Option<JournaledTarget> {
    let number = at.u32()?;
    let (key_block_bytes, end_bytes, buffered) = (at.u64()?, at.u64()?, at.u32()? != 0);
    let (name, path) = (read_text(at)?, read_text(at)?);
    (key_block_bytes > 0).then_some(JournaledTarget {
        number,
        name,
        path,
        key_block_bytes,
        end_bytes,
        buffered,
    })
}

/// Bytes that are read from the front.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<&'b [u8; N]> {
        self.take(N)?.first_chunk()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(number: u32) -> JournaledTarget {
        JournaledTarget {
            number,
            name: format!("target {number}"),
            path: "/".repeat(5000),
            key_block_bytes: 4096,
            end_bytes: 1 << 20,
            buffered: number > 0,
        }
    }

    #[test]
    fn records_come_back() {
        let record = Record {
            kind: Kind::FlushFailed,
            target: u16::MAX,
            key: (1 << 44) - 1,
            count: u32::MAX,
            generation: (1 << 22) - 1,
        };
        assert_eq!(Record::unpack(record.pack()), Some(record));
        let small = Record { kind: Kind::Issued, target: 0, key: 1, count: 1, generation: 1 };
        assert_eq!(Record::unpack(small.pack()), Some(small));
        assert_eq!(Record::unpack([0, 0]), None);
        let mut blocks = Vec::new();
        let records = vec![small; RECORDS + 1];
        push_records(&mut blocks, 7, 3, &records);
        let read: Vec<Block<'_>> =
            blocks.chunks(BLOCK_BYTES).map(|block| Block::read(block).unwrap()).collect();
        assert_eq!(read.iter().map(|block| (block.run, block.number)).collect::<Vec<_>>(), [(7, 3), (7, 4)]);
        assert_eq!(read.iter().flat_map(Block::records).collect::<Vec<_>>(), records);
    }

    #[test]
    fn a_head_comes_back_from_several_blocks() {
        let targets = vec![target(0), target(9)];
        let of = JournalOf { run: "0a0b0c0d".to_owned(), host: None };
        let blocks = head(7, &targets, "node", &of);
        assert_eq!(blocks.len(), 3 * BLOCK_BYTES);
        let content: Vec<u8> = blocks
            .chunks(BLOCK_BYTES)
            .flat_map(|block| Block::read(block).unwrap().head().to_vec())
            .collect();
        let mut said = HeadContent { targets, node: Some("node".to_owned()), of: Some(of) };
        assert_eq!(read_head(&content), Some(said.clone()));
        assert_eq!(read_head(&content[..content.len() - 1]), None);
        // As it was before it named the run, and before it named the machine.
        let without = |end: usize| {
            let length = content.len() - 8 - end;
            read_head(&[&(length as u64).to_le_bytes()[..], &content[8..8 + length]].concat())
        };
        let (of_bytes, node_bytes) = (4 + "0a0b0c0d".len() + 4, 4 + "node".len());
        said.of = None;
        assert_eq!(without(of_bytes), Some(said.clone()));
        said.node = None;
        assert_eq!(without(of_bytes + node_bytes), Some(said));
    }

    #[test]
    fn a_block_that_changed_is_none() {
        let mut blocks = Vec::new();
        push_records(&mut blocks, 7, 0, &[]);
        push_records(
            &mut blocks,
            7,
            0,
            &[Record { kind: Kind::Issued, target: 0, key: 1, count: 1, generation: 1 }],
        );
        assert_eq!(blocks.len(), BLOCK_BYTES, "none for nothing");
        for byte in [0, 9, 13, 20, 40, 4095] {
            let mut changed = blocks.clone();
            changed[byte] ^= 1;
            assert_eq!(Block::read(&changed), None, "{byte}");
        }
        assert_eq!(Block::read(&blocks[..4000]), None);
    }
}
