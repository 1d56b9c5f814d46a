//! Validated jobs on a file, over engines that do what broken storage does.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::AtomicBool;

use assay_results::data::{DataChecks, Fault};
use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::job::{EngineKind, EngineOptions};
use assay_workload::ops::{BLOCK_OPS, Op, OpBlock, OpSource};
use assay_workload::pattern::OpKind;
use assay_workload::plan::VerifiedTarget;

use super::engine::ValidatedEngine;
use super::*;
use crate::buffers::MappedBuffers;
use crate::clock::RealClock;
use crate::engines::{self, AnyEngine, Notes};
use crate::job_loop::{JobLoop, LoopEnd, LoopParts, LoopSpec, Pending};
use crate::recorder::{Recorder, Shared};
use crate::seam::{
    BufferPool, Capabilities, Completion, Completions, Engine, Io, OpenTarget, QueueFull, Submitted,
    TargetTable, Wait,
};

const KEY: u64 = 4096;
const BLOCKS: u64 = 64;
const ENGINES: [EngineKind; 3] = [EngineKind::Psync, EngineKind::Libaio, EngineKind::IoUring];

/// What storage may do to a write although it says that it is done.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Breakage {
    Lost,
    To(u64),
    AlsoTo(u64),
    Torn(u32),
    Failed,
}

/// An engine that breaks the write to one offset.
struct Broken {
    inner: Box<dyn AnyEngine>,
    offset: u64,
    breakage: Breakage,
    done: bool,
    slot: Option<(u32, i32)>,
    targets: TargetTable,
    buffers: Vec<crate::seam::Buffer>,
}

impl Broken {
    fn new(inner: Box<dyn AnyEngine>, offset: u64, breakage: Breakage) -> Broken {
        let (targets, buffers) = (TargetTable::default(), Vec::new());
        Broken { inner, offset, breakage, done: false, slot: None, targets, buffers }
    }
}

impl Notes for Broken {}

impl Engine for Broken {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    fn prepare(&mut self, targets: &TargetTable, buffers: &dyn BufferPool) -> Result<(), EngineError> {
        self.targets = targets.clone();
        self.buffers = (0..buffers.slots()).map(|slot| buffers.buffer(slot)).collect();
        self.inner.prepare(targets, buffers)
    }
    fn queue(&mut self, mut io: Io) -> Result<(), QueueFull> {
        if io.kind == OpKind::Write && io.offset_bytes == self.offset && !self.done {
            self.done = true;
            self.slot = Some((
                io.slot,
                if self.breakage == Breakage::Failed { -libc::EIO } else { io.len_bytes as i32 },
            ));
            match self.breakage {
                Breakage::Lost | Breakage::Failed => (io.kind, io.len_bytes) = (OpKind::Fdatasync, 0),
                Breakage::To(offset) => io.offset_bytes = offset,
                Breakage::Torn(len) => io.len_bytes = len,
                Breakage::AlsoTo(offset) => {
                    let (address, fd) = (self.buffers[io.slot as usize].address, self.targets.targets[0].fd);
                    // SAFETY: the slot's buffer holds the bytes of the write.
                    let written = unsafe {
                        libc::pwrite(fd, address.cast(), io.len_bytes as usize, offset as libc::off_t)
                    };
                    assert_eq!(written, io.len_bytes as isize);
                }
            }
        }
        self.inner.queue(io)
    }
    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError> {
        self.inner.submit(wait)
    }
    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        let before = out.as_slice().len();
        self.inner.reap(out, wait)?;
        let found: Vec<Completion> = out.as_slice()[before..].to_vec();
        if let Some((slot, result)) = self.slot
            && found.iter().any(|completion| completion.slot == slot)
        {
            out.correct(slot, result);
            self.slot = None;
        }
        Ok(())
    }
}

/// Operations one after the other.
struct Script(std::vec::IntoIter<Op>);

impl OpSource for Script {
    fn fill(&mut self, block: &mut OpBlock) {
        block.len = 0;
        for op in self.0.by_ref().take(BLOCK_OPS) {
            block.ops[block.len] = op;
            block.len += 1;
        }
        block.last = self.0.len() == 0;
    }
    fn fill_one(&mut self, block: &mut OpBlock, _: OpKind) {
        self.fill(block);
    }
}

