//! Errors, short transfers and delays, of each operation by each engine.

use std::time::Duration;

use assay_faultfs::{Fault, Op, When};
use assay_results::RunEnd;
use assay_workload::job::{Caching, EngineKind};

use crate::faults::stage::{BLOCK, BLOCKS, Came, Case, FILE, cases, rule, run_all};

/// All operations are counted: those that were done and those that failed.
fn all_counted(came: &Came) {
    let job = came.job();
    let asked = if came.case.op == Op::Flush { BLOCKS / 4 } else { BLOCKS };
    let done = came.ios() + job.errors;
    assert!(done == asked, "{done} of {asked} are counted: {}", came.which());
    assert!(!came.injected.is_empty(), "{}", came.which());
}

#[test]
fn errors_are_reported_by_kind_as_often_as_they_were_injected() {
    for (errno, name) in [(libc::EIO, "EIO"), (libc::ENOSPC, "ENOSPC")] {
        for came in run_all(cases(|op| vec![rule(op, Fault::Error(errno)).when(When::Every(5))])) {
            all_counted(&came);
            let injected = came.injected.len() as u64;
            assert_eq!(came.job().errors_by_kind, [(name.to_owned(), injected)], "{}", came.which());
            assert_eq!(
                (came.job().errors, came.finished.end),
                (injected, RunEnd::Completed),
                "{}",
                came.which()
            );
            let found = came.finished.run.findings.iter().find(|finding| finding.id.as_str() == "io-errors");
            assert!(found.is_some_and(|found| found.message.contains(name)), "{}: {found:?}", came.which());
        }
    }
}

#[test]
fn short_transfers_are_counted_and_continued_with_the_rest() {
    // The rest of a block does not touch its first byte, so that each is cut once.
    let of = |op| {
        (0..BLOCKS)
            .step_by(9)
            .map(move |block| rule(op, Fault::Short(512)).at(block * BLOCK..block * BLOCK + 1))
    };
    let transfers = |op| if op == Op::Flush { Vec::new() } else { of(op).collect() };
    let through_cache = |case: &Case| case.op == Op::Write && case.caching == Caching::Buffered;
    let all = cases(transfers).into_iter().filter(|case| !case.rules.is_empty());
    let all = all.map(|case| Case { cached: through_cache(&case), ..case });
    for came in run_all(all.collect()) {
        all_counted(&came);
        let injected = came.injected.len() as u64;
        assert_eq!(injected, BLOCKS.div_ceil(9), "{}", came.which());
        let short = came.job().evidence.short;
        // Of a short asynchronous write that does not go through the page cache the kernel's FUSE makes EIO
        // (`fuse_get_res_by_io`), and so EIO is what is reported.
        let is_async = came.case.engine != EngineKind::Psync && !came.case.cached;
        if came.case.op == Op::Write && is_async {
            assert_eq!(came.job().errors_by_kind, [("EIO".to_owned(), injected)], "{}", came.which());
            continue;
        }
        let counted =
            if came.case.op == Op::Read { (short.reads, short.writes) } else { (short.writes, short.reads) };
        assert_eq!(counted, (injected, 0), "{}: {:?}", came.which(), came.job().errors_by_kind);
        assert_eq!((came.job().errors, came.job().total.bytes), (0, BLOCKS * BLOCK), "{}", came.which());
    }
}

#[test]
fn a_delay_is_the_longest_latency() {
    const DELAY: Duration = Duration::from_secs(5);
    for came in run_all(cases(|op| vec![rule(op, Fault::Delay(DELAY)).when(When::Nth(40))])) {
        all_counted(&came);
        assert_eq!(came.injected.len(), 1, "{}", came.which());
        let job = came.job();
        let of = match came.case.op {
            Op::Read => &job.read,
            Op::Write => &job.write,
            Op::Flush => &job.flush,
        };
        let longest = of.as_ref().map_or(0, |op| op.completion_ns.max);
        assert!((5_000_000_000..6_500_000_000).contains(&longest), "{longest} ns: {}", came.which());
        assert_eq!((job.errors, came.finished.end), (0, RunEnd::Completed), "{}", came.which());
    }
}

/// Where it went wrong is said in the words of storage: libc's for EILSEQ are "Invalid or incomplete multibyte or wide character".
#[test]
fn the_error_that_ends_a_run_says_what_failed_and_where() {
    let fails = |errno| {
        let block = 10 * BLOCK;
        let rules = |op| vec![rule(op, Fault::Error(errno)).at(block..block + 1)];
        let all = cases(rules).into_iter().filter(|case| case.op != Op::Flush);
        all.map(|case| Case { tolerates: 0, ..case }).collect::<Vec<_>>()
    };
    for (errno, words) in [
        (libc::EIO, "I/O error (EIO)"),
        (libc::EILSEQ, "the data does not match its protection information (EILSEQ)"),
        (libc::ENODEV, "the device is gone (ENODEV)"),
        (libc::EDQUOT, "the quota of the user, group or project is used up (EDQUOT)"),
        (libc::ETIMEDOUT, "the device did not answer in time (ETIMEDOUT)"),
    ] {
        for came in run_all(fails(errno)) {
            let (name, error) =
                (if came.case.op == Op::Read { "read" } else { "write" }, came.finished.error.as_ref());
            let error = error.unwrap_or_else(|| panic!("it fails: {}", came.which()));
            let start = format!("job 'j' stopped: {name} of 4 KiB at offset 40960 of ");
            assert!(error.starts_with(&start), "{error}");
            assert!(error.ends_with(&format!("/{FILE}: {words}")), "{error}");
            assert_eq!(came.finished.end, RunEnd::Failed, "{}", came.which());
            // What was done until then is kept.
            assert!(
                came.finished.directory.join("run.json").exists() && came.job().errors == 1,
                "{}",
                came.which()
            );
        }
    }
}
