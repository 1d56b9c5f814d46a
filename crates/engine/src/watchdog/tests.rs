use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_workload::Plan;
use assay_workload::job::{Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};

use super::*;
use crate::in_flight::TreeItem;
use crate::job_loop::Outstanding;

const S: u64 = 1_000_000_000;
/// The phase starts here on the job's clock.
const START: u64 = 100 * S;
const AT: ThreadIndex = ThreadIndex { job: 0, thread: 0 };

fn plan(time: Option<Nanos>) -> Plan {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let job = lun::job("j", pattern, 4, Limits { time, ..Limits::default() });
    lun::plan(1, 1 << 30, vec![Phase::measure("p", vec![job])]).unwrap()
}

fn read(issued_s: u64, offset_bytes: u64) -> Waits {
    let issued_ns = START + issued_s * S;
    Waits::For(Outstanding { issued_ns, kind: OpKind::Read, target: 0, offset_bytes, len_bytes: 4096 }.into())
}

/// What each look tells: notes, whether an I/O hangs, why the phase is given up.
type Looks = Vec<(Vec<String>, Option<bool>, Option<String>)>;

/// Looks at these seconds after the start; the run is stopped at `stop_s`.
fn looks(time: Option<Nanos>, stop_s: u64, outstanding: &[(u64, Option<Waits>)]) -> Looks {
    let (plan, stop) = (plan(time), Arc::new(AtomicBool::new(false)));
    let context = PhaseContext { plan: &plan, phase: 0, interval_ns: S, stop: &stop, stops: &[] };
    let mut watchdog = Watchdog::new(context, START);
    let look = |(at_s, io): &(u64, Option<Waits>)| {
        stop.store(*at_s >= stop_s, Ordering::Relaxed);
        let (mut notes, mut hangs) = (Vec::new(), None);
        let mut sink = |event| match event {
            HostEvent::Note { id, text, phase: Some(0) } if id == HUNG_IO => notes.push(text),
            HostEvent::Hung { io, .. } => hangs = Some(io.is_some()),
            other => panic!("{other:?}"),
        };
        let why = watchdog.look(START + at_s * S, &[(AT, *io)], &mut sink);
        (notes, hangs, why)
    };
    outstanding.iter().map(look).collect()
}

#[test]
fn nothing_is_told_of_what_completes_in_time() {
    let quiet = looks(None, 100, &[(1, Some(read(0, 0))), (5, Some(read(1, 0))), (6, None)]);
    assert!(quiet.iter().all(|look| *look == (Vec::new(), None, None)), "{quiet:?}");
}

#[test]
fn an_io_that_hangs_is_told_once_and_so_is_its_end() {
    let io = Some(read(1, 8192));
    let told = looks(None, 100, &[(5, io), (6, io), (7, io), (9, None), (10, None)]);
    let hangs: Vec<_> = told.iter().map(|look| look.1).collect();
    assert_eq!(hangs, [None, Some(true), Some(true), Some(false), None]);
    let notes: Vec<&String> = told.iter().flat_map(|look| &look.0).collect();
    let [first, last] = notes[..] else { panic!("{notes:?}") };
    assert!(first.starts_with("job 'j': read of 4 KiB at offset 8192 of "), "{first}");
    assert!(
        first.ends_with("has not completed for 5 s; it was handed over 1 s after the start of the phase"),
        "{first}"
    );
    assert!(last.ends_with("completed after 8 s"), "{last}");
}

#[test]
fn a_run_that_is_stopped_does_not_wait_for_it() {
    let io = Some(read(1, 0));
    let told = looks(None, 3, &[(3, io), (4, io), (6, io), (7, io)]);
    let given_up: Vec<bool> = told.iter().map(|look| look.2.is_some()).collect();
    // Not before it hangs: it may just be slow.
    assert_eq!(given_up, [false, false, true, true]);
    assert!(told[2].0[1].contains("when the run was stopped: it was given up"), "{:?}", told[2]);
    // What does not hang is waited for.
    let slow = looks(None, 3, &[(3, Some(read(3, 0))), (7, Some(read(6, 0))), (9, Some(read(8, 0)))]);
    assert!(slow.iter().all(|look| look.2.is_none()), "{slow:?}");
}

