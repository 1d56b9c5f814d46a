//! Builds, runs and checks small databases, without the program around it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_engine::Clock as _;
use assay_engine::clock::RealClock;
use assay_engine::driver::{PhaseEnd, PhaseOptions, run_phase};
use assay_engine::kind::name_operations;
use assay_engine::{EngineError, JobKind, ThisMachine};
use assay_oltp::{Error, Given, Here, PreparedRun, Report, Scale, Watcher};
use assay_results::{HostEvent, JobOutcome};
use assay_workload::Plan;
use assay_workload::pattern::OpKind;
use assay_workload::resolve::{self, Inventory, TargetFacts};
use assay_workload::target::TargetKind;

use crate::bounded::SetOnDrop;

/// Where and when tests take place.
pub(crate) fn here(data: &Path) -> Here {
    let now_us = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_micros() as i64;
    Here { now_us, random: now_us as u64, cpus: 2, password: None, data: Some(data.to_owned()), force: false }
}

/// Options by their names.
pub(crate) fn given(words: &[(&'static str, &str)]) -> Given {
    words.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}

/// What a run came to.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    pub(crate) end: Option<Result<PhaseEnd, EngineError>>,
    pub(crate) outcome: JobOutcome,
    /// Operations by name.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Durable commits.
    pub(crate) flushes: u64,
    pub(crate) notes: Vec<(String, String)>,
}

impl Ran {
    /// One that went well.
    #[track_caller]
    pub(crate) fn well(self) -> Self {
        match &self.end {
            Some(Ok(PhaseEnd { error: None })) => self,
            other => panic!("{other:?} {:?}", self.notes),
        }
    }

    /// One that ended because something was not found.
    #[track_caller]
    pub(crate) fn failed_for(self, what: &str) {
        let said = match &self.end {
            Some(Ok(PhaseEnd { error: Some(error) })) => error.clone(),
            Some(Err(error)) => error.to_string(),
            other => panic!("{other:?} {:?}", self.notes),
        };
        assert!(said.contains(what) && said.contains(" was not found: the database is damaged"), "{said}");
        assert_eq!(self.counts.get("new-order rolled back").copied().unwrap_or(0), 0, "{:?}", self.counts);
    }

    pub(crate) fn figure(&self, name: &str) -> f64 {
        self.outcome
            .figures
            .get(name)
            .unwrap_or_else(|| panic!("no {name}: {:?}", self.outcome.figures))
            .value
    }
}

/// Prepares a run of a small database; one that is not there is built.
pub(crate) fn prepare(given: &Given, here: &Here) -> Result<PreparedRun, Error> {
    let mut watcher = Watcher { progress: &mut |_| {}, stopped: &|| false };
    assay_oltp::prepare_scaled(given, (Scale::TINY, here), &mut watcher)
}

/// The plan of a prepared run.
pub(crate) fn plan(prepared: &PreparedRun) -> Plan {
    let facts = |path: &str| TargetFacts {
        path: path.to_owned(),
        kind: TargetKind::Directory,
        existing_bytes: 0,
        direct_align_bytes: None,
        engine_choice: None,
        direct_refused: None,
    };
    let targets = prepared.workload.targets.iter().map(|t| (t.name.clone(), facts(&t.path))).collect();
    let inventory = Inventory { targets, ..Inventory::default() };
    let mut plan = resolve::plan(&prepared.workload, &inventory, 7).expect("a plan");
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&prepared.kind];
    name_operations(&mut plan, kinds.into_iter()).expect("names");
    plan.check().expect("a plan that can be carried out");
    plan
}

