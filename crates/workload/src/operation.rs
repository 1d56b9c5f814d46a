//! Operations that jobs name themselves: those on files and directories, transactions, mail.
//!
//! A planned job lists their names ([`crate::PlannedJob::operations`]); what is counted refers to them by number, so that a kind of
//! job brings its own without anything else knowing them. Reads, writes, trims and flushes are counted apart from these.

/// The number of an operation among those of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(u8);

impl OpId {
    /// So many at most, as stored intervals have seven bits for a number.
    pub const COUNT_MAX: u8 = 128;

    /// What was written is read back at once, to be compared. Jobs of block I/O name no operations; this one they may do.
    pub const REREAD: OpId = OpId(Self::COUNT_MAX - 1);
    /// Its name in results.
    pub const REREAD_NAME: &'static str = "reread";

    /// # Panics
    /// From [`OpId::COUNT_MAX`] on.
    pub const fn new(number: u8) -> Self {
        assert!(number < Self::COUNT_MAX);
        OpId(number)
    }

    /// The number.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// Whether an operation counts in what a job did in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// Done as part of another one, or brought along by it: the opening of a file that is read, the page I/O of a transaction.
    Beside,
    /// Asked for.
    InTotal,
}
