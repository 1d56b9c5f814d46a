//! One body over every engine of the table: whatever does the I/O, a job loop must be able to rely on the same behaviour.

use std::os::fd::AsRawFd;

use assay_engine::buffers::MappedBuffers;
use assay_engine::engines::{self, AnyEngine, ENGINES};
use assay_engine::{BufferPool, Completions, Io, OpenTarget, TargetTable, Wait};
use assay_workload::job::{EngineKind, EngineOptions};
use assay_workload::pattern::OpKind;

#[path = "../../../xtask/support/bounded.rs"]
mod bounded;

const BLOCK: u32 = 4096;
const DEPTH: u32 = 8;

struct Bench {
    engine: Box<dyn AnyEngine>,
    buffers: MappedBuffers,
    files: Vec<std::fs::File>,
    _directory: tempfile::TempDir,
}

fn bench(mut engine: Box<dyn AnyEngine>, file_count: usize) -> Bench {
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<std::fs::File> = (0..file_count)
        .map(|index| {
            let path = directory.path().join(format!("f{index}"));
            let file = std::fs::File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)
                .unwrap();
            file.set_len(u64::from(BLOCK) * 64).unwrap();
            file
        })
        .collect();
    let targets = files.iter().map(|file| OpenTarget {
        fd: file.as_raw_fd(),
        size_bytes: u64::from(BLOCK) * 64,
        block_device: false,
    });
    let table = TargetTable { targets: targets.collect() };
    let buffers = MappedBuffers::new(DEPTH, BLOCK as usize).unwrap();
    engine.prepare(&table, &buffers).unwrap();
    Bench { engine, buffers, files, _directory: directory }
}

impl Bench {
    fn io(slot: u32, target: u16, kind: OpKind, block: u64) -> Io {
        let len_bytes = if kind.is_flush() { 0 } else { BLOCK };
        Io { slot, target, kind, len_bytes, offset_bytes: block * u64::from(BLOCK) }
    }

    /// Hands everything over and waits until `count` completions are there: slot and result, by slot.
    fn complete(&mut self, count: usize) -> Vec<(u32, i32)> {
        let mut out = Completions::with_capacity(DEPTH as usize);
        let done = self.engine.submit(Wait::AtLeast(1)).unwrap();
        let mut wait = if done.waited { Wait::Poll } else { Wait::AtLeast(1) };
        let mut done = Vec::new();
        for _ in 0..1000 {
            self.engine.reap(&mut out, wait).unwrap();
            done.extend(out.as_slice().iter().map(|entry| (entry.slot, entry.result)));
            out.clear();
            if done.len() >= count {
                break;
            }
            wait = Wait::AtLeast(1);
        }
        done.sort_unstable();
        done
    }

    fn one(&mut self, io: Io) -> i32 {
        self.engine.queue(io).unwrap();
        let done = self.complete(1);
        assert_eq!(done.len(), 1);
        assert_eq!(done[0].0, io.slot);
        done[0].1
    }

    fn fill(&mut self, slot: u32, byte: u8) {
        // SAFETY: no I/O on the slot is outstanding in these tests when it is filled.
        unsafe { self.buffers.slice_mut(slot, BLOCK as usize) }.fill(byte);
    }

    fn byte(&mut self, slot: u32) -> u8 {
        // SAFETY: as above.
        let bytes = unsafe { self.buffers.slice_mut(slot, BLOCK as usize) };
        bytes[17]
    }
}

fn reads_what_was_written(engine: Box<dyn AnyEngine>) {
    let mut bench = bench(engine, 2);
    for slot in 0..DEPTH {
        bench.fill(slot, 100 + slot as u8);
        let io = Bench::io(slot, (slot % 2) as u16, OpKind::Write, u64::from(slot));
        bench.engine.queue(io).unwrap();
    }
    let written = bench.complete(DEPTH as usize);
    assert_eq!(written, (0..DEPTH).map(|slot| (slot, BLOCK as i32)).collect::<Vec<_>>());
    for slot in 0..DEPTH {
        bench.fill(slot, 0);
    }
    // Read back in reverse, each into another slot than it was written from.
    for slot in 0..DEPTH {
        let block = DEPTH - 1 - slot;
        bench.engine.queue(Bench::io(slot, (block % 2) as u16, OpKind::Read, u64::from(block))).unwrap();
    }
    assert_eq!(bench.complete(DEPTH as usize).len(), DEPTH as usize);
    for slot in 0..DEPTH {
        assert_eq!(bench.byte(slot), 100 + (DEPTH - 1 - slot) as u8);
    }
}

fn reports_errors_and_short_reads(engine: Box<dyn AnyEngine>) {
    let mut bench = bench(engine, 1);
    assert_eq!(bench.one(Bench::io(3, 0, OpKind::Read, 64)), 0, "at the end of the file");
    bench.files[0].set_len(100).unwrap();
    assert_eq!(bench.one(Bench::io(2, 0, OpKind::Read, 0)), 100, "a short read is not an error");
    let result = bench.one(Io { offset_bytes: u64::MAX - 4095, ..Bench::io(1, 0, OpKind::Read, 0) });
    assert_eq!(result, -libc_einval(), "an offset beyond what a file can have");
    bench.files[0].set_len(u64::from(BLOCK)).unwrap();
    assert_eq!(bench.one(Bench::io(1, 0, OpKind::Read, 0)), BLOCK as i32, "and goes on afterwards");
}

