//! Reading the journal of a run that crashed.

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use assay_results::store::open_regular;

use super::record::{self, BLOCK_BYTES, Block, BlockKind, HeadContent, JournalOf, JournaledTarget};
use super::state::{KeyState, Keys, State};
use super::writer::BATCH_BLOCKS;

/// Why a journal says nothing.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is something else, or its beginning is gone.
    #[error("{path} is not a validation journal of Assay, or its beginning is damaged")]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// What it says of its targets takes more memory than there is.
    #[error(
        "{path} speaks of more key blocks than there is memory for: it is damaged, or of a larger machine"
    )]
    TooLarge {
        /// The journal.
        path: PathBuf,
    },
    /// Whole blocks follow a damaged one: its storage lost what it had acknowledged.
    #[error(
        "{path} is damaged at offset {offset_bytes}, and records follow: its storage has lost acknowledged writes, so that nothing \
         can be proved by it"
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The first block that is not whole.
        offset_bytes: u64,
    },
}

/// What the journal of a run says that has ended, or crashed.
#[derive(Debug)]
pub struct CrashedRun {
    /// The number that its sectors carry.
    pub run: u64,
    /// The targets.
    pub targets: Vec<JournaledTarget>,
    /// The machine that kept it, by its own name; `None`: one of an earlier version.
    pub node: Option<String>,
    /// Whose it is; `None`: one of an earlier version.
    pub of: Option<JournalOf>,
    /// Records that were read.
    pub records: u64,
    /// Whether it was closed: nothing is missing. A journal of an earlier version never says so.
    pub closed: bool,
    /// Bytes at its end that were being written when the host crashed, and are left out.
    pub torn_bytes: u64,
    pub(crate) keys: Vec<Keys>,
}

impl CrashedRun {
    /// Reads the journal at `path`: a regular file.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn read(path: &Path) -> Result<CrashedRun, JournalError> {
        let failed = |source| JournalError::Io { path: path.to_owned(), source };
        let file = open_regular(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut blocks =
            Blocks { file: BufReader::with_capacity(1 << 20, file), bytes: vec![0; BLOCK_BYTES] };
        let not_a_journal = || JournalError::NotAJournal { path: path.to_owned() };
        let head = read_head(&mut blocks).map_err(failed)?.ok_or_else(not_a_journal)?;
        let Head { run, content: HeadContent { targets, node, of }, blocks: mut number } = head;
        let too_large = || JournalError::TooLarge { path: path.to_owned() };
        let mut state = State::new(&targets).ok_or_else(too_large)?;
        let (mut records, mut torn_at, mut closed) = (0, None, false);
        let damaged = |number: u64| {
            let offset_bytes = number * BLOCK_BYTES as u64;
            JournalError::Damaged { path: path.to_owned(), offset_bytes }
        };
        while blocks.next().map_err(failed)? {
            let block = blocks.block();
            // No crash leaves a whole block in the place of another one, or one of another run: it was lost, moved or put there.
            if block.as_ref().is_some_and(|block| (block.run, block.number) != (run, number)) {
                return Err(damaged(torn_at.unwrap_or(number)));
            }
            match (block, torn_at) {
                // It closes what was durable before: all of it must be there.
                (Some(block), torn) if block.end().is_some() => {
                    let is_whole = torn.is_none() && block.end() == Some(records);
                    closed = is_whole.then_some(true).ok_or_else(|| damaged(torn.unwrap_or(number)))?;
                }
                (Some(block), None) => {
                    for record in block.records() {
                        state.apply(record);
                        records += 1;
                    }
                }
                (None, None) => torn_at = Some(number),
                // Behind what one write may have left.
                (Some(_), Some(torn)) if number >= torn + BATCH_BLOCKS as u64 => {
                    return Err(damaged(torn));
                }
                _ => {}
            }
            number += 1;
        }
        let end = torn_at.unwrap_or(number) * BLOCK_BYTES as u64;
        let torn_bytes = length.saturating_sub(end);
        Ok(CrashedRun { run, targets, node, of, records, closed, torn_bytes, keys: state.into_keys() })
    }

    /// What it says of some targets alone, by their position.
    #[must_use]
    pub fn only(mut self, targets: &[usize]) -> CrashedRun {
        let keep = |index: usize| targets.contains(&index);
        let mut index = 0..;
        self.targets.retain(|_| index.next().is_some_and(keep));
        let mut index = 0..;
        self.keys.retain(|_| index.next().is_some_and(keep));
        self
    }

    /// Key blocks of a target with an acknowledged write.
    pub fn acknowledged_blocks(&self, target: usize) -> u64 {
        self.count(target, |key| key.acknowledged() != 0)
    }

    /// Key blocks of a target that were written.
    pub fn written_blocks(&self, target: usize) -> u64 {
        self.count(target, |key| key.last != 0)
    }

    fn count(&self, target: usize, is: impl Fn(KeyState) -> bool) -> u64 {
        self.keys.get(target).map_or(0, |keys| keys.count(is))
    }
}

/// What a journal begins with.
struct Head {
    run: u64,
    content: HeadContent,
    /// The blocks it takes.
    blocks: u64,
}

/// The head; `None`: it is no whole one.
fn read_head(blocks: &mut Blocks) -> io::Result<Option<Head>> {
    let (mut content, mut number, mut run) = (Vec::new(), 0, None);
    while blocks.next()? {
        let Some(block) = blocks.block() else { return Ok(None) };
        let is_next = block.number == number && run.is_none_or(|run| run == block.run);
        if !is_next || block.kind != BlockKind::Head {
            return Ok(None);
        }
        run = Some(block.run);
        content.extend(block.head());
        number += 1;
        if let Some(content) = record::read_head(&content) {
            return Ok(Some(Head { run: block.run, content, blocks: number }));
        }
    }
    Ok(None)
}

/// The blocks of a file.
struct Blocks {
    file: BufReader<File>,
    bytes: Vec<u8>,
}

impl Blocks {
    /// Goes on to the next block; `false`: there is none, or a part of one.
    fn next(&mut self) -> io::Result<bool> {
        match self.file.read_exact(&mut self.bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// `None`: it is not whole.
    fn block(&self) -> Option<Block<'_>> {
        Block::read(&self.bytes)
    }
}
