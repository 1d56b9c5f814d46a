//! GRUB on a disk as its own installer would put it there (grub-bios-setup, of GRUB 2.06), without a device: its first stage in the
//! first sector, its second in a partition of its own.

use crate::gpt::SECTOR;

/// Where the first stage keeps the sector of the second (`GRUB_BOOT_MACHINE_KERNEL_SECTOR`).
const KERNEL_SECTOR: usize = 0x5c;
/// What asks the BIOS about the drive; two `nop`s there make it take the BIOS at its word (`GRUB_BOOT_MACHINE_DRIVE_CHECK`).
const DRIVE_CHECK: usize = 0x66;
/// Code of the first stage: then come the disk's signature and the partitions.
const STAGE_BYTES: usize = 440;
/// Where the second stage's first sector says where its second sector is: one entry at the sector's end.
const LIST: usize = SECTOR as usize - 12;

/// Modules of both GRUBs: what reads a FAT file system and starts Linux, and what talks to a screen and a serial line.
pub const MODULES: &[&str] =
    &["part_gpt", "fat", "normal", "linux", "serial", "terminal", "echo", "configfile"];
/// Of that of BIOS.
pub const MODULES_BIOS: &[&str] = &["biosdisk"];
/// Of that of UEFI.
pub const MODULES_EFI: &[&str] = &["all_video", "gfxterm"];

/// What is wrong with a stage of GRUB's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrubError {
    /// The first stage is not one sector.
    #[error("GRUB's boot.img is {0} bytes long, not 512")]
    Boot(usize),
    /// The second stage is not for a BIOS.
    #[error("GRUB's core image of {0} bytes does not fit its partition of {1} bytes")]
    Core(usize, u64),
}

/// The first sector's code, and the second stage for a partition of `room` bytes at `offset`.
///
/// # Errors
/// They are not what they should be.
pub fn for_bios(boot: &[u8], core: &[u8], offset: u64, room: u64) -> Result<(Vec<u8>, Vec<u8>), GrubError> {
    if boot.len() as u64 != SECTOR {
        return Err(GrubError::Boot(boot.len()));
    }
    if core.len() < 2 * SECTOR as usize || core.len() as u64 > room {
        return Err(GrubError::Core(core.len(), room));
    }
    let sector = offset / SECTOR;
    let mut first = boot[..STAGE_BYTES].to_vec();
    first[KERNEL_SECTOR..KERNEL_SECTOR + 8].copy_from_slice(&sector.to_le_bytes());
    first[DRIVE_CHECK..DRIVE_CHECK + 2].fill(0x90);
    let mut second = core.to_vec();
    second.resize(second.len().next_multiple_of(SECTOR as usize), 0);
    let rest = second.len() as u64 / SECTOR - 1;
    second[LIST..LIST + 8].copy_from_slice(&(sector + 1).to_le_bytes());
    second[LIST + 8..LIST + 10].copy_from_slice(&(rest as u16).to_le_bytes());
    Ok((first, second))
}

/// Where both GRUBs look for their menu: on the disk that they were started from.
pub fn prefix(partition: usize) -> String {
    format!("(,gpt{partition})/boot/grub")
}

/// GRUB's menu: one entry, started at once. `words` go to the kernel.
pub fn menu(words: &str) -> String {
    format!(
        "# What follows 'linux /boot/vmlinuz' are the kernel's words; assay.run=.. and others are read by Assay (docs/how-to.md).
serial --unit=0 --speed=115200
terminal_output console serial
set timeout=0
linux /boot/vmlinuz {words}
initrd /boot/initramfs
boot
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stages_name_each_other() {
        let boot = vec![1; 512];
        let core = vec![2; 1300];
        let (first, second) = for_bios(&boot, &core, 1 << 20, 1 << 20).expect("fits");
        assert_eq!(first.len(), 440);
        assert_eq!(first[0x5c..0x64], 2048_u64.to_le_bytes());
        assert_eq!(first[0x66..0x68], [0x90, 0x90]);
        assert_eq!(second.len(), 1536);
        assert_eq!(second[500..508], 2049_u64.to_le_bytes());
        assert_eq!(second[508..510], 2_u16.to_le_bytes());
        assert_eq!(for_bios(&boot[1..], &core, 0, 9), Err(GrubError::Boot(511)));
        assert_eq!(for_bios(&boot, &core, 0, 1000), Err(GrubError::Core(1300, 1000)));
    }
}
