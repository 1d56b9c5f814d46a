//! The thirteen operations on files and directories.

use serde::{Deserialize, Serialize};

/// An operation on a file or a directory of a tree. The discriminants index tables and are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum TreeOperation {
    /// Make a directory.
    Mkdir = 0,
    /// Remove an empty directory.
    Rmdir = 1,
    /// Make an empty file.
    Create = 2,
    /// Remove a file.
    Delete = 3,
    /// Open a file.
    Open = 4,
    /// Close a file.
    Close = 5,
    /// Read a block of a file.
    Read = 6,
    /// Write a block of a file.
    Write = 7,
    /// Read a file's attributes (stat).
    Getattr = 8,
    /// Set a file's times (utimensat).
    Setattr = 9,
    /// Ask whether a file may be read and written (access).
    Access = 10,
    /// Copy a whole file.
    Copy = 11,
    /// Rename a file.
    Move = 12,
}

impl TreeOperation {
    /// Their number.
    pub const COUNT: usize = 13;

    /// All, in the order of their discriminants.
    pub const ALL: [TreeOperation; Self::COUNT] = [
        TreeOperation::Mkdir,
        TreeOperation::Rmdir,
        TreeOperation::Create,
        TreeOperation::Delete,
        TreeOperation::Open,
        TreeOperation::Close,
        TreeOperation::Read,
        TreeOperation::Write,
        TreeOperation::Getattr,
        TreeOperation::Setattr,
        TreeOperation::Access,
        TreeOperation::Copy,
        TreeOperation::Move,
    ];

    /// The name in workloads and results.
    pub fn name(self) -> &'static str {
        match self {
            TreeOperation::Mkdir => "mkdir",
            TreeOperation::Rmdir => "rmdir",
            TreeOperation::Create => "create",
            TreeOperation::Delete => "delete",
            TreeOperation::Open => "open",
            TreeOperation::Close => "close",
            TreeOperation::Read => "read",
            TreeOperation::Write => "write",
            TreeOperation::Getattr => "getattr",
            TreeOperation::Setattr => "setattr",
            TreeOperation::Access => "access",
            TreeOperation::Copy => "copy",
            TreeOperation::Move => "move",
        }
    }

    /// The names of all, by their discriminants.
    pub fn names() -> Vec<String> {
        Self::ALL.map(|operation| operation.name().to_owned()).into()
    }

    /// The operation of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// Whether it is done to directories.
    pub fn on_directories(self) -> bool {
        matches!(self, TreeOperation::Mkdir | TreeOperation::Rmdir)
    }
}

/// A set of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OperationSet(u16);

impl OperationSet {
    /// Adds one.
    pub fn insert(&mut self, operation: TreeOperation) {
        self.0 |= 1 << operation as u16;
    }

    /// Whether it is in the set.
    pub fn contains(self, operation: TreeOperation) -> bool {
        self.0 & (1 << operation as u16) != 0
    }

    /// Whether any of these is in the set.
    pub fn contains_any(self, operations: &[TreeOperation]) -> bool {
        operations.iter().any(|operation| self.contains(*operation))
    }

    /// What is in either.
    pub fn union(self, other: OperationSet) -> OperationSet {
        OperationSet(self.0 | other.0)
    }
}

impl FromIterator<TreeOperation> for OperationSet {
    fn from_iter<I: IntoIterator<Item = TreeOperation>>(operations: I) -> Self {
        let mut set = OperationSet::default();
        operations.into_iter().for_each(|operation| set.insert(operation));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indexes_lead_back() {
        for (index, operation) in TreeOperation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, index);
            assert_eq!(TreeOperation::from_name(operation.name()), Some(operation));
        }
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: OperationSet = [TreeOperation::Mkdir, TreeOperation::Move].into_iter().collect();
        assert!(set.contains(TreeOperation::Move) && !set.contains(TreeOperation::Copy));
        assert!(set.contains_any(&[TreeOperation::Copy, TreeOperation::Mkdir]));
    }
}
