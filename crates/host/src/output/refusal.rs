//! Why a file was not written.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

/// Why an output could not be written.
#[derive(Debug)]
pub enum OutputError {
    /// It must not be: what was asked for is wrong.
    Refused {
        /// The option that names it, such as `--html`; empty for what Assay keeps itself.
        option: String,
        /// The path as it was given.
        path: PathBuf,
        /// Why.
        reason: Reason,
    },
    /// The system could not.
    Failed {
        /// The option that names it.
        option: String,
        /// The path as it was given.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// Why an output must not be written.
#[derive(Debug)]
pub enum Reason {
    /// A directory, device, pipe or socket.
    NotAFile(FileType),
    /// A symbolic link, and where it leads.
    Link(PathBuf),
    /// The directory it is to be in is none.
    NoDirectory(PathBuf),
    /// No file can be made in its directory.
    DirectoryNotWritable,
    /// Its directory is on a file system that is mounted read-only.
    ReadOnlyFileSystem,
    /// A directory is wanted, and this is something else.
    NotADirectory,
    /// The command reads it or works on it.
    Input,
    /// Another option of the command names it, too.
    Twice(String),
    /// Nobody may write to it, or this user may not.
    Protected,
    /// It is another user's, in a directory where only owners replace files.
    OtherOwner,
    /// Assay did not write it, or it was changed since.
    Foreign,
    /// Assay wrote it, as something else than what is to be written now.
    OtherKind,
    /// The directory holds what Assay did not write.
    ForeignDirectory,
    /// Something took the name while the file was being written.
    Changed,
    /// It cannot be looked at.
    Unreadable(io::Error),
}

impl OutputError {
    pub(super) fn refused(option: &str, path: &Path, reason: Reason) -> Self {
        OutputError::Refused { option: option.to_owned(), path: path.to_owned(), reason }
    }

    pub(super) fn failed(option: &str, path: &Path, source: io::Error) -> Self {
        OutputError::Failed { option: option.to_owned(), path: path.to_owned(), source }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (option, path) = match self {
            OutputError::Refused { option, path, .. } | OutputError::Failed { option, path, .. } => {
                (option, path)
            }
        };
        let space = if option.is_empty() { "" } else { " " };
        write!(f, "cannot write {option}{space}{}: ", path.display())?;
        match self {
            OutputError::Refused { reason, .. } => reason.fmt(f),
            OutputError::Failed { source, .. } => source.fmt(f),
        }
    }
}

impl std::error::Error for OutputError {}

impl Reason {
    /// Why no file can be made in a directory, by what the system said.
    pub(super) fn of_directory(error: rustix::io::Errno) -> Self {
        match error {
            rustix::io::Errno::ROFS => Reason::ReadOnlyFileSystem,
            _ => Reason::DirectoryNotWritable,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotAFile(FileType::Directory) => f.write_str("it is a directory; name a file in it"),
            Reason::NotAFile(kind) => {
                write!(f, "it is a {}, and outputs go to regular files only; name another file", word(*kind))
            }
            Reason::Link(to) => {
                write!(f, "it is a symbolic link to {}; name the file itself, or - for stdout", to.display())
            }
            Reason::NoDirectory(above) => {
                write!(f, "{} is not a directory; make it, or name another", above.display())
            }
            Reason::ReadOnlyFileSystem => {
                f.write_str("its directory is on a read-only file system; name a file on another")
            }
            Reason::DirectoryNotWritable => {
                f.write_str("its directory is not writable; name a file in another directory")
            }
            Reason::NotADirectory => f.write_str("it is not a directory; name a new or empty directory"),
            Reason::Input => f.write_str("this command reads or measures that file; name another file"),
            Reason::Twice(other) => write!(f, "{other} names the same file; name another"),
            Reason::Protected => {
                f.write_str("the file is there and write-protected; name another file, or make it writable")
            }
            Reason::OtherOwner => f.write_str(
                "the file is another user's, and in this directory (sticky bit) only owners replace files; \
                 name another file",
            ),
            Reason::Foreign => f.write_str(
                "the file exists, and Assay did not write it or it was changed since; name another file, or \
                 replace it with --force",
            ),
            Reason::OtherKind => f.write_str(
                "the file exists, and is of another kind than what would be written; name another file, or replace it \
                 with --force",
            ),
            Reason::ForeignDirectory => f.write_str(
                "the directory is not empty, and Assay did not make it; name a new or empty directory, or write \
                 into this one with --force",
            ),
            Reason::Changed => f.write_str(
                "another process made or changed that file meanwhile, and it was left as it is; name another file",
            ),
            Reason::Unreadable(error) => error.fmt(f),
        }
    }
}

fn word(kind: FileType) -> &'static str {
    match kind {
        FileType::BlockDevice => "block device",
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "pipe (FIFO)",
        FileType::Socket => "socket",
        _ => "special file",
    }
}
