//! Power cuts during validated writes with a journal: what the storage had acknowledged is proved to be there, and what it lost is
//! found, each block of it and no other.
//!
//! The file system knows the truth: what would be durable if each of its flushes had told it ([`FaultFs::promised`]).
//! `ASSAY_POWER_CUTS` sets how many cuts there are of each kind.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_faultfs::{Cut, Fault, FaultFs, Op, Options, Rule, missing};
use assay_results::data::{CrashChecks, DataChecks, ERRORS_KEPT};
use assay_results::store::{DATA_JOURNAL_FILE, RunDir, StoreError};
use assay_runner::{Crashed, Finished, RunError, Watch, carry_out, recover_data};
use assay_workload::Workload;
use assay_workload::block::{self, Sector};
use assay_workload::content::DataJournal;
use assay_workload::job::{Caching, EngineKind, FlushCall, FlushOrder, Job, Limits, OpenSync, PeriodicFlush};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::units::Nanos;

use crate::bounded::{PATIENCE, SetOnDrop};
use crate::faults::stage::FILE;
use crate::support::{request, site, writes};
use crate::{ENGINES, skip};

const BLOCK: u64 = 8192;
/// Writes before the flushes begin to lie, and before the power is cut.
const HONEST: u64 = 150;
const WRITES: u64 = 400;
/// The journal is some milliseconds behind, or more where its thread waits for a processor.
const WRITES_BEFORE_JOURNAL: u64 = 1000;
/// Flushes of the journal by then, each of at least one record.
const JOURNAL_FLUSHES: u64 = 100;

/// One power cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) engine: EngineKind,
    pub(crate) caching: Caching,
    pub(crate) open: OpenSync,
    /// Flushes say that they are done and are not, from some moment on.
    pub(crate) lies: bool,
    pub(crate) seed: u64,
}

impl Case {
    fn cut(&self) -> Cut {
        match self.seed % 3 {
            0 => Cut::KeepNothing,
            more => Cut::KeepSome { seed: self.seed, probability: 0.3 * more as f64 },
        }
    }
}

/// Random writes with a journal until they are stopped; every few of them are flushed.
pub(crate) fn workload(case: Case) -> Workload {
    let mut workload = writes(Limits::default());
    let pattern = AccessPattern::new(Mix::WRITE, BLOCK, Placement::random_map());
    let limits = Limits { time: Some(Nanos::from_secs(60)), ..Limits::default() };
    let (engine, caching) = (case.engine, case.caching);
    let mut job = Job { engine, caching, limits, ..Job::new("j", &["data"], pattern) };
    job.traits.content.verify = true;
    job.traits.content.journal = Some(DataJournal::default());
    job.traits.errors_tolerated = u64::MAX;
    job.traits.outstanding_per_thread = if case.engine == EngineKind::Psync { 1 } else { 8 };
    job.traits.flush.open = case.open;
    if case.open == OpenSync::None {
        let (call, order) = (FlushCall::Fdatasync, FlushOrder::AfterWrite);
        job.traits.flush.periodic =
            Some(PeriodicFlush { call, every_writes: 1 + case.seed as u32 % 9, order });
    }
    workload.seed = Some(case.seed);
    workload.phases[0].jobs = vec![job];
    workload
}