const fn libc_einval() -> i32 {
    22
}

fn flushes_and_trims(engine: Box<dyn AnyEngine>) {
    let mut bench = bench(engine, 1);
    bench.fill(0, 7);
    assert_eq!(bench.one(Bench::io(0, 0, OpKind::Write, 5)), BLOCK as i32);
    assert_eq!(bench.one(Bench::io(1, 0, OpKind::Fsync, 0)), 0);
    assert_eq!(bench.one(Bench::io(1, 0, OpKind::Fdatasync, 0)), 0);
    let trimmed = bench.one(Bench::io(2, 0, OpKind::Trim, 5));
    if trimmed == 0 {
        bench.one(Bench::io(0, 0, OpKind::Read, 5));
        assert_eq!(bench.byte(0), 0, "a trimmed block reads as zeros");
    } else {
        assert_eq!(trimmed, -95, "only where the file system cannot punch holes");
    }
}

fn waits_no_longer_than_told(engine: Box<dyn AnyEngine>) {
    let mut bench = bench(engine, 1);
    let mut out = Completions::with_capacity(DEPTH as usize);
    bench.engine.reap(&mut out, Wait::Poll).unwrap();
    let soon = assay_engine::clock::monotonic_ns() + 20_000_000;
    bench.engine.reap(&mut out, Wait::Until(soon)).unwrap();
    assert!(out.as_slice().is_empty());
    let late = assay_engine::clock::monotonic_ns().saturating_sub(soon);
    assert!(late < 2_000_000_000, "{late} ns late");
}

fn holds_as_many_as_it_was_made_for(engine: Box<dyn AnyEngine>) {
    let mut bench = bench(engine, 1);
    for round in 0..50 {
        for slot in 0..DEPTH {
            bench.engine.queue(Bench::io(slot, 0, OpKind::Read, u64::from(slot + round) % 64)).unwrap();
        }
        let slots: Vec<u32> = bench.complete(DEPTH as usize).iter().map(|done| done.0).collect();
        assert_eq!(slots, (0..DEPTH).collect::<Vec<_>>(), "every slot once");
    }
}

/// Runs `body` over every engine, and over io_uring without registered files and buffers; the one that does nothing cannot
/// keep what was written. The thread has the engine's name, so that what fails says which it is.
fn every_engine(body: fn(Box<dyn AnyEngine>)) {
    let unregistered = EngineOptions { unregistered: true, ..EngineOptions::default() };
    for entry in ENGINES.iter().filter(|entry| entry.kind != EngineKind::Null) {
        let mut variants = vec![EngineOptions::default()];
        variants.extend((entry.kind == EngineKind::IoUring).then_some(unregistered));
        for options in variants {
            let name = format!("{}, {options:?}", entry.kind.name());
            let run = move || body((entry.open)(DEPTH, options).unwrap());
            let thread = std::thread::Builder::new().name(name.clone()).spawn(run).unwrap();
            let done = bounded::join(thread, &format!("completions of {name}"));
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    }
}

#[test]
fn every_engine_reads_what_was_written() {
    every_engine(reads_what_was_written);
}

#[test]
fn every_engine_reports_errors_and_short_reads() {
    every_engine(reports_errors_and_short_reads);
}

#[test]
fn every_engine_flushes_and_trims() {
    every_engine(flushes_and_trims);
}

#[test]
fn every_engine_waits_no_longer_than_told() {
    every_engine(waits_no_longer_than_told);
}

#[test]
fn every_engine_holds_as_many_as_it_was_made_for() {
    every_engine(holds_as_many_as_it_was_made_for);
}

/// glibc serves the requests of one descriptor one after the other, and so do we; different descriptors go side by side.
#[test]
fn posix_aio_is_serial_per_descriptor() {
    let engine = engines::of(EngineKind::PosixAio).unwrap();
    let mut bench = bench((engine.open)(DEPTH, EngineOptions::default()).unwrap(), 4);
    for slot in 0..DEPTH {
        let io = Bench::io(slot, (slot % 4) as u16, OpKind::Write, u64::from(slot));
        bench.engine.queue(io).unwrap();
    }
    let mut out = Completions::with_capacity(DEPTH as usize);
    let mut order = Vec::new();
    while order.len() < DEPTH as usize {
        bench.engine.reap(&mut out, Wait::AtLeast(1)).unwrap();
        order.extend(out.as_slice().iter().map(|done| done.slot));
        out.clear();
    }
    for target in 0..4 {
        let of_target: Vec<u32> = order.iter().copied().filter(|slot| slot % 4 == target).collect();
        assert_eq!(of_target, [target, target + 4], "in the order they were handed over");
    }
    assert!(bench.buffers.slots() == DEPTH);
}