fn op(kind: OpKind, block: u64, blocks: u64) -> Op {
    Op { offset_bytes: block * KEY, len_bytes: (blocks * KEY) as u32, target: 0, kind }
}

fn each(kind: OpKind) -> Vec<Op> {
    (0..BLOCKS).map(|block| op(kind, block, 1)).collect()
}

/// A file, and what is known of it.
struct Rig {
    file: File,
    map: Arc<TargetMap>,
    engine: EngineKind,
    expects_headers: bool,
    /// Other targets of the plan, as their sectors name them.
    neighbours: Vec<u32>,
}

impl Rig {
    fn new(engine: EngineKind) -> Rig {
        let file = tempfile::tempfile().unwrap();
        file.set_len(BLOCKS * KEY).unwrap();
        let target =
            VerifiedTarget { key_block_bytes: KEY, end_bytes: BLOCKS * KEY, stands_for: 0, bare: false };
        Rig {
            file,
            map: Arc::new(TargetMap::new("data", 7, &target).unwrap()),
            engine,
            expects_headers: false,
            neighbours: Vec::new(),
        }
    }

    fn of_run(&self, run: u64) -> Rig {
        let target =
            VerifiedTarget { key_block_bytes: KEY, end_bytes: BLOCKS * KEY, stands_for: 0, bare: false };
        let map = Arc::new(TargetMap::new("data", run, &target).unwrap());
        Rig {
            file: self.file.try_clone().unwrap(),
            map,
            engine: self.engine,
            expects_headers: self.expects_headers,
            neighbours: self.neighbours.clone(),
        }
    }

    fn run(&self, ops: Vec<Op>, breakage: Option<(u64, Breakage)>) -> (LoopEnd, DataChecks) {
        self.run_at(4, ops, breakage)
    }

    fn run_at(&self, depth: u32, ops: Vec<Op>, breakage: Option<(u64, Breakage)>) -> (LoopEnd, DataChecks) {
        let open = engines::of(self.engine).unwrap().open;
        let mut inner = open(depth, EngineOptions::default()).unwrap();
        if let Some((block, breakage)) = breakage {
            inner = Box::new(Broken::new(inner, block * KEY, breakage));
        }
        let target = OpenTarget { fd: self.file.as_raw_fd(), size_bytes: BLOCKS * KEY, block_device: false };
        let largest = ops.iter().map(|op| op.len_bytes).max().unwrap();
        let buffers = MappedBuffers::new(depth, largest as usize).unwrap();
        let mut engine = ValidatedEngine::new(inner, vec![Some(Arc::clone(&self.map))], 7, depth)
            .expecting_headers(
                self.expects_headers,
                self.neighbours.iter().copied().chain([self.map.id]).collect(),
            );
        engine.prepare(&TargetTable { targets: vec![target] }, &buffers).unwrap();
        let spec = LoopSpec { errors_tolerated: u64::MAX, ..LoopSpec::closed(depth, 0) };
        let parts = LoopParts {
            engine,
            clock: RealClock::new(),
            arrivals: None,
            recorder: Recorder::new(Shared::new(), spec.schedule(1_000_000_000)),
            buffers,
            filler: Filler::new(&Content::default(), 1),
            targets: vec![target],
            spec,
            stop: Arc::new(AtomicBool::new(false)),
            pass_hook: None,
        };
        let mut looped: JobLoop<ValidatedEngine, RealClock, false, false> =
            JobLoop::new(parts, Box::new(Script(ops.into_iter())));
        while looped.step().unwrap() != Pending::Done {}
        let data = looped.engine().data().unwrap();
        (looped.into_end(), data)
    }

    fn write_all(&self) {
        let (end, data) = self.run(each(OpKind::Write), None);
        assert_eq!((end.verify_failed, data.written, data.wrong), (0, BLOCKS, 0));
    }

    /// What reading everything finds: blocks and what is wrong with them.
    fn faults(&self) -> Vec<(u64, Fault)> {
        let (end, data) = self.run(each(OpKind::Read), None);
        assert_eq!(end.verify_failed, data.wrong);
        assert_eq!(data.wrong as usize, data.errors.len());
        let mut faults: Vec<(u64, Fault)> =
            data.errors.iter().map(|error| (error.offset_bytes / KEY, error.fault)).collect();
        faults.sort_unstable();
        faults
    }