#[test]
fn a_job_whose_time_is_over_waits_five_minutes() {
    let io = Some(read(1, 0));
    let told = looks(Some(Nanos(10 * S)), u64::MAX, &[(20, io), (309, io), (310, io)]);
    let given_up: Vec<bool> = told.iter().map(|look| look.2.is_some()).collect();
    assert_eq!(given_up, [false, false, true]);
    let without = looks(None, u64::MAX, &[(20, io), (3000, io)]);
    assert!(without.iter().all(|look| look.2.is_none()), "a job without a time is not over");
}

/// Threads that wait for one that hangs do not keep a stopped run from ending; those that do something else do.
#[test]
fn who_waits_for_others_is_not_waited_for() {
    let (plan, stop) = (plan(None), Arc::new(AtomicBool::new(true)));
    let context = PhaseContext { plan: &plan, phase: 0, interval_ns: S, stop: &stop, stops: &[] };
    let mut watchdog = Watchdog::new(context, START);
    let mut look = |at_s: u64, other| {
        watchdog.look(START + at_s * S, &[(AT, Some(read(1, 0))), (AT, other)], &mut |_| {}).is_some()
    };
    assert!(!look(6, Some(Waits::ForOthers)), "it was stopped just now");
    assert!(!look(8, None) && !look(8, Some(read(7, 4096))));
    assert!(look(9, Some(Waits::ForOthers)));
    // Nothing hangs where all wait for each other: that is an error of ours.
    let mut watchdog = Watchdog::new(context, START);
    let others = [(AT, Some(Waits::ForOthers))];
    assert!((0..20).all(|at_s| watchdog.look(START + at_s * S, &others, &mut |_| {}).is_none()));
}

#[test]
fn operations_on_trees_are_named_by_their_files() {
    let tree = assay_workload::tree::TreeWorkload {
        width: 2,
        depth: 1,
        files: 3,
        sizes: vec![(4096, 1.0)],
        ..Default::default()
    };
    let mut plan = plan(None);
    plan.phases[0].jobs[0].traits.tree = Some(tree);
    let stop = AtomicBool::new(false);
    let context = PhaseContext { plan: &plan, phase: 0, interval_ns: S, stop: &stop, stops: &[] };
    let named = |operation, item, offset_bytes, len_bytes| {
        let io = InFlight { issued_ns: START, operation, target: 0, item, offset_bytes, len_bytes };
        let io = Watchdog::new(context, START).hung(AT, io, START + 6 * S);
        io.which().replacen(&plan.targets[0].path, "TREE", 1)
    };
    let file = Some(TreeItem::File(4));
    assert_eq!(
        named("read", file, Some(0), 4096),
        "read of 4 KiB at offset 0 of TREE/vdb.1_2.dir/vdb_f0004.file"
    );
    assert_eq!(named("mkdir", Some(TreeItem::Directory(1)), None, 0), "mkdir of TREE/vdb.1_2.dir");
    assert_eq!(named("sweep", None, None, 0), "sweep of TREE");
}

#[test]
fn what_hangs_before_the_start_is_told_and_given_up_when_the_run_is_stopped() {
    let preparation = Preparation::default();
    let write = preparation.begins("write", "/t/data");
    write.at(8192, 4096);
    let begun_ns = preparation.under_way()[0].since_ns - S;
    let mut watch = PreparationWatch::new(0, begun_ns);
    let mut told = Vec::new();
    let mut look = |at_s: u64, stopped| {
        let mut sink = |event| match event {
            HostEvent::Note { text, .. } => told.push(text),
            HostEvent::Hung { .. } => {}
            other => panic!("{other:?}"),
        };
        watch.look(begun_ns + at_s * S, &preparation, stopped, &mut sink).is_break()
    };
    assert!(!look(3, false) && !look(7, false) && !look(400, false), "without a stop it is waited for");
    assert!(!look(401, true) && look(402, true));
    let which = "before the phase: write of 4 KiB at offset 8192 of /t/data";
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(
        told[0],
        format!("{which} has not completed for 6 s; it was handed over 1 s after its preparation began")
    );
    assert!(told[1].starts_with(which) && told[1].contains("when the run was stopped: it was given up"));
}
