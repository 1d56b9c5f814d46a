//! What an I/O of a job does where it moves no data: one call of the kernel on a file or directory.

use serde::{Deserialize, Serialize};

/// One call on a file or directory, in the place of a read or write (fio's engines `filecreate`, `falloc` and the like).
///
/// The pattern of the job says how many there are, in which order its files are visited, and whether they count as reads or as
/// writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileOperation {
    /// openat(2) with O_CREAT; the file is closed behind it.
    CreateFile,
    /// stat(2).
    StatFile,
    /// lstat(2).
    LstatFile,
    /// statx(2) of everything.
    StatxFile,
    /// unlinkat(2).
    DeleteFile,
    /// mkdirat(2).
    CreateDirectory,
    /// stat(2) of a directory.
    StatDirectory,
    /// lstat(2) of a directory.
    LstatDirectory,
    /// statx(2) of everything of a directory.
    StatxDirectory,
    /// unlinkat(2) with AT_REMOVEDIR, which removes empty directories only.
    DeleteDirectory,
    /// fallocate(2): a read reserves space, a write extends the file as well, a trim punches a hole.
    Allocate,
    /// ftruncate(2) to the offset of the write.
    Truncate,
}

impl FileOperation {
    /// All of them.
    pub const ALL: [FileOperation; 12] = [
        FileOperation::CreateFile,
        FileOperation::StatFile,
        FileOperation::LstatFile,
        FileOperation::StatxFile,
        FileOperation::DeleteFile,
        FileOperation::CreateDirectory,
        FileOperation::StatDirectory,
        FileOperation::LstatDirectory,
        FileOperation::StatxDirectory,
        FileOperation::DeleteDirectory,
        FileOperation::Allocate,
        FileOperation::Truncate,
    ];

    /// The name in workload files, plans and results.
    pub const fn name(self) -> &'static str {
        match self {
            FileOperation::CreateFile => "create-file",
            FileOperation::StatFile => "stat-file",
            FileOperation::LstatFile => "lstat-file",
            FileOperation::StatxFile => "statx-file",
            FileOperation::DeleteFile => "delete-file",
            FileOperation::CreateDirectory => "create-directory",
            FileOperation::StatDirectory => "stat-directory",
            FileOperation::LstatDirectory => "lstat-directory",
            FileOperation::StatxDirectory => "statx-directory",
            FileOperation::DeleteDirectory => "delete-directory",
            FileOperation::Allocate => "allocate",
            FileOperation::Truncate => "truncate",
        }
    }

    /// fio's engine that does it, and its `stat_type` where it has one.
    pub const fn fio_engine(self) -> (&'static str, Option<&'static str>) {
        match self {
            FileOperation::CreateFile => ("filecreate", None),
            FileOperation::StatFile => ("filestat", Some("stat")),
            FileOperation::LstatFile => ("filestat", Some("lstat")),
            FileOperation::StatxFile => ("filestat", Some("statx")),
            FileOperation::DeleteFile => ("filedelete", None),
            FileOperation::CreateDirectory => ("dircreate", None),
            FileOperation::StatDirectory => ("dirstat", Some("stat")),
            FileOperation::LstatDirectory => ("dirstat", Some("lstat")),
            FileOperation::StatxDirectory => ("dirstat", Some("statx")),
            FileOperation::DeleteDirectory => ("dirdelete", None),
            FileOperation::Allocate => ("falloc", None),
            FileOperation::Truncate => ("ftruncate", None),
        }
    }

    /// Whether it is done by the name of a file or directory that is not open: one a file, however long the file is.
    pub const fn is_by_name(self) -> bool {
        !matches!(self, FileOperation::Allocate | FileOperation::Truncate)
    }

    /// Whether it makes what it is named after.
    pub const fn creates(self) -> bool {
        matches!(self, FileOperation::CreateFile | FileOperation::CreateDirectory)
    }

    /// Whether it is about directories.
    pub const fn is_on_directories(self) -> bool {
        matches!(
            self,
            FileOperation::CreateDirectory
                | FileOperation::StatDirectory
                | FileOperation::LstatDirectory
                | FileOperation::StatxDirectory
                | FileOperation::DeleteDirectory
        )
    }

    /// Whether there is a file before it, which has the size of its target.
    pub const fn needs_file(self) -> bool {
        !self.creates() && !self.is_on_directories()
    }

    /// Whether it only reads attributes.
    pub const fn is_stat(self) -> bool {
        matches!(
            self,
            FileOperation::StatFile
                | FileOperation::LstatFile
                | FileOperation::StatxFile
                | FileOperation::StatDirectory
                | FileOperation::LstatDirectory
                | FileOperation::StatxDirectory
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_stands_once_and_has_the_name_it_is_stored_by() {
        let names: std::collections::BTreeSet<&str> =
            FileOperation::ALL.iter().map(|operation| operation.name()).collect();
        assert_eq!(names.len(), FileOperation::ALL.len());
        for operation in FileOperation::ALL {
            assert_eq!(serde_json::to_value(operation).unwrap(), operation.name());
        }
    }
}
