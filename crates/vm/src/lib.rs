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
