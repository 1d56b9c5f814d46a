//! A disk as VMware's streamOptimized VMDK (Virtual Disk Format 5.0): only what is not zero, compressed, to be read from front to end.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::disk::Disk;
use crate::gpt::SECTOR;

/// Sectors of a grain.
const GRAIN: u64 = 128;
/// Entries of a table of grains.
const TABLE: u64 = 512;
/// Sectors before the first grain.
const OVERHEAD: u64 = 128;
/// A valid line-end test, compressed grains, markers.
const FLAGS: u32 = 0x0003_0001;
/// The directory is at the end, and the footer says where.
const AT_END: u64 = u64::MAX;

const GRAIN_TABLE: u32 = 1;
const GRAIN_DIRECTORY: u32 = 2;
const FOOTER: u32 = 3;
const END: u32 = 0;

/// Writes the disk. `id` are the words that its identity is made of.
///
/// # Errors
/// What the writer says.
pub fn write(disk: &Disk, id: &str, out: &mut dyn Write) -> io::Result<()> {
    let capacity = disk.bytes / SECTOR;
    let mut stream = Stream { out, sector: 0 };
    stream.put(&header(capacity, AT_END))?;
    let mut text = descriptor(disk.bytes, id).into_bytes();
    text.resize(20 * SECTOR as usize, 0);
    stream.put(&text)?;
    stream.put(&vec![0; ((OVERHEAD - 21) * SECTOR) as usize])?;
    let tables = capacity.div_ceil(GRAIN * TABLE) as usize;
    let mut directory = vec![0_u32; tables];
    let mut table: (usize, Vec<u32>) = (0, Vec::new());
    disk.grains(GRAIN * SECTOR, |offset, grain| {
        let number = offset / SECTOR / GRAIN;
        let index = (number / TABLE) as usize;
        if index != table.0 || table.1.is_empty() {
            stream.table(&mut table, &mut directory)?;
            table = (index, vec![0; TABLE as usize]);
        }
        table.1[(number % TABLE) as usize] = stream.sector as u32;
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::new(6));
        packed.write_all(grain)?;
        let packed = packed.finish()?;
        let marker = [&(offset / SECTOR).to_le_bytes()[..], &(packed.len() as u32).to_le_bytes(), &packed];
        stream.put(&marker.concat())
    })?;
    stream.table(&mut table, &mut directory)?;
    let entries: Vec<u8> = directory.iter().flat_map(|entry| entry.to_le_bytes()).collect();
    stream.marker((entries.len() as u64).div_ceil(SECTOR), GRAIN_DIRECTORY)?;
    let at = stream.sector;
    stream.put(&entries)?;
    stream.marker(1, FOOTER)?;
    stream.put(&header(capacity, at))?;
    stream.marker(0, END)
}

/// What is written so far.
struct Stream<'a> {
    out: &'a mut dyn Write,
    sector: u64,
}

impl Stream<'_> {
    /// Bytes, and zeros up to the next sector.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let padded = (bytes.len() as u64).next_multiple_of(SECTOR);
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; SECTOR as usize][..(padded - bytes.len() as u64) as usize])?;
        self.sector += padded / SECTOR;
        Ok(())
    }

    fn marker(&mut self, sectors: u64, kind: u32) -> io::Result<()> {
        let marker = [&sectors.to_le_bytes()[..], &0_u32.to_le_bytes(), &kind.to_le_bytes()];
        self.put(&marker.concat())
    }

    /// A table of grains that has any.
    fn table(&mut self, (index, entries): &mut (usize, Vec<u32>), directory: &mut [u32]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let bytes: Vec<u8> = entries.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        self.marker(bytes.len() as u64 / SECTOR, GRAIN_TABLE)?;
        directory[*index] = self.sector as u32;
        entries.clear();
        self.put(&bytes)
    }
}

fn header(capacity: u64, directory: u64) -> Vec<u8> {
    let mut header = b"KDMV".to_vec();
    header.extend_from_slice(&3_u32.to_le_bytes());
    header.extend_from_slice(&FLAGS.to_le_bytes());
    for number in [capacity, GRAIN, 1, 20] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header.extend_from_slice(&(TABLE as u32).to_le_bytes());
    for number in [0, directory, OVERHEAD] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header.push(0);
    // Shows a transfer that changed line ends.
    header.extend_from_slice(b"\n \r\n");
    header.extend_from_slice(&1_u16.to_le_bytes());
    header.resize(SECTOR as usize, 0);
    header
}

fn descriptor(bytes: u64, id: &str) -> String {
    let sectors = bytes / SECTOR;
    let guid = crate::gpt::guid_of(id);
    let content = u32::from_le_bytes([guid[0], guid[1], guid[2], guid[3]]) & 0xffff_fffd;
    let cylinders = (sectors / (255 * 63)).min(65535);
    format!(
        "# Disk DescriptorFile
version=1
CID={content:08x}
parentCID=ffffffff
createType=\"streamOptimized\"

# Extent description
RW {sectors} SPARSE \"disk.vmdk\"

# The Disk Data Base
#DDB

ddb.virtualHWVersion = \"13\"
ddb.geometry.cylinders = \"{cylinders}\"
ddb.geometry.heads = \"255\"
ddb.geometry.sectors = \"63\"
ddb.adapterType = \"lsilogic\"
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_disk_of_any_size_is_small_and_the_same_disk_gives_the_same_bytes() {
        let disk = Disk { bytes: 350 << 30, pieces: Vec::new() };
        let mut out = Vec::new();
        write(&disk, "x", &mut out).expect("written");
        assert!(out.len() < 200_000, "{}", out.len());
        let disk = Disk { bytes: 1 << 30, pieces: vec![(0, vec![1; 70_000]), (900 << 20, vec![2; 10])] };
        let (mut one, mut two) = (Vec::new(), Vec::new());
        write(&disk, "x", &mut one).expect("written");
        write(&disk, "x", &mut two).expect("written");
        assert!(one == two && one.starts_with(b"KDMV") && one.len() % 512 == 0);
        // The footer is the header with the directory's place.
        let footer = &one[one.len() - 1024..one.len() - 512];
        assert!(footer.starts_with(b"KDMV") && footer[56..64] != u64::MAX.to_le_bytes());
    }
}