    fn bytes(&self, offset: u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, offset).unwrap();
        bytes
    }
}

/// The same with each engine.
fn with_each(test: impl Fn(&Rig)) {
    ENGINES.into_iter().for_each(|engine| test(&Rig::new(engine)));
}

#[test]
fn what_was_written_is_read_again() {
    with_each(|rig| {
        rig.write_all();
        rig.write_all();
        let (_, data) = rig.run(each(OpKind::Read), None);
        assert_eq!((data.verified, data.unverifiable, data.wrong), (BLOCKS, 0, 0));
    });
}

#[test]
fn what_changed_on_the_storage_is_named() {
    with_each(|rig| {
        rig.write_all();
        let older = rig.bytes(5 * KEY, KEY as usize);
        rig.write_all();
        // A flipped bit, swapped sectors, an older sector, an older block, zeros.
        let mut byte = rig.bytes(2 * KEY + 700, 1);
        byte[0] ^= 4;
        rig.file.write_all_at(&byte, 2 * KEY + 700).unwrap();
        let (one, two) = (rig.bytes(3 * KEY, 512), rig.bytes(3 * KEY + 1024, 512));
        rig.file.write_all_at(&two, 3 * KEY).unwrap();
        rig.file.write_all_at(&one, 3 * KEY + 1024).unwrap();
        rig.file.write_all_at(&older, 5 * KEY).unwrap();
        rig.file.write_all_at(&vec![0; KEY as usize], 8 * KEY).unwrap();
        assert_eq!(
            rig.faults(),
            [(2, Fault::Damaged), (3, Fault::Misplaced), (5, Fault::Stale), (8, Fault::Zeros)]
        );
        let (_, data) = rig.run(vec![op(OpKind::Read, 5, 1)], None);
        let error = &data.errors[0];
        assert_eq!((error.expected.generation, error.found.unwrap().generation), (2, 1));
        assert_eq!((error.sectors, error.offset_bytes), (8, 5 * KEY));
        assert!(error.found_hex.starts_with("415353415953454"), "{}", error.found_hex);
        assert_eq!(error.found_hex[24..], error.expected_hex[24..48].to_owned() + &error.found_hex[48..]);
        // What is written anew is right again.
        rig.run([2, 3, 5, 8].map(|block| op(OpKind::Write, block, 1)).to_vec(), None);
        assert_eq!(rig.faults(), []);
    });
}

#[test]
fn an_older_sector_in_a_block_is_a_torn_write() {
    with_each(|rig| {
        rig.write_all();
        let older = rig.bytes(5 * KEY + 512, 1024);
        rig.write_all();
        rig.file.write_all_at(&older, 5 * KEY + 512).unwrap();
        let (_, data) = rig.run(each(OpKind::Read), None);
        let [error] = data.errors.as_slice() else { panic!("{:?}", data.errors) };
        assert_eq!((error.fault, error.offset_bytes, error.sectors), (Fault::Torn, 5 * KEY + 512, 2));
    });
}

#[test]
fn a_truncated_file_is_named() {
    with_each(|rig| {
        rig.write_all();
        rig.file.set_len((BLOCKS - 2) * KEY + 512).unwrap();
        let (end, data) = rig.run(each(OpKind::Read), None);
        let offsets: Vec<(u64, Fault)> =
            data.errors.iter().map(|e| (e.offset_bytes / KEY, e.fault)).collect();
        assert_eq!(offsets.len(), 2, "{offsets:?}");
        assert!(offsets.iter().all(|(block, fault)| *block >= BLOCKS - 2 && *fault == Fault::Truncated));
        assert_eq!(end.verify_failed, 2);
    });
}

#[test]
fn writes_that_the_storage_breaks_are_named() {
    let cases: [(Breakage, &[(u64, Fault)]); 4] = [
        (Breakage::Lost, &[(9, Fault::Stale)]),
        (Breakage::To(20 * KEY), &[(9, Fault::Stale), (20, Fault::Misplaced)]),
        (Breakage::AlsoTo(20 * KEY), &[(20, Fault::Misplaced)]),
        (Breakage::Torn(1024), &[(9, Fault::Torn)]),
    ];
    for (breakage, faults) in cases {
        with_each(|rig| {
            rig.write_all();
            let (end, _) = rig.run(vec![op(OpKind::Write, 9, 1)], Some((9, breakage)));
            assert_eq!((end.verify_failed, end.errors.len()), (0, 0), "the storage says it is done");
            assert_eq!(rig.faults(), faults, "{breakage:?}");
        });
    }
}

