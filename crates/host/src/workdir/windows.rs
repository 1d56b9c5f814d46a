//! When Assay worked on a tree of files, by which its files are told from others of such names.
//!
//! A file that was made and last changed while Assay worked there is its own; a mark for each of a million files, which the
//! measured operations make and remove, would be measured with them. Times are the file system's, also where a server keeps
//! them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{FileType, Statx, StatxFlags, StatxTimestamp, Timespec, Timestamps, UTIME_NOW};

use super::ledger;

/// How often a clock that stands still is looked at, a millisecond apart.
const CLOCK_LOOKS: u32 = 40;

/// How often a lease is renewed at first, and later: a run of days leaves some thousand lines.
const RENEWED: Duration = Duration::from_secs(1);
const RENEWED_MAX: Duration = Duration::from_secs(60);
/// The part of the time that has passed after which it is.
const RENEWED_PART: u32 = 50;
/// A lease lasts this many periods: a machine may be busy, and what another puts there right after a kill is seldom.
const LEASE_PERIODS: u32 = 5;

/// Times in nanoseconds since 1970, from and until; without an end: it goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows(pub(super) Vec<(i64, Option<i64>)>);

impl Windows {
    /// Whether a file was made and last changed within them, or a directory made: others may have put something into it.
    pub fn made(&self, stat: &Statx) -> bool {
        let within =
            |at: i64| self.0.iter().any(|(from, until)| *from <= at && until.is_none_or(|until| at <= until));
        let born = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let changed = FileType::from_raw_mode(stat.stx_mode.into()) == FileType::Directory
            || within(nanoseconds(stat.stx_mtime));
        changed && (!born || within(nanoseconds(stat.stx_btime)))
    }
}

fn nanoseconds(time: StatxTimestamp) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(i64::from(time.tv_nsec))
}

/// Work on the tree in a directory of ours, until it is dropped. A process that is killed says no end: its work ends with the lease
/// that it renewed until then, so that what others put into the tree later is not taken for its own.
#[derive(Debug)]
pub struct TreeWork {
    directory: PathBuf,
    from_ns: i64,
    windows: Windows,
    renewing: Option<(Sender<()>, JoinHandle<()>)>,
}

impl TreeWork {
    /// Begins; `known` is what the ledger says.
    pub(super) fn begin(directory: &Path, known: Windows) -> io::Result<Self> {
        let from_ns = after(directory, now_ns(directory)?)?;
        ledger::enter_lease(directory, from_ns, leased(from_ns, RENEWED))?;
        let mut windows = known;
        windows.0.push((from_ns, None));
        let (stop, stopped) = channel();
        let place = directory.to_owned();
        let renewing = std::thread::Builder::new()
            .name("tree-lease".to_owned())
            .spawn(move || renew(&place, from_ns, &stopped))?;
        Ok(TreeWork { directory: directory.to_owned(), from_ns, windows, renewing: Some((stop, renewing)) })
    }

    /// Whether something in the tree is of this work or earlier work.
    pub fn made(&self, stat: &Statx) -> bool {
        self.windows.made(stat)
    }
}

impl Drop for TreeWork {
    fn drop(&mut self) {
        if let Some((stop, renewing)) = self.renewing.take() {
            drop(stop);
            // It panics nowhere, and waits for nothing but the file system.
            let _ = renewing.join();
        }
        // Without an end it counts as cut short.
        let _ = now_ns(&self.directory).and_then(|until| {
            ledger::enter_end(&self.directory, self.from_ns, until)?;
            after(&self.directory, until)
        });
    }
}

/// The end of a lease that is renewed after `period`.
fn leased(now_ns: i64, period: Duration) -> i64 {
    now_ns.saturating_add((period * LEASE_PERIODS).as_nanos() as i64)
}

/// Renews the lease until it is told to stop.
fn renew(directory: &Path, from_ns: i64, stopped: &Receiver<()>) {
    let begun = Instant::now();
    loop {
        let period = (begun.elapsed() / RENEWED_PART).clamp(RENEWED, RENEWED_MAX);
        if stopped.recv_timeout(period) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        let next = ((begun.elapsed() + period) / RENEWED_PART).clamp(RENEWED, RENEWED_MAX);
        // A lease that cannot be renewed ends early: what is made then is kept, and said to be another's.
        let _ = now_ns(directory).and_then(|now| ledger::enter_lease(directory, from_ns, leased(now, next)));
    }
}

/// The next time that the file system knows, so that what others did before has an earlier one: its clock stands still for
/// some milliseconds. Where it does for longer, so long is not waited.
fn after(directory: &Path, then_ns: i64) -> io::Result<i64> {
    for _ in 0..CLOCK_LOOKS {
        let now_ns = now_ns(directory)?;
        if now_ns > then_ns {
            return Ok(now_ns);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(then_ns)
}

/// What the file system takes for now.
fn now_ns(directory: &Path) -> io::Result<i64> {
    let (ledger, _) = ledger::open(directory)?;
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    rustix::fs::futimens(&ledger, &Timestamps { last_access: now, last_modification: now })?;
    let stat = rustix::fs::statx(&ledger, c"", rustix::fs::AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS)?;
    Ok(nanoseconds(stat.stx_mtime))
}
