//! A result of another tool: read, and written as the files of others.

#![no_main]

use std::sync::LazyLock;

use assay_fuzz::results::Foreign;
use assay_fuzz::{Input, share};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<Foreign> = LazyLock::new(Foreign::default);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let of_fio = assay_fio::import(&text).and_then(Result::ok);
    let of_vdbench = assay_vdbench::import(&text).and_then(Result::ok);
    share::count(of_fio.is_some() || of_vdbench.is_some());
    for run in of_fio.into_iter().chain(of_vdbench) {
        // A run is stored as JSON, which has no infinities: nothing that was read may be one.
        let stored = serde_json::to_string(&run).expect("a run is JSON");
        let again: assay_results::Run = serde_json::from_str(&stored).expect("JSON is a run");
        assert_eq!(again.phases.len(), run.phases.len());
        // It is shown in the forms of both tools.
        let written = assay_fio::fio_json(&run, true);
        assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok(), "{written}");
        let _ = assay_vdbench::vdbench_files(&run, &[]);
    }
});
