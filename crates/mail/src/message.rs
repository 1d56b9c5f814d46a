//! Messages: their sizes, and content that says whose they are.

use assay_workload::rng::{Rng, splitmix64};

use crate::key::Key;

/// What the index of a mailbox has of each message: its date, size and flags, say. Each change of a message changes its entry as well, on
/// another page, as a server's secondary indexes do.
pub const INDEX_ENTRY: [u8; 48] = [0x5a; 48];
/// Bytes at the start of a message: checksum, length, mailbox, folder, version.
const HEADER_BYTES: usize = 24;

/// A size as messages have: most are some hundred bytes with their properties, a few have bodies that a page cannot hold.
pub fn draw_size(rng: &mut Rng) -> usize {
    let (low, high) = match rng.below(100) {
        0..90 => (200, 1300),
        90..98 => (1300, 6000),
        _ => (9000, 32_000),
    };
    (low + rng.below(high - low)) as usize
}

/// Content of a folder's message.
pub fn make(mailbox: u32, folder: u32, version: u64, bytes: usize, into: &mut Vec<u8>) {
    into.clear();
    into.extend([0; 4]);
    into.extend((bytes as u32).to_le_bytes());
    into.extend(mailbox.to_le_bytes());
    into.extend(folder.to_le_bytes());
    into.extend(version.to_le_bytes());
    let mut state = version ^ u64::from(mailbox) << 32 ^ u64::from(folder);
    while into.len() < bytes {
        into.extend(splitmix64(&mut state).to_le_bytes());
    }
    into.truncate(bytes.max(HEADER_BYTES));
    let crc = crc32c::crc32c(&into[4..]);
    into[..4].copy_from_slice(&crc.to_le_bytes());
}

/// The version of a message; `None`: it is not one of that key's folder, or not whole.
pub fn version(key: &Key, data: &[u8]) -> Option<u64> {
    let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?));
    let whole = word(0)? == crc32c::crc32c(&data[4..]) && word(4)? as usize == data.len();
    let version = u64::from(word(16)?) | u64::from(word(20)?) << 32;
    (whole && (word(8)?, word(12)?) == (key.mailbox, key.folder)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_whose_it_is() {
        let (mut data, mut rng) = (Vec::new(), Rng::new(1));
        let mut sum = 0;
        for version_made in 0..2000 {
            let bytes = draw_size(&mut rng);
            sum += bytes;
            make(3, 4, version_made, bytes, &mut data);
            assert_eq!(data.len(), bytes);
            assert_eq!(version(&Key::new(3, 4, 99), &data), Some(version_made));
            assert_eq!(version(&Key::new(3, 5, 99), &data), None);
            data[HEADER_BYTES + 7] ^= 1;
            assert_eq!(version(&Key::new(3, 4, 99), &data), None);
        }
        // 0.9 x 750 + 0.08 x 3,650 + 0.02 x 20,500 = 1,377.
        assert!((1200..1600).contains(&(sum / 2000)), "{}", sum / 2000);
    }
}
