//! Keys: a message of a folder of a mailbox.

/// Bytes of a stored key.
pub const KEY_BYTES: usize = 16;

/// Set in the number of a mailbox: its index.
const INDEX: u32 = 1 << 31;

/// A message. Ordered by mailbox, folder and message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Whose.
    pub mailbox: u32,
    /// Which folder of it.
    pub folder: u32,
    /// Later ones have higher numbers.
    pub message: u64,
}

impl Key {
    /// The smallest.
    pub const FIRST: Key = Key { mailbox: 0, folder: 0, message: 0 };

    /// A message.
    pub fn new(mailbox: u32, folder: u32, message: u64) -> Self {
        Key { mailbox, folder, message }
    }

    /// Its entry in the index of its mailbox. Indexes are a table of their own, behind all mailboxes: a change of a message touches two
    /// pages that are no neighbours.
    #[must_use]
    pub fn in_index(&self) -> Self {
        Key::new(self.mailbox | INDEX, 0, self.message)
    }

    /// Whether it is an entry of an index.
    pub fn is_in_index(&self) -> bool {
        self.mailbox & INDEX != 0
    }

    /// As it is stored.
    pub fn encode(&self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.mailbox.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.folder.to_be_bytes());
        bytes[8..].copy_from_slice(&self.message.to_be_bytes());
        bytes
    }

    /// From what is stored: [`KEY_BYTES`] bytes.
    pub fn decode(bytes: &[u8]) -> Self {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
        };
        Key::new(number(0..4) as u32, number(4..8) as u32, number(8..16))
    }

    /// Whether both are of one folder.
    pub fn same_folder(&self, other: &Key) -> bool {
        (self.mailbox, self.folder) == (other.mailbox, other.folder)
    }
}
