//! Known signatures on block devices: file systems, partition tables, volume managers, encryption.
//!
//! Offsets and values are those that the formats themselves define (the kernel's headers under `fs/*` and
//! `include/uapi`, the UEFI specification for GPT, the published LUKS and LVM2 on-disk formats). The list errs on the
//! side of recognising too much: a false alarm costs one `wipefs`, a miss costs somebody's data.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A recognised signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it belongs to, such as `ext2/3/4` or `LUKS`.
    pub name: Cow<'static, str>,
    /// Where on the device it was found.
    pub offset_bytes: u64,
}

/// Bytes at a fixed distance from the start of the device.
struct Magic {
    name: &'static str,
    offset: u64,
    bytes: &'static [u8],
}

const fn magic(name: &'static str, offset: u64, bytes: &'static [u8]) -> Magic {
    Magic { name, offset, bytes }
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// How much of either end of a device is read.
const WINDOW_BYTES: u64 = 1100 * KIB;

/// Little-endian 0xa92b4efc.
const MD_MAGIC: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const BCACHE_MAGIC: &[u8] =
    &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca, 0x82, 0x65, 0xf5, 0x7f, 0x48, 0xba, 0x6d, 0x81];
const BCACHEFS_MAGIC: &[u8] =
    &[0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d, 0xf7, 0xef];

const VHD: &str = "VHD image";
const MBR: &str = "MBR partition table";

const HEAD: &[Magic] = &[
    magic("ext2/3/4", 0x438, &[0x53, 0xef]),
    magic("xfs", 0, b"XFSB"),
    magic("xfs log", 0, &[0xfe, 0xed, 0xba, 0xbe]),
    magic("btrfs", 64 * KIB + 0x40, b"_BHRfS_M"),
    magic("bcache", 4 * KIB + 0x18, BCACHE_MAGIC),
    magic("bcachefs", 4 * KIB + 0x18, BCACHEFS_MAGIC),
    magic("f2fs", KIB, &[0x10, 0x20, 0xf5, 0xf2]),
    magic("erofs", KIB, &[0xe2, 0xe1, 0xf5, 0xe0]),
    magic("squashfs", 0, b"hsqs"),
    magic("jfs", 32 * KIB, b"JFS1"),
    // Revision 2.0 and then the magic: two bytes alone would turn up in random data.
    magic("nilfs2", KIB, &[2, 0, 0, 0, 0, 0, 0x34, 0x34]),
    magic("reiserfs", 64 * KIB + 0x34, b"ReIsEr"),
    magic("reiserfs", 8 * KIB + 0x34, b"ReIsEr"),
    magic("gfs2", 64 * KIB, &[0x01, 0x16, 0x19, 0x70]),
    magic("ocfs2", KIB, b"OCFSV2"),
    magic("ocfs2", 2 * KIB, b"OCFSV2"),
    magic("ocfs2", 4 * KIB, b"OCFSV2"),
    magic("HFS+", KIB, b"H+\0\x04"),
    magic("HFS+", KIB, b"HX\0\x05"),
    magic("APFS", 32, b"NXSB"),
    magic("exFAT", 3, b"EXFAT   "),
    magic("NTFS", 3, b"NTFS    "),
    magic("ReFS", 3, b"ReFS\0\0\0\0"),
    magic("BitLocker", 3, b"-FVE-FS-"),
    magic("FAT", 54, b"FAT1"),
    magic("FAT", 82, b"FAT32"),
    magic("ISO 9660", 32 * KIB + 1, b"CD001"),
    magic("UDF", 32 * KIB + 1, b"BEA01"),
    magic("VMFS", MIB, &[0x0d, 0xd0, 0x01, 0xc0]),
    magic("LUKS", 0, b"LUKS\xba\xbe"),
    magic("LUKS", 16 * KIB, b"SKUL\xba\xbe"),
    magic("LVM physical volume", 0, b"LABELONE"),
    magic("LVM physical volume", 512, b"LABELONE"),
    magic("LVM physical volume", 1024, b"LABELONE"),
    magic("LVM physical volume", 1536, b"LABELONE"),
    magic("dm-integrity", 0, b"integrt\0"),
    magic("dm-verity", 0, b"verity\0\0"),
    magic("VDO", 0, b"dmvdo001"),
    magic("Stratis", 512 + 4, b"!Stra0tis"),
    magic("md RAID", 0, MD_MAGIC),
    magic("md RAID", 4 * KIB, MD_MAGIC),
    magic("Ceph BlueStore", 0, b"bluestore block device"),
    magic("Oracle ASM", 32, b"ORCLDISK"),
    magic("swap", 4 * KIB - 10, b"SWAPSPACE2"),
    magic("swap", 8 * KIB - 10, b"SWAPSPACE2"),
    magic("swap", 16 * KIB - 10, b"SWAPSPACE2"),
    magic("swap", 64 * KIB - 10, b"SWAPSPACE2"),
    magic("swap", 4 * KIB - 10, b"SWAP-SPACE"),
    magic("hibernation image", 4 * KIB - 10, b"S1SUSPEND"),
    magic("SPDK blobstore", 0, b"SPDKBLOB"),
    magic("JFFS2", 0, &[0x85, 0x19, 0x03, 0x20]),
    magic("JFFS2", 0, &[0x85, 0x19, 0x01, 0xe0]),
    magic("JFFS2", 0, &[0x85, 0x19, 0x02, 0xe0]),
    magic("BSD disk label", 0, &[0x57, 0x45, 0x56, 0x82]),
    magic("BSD disk label", 64, &[0x57, 0x45, 0x56, 0x82]),
    magic("BSD disk label", 512, &[0x57, 0x45, 0x56, 0x82]),
    magic("SQLite", 0, b"SQLite format 3\0"),
    // Disks of virtual machines that were put on a device as they are, and an archive that was written to it like to a tape.
    magic("qcow2 image", 0, b"QFI\xfb"),
    magic("QED image", 0, b"QED\0"),
    magic("VMDK image", 0, b"KDMV"),
    magic("VMDK image", 0, b"COWD"),
    magic("VHDX image", 0, b"vhdxfile"),
    magic(VHD, 0, b"conectix"),
    magic("VDI image", 0x40, &[0x7f, 0x10, 0xda, 0xbe]),
    magic("tar archive", 257, b"ustar"),
    magic("GPT partition table", 512, b"EFI PART"),
    magic("GPT partition table", 4 * KIB, b"EFI PART"),
    magic(MBR, 510, &[0x55, 0xaa]),
];