#[test]
fn a_first_write_that_is_lost_leaves_what_was_there() {
    with_each(|rig| {
        rig.of_run(6).write_all();
        rig.run(vec![op(OpKind::Write, 9, 1)], Some((9, Breakage::Lost)));
        rig.run(vec![op(OpKind::Write, 10, 1)], Some((10, Breakage::To(30 * KEY))));
        assert_eq!(rig.faults(), [(9, Fault::OtherRun), (10, Fault::OtherRun), (30, Fault::Misplaced)]);
    });
}

#[test]
fn a_misdirected_write_is_found_where_this_run_wrote_nothing() {
    with_each(|rig| {
        rig.run(vec![op(OpKind::Write, 9, 1)], Some((9, Breakage::To(30 * KEY))));
        assert_eq!(rig.faults(), [(9, Fault::Zeros), (30, Fault::Misplaced)]);
    });
}

#[test]
fn after_a_failed_write_old_and_new_are_right() {
    with_each(|rig| {
        rig.write_all();
        let (end, _) = rig.run(vec![op(OpKind::Write, 9, 1)], Some((9, Breakage::Failed)));
        assert_eq!(end.errors, [(libc::EIO, 1)]);
        assert_eq!(rig.faults(), []);
        // The next one counts from the one that failed.
        rig.run(vec![op(OpKind::Write, 9, 1)], None);
        assert_eq!(rig.faults(), []);
        rig.run(vec![op(OpKind::Write, 9, 1)], Some((9, Breakage::Lost)));
        assert_eq!(rig.faults(), [(9, Fault::Stale)]);
    });
}

#[test]
fn trimmed_blocks_are_unverifiable_until_they_are_written() {
    let rig = Rig::new(EngineKind::Psync);
    rig.write_all();
    rig.run(vec![op(OpKind::Trim, 4, 2)], None);
    let (_, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((data.verified, data.unverifiable, data.wrong), (BLOCKS - 2, 2, 0));
    rig.run(vec![op(OpKind::Write, 4, 1)], None);
    assert_eq!(rig.run(each(OpKind::Read), None).1.verified, BLOCKS - 1);
}

#[test]
fn errors_are_counted_and_the_first_are_kept() {
    let rig = Rig::new(EngineKind::Psync);
    rig.write_all();
    rig.file.write_all_at(&vec![0; (BLOCKS * KEY) as usize], 0).unwrap();
    let (end, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((end.verify_failed, data.wrong, data.errors.len()), (BLOCKS, BLOCKS, 50));
}

/// Reads and writes of one to four blocks, drawn from a seed.
fn mixed(seed: u64, count: usize) -> Vec<Op> {
    let mut rng = assay_workload::rng::Rng::new(seed);
    let draw = |_| {
        let blocks = 1 + rng.below(4);
        let kind = if rng.below(2) == 0 { OpKind::Read } else { OpKind::Write };
        op(kind, rng.below(BLOCKS - blocks), blocks)
    };
    (0..count).map(draw).collect()
}

#[test]
fn nothing_is_wrong_where_threads_read_and_write_the_same_blocks() {
    for engine in ENGINES {
        let rig = Rig::new(engine);
        let total = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|thread| {
                    let rig = &rig;
                    scope.spawn(move || rig.run_at(16, mixed(thread, 3000), None).1)
                })
                .collect();
            let found: Vec<DataChecks> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            DataChecks::merged(found.iter()).unwrap()
        });
        assert_eq!((total.wrong, &total.errors), (0, &Vec::new()), "{engine:?}");
        assert!(total.verified > 5000, "{total:?}");
        assert!(total.waited > 0, "ranges overlap: {total:?}");
        assert_eq!(rig.faults(), []);
    }
}

