//! A vdbench parameter file: read, its runs listed, turned into a workload and written again.

#![no_main]

#[path = "../../crates/vdbench/tests/support/fuzz.rs"]
mod any;

use assay_fuzz::vdbench::Parameters;
use assay_fuzz::{Input, share};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&Parameters, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| share::count(any::fuzz(data)));
