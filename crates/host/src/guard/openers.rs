//! Which processes have a block device open.
//!
//! An exclusive open keeps out what claims a device: mounts, mappers, partitions in use. A virtual machine, a database or a copy that
//! opened it plainly claims nothing; it is found by looking through `/proc/PID/fd`. Processes of other PID namespaces, and
//! without privileges those of other users, are not seen.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::time::Duration;

use crate::node::number_text;
use crate::root::HostRoot;

/// A process that has a device open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    /// Its process id.
    pub pid: u32,
    /// Its command name, as the kernel has it.
    pub command: String,
}

impl std::fmt::Display for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} ({})", self.pid, self.command)
    }
}

/// How often it is looked whether a process still has a device open, and how long apart: one that looks for a free loop device or
/// scans for signatures has it open for a moment only.
const LOOKS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(100);

/// The first other process that has one of the devices `numbers` (`MAJOR:MINOR`) open, and keeps it open.
pub(super) fn opener_of(root: &HostRoot, numbers: &[String]) -> Option<Opener> {
    let own = std::process::id();
    let pids = root.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let mut open: Vec<u32> = pids.filter(|pid| *pid != own && has_open(root, *pid, numbers)).collect();
    for _ in 0..LOOKS {
        if open.is_empty() {
            break;
        }
        std::thread::sleep(PAUSE);
        open.retain(|pid| has_open(root, *pid, numbers));
    }
    let pid = *open.first()?;
    let command = root.text(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(Opener { pid, command })
}

fn has_open(root: &HostRoot, pid: u32, numbers: &[String]) -> bool {
    let fds = format!("/proc/{pid}/fd");
    root.names(&fds).into_iter().any(|fd| {
        // The link is followed to what is open, whatever its name is by now.
        let open = std::fs::metadata(root.locate(format!("{fds}/{fd}")));
        open.is_ok_and(|meta| {
            meta.file_type().is_block_device() && numbers.contains(&number_text(meta.rdev()))
        })
    })
}
