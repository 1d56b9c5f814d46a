//! Series `stb-2.1`: the 26 tests of storage-tuner-benchmark 2.1, so that results compare with its published ones.
//!
//! Facts of that tool that matter here: one process a job, buffered I/O, one 512 MiB file (`test.0.0`) or sixteen
//! 32 MiB files of which the first is the start of that one, a fresh random buffer for every write, 5 seconds a test,
//! the clean part of the page cache dropped when a test opens its files. Its posixaio tests go through glibc, which
//! serves one file descriptor serially; its libaio tests flush alone, because that engine drains its queue first.

use assay_workload::content::{Content, Refresh};
use assay_workload::job::{
    Caching, EngineKind, FlushCall, FlushOrder, FlushPolicy, Job, Limits, OpenSync, PeriodicFlush, Phase,
    TargetSharing, Workload,
};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::{Extent, Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};

use super::{Prepared, SeriesError};

/// The word for `--series`.
pub const ID: &str = "stb-2.1";

const MIB: u64 = 1 << 20;
const ONE_FILE: u64 = 512 * MIB;
const MANY_FILES: u64 = 32 * MIB;
const SECONDS: u64 = 5;

/// How writes of a test are made durable, in the original's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    /// `end_fsync=1`, one pass over the file.
    AtEnd,
    /// `fdatasync=1`.
    EachWrite,
    /// `sync=1`.
    Open,
    /// Nothing.
    None,
}

/// One test.
#[derive(Debug, Clone, Copy)]
struct Test {
    name: &'static str,
    many: bool,
    write: bool,
    block: u64,
    engine: EngineKind,
    depth: u32,
    sync: Sync,
}

const fn test(
    name: &'static str,
    many: bool,
    write: bool,
    block: u64,
    engine: EngineKind,
    depth: u32,
    sync: Sync,
) -> Test {
    Test { name, many, write, block, engine, depth, sync }
}

const K: u64 = 1024;
use EngineKind::{Libaio, PosixAio, Psync};

/// In run order. The first of each file series lays the files out.
const TESTS: [Test; 26] = [
    test("1 file, 1 thread, seq 1M writes, simple", false, true, MIB, Psync, 1, Sync::AtEnd),
    test("1 file, 1 thread, rnd 16k writes, simple", false, true, 16 * K, Psync, 1, Sync::EachWrite),
    test("1 file, 1 thread, rnd 16k writes, simple, take 2", false, true, 16 * K, Psync, 1, Sync::EachWrite),
    test("1 file, 16 threads, rnd 4k writes, posixaio", false, true, 4 * K, PosixAio, 16, Sync::EachWrite),
    test("1 file, 16 threads, rnd 8k writes, posixaio", false, true, 8 * K, PosixAio, 16, Sync::EachWrite),
    test("1 file, 16 threads, rnd 16k writes, posixaio", false, true, 16 * K, PosixAio, 16, Sync::EachWrite),
    test(
        "1 file, 16 threads, rnd 16k writes, posixaio, take 2",
        false,
        true,
        16 * K,
        PosixAio,
        16,
        Sync::EachWrite,
    ),
    test("16 files, 1 thread each, seq 1M writes, simple", true, true, MIB, Psync, 1, Sync::AtEnd),
    test("16 files, 1 thread each, rnd 16k writes, simple", true, true, 16 * K, Psync, 1, Sync::EachWrite),
    test(
        "16 files, 1 thread each, rnd 16k writes, simple, take 2",
        true,
        true,
        16 * K,
        Psync,
        1,
        Sync::EachWrite,
    ),
    test(
        "16 files, 1 thread each, rnd 16k writes, posixaio",
        true,
        true,
        16 * K,
        PosixAio,
        1,
        Sync::EachWrite,
    ),
    test(
        "16 files, 16 threads each, rnd 16k writes, posixaio",
        true,
        true,
        16 * K,
        PosixAio,
        16,
        Sync::EachWrite,
    ),
    test(
        "16 files, 16 threads each, rnd 16k writes, posixaio, take 2",
        true,
        true,
        16 * K,
        PosixAio,
        16,
        Sync::EachWrite,
    ),
    test("1 file, 1 thread, rnd 16k writes, simple, o_sync", false, true, 16 * K, Psync, 1, Sync::Open),
    test(
        "1 file, 16 threads, rnd 16k writes, posixaio, o_sync",
        false,
        true,
        16 * K,
        PosixAio,
        16,
        Sync::Open,
    ),
    test("16 files, 1 thread each, rnd 16k writes, simple, o_sync", true, true, 16 * K, Psync, 1, Sync::Open),
    test(
        "16 files, 16 threads each, rnd 16k writes, posixaio, o_sync",
        true,
        true,
        16 * K,
        PosixAio,
        16,
        Sync::Open,
    ),
    test("1 file, 1 thread, seq 1M reads, simple", false, false, MIB, Psync, 1, Sync::None),
    test("1 file, 16 threads, rnd 16k reads, posixaio", false, false, 16 * K, PosixAio, 16, Sync::Open),
    test("16 files, 1 thread each, seq 1M reads, simple", true, false, MIB, Psync, 1, Sync::None),
    test("16 files, 1 thread each, rnd 16k reads, posixaio", true, false, 16 * K, PosixAio, 1, Sync::Open),
    test("16 files, 16 threads each, rnd 16k reads, posixaio", true, false, 16 * K, PosixAio, 16, Sync::Open),
    test("1 file, 16 threads, rnd 16k writes, native aio", false, true, 16 * K, Libaio, 16, Sync::EachWrite),
    test(
        "16 files, 16 threads each, rnd 16k writes, native aio",
        true,
        true,
        16 * K,
        Libaio,
        16,
        Sync::EachWrite,
    ),
    test("1 file, 16 threads, rnd 16k reads, native aio", false, false, 16 * K, Libaio, 16, Sync::Open),
    test("16 files, 16 threads each, rnd 16k reads, native aio", true, false, 16 * K, Libaio, 16, Sync::Open),
];

