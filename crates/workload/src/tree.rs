//! Trees of files: their shape, their state while they are used, and what is done to them next.
//!
//! The shape is pure arithmetic: any file or directory has its name, parent and size from its index alone, and does
//! not depend on the seed, so that a later run finds the tree an earlier one made. Names are vdbench's
//! (`vdb.<level>_<n>.dir`, `vdb_f<number>.file`), so that trees can be shared with it.

mod generator;
mod layout;
mod operation;
mod state;

use serde::{Deserialize, Serialize};

pub use generator::{Cursors, Next, Task, TreeGenerator};
pub use layout::{
    DEPTH_MAX, DIRECTORIES_MAX, FILES_MAX, TreeEntry, TreeLayout, is_scheme_directory, is_scheme_file,
};
pub use operation::{OperationSet, TreeOperation};
pub use state::{TreeState, Unavailable};

/// In which order files are used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileSelection {
    /// In the order of the tree, again and again.
    #[default]
    InOrder,
    /// In order, from a random file on.
    InOrderFromRandom,
    /// In order, each file once; then the job ends.
    Once,
    /// Each with the same probability.
    Random,
    /// Exponentially falling from the first file: the mean distance is the number of files divided by `midpoint`.
    /// vdbench calls it `poisson`.
    Skewed {
        /// Above 0.
        midpoint: f64,
    },
}

/// Which files may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// All.
    #[default]
    Any,
    /// Those of their full size.
    Full,
    /// Those without bytes.
    Empty,
    /// Those below their full size.
    NotFull,
}

/// A file-tree workload: directories of files below one or more anchors, and operations on them.
///
/// An anchor is a target that is a directory. Sizes of reads and writes come from the job's pattern.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TreeWorkload {
    /// Directories per directory, at least 1.
    pub width: u32,
    /// Levels of directories, at least 1.
    pub depth: u32,
    /// Files per directory that holds files.
    pub files: u32,
    /// Whether every directory holds files, or only those at the bottom.
    pub files_in_all_directories: bool,
    /// File sizes in bytes with weights.
    pub sizes: Vec<(u64, f64)>,
    /// `sizes` is one mean, and sizes are uniform between nothing and twice it, rounded as vdbench's `sizes=(n,0)`.
    #[serde(default)]
    pub sizes_around_mean: bool,
    /// Files in order until their sizes total this many bytes; `None`: all.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// Operations use only the first files, until their sizes total this many bytes; `None`: all.
    #[serde(default)]
    pub working_set_bytes: Option<u64>,
    /// Several workers use the same tree. Recorded; each worker of a fleet still uses the whole of it.
    #[serde(default)]
    pub shared: bool,
    /// Operation names with weights: mkdir rmdir create delete open close read write getattr setattr access copy move.
    /// None: reads and writes as the job's mix says. In a phase that prepares or removes, they are steps in this
    /// order, and a leading `delete` makes the tree anew.
    pub operations: Vec<(String, f64)>,
    /// In which order files are used.
    #[serde(default)]
    pub file_selection: FileSelection,
    /// Which files may be used.
    #[serde(default)]
    pub file_state: FileState,
    /// Whether blocks within a file are accessed at random; then only files of their full size are read and written.
    pub random_io: bool,
    /// Sequential access starts at a random block of the file.
    #[serde(default)]
    pub random_start: bool,
    /// Several threads may read and write one file at once.
    #[serde(default)]
    pub files_shared: bool,
    /// A file is deleted and made anew before it is written.
    #[serde(default)]
    pub delete_before_write: bool,
    /// Stop using a file after this many blocks; `None`: its size worth.
    pub stop_after_ios: Option<u64>,
    /// Stop using a file after this share of its size, per cent.
    #[serde(default)]
    pub stop_after_percent: Option<f64>,
    /// The target that copies and moves go to, to the file of the same place in a tree of the same shape; `None`: to
    /// another file of the same tree.
    #[serde(default)]
    pub copy_to: Option<String>,
}

/// Why a tree cannot be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// Something that must be at least 1 is 0.
    #[error("a tree with {0} of 0")]
    Zero(&'static str),
    /// More levels than a path can have.
    #[error("{0} levels of directories; {DEPTH_MAX} are possible")]
    TooDeep(u32),
    /// More directories than are kept track of.
    #[error("more than {DIRECTORIES_MAX} directories (width {width}, depth {depth})")]
    TooManyDirectories {
        /// Directories per directory.
        width: u32,
        /// Levels.
        depth: u32,
    },
    /// More files than are kept track of.
    #[error("more than {FILES_MAX} files; lower files, width or depth, or set a total size")]
    TooManyFiles,
    /// No size, or weights that total nothing.
    #[error("a tree without file sizes")]
    NoSizes,
    /// A word that is no operation.
    #[error("'{0}' is not an operation on trees")]
    UnknownOperation(String),
    /// Weights that are negative, not numbers, or total nothing.
    #[error("operations without weight")]
    NoWeight,
    /// A share out of bounds.
    #[error("{what} of {value}")]
    OutOfBounds {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

impl TreeWorkload {
    /// The operations with their weights, those without weight left out; what `read_share` (0 to 1) says where none
    /// are named.
    ///
    /// # Errors
    /// [`TreeError`] for unknown names and weights that are none.
    pub fn weighted_operations(&self, read_share: f64) -> Result<Vec<(TreeOperation, f64)>, TreeError> {
        let mut list = Vec::with_capacity(self.operations.len());
        for (name, weight) in &self.operations {
            let operation = TreeOperation::from_name(name)
                .ok_or_else(|| TreeError::UnknownOperation(name.chars().take(40).collect()))?;
            if !(weight.is_finite() && *weight >= 0.0) {
                return Err(TreeError::NoWeight);
            }
            list.push((operation, *weight));
        }
        if list.is_empty() {
            list = vec![(TreeOperation::Read, read_share), (TreeOperation::Write, 1.0 - read_share)];
        }
        list.retain(|(_, weight)| *weight > 0.0);
        if list.is_empty() { Err(TreeError::NoWeight) } else { Ok(list) }
    }

    /// Checks everything that is not the layout's.
    ///
    /// # Errors
    /// [`TreeError`]: the first thing that cannot be.
    pub fn check(&self, read_share: f64) -> Result<(), TreeError> {
        self.weighted_operations(read_share)?;
        if let FileSelection::Skewed { midpoint } = self.file_selection
            && !(midpoint.is_finite() && midpoint > 0.0)
        {
            return Err(TreeError::OutOfBounds { what: "a midpoint", value: midpoint });
        }
        if self.stop_after_ios == Some(0) {
            return Err(TreeError::Zero("blocks used of a file"));
        }
        match self.stop_after_percent {
            Some(percent) if !(percent > 0.0 && percent.is_finite()) => {
                Err(TreeError::OutOfBounds { what: "a share of a file's size", value: percent })
            }
            _ => Ok(()),
        }
    }
}