/// Looks for known signatures on a device (or an image of one) of `size_bytes`.
///
/// Reads about 1 MiB from both ends and a few blocks where file systems keep copies of what stands at their start.
///
/// # Errors
/// What reading says. A device that cannot be read may carry anything, so callers refuse it.
pub fn find_signatures(device: &File, size_bytes: u64) -> io::Result<Vec<Signature>> {
    let head = read_window(device, 0, size_bytes.min(WINDOW_BYTES))?;
    let tail_start = size_bytes.saturating_sub(WINDOW_BYTES);
    let tail = read_window(device, tail_start, size_bytes - tail_start)?;
    let mut found: Vec<Signature> = HEAD
        .iter()
        .filter(|magic| holds(&head, magic.offset, magic.bytes) && is_plausible(magic.name, &head))
        .map(|magic| Signature { name: magic.name.into(), offset_bytes: magic.offset })
        .collect();
    found.extend(rigid_disk_block(&head));
    found.extend(zfs_label(&head, 0));
    found.extend(at_the_end(&tail, tail_start, size_bytes));
    found.extend(copies(device, size_bytes)?);
    found.dedup_by(|a, b| a.name == b.name);
    Ok(found)
}

/// Whether the neighbourhood of a two-byte magic fits it. A device that was filled with random data must not
/// be taken for a file system once in some ten thousand times: `wipefs` would find nothing to wipe on it.
fn is_plausible(name: &str, head: &[u8]) -> bool {
    match name {
        "ext2/3/4" => {
            let field = |offset: usize| {
                let bytes = head.get(offset..offset + 4)?;
                Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            };
            // s_log_block_size and s_rev_level of the superblock at 1 KiB.
            field(0x418).is_some_and(|log| log <= 6) && field(0x44c).is_some_and(|revision| revision <= 1)
        }
        // The first byte of each of the four entries says "active" or not.
        MBR => [446, 462, 478, 494].iter().all(|&at| matches!(head.get(at), Some(0 | 0x80))),
        _ => true,
    }
}

