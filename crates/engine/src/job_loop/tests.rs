//! The loop in virtual time, over an engine whose every I/O takes a known time.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use assay_results::JobCounts;
use assay_workload::content::Content;
use assay_workload::job::{Arrival, FlushCall, FlushOrder, OperationRates, PeriodicFlush, ThinkTime};
use assay_workload::operation::{Counted, OpId};
use assay_workload::ops::{Generator, SiteSpec};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::plan::{SliceRate, ThreadSlice};
use assay_workload::target::ActiveRange;
use assay_workload::units::Nanos;

use super::errors::END_OF_FILE;
use super::*;
use crate::recorder::{Schedule, Shared};
use crate::seam::{BufferPool, Capabilities, OpenTarget, QueueFull, Submitted, TargetTable};

const LATENCY_NS: u64 = 1000;

/// Virtual time, what is outstanding (done at, slot, kind), and what was issued in order.
#[derive(Debug, Default)]
struct World {
    now_ns: Cell<u64>,
    outstanding: RefCell<Vec<(u64, Io)>>,
    issued: RefCell<Vec<(u64, OpKind)>>,
    outstanding_max: Cell<usize>,
    /// Nothing completes between these.
    stall: Cell<(u64, u64)>,
    /// Every operation of this number and above fails with this errno.
    fail_from: Cell<usize>,
    /// Bytes of each operation that the engine does not move.
    missing: Cell<u32>,
}

#[derive(Debug, Clone)]
struct TestClock(Rc<World>);

impl Clock for TestClock {
    fn now_ns(&self) -> u64 {
        self.0.now_ns.get()
    }
}

#[derive(Debug)]
struct TestEngine(Rc<World>);

impl Engine for TestEngine {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "test",
            asynchronous: true,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: true,
            blocks: false,
        }
    }
    fn prepare(&mut self, _: &TargetTable, _: &dyn BufferPool) -> Result<(), EngineError> {
        Ok(())
    }
    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        let world = &self.0;
        let mut done = world.now_ns.get() + LATENCY_NS;
        let (from, to) = world.stall.get();
        if (from..to).contains(&done) {
            done = to;
        }
        world.issued.borrow_mut().push((world.now_ns.get(), io.kind));
        world.outstanding.borrow_mut().push((done, io));
        world.outstanding_max.set(world.outstanding_max.get().max(world.outstanding.borrow().len()));
        Ok(())
    }
    fn submit(&mut self, _: Wait) -> Result<Submitted, EngineError> {
        Ok(Submitted::default())
    }
    fn reap(&mut self, out: &mut Completions, _: Wait) -> Result<(), EngineError> {
        let now = self.0.now_ns.get();
        let failing = self.0.issued.borrow().len() > self.0.fail_from.get();
        self.0.outstanding.borrow_mut().retain(|(done, io)| {
            let due = *done <= now;
            if due {
                let result = if failing { -libc::EIO } else { (io.len_bytes - self.0.missing.get()) as i32 };
                out.push(Completion { slot: io.slot, result });
            }
            !due
        });
        Ok(())
    }
}

struct Setup {
    pattern: AccessPattern,
    spec: LoopSpec,
    ios: Option<u64>,
    rate: Option<SliceRate>,
    targets: Vec<OpenTarget>,
    world: Rc<World>,
}

impl Setup {
    fn new(mix: Mix, depth: u32) -> Self {
        let world = Rc::new(World::default());
        world.fail_from.set(usize::MAX);
        Setup {
            pattern: AccessPattern::new(mix, 4096, Placement::random_map()),
            spec: LoopSpec::closed(depth, 0),
            ios: None,
            rate: None,
            targets: Vec::new(),
            world,
        }
    }

    fn run(self) -> (JobCounts, JobCounts, LoopEnd, Rc<World>) {
        if self.rate.is_some() { self.run_as::<true>() } else { self.run_as::<false>() }
    }

