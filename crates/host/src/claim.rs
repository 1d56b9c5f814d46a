//! One run at a time on a target.
//!
//! Two runs on one file or device measure each other, and the second may write over what the first is going to read. So a
//! run claims its targets and directories before it touches them: a lock (flock(2)) on the file, device or directory
//! itself, whatever it is called, which every process of the machine sees and the kernel drops when the last descriptor of
//! the run is closed, however the run ends. Runs that only read share a target.
//!
//! All claims of one run are in one [`Claims`], so several of its jobs may use one target. The seam for a run of several
//! processes: the lock belongs to the open descriptor, so a process that inherits it ([`Claims::descriptors`], as fio does)
//! belongs to the run, and the claim lasts until the last of them has ended.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use crate::devices::{disk_of_partition, name_of_number, partitions_of};
use crate::mounts::unescape;
use crate::node::number_text;
use crate::root::HostRoot;

/// A device is locked for a moment by who looks at it (udev).
const RETRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(30);

/// What a run does with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It reads: others may read as well.
    Shared,
    /// It writes: nobody else may use it.
    Exclusive,
}

/// Who has a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Its command line; empty when it has ended and a process that it started still holds the target.
    pub command: String,
    /// Since when it runs, in seconds since 1970.
    pub started_s: Option<i64>,
}

/// Another run has the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is in use by {}: nothing was done; wait for its end, or choose another target", path.display(), Named(holder.as_ref()))]
pub struct InUse {
    /// The target.
    pub path: PathBuf,
    /// Who has it; `None` where the kernel does not show it.
    pub holder: Option<Holder>,
}

struct Named<'a>(Option<&'a Holder>);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(holder) = self.0 else {
            return f.write_str("another run (in another container, or on another machine)");
        };
        if holder.command.is_empty() {
            return write!(f, "a process that pid {} started, which has ended itself", holder.pid);
        }
        write!(f, "pid {} ({})", holder.pid, holder.command)?;
        let started = holder.started_s.and_then(|at| jiff::Timestamp::from_second(at).ok());
        started.map_or(Ok(()), |at| write!(f, " since {}", at.strftime("%Y-%m-%dT%H:%M:%SZ")))
    }
}

/// One lock.
#[derive(Debug)]
struct Claim {
    file: File,
    identity: (u64, u64),
    access: Access,
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Closing would not do: a process that is just being started holds a copy until it is another program.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }
}

/// What one run has claimed, until the last copy is dropped.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    held: Arc<Mutex<Vec<Claim>>>,
}

impl Claims {
    /// Claims a file, device or directory; one that does not exist, cannot be opened or is something else is left alone, and
    /// so is a file system without locks. A partition is claimed with its disk, a loop device with its file.
    ///
    /// # Errors
    /// [`InUse`].
    pub fn take(&self, root: &HostRoot, path: &Path, access: Access) -> Result<(), InUse> {
        for (place, access) in places(root, path, access) {
            self.lock(root, path, &place, access)?;
        }
        Ok(())
    }

    /// What a process that belongs to the run inherits.
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.all().iter().map(|claim| claim.file.as_raw_fd()).collect()
    }

    fn all(&self) -> MutexGuard<'_, Vec<Claim>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self, root: &HostRoot, path: &Path, place: &Path, access: Access) -> Result<(), InUse> {
        let Some((file, identity)) = open(place) else { return Ok(()) };
        let mut all = self.all();
        if let Some(known) = all.iter_mut().find(|claim| claim.identity == identity) {
            if known.access < access {
                take_lock(root, path, &known.file, identity, access)?;
                known.access = access;
            }
            return Ok(());
        }
        let file = match take_lock(root, path, &file, identity, access)? {
            Taken::Yes => file,
            Taken::Never => return Ok(()),
            // NFS locks for writing only what is open for writing.
            Taken::NotReadOnly => {
                let Some(file) = open_with(place, OpenOptions::new().read(true).write(true)) else {
                    return Ok(());
                };
                match take_lock(root, path, &file, identity, access)? {
                    Taken::Yes => file,
                    Taken::NotReadOnly | Taken::Never => return Ok(()),
                }
            }
        };
        all.push(Claim { file, identity, access });
        Ok(())
    }
}

