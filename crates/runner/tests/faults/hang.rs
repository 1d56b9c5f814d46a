//! I/Os that do not complete: they are named while the run goes on, and the run can be stopped and keeps what it has.

use std::time::Duration;

use assay_faultfs::{Fault, Op, When};
use assay_results::RunEnd;
use assay_workload::job::EngineKind;

use crate::faults::stage::{BLOCK, BLOCKS, Case, FILE, cases, rule, run_all};

/// From this time on an I/O hangs, and a little later the run that was stopped for it has ended.
const HUNG_AFTER_S: u64 = 5;

#[test]
fn an_io_that_hangs_is_named_and_does_not_keep_a_stopped_run_from_ending() {
    // A second after the start: what a thread does in the reporting period in which it hangs is not known.
    let hangs = |op| rule(op, Fault::Hang).when(When::Nth(if op == Op::Flush { 50 } else { 200 }));
    let paced =
        cases(|op| vec![hangs(op)]).into_iter().map(|case| Case { iops: Some(200.0), stops: true, ..case });
    for came in run_all(paced.collect()) {
        let which = came.which();
        let [injected] = &came.injected[..] else { panic!("{which}: {:?}", came.injected) };
        // Which, where, since when.
        let hung = came.hung.first().unwrap_or_else(|| panic!("{which}: not told"));
        let (name, len) = match came.case.op {
            Op::Read => ("read", BLOCK as u32),
            Op::Write => ("write", BLOCK as u32),
            Op::Flush => ("fsync", 0),
        };
        let took = Duration::from_nanos(hung.outstanding_for.0).as_secs();
        assert!((HUNG_AFTER_S..HUNG_AFTER_S + 3).contains(&took), "{which}: {hung:?}");
        assert!(
            hung.target.ends_with(FILE) && hung.job == "j" && hung.since.0 < 3_000_000_000,
            "{which}: {hung:?}"
        );
        let said: Vec<&str> = came.finished.run.remarks.iter().map(|remark| remark.text.as_str()).collect();
        let named = |text: &&&str| text.contains(&hung.which());
        assert_eq!(said.iter().filter(named).count(), 2, "{which}: seen and given up: {said:?}");
        // A flush locks its file: writes that were handed over with it hang as long.
        if came.case.op != Op::Flush || came.case.engine == EngineKind::Psync {
            let found = (hung.kind.name(), hung.len_bytes, hung.offset_bytes);
            assert_eq!(found, (name, len, injected.offset), "{which}");
        }
        // The run ends, and keeps what was done beside and before it.
        assert!(came.took < Duration::from_secs(12), "{which}: {:?}", came.took);
        assert_eq!(
            (came.finished.end, came.finished.store_error.as_ref()),
            (RunEnd::Interrupted, None),
            "{which}"
        );
        assert!(came.finished.directory.join("run.json").exists(), "{which}");
        let done = came.job().total.ios;
        assert!((80..BLOCKS).contains(&done), "{which}: {done}");
    }
}
