//! A result of another tool: read, and written as the files of others.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let of_fio = assay_fio::import(&text).and_then(Result::ok);
    let of_vdbench = assay_vdbench::import(&text).and_then(Result::ok);
    for run in of_fio.into_iter().chain(of_vdbench) {
        // A run is stored as JSON, which has no infinities: nothing that was read may be one.
        let stored = serde_json::to_string(&run).expect("a run is JSON");
        let again: assay_results::Run = serde_json::from_str(&stored).expect("JSON is a run");
        assert_eq!(again.phases.len(), run.phases.len());
    }
});
