//! A recorded trace in any of the languages that are read.

#![no_main]

use assay_formats::trace::{self, Begin, TraceEvent};
use libfuzzer_sys::fuzz_target;

const KNOWN: &[Begin] = &[assay_fio::iolog, trace::csv, trace::blkparse];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (trace, diagnostics) = trace::parse("fuzz", &text, KNOWN);
    diagnostics.iter().for_each(|diagnostic| drop(diagnostic.to_string()));
    let Some(trace) = trace else { return };
    let ops = trace.events.iter().filter_map(|event| match event {
        TraceEvent::Issued(op) => Some(op),
        TraceEvent::Completed { .. } => None,
    });
    for op in ops {
        assert!(usize::from(op.target) < trace.targets.len());
        assert!(op.offset_bytes.checked_add(u64::from(op.len_bytes)).is_some());
    }
});