#[test]
fn a_thread_that_fails_gives_its_blocks_back() {
    let rig = Rig::new(EngineKind::Psync);
    rig.write_all();
    let inner = (engines::of(EngineKind::Null).unwrap().open)(4, EngineOptions::default()).unwrap();
    let mut engine = ValidatedEngine::new(inner, vec![Some(Arc::clone(&rig.map))], 7, 4);
    let io =
        |slot, kind| Io { slot, target: 0, kind, len_bytes: KEY as u32, offset_bytes: u64::from(slot) * KEY };
    engine.queue(io(0, OpKind::Write)).unwrap();
    engine.queue(io(1, OpKind::Read)).unwrap();
    drop(engine);
    let (_, data) = rig.run(each(OpKind::Read), None);
    assert_eq!((data.verified, data.unverifiable, data.wrong), (BLOCKS - 1, 1, 0));
    rig.write_all();
    assert_eq!(rig.faults(), []);
}

mod phases {
    //! Whole phases, as a plan has them.

    use std::path::Path;
    use std::time::Duration;

    use assay_results::{HostEvent, JobCounts, JobOutcome};
    use assay_workload::PhaseKind;
    use assay_workload::job::{Job, Limits, Phase, Workload};
    use assay_workload::operation::{Counted, OpId};
    use assay_workload::pattern::{AccessPattern, Mix, Placement};
    use assay_workload::plan::Plan;
    use assay_workload::resolve::{self, Inventory, TargetFacts};
    use assay_workload::target::{Target, TargetKind};
    use assay_workload::units::Bytes;

    use super::*;
    use crate::blocks::Blocks;
    use crate::driver::{PhaseOptions, run_phase};

    const SIZE: u64 = 4 << 20;

    fn job(name: &str, mix: Mix, placement: Placement, verify: bool) -> Job {
        Job::new(name, &["t"], AccessPattern::new(mix, KEY, placement)).with(|job| {
            job.traits.content.verify = verify;
            job.traits.errors_tolerated = u64::MAX;
        })
    }

    fn plan(path: &Path, existing_bytes: u64, phases: Vec<Phase>) -> Plan {
        let workload = Workload {
            name: "w".into(),
            seed: Some(5),
            hosts: Vec::new(),
            targets: vec![Target { name: "t".into(), path: "t".into(), kind: None, size: Some(Bytes(SIZE)) }],
            phases,
        };
        let path = path.to_str().unwrap().to_owned();
        let kind = TargetKind::File;
        let facts = TargetFacts {
            path,
            kind,
            existing_bytes,
            direct_align_bytes: None,
            engine_choice: None,
            direct_refused: None,
        };
        let inventory = Inventory {
            targets: [("t".to_owned(), facts)].into(),
            engines: ENGINES.to_vec(),
            ..Inventory::default()
        };
        resolve::plan(&workload, &inventory, 0).unwrap()
    }

    /// Runs all phases as one run; what is done to the file in between.
    fn run(plan: &Plan, path: &Path, between: impl Fn(usize)) -> Vec<DataChecks> {
        let (found, errors) = run_with_errors(plan, path, between);
        assert!(errors.iter().all(Option::is_none), "{errors:?}");
        found
    }

    /// What was counted in all phases together.
    fn counted(plan: &Plan, path: &Path) -> JobCounts {
        let counts = std::cell::RefCell::new(JobCounts::default());
        let _ = run_counting(plan, path, |_| {}, &mut |more| counts.borrow_mut().merge(more));
        counts.into_inner()
    }

    fn run_with_errors(
        plan: &Plan,
        path: &Path,
        between: impl Fn(usize),
    ) -> (Vec<DataChecks>, Vec<Option<String>>) {
        run_counting(plan, path, between, &mut |_| {})
    }

    fn run_counting(
        plan: &Plan,
        path: &Path,
        between: impl Fn(usize),
        count: &mut dyn FnMut(&JobCounts),
    ) -> (Vec<DataChecks>, Vec<Option<String>>) {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        let blocks = Blocks { held: [(0, Arc::new(file))].into(), ..Blocks::default() };
        let kinds: [&dyn crate::JobKind<crate::ThisMachine>; 1] = [&blocks];
        let options = PhaseOptions {
            interval: Duration::from_millis(50),
            stop: Arc::new(AtomicBool::new(false)),
            kinds: &kinds,
            start: None,
            given_up: &|_| {},
        };
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        for phase in 0..plan.phases.len() {
            between(phase);
            let mut outcomes: Vec<JobOutcome> = Vec::new();
            let mut sink = |event| match event {
                HostEvent::JobFinished { outcome, .. } => outcomes.push(*outcome),
                HostEvent::Interval(interval) => count(&interval.counts),
                _ => {}
            };
            let end = run_phase(plan, phase, &options, &mut sink, &mut |_| {}).unwrap();
            errors.push(end.error);
            let parts = outcomes.iter().filter_map(|outcome| outcome.data.as_ref());
            found.push(DataChecks::merged(parts).unwrap_or_default());
        }
        (found, errors)
    }

