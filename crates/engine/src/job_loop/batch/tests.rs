//! The calls of a loop over storage that tells of completions only when all it was given are done, and over storage that
//! completes inside the call.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assay_workload::content::Content;
use assay_workload::fill::Filler;
use assay_workload::job::{FlushCall, FlushOrder, PeriodicFlush};
use assay_workload::ops::{Generator, SiteSpec};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::target::ActiveRange;

use crate::buffers::MappedBuffers;
use crate::clock::RealClock;
use crate::job_loop::{JobLoop, LoopParts, LoopSpec, Pending};
use crate::recorder::{Recorder, Schedule, Shared};
use crate::seam::{
    BufferPool, Capabilities, Clock as _, Completion, Completions, Engine, EngineError, Io, QueueFull,
    Submitted, TargetTable, Wait,
};

/// How many I/Os each call handed over, and whether it was to wait.
type Calls = Rc<RefCell<Vec<(usize, bool)>>>;

#[derive(Debug)]
struct Lockstep {
    inline: bool,
    asynchronous: bool,
    calls: Calls,
    queued: Vec<Io>,
    working: Vec<Io>,
    done: Vec<Io>,
}

impl Engine for Lockstep {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "lockstep",
            asynchronous: self.asynchronous,
            asynchronous_flush: true,
            trim: true,
            submit_and_wait: true,
            blocks: true,
        }
    }

    fn prepare(&mut self, _: &TargetTable, _: &dyn BufferPool) -> Result<(), EngineError> {
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Result<(), QueueFull> {
        self.queued.push(io);
        Ok(())
    }

    fn submit(&mut self, wait: Wait) -> Result<Submitted, EngineError> {
        let submitted = self.queued.len();
        if submitted > 0 {
            self.calls.borrow_mut().push((submitted, wait != Wait::Poll));
        }
        self.working.append(&mut self.queued);
        if self.inline || wait != Wait::Poll {
            self.done.append(&mut self.working);
        }
        Ok(Submitted { submitted: submitted as u32, waited: wait != Wait::Poll })
    }

    fn reap(&mut self, out: &mut Completions, wait: Wait) -> Result<(), EngineError> {
        if wait != Wait::Poll && self.done.is_empty() {
            self.done.append(&mut self.working);
        }
        for io in self.done.drain(..) {
            out.push(Completion { slot: io.slot, result: io.len_bytes as i32 });
        }
        Ok(())
    }
}

struct Case {
    inline: bool,
    asynchronous: bool,
    depth: u32,
    submit_batch_max: u32,
    flush: Option<PeriodicFlush>,
}

const PLAIN: Case = Case { inline: false, asynchronous: true, depth: 32, submit_batch_max: 0, flush: None };

impl Case {
    /// The calls of a job of `ios` I/Os.
    fn calls(self, mix: Mix, ios: u64) -> Vec<(usize, bool)> {
        let clock = RealClock::new();
        let start_ns = clock.now_ns();
        let pattern = AccessPattern::new(mix, 4096, Placement::random_map());
        let range = ActiveRange { offset_bytes: 0, length_bytes: 1 << 30 };
        let site = SiteSpec { target: 0, range };
        let source = Generator::new(&pattern, &[site], Default::default(), 1, Some(ios), None);
        let calls = Calls::default();
        let schedule = Schedule { start_ns, measured_start_ns: start_ns, interval_ns: u64::MAX / 4 };
        let parts = LoopParts {
            engine: Lockstep {
                inline: self.inline,
                asynchronous: self.asynchronous,
                calls: Rc::clone(&calls),
                queued: Vec::new(),
                working: Vec::new(),
                done: Vec::new(),
            },
            clock,
            arrivals: None,
            recorder: Recorder::new(Shared::new(), schedule),
            buffers: MappedBuffers::new(self.depth, 4096).unwrap(),
            filler: Filler::new(&Content::default(), 1),
            targets: Vec::new(),
            spec: LoopSpec {
                submit_batch_max: self.submit_batch_max,
                flush: self.flush,
                ..LoopSpec::closed(self.depth, start_ns)
            },
            stop: Arc::new(AtomicBool::new(false)),
            pass_hook: None,
        };
        let mut job = JobLoop::<_, _, false, false>::new(parts, Box::new(source));
        for _ in 0..100_000 {
            if job.step().unwrap() == Pending::Done {
                return calls.take();
            }
        }
        panic!("the loop did not end: {:?}", calls.borrow());
    }
}

#[test]
fn storage_that_ran_dry_begins_with_the_first_part() {
    let calls = PLAIN.calls(Mix::READ, 32 * 10);
    assert_eq!(calls[..8], [(8, false), (8, false), (8, false), (8, true)].repeat(2));
    assert_eq!(calls.iter().map(|call| call.0).sum::<usize>(), 320);
}

#[test]
fn parts_are_neither_too_small_nor_too_large() {
    let first = |depth| Case { depth, ..PLAIN }.calls(Mix::READ, 2000)[0];
    assert_eq!([1, 4, 8, 16, 64, 1024].map(first).map(|call| call.0), [1, 4, 4, 4, 16, 16]);
    assert!(first(4).1, "what is handed over in one part is waited for in the same call");
}

#[test]
fn where_ios_complete_inside_the_call_all_are_handed_over_at_once() {
    let calls = Case { inline: true, ..PLAIN }.calls(Mix::READ, 8 + 32 * 200);
    assert_eq!(calls[0], (8, false), "the first part tells how the storage takes them");
    assert!(calls[1..].iter().all(|call| call.0 == 32), "{calls:?}");
}

#[test]
fn no_call_hands_over_more_than_was_asked() {
    for inline in [false, true] {
        let calls = Case { inline, submit_batch_max: 5, ..PLAIN }.calls(Mix::READ, 640);
        assert_eq!(calls.iter().map(|call| call.0).max(), Some(5), "inline {inline}");
    }
}

#[test]
fn engines_that_wait_for_each_io_and_queued_flushes_know_no_parts() {
    let calls = Case { asynchronous: false, ..PLAIN }.calls(Mix::READ, 320);
    assert!(calls.iter().all(|call| call.0 == 32), "{calls:?}");
    let flush = PeriodicFlush { call: FlushCall::Fdatasync, every_writes: 1000, order: FlushOrder::Queued };
    let calls = Case { flush: Some(flush), ..PLAIN }.calls(Mix::WRITE, 320);
    assert!(calls.iter().all(|call| call.0 == 32), "{calls:?}");
}