/// Writes until the power is cut.
fn crash(case: Case, fs: &FaultFs, store: &Path, writes: u64, cut: &(dyn Fn() + Sync)) -> Finished {
    let site = site(store);
    let request = request(workload(case), Watch::Nothing, fs.path());
    let done = std::thread::scope(|scope| {
        let stop = &site.stop;
        scope.spawn(move || {
            let wait = |writes| {
                // A run that could not begin ends the wait, too.
                while fs.count(Op::Write, FILE) < writes && !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            wait(HONEST);
            if case.lies {
                fs.inject(Rule::new(Op::Flush, Fault::Lost).of_file(FILE));
            }
            wait(writes);
            cut();
            stop.store(true, Ordering::Relaxed);
        });
        let _ended = SetOnDrop(stop);
        carry_out(request, &site, &mut ())
    });
    done.expect("carried out").expect("begun").finished
}

/// Proves what a run had written. A program that another test is starting may have the run's lock for a moment, until it is executed.
pub(crate) fn recovered(crashed: &Finished, store: &Path) -> Result<Finished, RunError> {
    let directory = RunDir::open(&crashed.directory).expect("a run");
    let mut tries = 0..100;
    loop {
        let crashed = Crashed { run: &directory, journal: None, at: &[] };
        match recover_data(&crashed, &site(store), &mut ()) {
            Err(RunError::Store(StoreError::Running(_))) if tries.next().is_some() => {
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return done.map(|proof| proof.finished),
        }
    }
}

/// What proving finds.
pub(crate) fn proved(crashed: &Finished, store: &Path) -> (Finished, DataChecks) {
    let finished = recovered(crashed, store).expect("carried out");
    assert_eq!(finished.error, None);
    let data = finished.run.phases[0].jobs[0].data.clone().expect("validated");
    (finished, data)
}

/// Blocks that do not hold what was promised of them.
fn lost(fs: &FaultFs, content: &[u8]) -> BTreeSet<u64> {
    let promised = fs.promised(FILE).expect("the file");
    let generation = |sector: Option<&[u8]>| match sector.map(block::inspect) {
        Some(Sector::Whole(found)) => found.generation,
        _ => 0,
    };
    let sectors = promised.chunks(512).enumerate();
    let lost = sectors.filter(|(index, sector)| {
        let found = content.get(index * 512..(index + 1) * 512);
        generation(found) < generation(Some(sector))
    });
    lost.map(|(index, _)| index as u64 * 512 / BLOCK * BLOCK).collect()
}

/// What one cut came to.
fn judge(case: Case) -> CrashChecks {
    let fs = FaultFs::mount(Options { power_cuts: true, ..Options::default() }).expect("it mounts");
    let store = tempfile::tempdir().expect("a store");
    let crashed = crash(case, &fs, store.path(), WRITES, &|| fs.cut(case.cut()));
    let truth = lost(&fs, &std::fs::read(fs.join(FILE)).expect("the file is there"));
    fs.clear();
    let (finished, data) = proved(&crashed, store.path());
    let crash = data.crash.clone().expect("compared with a journal");
    // The first 50 are kept.
    let named: BTreeSet<u64> = data.errors.iter().map(|error| error.offset_bytes / BLOCK * BLOCK).collect();
    assert_eq!(named.len() as u64, data.wrong.min(ERRORS_KEPT as u64), "{case:?}: each once");
    assert!(named.is_subset(&truth) && data.wrong <= truth.len() as u64, "{case:?}: {} wrong", data.wrong);
    // Of several outstanding writes some were promised that the run did not know to be complete when it flushed.
    if case.engine == EngineKind::Psync {
        assert_eq!(data.wrong, truth.len() as u64, "{case:?}");
    }
    assert_eq!(finished.data_is_proved().is_ok(), data.wrong == 0, "{case:?}");
    assert!(crash.acknowledged > 20, "{case:?}: {crash:?}");
    assert!(case.lies || truth.is_empty(), "{case:?}: only lies lose anything");
    assert!(!case.lies || case.engine != EngineKind::Psync || !truth.is_empty(), "{case:?}: nothing lost");
    crash
}

/// Cuts at most beside those, until some have met a write in flight.
const MORE_CUTS: u64 = 20;

fn cuts() -> u64 {
    std::env::var("ASSAY_POWER_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(3)
}

#[test]
fn after_a_power_cut_what_was_acknowledged_is_proved_and_what_was_lost_is_found() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    let (mut torn, mut newer) = (0, 0);
    for seed in 0..cuts() + MORE_CUTS {
        // Few cuts may all have come between two writes.
        if seed >= cuts() && torn > 0 && newer > 0 {
            break;
        }
        let found: Vec<CrashChecks> = std::thread::scope(|scope| {
            let mut running = Vec::new();
            for engine in ENGINES {
                for lies in [false, true] {
                    let buffered = (seed + u64::from(lies)) % 2 == 1;
                    let caching = if buffered { Caching::Buffered } else { Caching::Direct };
                    let case = Case { engine, caching, open: OpenSync::None, lies, seed };
                    running.push(scope.spawn(move || judge(case)));
                }
                let open = if seed % 2 == 0 { OpenSync::Dsync } else { OpenSync::Sync };
                let case = Case { engine, caching: Caching::Direct, open, lies: false, seed };
                running.push(scope.spawn(move || judge(case)));
            }
            running.into_iter().map(|one| one.join().expect("judged")).collect()
        });
        torn += found.iter().map(|crash| crash.torn).sum::<u64>();
        newer += found.iter().map(|crash| crash.newer).sum::<u64>();
    }
    assert!(torn > 0 && newer > 0, "some of what was not acknowledged survived: {torn} torn, {newer} whole");
}

#[test]
fn the_journal_may_lose_its_end_in_the_same_power_cut() {
    if let Some(why) = missing() {
        return skip::declare("fuse", &why);
    }
    for seed in 0..cuts() {
        let (engine, caching, open) = (ENGINES[seed as usize % 3], Caching::Direct, OpenSync::None);
        let case = Case { engine, caching, open, lies: false, seed };
        let mount = || FaultFs::mount(Options { power_cuts: true, ..Options::default() }).expect("it mounts");
        let (fs, runs) = (mount(), mount());
        let crashed = crash(case, &fs, runs.path(), WRITES_BEFORE_JOURNAL, &|| {
            let patience = Instant::now() + PATIENCE;
            while runs.count(Op::Flush, DATA_JOURNAL_FILE) < JOURNAL_FLUSHES && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(1));
            }
            runs.cut(case.cut());
            fs.cut(case.cut());
        });
        // What a machine without power would not have written any more: that the run ended.
        std::fs::remove_file(crashed.directory.join("run.json")).expect("it was written after the cut");
        let (_, data) = proved(&crashed, runs.path());
        assert_eq!(data.wrong, 0, "{case:?}: {:?}", data.errors.first());
        assert!(data.crash.is_some_and(|crash| crash.acknowledged > 20), "{case:?}");
    }
}

