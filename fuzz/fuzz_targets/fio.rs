//! A fio job file: read, expanded, turned into a workload, and written again in all three languages.

#![no_main]

use std::sync::LazyLock;

use assay_fio as fio;
use assay_formats::native;
use assay_fuzz::fio::{JobFile, SYSTEM, loader};
use assay_fuzz::{Input, share};
use assay_vdbench as vdbench;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<JobFile> = LazyLock::new(JobFile::default);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| share::count(is_taken(data)));

fn is_taken(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let included: String = text.chars().take(512).collect();
    let (file, diagnostics) = fio::parse_with("fuzz", &text, &loader(&included), &SYSTEM);
    diagnostics.iter().for_each(|diagnostic| drop(diagnostic.to_string()));
    let Some(file) = file else { return false };
    for job in file.expand().iter().take(100) {
        let _ = job.resolved_line();
    }
    let (workload, _) = fio::lower("fuzz", &file);
    let Some(workload) = workload else { return false };
    let _ = fio::write(&workload);
    let _ = vdbench::write(&workload);
    let _ = native::write(&workload);
    true
}