/// Carries out a prepared run, until `stop` is set.
pub(crate) fn run(prepared: &PreparedRun, stop: &Arc<AtomicBool>) -> Ran {
    let plan = plan(prepared);
    let kinds: [&dyn JobKind<ThisMachine>; 1] = [&prepared.kind];
    let options = PhaseOptions {
        interval: Duration::from_millis(200),
        stop: Arc::clone(stop),
        kinds: &kinds,
        start: None,
        given_up: &|_| {},
    };
    let mut ran = Ran::default();
    let job = &plan.phases[0].jobs[0];
    let mut sink = |event| match event {
        HostEvent::JobFinished { outcome, .. } => ran.outcome = *outcome,
        HostEvent::Interval(interval) if !interval.key.ramp => {
            ran.flushes += interval.counts.op(OpKind::Fsync).ios;
            for named in &interval.counts.named {
                let name = job.operation_name(named.operation).expect("a name").to_owned();
                *ran.counts.entry(name).or_default() += named.counts.ios;
            }
        }
        HostEvent::Note { id, text, .. } => ran.notes.push((id, text)),
        _ => {}
    };
    let end = run_phase(&plan, 0, &options, &mut sink, &mut |_| {});
    ran.end = Some(end);
    ran
}

/// A run of its planned length.
pub(crate) fn run_whole(prepared: &PreparedRun) -> Ran {
    run(prepared, &Arc::default())
}

/// Stops a run when this is dropped, whatever happens.
pub(crate) fn stop_after<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let _ended = SetOnDrop(stop);
    work()
}

/// Checks a database.
#[track_caller]
pub(crate) fn check(given: &Given, here: &Here) -> Report {
    assay_oltp::check(given, here, &mut |_| {}, &|| false).expect("it can be checked")
}

/// Checks a database in which everything holds.
#[track_caller]
pub(crate) fn holds(given: &Given, here: &Here) -> Report {
    let report = check(given, here);
    assert_eq!(report.failed(), 0, "{}", report.text());
    report
}

/// Rows of a database of one warehouse that get lost, one after the other, and how the check tells each.
pub(crate) const LOSSES: [(&str, &str); 7] = [
    (
        "UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_i_id = 3",
        "stock: s_ytd = sum(ol_quantity) of the orders since the load: 1 times, the first: warehouse 1 number 3: ",
    ),
    (
        "DELETE FROM history WHERE h_c_id = 4 AND h_c_d_id = 6",
        "rows of history of warehouse 1 district 6 number 4: ",
    ),
    (
        "DELETE FROM order_line WHERE ol_d_id = 2 AND ol_o_id = 1; DELETE FROM orders WHERE o_d_id = 2 AND o_id = 1",
        "rows of orders of warehouse 1 district 2: ",
    ),
    ("DELETE FROM stock WHERE s_i_id = 7", "rows of stock: 100 expected, 99 found"),
    ("DELETE FROM item", "rows of item: 100 expected, 0 found"),
    ("DELETE FROM customer WHERE c_id = 1", "rows of customer: 300 expected, 290 found"),
    ("DELETE FROM district WHERE d_id = 10", "rows of district: 10 expected, 9 found"),
];

/// Loses them, and checks that each is told; `lose` does statements.
pub(crate) fn losses_are_told(database: &Given, here: &Here, lose: impl Fn(&str)) {
    let whole = holds(database, here).text();
    assert!(whole.contains("  holds        rows: ") && whole.contains("  holds        stock: "), "{whole}");
    for (sql, told) in LOSSES {
        lose(sql);
        let report = check(database, here);
        let line = report.text().lines().find(|line| line.contains(told)).map(str::to_owned);
        assert!(line.is_some_and(|line| line.starts_with("  DOES NOT HOLD  ")), "{sql}: {}", report.text());
    }
}

/// Where a run writes down what was acknowledged.
pub(crate) fn ledger_of(prepared: &PreparedRun) -> PathBuf {
    let application = prepared.workload.phases[0].jobs[0].application.as_ref().expect("an application");
    PathBuf::from(application.settings["ledger"].as_str().expect("a path"))
}

/// Waits until so much was acknowledged.
pub(crate) fn wait_for_ledger(ledger: &Path, bytes: u64) {
    let clock = RealClock::new();
    let end_ns = clock.now_ns() + 60_000_000_000;
    while std::fs::metadata(ledger).map_or(0, |meta| meta.len()) < bytes && clock.now_ns() < end_ns {
        std::thread::sleep(Duration::from_millis(5));
    }
}
