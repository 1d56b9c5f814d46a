//! When Assay worked on a tree of files, by which its files are told from others of such names.
//!
//! A file that was made and last changed while Assay worked there is its own; a mark for each of a million files, which the
//! measured operations make and remove, would be measured with them. Times are the file system's, also where a server keeps
//! them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Statx, StatxFlags, StatxTimestamp, Timespec, Timestamps, UTIME_NOW};

use super::ledger;

/// How often a clock that stands still is looked at, a millisecond apart.
const CLOCK_LOOKS: u32 = 40;

/// Times in nanoseconds since 1970, from and until; without an end: it was cut short, or goes on.
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

/// Work on the tree in a directory of ours, until it is dropped.
#[derive(Debug)]
pub struct TreeWork {
    directory: PathBuf,
    from_ns: i64,
    windows: Windows,
}

impl TreeWork {
    /// Begins; `known` is what the ledger says.
    pub(super) fn begin(directory: &Path, known: Windows) -> io::Result<Self> {
        let from_ns = after(directory, now_ns(directory)?)?;
        // What was cut short has ended by now; if it goes on beside us, its own end comes later.
        for (cut_short, _) in known.0.iter().filter(|(_, until)| until.is_none()) {
            ledger::enter_window(directory, *cut_short, Some(from_ns))?;
        }
        ledger::enter_window(directory, from_ns, None)?;
        let mut windows = known;
        windows.0.push((from_ns, None));
        Ok(TreeWork { directory: directory.to_owned(), from_ns, windows })
    }

    /// Whether something in the tree is of this work or earlier work.
    pub fn made(&self, stat: &Statx) -> bool {
        self.windows.made(stat)
    }
}

impl Drop for TreeWork {
    fn drop(&mut self) {
        // Without an end it counts as cut short.
        let _ = now_ns(&self.directory).and_then(|until| {
            ledger::enter_window(&self.directory, self.from_ns, Some(until))?;
            after(&self.directory, until)
        });
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
