//! A vdbench parameter file: read, its runs listed, turned into a workload and written again.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| assay_vdbench::fuzz(data));
