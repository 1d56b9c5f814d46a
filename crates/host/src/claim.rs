//! One run at a time on a target.
//!
//! Two runs on one file or device measure each other, and the second may write over what the first is going to read. So a
//! run claims its targets and directories before it touches them: a lock (flock(2)) on the file, device or directory
//! itself, whatever it is called, which every process of the machine sees and the kernel drops when the last descriptor of
//! the run is closed, however the run ends. Runs that only read share a target.
//!
//! A lock of fcntl(2) does not meet one of flock(2). Databases and virtual machines take such locks, so a run that writes looks for
//! them in /proc/locks besides.
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
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use crate::devices::{disk_of_partition, name_of_number, partitions_of};
use crate::mounts::{MountTable, unescape};
use crate::node::number_text;
use crate::root::HostRoot;

/// A device is locked for a moment by who looks at it (udev).
const RETRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(30);
/// How long the list of other programs' locks is good for.
const FRESH: Duration = Duration::from_millis(50);

/// What a run does with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It reads: others may read as well.
    Shared,
    /// It writes: it must be the only user.
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

/// Another run, or a program that locked it for itself, has the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is {by}: nothing was done; wait for its end, or choose another target", path.display())]
pub struct InUse {
    /// The target.
    pub path: PathBuf,
    /// Who has it.
    pub by: User,
}

/// Who uses a target. `None`: the kernel does not show the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum User {
    /// Who has claimed it (flock(2)).
    Claimed(Option<Holder>),
    /// Who has locked all or a part of it (fcntl(2)). Locks of an open description belong to no process.
    Locked(Option<Holder>),
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = match self {
            User::Claimed(Some(holder)) | User::Locked(Some(holder)) => holder,
            User::Claimed(None) => {
                return f.write_str("in use by another run (in another container, or on another machine)");
            }
            User::Locked(None) => return f.write_str("locked by another process"),
        };
        if holder.command.is_empty() {
            return write!(f, "in use by a process that pid {} started, which has ended itself", holder.pid);
        }
        write!(f, "in use by pid {} ({})", holder.pid, holder.command)?;
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
    others: Arc<Mutex<RecordLocks>>,
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
        let has = all.iter().any(|claim| claim.identity == identity && claim.access >= access);
        // Reading changes nothing, whatever process holds the lock.
        if access == Access::Exclusive && !has {
            self.others.lock().unwrap_or_else(PoisonError::into_inner).refuse(root, path, &file)?;
        }
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

/// Whether any process has claimed or locked an open file, whatever for; `false` where that cannot be told.
pub(crate) fn is_claimed(file: &File) -> bool {
    is_flocked(file) || locked_by_another(&HostRoot::real(), file).is_some()
}

fn is_flocked(file: &File) -> bool {
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
    // Reading changes nothing: what another process locked for itself is read all the same.
    if access == Access::Shared && holder.as_ref().is_some_and(|holder| !is_ours(root, holder)) {
        return Ok(Taken::Never);
    }
    Err(InUse { path: path.to_owned(), by: User::Claimed(holder) })
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

/// Which call took a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LockKind {
    /// flock(2).
    Whole,
    /// fcntl(2), of a process or of an open description.
    Record,
}

/// A lock as the kernel lists it: `1: POSIX  ADVISORY  WRITE 1234 fe:00:4711 0 EOF`.
struct Listed<'a> {
    kind: LockKind,
    /// -1 for a lock of an open description.
    pid: i64,
    device: &'a str,
    inode: u64,
}

/// The locks that are held.
fn listed(locks: &str) -> impl Iterator<Item = Listed<'_>> {
    locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // One that is waited for has an arrow before its kind.
        let (kind, pid, place) = (*words.get(1)?, words.get(4)?, words.get(5)?);
        let (device, inode) = place.rsplit_once(':')?;
        let kind = match kind {
            "FLOCK" => LockKind::Whole,
            "POSIX" | "OFDLCK" => LockKind::Record,
            _ => return None,
        };
        Some(Listed { kind, pid: pid.parse().ok()?, device, inode: inode.parse().ok()? })
    })
}

fn listed_device(major: u32, minor: u32) -> String {
    format!("{major:02x}:{minor:02x}")
}

/// Who holds the lock. The device is the file system's own, which for some (btrfs, overlayfs) is not the one that stat(2) says.
fn holder(root: &HostRoot, (device, inode): (u64, u64)) -> Option<Holder> {
    let locks = root.text("/proc/locks")?;
    let found: Vec<_> =
        listed(&locks).filter(|lock| lock.kind == LockKind::Whole && lock.inode == inode).collect();
    let of_device = listed_device(rustix::fs::major(device), rustix::fs::minor(device));
    let exact = found.iter().find(|lock| lock.device == of_device);
    described(root, exact.or(found.first())?.pid)
}

/// Locks of other processes on all or a part of a file, for reading or writing (fcntl(2)), and when they were listed.
#[derive(Debug, Default)]
struct RecordLocks {
    at: Option<Instant>,
    /// Device, inode, process.
    locks: Vec<(String, u64, i64)>,
}

