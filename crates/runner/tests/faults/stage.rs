//! A run on a file system that fails: what is asked for, and what comes of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use assay_faultfs::{Fault, FaultFs, Injected, Op, Options, Rule, missing};
use assay_results::event::HungIo;
use assay_results::run::JobResult;
use assay_results::{HostEvent, RunEvent};
use assay_runner::{Finished, Observer, Request, Watch, carry_out};
use assay_workload::job::{Caching, EngineKind, FlushCall, FlushOrder, Limits, PeriodicFlush, Rate};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::{Job, Workload};

use crate::support::{request, site, writes};
use crate::{ENGINES, skip};

pub(crate) const BLOCK: u64 = 4096;
/// The file has so many blocks, and each is read or written once.
pub(crate) const BLOCKS: u64 = 256;
pub(crate) const FILE: &str = "data.bin";

/// One run, and the faults it meets from the moment that it measures.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) op: Op,
    pub(crate) engine: EngineKind,
    pub(crate) caching: Caching,
    /// Whether the page cache is between the run and the faults.
    pub(crate) cached: bool,
    /// How fast; `None`: as fast as it goes.
    pub(crate) iops: Option<f64>,
    /// Errors that it goes on after.
    pub(crate) tolerates: u64,
    /// Whether it is stopped when an I/O hangs.
    pub(crate) stops: bool,
    pub(crate) rules: Vec<Rule>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) case: Case,
    pub(crate) finished: Finished,
    pub(crate) injected: Vec<Injected>,
    /// What was told of I/Os that hang.
    pub(crate) hung: Vec<HungIo>,
    pub(crate) took: Duration,
    // The stored run goes with it.
    _store: tempfile::TempDir,
}

/// Each operation by each engine, direct and buffered.
pub(crate) fn cases(rules: impl Fn(Op) -> Vec<Rule>) -> Vec<Case> {
    let mut cases = Vec::new();
    for op in [Op::Read, Op::Write, Op::Flush] {
        for engine in ENGINES {
            for caching in [Caching::Direct, Caching::Buffered] {
                cases.push(Case {
                    op,
                    engine,
                    caching,
                    cached: false,
                    iops: None,
                    tolerates: 1000,
                    stops: false,
                    rules: rules(op),
                });
            }
        }
    }
    cases
}

/// A rule of one fault on the file.
pub(crate) fn rule(op: Op, fault: Fault) -> Rule {
    Rule::new(op, fault).of_file(FILE)
}

/// One pass over the file; flushes behind every fourth write.
pub(crate) fn workload(case: &Case) -> Workload {
    let mut workload = writes(Limits { passes: Some(1), ..Limits::default() });
    let mix = if case.op == Op::Read { Mix::READ } else { Mix::WRITE };
    let asked = &mut workload.phases[0].jobs[0];
    let pattern = AccessPattern::new(mix, BLOCK, Placement::random_map());
    *asked = Job {
        engine: case.engine,
        caching: case.caching,
        limits: asked.limits,
        ..Job::new("j", &["data"], pattern)
    };
    asked.rate = case.iops.map_or(Rate::Unlimited, Rate::Iops);
    asked.traits.outstanding_per_thread = if case.engine == EngineKind::Psync { 1 } else { 8 };
    asked.traits.errors_tolerated = case.tolerates;
    if case.op == Op::Flush {
        let order = FlushOrder::AfterWrite;
        asked.traits.flush.periodic = Some(PeriodicFlush { call: FlushCall::Fsync, every_writes: 4, order });
    }
    workload
}

/// Injects when its phase starts, and stops the run when it is told of an I/O that hangs.
struct Injecting<'a> {
    fs: &'a FaultFs,
    from_phase: u32,
    rules: Vec<Rule>,
    stop: Option<Arc<AtomicBool>>,
    hung: Vec<HungIo>,
}

impl Observer for Injecting<'_> {
    fn event(&mut self, event: &RunEvent) {
        if matches!(event, RunEvent::PhaseStarted { phase, .. } if *phase == self.from_phase) {
            self.rules.drain(..).for_each(|rule| self.fs.inject(rule));
        }
        if let RunEvent::Host { event: HostEvent::Hung { io: Some(io), .. }, .. } = event {
            self.hung.push((**io).clone());
            if let Some(stop) = &self.stop {
                stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

fn run(case: Case) -> Came {
    let workload = workload(&case);
    run_of(case, workload, 0)
}

/// Carries `workload` out on a file system of its own that fails from one of its phases on.
pub(crate) fn run_of(case: Case, workload: Workload, from_phase: u32) -> Came {
    run_over(None, case, workload, from_phase)
}

/// The same, behind a run of `before` on the same file, which meets no fault.
pub(crate) fn run_over(before: Option<Workload>, case: Case, workload: Workload, from_phase: u32) -> Came {
    let fs = FaultFs::mount(Options { cached: case.cached, ..Options::default() }).expect("it mounts");
    let store = tempfile::tempdir().expect("a store");
    let consent: Vec<PathBuf> = before.iter().map(|_| fs.join(FILE)).collect();
    if let Some(before) = before {
        let done = carry_out(request(before, Watch::Nothing, fs.path()), &site(store.path()), &mut ());
        assert_eq!(done.expect("carried out").expect("begun").finished.error, None);
    }
    // What it made cannot be marked there.
    let request = Request { consent, ..request(workload, Watch::Nothing, fs.path()) };
    let (rules, site) = (case.rules.clone(), site(store.path()));
    let stop = case.stops.then(|| Arc::clone(&site.stop));
    let mut observer = Injecting { fs: &fs, from_phase, rules, stop, hung: Vec::new() };
    let started = Instant::now();
    let done = carry_out(request, &site, &mut observer);
    let (took, hung) = (started.elapsed(), observer.hung);
    let finished = done.expect("carried out").expect("begun").finished;
    Came { case, finished, injected: fs.injected(), hung, took, _store: store }
}

/// Runs all of them side by side; none where nothing can be mounted.
pub(crate) fn run_all(cases: Vec<Case>) -> Vec<Came> {
    if let Some(why) = missing() {
        skip::declare("fuse", &why);
        return Vec::new();
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = cases.into_iter().map(|case| scope.spawn(|| run(case))).collect();
        running.into_iter().map(|one| one.join().expect("no panic")).collect()
    })
}

impl Came {
    pub(crate) fn job(&self) -> &JobResult {
        self.finished.run.phases[0].jobs.first().unwrap_or_else(|| panic!("no job: {}", self.which()))
    }

    /// What the case was, for the message of a test that fails.
    pub(crate) fn which(&self) -> String {
        let Case { op, engine, caching, .. } = &self.case;
        let (error, injected) = (&self.finished.error, self.injected.len());
        format!("{op:?} by {engine:?}, {caching:?}: {injected} injected, {error:?}")
    }

    /// How many there were of the operation that is tested.
    pub(crate) fn ios(&self) -> u64 {
        let job = self.job();
        let of = match self.case.op {
            Op::Read => &job.read,
            Op::Write => &job.write,
            Op::Flush => &job.flush,
        };
        of.as_ref().map_or(0, |op| op.ios)
    }
}