/// Whether somebody has claimed an open file, whatever for; `false` where that cannot be told.
pub(crate) fn is_claimed(file: &File) -> bool {
    let lock = rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive);
    if lock.is_ok() {
        let _ = rustix::fs::flock(file, FlockOperation::Unlock);
    }
    lock == Err(Errno::WOULDBLOCK)
}

enum Taken {
    Yes,
    NotReadOnly,
    Never,
}

fn take_lock(
    root: &HostRoot,
    path: &Path,
    file: &File,
    identity: (u64, u64),
    access: Access,
) -> Result<Taken, InUse> {
    let operation = match access {
        Access::Shared => FlockOperation::NonBlockingLockShared,
        Access::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    for _ in 0..RETRIES {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(Taken::Yes),
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(PAUSE),
            Err(Errno::BADF) => return Ok(Taken::NotReadOnly),
            Err(_) => return Ok(Taken::Never),
        }
    }
    let holder = holder(root, identity);
    // Reading harms nobody: what another program locked for itself is read all the same.
    if access == Access::Shared && holder.as_ref().is_some_and(|holder| !is_ours(root, holder)) {
        return Ok(Taken::Never);
    }
    Err(InUse { path: path.to_owned(), holder })
}

/// Whether a process is an Assay.
fn is_ours(root: &HostRoot, holder: &Holder) -> bool {
    let name = |pid: &dyn fmt::Display| root.text(format!("/proc/{pid}/comm"));
    name(&holder.pid).is_some_and(|name_of_it| Some(name_of_it) == name(&"self"))
}

/// What is locked for a path, and how.
fn places(root: &HostRoot, path: &Path, access: Access) -> Vec<(PathBuf, Access)> {
    let located = root.locate(path);
    let device = fs::metadata(&located).ok().filter(|meta| meta.file_type().is_block_device());
    let name = device.and_then(|meta| name_of_number(root, &number_text(meta.rdev())));
    let Some(name) = name else { return vec![(located, access)] };
    // One node stands for the device, by whatever node it was named.
    let node = |name: &str| root.locate(Path::new("/dev").join(name.replace('!', "/")));
    let own = node(&name);
    let mut places = vec![(if own.exists() { own } else { located }, access)];
    if let Some(disk) = disk_of_partition(root, &name) {
        places.push((node(&disk), Access::Shared));
    }
    places.extend(partitions_of(root, &name).iter().map(|part| (node(part), Access::Shared)));
    if let Some(file) = root.nonempty_text(format!("/sys/block/{name}/loop/backing_file")) {
        places.push((unescape(&file), access));
    }
    places
}

/// Opens what can be claimed, without waiting for anything.
fn open(path: &Path) -> Option<(File, (u64, u64))> {
    let kind = fs::metadata(path).ok()?.file_type();
    if !(kind.is_file() || kind.is_dir() || kind.is_block_device()) {
        return None;
    }
    let file = open_with(path, OpenOptions::new().read(true))
        .or_else(|| open_with(path, OpenOptions::new().write(true)))?;
    let meta = file.metadata().ok()?;
    Some((file, (meta.dev(), meta.ino())))
}

fn open_with(path: &Path, options: &mut OpenOptions) -> Option<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    options.custom_flags(flags.bits() as i32).open(path).ok()
}

