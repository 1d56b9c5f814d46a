//! `assay run --trace`: every I/O of a run as CSV, for `assay audit --trace` and whatever else reads it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use assay_engine::tracing::{TraceRecord, Traced};
use assay_workload::Plan;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Outputs;

/// I/Os that there is room for in each phase: 320 MB of memory.
pub(crate) const RECORDS_MAX: usize = 8_000_000;

/// A trace being taken.
pub(crate) struct RunTrace {
    path: PathBuf,
    force: bool,
}

/// Room for one line, beside the name of its target.
const LINE_BYTES: u64 = 64;

impl RunTrace {
    /// What it is, where it is written, and how long it gets at most.
    pub(crate) fn largest(&self, plan: &Plan) -> (&'static str, &Path, u64) {
        let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
        let of_job = |job: &assay_workload::PlannedJob| {
            let pattern = &job.pattern;
            let least = pattern.kinds().map(|kind| pattern.sizes(kind).min_bytes().max(1)).min().unwrap_or(1);
            let of_slice = |slice: &assay_workload::plan::ThreadSlice| {
                slice.ios.or(slice.bytes.map(|bytes| bytes.div_ceil(least)))
            };
            job.slices.iter().map(of_slice).try_fold(0, |sum: u64, ios| Some(sum.saturating_add(ios?)))
        };
        let ios = jobs.map(of_job).try_fold(0, |sum: u64, ios| Some(sum.saturating_add(ios?)));
        let records = ios.unwrap_or(u64::MAX).min(RECORDS_MAX as u64);
        let name = plan.targets.iter().map(|target| target.name.len() as u64).max().unwrap_or(0);
        ("the trace", &self.path, records * (LINE_BYTES + name))
    }

    /// To be written to `path`, if one is named.
    pub(crate) fn to(path: Option<&Path>, force: bool) -> Option<RunTrace> {
        path.map(|path| RunTrace { path: path.to_owned(), force })
    }

    /// Writes what was traced.
    pub(crate) fn write(&self, traced: &Traced, plan: &Plan, context: &Context) -> Result<(), Failure> {
        let outputs = Outputs::new(self.force);
        outputs.stream("--trace", &self.path, |out| write_records(&traced.records, plan, out))?;
        let count = assay_report::format::count(traced.records.len() as u64);
        context.say(&format!("a trace of {count} I/Os is in {}", self.path.display()));
        if traced.dropped > 0 {
            let more = assay_report::format::count(traced.dropped);
            context.say(&format!("there was no room for {more} more: the trace ends before the run does"));
        }
        Ok(())
    }
}

fn write_records(records: &[TraceRecord], plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
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
