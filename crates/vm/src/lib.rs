//! Images of virtual machines that start Assay, as bytes: an initial file system (cpio), a disk with partitions (GPT), a boot file
//! system (FAT32) and GRUB, a streamOptimized VMDK, an OVF descriptor, an OVA, manifests of KubeVirt. Pure: the same inputs give the
//! same bytes. Nothing here downloads, calls a tool or knows Assay's results.

pub mod cpio;
pub mod disk;
pub mod elf;
pub mod fat;
pub mod gpt;
pub mod grub;
pub mod kubevirt;
pub mod lock;
pub mod ova;
pub mod ovf;
pub mod shape;
pub mod suite;
pub mod vmdk;

use std::io::Write as _;

/// Bytes compressed as gzip, alike each time.
///
/// # Errors
/// That there is no memory for them.
pub fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packed = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::new(6));
    packed.write_all(bytes)?;
    packed.finish()
}