    fn verify_phase(engine: EngineKind) -> Phase {
        let pattern = AccessPattern::new(Mix::READ, 16 * KEY, Placement::sequential());
        let job = Job::new("check", &["t"], pattern).with(|job| {
            job.traits.content.verify = true;
            job.traits.errors_tolerated = u64::MAX;
            job.engine = engine;
        });
        Phase { kind: PhaseKind::Verify, ..Phase::measure("check", vec![job]) }
    }

    #[test]
    fn overlapping_jobs_raise_no_false_alarm_and_all_that_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        for (engine, path) in ENGINES.iter().zip(["a", "b", "c"].map(|name| directory.path().join(name))) {
            let mixed = |name: &str, block: u64| {
                job(name, Mix::read_write(50.0), Placement::random_map(), true).with(|job| {
                    job.traits.pattern =
                        AccessPattern::new(Mix::read_write(50.0), block, Placement::random_map());
                    (job.threads, job.traits.outstanding_per_thread, job.engine) = (2, 16, *engine);
                    job.limits = Limits { ios: Some(2000), ..Limits::default() };
                })
            };
            let phases = vec![
                Phase::measure("p", vec![mixed("small", KEY), mixed("large", 4 * KEY)]),
                verify_phase(*engine),
            ];
            let plan = plan(&path, 0, phases);
            let found = run(&plan, &path, |_| {});
            // The layout before the reads is sealed, too.
            assert_eq!((found[0].wrong, found[0].unverifiable), (0, 0), "{:?}", found[0].errors);
            assert!(found[0].verified > 1000 && found[0].written > 1000, "{:?}", found[0]);
            assert_eq!((found[1].verified, found[1].wrong), (SIZE / KEY, 0), "{:?}", found[1].errors);
        }
    }

    #[test]
    fn only_what_was_written_is_read_in_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let part = job("part", Mix::WRITE, Placement::random_map(), true).with(|job| {
            job.limits = Limits { ios: Some(100), ..Limits::default() };
            job.engine = EngineKind::Psync;
        });
        std::fs::write(&path, vec![7; SIZE as usize]).unwrap();
        let phases = vec![Phase::measure("part", vec![part]), verify_phase(EngineKind::Psync)];
        let found = run(&plan(&path, SIZE, phases), &path, |_| {});
        assert_eq!((found[1].verified, found[1].unverifiable, found[1].wrong), (100, 0, 0));
    }

    #[test]
    fn what_is_written_without_headers_is_forgotten_and_what_changed_in_between_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let psync = |job: Job| job.with(|job| job.engine = EngineKind::Psync);
        let fill = || psync(job("fill", Mix::WRITE, Placement::sequential(), true));
        let plain = psync(job("plain", Mix::WRITE, Placement::sequential(), false));
        let plain = plain.with(|job| job.length = Some(assay_workload::target::Extent::Bytes(SIZE / 2)));
        let phases = vec![
            Phase::measure("fill", vec![fill()]),
            Phase::measure("plain", vec![plain]),
            verify_phase(EngineKind::Psync),
        ];
        let zero_last = |phase: usize| {
            if phase == 2 {
                let file = File::options().write(true).open(&path).unwrap();
                file.write_all_at(&[0; 512], SIZE - 512).unwrap();
            }
        };
        let found = run(&plan(&path, 0, phases), &path, zero_last);
        assert_eq!((found[2].verified, found[2].wrong), (SIZE / KEY / 2, 1));
        assert_eq!((found[2].errors[0].fault, found[2].errors[0].offset_bytes), (Fault::Zeros, SIZE - 512));
    }

    #[test]
    fn what_was_cut_off_before_it_is_read_back_is_not_made_good() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let write = job("write", Mix::WRITE, Placement::sequential(), true);
        let write = write.with(|job| job.engine = EngineKind::Psync);
        let phases = vec![Phase::measure("write", vec![write]), verify_phase(EngineKind::Psync)];
        let cut = |phase: usize| {
            if phase == 1 {
                File::options().write(true).open(&path).unwrap().set_len(SIZE - 2 * KEY).unwrap();
            }
        };
        let found = run(&plan(&path, 0, phases), &path, cut);
        assert_eq!((found[1].verified, found[1].wrong), (SIZE / KEY, 2));
        assert!(found[1].errors.iter().all(|error| error.fault == Fault::Truncated), "{:?}", found[1].errors);
    }

    fn reread(engine: EngineKind, mix: Mix) -> Job {
        job("reread", mix, Placement::random_map(), true).with(|job| {
            job.traits.content.reread = true;
            (job.engine, job.traits.outstanding_per_thread) = (engine, 8);
        })
    }

    #[test]
    fn each_write_is_read_back_at_once_and_these_reads_are_counted_apart() {
        let directory = tempfile::tempdir().unwrap();
        for (engine, path) in ENGINES.iter().zip(["a", "b", "c"].map(|name| directory.path().join(name))) {
            let plan = plan(&path, 0, vec![Phase::measure("p", vec![reread(*engine, Mix::WRITE)])]);
            let counts = counted(&plan, &path);
            let named: Vec<_> = counts.named.iter().map(|named| (named.operation, named.counted)).collect();
            assert_eq!(named, [(OpId::REREAD, Counted::Beside)], "{engine:?}");
            let reread = &counts.named[0].counts;
            assert_eq!((reread.ios, reread.bytes, reread.completion.n()), (SIZE / KEY, SIZE, SIZE / KEY));
            assert_eq!((counts.data().ios, counts.data().bytes), (SIZE / KEY, SIZE), "the pattern's own");
            assert_eq!((counts.op(OpKind::Read).ios, counts.errors), (0, 0));
            let found = run(&plan, &path, |_| {});
            assert_eq!((found[0].verified, found[0].written, found[0].wrong), (SIZE / KEY, SIZE / KEY, 0));
        }
    }

    #[test]
    fn a_job_ends_at_so_many_wrong_blocks_whatever_errors_it_tolerates() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let phases = |most: Option<u64>, tolerated: u64| {
            let write = job("write", Mix::WRITE, Placement::sequential(), true);
            let write = write.with(|job| job.engine = EngineKind::Psync);
            let mut check = verify_phase(EngineKind::Psync);
            check.jobs[0].traits.pattern = AccessPattern::new(Mix::READ, KEY, Placement::sequential());
            check.jobs[0].traits.errors_tolerated = tolerated;
            check.jobs[0].traits.content.data_errors_max = most;
            vec![Phase::measure("write", vec![write]), check]
        };
        let zero = |phase: usize| {
            if phase == 1 {
                let file = File::options().write(true).open(&path).unwrap();
                file.write_all_at(&vec![0; (20 * KEY) as usize], 10 * KEY).unwrap();
            }
        };
        for (most, tolerated, wrong, error) in [
            (Some(3), u64::MAX, 3, true),
            (Some(1), u64::MAX, 1, true),
            (Some(u64::MAX), 0, 20, false),
            (None, 4, 5, true),
            (None, u64::MAX, 20, false),
        ] {
            let (found, errors) = run_with_errors(&plan(&path, 0, phases(most, tolerated)), &path, zero);
            assert_eq!((found[1].wrong, errors[1].is_some()), (wrong, error), "{most:?} {tolerated}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_file_that_ends_within_a_sector_is_laid_out_with_whole_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        std::fs::write(&path, vec![7; 1000]).unwrap();
        let read =
            job("read", Mix::READ, Placement::sequential(), true).with(|job| job.engine = EngineKind::Psync);
        let found = run(&plan(&path, 1000, vec![Phase::measure("read", vec![read])]), &path, |_| {});
        assert_eq!((found[0].verified, found[0].unverifiable, found[0].wrong), (SIZE / KEY - 1, 1, 0));
    }
}

mod earlier_runs;