/// Who holds the lock, as the kernel lists locks: `1: FLOCK  ADVISORY  WRITE 1234 fe:00:4711 0 EOF`. The device is the file
/// system's own, which for some (btrfs, overlayfs) is not the one that stat(2) says.
fn holder(root: &HostRoot, (device, inode): (u64, u64)) -> Option<Holder> {
    let locks = root.text("/proc/locks")?;
    let same_inode = |line: &&str| {
        let word = line.split_whitespace().nth(5).unwrap_or_default();
        line.contains("FLOCK") && !line.contains("->") && word.rsplit(':').next() == Some(&inode.to_string())
    };
    let of_device = format!("{:02x}:{:02x}:", rustix::fs::major(device), rustix::fs::minor(device));
    let found: Vec<&str> = locks.lines().filter(same_inode).collect();
    let exact = found.iter().find(|line| line.contains(&of_device));
    let pid: u32 = exact.or(found.first())?.split_whitespace().nth(4)?.parse().ok().filter(|pid| *pid > 0)?;
    let words = root.text(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = words.split('\0').collect::<Vec<_>>().join(" ").trim().to_owned();
    Some(Holder { pid, command, started_s: started_s(root, pid) })
}

/// When a process was started, in seconds since 1970.
fn started_s(root: &HostRoot, pid: u32) -> Option<i64> {
    let stat = root.text(format!("/proc/{pid}/stat"))?;
    // The name may have spaces and brackets in it; the 22nd field is the 20th behind it.
    let ticks: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let booted: u64 =
        root.text("/proc/stat")?.lines().find_map(|line| line.strip_prefix("btime ")?.parse().ok())?;
    i64::try_from(booted + ticks / rustix::param::clock_ticks_per_second().max(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(claims: &Claims, path: &Path, access: Access) -> bool {
        claims.take(&HostRoot::real(), path, access).is_ok()
    }

    #[test]
    fn one_run_writes_and_several_read() {
        let place = tempfile::tempdir().expect("a directory");
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        fs::write(&file, "x").expect("written");
        fs::hard_link(&file, &link).expect("linked");
        let (one, two) = (Claims::default(), Claims::default());
        assert!(taken(&one, &file, Access::Shared) && taken(&two, &link, Access::Shared));
        assert!(!taken(&one, &file, Access::Exclusive), "the other reads");
        drop(two);
        let two = Claims::default();
        assert!(taken(&one, &file, Access::Exclusive) && taken(&one, &link, Access::Exclusive), "one run");
        assert!(taken(&one.clone(), &link, Access::Shared), "a copy is the same run");
        for access in [Access::Shared, Access::Exclusive] {
            let refused = two.take(&HostRoot::real(), &link, access).expect_err("refused");
            let holder = refused.holder.clone().expect("known");
            assert_eq!(holder.pid, std::process::id());
            assert!(
                !holder.command.is_empty() && holder.started_s.is_some_and(|at| at > 1_600_000_000),
                "{holder:?}"
            );
            assert!(refused.to_string().contains(&format!("in use by pid {} (", holder.pid)), "{refused}");
            assert!(is_claimed(&File::open(&file).expect("open")));
        }
        drop(one);
        assert!(!is_claimed(&File::open(&file).expect("open")) && taken(&two, &file, Access::Exclusive));
    }

    #[test]
    fn directories_are_claimed_and_pipes_are_not_waited_for() {
        let place = tempfile::tempdir().expect("a directory");
        let (one, two) = (Claims::default(), Claims::default());
        assert!(
            taken(&one, place.path(), Access::Exclusive) && !taken(&two, place.path(), Access::Exclusive)
        );
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("made");
        assert!(taken(&one, &pipe, Access::Exclusive) && taken(&two, &pipe, Access::Exclusive));
        assert!(taken(&one, &place.path().join("missing"), Access::Exclusive));
    }

    #[test]
    fn what_another_program_locked_is_read_and_not_written() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("file");
        fs::write(&file, "x").expect("written");
        let mut command = std::process::Command::new("flock");
        let Ok(mut child) = command.arg(&file).arg("cat").stdin(std::process::Stdio::piped()).spawn() else {
            return;
        };
        for _ in 0..500 {
            if is_claimed(&File::open(&file).expect("open")) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let claims = Claims::default();
        let (read, written) =
            (taken(&claims, &file, Access::Shared), taken(&claims, &file, Access::Exclusive));
        drop(child.stdin.take());
        child.wait().expect("ended");
        assert!(read && !written);
    }
}
