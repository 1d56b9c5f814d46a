//! A vdbench parameter file: read, its runs listed, turned into a workload and written again.

#![no_main]

#[path = "../../crates/vdbench/tests/support/fuzz.rs"]
mod any;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| any::fuzz(data));
