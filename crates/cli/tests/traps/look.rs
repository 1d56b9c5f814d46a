//! A look at the machine that is independent of Assay: what else goes on, and whether the disk keeps its own pace.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::bounded::Bounded as _;
use crate::skip;
use crate::tries::{Next, Try, next};

/// How long a trap waits for the machine to have nothing else to do.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than this share of the processors' time taken by the host is felt.
const STOLEN_SHARE: f64 = 0.03;
/// A disk that is busy for more of a moment, or processors, when nothing of ours goes on.
const BUSY_SHARE: f64 = 0.3;
/// The slowest and the fastest of the disk's moments, under a load of one at a time, when its host leaves it alone.
const PACE_RATIO: f64 = 2.0;
const MOMENTS: usize = 6;
const MOMENT: Duration = Duration::from_millis(100);
const BLOCK_BYTES: usize = 4096;

/// Stages a trap until it shows, and prints each retry; how often is told by [`next`]. What the build and the tests before
/// have left to be written is written first.
#[track_caller]
pub(crate) fn until(what: &str, mut staged: impl FnMut() -> Result<(), String>) {
    let mut tries = Vec::new();
    loop {
        wait_for_quiet();
        let before = interference();
        let ticks = ticks();
        let result = staged();
        let seen = match result {
            Ok(()) => None,
            Err(_) => before.or_else(|| stolen_since(&ticks)).or_else(interference),
        };
        tries.push(Try { result, seen });
        match next(&tries) {
            Next::Pass => return,
            Next::Again(why) => drop(writeln!(std::io::stderr(), "retry: {what}: {why}")),
            Next::Fail(reasons) => panic!("{what}: failed with nothing else to be seen:\n{reasons}"),
            Next::Skip(why) => return skip::declare("quiet-host", &format!("{what}: {why}")),
        }
    }
}

/// Lets the kernel write what waits to be written, and others end.
fn wait_for_quiet() {
    // A program, because a device that does not answer would hold this one up for ever.
    let _ = Command::new("sync").status_in_time();
    let begun = Instant::now();
    while others().is_some() && begun.elapsed() < PATIENCE {}
}

/// What else goes on, by the kernel's own counters and by the disk's own pace, neither of them through Assay.
fn interference() -> Option<String> {
    others().or_else(uneven_pace)
}

/// What others do to processors and disks, over 0.3 s.
fn others() -> Option<String> {
    let (cpu, disk) = (cpu_busy_ticks(), disk_busy_ms());
    std::thread::sleep(Duration::from_millis(300));
    let (cpu_after, disk_after) = (cpu_busy_ticks(), disk_busy_ms());
    // Ticks of 10 ms, of all processors.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    let cpu_share = (cpu_after - cpu) as f64 / 30.0 / cpus;
    if cpu_share > BUSY_SHARE {
        return Some(format!("processors were {:.0} % busy", 100.0 * cpu_share));
    }
    let disk_share = (disk_after - disk) as f64 / 300.0;
    (disk_share > BUSY_SHARE).then(|| format!("a disk was {:.0} % busy", 100.0 * disk_share))
}

/// Whether the disk that the tests measure on is fast at one moment and slow at the next by itself: a guest's counters do
/// not show what the host's other guests ask of it.
fn uneven_pace() -> Option<String> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).ok()?;
    let moments = pace(&directory.path().join("pace"))?;
    let (least, most) = (moments.iter().min()?, moments.iter().max()?);
    (*most as f64 > PACE_RATIO * (*least).max(1) as f64)
        .then(|| format!("the disk did from {least} to {most} pairs of a read and a write in 0.1 s"))
}

/// Pairs of a direct read and a direct write that the disk did in each moment, one after the other.
fn pace(path: &Path) -> Option<[u64; MOMENTS]> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true);
    let file = options.open(path).ok()?;
    file.write_all_at(&vec![0x5a; 256 * BLOCK_BYTES], 0).ok()?;
    file.sync_all().ok()?;
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let direct = fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
    // Direct I/O wants an address that is a multiple of the block.
    let mut memory = vec![0; 2 * BLOCK_BYTES];
    let begin = memory.as_ptr().align_offset(BLOCK_BYTES);
    let block = memory.get_mut(begin..begin + BLOCK_BYTES)?;
    let mut moments = [0; MOMENTS];
    let mut at = 0_u64;
    for moment in &mut moments {
        let begun = Instant::now();
        while begun.elapsed() < MOMENT {
            at = (at + 97) % 256;
            direct.read_exact_at(block, at * BLOCK_BYTES as u64).ok()?;
            direct.write_all_at(block, (255 - at) * BLOCK_BYTES as u64).ok()?;
            *moment += 1;
        }
    }
    Some(moments)
}

/// The processors' time by use, in ticks: user, nice, system, idle, iowait, irq, softirq, steal.
pub(crate) fn ticks() -> Vec<u64> {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let words = stat.lines().next().unwrap_or("").split_whitespace();
    words.filter_map(|word| word.parse().ok()).take(8).collect()
}

fn cpu_busy_ticks() -> u64 {
    ticks().iter().enumerate().filter(|(at, _)| ![3, 4].contains(at)).map(|(_, ticks)| ticks).sum()
}

/// What the host took of the processors' time meanwhile.
pub(crate) fn stolen_since(begun: &[u64]) -> Option<String> {
    let spent: Vec<u64> = ticks().iter().zip(begun).map(|(now, then)| now.saturating_sub(*then)).collect();
    let share = *spent.get(7)? as f64 / spent.iter().sum::<u64>().max(1) as f64;
    (share > STOLEN_SHARE).then(|| format!("the host took {:.0} % of the processors' time", 100.0 * share))
}

/// Time in which the busiest disk had something to do.
fn disk_busy_ms() -> u64 {
    let stats = fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (!words.get(2)?.starts_with("loop")).then(|| words.get(12)?.parse().ok()).flatten()
    };
    stats.lines().filter_map(of_line).max().unwrap_or(0)
}
