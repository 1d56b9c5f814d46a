//! Runs that no machine would make: what is written is text, and reading it is safe.

use assay_results::run::FindingSeverity;
use assay_results::samples::odd::{phase, with_intervals, word};
use assay_results::samples::{finding, run};
use assay_vdbench::{import, vdbench_files};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_run_makes_a_writer_panic(phases in proptest::collection::vec(phase(), 0..5), words in word()) {
        let mut run = run(&words, "", phases);
        run.findings.push(finding(&words, FindingSeverity::Warning, Some(&words), &words));
        let (run, intervals) = with_intervals(&run);
        for intervals in [&intervals[..], &[]] {
            for (name, text) in vdbench_files(&run, intervals) {
                prop_assert!(text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()), "{name}");
                let _ = import(&text);
            }
        }
    }
}
