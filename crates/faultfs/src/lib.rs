//! A file system in memory that fails as a test tells it to, mounted through FUSE. For tests only: nothing that is shipped
//! depends on it.
//!
//! **Faults.** A [`Rule`] says which operations (read, write, flush, where, of which file) meet which [`Fault`], and when. Rules
//! come and go while the file system is in use. [`FaultFs::injected`] lists every fault that was injected, in order, so that a
//! test can hold a report against it. Unless [`Options::cached`] is set, each system call on a file reaches this file system as
//! it was made (up to 256 pages of memory; `FOPEN_DIRECT_IO`), whether or not the caller asked for `O_DIRECT`; nothing is read from, merged or
//! split by the page cache. With `cached`, reads are answered by the page cache and read ahead of, and writes are passed on at once
//! (write-through) a page or more at a time.
//!
//! **Power cuts** ([`Options::power_cuts`]). What is durable:
//! - the content of a file as of its last `fsync`, `fdatasync` or write with `O_SYNC`, `O_DSYNC` (which makes all of the file
//!   durable, not only what it wrote), its size among it;
//! - the names in a directory as of the last `fsync` of the directory. `fsync` of a file does not make its name durable, which
//!   is what POSIX promises, and less than what ext4 or XFS do. A rename is durable as one, when either of its directories is synced;
//! - modes and owners at once.
//!
//! [`FaultFs::cut`] loses the rest: all of it ([`Cut::KeepNothing`]), or all but a seeded random part ([`Cut::KeepSome`]), in which
//! each write that was not flushed survives or not, whole or torn at a boundary of 512 bytes, and in any order among the others;
//! each change of names survives or not, in order. After it the tree is served anew: what was open before answers `EIO`, also
//! directories, apart from the root.
//!
//! A flush that [`Fault::Error`] fails makes nothing durable, and one that is [`Fault::Lost`] says that it did.

mod late;
mod rule;
mod serve;
mod tree;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, MountOption};

use late::Late;
pub use rule::{Fault, Injected, Op, Rule, When};
use serve::{Server, State};
pub use tree::{Cut, SECTOR_BYTES};

/// How long an unmount is waited for, which takes milliseconds.
const UNMOUNT_MAX: Duration = Duration::from_secs(10);

/// How the file system behaves, faults apart.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Files go through the page cache.
    pub cached: bool,
    /// What is not durable is kept apart, so that [`FaultFs::cut`] can lose it. Costs memory: all that is written between
    /// two flushes.
    pub power_cuts: bool,
    /// Other users may use it, too: a server that refuses to run as the one who mounts it.
    pub others: bool,
    /// What fits; a write beyond it moves what still fits, or fails with `ENOSPC`.
    pub capacity_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { cached: false, power_cuts: false, others: false, capacity_bytes: 4 << 30 }
    }
}

/// A mounted file system. Dropped, it is unmounted, what hangs in it is answered, and nothing else is.
#[derive(Debug)]
pub struct FaultFs {
    state: Arc<Mutex<State>>,
    late: Arc<Late>,
    // The mount goes before its directory.
    session: Option<BackgroundSession>,
    place: tempfile::TempDir,
}

/// Why this machine cannot mount one; `None`: it can.
pub fn missing() -> Option<String> {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse");
    if let Err(error) = opened {
        return Some(format!("/dev/fuse: {error}"));
    }
    FaultFs::mount(Options::default()).err().map(|error| format!("mount: {error}"))
}

impl FaultFs {
    /// Mounts an empty one on a directory of its own.
    ///
    /// # Errors
    /// When it cannot be mounted; see [`missing`].
    pub fn mount(options: Options) -> io::Result<FaultFs> {
        let place = tempfile::Builder::new().prefix("faultfs-").tempdir()?;
        let state = Arc::new(Mutex::new(State::new(options)));
        let late = Late::start()?;
        let server = Server::new(Arc::clone(&state), Arc::clone(&late));
        let mut mount = vec![MountOption::FSName("faultfs".to_owned()), MountOption::NoAtime];
        if options.others {
            mount.push(MountOption::AllowOther);
        }
        let session = fuser::spawn_mount2(server, place.path(), &mount)?;
        Ok(FaultFs { state, late, session: Some(session), place })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// From now on, `rule` holds, behind those that hold already: the first that fires decides.
    ///
    /// # Panics
    /// If its fault cannot befall its operation.
    pub fn inject(&self, rule: Rule) {
        self.state().rules.add(rule);
    }

    /// No rule holds any more. What hangs goes on hanging.
    pub fn clear(&self) {
        self.state().rules.clear();
    }

    /// Answers everything that hangs; what was moved is moved. How many there were.
    pub fn release(&self) -> usize {
        self.late.release()
    }

    /// How many operations hang now.
    pub fn hanging(&self) -> usize {
        self.late.parked()
    }

    /// Every fault that was injected, in order.
    pub fn injected(&self) -> Vec<Injected> {
        self.state().rules.injected().to_vec()
    }

    /// How many operations there were on files of this name, faults or not.
    pub fn count(&self, op: Op, file: &str) -> u64 {
        self.state().count(op, file)
    }

    /// What fits from now on; see [`Options::capacity_bytes`].
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity_bytes = bytes;
    }

    /// What the file made under this name would hold after a power cut if every flush had told the truth; `None`: there is none.
    pub fn promised(&self, file: &str) -> Option<Vec<u8>> {
        self.state().tree.promised(file.as_ref()).map(<[u8]>::to_vec)
    }

    /// The power is cut, and comes back. Nothing is moved by what hangs, which is answered with `EIO`.
    ///
    /// # Panics
    /// Without [`Options::power_cuts`].
    pub fn cut(&self, cut: Cut) {
        self.state().tree.cut(cut);
        self.late.fail(libc::EIO);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FaultFs {
    fn drop(&mut self) {
        self.clear();
        self.late.end();
        // Something may still hold a file, and then an ordinary unmount is refused. Forced, it ends the connection too: a thread of
        // this process that closes the file only as the process ends would wait for a server that has ended before it.
        let mut unmount = Command::new("umount");
        unmount.args(["--force", "--lazy"]).arg(self.path()).stdout(Stdio::null()).stderr(Stdio::null());
        // It asks this process about the place: where there is no answer, the file system goes with the process.
        let Ok(mut child) = unmount.spawn() else { return drop(self.session.take()) };
        let begun = Instant::now();
        while matches!(child.try_wait(), Ok(None)) {
            if begun.elapsed() > UNMOUNT_MAX {
                let _ = child.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(self.session.take());
    }
}