fn read_window(device: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut window = vec![0; usize::try_from(length).unwrap_or(0)];
    device.read_exact_at(&mut window, offset)?;
    Ok(window)
}

fn holds(window: &[u8], offset: u64, bytes: &[u8]) -> bool {
    usize::try_from(offset).ok().and_then(|offset| window.get(offset..)?.get(..bytes.len())) == Some(bytes)
}

/// An Amiga disk has its partition table in any of its first sixteen blocks.
fn rigid_disk_block(head: &[u8]) -> Option<Signature> {
    let offset_bytes = (0..16).map(|block| 512 * block).find(|&offset| holds(head, offset, b"RDSK"))?;
    Some(Signature { name: "Amiga partition table".into(), offset_bytes })
}

/// A ZFS label has its uberblocks in its second half, one at least every KiB, in the byte order of its
/// writer.
fn zfs_label(window: &[u8], label: u64) -> Option<Signature> {
    const UBERBLOCK: u64 = 0x00ba_b10c;
    (label + 128 * KIB..label + 256 * KIB)
        .step_by(1024)
        .find(|&offset| {
            holds(window, offset, &UBERBLOCK.to_le_bytes()) || holds(window, offset, &UBERBLOCK.to_be_bytes())
        })
        .map(|offset_bytes| Signature { name: "ZFS".into(), offset_bytes })
}

/// Copies that outlive an overwritten start: data behind them can still be rescued, and its owner may mean to.
fn copies(device: &File, size: u64) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    let mut look = |offset: u64, is_it: &dyn Fn(&[u8]) -> bool, name: &'static str| -> io::Result<()> {
        if offset.checked_add(KIB).is_some_and(|end| end <= size) && is_it(&read_window(device, offset, KIB)?)
        {
            found.push(Signature { name: name.into(), offset_bytes: offset });
        }
        Ok(())
    };
    // ext keeps one at the start of its second block group, which has as many blocks as a block has bits.
    for log in 0..=6_u32 {
        let block = KIB << log;
        let first = u64::from(log == 0);
        let is_it = |copy: &[u8]| {
            holds(copy, 0x38, &[0x53, 0xef])
                && holds(copy, 0x18, &log.to_le_bytes())
                && holds(copy, 0x5a, &[1, 0])
        };
        look((8 * block + first) * block, &is_it, "ext2/3/4 (a copy of its superblock)")?;
    }
    // XFS keeps one at the start of each allocation group: mkfs makes four, of 1 TiB (less a block) at most.
    for block in [512_u64, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB] {
        let group = (size / block).div_ceil(4).min((1 << 40) / block - 1);
        let is_it = |copy: &[u8]| holds(copy, 0, b"XFSB") && holds(copy, 4, &(block as u32).to_be_bytes());
        look(group * block, &is_it, "xfs (a copy of its superblock)")?;
    }
    for mirror in [64 * MIB, 256 * 1024 * MIB] {
        let is_it = |copy: &[u8]| holds(copy, 0x40, b"_BHRfS_M");
        look(mirror, &is_it, "btrfs (a copy of its superblock)")?;
    }
    Ok(found)
}

/// Signatures whose place is counted from the end of the device.
fn at_the_end(tail: &[u8], tail_start: u64, size: u64) -> Vec<Signature> {
    // (name, distance from the start, bytes); distances that the device is too small for wrap and match
    // nothing.
    let candidates: [(&str, u64, &[u8]); 8] = [
        ("GPT partition table", size.wrapping_sub(512), b"EFI PART"),
        ("GPT partition table", size.wrapping_sub(4 * KIB), b"EFI PART"),
        // Version 1.0: at least 8 KiB before the end, on a 4 KiB boundary. Version 0.90: the last whole 64
        // KiB.
        ("md RAID", size.wrapping_sub(8 * KIB) & !(4 * KIB - 1), MD_MAGIC),
        ("md RAID", (size & !(64 * KIB - 1)).wrapping_sub(64 * KIB), MD_MAGIC),
        ("DDF RAID", size.wrapping_sub(512), &[0xde, 0x11, 0xde, 0x11]),
        (VHD, size.wrapping_sub(512), b"conectix"),
        ("Intel RAID", size.wrapping_sub(1024), b"Intel Raid ISM Cfg Sig. "),
        ("DRBD", size.wrapping_sub(4 * KIB - 60), &[0x83, 0x74, 0x02, 0x6b]),
    ];
    candidates
        .iter()
        .filter(|(_, offset, bytes)| {
            offset.checked_sub(tail_start).is_some_and(|within| holds(tail, within, bytes))
        })
        .map(|&(name, offset_bytes, _)| Signature { name: name.into(), offset_bytes })
        .chain(zfs_labels_at_the_end(tail, tail_start, size))
        .collect()
}