impl RecordLocks {
    fn read(root: &HostRoot) -> Self {
        let own = i64::from(std::process::id());
        let text = root.text("/proc/locks").unwrap_or_default();
        let locks = listed(&text).filter(|lock| lock.kind == LockKind::Record && lock.pid != own);
        let locks = locks.map(|lock| (lock.device.to_owned(), lock.inode, lock.pid)).collect();
        RecordLocks { at: Some(Instant::now()), locks }
    }

    /// Who has locked an open file.
    fn of(&self, root: &HostRoot, file: &File) -> Option<User> {
        let meta = file.metadata().ok()?;
        let found: Vec<_> = self.locks.iter().filter(|(_, inode, _)| *inode == meta.ino()).collect();
        if found.is_empty() {
            return None;
        }
        let by_stat = listed_device(rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
        let devices = [Some(by_stat), device_of_mount(root, file)];
        let lock = found.iter().find(|lock| devices.iter().flatten().any(|device| *device == lock.0))?;
        Some(User::Locked(described(root, lock.2)))
    }

    /// Refuses an open file that another process keeps locked.
    fn refuse(&mut self, root: &HostRoot, path: &Path, file: &File) -> Result<(), InUse> {
        // The claims of this run are listed, too: with ten thousand targets reading the list for each would take a minute.
        if self.at.is_none_or(|at| at.elapsed() > FRESH) {
            *self = Self::read(root);
        }
        let mut locked = self.of(root, file);
        for _ in 1..RETRIES {
            if locked.is_none() {
                break;
            }
            std::thread::sleep(PAUSE);
            *self = Self::read(root);
            locked = self.of(root, file);
        }
        locked.map_or(Ok(()), |by| Err(InUse { path: path.to_owned(), by }))
    }
}

/// Another process that has locked an open file.
pub(crate) fn locked_by_another(root: &HostRoot, file: &File) -> Option<User> {
    RecordLocks::read(root).of(root, file)
}

/// The device of the file system that an open file is on, as its mount says it.
fn device_of_mount(root: &HostRoot, file: &File) -> Option<String> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok())?;
    let mounts = MountTable::read(root);
    let (major, minor) = mounts.by_id(id)?.device.split_once(':')?;
    Some(listed_device(major.parse().ok()?, minor.parse().ok()?))
}

fn described(root: &HostRoot, pid: i64) -> Option<Holder> {
    let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0)?;
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
    use std::io::BufRead as _;

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
            let User::Claimed(Some(holder)) = refused.by.clone() else { panic!("{refused}") };
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

    /// Locks a part of a file in another process, which says so and keeps it until its input ends.
    fn python_locks(file: &Path, how: &str) -> Option<std::process::Child> {
        let script = format!(
            "import fcntl, struct, sys\nf = open(sys.argv[1], 'r+')\n{how}\nprint('locked', flush=True)\nsys.stdin.read()"
        );
        let mut command = std::process::Command::new("python3");
        command.arg("-c").arg(script).arg(file);
        let piped = std::process::Stdio::piped;
        let mut child = command.stdin(piped()).stdout(piped()).spawn().ok()?;
        let mut said = String::new();
        std::io::BufReader::new(child.stdout.take()?).read_line(&mut said).ok()?;
        assert_eq!(said, "locked\n");
        Some(child)
    }

    #[test]
    fn locks_of_databases_and_virtual_machines_keep_writers_away() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("file");
        fs::write(&file, "x").expect("written");
        for (how, named) in [
            ("fcntl.lockf(f, fcntl.LOCK_EX)", true),
            ("fcntl.lockf(f, fcntl.LOCK_EX, 1, 1 << 30)", true),
            // Readers of SQLite and all virtual machines of QEMU hold shared ones.
            ("f2 = open(sys.argv[1]); fcntl.lockf(f2, fcntl.LOCK_SH)", true),
            ("fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0))", false),
            ("fcntl.fcntl(f, 37, struct.pack('hhqqi4x', fcntl.F_RDLCK, 0, 100, 1, 0))", false),
        ] {
            let Some(mut child) = python_locks(&file, how) else { return };
            let claims = Claims::default();
            assert!(taken(&claims, &file, Access::Shared), "{how}");
            let said = claims.take(&HostRoot::real(), &file, Access::Exclusive).expect_err(how).to_string();
            let by = format!("is in use by pid {} (", child.id());
            assert!(
                said.contains(if named { &by } else { "is locked by another process: " }),
                "{how}: {said}"
            );
            assert!(is_claimed(&File::open(&file).expect("open")), "{how}");
            drop(child.stdin.take());
            child.wait().expect("ended");
            drop(claims);
            assert!(!is_claimed(&File::open(&file).expect("open")), "{how}");
            assert!(taken(&Claims::default(), &file, Access::Exclusive), "{how}");
        }
    }
}
