//! What a mail job counts: its four transactions, and beside them each class of I/O.

use assay_engine::operations::Entry;
use assay_workload::operation::OpId;

use crate::disk::Class;

/// A transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Transaction {
    /// A new message.
    Insert,
    /// One goes.
    Delete,
    /// One becomes another.
    Replace,
    /// One is read.
    Read,
}

impl Transaction {
    /// All, by their numbers.
    pub const ALL: [Transaction; 4] =
        [Transaction::Insert, Transaction::Delete, Transaction::Replace, Transaction::Read];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Transaction::Insert => "insert",
            Transaction::Delete => "delete",
            Transaction::Replace => "replace",
            Transaction::Read => "read message",
        }
    }
}

const COUNT: usize = Transaction::ALL.len() + Class::ALL.len();

/// Where a class of I/O is counted.
pub fn place_of(class: Class) -> usize {
    Transaction::ALL.len() + class as usize
}

/// The names, by number.
pub fn names() -> Vec<String> {
    let transactions = Transaction::ALL.into_iter().map(Transaction::name);
    transactions.chain(Class::ALL.into_iter().map(Class::name)).map(str::to_owned).collect()
}

/// The table of a recorder.
pub fn table() -> [Entry; COUNT] {
    std::array::from_fn(|index| Entry::Named(OpId::new(index as u8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_names_go_together() {
        let names = names();
        assert_eq!(names.len(), COUNT);
        for class in Class::ALL {
            assert_eq!(names[place_of(class)], class.name());
        }
        for transaction in Transaction::ALL {
            assert_eq!(names[transaction as usize], transaction.name());
        }
    }
}
