//! A plan of Assay's own. What is read and written again is read as the same.

#![no_main]

use assay_formats::native;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let _ = native::recognise(&text);
    let (workload, diagnostics) = native::parse("fuzz", &text);
    diagnostics.iter().for_each(|diagnostic| drop(diagnostic.to_string()));
    let Some(workload) = workload else { return };
    let written = native::write(&workload);
    // A plan near the limits may be a longer text than is read.
    if written.len() > native::TEXT_BYTES_MAX {
        return;
    }
    let (again, diagnostics) = native::parse("fuzz", &written);
    assert_eq!(again.as_ref(), Some(&workload), "{diagnostics:?}\n{written}");
});