/// ZFS has two of its four labels in the last whole 512 KiB.
fn zfs_labels_at_the_end(tail: &[u8], tail_start: u64, size: u64) -> Option<Signature> {
    const LABEL: u64 = 256 * KIB;
    let end = size & !(LABEL - 1);
    let label = |at: u64| zfs_label(tail, end.checked_sub(at)?.checked_sub(tail_start)?);
    let found = label(2 * LABEL).or_else(|| label(LABEL))?;
    Some(Signature { offset_bytes: tail_start + found.offset_bytes, ..found })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 4 * MIB;

    fn image(writes: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(SIZE).expect("length");
        for (offset, bytes) in writes {
            file.write_all_at(bytes, *offset).expect("write");
        }
        file
    }

    fn names(file: &File) -> Vec<String> {
        find_signatures(file, SIZE).expect("readable").into_iter().map(|s| s.name.into_owned()).collect()
    }

    #[test]
    fn each_magic_of_the_table_is_recognised_alone() {
        for magic in HEAD {
            let found = names(&image(&[(magic.offset, magic.bytes)]));
            assert!(
                found.iter().any(|name| name == magic.name),
                "{} at {}: {found:?}",
                magic.name,
                magic.offset
            );
        }
    }

    #[test]
    fn an_empty_device_and_a_device_full_of_text_carry_none() {
        assert!(names(&image(&[])).is_empty());
        let text: Vec<u8> = b"just some words, over and over ".repeat(SIZE as usize / 31);
        assert!(names(&image(&[(0, &text)])).is_empty());
    }

    #[test]
    fn two_byte_magics_in_random_data_are_no_signature() {
        let mut noise: Vec<u8> =
            (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
        noise[510..512].copy_from_slice(&[0x55, 0xaa]);
        noise[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        assert!(names(&image(&[(0, &noise)])).is_empty());
    }

    #[test]
    fn signatures_at_the_end() {
        assert_eq!(names(&image(&[(SIZE - 512, b"EFI PART")])), ["GPT partition table"]);
        assert_eq!(names(&image(&[(SIZE - 8 * KIB, MD_MAGIC)])), ["md RAID"]);
        assert_eq!(names(&image(&[(SIZE - 64 * KIB, MD_MAGIC)])), ["md RAID"]);
        assert_eq!(names(&image(&[(SIZE - 512, b"conectix")])), ["VHD image"]);
    }

    #[test]
    fn zfs_in_either_byte_order() {
        assert_eq!(names(&image(&[(132 * KIB, &0x00ba_b10c_u64.to_be_bytes())])), ["ZFS"]);
        assert_eq!(names(&image(&[(128 * KIB, &0x00ba_b10c_u64.to_le_bytes())])), ["ZFS"]);
        for label in [2, 1] {
            let at = SIZE - label * 256 * KIB + 128 * KIB;
            let found =
                find_signatures(&image(&[(at, &0x00ba_b10c_u64.to_le_bytes())]), SIZE).expect("readable");
            assert_eq!((found.len(), &*found[0].name, found[0].offset_bytes), (1, "ZFS", at));
        }
    }

    #[test]
    fn an_amiga_partition_table_in_a_later_block() {
        assert_eq!(names(&image(&[(3 * 512, b"RDSK")])), ["Amiga partition table"]);
    }

    #[test]
    fn a_tiny_device_is_examined_without_overrun() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(600).expect("length");
        file.write_all_at(&[0x55, 0xaa], 510).expect("write");
        assert_eq!(find_signatures(&file, 600).expect("readable").len(), 1);
        assert!(find_signatures(&tempfile::tempfile().expect("a file"), 0).expect("empty").is_empty());
    }

    #[test]
    fn a_device_shorter_than_it_says_is_an_error() {
        assert!(find_signatures(&image(&[]), SIZE * 2).is_err());
    }
}
