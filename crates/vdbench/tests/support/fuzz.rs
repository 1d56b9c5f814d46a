//! What both the fuzzer and the tests do with any bytes.

use assay_formats::loader::MemoryLoader;
use assay_vdbench::{Limits, Options, expand, lower, parse, resolve, write};

/// Arbitrary bytes through parsing, expansion and listing; whether they make a workload. Ends for any input.
pub(crate) fn fuzz(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let mut loader = MemoryLoader::default();
    loader.files.insert("inc".to_owned(), text.chars().take(512).collect());
    let options = Options {
        // One that is given and not used is an error.
        variables: if text.contains("$v") { vec![("v".to_owned(), "1".to_owned())] } else { Vec::new() },
        limits: Limits {
            runs: 1000,
            references: 20_000,
            definitions: 2000,
            elements: 10_000,
            ..Limits::default()
        },
        ..Options::default()
    };
    let (file, diagnostics) = parse("fuzz", &text, &options, &loader);
    for diagnostic in diagnostics {
        let _ = diagnostic.to_string();
    }
    let mut is_workload = false;
    if let Some(file) = file {
        for run in expand(&file).iter().take(100) {
            let _ = run.simulating_line();
            let _ = resolve::storage_workloads(&file, run);
            let _ = resolve::file_workloads(&file, run);
        }
        if let (Some(workload), _) = lower("fuzz", &file) {
            let _ = write(&workload);
            is_workload = true;
        }
    }
    is_workload
}
