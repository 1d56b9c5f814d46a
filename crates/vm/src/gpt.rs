//! A GUID partition table (UEFI specification, chapter 5), with the first sector left for a boot loader.

use sha2::{Digest as _, Sha256};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// Partitions begin at multiples of this, as everywhere.
pub const ALIGN: u64 = 1 << 20;
const ENTRIES: u64 = 128;
const ENTRY_BYTES: u64 = 128;
/// Sectors of the table of partitions.
const TABLE_SECTORS: u64 = ENTRIES * ENTRY_BYTES / SECTOR;

/// What a partition is for, as its type's GUID in the mixed byte order of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The second stage of a boot loader for BIOS (21686148-6449-6E6F-744E-656564454649).
    BiosBoot,
    /// The EFI system partition (C12A7328-F81F-11D2-BA4B-00A0C93EC93B).
    Efi,
    /// Files for everybody (EBD0A0A2-B9E5-4433-87C0-68B6B72699C7).
    Data,
}

impl Purpose {
    fn guid(self) -> [u8; 16] {
        match self {
            Purpose::BiosBoot => *b"Hah!IdontNeedEFI",
            Purpose::Efi => [
                0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9,
                0x3b,
            ],
            Purpose::Data => [
                0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44, 0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99,
                0xc7,
            ],
        }
    }
}

/// A partition: bytes from the start of the disk, at multiples of [`ALIGN`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// What it is for.
    pub purpose: Purpose,
    /// Its name in the table, at most 36 letters.
    pub name: &'static str,
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub bytes: u64,
}

/// A GUID that follows from words: version 8 of RFC 9562, made of a SHA-256.
pub fn guid_of(words: &str) -> [u8; 16] {
    let digest = Sha256::digest(words);
    let mut guid = [0; 16];
    guid.copy_from_slice(&digest[..16]);
    guid[7] = guid[7] & 0x0f | 0x80;
    guid[8] = guid[8] & 0x3f | 0x80;
    guid
}

/// What goes to the start and to the end of a disk of `disk_bytes`; the first sector's first 440 bytes are free for a loader.
/// `seed` are the words that all identities are made of.
pub fn tables(disk_bytes: u64, partitions: &[Partition], seed: &str) -> (Vec<u8>, Vec<u8>) {
    let last = disk_bytes / SECTOR - 1;
    let mut entries = vec![0; (ENTRIES * ENTRY_BYTES) as usize];
    for (partition, entry) in partitions.iter().zip(entries.chunks_mut(ENTRY_BYTES as usize)) {
        entry[..16].copy_from_slice(&partition.purpose.guid());
        entry[16..32].copy_from_slice(&guid_of(&format!("{seed} {}", partition.name)));
        let first = partition.offset / SECTOR;
        entry[32..40].copy_from_slice(&first.to_le_bytes());
        entry[40..48].copy_from_slice(&(first + partition.bytes / SECTOR - 1).to_le_bytes());
        for (unit, to) in partition.name.encode_utf16().zip(entry[56..].chunks_mut(2)) {
            to.copy_from_slice(&unit.to_le_bytes());
        }
    }
    let header = |own: u64, other: u64, table: u64| {
        let mut header = vec![0; SECTOR as usize];
        header[..16].copy_from_slice(b"EFI PART\0\0\x01\0\x5c\0\0\0");
        for (at, value) in
            [(24, own), (32, other), (40, 2 + TABLE_SECTORS), (48, last - 1 - TABLE_SECTORS), (72, table)]
        {
            header[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        header[56..72].copy_from_slice(&guid_of(seed));
        header[80..84].copy_from_slice(&(ENTRIES as u32).to_le_bytes());
        header[84..88].copy_from_slice(&(ENTRY_BYTES as u32).to_le_bytes());
        header[88..92].copy_from_slice(&crc32fast::hash(&entries).to_le_bytes());
        let checksum = crc32fast::hash(&header[..92]);
        header[16..20].copy_from_slice(&checksum.to_le_bytes());
        header
    };
    let start = [protective(last), header(1, last, 2), entries.clone()].concat();
    let end = [entries.clone(), header(last, 1, last - TABLE_SECTORS)].concat();
    (start, end)
}

/// The sector that keeps older tools away, and that a BIOS starts: its one partition is the whole disk, and carries the flag
/// without which some BIOSes do not start a disk.
fn protective(last: u64) -> Vec<u8> {
    let mut sector = vec![0; SECTOR as usize];
    let sectors = u32::try_from(last).unwrap_or(u32::MAX);
    sector[446..454].copy_from_slice(&[0x80, 0, 2, 0, 0xee, 0xff, 0xff, 0xff]);
    sector[454..458].copy_from_slice(&1_u32.to_le_bytes());
    sector[458..462].copy_from_slice(&sectors.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_name_each_other_and_their_checksums_hold() {
        let esp = Partition { purpose: Purpose::Efi, name: "esp", offset: ALIGN, bytes: 4 * ALIGN };
        let (start, end) = tables(64 << 20, std::slice::from_ref(&esp), "x");
        let last = (64 << 20) / SECTOR - 1;
        let value = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8"));
        let (first, second) = (&start[512..1024], &end[end.len() - 512..]);
        assert_eq!((value(first, 24), value(first, 32)), (1, last));
        assert_eq!((value(second, 24), value(second, 32)), (last, 1));
        for header in [first, second] {
            let mut zeroed = header[..92].to_vec();
            zeroed[16..20].fill(0);
            assert_eq!(header[16..20], crc32fast::hash(&zeroed).to_le_bytes());
            assert_eq!(header[88..92], crc32fast::hash(&start[1024..]).to_le_bytes());
        }
        assert_eq!((value(&start, 1024 + 32), value(&start, 1024 + 40)), (2048, 2048 * 5 - 1));
        assert_eq!(start[510..512], [0x55, 0xaa]);
        assert_ne!(guid_of("x"), guid_of("y"));
    }
}