/// The names, in run order.
pub fn tests() -> Vec<&'static str> {
    TESTS.iter().map(|test| test.name).collect()
}

fn file_name(index: u32) -> String {
    format!("test.{index}.0")
}

impl Test {
    /// The flush of a periodic policy, as the original's engine does it.
    fn periodic(&self) -> Option<PeriodicFlush> {
        let (call, order) = match self.engine {
            // posixaio turns fdatasync into aio_fsync(O_SYNC), queued behind the write.
            PosixAio => (FlushCall::Fsync, FlushOrder::Queued),
            Libaio => (FlushCall::Fdatasync, FlushOrder::Barrier),
            _ => (FlushCall::Fdatasync, FlushOrder::Queued),
        };
        (self.sync == Sync::EachWrite).then_some(PeriodicFlush { call, every_writes: 1, order })
    }

    fn job(&self) -> Job {
        let placement = if self.block == MIB { Placement::sequential() } else { Placement::random_map() };
        let mix = if self.write { Mix::WRITE } else { Mix::READ };
        let names: Vec<String> = (0..if self.many { 16 } else { 1 }).map(file_name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let one_pass = self.sync == Sync::AtEnd;
        let limits = Limits {
            time: (!one_pass).then_some(Nanos::from_secs(SECONDS)),
            passes: one_pass.then_some(1),
            ..Limits::default()
        };
        Job::new(self.name, &names, AccessPattern::new(mix, self.block, placement)).with(|job| {
            job.sharing = TargetSharing::PerThread;
            job.length = Some(Extent::Bytes(if self.many { MANY_FILES } else { ONE_FILE }));
            job.threads = names.len() as u32;
            job.outstanding_per_thread = self.depth;
            job.limits = limits;
            job.content = Content { refresh: Refresh::EveryWrite, ..Content::default() };
            job.flush = FlushPolicy {
                open: if self.sync == Sync::Open { OpenSync::Sync } else { OpenSync::None },
                periodic: self.periodic(),
                at_end: one_pass,
            };
            job.caching = Caching::Buffered;
            job.invalidate = true;
            // fio opens its files anew, and drops their clean pages, for each pass of a timed job.
            job.invalidate_each_pass = true;
            job.access_hint = true;
            job.engine = self.engine;
        })
    }
}

fn targets() -> Vec<Target> {
    let target = |index: u32| Target {
        name: file_name(index),
        path: file_name(index),
        kind: Some(TargetKind::File),
        size: Some(Bytes(if index == 0 { ONE_FILE } else { MANY_FILES })),
    };
    (0..16).map(target).collect()
}

/// The series, or one test of it, `repeat` times.
///
/// # Errors
/// [`SeriesError`]: an unknown test, or less than `available` bytes.
pub fn prepare(test: Option<&str>, repeat: u32, available: u64) -> Result<Prepared, SeriesError> {
    let chosen: Vec<&Test> = match test {
        None => TESTS.iter().collect(),
        Some(name) => vec![
            TESTS
                .iter()
                .find(|test| test.name == name)
                .ok_or_else(|| SeriesError::UnknownTest { series: ID, name: name.to_owned() })?,
        ],
    };
    let files = ONE_FILE + 15 * MANY_FILES;
    if files > available {
        return Err(SeriesError::NoSpace { needed: Bytes(files), available: Bytes(available) });
    }
    let mut phases = Vec::new();
    for _ in 0..repeat.max(1) {
        phases.extend(chosen.iter().map(|test| Phase::measure(test.name, vec![test.job()])));
    }
    let fills = phases.iter().filter(|phase| phase.jobs[0].limits.time.is_none()).count();
    let timed = (phases.len() - fills) as u64 * SECONDS;
    Ok(Prepared {
        workload: Workload {
            name: "quick".to_owned(),
            seed: None,
            hosts: Vec::new(),
            targets: targets(),
            phases,
        },
        files: Bytes(files),
        fixed_writes: Bytes(fills as u64 * ONE_FILE),
        expected_s: timed as f64 + fills as f64 * 8.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_the_published_one() {
        let names = super::tests();
        assert_eq!(names.len(), 26);
        assert_eq!(names[3], "1 file, 16 threads, rnd 4k writes, posixaio");
        assert_eq!(names[25], "16 files, 16 threads each, rnd 16k reads, native aio");
        let prepared = prepare(None, 1, u64::MAX).unwrap();
        assert_eq!(prepared.files, Bytes(992 * MIB));
        assert_eq!(prepared.expected_s as u64, 24 * 5 + 16);
    }

    #[test]
    fn many_file_tests_use_one_file_a_thread_and_its_first_32_mib() {
        let prepared = prepare(Some(TESTS[8].name), 1, u64::MAX).unwrap();
        let job = &prepared.workload.phases[0].jobs[0];
        assert_eq!((job.threads, job.targets.len()), (16, 16));
        assert_eq!(job.length, Some(Extent::Bytes(32 * MIB)));
        assert_eq!(job.sharing, TargetSharing::PerThread);
        assert_eq!(job.flush.periodic.map(|flush| flush.call), Some(FlushCall::Fdatasync));
    }

    #[test]
    fn wrong_names_and_full_disks_are_refused() {
        assert!(matches!(prepare(Some("x"), 1, u64::MAX), Err(SeriesError::UnknownTest { .. })));
        assert!(matches!(prepare(None, 1, MIB), Err(SeriesError::NoSpace { .. })));
    }
}
