//! Runs that no machine would make: what is written is text, and reading it is safe.

use assay_fio::{FioLogOptions, LogPrefix, fio_json_with, fio_logs, import};
use assay_results::run::FindingSeverity;
use assay_results::samples::odd::{phase, with_intervals, word};
use assay_results::samples::{finding, run};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_run_makes_a_writer_panic(phases in proptest::collection::vec(phase(), 0..5), words in word()) {
        let mut run = run(&words, "", phases);
        run.findings.push(finding(&words, FindingSeverity::Warning, Some(&words), &words));
        let (run, intervals) = with_intervals(&run);
        for intervals in [&intervals[..], &[]] {
            let json = fio_json_with(&run, intervals, true);
            let parsed = serde_json::from_str::<serde_json::Value>(&json);
            prop_assert!(parsed.is_ok(), "{parsed:?}");
            let _ = import(&json);
            fio_logs(&run, intervals, &FioLogOptions { prefix: LogPrefix::FioPlot, offset: true });
        }
    }
}
