//! A plan of Assay's own. What is read and written again is read as the same.

#![no_main]

use std::sync::LazyLock;

use assay_formats::native;
use assay_fuzz::plan::NativePlan;
use assay_fuzz::{Input, share};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<NativePlan> = LazyLock::new(NativePlan::default);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = native::recognise(&text);
    let (workload, diagnostics) = native::parse("fuzz", &text);
    diagnostics.iter().for_each(|diagnostic| drop(diagnostic.to_string()));
    share::count(workload.is_some());
    let Some(workload) = workload else { return };
    let written = native::write(&workload);
    // A plan near the limits may be a longer text than is read.
    if written.len() > native::TEXT_BYTES_MAX {
        return;
    }
    let (again, diagnostics) = native::parse("fuzz", &written);
    assert_eq!(again.as_ref(), Some(&workload), "{diagnostics:?}\n{written}");
});