    /// Runs to the end: counts of the ramp, counts of the measured part, the loop's end, the world.
    fn run_as<const OPEN: bool>(self) -> (JobCounts, JobCounts, LoopEnd, Rc<World>) {
        let range = ActiveRange { offset_bytes: 0, length_bytes: 1 << 30 };
        let site = SiteSpec { target: 0, range };
        let source = Generator::new(&self.pattern, &[site], Default::default(), 1, self.ios, None);
        let slice = ThreadSlice { seed: 1, rate: self.rate, ..ThreadSlice::default() };
        let shared = Shared::new();
        let measured_start_ns = self.spec.measured_start_ns;
        let schedule = Schedule { start_ns: 0, measured_start_ns, interval_ns: 100_000 };
        let parts = LoopParts {
            engine: TestEngine(Rc::clone(&self.world)),
            clock: TestClock(Rc::clone(&self.world)),
            arrivals: Arrivals::of(Arrival::Deterministic, &self.pattern, &slice),
            recorder: Recorder::new(Arc::clone(&shared), schedule),
            buffers: MappedBuffers::new(self.spec.depth, 4096).unwrap(),
            filler: Filler::new(&Content::default(), 1),
            targets: self.targets,
            spec: self.spec,
            stop: Arc::new(AtomicBool::new(false)),
            pass_hook: None,
        };
        let mut job = JobLoop::<_, _, OPEN, false>::new(parts, Box::new(source));
        let (mut ramp, mut measured) = (JobCounts::default(), JobCounts::default());
        for _ in 0..1_000_000 {
            let pending = job.step().unwrap();
            for taken in shared.take() {
                let side = if taken.start_ns < measured_start_ns { &mut ramp } else { &mut measured };
                side.merge(&taken.counts);
            }
            let next = self.world.outstanding.borrow().iter().map(|entry| entry.0).min();
            let next = match pending {
                Pending::Done => return (ramp, measured, job.into_end(), self.world),
                Pending::Completion => next.expect("nothing is outstanding to wait for"),
                Pending::Until(at) => next.map_or(at, |next| next.min(at)),
            };
            self.world.now_ns.set(next.max(self.world.now_ns.get()));
        }
        panic!(
            "the loop did not end: {job:?} at {} {:?}",
            self.world.now_ns.get(),
            self.world.issued.borrow().len()
        );
    }
}

fn flush(order: FlushOrder, every_writes: u32) -> Option<PeriodicFlush> {
    Some(PeriodicFlush { call: FlushCall::Fdatasync, every_writes, order })
}

#[test]
fn a_closed_loop_keeps_its_depth_and_ends_at_its_limit() {
    let (_, counts, _, world) = Setup { ios: Some(1000), ..Setup::new(Mix::READ, 8) }.run();
    assert_eq!(counts.ops[0].ios, 1000);
    assert_eq!(counts.ops[0].bytes, 4096 * 1000);
    assert_eq!(world.outstanding_max.get(), 8);
    assert_eq!(world.now_ns.get(), 1000 / 8 * LATENCY_NS, "the slots are never idle");
    assert_eq!(counts.ops[0].completion.quantile_ns(0.5), Some(LATENCY_NS));
}

#[test]
fn a_deadline_stops_issuing_and_waits_for_what_is_outstanding() {
    let mut setup = Setup::new(Mix::READ, 4);
    setup.spec.deadline_ns = 10_500;
    let (_, counts, end, world) = setup.run();
    assert_eq!(world.issued.borrow().last().map(|io| io.0), Some(10_000));
    assert_eq!(end.last_completion_ns, 11_000);
    assert_eq!(counts.ops[0].ios, 44);
}

#[test]
fn the_ramp_is_not_measured() {
    let mut setup = Setup::new(Mix::READ, 1);
    setup.spec.measured_start_ns = 50_000;
    setup.spec.deadline_ns = 150_000;
    let (ramp, measured, ..) = setup.run();
    // The completion at the very start of the measured part is the first one measured.
    assert_eq!((ramp.ops[0].ios, measured.ops[0].ios), (49, 101));
}

#[test]
fn a_flush_after_the_write_makes_that_write_durable() {
    let mut setup = Setup { ios: Some(100), ..Setup::new(Mix::WRITE, 4) };
    setup.spec.flush = flush(FlushOrder::AfterWrite, 1);
    let (_, counts, _, world) = setup.run();
    assert_eq!((counts.ops[1].ios, counts.ops[3].ios), (100, 100));
    assert_eq!(world.now_ns.get(), 2 * 25 * LATENCY_NS, "write and flush take turns in each slot");
}

