//! A recorded trace in any of the languages that are read.

#![no_main]

use assay_formats::trace::{self, TraceEvent};
use assay_fuzz::trace::{KNOWN, Trace};
use assay_fuzz::{Input, share};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&Trace, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let (trace, diagnostics) = trace::parse("fuzz", &text, KNOWN);
    diagnostics.iter().for_each(|diagnostic| drop(diagnostic.to_string()));
    let events = trace.as_ref().map_or(&[][..], |trace| &trace.events);
    let mut ops = events.iter().filter_map(|event| match event {
        TraceEvent::Issued(op) => Some(op),
        TraceEvent::Completed { .. } => None,
    });
    let targets = trace.as_ref().map_or(0, |trace| trace.targets.len());
    let mut any = false;
    ops.try_for_each(|op| {
        any = true;
        assert!(usize::from(op.target) < targets);
        op.offset_bytes.checked_add(u64::from(op.len_bytes)).map(drop)
    })
    .expect("no operation reaches beyond all addresses");
    share::count(any);
});
