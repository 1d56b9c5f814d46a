use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assay_workload::Plan;
use assay_workload::job::{Limits, Phase};
use assay_workload::lun;
use assay_workload::pattern::{AccessPattern, Mix, OpKind, Placement};

use super::*;

const S: u64 = 1_000_000_000;
/// The phase starts here on the job's clock.
const START: u64 = 100 * S;
const AT: ThreadIndex = ThreadIndex { job: 0, thread: 0 };

fn plan(time: Option<Nanos>) -> Plan {
    let pattern = AccessPattern::new(Mix::READ, 4096, Placement::random_map());
    let job = lun::job("j", pattern, 4, Limits { time, ..Limits::default() });
    lun::plan(1, 1 << 30, vec![Phase::measure("p", vec![job])]).unwrap()
}

fn read(issued_s: u64, offset_bytes: u64) -> Outstanding {
    Outstanding {
        issued_ns: START + issued_s * S,
        kind: OpKind::Read,
        target: 0,
        offset_bytes,
        len_bytes: 4096,
    }
}

/// What each look tells: notes, whether an I/O hangs, why the phase is given up.
type Looks = Vec<(Vec<String>, Option<bool>, Option<String>)>;

/// Looks at these seconds after the start; the run is stopped at `stop_s`.
fn looks(time: Option<Nanos>, stop_s: u64, outstanding: &[(u64, Option<Outstanding>)]) -> Looks {
    let (plan, stop) = (plan(time), Arc::new(AtomicBool::new(false)));
    let context = PhaseContext { plan: &plan, phase: 0, interval_ns: S, stop: &stop, stops: &[] };
    let mut watchdog = Watchdog::new(context, START);
    let look = |(at_s, io): &(u64, Option<Outstanding>)| {
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