/// fio 3.42: as many flushes with several outstanding as with one, and none behind the last write.
#[test]
fn queued_flushes_follow_every_so_many_writes() {
    for (depth, ios, every, flushes) in
        [(1, 6, 2, 2), (1, 7, 2, 3), (16, 256, 10, 25), (4, 100, 1, 99), (4, 8, 8, 0)]
    {
        let mut setup = Setup { ios: Some(ios), ..Setup::new(Mix::WRITE, depth) };
        setup.spec.flush = flush(FlushOrder::Queued, every);
        let (_, counts, _, world) = setup.run();
        assert_eq!((counts.ops[1].ios, counts.ops[3].ios), (ios, flushes), "{depth} {ios} {every}");
        let mut writes = 0;
        for io in world.issued.borrow().iter() {
            match io.1 {
                OpKind::Write => writes += 1,
                _ => assert_eq!(std::mem::take(&mut writes), every, "{depth} {ios} {every}"),
            }
        }
    }
}

#[test]
fn the_submit_latency_of_a_batch_belongs_to_all_its_operations() {
    let setup = Setup { ios: Some(64 * 8 * 4), ..Setup::new(Mix::read_write(50.0), 8) };
    let (_, counts, ..) = setup.run();
    let (read, write) = (&counts.ops[0].submit, &counts.ops[1].submit);
    assert_eq!((read.n() + write.n()) % 8, 0, "whole batches");
    assert!(read.n() > 0 && write.n() > 0 && read.n() % 8 != 0, "{} and {}", read.n(), write.n());
}

#[test]
fn one_outstanding_write_is_followed_by_its_flush() {
    let mut setup = Setup { ios: Some(6), ..Setup::new(Mix::WRITE, 1) };
    setup.spec.flush = flush(FlushOrder::Queued, 2);
    let (.., world) = setup.run();
    let order: String =
        world.issued.borrow().iter().map(|io| if io.1 == OpKind::Write { 'W' } else { 'S' }).collect();
    assert_eq!(order, "WWSWWSWW");
}

#[test]
fn a_flush_that_goes_alone_waits_for_everything_and_everything_for_it() {
    let mut setup = Setup { ios: Some(40), ..Setup::new(Mix::WRITE, 4) };
    setup.spec.flush = flush(FlushOrder::Barrier, 4);
    let (_, counts, _, world) = setup.run();
    assert_eq!((counts.ops[1].ios, counts.ops[3].ios), (40, 9));
    let mut at: Vec<(u64, OpKind)> = world.issued.borrow().clone();
    at.retain(|io| io.1 == OpKind::Fdatasync);
    assert!(at.iter().enumerate().all(|(i, io)| io.0 == (2 * i as u64 + 1) * LATENCY_NS), "{at:?}");
}

#[test]
fn think_time_pauses_between_operations() {
    let mut setup = Setup { ios: Some(10), ..Setup::new(Mix::READ, 1) };
    setup.spec.think = Some(ThinkTime { time: Nanos(100_000), every_ios: 1 });
    let (.., world) = setup.run();
    let gaps: Vec<u64> = world.issued.borrow().windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|&gap| gap == 100_000), "{gaps:?}");
}

#[test]
fn an_open_loop_keeps_its_rate_and_its_response_times() {
    let setup = Setup { ios: Some(1000), rate: Some(SliceRate::Iops(100_000.0)), ..Setup::new(Mix::READ, 4) };
    let (_, counts, _, world) = setup.run();
    let span = world.issued.borrow().last().map_or(0, |io| io.0);
    assert!((span as f64 / 9_990_000.0 - 1.0).abs() < 0.01, "{span}");
    assert_eq!(counts.ops[0].response.n(), 1000);
    assert!(counts.ops[0].response.max_ns() <= LATENCY_NS + 1);
    assert_eq!(counts.lateness.max_ns(), 0);
}

#[test]
fn reads_and_writes_arrive_on_their_own() {
    let rates = OperationRates { read: Some(20_000.0), write: Some(2000.0), trim: None };
    let mut setup = Setup { rate: Some(SliceRate::Each(rates)), ..Setup::new(Mix::read_write(50.0), 4) };
    setup.spec.deadline_ns = 50_000_000;
    let (_, counts, ..) = setup.run();
    let [read, write, ..] = &counts.ops;
    assert!(read.ios.abs_diff(1000) <= 1 && write.ios.abs_diff(100) <= 1, "{} {}", read.ios, write.ios);
    assert_eq!((read.response.n(), write.response.n()), (read.ios, write.ios));
    assert!(counts.data().response.max_ns() <= LATENCY_NS + 1);
}