#[test]
fn a_run_without_a_journal_cannot_be_proved() {
    let (place, store) = (tempfile::tempdir().expect("a place"), tempfile::tempdir().expect("a store"));
    let limits = Limits { passes: Some(1), ..Limits::default() };
    let site = site(store.path());
    let mut asked = writes(limits);
    let done = carry_out(request(asked.clone(), Watch::Nothing, place.path()), &site, &mut ());
    let ended = done.expect("carried out").expect("begun").finished;
    let refused = recovered(&ended, store.path()).expect_err("no journal");
    assert!(matches!(refused, RunError::NoJournal { .. }) && refused.is_request(), "{refused}");
    // With one, also a run that ended is proved; and a file that is gone is a loss.
    asked.phases[0].jobs[0].traits.content.verify = true;
    asked.phases[0].jobs[0].traits.content.journal = Some(DataJournal::default());
    asked.phases[0].jobs[0].traits.flush.at_end = true;
    let done = carry_out(request(asked, Watch::Nothing, place.path()), &site, &mut ());
    let ended = done.expect("carried out").expect("begun").finished;
    let (finished, data) = proved(&ended, store.path());
    assert_eq!((finished.data_is_proved(), data.verified), (Ok(()), 256));
    assert_eq!(data.crash.map(|crash| (crash.acknowledged, crash.in_flight)), Some((256, 0)));
    let file = std::fs::File::options().write(true).open(place.path().join(FILE)).expect("the file");
    file.set_len((1 << 20) - 4096 * 3).expect("cut");
    let (finished, data) = proved(&ended, store.path());
    assert_eq!((data.wrong, data.errors[0].offset_bytes), (3, (1 << 20) - 4096 * 3));
    assert!(finished.data_is_proved().is_err_and(|why| why.starts_with("blocks lost or wrong: 3 of 256")));
    std::fs::remove_file(place.path().join(FILE)).expect("removed");
    let gone = recovered(&ended, store.path()).expect_err("gone");
    assert!(
        gone.to_string().ends_with("is not there: lost blocks with an acknowledged write: 256"),
        "{gone}"
    );
}
