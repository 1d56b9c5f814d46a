//! Why the store cannot go on.

use std::io;

use crate::disk::FileId;
use crate::layout::VERSION;
use crate::page::PageFault;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Flushing.
    Flush,
    /// Making or extending.
    Make,
}

impl std::fmt::Display for Doing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Doing::Read => "read",
            Doing::Write => "write",
            Doing::Flush => "flush",
            Doing::Make => "make or extend",
        })
    }
}

/// Why the store cannot go on. It never goes on after one of these: what it has acknowledged may not be there.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An I/O failed.
    #[error("cannot {doing} {file}: {source}")]
    Io {
        /// What was done.
        doing: Doing,
        /// To what.
        file: FileId,
        /// The system's answer.
        source: io::Error,
    },
    /// A page is not what was written.
    #[error("page {page}: {fault}")]
    Page {
        /// Which.
        page: u32,
        /// What is wrong with it.
        fault: PageFault,
    },
    /// The log ends before what was acknowledged.
    #[error(
        "the log is damaged: it can be read up to {end} (file position {position}), but what follows was acknowledged: {why}"
    )]
    Log {
        /// Where reading ended, LSN.
        end: u64,
        /// And the bytes of log files before it.
        position: u64,
        /// How that is known.
        why: LogDamage,
    },
    /// A file is shorter than it was.
    #[error(
        "{name} was cut short: it ends at byte {found}, and {expected} bytes of it are needed; restore all files of the \
         database from one copy, or build it again"
    )]
    Short {
        /// Of the file.
        name: String,
        /// Bytes that there are.
        found: u64,
        /// Bytes that there were.
        expected: u64,
    },
    /// A file is not there.
    #[error("{name} is missing; restore all files of the database from one copy, or build it again")]
    Missing {
        /// Of the file.
        name: String,
    },
    /// A group of the log makes no sense although its checksum holds.
    #[error(
        "the log holds a record that this version does not know or of a page that there is not, before LSN {0}"
    )]
    Record(u64),
    /// No checkpoint can be read.
    #[error("the checkpoint file has no whole checkpoint")]
    Checkpoint,
    /// What was acknowledged is not known.
    #[error("cannot read the ledger of acknowledged changes: {0}")]
    Ledger(#[source] io::Error),
    /// It is not one of ours.
    #[error("{}", foreign_version(*.0))]
    Version(u32),
    /// Its building did not end.
    #[error("the database is half built; build it again")]
    HalfBuilt,
    /// There is no room for a page.
    #[error("the database is full: all {0} pages of its capacity are in use")]
    Full(u32),
    /// The tree is not in order.
    #[error("page {page}: {what}")]
    Tree {
        /// Which.
        page: u32,
        /// What is wrong.
        what: TreeFault,
    },
    /// Another thread failed before.
    #[error("stopped, because of: {0}")]
    Stopped(String),
}

fn foreign_version(found: u32) -> String {
    match found {
        0 => "its first page is not the header of a mail database; build it again".to_owned(),
        _ => format!("it has format {found}, this version of Assay uses format {VERSION}; build it again"),
    }
}

/// How it is known that the log is longer than what can be read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogDamage {
    /// The checkpoint knows of more.
    Checkpoint(u64),
    /// A later batch is whole, and one is written at a time.
    LaterBatch(u64),
}

impl std::fmt::Display for LogDamage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogDamage::Checkpoint(lsn) => {
                write!(f, "the checkpoint was made when the log was durable up to {lsn}")
            }
            LogDamage::LaterBatch(position) => {
                write!(f, "a later batch stands whole at file position {position}")
            }
        }
    }
}

/// What is wrong with the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeFault {
    /// Its cells are not in the order of their keys.
    Order,
    /// A key is outside what the page above says.
    Bounds,
    /// It is of another kind or level than the page above says.
    Kind,
    /// It is in the tree twice, or in the tree and free.
    Use,
    /// The leaves are not linked in their order.
    Link,
}

impl std::fmt::Display for TreeFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TreeFault::Order => "its cells are not in the order of their keys",
            TreeFault::Bounds => "it has a key outside the range that the page above gives it",
            TreeFault::Kind => "it is not of the kind or level that refers to it",
            TreeFault::Use => "it is referred to twice, or marked as free",
            TreeFault::Link => "the leaf behind it is not the next one",
        })
    }
}