/// One at a time takes 1 us, so a million a second in all: what is rated low is kept, what is rated too high is not.
#[test]
fn a_storage_that_is_too_slow_keeps_the_lower_rate() {
    let rates = OperationRates { read: Some(2_000_000.0), write: Some(2000.0), trim: None };
    let mut setup = Setup { rate: Some(SliceRate::Each(rates)), ..Setup::new(Mix::read_write(50.0), 1) };
    setup.spec.deadline_ns = 50_000_000;
    let (_, counts, ..) = setup.run();
    let [read, write, ..] = &counts.ops;
    assert!(write.ios.abs_diff(100) <= 1, "{}", write.ios);
    let all = 50_000_000 / LATENCY_NS;
    assert!((read.ios + write.ios).abs_diff(all) <= 2, "{} {}", read.ios, write.ios);
    // The reads that wait are late by what has piled up, the writes by less than two turns.
    assert!(read.response.max_ns() > 10_000_000, "{}", read.response.max_ns());
    assert!(write.response.max_ns() < 20 * LATENCY_NS, "{}", write.response.max_ns());
}

#[test]
fn a_rate_of_reads_leaves_the_rest_to_writes() {
    let rates = OperationRates { read: Some(2000.0), ..OperationRates::default() };
    let mut setup = Setup { rate: Some(SliceRate::Each(rates)), ..Setup::new(Mix::read_write(50.0), 1) };
    setup.spec.deadline_ns = 50_000_000;
    let (_, counts, ..) = setup.run();
    let [read, write, ..] = &counts.ops;
    assert!(read.ios.abs_diff(100) <= 1, "{}", read.ios);
    assert!((read.ios + write.ios).abs_diff(50_000_000 / LATENCY_NS) <= 2, "{}", write.ios);
}

/// Coordinated omission: a device that stalls for 2 ms must cost everybody who would have come meanwhile.
#[test]
fn a_stall_shows_up_in_response_times_in_full() {
    let setup = Setup { ios: Some(1000), rate: Some(SliceRate::Iops(100_000.0)), ..Setup::new(Mix::READ, 1) };
    setup.world.stall.set((2_000_000, 4_000_000));
    let (_, counts, ..) = setup.run();
    let (response, completion) = (&counts.ops[0].response, &counts.ops[0].completion);
    assert!(response.max_ns() > 1_900_000, "{}", response.max_ns());
    // 200 of 1000 arrive during the stall and wait between 0 and 2 ms; catching up takes a while too.
    let waited = response.n() - response.count_at_or_below(100_000);
    assert!((190..420).contains(&waited), "{waited}");
    assert_eq!(completion.n() - completion.count_at_or_below(100_000), 1, "only one was outstanding");
}

#[test]
fn errors_end_a_job_unless_tolerated() {
    let setup = Setup { ios: Some(100), ..Setup::new(Mix::READ, 2) };
    setup.world.fail_from.set(0);
    let (_, counts, end, _) = setup.run();
    assert_eq!(end.fatal_errno, libc::EIO);
    assert_eq!(counts.ops[0].ios, 0);
    let mut setup = Setup { ios: Some(100), ..Setup::new(Mix::READ, 2) };
    setup.spec.errors_tolerated = 1000;
    setup.world.fail_from.set(0);
    let (_, counts, end, _) = setup.run();
    assert_eq!((end.fatal_errno, counts.errors, end.errors), (0, 100, vec![(libc::EIO, 100)]));
}

/// Blocks of which the engine moves all but the last 1000 bytes, over a file of eight blocks.
fn short_of(mix: Mix, file: &File) -> (JobCounts, LoopEnd) {
    let mut setup = Setup { ios: Some(8), ..Setup::new(mix, 2) };
    setup.pattern = AccessPattern::new(mix, 4096, Placement::sequential());
    setup.targets = vec![OpenTarget { fd: file.as_raw_fd(), size_bytes: 8 * 4096, block_device: false }];
    setup.world.missing.set(1000);
    let (_, counts, end, _) = setup.run();
    (counts, end)
}

