//! Why writing was refused, each with what to do about it.

use std::borrow::Cow;
use std::path::PathBuf;

use super::openers::Opener;

/// Writing was refused. The message is one line and ends with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The path could not be examined.
    #[error("{path} cannot be examined: {reason}; run as a user who may, or choose another target")]
    Unknown {
        /// The target.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Consent is needed to overwrite a file.
    #[error(
        "{path} is a file that Assay did not make: writing destroys its content; \
         if that is meant, add --destroy-data {path}"
    )]
    ForeignFile {
        /// The target.
        path: PathBuf,
    },
    /// Consent is needed to overwrite what somebody wrote into a file of ours.
    #[error(
        "{path} was made by Assay, and something else changed it since, or the run that wrote it was killed: \
         writing destroys what is in it; if that is meant, add --destroy-data {path}"
    )]
    ChangedFile {
        /// The target.
        path: PathBuf,
    },
    /// Something was made of a file of ours.
    #[error(
        "{path} was made by Assay and carries a signature of {signature} now: writing destroys that; \
         if that is meant, add --destroy-data {path}"
    )]
    SignedFile {
        /// The target.
        path: PathBuf,
        /// What was recognised.
        signature: Cow<'static, str>,
    },
    /// Consent is needed to write to a device.
    #[error(
        "{path} is a block device: writing destroys what is on it; if that is meant, add --destroy-data {path}"
    )]
    DeviceWithoutConsent {
        /// The target.
        path: PathBuf,
    },
    /// The device is mounted.
    #[error(
        "{path} is mounted at {mount_point}: no consent covers that; umount it, or test a file below {mount_point}"
    )]
    Mounted {
        /// The target.
        path: PathBuf,
        /// One of its mount points.
        mount_point: PathBuf,
    },
    /// The device or file is swap space.
    #[error("{path} is swap space in use: no consent covers that; swapoff it first")]
    Swap {
        /// The target.
        path: PathBuf,
    },
    /// Something is built on the device.
    #[error("{path} is in use by {holder}: no consent covers that; stop {holder} first")]
    Held {
        /// The target.
        path: PathBuf,
        /// A device or file system that is built on it.
        holder: String,
    },
    /// The kernel says that the device is claimed, without saying by whom.
    #[error(
        "{path} is in use (an exclusive open fails): no consent covers that; find its user (lsblk, fuser) and stop it"
    )]
    Busy {
        /// The target.
        path: PathBuf,
    },
    /// A process has the device open without claiming it.
    #[error("{path} is open in {opener}: no consent covers that; stop that process first")]
    Open {
        /// The target.
        path: PathBuf,
        /// The process.
        opener: Opener,
    },
    /// The device carries a signature.
    #[error(
        "{path} carries a signature of {signature} at byte {offset_bytes}; \
         if that data may go, add --destroy-data {path} --really"
    )]
    Signature {
        /// The target.
        path: PathBuf,
        /// What was recognised.
        signature: Cow<'static, str>,
        /// Where.
        offset_bytes: u64,
    },
    /// It cannot be told whether the device carries something.
    #[error("{path} may carry data: {reason}; if it may go, add --destroy-data {path} --really")]
    Unrecognised {
        /// The target.
        path: PathBuf,
        /// Why it cannot be told.
        reason: String,
    },
    /// The device has partitions.
    #[error(
        "{path} has partitions ({first}, ..); name one of them, or, if all may go, add --destroy-data {path} --really"
    )]
    Partitioned {
        /// The target.
        path: PathBuf,
        /// The first of them.
        first: String,
    },
    /// The device has no capacity.
    #[error(
        "{path} has a size of 0; set it up first (losetup, zramctl), insert a medium, or choose another target"
    )]
    NoCapacity {
        /// The target.
        path: PathBuf,
    },
    /// The device refuses writes.
    #[error("{path} is read-only; make it writable (blockdev --setrw {path}) or choose another target")]
    ReadOnly {
        /// The target.
        path: PathBuf,
    },
    /// A file is the storage of a loop device.
    #[error("{path} is the backing file of {device}: no consent covers that; losetup -d /dev/{device} first")]
    LoopBacking {
        /// The target.
        path: PathBuf,
        /// The loop device.
        device: String,
    },
    /// Two loop devices have one file.
    #[error(
        "{path} stands on the same file as {device}: no consent covers what is behind that; losetup -d /dev/{device} first"
    )]
    SharedLoop {
        /// The target.
        path: PathBuf,
        /// The other loop device.
        device: String,
    },
    /// A loop device stands on a device that is in use.
    #[error("{path} stands on what is in use, and writing to it writes there: {why}")]
    InUseBelow {
        /// The target.
        path: PathBuf,
        /// What uses the device below.
        why: Box<Refusal>,
    },
    /// A device node is missing; a file of that name would fill the machine's memory.
    #[error("{path}: there is no such device, and a file there would live in memory; check the name (lsblk)")]
    NoSuchDevice {
        /// The target.
        path: PathBuf,
    },
    /// The directory for a new file is missing.
    #[error("{path} cannot be made: its directory does not exist; create the directory first")]
    NoParent {
        /// The target.
        path: PathBuf,
    },
    /// The path is in a file system that stores nothing.
    #[error("{path} is on {fs_type}, which stores no data; choose a directory on a disk")]
    NotStorage {
        /// The target.
        path: PathBuf,
        /// Type of the file system.
        fs_type: String,
    },
    /// The link leads nowhere.
    #[error("{path} is a symbolic link to nothing; name the place itself")]
    DanglingLink {
        /// The target.
        path: PathBuf,
    },
    /// A character device, socket or pipe.
    #[error("{path} is neither a file nor a directory nor a block device; choose one of these")]
    NotATarget {
        /// The target.
        path: PathBuf,
    },
    /// What was opened is not what was checked.
    #[error(
        "{path} is not what it was when writing was permitted: it was {was}, it is {is}; nothing was written to it. \
         Start again when nothing else touches it"
    )]
    Changed {
        /// The target.
        path: PathBuf,
        /// What it was.
        was: String,
        /// What it is.
        is: String,
    },
}
