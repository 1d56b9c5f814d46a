//! A disk that a machine starts from, by BIOS and by UEFI, as the pieces of it that are not zero.

use std::io;

use crate::fat;
use crate::gpt::{self, ALIGN, Partition, Purpose, SECTOR};
use crate::grub::{self, GrubError};

/// The label of the file system that results are put into and settings are taken from.
pub const EXCHANGE: &str = "ASSAY";
/// Its number.
pub const EXCHANGE_PARTITION: u32 = 3;
/// Which partition GRUB takes the kernel from.
pub const SYSTEM_PARTITION: usize = 2;
/// How large the file system for results is.
const EXCHANGE_BYTES: u64 = 256 << 20;
/// What GRUB's second stage has.
const STAGE_BYTES: u64 = ALIGN;

/// A disk: its size, and what is on it; the rest is zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Disk {
    /// Bytes.
    pub bytes: u64,
    /// Where, and what; in order, and none reaches into the next.
    pub pieces: Vec<(u64, Vec<u8>)>,
}

impl Disk {
    /// Calls `give` for every piece of `grain` bytes that is not all zero, with its offset.
    ///
    /// # Errors
    /// What `give` says.
    pub fn grains(&self, grain: u64, mut give: impl FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut gathered: Option<(u64, Vec<u8>)> = None;
        for (offset, piece) in &self.pieces {
            let (mut offset, mut rest) = (*offset, &piece[..]);
            while !rest.is_empty() {
                let start = offset / grain * grain;
                if let Some((at, full)) = gathered.take_if(|(at, _)| *at != start)
                    && full.iter().any(|&byte| byte != 0)
                {
                    give(at, &full)?;
                }
                let (_, into) = gathered.get_or_insert_with(|| (start, vec![0; grain as usize]));
                let from = (offset - start) as usize;
                let bytes = rest.len().min(grain as usize - from);
                into[from..from + bytes].copy_from_slice(&rest[..bytes]);
                (offset, rest) = (offset + bytes as u64, &rest[bytes..]);
            }
        }
        match gathered {
            Some((at, full)) if full.iter().any(|&byte| byte != 0) => give(at, &full),
            _ => Ok(()),
        }
    }
}

/// What a bootable disk is made of.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// The Linux kernel.
    pub kernel: &'a [u8],
    /// What it unpacks first, compressed or not.
    pub initramfs: &'a [u8],
    /// GRUB's first stage for a BIOS.
    pub boot: &'a [u8],
    /// Its second.
    pub core: &'a [u8],
    /// GRUB for UEFI.
    pub efi: &'a [u8],
    /// The words for the kernel.
    pub words: &'a str,
    /// Other files of the system's partition: licences.
    pub files: &'a [(String, Vec<u8>)],
    /// All identities are made of it.
    pub id: &'a str,
}

/// Why a disk cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The size.
    #[error("a system disk of {asked} bytes is too small: at least {needed} bytes are needed")]
    Small {
        /// What was asked for.
        asked: u64,
        /// The least.
        needed: u64,
    },
    /// The loader.
    #[error(transparent)]
    Grub(#[from] GrubError),
    /// The file systems.
    #[error("the boot partition could not be made: {0}")]
    Fat(#[from] io::Error),
}

/// A disk of `bytes` that starts `contents`.
///
/// # Errors
/// It does not fit.
pub fn bootable(bytes: u64, contents: &Contents<'_>) -> Result<Disk, DiskError> {
    let menu = grub::menu(contents.words);
    let mut files: Vec<(String, &[u8])> = vec![
        ("boot/vmlinuz".to_owned(), contents.kernel),
        ("boot/initramfs".to_owned(), contents.initramfs),
        ("boot/grub/grub.cfg".to_owned(), menu.as_bytes()),
        ("EFI/BOOT/BOOTX64.EFI".to_owned(), contents.efi),
    ];
    files.extend(contents.files.iter().map(|(name, content)| (name.clone(), &content[..])));
    let content: u64 = files.iter().map(|(_, content)| content.len() as u64 + SECTOR).sum();
    // Tables and directories are a fiftieth; a release of the kernel may be larger later.
    let system = (content + content / 8).max(fat::BYTES_MIN).next_multiple_of(ALIGN) + 4 * ALIGN;
    let stage = Partition { purpose: Purpose::BiosBoot, name: "grub", offset: ALIGN, bytes: STAGE_BYTES };
    let efi = Partition { purpose: Purpose::Efi, name: "system", offset: 2 * ALIGN, bytes: system };
    let exchange = Partition {
        purpose: Purpose::Data,
        name: "assay",
        offset: efi.offset + efi.bytes,
        bytes: EXCHANGE_BYTES,
    };
    let needed = exchange.offset + exchange.bytes + ALIGN;
    if bytes < needed || !bytes.is_multiple_of(SECTOR) {
        return Err(DiskError::Small { asked: bytes, needed });
    }
    let (first, second) = grub::for_bios(contents.boot, contents.core, stage.offset, stage.bytes)?;
    let (mut start, end) = gpt::tables(bytes, &[stage.clone(), efi.clone(), exchange.clone()], contents.id);
    start[..first.len()].copy_from_slice(&first);
    let readme = ("README.TXT".to_owned(), README.as_bytes());
    let pieces = vec![
        (0, start),
        (stage.offset, second),
        (efi.offset, fat::image(efi.bytes, "ASSAYSYS", &files)?),
        (exchange.offset, fat::image(exchange.bytes, EXCHANGE, &[readme])?),
        (bytes - end.len() as u64, end),
    ];
    Ok(Disk { bytes, pieces })
}

const README: &str = "Results of this virtual machine are put here, as archives that 'assay import' reads.\r
A file ASSAY.CFG here, or on a disk whose FAT file system has the label ASSAY, holds settings, one a line: run=suite\r
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_join_what_lies_in_one_and_leave_out_what_is_zero() {
        let disk = Disk {
            bytes: 64,
            pieces: vec![(3, vec![1, 2]), (6, vec![3; 4]), (16, vec![0; 8]), (31, vec![9, 9])],
        };
        let mut seen = Vec::new();
        disk.grains(8, |at, grain| {
            seen.push((at, grain.to_vec()));
            Ok(())
        })
        .expect("taken");
        let expected = [
            (0, vec![0, 0, 0, 1, 2, 0, 3, 3]),
            (8, vec![3, 3, 0, 0, 0, 0, 0, 0]),
            (24, vec![0, 0, 0, 0, 0, 0, 0, 9]),
            (32, vec![9, 0, 0, 0, 0, 0, 0, 0]),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_disk_that_is_too_small_is_refused_with_the_least() {
        let (boot, core) = ([0; 512], [0; 2048]);
        let contents = Contents {
            kernel: &[1; 5000],
            initramfs: &[2; 5000],
            boot: &boot,
            core: &core,
            efi: &[3; 100],
            words: "quiet",
            files: &[],
            id: "x",
        };
        let why = bootable(1 << 20, &contents).expect_err("small").to_string();
        assert!(why.contains("1048576") && why.contains("at least"), "{why}");
        let disk = bootable(1 << 30, &contents).expect("fits");
        assert_eq!(disk, bootable(1 << 30, &contents).expect("fits"));
        assert!(disk.pieces.windows(2).all(|two| two[0].0 + two[0].1.len() as u64 <= two[1].0));
    }
}
