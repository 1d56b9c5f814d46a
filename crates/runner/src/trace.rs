//! A run's own trace as CSV, which `formats` reads, and how large it gets.

use std::io::{self, Write};

use assay_engine::tracing::TraceRecord;
use assay_workload::{Plan, PlannedJob};

/// Room for one line, beside the name of its target.
const LINE_BYTES: u64 = 64;

/// Bytes of the trace of a plan at most, where so many I/Os are kept.
pub fn trace_bytes_max(plan: &Plan, records_max: usize) -> u64 {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let of_job = |job: &PlannedJob| {
        let mut of_slices = job.slices.iter().map(|slice| job.ios_max(slice));
        of_slices.try_fold(0, |sum: u64, ios| Some(sum.saturating_add(ios?)))
    };
    let ios = jobs.map(of_job).try_fold(0, |sum: u64, ios| Some(sum.saturating_add(ios?)));
    let records = ios.unwrap_or(u64::MAX).min(records_max as u64);
    let name = plan.targets.iter().map(|target| target.name.len() as u64).max().unwrap_or(0);
    records * (LINE_BYTES + name)
}

/// Writes it, times counted from its first I/O.
///
/// # Errors
/// What `out` says.
pub fn write_trace(records: &[TraceRecord], plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let start = records.first().map_or(0, |record| record.at_ns);
    // Commas and line breaks of names would be columns and lines.
    let names: Vec<String> = plan
        .targets
        .iter()
        .map(|target| target.name.replace(|c: char| c == ',' || c == '"' || c.is_control(), "_"))
        .collect();
    writeln!(out, "time_ns,op,offset,length,target,latency_ns")?;
    for record in records {
        let name = names.get(usize::from(record.target)).map_or("", String::as_str);
        let latency =
            if record.latency_ns == u64::MAX { String::new() } else { record.latency_ns.to_string() };
        let (at, op) = (record.at_ns - start, record.kind.name());
        let (offset, length) = (record.offset_bytes, record.len_bytes);
        writeln!(out, "{at},{op},{offset},{length},{name},{latency}")?;
    }
    Ok(())
}
