//! Where what is in a database file: the header, maps of which pages are in use and of their write counters, then the tree.

use crate::page::{PAYLOAD_BYTES, Page, PageKind, SLOTS};

/// The version of the format: since 2 each mailbox has an index, since 3 checkpoints say how long files were.
pub const VERSION: u32 = 3;
const MAGIC: u64 = 0x314c_4941_4d59_4153;
/// Pages that a page of the space map speaks of.
const BITS: u32 = PAYLOAD_BYTES as u32 * 8;
/// Pages that a page of the write map speaks of.
const COUNTERS: u32 = PAYLOAD_BYTES as u32;

/// Where the maps are, by the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Pages that there may be.
    pub capacity: u32,
}

impl Layout {
    fn space_pages(self) -> u32 {
        self.capacity.div_ceil(BITS)
    }

    /// The first page of the tree: those before are always in memory.
    pub fn first_data(self) -> u32 {
        1 + self.space_pages() + self.capacity.div_ceil(COUNTERS)
    }

    /// Page, byte and bit that say whether a page is in use.
    pub fn space_bit(self, page: u32) -> (u32, usize, u8) {
        let within = page % BITS;
        (1 + page / BITS, SLOTS + (within / 8) as usize, 1 << (within % 8))
    }

    /// Page and byte that hold the write counter of a page.
    pub fn write_byte(self, page: u32) -> (u32, usize) {
        (1 + self.space_pages() + page / COUNTERS, SLOTS + (page % COUNTERS) as usize)
    }

    /// What a page before the tree is.
    pub fn kind_of(self, page: u32) -> PageKind {
        match page {
            0 => PageKind::Header,
            page if page <= self.space_pages() => PageKind::SpaceMap,
            _ => PageKind::WriteMap,
        }
    }
}

/// What the header page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Of the format.
    pub version: u32,
    /// Which database.
    pub database: u32,
    /// See [`Layout`].
    pub layout: Layout,
    /// The top of the tree.
    pub root: u32,
    /// Whether it was built to the end.
    pub built: bool,
    /// Mailboxes it was built with.
    pub mailboxes: u32,
    /// Folders of each.
    pub folders: u32,
    /// Seed of what it was built with.
    pub seed: u64,
}

const ROOT: usize = SLOTS + 20;

impl Header {
    /// Writes it to page 0.
    pub fn write(&self, page: &mut Page) {
        page.set_u64(SLOTS, MAGIC);
        page.set_u32(SLOTS + 8, self.version);
        page.set_u32(SLOTS + 12, self.database);
        page.set_u32(SLOTS + 16, self.layout.capacity);
        page.set_u32(ROOT, self.root);
        page.set_u32(SLOTS + 24, u32::from(self.built));
        page.set_u32(SLOTS + 28, self.mailboxes);
        page.set_u32(SLOTS + 32, self.folders);
        page.set_u64(SLOTS + 40, self.seed);
    }

    /// Reads it from page 0; `None`: another program's.
    pub fn read(page: &Page) -> Option<Header> {
        (page.u64_at(SLOTS) == MAGIC).then(|| Header {
            version: page.u32_at(SLOTS + 8),
            database: page.u32_at(SLOTS + 12),
            layout: Layout { capacity: page.u32_at(SLOTS + 16) },
            root: page.u32_at(ROOT),
            built: page.u32_at(SLOTS + 24) == 1,
            mailboxes: page.u32_at(SLOTS + 28),
            folders: page.u32_at(SLOTS + 32),
            seed: page.u64_at(SLOTS + 40),
        })
    }

    /// Enters another root.
    pub fn set_root(page: &mut Page, root: u32) {
        page.set_u32(ROOT, root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_its_own_bit_and_byte() {
        let layout = Layout { capacity: 600_000 };
        assert_eq!((layout.space_pages(), layout.first_data()), (3, 1 + 3 + 19));
        let (first, last) = (layout.space_bit(0), layout.space_bit(599_999));
        assert_eq!(first, (1, SLOTS, 1));
        assert!(last.0 == 3 && last.1 < SLOTS + PAYLOAD_BYTES);
        assert_eq!(layout.write_byte(0), (4, SLOTS));
        assert_eq!(layout.write_byte(599_999).0, layout.first_data() - 1);
        assert_eq!([0, 1, 3, 4, 22].map(|page| layout.kind_of(page) as u8), [1, 2, 2, 3, 3]);
    }
}