#[test]
fn a_short_transfer_is_continued_with_its_rest_and_counted() {
    let file = tempfile::tempfile().expect("a file");
    file.write_all_at(&[0xaa; 8 * 4096], 0).expect("written");
    let (counts, end) = short_of(Mix::WRITE, &file);
    assert_eq!(
        (counts.op(OpKind::Write).ios, counts.op(OpKind::Write).bytes, counts.errors),
        (8, 8 * 4096, 0)
    );
    assert_eq!((end.short, end.errors.len(), end.fatal_errno), ([0, 8], 0, 0));
    let mut block = [0; 4096];
    for index in 0..8 {
        file.read_exact_at(&mut block, index * 4096).expect("there");
        assert!(block[..3096].iter().all(|byte| *byte == 0xaa), "what the engine said that it moved");
        assert!(block[3096..].iter().all(|byte| *byte == 0), "the rest, of an empty buffer");
    }
    let (counts, end) = short_of(Mix::READ, &file);
    assert_eq!((counts.op(OpKind::Read).ios, end.short, counts.errors), (8, [8, 0], 0));
}

#[test]
fn a_rest_that_cannot_be_moved_is_an_error_with_its_own_name() {
    // The file ends within the last block, and it is open for reading only.
    let path = tempfile::NamedTempFile::new().expect("a file");
    path.as_file().set_len(8 * 4096 - 500).expect("length");
    let file = File::open(path.path()).expect("for reading");
    let (_, end) = short_of(Mix::WRITE, &file);
    assert_eq!((end.fatal_errno, end.short[1] > 0), (libc::EBADF, true));
    let (counts, end) = short_of(Mix::READ, &file);
    assert_eq!(
        (counts.op(OpKind::Read).ios, end.errors, end.fatal_errno),
        (7, vec![(END_OF_FILE, 1)], END_OF_FILE)
    );
}

#[test]
fn each_write_is_read_back_in_its_slot_and_counted_apart() {
    for depth in [1, 4] {
        let mut setup = Setup { ios: Some(100), ..Setup::new(Mix::WRITE, depth) };
        setup.spec.reread = true;
        let world = Rc::clone(&setup.world);
        let (_, counts, end, _) = setup.run();
        assert_eq!(
            (counts.op(OpKind::Write).ios, counts.data().ios, counts.op(OpKind::Read).ios),
            (100, 100, 0)
        );
        let [reread] = counts.named.as_slice() else { panic!("{:?}", counts.named) };
        assert_eq!((reread.operation, reread.counted), (OpId::REREAD, Counted::Beside));
        assert_eq!((reread.counts.ios, reread.counts.bytes), (100, 100 * 4096));
        assert_eq!(reread.counts.completion.max_ns(), LATENCY_NS);
        assert_eq!((world.outstanding_max.get() as u32, end.errors.len(), end.fatal_errno), (depth, 0, 0));
        let kinds: Vec<OpKind> = world.issued.borrow().iter().map(|issued| issued.1).collect();
        let mut turns = kinds.chunks(depth as usize);
        assert!(turns.all(|turn| turn.iter().all(|kind| *kind == turn[0])), "{kinds:?}");
    }
}

#[test]
fn a_flush_behind_a_write_comes_behind_its_re_read() {
    let mut setup = Setup { ios: Some(10), ..Setup::new(Mix::WRITE, 1) };
    setup.spec.reread = true;
    setup.spec.flush =
        Some(PeriodicFlush { call: FlushCall::Fsync, every_writes: 1, order: FlushOrder::AfterWrite });
    let world = Rc::clone(&setup.world);
    let (_, counts, ..) = setup.run();
    let kinds: Vec<OpKind> = world.issued.borrow().iter().map(|issued| issued.1).collect();
    assert_eq!(kinds, [OpKind::Write, OpKind::Read, OpKind::Fsync].repeat(10));
    assert_eq!((counts.op(OpKind::Fsync).ios, counts.named[0].counts.ios), (10, 10));
}

#[test]
fn a_re_read_that_fails_is_an_error_like_others() {
    let mut setup = Setup { ios: Some(100), ..Setup::new(Mix::WRITE, 1) };
    setup.spec.reread = true;
    setup.world.fail_from.set(5);
    let (_, counts, end, _) = setup.run();
    assert_eq!((end.fatal_errno, end.errors), (libc::EIO, vec![(libc::EIO, 1)]));
    assert_eq!((counts.op(OpKind::Write).ios, counts.named[0].counts.ios), (3, 2));
    let (io, _) = end.fatal_io.expect("which it was");
    assert_eq!((io.operation, io.len_bytes), ("read", 4096));
}
